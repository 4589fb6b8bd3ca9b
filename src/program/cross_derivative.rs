//! Mixed second derivatives of one instance's energy, as a program: what the implicit function theorem needs.
//!
//! With E as in [`EnergyPrograms`](super::EnergyPrograms), θ the instance's data, the scalars of its constants and its weight
//! w, and z a vector over the unknowns, it stores the distinct entries of
//!
//! ∂/∂θ (w zᵀ∇E)
//!
//! that the symbols do not prove to be 0. zᵀ∇E is E's derivative in the direction z, one forward sweep whatever the number of
//! unknowns; a reverse sweep over that gives its slopes, whatever the number of θ (Griewank & Walther, *Evaluating
//! Derivatives*, 2nd ed., section 5.1). Of ½ ρ(‖r‖²) the direction's derivative is ρ′(s) rᵀJz, which the reverse sweep
//! begins with.

use super::inputs::{Inputs, displaced};
use super::residual::Columns;
use super::wgsl::Cut;
use super::{Objective, Program, Signature, Store, wgsl};
use leastwise_expr::{Expr, Graph, Leaf};

/// Derivatives of an instance's gradient with respect to data, weight and constants.
#[derive(Clone, Debug)]
pub struct CrossDerivativeProgram {
    /// The program.
    pub program: Program,
    /// Columns that it stores.
    pub stored: u32,
    /// By every scalar of data, and by the weight: a column and its sign, or 0.
    pub data: Vec<u32>,
    /// Column and sign of the derivative with respect to the weight, or 0.
    pub weight: u32,
    /// By the scalars of constants: slot, component, and the same.
    pub constants: Vec<(u32, u32, u32)>,
}

impl CrossDerivativeProgram {
    /// Of a residual's rows with the signature's loss, or of an energy; `data` are the scalars that are not the loss's.
    pub fn new(name: &str, mut graph: Graph, roots: &[Expr], objective: Objective, data: u32, signature: &Signature) -> Self {
        let inputs = Inputs::moving(&mut graph, signature);
        let unknowns = inputs.unknowns(&mut graph, signature);
        let moved = displaced(&mut graph, signature, roots);
        let direction: Vec<Expr> = inputs.list.iter().map(|&(slot, component)| graph.leaf(Leaf::Direction { slot, component })).collect();
        let along = graph.tangents(&moved, &unknowns, &direction);
        let along = graph.at_rest(&along);
        let slope = match objective {
            Objective::Energy => along[0],
            Objective::LeastSquares | Objective::FullCurvature => {
                let along = graph.dot(roots, &along);
                let squared = graph.dot(roots, roots);
                match &signature.loss {
                    None => along,
                    Some(loss) => {
                        let slope = loss.slope(&mut graph, squared);
                        graph.mul(slope, along)
                    }
                }
            }
        };
        let constants = (0..).zip(&signature.slots).filter(|(_, shape)| shape.vector.is_none());
        let constants: Vec<(u32, u32)> =
            constants.flat_map(|(slot, shape)| (0..shape.arena.stride).map(move |component| (slot, component))).collect();
        let of_data = (0..data).map(|column| Leaf::Data { column, component: 0 });
        let of_constants = constants.iter().map(|&(slot, component)| Leaf::Slot { slot, component });
        let leaves: Vec<Expr> = of_data.chain(of_constants).map(|leaf| graph.leaf(leaf)).collect();
        let slopes = graph.gradient(slope, &leaves);
        let weight = graph.leaf(Leaf::Weight);
        let mut columns = Columns::new(0);
        let codes: Vec<u32> = slopes
            .into_iter()
            .map(|by| {
                let weighed = graph.mul(weight, by);
                columns.code(&graph, weighed)
            })
            .collect();
        let by_weight = columns.code(&graph, slope);
        let (data, rest) = codes.split_at(data as usize);
        // A program stores something.
        let zero = graph.constant(0.0);
        let nothing = columns.list.is_empty().then_some((Store::Column(0), zero));
        let stores: Vec<(Store, Expr)> = columns.stores(Store::Column).into_iter().chain(nothing).collect();
        Self {
            program: signature.program(&format!("{name}: mixed derivatives"), &graph, &stores, None),
            stored: stores.len() as u32,
            data: data.to_vec(),
            weight: by_weight,
            constants: constants.into_iter().zip(rest).map(|((slot, component), code)| (slot, component, *code)).collect(),
        }
    }

    /// Columns that it needs; with those between pieces of a large one where a device needs pieces.
    pub fn scratch(&self, cut: Option<Cut>) -> u32 {
        cut.map_or(0, |cut| wgsl::columns(&self.program, cut)).max(self.stored)
    }
}
