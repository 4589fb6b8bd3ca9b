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
//! Of variables on a manifold they are those of E(x ⊕ δ) by δ at 0, which is what a step is taken in.
//! As in [`ResidualPrograms`](super::ResidualPrograms), values that differ in their sign alone are stored once, and what
//! the symbols prove to be 0 is not stored. An entry that is constant is a multiple of the weight.

use super::inputs::{Inputs, displaced};
use super::residual::Columns;
use super::wgsl::Cut;
use super::{ColumnMap, Program, Signature, Store, wgsl};
use leastwise_expr::{Expr, Graph, Leaf};

/// The programs of an energy and the layout of what they store.
#[derive(Clone, Debug)]
pub struct EnergyPrograms {
    /// E.
    pub value: Program,
    /// Contributions to ∇E.
    pub gradient: Program,
    /// Entries of H.
    pub hessian: Program,
    /// Contributions to Hp.
    pub product: Program,
    /// What rows and columns of the Hessian stand for: slot, and scalar or degree of freedom.
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
    pub fn scratch(&self, cut: Option<Cut>) -> u32 {
        cut.map_or(0, |cut| wgsl::columns(&self.hessian, cut)).max(self.stored).max(1)
    }

    /// Of any scalar of `graph` over slots and data.
    pub fn new(name: &str, mut graph: Graph, energy: Expr, signature: &Signature) -> Self {
        let inputs = Inputs::moving(&mut graph, signature);
        let unknowns = inputs.unknowns(&mut graph, signature);
        let moved = displaced(&mut graph, signature, &[energy]);
        let gradient = graph.gradient(moved[0], &unknowns);
        Self::differentiated(name, graph, energy, &gradient, inputs.list, &unknowns, signature)
    }

    /// Of ½ ρ(‖r‖²), with the signature's loss.
    pub fn of_residual(name: &str, mut graph: Graph, residual: &[Expr], signature: &Signature) -> Self {
        let inputs = Inputs::moving(&mut graph, signature);
        let unknowns = inputs.unknowns(&mut graph, signature);
        let squared = graph.dot(residual, residual);
        let half = graph.constant(0.5);
        let loss = signature.loss.as_ref();
        let value = loss.map_or(squared, |loss| loss.value(&mut graph, squared));
        let energy = graph.mul(half, value);
        let gradient = gradient_of_squares(&mut graph, residual, signature, &unknowns);
        Self::differentiated(name, graph, energy, &gradient, inputs.list, &unknowns, signature)
    }

    /// `gradient` is by the `unknowns`, and so that it can be differentiated again.
    fn differentiated(
        name: &str,
        mut graph: Graph,
        energy: Expr,
        gradient: &[Expr],
        inputs: Vec<(u32, u32)>,
        unknowns: &[Expr],
        signature: &Signature,
    ) -> Self {
        let weight = graph.leaf(Leaf::Weight);
        let gradient: Vec<Expr> = gradient.iter().map(|&entry| graph.mul(weight, entry)).collect();
        let program =
            |suffix: &str, graph: &Graph, stores: &[(Store, Expr)]| signature.program(&format!("{name}: {suffix}"), graph, stores, None);

        let mut contributions = Columns::new(0);
        let codes: Vec<u32> = gradient.iter().map(|&entry| contributions.code(&graph, entry)).collect();
        let mut gradient_maps = vec![ColumnMap::default(); signature.slots.len()];
        for (&(slot, _), &code) in inputs.iter().zip(&codes) {
            let map = &mut gradient_maps[slot as usize];
            map.width += 1;
            map.codes.push(code);
        }
        let mut entries = Columns::new(0);
        let triangle = graph.hessian_of_gradient(&gradient, unknowns);
        let triangle = graph.at_rest(&triangle);
        let triangle: Vec<u32> = triangle.into_iter().map(|entry| entries.code(&graph, entry)).collect();
        // Of each column as it is stored: what differs in sign alone does so in every direction, too.
        let direction: Vec<Expr> = inputs.iter().map(|&(slot, component)| graph.leaf(Leaf::Direction { slot, component })).collect();
        let along = graph.tangents(&contributions.list, unknowns, &direction);
        let along = graph.at_rest(&along);
        let contributed = graph.at_rest(&contributions.list);

        let defined = graph.defined(&[energy]);
        let value = graph.mul(weight, energy);
        let value = graph.flagged_unless(defined, value);
        let value = program("value", &graph, &[(Store::Column(0), value)]);
        let columns = |values: Vec<Expr>| (0..).map(Store::Column).zip(values).collect::<Vec<_>>();
        let gradient = program("gradient of the energy", &graph, &columns(contributed));
        let hessian = program("Hessian", &graph, &entries.stores(Store::Column));
        let product = program("Hessian product", &graph, &columns(along));
        Self {
            value,
            gradient,
            hessian,
            product,
            inputs,
            contributions: contributions.list.len() as u32,
            gradient_maps,
            stored: entries.list.len() as u32,
            entries: ColumnMap { width: triangle.len() as u32, codes: triangle },
        }
    }
}

/// The gradient of ½ ρ(‖r‖²) with respect to the unknowns, in a form that can be differentiated again.
pub(super) fn gradient_of_squares(graph: &mut Graph, residual: &[Expr], signature: &Signature, unknowns: &[Expr]) -> Vec<Expr> {
    let moved = displaced(graph, signature, residual);
    let squared = graph.dot(&moved, &moved);
    let u: Vec<Expr> = match signature.loss.as_ref().map(|loss| loss.slope(graph, squared)) {
        None => moved.clone(),
        Some(slope) => moved.iter().map(|&r| graph.mul(slope, r)).collect(),
    };
    // Jᵀu with u = ρ′r put in afterwards: the sweep through a square would add two halves of everything.
    let rows: Vec<Expr> = (0..residual.len()).map(|row| graph.leaf(Leaf::Row(row as u32))).collect();
    let along = graph.dot(&moved, &rows);
    let gradient = graph.gradient(along, unknowns);
    graph.substitute(&gradient, |leaf| match leaf {
        Leaf::Row(row) => u.get(row as usize).copied(),
        _ => None,
    })
}
