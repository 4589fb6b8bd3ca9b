//! Eigenvectors of a small symmetric matrix: Householder's tridiagonal form, then QL with implicit shifts
//! (Bowdler, Martin, Reinsch and Wilkinson, "The QR and QL algorithms for symmetric matrices", 1968: `tred2`, `tql2`).

use leastwise_base::task::Pace;

/// Rotations an eigenvalue may take: three are usual, and rounding must not make a loop endless.
const MOST_SWEEPS: usize = 60;

/// The eigenvectors of a symmetric matrix of finite values, as rows, that of the largest eigenvalue first.
pub async fn eigenvectors(matrix: &[f64], size: usize, pace: &Pace) -> Vec<f64> {
    let largest = matrix.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest.recip() } else { 1.0 };
    let mut vectors: Vec<f64> = matrix.iter().map(|value| value * scale).collect();
    let mut values = vec![0.0; size];
    let mut beside = vec![0.0; size];
    tridiagonalize(&mut vectors, &mut values, &mut beside, &pace.part(0.0..0.4)).await;
    // From here on the vectors are rows, of which a rotation mixes two.
    let mut rows: Vec<f64> = (0..size * size).map(|place| vectors[place % size * size + place / size]).collect();
    diagonalize(&mut rows, &mut values, &mut beside, &pace.part(0.4..1.0)).await;
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order.iter().flat_map(|&row| &rows[row * size..][..size]).copied().collect()
}

/// A = Q·T·Qᵀ: Q in place of A, T's diagonal in `d`, what is beside it in `e[1..]`.
async fn tridiagonalize(v: &mut [f64], d: &mut [f64], e: &mut [f64], pace: &Pace) {
    let n = d.len();
    d.copy_from_slice(&v[(n - 1) * n..]);
    for i in (1..n).rev() {
        let scale: f64 = d[..i].iter().map(|value| value.abs()).sum();
        let mut h = 0.0;
        if scale == 0.0 {
            e[i] = d[i - 1];
            for j in 0..i {
                d[j] = v[(i - 1) * n + j];
                v[i * n + j] = 0.0;
                v[j * n + i] = 0.0;
            }
        } else {
            for value in &mut d[..i] {
                *value /= scale;
                h += *value * *value;
            }
            let f = d[i - 1];
            let g = if f > 0.0 { -h.sqrt() } else { h.sqrt() };
            e[i] = scale * g;
            h -= f * g;
            d[i - 1] = f - g;
            e[..i].fill(0.0);
            for j in 0..i {
                let f = d[j];
                v[j * n + i] = f;
                let mut g = e[j] + v[j * n + j] * f;
                for k in j + 1..i {
                    g += v[k * n + j] * d[k];
                    e[k] += v[k * n + j] * f;
                }
                e[j] = g;
            }
            let mut f = 0.0;
            for j in 0..i {
                e[j] /= h;
                f += e[j] * d[j];
            }
            let half = f / (h + h);
            for j in 0..i {
                e[j] -= half * d[j];
            }
            for j in 0..i {
                let (f, g) = (d[j], e[j]);
                for k in j..i {
                    v[k * n + j] -= f * e[k] + g * d[k];
                }
                d[j] = v[(i - 1) * n + j];
                v[i * n + j] = 0.0;
            }
        }
        d[i] = h;
        pace.rest(n - i, 2 * n).await;
    }
    for i in 0..n - 1 {
        v[(n - 1) * n + i] = v[i * n + i];
        v[i * n + i] = 1.0;
        let h = d[i + 1];
        if h != 0.0 {
            for k in 0..=i {
                d[k] = v[k * n + i + 1] / h;
            }
            for j in 0..=i {
                let g: f64 = (0..=i).map(|k| v[k * n + i + 1] * v[k * n + j]).sum();
                for k in 0..=i {
                    v[k * n + j] -= g * d[k];
                }
            }
        }
        for k in 0..=i {
            v[k * n + i + 1] = 0.0;
        }
        pace.rest(n + i, 2 * n).await;
    }
    d.copy_from_slice(&v[(n - 1) * n..]);
    v[(n - 1) * n..].fill(0.0);
    v[n * n - 1] = 1.0;
}

/// T's eigenvalues in `d`, and the rows of `v` turned into eigenvectors.
async fn diagonalize(v: &mut [f64], d: &mut [f64], e: &mut [f64], pace: &Pace) {
    let n = d.len();
    e.rotate_left(1);
    e[n - 1] = 0.0;
    let (mut shift, mut largest) = (0.0, 0.0_f64);
    for l in 0..n {
        largest = largest.max(d[l].abs() + e[l].abs());
        let mut m = l;
        while m < n - 1 && e[m].abs() > f64::EPSILON * largest {
            m += 1;
        }
        for _ in 0..if m > l { MOST_SWEEPS } else { 0 } {
            let g = d[l];
            let p = (d[l + 1] - g) / (2.0 * e[l]);
            let r = if p < 0.0 { -(p * p + 1.0).sqrt() } else { (p * p + 1.0).sqrt() };
            d[l] = e[l] / (p + r);
            d[l + 1] = e[l] * (p + r);
            let after = d[l + 1];
            let h = g - d[l];
            for value in &mut d[l + 2..] {
                *value -= h;
            }
            shift += h;
            let mut p = d[m];
            let (mut c, mut c2, mut c3) = (1.0, 1.0, 1.0);
            let (mut s, mut s2) = (0.0, 0.0);
            let beside = e[l + 1];
            for i in (l..m).rev() {
                (c3, c2, s2) = (c2, c, s);
                let (g, h) = (c * e[i], c * p);
                let r = (p * p + e[i] * e[i]).sqrt();
                e[i + 1] = s * r;
                if r == 0.0 {
                    (s, c) = (0.0, 1.0);
                } else {
                    (s, c) = (e[i] / r, p / r);
                }
                p = c * d[i] - s * g;
                d[i + 1] = h + s * (c * g + s * d[i]);
                let (lower, upper) = v.split_at_mut((i + 1) * n);
                for (a, b) in lower[i * n..].iter_mut().zip(&mut upper[..n]) {
                    (*a, *b) = (c * *a - s * *b, s * *a + c * *b);
                }
            }
            p = -s * s2 * c3 * beside * e[l] / after;
            e[l] = s * p;
            d[l] = c * p;
            if !p.is_finite() || e[l].abs() <= f64::EPSILON * largest {
                break;
            }
        }
        d[l] += shift;
        e[l] = 0.0;
        pace.rest(l, n).await;
    }
}
