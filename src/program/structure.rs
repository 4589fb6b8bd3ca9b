//! A residual without its names and numbers: what kernels are made from and shared by.

use super::{
    Address, ColumnShape, CrossDerivativeProgram, EnergyPrograms, Guards, LossKind, ResidualPrograms, RobustShape, Signature, SlotShape,
};
use leastwise_expr::{Canonical, Expr, Graph, Leaf, Manifold};
use std::sync::Arc;

/// A slot, in the order in which the structure first meets it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SlotKind {
    /// Scalars an instance of its table.
    pub width: u32,
    /// Whether it is solved for.
    pub moving: bool,
    /// What it moves on, unless all its scalars are free.
    pub manifold: Option<Arc<Manifold>>,
    /// The index column that leads to it, numbered in the same order.
    pub column: u32,
}

/// What a term's outputs add to the cost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Objective {
    /// ½ w ρ(‖r‖²) of rows r.
    #[default]
    LeastSquares,
    /// w E of one scalar E.
    Energy,
    /// ½ w ρ(‖r‖²) of rows r, whose steps take its projected Hessian where others take JᵀWJ.
    FullCurvature,
}

/// One residual with its loss, or one energy, up to what stands in its slots and the values of its data, literals and parameters.
#[derive(PartialEq, Eq, Debug)]
pub struct Structure {
    canonical: Canonical,
    /// Rows of the residual.
    pub rows: u32,
    /// Residuals or an energy.
    pub objective: Objective,
    /// Kind of each slot.
    pub slots: Vec<SlotKind>,
    /// For every leaf of `canonical`: its slot and component, or its number among the data.
    leaves: Vec<Leaf>,
    /// Scalars of the residual's data, literals included. The loss's parameters come after them.
    pub data: u32,
    /// What is made of the residual's squared norm, if it is more than that.
    pub loss: Option<Arc<LossKind>>,
}

/// Which scalars are one value for all instances of a batch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// True if all instances share the weight.
    pub weight_shared: bool,
    /// For each column of data, true if all instances share it.
    pub shared: Vec<bool>,
}

impl Structure {
    /// Structure of a canonical expression. Fails if it has too many rows or leaves.
    pub fn new(
        canonical: Canonical,
        (objective, rows): (Objective, u32),
        slots: Vec<SlotKind>,
        leaves: Vec<Leaf>,
        data: u32,
        loss: Option<Arc<LossKind>>,
    ) -> Self {
        Self { canonical, rows, objective, slots, leaves, data, loss }
    }

    /// What tells it from others, in any process.
    pub fn write_words(&self, words: &mut Vec<u32>) {
        words.extend(&self.canonical.words);
        words.extend([self.rows, self.objective as u32, self.data, self.slots.len() as u32]);
        for slot in &self.slots {
            words.extend([slot.width, u32::from(slot.moving), slot.column]);
            words.extend(slot.manifold.iter().flat_map(|manifold| manifold.key()));
        }
        for leaf in &self.leaves {
            words.extend(match *leaf {
                Leaf::Slot { slot, component } => [0, slot, component],
                Leaf::Data { column, .. } => [1, column, 0],
                _ => unreachable!("a structure has no other leaves"),
            });
        }
        if let Some(kind) = &self.loss {
            kind.write_words(words);
        }
    }

    /// Index columns that lead to the slots.
    pub fn columns(&self) -> u32 {
        self.slots.iter().map(|slot| slot.column + 1).max().unwrap_or(0)
    }

    /// Where everything of a batch lies that the kernels read.
    pub fn signature(&self, layout: &Layout) -> Signature {
        let count = self.slots.len() as u32;
        let slots = (0..).zip(&self.slots).map(|(number, slot)| {
            let address = |base: u32, stride: u32| Address { base, column: slot.column, stride };
            let mut shape = SlotShape { arena: address(number, slot.width), vector: None, manifold: slot.manifold.clone() };
            shape.vector = slot.moving.then(|| address(count + number, shape.tangent()));
            shape
        });
        let (mut shared, mut each) = (u32::from(layout.weight_shared), u32::from(!layout.weight_shared));
        let columns = layout.shared.iter().map(|&is_shared| {
            let next = if is_shared { &mut shared } else { &mut each };
            *next += 1;
            ColumnShape { width: 1, shared: is_shared, offset: *next - 1 }
        });
        let columns = columns.collect();
        let loss = self.loss.as_ref().map(|kind| RobustShape { kind: kind.clone(), first: self.data });
        Signature { slots: slots.collect(), columns, weight_shared: layout.weight_shared, shared, header: 2 * count, loss }
    }

    /// Words of its canonical form: how large it is.
    pub fn words(&self) -> usize {
        self.canonical.words.len()
    }

    /// The residual itself: leaves are slots of the structure, and its data as columns of one scalar each.
    pub fn residual(&self) -> (Graph, Vec<Expr>) {
        self.canonical.rebuild(self.rows as usize, |leaf| self.leaves[leaf as usize])
    }

    /// Programs of terms of this structure; `name` is for labels and messages.
    pub fn programs(&self, name: &str, signature: &Signature, guards: Guards) -> ResidualPrograms {
        let (graph, residual) = self.residual();
        match self.objective {
            Objective::LeastSquares => ResidualPrograms::new(name, graph, &residual, signature, guards),
            Objective::Energy => ResidualPrograms::of_energy(name, graph, residual[0], signature, guards),
            Objective::FullCurvature => ResidualPrograms::with_full_curvature(name, graph, &residual, signature, guards),
        }
    }

    /// Those of the energy, ½ ρ(‖r‖²) of a residual.
    pub fn energy_programs(&self, name: &str, signature: &Signature) -> EnergyPrograms {
        let (graph, residual) = self.residual();
        match self.objective {
            Objective::LeastSquares | Objective::FullCurvature => EnergyPrograms::of_residual(name, graph, &residual, signature),
            Objective::Energy => EnergyPrograms::new(name, graph, residual[0], signature),
        }
    }

    /// Program of mixed derivatives.
    pub fn cross_derivative_program(&self, name: &str, signature: &Signature) -> CrossDerivativeProgram {
        let (graph, roots) = self.residual();
        CrossDerivativeProgram::new(name, graph, &roots, self.objective, self.data, signature)
    }
}
