//! Singular values by one-sided Jacobi rotations (Hestenes 1958): slow for large matrices, but small ones are right to a
//! relative accuracy that only the condition of the scaled columns limits (Demmel & Veselić, *Jacobi's method is more
//! accurate than QR*, 1992), and there is little code.

/// A sweep visits every pair once; a dozen is usual.
const SWEEPS: usize = 60;

/// Turns columns until they are orthogonal: A becomes AV = UΣ. Gives V, column by column.
pub fn orthogonalise(columns: &mut [Vec<f64>]) -> Vec<Vec<f64>> {
    let n = columns.len();
    let mut right: Vec<Vec<f64>> = (0..n).map(|k| (0..n).map(|row| f64::from(u8::from(row == k))).collect()).collect();
    let tolerance = f64::EPSILON * (columns.first().map_or(1, Vec::len) as f64).sqrt();
    for _ in 0..SWEEPS {
        let mut turned = false;
        for q in 1..n {
            for p in 0..q {
                let (first, second) = columns.split_at_mut(q);
                let (a, b) = (&mut first[p], &mut second[0]);
                let (aa, bb, ab) = (dot(a, a), dot(b, b), dot(a, b));
                // Not so where something is not a number, or nothing is left.
                if !(ab.abs() > tolerance * (aa * bb).sqrt()) {
                    continue;
                }
                turned = true;
                let cotangent = (bb - aa) / (2.0 * ab);
                let tangent = cotangent.signum() / (cotangent.abs() + 1f64.hypot(cotangent));
                let cosine = 1.0 / 1f64.hypot(tangent);
                let sine = cosine * tangent;
                turn(a, b, cosine, sine);
                let (first, second) = right.split_at_mut(q);
                turn(&mut first[p], &mut second[0], cosine, sine);
            }
        }
        if !turned {
            break;
        }
    }
    right
}

fn turn(a: &mut [f64], b: &mut [f64], cosine: f64, sine: f64) {
    for (a, b) in a.iter_mut().zip(b) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Makes vectors orthonormal, one after the other and twice over; those that depend on others before them are dropped.
pub fn orthonormal(vectors: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut vector in vectors {
        let before = length(&vector);
        for _ in 0..2 {
            for known in &basis {
                let along = dot(known, &vector);
                vector.iter_mut().zip(known).for_each(|(x, k)| *x -= along * k);
            }
        }
        let left = length(&vector);
        if left > 1e-8 * before {
            vector.iter_mut().for_each(|x| *x /= left);
            basis.push(vector);
        }
    }
    basis
}
