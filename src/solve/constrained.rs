//! Steps that leave what is fixed where it is.
//!
//! A component that may not move is taken out of the linear system by a *mask* (1 free, 0 not) over all unknowns: its
//! gradient and its part of every product are 0, and its row and column of the diagonal blocks those of the identity.
//! Then r = z = p = s = 0 there in every iteration of conjugate gradients, and x′ = x + 0 to the bit.
//!
//! A linear solver that assembles the matrix has to do the same: `work.gradient` and `work.blocks` are masked already when
//! it begins, and what it assembles itself gets the rows and columns of all i with [`Workspace::free`]ᵢ = 0 replaced by
//! those of the identity. (λD may be added to these, too: their right-hand side is 0.)

use super::Workspace;
use crate::device::{Command, Slice, binding::*};
use crate::kernel::Fixed;
use crate::problem::{Problem, Table};
use crate::solve::state;

impl Workspace {
    /// For every unknown, 1 where it may move in this step and else 0; none where all may. It is right after
    /// [`differentiate`](Self::differentiate).
    pub fn free(&self) -> Option<Slice> {
        self.free
    }

    /// Takes what may not move out of g and the diagonal blocks.
    pub(super) fn constrain(&self, problem: &Problem, commands: &mut Vec<Command>) {
        let Some(free) = self.free else { return };
        self.mask(self.gradient, state::ALWAYS, problem, commands);
        let variables = |table: &Table| (table.count, vec![table.vector, table.tangent, table.block]);
        self.over_tables(Fixed::MaskBlocks, problem, variables, &[(VECTOR_IN, free), (VECTOR_OUT, self.blocks)], commands);
    }

    /// Takes what may not move out of a vector over all unknowns.
    pub fn mask(&self, vector: Slice, guard: u32, problem: &Problem, commands: &mut Vec<Command>) {
        if let Some(free) = self.free {
            let bindings = [(VECTOR_IN, free), (VECTOR_OUT, vector), (STATE, self.state)];
            commands.push(self.fixed(Fixed::Mask, problem.vector_len(), &[guard], &bindings));
        }
    }
}
