//! Second derivatives of one instance's energy, as programs: what methods of Newton's kind need.
//!
//! With E a scalar over the slots (½ ρ(‖r‖²) of a residual, or any other), w the instance's weight and x its n unknowns:
//!
//! | program | reads | stores |
//! |---|---|---|
//! | value | variables, constants, data, w | w E |
//! | gradient | the same | the contributions w ∇E |
//! | hessian | the same | the distinct entries of w ∇²E |
//! | product | the same and a vector p | the contributions w ∇²E p |
//!
//! ∇²E p is the derivative of ∇E in the direction p (forward over reverse: Griewank & Walther, *Evaluating
//! Derivatives*, 2nd ed., section 5.1), which costs a few gradients whatever n is. Of ½ ‖r‖² it is JᵀJp + Σ rᵢ ∇²rᵢ p.
//! As in [`ResidualPrograms`](super::ResidualPrograms), values that differ in their sign alone are stored once, and what
//! the symbols prove to be 0 is not stored. An entry that is constant is a multiple of the weight.

use super::residual::Columns;
use super::{ColumnMap, Program, Signature, Store, wgsl};
use crate::expr::{Expr, Graph, Leaf};

/// The programs of an energy and the layout of what they store.
#[derive(Clone, Debug)]
pub struct EnergyPrograms {
    pub value: Program,
    pub gradient: Program,
    pub hessian: Program,
    pub product: Program,
    /// What rows and columns of the Hessian stand for: slot and component.
    pub inputs: Vec<(u32, u32)>,
    /// Columns that `gradient` and `product` store.
    pub contributions: u32,
    /// For every slot, where its part of either is. Empty for constants.
    pub gradient_maps: Vec<ColumnMap>,
    /// Columns that `hessian` stores.
    pub stored: u32,
    /// The lower triangle of the Hessian, row by row.
    pub entries: ColumnMap,
}

impl EnergyPrograms {
    /// Columns that `hessian` needs; with those between pieces of a large one where a device needs pieces.
    pub fn scratch(&self, in_pieces: bool) -> u32 {
        if in_pieces { wgsl::columns(&self.hessian).max(self.stored) } else { self.stored }.max(1)
    }

    /// Of any scalar of `graph` over slots and data.
    pub fn new(name: &str, mut graph: Graph, energy: Expr, signature: &Signature) -> Self {
        let inputs = inputs(&mut graph, signature);
        let gradient = graph.gradient(energy, &leaves(&inputs));
        Self::differentiated(name, graph, energy, &gradient, inputs, signature)
    }

    /// Of ½ ρ(‖r‖²), with the signature's loss.
    pub fn of_residual(name: &str, mut graph: Graph, residual: &[Expr], signature: &Signature) -> Self {
        let inputs = inputs(&mut graph, signature);
        let squared = graph.dot(residual, residual);
        let half = graph.constant(0.5);
        let loss = signature.loss.as_ref();
        let value = loss.map_or(squared, |loss| loss.value(&mut graph, squared));
        let energy = graph.mul(half, value);
        let u: Vec<Expr> = match loss.map(|loss| loss.slope(&mut graph, squared)) {
            None => residual.to_vec(),
            Some(slope) => residual.iter().map(|&r| graph.mul(slope, r)).collect(),
        };
        // Jᵀu with u = ρ′r put in afterwards: the sweep through a square would add two halves of everything.
        let rows: Vec<Expr> = (0..residual.len()).map(|row| graph.leaf(Leaf::Row(row as u32))).collect();
        let along = graph.dot(residual, &rows);
        let gradient = graph.gradient(along, &leaves(&inputs));
        let gradient = graph.substitute(&gradient, |leaf| match leaf {
            Leaf::Row(row) => u.get(row as usize).copied(),
            _ => None,
        });
        Self::differentiated(name, graph, energy, &gradient, inputs, signature)
    }

    fn differentiated(name: &str, mut graph: Graph, energy: Expr, gradient: &[Expr], inputs: Vec<Input>, signature: &Signature) -> Self {
        let leaves = leaves(&inputs);
        let weight = graph.leaf(Leaf::Weight);
        let gradient: Vec<Expr> = gradient.iter().map(|&entry| graph.mul(weight, entry)).collect();
        let program =
            |suffix: &str, graph: &Graph, stores: &[(Store, Expr)]| signature.program(&format!("{name}: {suffix}"), graph, stores, None);

        let mut contributions = Columns::new(0);
        let codes: Vec<u32> = gradient.iter().map(|&entry| contributions.code(&graph, entry)).collect();
        let mut gradient_maps = vec![ColumnMap::default(); signature.slots.len()];
        for (&(slot, ..), &code) in inputs.iter().zip(&codes) {
            let map = &mut gradient_maps[slot as usize];
            map.width += 1;
            map.codes.push(code);
        }
        let mut entries = Columns::new(0);
        let triangle = graph.hessian_of_gradient(&gradient, &leaves);
        let triangle: Vec<u32> = triangle.into_iter().map(|entry| entries.code(&graph, entry)).collect();
        // Of each column as it is stored: what differs in sign alone does so in every direction, too.
        let direction: Vec<Expr> = inputs.iter().map(|&(slot, component, _)| graph.leaf(Leaf::Direction { slot, component })).collect();
        let along = graph.tangents(&contributions.list, &leaves, &direction);

        let defined = graph.defined(&[energy]);
        let value = graph.mul(weight, energy);
        let value = graph.flagged_unless(defined, value);
        let value = program("value", &graph, &[(Store::Column(0), value)]);
        let gradient = program("gradient of the energy", &graph, &contributions.stores(Store::Column));
        let hessian = program("Hessian", &graph, &entries.stores(Store::Column));
        let along: Vec<(Store, Expr)> = (0..).map(Store::Column).zip(along).collect();
        let product = program("Hessian product", &graph, &along);
        Self {
            value,
            gradient,
            hessian,
            product,
            inputs: inputs.iter().map(|&(slot, component, _)| (slot, component)).collect(),
            contributions: contributions.list.len() as u32,
            gradient_maps,
            stored: entries.list.len() as u32,
            entries: ColumnMap { width: triangle.len() as u32, codes: triangle },
        }
    }
}

/// An unknown: its slot and component, and its leaf.
type Input = (u32, u32, Expr);

fn inputs(graph: &mut Graph, signature: &Signature) -> Vec<Input> {
    let moving = (0..).zip(&signature.slots).filter(|(_, shape)| shape.vector.is_some());
    let components = moving.flat_map(|(slot, shape)| (0..shape.arena.stride).map(move |component| (slot, component)));
    components.map(|(slot, component)| (slot, component, graph.leaf(Leaf::Slot { slot, component }))).collect()
}

fn leaves(inputs: &[Input]) -> Vec<Expr> {
    inputs.iter().map(|input| input.2).collect()
}
