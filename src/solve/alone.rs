//! A step's exchanges with other ranks where there are none, in WebAssembly: nothing is exchanged, and nothing is left of it in
//! the module. `ranks.rs` is what other machines have.

use super::Workspace;
use leastwise_device::{Command, Slice};
use leastwise_error::Error;
use leastwise_problem::Problem;

/// Ways to combine partial sums of a kind.
#[derive(Clone, Copy)]
pub(super) enum Fold {
    Sum,
    Largest,
    Exact,
}

impl Workspace {
    #[inline(always)]
    pub(super) fn combine(&self, _: &'static str, _: &'static [Fold], count: u32, _: &mut Vec<Command>) -> u32 {
        count
    }

    #[inline(always)]
    pub(super) fn combine_inner(&self, _: &'static str, _: &'static [Fold], count: u32, _: &mut Vec<Command>) -> u32 {
        count
    }

    #[inline(always)]
    pub(super) fn complete_derivatives(&self, _: &mut Vec<Command>) {}

    #[inline(always)]
    pub(super) fn complete_product(&self, _: u32, count: u32, _: &mut Vec<Command>) -> u32 {
        count
    }

    #[inline(always)]
    pub(super) fn complete_vector(&self, _: Slice, _: &mut Vec<Command>) {}

    #[inline(always)]
    pub(super) fn complete_blocks(&self, _: Slice, _: &mut Vec<Command>) {}

    #[inline(always)]
    pub(super) fn clear_copies(&self, _: &Problem, _: Slice, _: &mut Vec<Command>) {}

    #[inline(always)]
    pub(super) fn clear_copied_blocks(&self, _: &Problem, _: Slice, _: &mut Vec<Command>) {}

    #[inline(always)]
    pub(super) fn product_scale(&self) -> Slice {
        self.scale
    }

    #[inline(always)]
    pub(super) fn own_scale(&self, _: &Problem, _: &mut Vec<Command>) {}
}

#[inline(always)]
pub(super) fn total_costs(_: &Problem, costs: Vec<(String, f64)>) -> Result<Vec<(String, f64)>, Error> {
    Ok(costs)
}

#[inline(always)]
pub(super) fn unknowns(problem: &Problem) -> u32 {
    problem.vector_len()
}

#[inline(always)]
pub(super) fn is_ranked(_: &Problem) -> bool {
    false
}
