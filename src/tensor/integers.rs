//! Formulas of whole numbers: int32 in two's complement, and truths as 0 and 1.
//!
//! They stand beside those of reals ([`formula`](crate::formula)), and are written into kernels of their own: f32 has no whole numbers
//! beyond 2²⁴, so no real ever stands for one.

use leastwise_program::words::{WordBinary, WordGraph, WordProgram, WordStep, WordUnary};
use std::sync::Arc;

/// An expression of so many operands, of which those that are reals count by their whole parts.
#[derive(Debug)]
pub struct WordFormula {
    /// Program whose views are the operands.
    pub program: WordProgram,
    /// Number of operands.
    pub operands: u32,
}

impl WordFormula {
    /// The expression that `write` makes of its operands.
    pub fn new(operands: u32, write: impl FnOnce(&mut WordGraph, &[u32]) -> u32) -> Arc<Self> {
        let mut graph = WordGraph::default();
        let views: Vec<u32> = (0..operands).map(|k| graph.step(WordStep::View(k))).collect();
        let result = write(&mut graph, &views);
        Arc::new(Self { program: graph.program(result), operands })
    }

    /// The operand itself.
    pub fn identity() -> Arc<Self> {
        Self::new(1, |_, x| x[0])
    }

    /// One operation on one operand.
    pub fn unary(operation: WordUnary) -> Arc<Self> {
        Self::new(1, |graph, x| graph.step(WordStep::Unary(operation, x[0])))
    }

    /// One operation on two operands.
    pub fn binary(operation: WordBinary) -> Arc<Self> {
        Self::new(2, |graph, x| graph.step(WordStep::Binary(operation, x[0], x[1])))
    }

    /// 1 where the operand is not 0.
    pub fn truth() -> Arc<Self> {
        Self::new(1, |graph, x| {
            let zero = graph.step(WordStep::Constant(0));
            graph.step(WordStep::Binary(WordBinary::Ne, x[0], zero))
        })
    }

    /// The second operand where the first is not 0, else the third.
    pub fn choice() -> Arc<Self> {
        Self::new(3, |graph, x| graph.step(WordStep::Select(x[0], x[1], x[2])))
    }

    /// Number of its operations.
    pub fn operations(&self) -> u32 {
        self.program.steps.iter().filter(|step| !matches!(step, WordStep::View(_) | WordStep::Constant(_))).count() as u32
    }

    /// Its words, equal for equal formulas.
    pub fn words(&self) -> Vec<u64> {
        let mut words = vec![u64::from(self.operands), u64::from(self.program.result), self.program.steps.len() as u64];
        for step in &self.program.steps {
            words.extend(match *step {
                WordStep::View(view) => [0, view.into(), 0, 0],
                WordStep::Constant(value) => [1, u64::from(value as u32), 0, 0],
                WordStep::Unary(operation, a) => [2, operation as u64, a.into(), 0],
                WordStep::Binary(operation, a, b) => [3, operation as u64, a.into(), b.into()],
                WordStep::Select(condition, then, otherwise) => [4, condition.into(), then.into(), otherwise.into()],
            });
        }
        words
    }
}
