//! The program that makes a trial point of variables on a manifold: x ⊕ δ, of every instance of a table.
//!
//! It stores scalars in columns; `place` brings them to where the table is.

use super::wgsl::Cut;
use super::{Address, Program, Signature, SlotShape, Store, wgsl};
use leastwise_expr::Manifold;
use std::sync::Arc;

/// Program of x ⊕ δ for the variables of one manifold.
#[derive(Clone, Debug)]
pub struct Retraction {
    /// The program.
    pub program: Program,
    /// Buffers that it reads.
    pub signature: Signature,
    /// Columns that it stores.
    columns: u32,
}

/// Words of its index table before the instances' numbers: where they begin in the arena and in vectors.
const HEADER: u32 = 2;

impl Retraction {
    /// The retraction of a manifold, differentiated at 0.
    pub fn new(manifold: &Arc<Manifold>) -> Self {
        let address = |base: u32, stride: u32| Address { base, column: 0, stride };
        let slot =
            SlotShape { arena: address(0, manifold.ambient), vector: Some(address(1, manifold.tangent)), manifold: Some(manifold.clone()) };
        let signature = Signature { slots: vec![slot], columns: Vec::new(), weight_shared: true, shared: 0, header: HEADER, loss: None };
        let (graph, roots) = manifold.retraction();
        let stores: Vec<_> = (0..).map(Store::Column).zip(roots).collect();
        let program = signature.program("retraction", &graph, &stores, None);
        Self { program, signature, columns: manifold.ambient }
    }

    /// Columns of scratch that it needs; with those between its pieces where a device needs pieces.
    pub fn scratch(&self, cut: Option<Cut>) -> u32 {
        cut.map_or(0, |cut| wgsl::columns(&self.program, cut)).max(self.columns)
    }
}
