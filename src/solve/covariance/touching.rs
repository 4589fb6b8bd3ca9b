//! Inequalities that only touch although a solve has left them some λ, as one does that began with a larger one: λ falls to 0 from
//! above, and c rises to 0 as it does.
//!
//! One Newton step of the conditions of optimality, [H Aᵀ; A 0][s; Δλ] = [g; c], tells: λ − Δλ is that of the quadratic model on the rows
//! that hold (Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006, sections 16.5 and 18.1). Gradients through a solve take that step,
//! too, and see what is left there.

use super::super::adjoint::constrained::Constrained;
use super::equalities::{self, Equalities, EqualityRow};
use super::jacobi::{dot, length};
use super::{Derivatives, sparse::Refused};
use leastwise_base::task::{Pace, Stopped};
use leastwise_problem::Pattern;
use std::sync::Arc;

/// ‖s‖ as a part of ‖x‖ up to which the model tells: as far as gradients through a solve look for their point.
const NEAR: f64 = 1e-2;
/// Part of λ that is left of one that holds, at least. H is JᵀWJ, which takes a step about as long as it is to be.
const LEFT: f64 = 0.5;
/// λ aᵀD⁻¹a beside |c| and |aᵀD⁻¹g|, with the diagonal D of H: what has more is beyond doubt.
const DOUBTLESS: f64 = 1e6;
/// Systems that are solved at most: rows that depend on others are told one after the other.
const ROUNDS: usize = 8;

/// A point at which constraints hold.
pub struct Point<'a> {
    /// Gradient of the Lagrangian.
    pub gradient: &'a [f64],
    /// Unknowns that may move.
    pub free: &'a [bool],
    /// Sizes of unknowns.
    pub sizes: &'a [f64],
    /// Structure of JᵀWJ with that of AᵀA.
    pub pattern: Option<&'a Arc<Pattern>>,
}

/// Rows without inequalities that only touch. Where the system has no solution, they stay as they are.
pub async fn without(
    mut all: Equalities,
    derivatives: &Derivatives,
    diagonal: &[f64],
    point: &Point<'_>,
    tolerance: f64,
    pace: &Pace,
) -> Result<Equalities, Stopped> {
    let on_free = point.gradient.iter().zip(point.free).map(|(g, free)| if *free { *g } else { 0.0 });
    let mut gradient: Vec<f64> = on_free.collect();
    for _ in 0..ROUNDS {
        let in_doubt: Vec<bool> = all.rows.iter().map(|row| is_in_doubt(row, &gradient, diagonal, point.free)).collect();
        if !in_doubt.contains(&true) {
            break;
        }
        let among = all.among(point.free);
        let Some(system) = system(derivatives, &among, point, tolerance, pace).await? else { break };
        let (s, step) = system.solve(&among, &gradient, &among.values(), pace).await?;
        let distance = length(&s);
        if distance.is_nan() || distance > NEAR * length(point.sizes) {
            break;
        }
        let falls = |((row, step), in_doubt): ((&EqualityRow, &f64), &bool)| *in_doubt && row.multiplier - step < LEFT * row.multiplier;
        let touches: Vec<bool> = all.rows.iter().zip(&step).zip(&in_doubt).map(falls).collect();
        if !touches.contains(&true) {
            break;
        }
        // The Lagrangian is one of the rows that are left.
        for (row, _) in among.rows.iter().zip(&touches).filter(|(_, touches)| **touches) {
            row.entries.iter().for_each(|&(unknown, slope)| gradient[unknown as usize] -= row.multiplier * slope);
            all.violation = all.violation.max(row.value);
        }
        let mut touches = touches.into_iter();
        all.rows.retain(|_| touches.next() == Some(false));
    }
    Ok(all)
}

/// True for an inequality of which λ may come of the distance to the solution alone.
fn is_in_doubt(row: &EqualityRow, gradient: &[f64], diagonal: &[f64], free: &[bool]) -> bool {
    let movable = || row.entries.iter().map(|&(unknown, slope)| (unknown as usize, slope)).filter(|(unknown, _)| free[*unknown]);
    if !row.is_inequality || movable().next().is_none() {
        return false;
    }
    let reach: f64 = movable().map(|(unknown, slope)| slope * slope / diagonal[unknown]).sum();
    let moved: f64 = movable().map(|(unknown, slope)| (slope * gradient[unknown] / diagonal[unknown]).abs()).sum();
    // What the cost does not touch has an infinite reach, which tells nothing.
    !reach.is_finite() || row.multiplier * reach <= DOUBTLESS * (row.value.abs() + moved)
}

/// The conditions of optimality; none where they have no solution.
async fn system(
    derivatives: &Derivatives,
    among: &Equalities,
    point: &Point<'_>,
    tolerance: f64,
    pace: &Pace,
) -> Result<Option<Constrained>, Stopped> {
    let columns = match derivatives {
        Derivatives::Triangle(triangle) => {
            let mut columns = Vec::with_capacity(triangle.len());
            for column in triangle {
                columns.push(triangle.iter().map(|other| dot(other, column)).collect());
                pace.spend(2 * triangle.len() * column.len()).await?;
            }
            columns
        }
        Derivatives::Whole(columns) => columns.clone(),
        Derivatives::Blocks(matrix) => {
            let Some(pattern) = point.pattern else { return Ok(None) };
            let wide = equalities::widened(matrix, pattern, pace).await?;
            return match Constrained::many(&wide, point.free, among, tolerance, pace).await {
                Ok((system, _)) => Ok(Some(system)),
                Err(Refused::Stopped) => Err(Stopped),
                Err(_) => Ok(None),
            };
        }
    };
    Ok(Some(Constrained::few(columns, point.free, among, tolerance * tolerance, pace).await?.0))
}
