//! Conjugate gradients on the assembled matrix, preconditioned by its inverted diagonal blocks or by what is given (Saad, *Iterative Methods
//! for Sparse Linear Systems*, 2nd ed., algorithm 9.1): for problems with many more residuals than blocks, whose factor
//! would be too large.

use crate::matrix::{System, Unsolved, packed};
use crate::sparse::{Factorization, SparseCholesky};
use leastwise_base::task::{Pace, Stopped};

/// How long to go on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inexact {
    /// η: what may be left of the system, in the preconditioner's norm.
    pub forcing: f64,
    /// Iterations at most.
    pub max_iterations: u32,
}

/// x with (H + λD)x = right but for the residual.
pub struct Solution {
    /// x.
    pub x: Vec<f64>,
    /// right − (H + λD)x.
    pub residual: Vec<f64>,
    /// Iterations that were taken.
    pub iterations: u32,
    /// Whether no more than η is left.
    pub is_solved: bool,
}

/// A symmetric positive definite M.
pub trait Preconditioner: Send {
    /// r becomes M⁻¹r.
    fn apply(&mut self, r: &mut [f64], pace: &Pace) -> impl Future<Output = Result<(), Stopped>> + Send;
}

impl<F: Factorization> Preconditioner for SparseCholesky<F> {
    async fn apply(&mut self, r: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        self.solve(r, pace).await
    }
}

/// Solves a system as well as it is asked to.
pub async fn solve(
    system: &System<'_>,
    inexact: Inexact,
    preconditioner: &mut impl Preconditioner,
    pace: &Pace,
) -> Result<Solution, Unsolved> {
    let n = system.right.len();
    let (mut x, mut r, mut q) = (vec![0.0; n], system.right.to_vec(), vec![0.0; n]);
    let mut z = r.clone();
    preconditioner.apply(&mut z, pace).await?;
    let mut p = z.clone();
    let mut rz = dot(&r, &z);
    let target = inexact.forcing * inexact.forcing * rz;
    let mut iterations = 0;
    // Nothing to solve leaves 0.
    while rz > 0.0 && rz > target && iterations < inexact.max_iterations {
        system.matrix.multiply_in_slices(&p, &mut q, pace).await?;
        q.iter_mut().zip(system.damping).zip(&p).for_each(|((q, damping), p)| *q += damping * p);
        let curvature = dot(&p, &q);
        if !(curvature.is_finite() && curvature > 0.0) {
            // What was found so far goes downhill.
            if iterations > 0 { break } else { return Err(Unsolved::Singular) }
        }
        let alpha = rz / curvature;
        x.iter_mut().zip(&p).for_each(|(x, p)| *x += alpha * p);
        r.iter_mut().zip(&q).for_each(|(r, q)| *r -= alpha * q);
        z.copy_from_slice(&r);
        preconditioner.apply(&mut z, pace).await?;
        let next = dot(&r, &z);
        let beta = next / rz;
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = z + beta * *p);
        rz = next;
        iterations += 1;
        pace.spend(12 * n).await?;
    }
    if rz.is_finite() { Ok(Solution { x, residual: r, iterations, is_solved: rz <= target }) } else { Err(Unsolved::Singular) }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Cholesky factors of the diagonal blocks of H + λD, packed one after the other, with the first scalar and the width of
/// each variable.
pub struct Blocks {
    factors: Vec<f64>,
    variables: Vec<(usize, usize)>,
}

impl Blocks {
    /// Factorises the diagonal blocks of H + λD. Fails if one of them is not positive definite.
    pub async fn new(system: &System<'_>, pace: &Pace) -> Result<Self, Unsolved> {
        let (mut factors, mut variables) = (Vec::new(), Vec::new());
        for table in &system.matrix.pattern.tables {
            let width = table.width as usize;
            for variable in 0..table.count {
                let (at, first) = (table.scalar as usize + variable as usize * width, factors.len());
                factors.extend_from_slice(system.matrix.diagonal(table, variable));
                let block = &mut factors[first..];
                (0..width).for_each(|k| block[packed(k, k)] += system.damping[at + k]);
                factorize(block, width)?;
                variables.push((at, width));
                pace.spend(width * width * width + 16).await?;
            }
        }
        Ok(Self { factors, variables })
    }
}

impl Preconditioner for Blocks {
    async fn apply(&mut self, x: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        let mut first = 0;
        for &(at, width) in &self.variables {
            let factor = &self.factors[first..first + packed(width, 0)];
            let x = &mut x[at..at + width];
            for r in 0..width {
                let known: f64 = (0..r).map(|k| factor[packed(r, k)] * x[k]).sum();
                x[r] = (x[r] - known) / factor[packed(r, r)];
            }
            for r in (0..width).rev() {
                let known: f64 = (r + 1..width).map(|k| factor[packed(k, r)] * x[k]).sum();
                x[r] = (x[r] - known) / factor[packed(r, r)];
            }
            first += packed(width, 0);
            pace.spend(4 * width * width).await?;
        }
        Ok(())
    }
}

/// L of a packed block, in place.
fn factorize(block: &mut [f64], width: usize) -> Result<(), Unsolved> {
    for r in 0..width {
        for c in 0..=r {
            let known: f64 = (0..c).map(|k| block[packed(r, k)] * block[packed(c, k)]).sum();
            let value = block[packed(r, c)] - known;
            block[packed(r, c)] = if r > c { value / block[packed(c, c)] } else { value.sqrt() };
        }
        // The root of what is negative is NaN.
        let pivot = block[packed(r, r)];
        if !(pivot.is_finite() && pivot > 0.0) {
            return Err(Unsolved::Singular);
        }
    }
    Ok(())
}
