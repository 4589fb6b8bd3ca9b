//! Tensors and problems: tensors as data, weights and values of a problem on their device, and a solution as a tensor.

use super::Session;
use super::tensors::{id, parts};
use leastwise_device::{Command, Device, Playing, Recording, Slice};
use leastwise_error::Error;
use leastwise_problem::{Order, Recipient, Request};
use leastwise_tensor::graph::{Data, Graph, Node, Solve};
use leastwise_tensor::operations::shown;
use leastwise_tensor::routing::Place;
use std::sync::Arc;

/// Whole numbers that f32 tells apart.
const MOST_PICKED: u32 = 1 << 24;

/// Where the elements of a tensor are.
enum Elements {
    /// On the device of problems.
    Here(Slice),
    /// Beside it, in the host's memory.
    Beside(Vec<f64>),
}

/// A recipient as it crosses: 0 and a table, 1 and a term and a column, 2 and a term.
fn recipient(what: &[u32]) -> Result<Recipient, Error> {
    match *what {
        [0, table] => Ok(Recipient::Table(table)),
        [1, term, column] => Ok(Recipient::Column { term, column }),
        [2, term] => Ok(Recipient::Weight(term)),
        _ => Err(Error::Internal("a recipient of a tensor crossed incompletely")),
    }
}

/// Refuses a tensor of another shape than is taken.
fn must_fit(request: &Request, shape: &[u32]) -> Result<(), Error> {
    let (needed, words) = match request.shape {
        (Some(count), 1) => (vec![vec![count], vec![count, 1]], "one an instance or entry".to_string()),
        (Some(count), width) => (vec![vec![count, width], vec![count * width]], format!("{count} instances of {width}")),
        (None, 1) => (vec![vec![], vec![1]], "shared by all instances".into()),
        (None, width) => (vec![vec![width]], "shared by all instances".into()),
    };
    if needed.iter().any(|needed| needed == shape) {
        return Ok(());
    }
    Err(Error::Shape {
        name: request.what.clone(),
        message: format!("the tensor is {}, but {} is needed ({words})", shown(shape), shown(&needed[0])),
    })
}

/// A copy of a tensor in the order that is asked for; gradients know nothing of it.
fn ordered(graph: &mut Graph, node: Node, request: &Request) -> Result<Node, Error> {
    let len = f64::from(request.len());
    let wide = graph.operation("f32", &[node], &[])?;
    let own = graph.operation("detach", &[wide], &[])?;
    match &request.order {
        Order::Rows => Ok(own),
        Order::Components { count, width } => {
            let rows = graph.operation("reshape", &[own], &[f64::from(*count), f64::from(*width)])?;
            graph.operation("transpose", &[rows], &[])
        }
        Order::Repeated(count) => {
            let column = graph.operation("reshape", &[own], &[len, 1.0])?;
            graph.operation("broadcastTo", &[column], &[len, f64::from(*count)])
        }
        Order::Picked(numbers) => {
            if request.len() >= MOST_PICKED {
                return Err(Error::Limits(format!("{}: a tensor of more than 2²⁴ elements can't be dealt out to rows of different lengths", request.what)));
            }
            let flat = graph.operation("reshape", &[own], &[len])?;
            let zero = graph.operation("constant", &[], &[0.0, 1.0])?;
            let all = graph.operation("concat", &[flat, zero], &[0.0])?;
            let picked = graph.numbers(numbers.clone(), vec![numbers.len() as u32]);
            graph.operation("gather", &[all, picked], &[])
        }
    }
}

impl Session {
    /// Whether tensors of a precision lie on the device of problems, and are what its reals are.
    fn shares(&self, double: bool) -> bool {
        match self.devices.main.precision_name() {
            "f32" => !double,
            "f64" => double,
            _ => false,
        }
    }

    /// Refuses tensors whose elements a problem can't take as they are.
    fn must_share(&self, what: &str, double: bool) -> Result<(), Error> {
        let own = self.devices.main.precision_name();
        // On the CPU what is beside lies in the same memory, and f32 is exact in f64.
        if self.shares(double) || own == "f64" && matches!(self.devices.main, Device::Cpu(_)) {
            return Ok(());
        }
        let dtype = if double { "f64" } else { "f32" };
        Err(Error::Dtype(format!(
            "{what}: the tensor is of {dtype}, and this engine solves in {own}, so the problem can't have its buffer: read() it, and give the values"
        )))
    }

    /// A copy of a tensor as a recipient of a problem takes it, which is given to it by [`lend`](Self::lend_tensor) once it was evaluated:
    /// of a table (0), of a term's column (1) or of its weight (2).
    ///
    /// # Errors
    /// [`Error::Dtype`] and [`Error::Shape`] for tensors that do not fit, [`Error::InvalidOption`] for what only the host can give.
    pub fn borrow_tensor(&mut self, problem: u32, what: &[u32], tensor: u32) -> Result<Vec<u32>, Error> {
        self.return_lenders()?;
        let (recipient, (double, node)) = (recipient(what)?, parts(tensor));
        let request = self.entry(problem)?.0.problem.borrows(recipient)?;
        self.must_share(&request.what, double)?;
        let graph = &mut self.tensors(double)?.graph;
        must_fit(&request, &graph.get(node).ok_or(Error::Disposed("tensor"))?.shape)?;
        let made = graph.made(|graph| ordered(graph, node, &request).map(|node| vec![node]))?;
        self.entry(problem)?.0.problem.await_lender(recipient, id(double, made[0]));
        self.packed(double, &made)
    }

    /// Gives a recipient the tensor that was [borrowed](Self::borrow_tensor) for it and is evaluated, unless something else was given since.
    pub fn lend_tensor(&mut self, problem: u32, what: &[u32], tensor: u32) -> Result<(), Error> {
        let (recipient, (double, node)) = (recipient(what)?, parts(tensor));
        if !self.entry(problem)?.0.problem.take_awaited(recipient, tensor) {
            return Ok(());
        }
        match self.elements_of(double, node)? {
            Elements::Here(slice) => {
                // The problem's to let go of.
                self.tensors(double)?.graph.hold(node);
                let (devices, of) = self.site(problem)?;
                of.lend(&mut devices.main, recipient, slice, tensor)?;
            }
            Elements::Beside(values) => {
                let (devices, of) = self.site(problem)?;
                of.settle(recipient, &values)?;
                of.flush(&mut devices.main)?;
            }
        }
        self.return_lenders()
    }

    fn elements_of(&mut self, double: bool, node: Node) -> Result<Elements, Error> {
        let shares = self.shares(double);
        let (tensors, mut devices) = self.tensor_devices(double)?;
        for place in Place::ALL {
            let Some((slice, _)) = tensors.view_at(node, place) else { continue };
            if shares && place == Place::Device {
                return Ok(Elements::Here(slice));
            }
            let device = devices.at(place);
            if matches!(device, Device::Cpu(_)) {
                return read_here(device, slice).map(Elements::Beside);
            }
        }
        Err(Error::Internal("a tensor was not evaluated before it was lent"))
    }

    /// Tensors whose elements columns and weights of a problem have, and the host does not know.
    pub fn tensor_lenders(&mut self, problem: u32) -> Result<Vec<u32>, Error> {
        Ok(self.entry(problem)?.0.problem.unknown_lenders())
    }

    /// Tells the host the elements of all of these, one after the other.
    pub fn learn_tensors(&mut self, problem: u32, values: &[f64]) -> Result<(), Error> {
        self.entry(problem)?.0.problem.learn_lent(values)
    }

    /// Lets go of what problems had of tensors and have no more.
    fn return_lenders(&mut self) -> Result<(), Error> {
        let returned: Vec<u32> = self.problems.values_mut().flat_map(|entry| entry.problem.take_returned()).collect();
        self.release_tensors(&returned);
        Ok(())
    }

    /// The accepted values of all variables of a problem, table after table, as a tensor through which gradients go to data; then of each
    /// table its number, its first element, and how many it has. `solve` tells solves apart.
    ///
    /// # Errors
    /// [`Error::Dtype`] where the problem's reals are no tensors', [`Error::Busy`] while something runs on the problem.
    pub fn tensor_solution(&mut self, problem: u32, data: &[u32], double: bool, solve: u32) -> Result<Vec<u32>, Error> {
        let (double, data) = Self::nodes(data, double)?;
        let (entry, devices) = self.idle(problem)?;
        entry.problem.lay_out_values(&mut devices.main)?;
        entry.problem.flush(&mut devices.main)?;
        let point = entry.problem.arenas()?.0.buffer;
        let (mut places, mut slices, mut first) = (Vec::new(), Vec::new(), 0);
        for (number, table) in (0..).zip(entry.problem.tables()).filter(|(_, table)| table.moving) {
            places.extend([number, first, table.elements()]);
            slices.push(Slice { buffer: point, offset: table.arena, len: table.elements() });
            first += table.elements();
        }
        let node = if self.shares(double) {
            let (tensors, mut devices) = self.tensor_devices(double)?;
            tensors.copied(&mut devices, &slices)?
        } else if matches!(self.devices.main, Device::Cpu(_)) {
            let mut values = Vec::new();
            for slice in slices {
                values.extend(read_here(&mut self.devices.main, slice)?);
            }
            let data = match double {
                true => Data::Doubles(values),
                false => Data::Singles(Arc::new(values.iter().map(|&value| value as f32).collect())),
            };
            self.tensors(double)?.graph.stored(data, vec![first])
        } else {
            let (own, dtype) = (self.devices.main.precision_name(), if double { "f64" } else { "f32" });
            return Err(Error::Dtype(format!("the solution is in {own}, and no tensor of {dtype}: give data of {own}, or read() the variables")));
        };
        let graph = &mut self.tensors(double)?.graph;
        if !data.is_empty() {
            graph.set_solution(node, Solve { problem, number: solve }, data);
        }
        graph.hold(node);
        let mut packed = self.packed(double, &[node])?;
        packed.extend(places);
        Ok(packed)
    }

    /// Counts of a problem's edits, and of what moved its variables: as long as both stay, so does the solution.
    pub fn tensor_epoch(&mut self, problem: u32) -> Result<Vec<f64>, Error> {
        let entry = self.entry(problem)?.0;
        Ok(vec![entry.problem.revision as f64, entry.moves as f64])
    }

    /// Gradients through solves that tensors need, in the order in which they can be computed: of each the tensor to be filled, the
    /// cotangent of the solution, the problem and the solve.
    pub fn tensor_pulls(&mut self, outputs: &[u32]) -> Result<Vec<u32>, Error> {
        let (double, nodes) = Self::nodes(outputs, false)?;
        let graph = &self.tensors(double)?.graph;
        let known: Vec<Node> = nodes.into_iter().filter(|&node| graph.get(node).is_some()).collect();
        let pulls = graph.pulls(&known).into_iter();
        Ok(pulls.flat_map(|pull| [id(double, pull.node), id(double, pull.cotangent), pull.solve.problem, pull.solve.number]).collect())
    }

    /// Fills one of them with the gradients of all data, one after the other.
    pub fn fill_tensor(&mut self, tensor: u32, values: &[f64]) -> Result<(), Error> {
        let (double, node) = parts(tensor);
        self.tensors(double)?.graph.fill(node, values)
    }
}

/// Reads from a device that is the host's memory.
fn read_here(device: &mut Device, slice: Slice) -> Result<Vec<f64>, Error> {
    let mut play = device.start(Recording { commands: vec![Command::Read { slice }] });
    match device.resume(&mut play, f64::INFINITY)? {
        Playing::Finished(values) => Ok(values),
        _ => Err(Error::Internal("a read of the host's memory did not end")),
    }
}
