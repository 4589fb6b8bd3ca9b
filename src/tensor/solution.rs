//! Solutions of problems as tensors. Their gradients are found by the implicit function theorem, outside of the graph: a node notes
//! which are wanted, and is filled before what needs it is evaluated.

use super::gradient::Sweep;
use super::graph::{Data, Graph, Node, Op, Rule, Solve};
use super::runtime::{Devices, Tensors};
use super::view::Movement;
use leastwise_device::{Command, Kind, Recording, Slice};
use leastwise_error::Error;

/// Gradients through a solve that are to be computed: where they go, and the cotangent of the solution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pull {
    /// Node that they fill: the gradients of all data, one after the other.
    pub node: Node,
    /// Cotangent of the solution.
    pub cotangent: Node,
    /// The solve.
    pub solve: Solve,
}

impl Graph {
    /// Has gradients go through a solution to the data that it was found with.
    pub fn set_solution(&mut self, node: Node, solve: Solve, data: Vec<Node>) {
        self.set_rule(node, Rule::Solution { solve, data });
    }

    /// Gradients through solves that some nodes need, in the order in which they can be computed.
    pub fn pulls(&self, outputs: &[Node]) -> Vec<Pull> {
        if !self.has_solves {
            return Vec::new();
        }
        let of = |node: Node| match (&self.entry(node).op, &self.entry(node).inputs[..]) {
            (Op::Implicit(solve), &[cotangent]) => Some(Pull { node, cotangent, solve: *solve }),
            _ => None,
        };
        self.order(outputs).into_iter().filter_map(of).collect()
    }

    /// Fills what was noted with the gradients, of all data one after the other.
    ///
    /// # Errors
    /// [`Error::Internal`] for another node, and for another number of gradients.
    pub fn fill(&mut self, node: Node, values: &[f64]) -> Result<(), Error> {
        let is_fit = self.get(node).is_some_and(|entry| matches!(entry.op, Op::Implicit(_)) && entry.shape == [values.len() as u32]);
        if !is_fit {
            return Err(Error::Internal("gradients through a solve do not fit"));
        }
        self.supply(node, Data::Doubles(values.to_vec()));
        Ok(())
    }
}

impl Sweep<'_> {
    /// Hands the adjoint of a solution on to the data: parts of what is to be computed of it.
    pub(super) fn pass_solution(&mut self, solve: Solve, data: &[Node], g: Node) -> Result<(), Error> {
        let total = data.iter().map(|&node| self.graph.size(node)).sum();
        self.graph.has_solves = true;
        let all = self.graph.add(Op::Implicit(solve), vec![g], vec![total]);
        let mut start = 0;
        for &node in data {
            let (count, shape) = (self.graph.size(node), self.graph.shape(node).to_vec());
            if self.leads_to(node) {
                let own = self.graph.moved(all, Movement::Slice { axis: 0, start, count, step: 1 });
                let amount = self.graph.moved(own, Movement::Reshape(shape));
                self.give(node, amount)?;
            }
            start += count;
        }
        Ok(())
    }
}

impl Tensors {
    /// A tensor of elements that lie on the main device, where they are copied.
    ///
    /// # Errors
    /// [`Error::Device`] where there is no room for it.
    pub fn copied(&mut self, devices: &mut Devices, from: Slice, shape: Vec<u32>) -> Result<Node, Error> {
        let block = self.take(devices, Kind::Real, from.len)?;
        let to = Slice { buffer: block.buffer, offset: 0, len: from.len };
        devices.main.interject(Recording { commands: vec![Command::Copy { from, to }] })?;
        Ok(self.keep_block(block, from.len, shape))
    }
}
