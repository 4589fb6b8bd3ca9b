//! The block interpreter.
use super::Program;
use crate::device::cpu::{Bindings, Work};
use crate::real::Real;

/// A program with registers assigned.
pub struct BlockProgram {}

impl BlockProgram {
    pub fn new(_program: &Program) -> Self {
        todo!()
    }
    pub fn run<R: Real>(&self, _work: &Work, _bindings: Bindings<R>) {
        todo!()
    }
}
