//! A sparse Cholesky factor that stays while conjugate gradients make do with it: between two steps, or after an edit of targets and
//! weights, JᵀWJ + λD changes little, and the factor of what it was leaves few iterations. A factor costs as much as many of them.

use crate::Computed;
use crate::conjugate::{self, Inexact, Solution};
use crate::matrix::{System, Unsolved};
use crate::sparse::{SparseCholesky, Unfactorised};
use leastwise_base::task::Pace;
use leastwise_problem::Pattern;

/// Iterations that an old factor may take: more cost about as much as a new one.
const MOST_ITERATIONS: u32 = 24;

/// The factor, and how often it was made.
pub struct Frozen {
    factor: SparseCholesky,
    is_made: bool,
    /// Factorisations so far.
    pub factorizations: u64,
}

impl Frozen {
    /// Orders the pattern; nothing is factorised yet.
    pub fn new<'a>(pattern: &'a Pattern, pace: &'a Pace) -> Computed<'a, Result<Self, Unfactorised>> {
        Box::pin(async move { Ok(Self { factor: SparseCholesky::new(pattern, pace).await?, is_made: false, factorizations: 0 }) })
    }

    /// Solves a system as well as it is asked to, with a new factor where the old one is too far off.
    pub fn solve<'a>(&'a mut self, system: &'a System<'a>, inexact: Inexact, pace: &'a Pace) -> Computed<'a, Result<Solution, Unsolved>> {
        Box::pin(async move {
            let mut spent = 0;
            if self.is_made {
                let bounded = Inexact { max_iterations: inexact.max_iterations.min(MOST_ITERATIONS), ..inexact };
                match conjugate::solve(system, bounded, &mut self.factor, pace).await {
                    Ok(solution) if solution.is_solved || inexact.max_iterations <= MOST_ITERATIONS => return Ok(solution),
                    Ok(solution) => spent = solution.iterations,
                    Err(Unsolved::Singular) => {}
                    Err(stopped) => return Err(stopped),
                }
            }
            self.is_made = false;
            self.factor.factorize(system, pace).await?;
            (self.is_made, self.factorizations) = (true, self.factorizations + 1);
            let solution = conjugate::solve(system, inexact, &mut self.factor, pace).await?;
            Ok(Solution { iterations: spent + solution.iterations, ..solution })
        })
    }
}
