//! The adjoint system with constraints: [H Aᵀ; A 0][z; y] = [v; c].
//!
//! With F(x, λ, θ) = (∇f + Aᵀλ, c) = 0 at a solution, dL/dθ = −zᵀ∂(∇f + Aᵀλ)/∂θ − yᵀ∂c/∂θ: the implicit function theorem of the
//! conditions of optimality (Amos & Kolter, *OptNet*, ICML 2017, section 3; Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006,
//! theorem 12.6 and section 18.1). H is the Hessian of the Lagrangian, which has the constraints' curvature λ∇²c.

use super::super::covariance::equalities::{Equalities, RangeSpace, RowSpace, borrow_scales, is_undone, lifted, stiffened};
use super::super::covariance::jacobi::{add, dot, orthonormal, scale};
use super::super::covariance::sparse::{Refused, Sparse, diagonal};
use super::{Whole, scaled};
use leastwise_base::task::{Pace, Stopped};
use leastwise_linear::matrix::BlockMatrix;

/// Stiffness that a row adds to H, as a part of what is there, until that is positive definite; and the number of trials.
const STIFFER: f64 = 100.0;
const TRIALS: i32 = 4;
/// (An)ᵀE(An) of a direction n along which nothing changes, as a part of its nᵀ|D|n, at most so many times the tolerance.
const BALANCED: f64 = 1e3;
/// Scales of unknowns at most, as a multiple of the least: beyond, no cost touches them.
const LARGEST_SCALE: f64 = 1e10;

/// A constrained system, on what is free.
pub(in super::super) enum Constrained {
    /// Of few unknowns: on an orthonormal basis of the null space of A.
    Null {
        whole: Box<Whole>,
        basis: Vec<Vec<f64>>,
        rows: Box<RowSpace>,
        /// Ĥ = T H T, column by column, and T.
        columns: Vec<Vec<f64>>,
        scales: Vec<f64>,
        null: Vec<Vec<f64>>,
    },
    /// Of many: through AGAᵀ, G⁻¹ = H + AᵀEA.
    Range { sparse: Box<Sparse>, range: RangeSpace, stiffness: Vec<f64> },
}

impl Constrained {
    /// Of few unknowns, with directions along which nothing changes.
    pub async fn few(
        columns: Vec<Vec<f64>>,
        free: &[bool],
        equalities: &Equalities,
        tolerance: f64,
        pace: &Pace,
    ) -> Result<(Self, Vec<Vec<f64>>), Stopped> {
        let (mut columns, mut scales) = scaled(columns, free);
        // Beside the smallest of them, these are of what is rounding of 0.
        let least = scales.iter().filter(|scale| **scale > 0.0).fold(f64::INFINITY, |least, scale| least.min(*scale));
        scales.iter_mut().filter(|scale| **scale > LARGEST_SCALE * least).for_each(|scale| *scale = 0.0);
        borrow_scales(&mut scales, free, equalities);
        columns.iter_mut().zip(&scales).for_each(|(column, by)| {
            scale(column, &scales);
            column.iter_mut().for_each(|value| *value *= by);
        });
        let rows = RowSpace::new(equalities, &scales, pace).await?;
        let basis = rows.complement(&scales, pace).await?;
        let (ones, mut on_basis) = (vec![1.0; scales.len()], Vec::new());
        for vector in &basis {
            let image = lifted(&columns, vector, &ones);
            on_basis.push(basis.iter().map(|other| dot(other, &image)).collect());
            pace.spend(4 * ones.len() * ones.len()).await?;
        }
        let whole = Whole::new(on_basis, &vec![true; basis.len()], tolerance, pace).await?;
        let null = whole.null.iter().map(|parts| lifted(&basis, parts, &scales)).collect();
        let null = orthonormal(null, pace).await?;
        let (whole, rows) = (Box::new(whole), Box::new(rows));
        Ok((Self::Null { whole, basis, rows, columns, scales, null: null.clone() }, null))
    }

    /// Of many unknowns.
    pub async fn many(
        matrix: &BlockMatrix,
        free: &[bool],
        equalities: &Equalities,
        tolerance: f64,
        pace: &Pace,
    ) -> Result<(Self, Vec<Vec<f64>>), Refused> {
        let (mut trial, own) = (0, diagonal(matrix));
        loop {
            let (stiff, stiffness) = stiffened(matrix.clone(), equalities, free, STIFFER.powi(trial), pace).await?;
            trial += 1;
            let made = if is_undone(&own, &diagonal(&stiff), free) {
                Err(Refused::Singular)
            } else {
                Sparse::new(stiff, free, tolerance, pace).await
            };
            // A direction in which H bends down and rows bend up by as much is none along which nothing changes.
            let is_balanced = |direction: &Vec<f64>| {
                let bent = equalities.along(direction).iter().zip(&stiffness).map(|(along, by)| by * along * along).sum::<f64>();
                let of = direction.iter().zip(&own).map(|(value, own)| own.abs() * value * value).sum::<f64>();
                bent > BALANCED * tolerance * tolerance * of
            };
            let made =
                made.and_then(|(sparse, null)| if null.iter().any(is_balanced) { Err(Refused::Singular) } else { Ok((sparse, null)) });
            match made {
                Err(Refused::Singular | Refused::TooMany) if trial < TRIALS => {}
                Err(refused) => return Err(refused),
                Ok((sparse, null)) => {
                    let (range, _) = RangeSpace::new(equalities, &sparse, free.len(), false, pace).await?;
                    return Ok((Self::Range { sparse: Box::new(sparse), range, stiffness }, null));
                }
            }
        }
    }

    /// "dense" or "sparse".
    pub fn method(&self) -> &'static str {
        if matches!(self, Self::Null { .. }) { "dense" } else { "sparse" }
    }

    /// Rows of A that depend on none of the others.
    pub fn pivots(&self) -> &[usize] {
        match self {
            Self::Null { rows, .. } => &rows.pivots,
            Self::Range { range, .. } => &range.pivots,
        }
    }

    /// z and y.
    pub async fn solve(&self, equalities: &Equalities, v: &[f64], c: &[f64], pace: &Pace) -> Result<(Vec<f64>, Vec<f64>), Stopped> {
        match self {
            Self::Null { whole, basis, rows, columns, scales, null } => {
                let across = |x: &mut Vec<f64>| {
                    for direction in null {
                        let along = dot(direction, x);
                        add(x, -along, direction);
                    }
                };
                let mut right = v.to_vec();
                across(&mut right);
                scale(&mut right, scales);
                let ones = vec![1.0; scales.len()];
                let mut z = rows.point(c);
                let mut left = right.clone();
                add(&mut left, -1.0, &lifted(columns, &z, &ones));
                let parts: Vec<f64> = basis.iter().map(|vector| dot(vector, &left)).collect();
                let along = whole.solve(&parts);
                basis.iter().zip(along).for_each(|(vector, by)| add(&mut z, by, vector));
                add(&mut right, -1.0, &lifted(columns, &z, &ones));
                let y = rows.multipliers(&right);
                scale(&mut z, scales);
                across(&mut z);
                Ok((z, y))
            }
            Self::Range { sparse, range, stiffness } => {
                let mut right = equalities.along(&sparse.solve(v, pace).await?);
                add(&mut right, -1.0, c);
                let mut y = range.solve(&right);
                let mut left = v.to_vec();
                add(&mut left, -1.0, &equalities.across(&y, v.len()));
                let z = sparse.solve(&left, pace).await?;
                y.iter_mut().zip(stiffness).zip(c).for_each(|((y, by), c)| *y += by * c);
                Ok((z, y))
            }
        }
    }

    /// A point u with Au = b in the pivots' rows.
    pub async fn point(&self, equalities: &Equalities, b: &[f64], pace: &Pace) -> Result<Vec<f64>, Stopped> {
        match self {
            Self::Null { rows, scales, .. } => {
                let mut u = rows.point(b);
                scale(&mut u, scales);
                Ok(u)
            }
            Self::Range { sparse, range, .. } => sparse.solve(&equalities.across(&range.solve(b), sparse.unknowns()), pace).await,
        }
    }
}
