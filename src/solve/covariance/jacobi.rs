//! Singular values by one-sided Jacobi rotations (Hestenes 1958): slow for large matrices, but small ones are right to a
//! relative accuracy that only the condition of the scaled columns limits (Demmel & Veselić, *Jacobi's method is more
//! accurate than QR*, 1992), and there is little code.

use leastwise_base::task::{Pace, Stopped};

/// A sweep visits every pair once; a dozen is usual.
const SWEEPS: usize = 60;

/// Turns columns until they are orthogonal: A becomes AV = UΣ. Gives V, column by column.
pub async fn orthogonalise(columns: &mut [Vec<f64>], pace: &Pace) -> Result<Vec<Vec<f64>>, Stopped> {
    let n = columns.len();
    let mut right: Vec<Vec<f64>> = (0..n).map(|k| unit(n, k)).collect();
    let height = columns.first().map_or(1, Vec::len);
    let tolerance = f64::EPSILON * (height as f64).sqrt();
    for _ in 0..SWEEPS {
        let mut turned = false;
        for q in 1..n {
            for p in 0..q {
                let (aa, bb, ab) = (dot(&columns[p], &columns[p]), dot(&columns[q], &columns[q]), dot(&columns[p], &columns[q]));
                // Nor where something is not a number, or nothing is left.
                if ab.abs() > tolerance * (aa * bb).sqrt() {
                    turned = true;
                    let cotangent = (bb - aa) / (2.0 * ab);
                    let tangent = cotangent.signum() / (cotangent.abs() + 1f64.hypot(cotangent));
                    let cosine = 1.0 / 1f64.hypot(tangent);
                    turn(columns, p, q, cosine, cosine * tangent);
                    turn(&mut right, p, q, cosine, cosine * tangent);
                }
                pace.spend(12 * height + 6 * n).await?;
            }
        }
        if !turned {
            break;
        }
    }
    Ok(right)
}

fn turn(columns: &mut [Vec<f64>], p: usize, q: usize, cosine: f64, sine: f64) {
    let (before, after) = columns.split_at_mut(q);
    for (a, b) in before[p].iter_mut().zip(&mut after[0]) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

/// A column of the identity.
pub fn unit(n: usize, place: usize) -> Vec<f64> {
    let mut unit = vec![0.0; n];
    unit[place] = 1.0;
    unit
}

// Once in the module, which crosses the network, not wherever they are called.

#[inline(never)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// x += by · y
#[inline(never)]
pub fn add(x: &mut [f64], by: f64, y: &[f64]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += by * y);
}

/// Every element by its own factor.
#[inline(never)]
pub fn scale(x: &mut [f64], by: &[f64]) {
    x.iter_mut().zip(by).for_each(|(x, by)| *x *= by);
}

pub fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Makes vectors orthonormal, one after the other and twice over; those that depend on others before them are dropped.
pub async fn orthonormal(vectors: Vec<Vec<f64>>, pace: &Pace) -> Result<Vec<Vec<f64>>, Stopped> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut vector in vectors {
        let before = length(&vector);
        for _ in 0..2 {
            for known in &basis {
                let along = dot(known, &vector);
                add(&mut vector, -along, known);
                pace.spend(4 * known.len()).await?;
            }
        }
        let left = length(&vector);
        if left > 1e-10 * before {
            vector.iter_mut().for_each(|x| *x /= left);
            basis.push(vector);
        }
    }
    Ok(basis)
}
