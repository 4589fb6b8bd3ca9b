//! Eigenvectors and closest rotations by numbers: two-sided and one-sided Jacobi (Golub & Van Loan, *Matrix
//! Computations*, 4th ed., 8.5 and 8.6), and perturbation theory for the derivatives.

use super::dual::{Dual, Machine, NOISE, State};
use super::meaning::Value;

type Matrix = [[f64; 3]; 3];

/// Below this relative distance of eigenvalues (or sums of singular values) nothing is said.
const GAP: f64 = 1e-4;

/// The number part of a matrix, disturbed as a backward stable method would, and how large it is.
fn numbers<const N: usize>(machine: &mut Machine, m: &[Dual<N>]) -> (Matrix, f64) {
    let size = m.iter().map(|entry| entry.value.abs()).fold(0.0, f64::max);
    let mut matrix = [[0.0; 3]; 3];
    for (k, entry) in m.iter().enumerate() {
        let noise = machine.disturbed(size) - size;
        matrix[k / 3][k % 3] = entry.value + if machine.is_noisy() { noise.clamp(-NOISE * size, NOISE * size) } else { 0.0 };
    }
    (matrix, size)
}

fn worst<const N: usize>(m: &[Dual<N>]) -> State {
    m.iter().map(|entry| entry.state).max().unwrap_or(State::Defined)
}

/// leftᵀ · m · right
fn form(left: [f64; 3], m: &Matrix, right: [f64; 3]) -> f64 {
    (0..3).map(|i| (0..3).map(|j| left[i] * m[i][j] * right[j]).sum::<f64>()).sum()
}

/// The derivative of the matrix by input k.
fn slope<const N: usize>(m: &[Dual<N>], k: usize) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| m[3 * i + j].slopes[k]))
}

/// Eigenvalues, ascending, and their vectors, with the signs of `hint`.
pub fn eigen<const N: usize>(machine: &mut Machine, m: &[Dual<N>], hint: Option<&[f64]>) -> Value<N> {
    let (plain, size) = numbers(machine, m);
    let symmetric = |m: &Matrix| -> Matrix { std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (m[i][j] + m[j][i]))) };
    let s = symmetric(&plain);
    let (values, mut vectors) = jacobi(s);
    for (k, vector) in vectors.iter_mut().enumerate() {
        let along: f64 = hint.map_or(1.0, |hint| (0..3).map(|i| hint[3 + 3 * k + i] * vector[i]).sum());
        // A hint that is no eigenvector is not followed.
        if along < -0.9 {
            *vector = vector.map(|x| -x);
        }
    }
    let gap = (values[1] - values[0]).min(values[2] - values[1]);
    let sure = gap > GAP * size && hint.is_some();
    let state = worst(m).max(if sure { State::Defined } else { State::Doubtful });
    let mut result: Vec<Dual<N>> =
        values.iter().chain(vectors.iter().flatten()).map(|&value| Dual { state, ..Dual::constant(value) }).collect();
    for input in 0..N {
        let change = symmetric(&slope(m, input));
        for i in 0..3 {
            result[i].slopes[input] = form(vectors[i], &change, vectors[i]);
            for j in (0..3).filter(|&j| j != i) {
                let share = form(vectors[j], &change, vectors[i]) / (values[i] - values[j]);
                (0..3).for_each(|row| result[3 + 3 * i + row].slopes[input] += share * vectors[j][row]);
            }
        }
    }
    sized(result, size)
}

/// What a backward stable method promises: errors in proportion to the whole matrix, and to all slopes.
fn sized<const N: usize>(mut result: Value<N>, size: f64) -> Value<N> {
    let slope_size = result.iter().flat_map(|entry| entry.slopes).map(f64::abs).fold(0.0, f64::max);
    result.iter_mut().for_each(|entry| (entry.size, entry.slope_size) = (entry.size.max(size), slope_size));
    result
}

/// Eigenvalues in ascending order, and a vector each.
fn jacobi(mut a: Matrix) -> ([f64; 3], [[f64; 3]; 3]) {
    let mut v: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
    for _ in 0..20 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for row in &mut a {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            let (upper, lower) = (a[p], a[q]);
            a[p] = std::array::from_fn(|k| c * upper[k] - s * lower[k]);
            a[q] = std::array::from_fn(|k| s * upper[k] + c * lower[k]);
            for row in &mut v {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
        }
    }
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]));
    (order.map(|k| a[k][k]), order.map(|k| [v[0][k], v[1][k], v[2][k]]))
}

/// U Vᵀ of the singular value decomposition, the last vectors chosen right-handed.
pub fn closest_rotation<const N: usize>(machine: &mut Machine, m: &[Dual<N>]) -> Value<N> {
    let (matrix, _) = numbers(machine, m);
    let (mut columns, mut right) = one_sided_jacobi(matrix);
    let length = |a: [f64; 3]| a.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| length(columns[j]).total_cmp(&length(columns[i])));
    (columns, right) = (order.map(|k| columns[k]), order.map(|k| right[k]));
    let unit = |a: [f64; 3]| a.map(|x| x / length(a));
    let crossed = |a: [f64; 3], b: [f64; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let (u1, u2) = (unit(columns[0]), unit(columns[1]));
    let u = [u1, u2, crossed(u1, u2)];
    let v = [right[0], right[1], crossed(right[0], right[1])];
    let sigma = [0, 1, 2].map(|k| form(u[k], &matrix, v[k]));
    let sure = sigma[1] + sigma[2] > GAP * sigma[0] && sigma[1] > GAP * sigma[0];
    let state = worst(m).max(if sure { State::Defined } else { State::Doubtful });
    let entry = |x: &Matrix, i: usize, j: usize| (0..3).map(|p| (0..3).map(|q| u[p][i] * x[p][q] * v[q][j]).sum::<f64>()).sum::<f64>();
    let identity: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
    let mut result: Vec<Dual<N>> = (0..9).map(|k| Dual { state, ..Dual::constant(entry(&identity, k / 3, k % 3)) }).collect();
    for input in 0..N {
        let change = slope(m, input);
        // UᵀdRV is antisymmetric, with the entries (Ωᵢⱼ − Ωⱼᵢ)/(σᵢ + σⱼ) of Ω = UᵀdMV.
        let omega: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| form(u[i], &change, v[j])));
        let turn: Matrix = std::array::from_fn(|i| {
            std::array::from_fn(|j| if i == j { 0.0 } else { (omega[i][j] - omega[j][i]) / (sigma[i] + sigma[j]) })
        });
        (0..9).for_each(|k| result[k].slopes[input] = entry(&turn, k / 3, k % 3));
    }
    sized(result, 1.0)
}

/// Rotates the columns of m until they are orthogonal: these (u times σ), and the rotations' product as columns.
fn one_sided_jacobi(m: Matrix) -> (Matrix, Matrix) {
    let mut columns: Matrix = std::array::from_fn(|j| std::array::from_fn(|i| m[i][j]));
    let mut right: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
    let dot = |a: [f64; 3], b: [f64; 3]| (0..3).map(|k| a[k] * b[k]).sum::<f64>();
    for _ in 0..30 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            let (a, b) = (columns[p], columns[q]);
            let (alpha, beta, gamma) = (dot(a, a), dot(b, b), dot(a, b));
            if gamma == 0.0 {
                continue;
            }
            let zeta = (beta - alpha) / (2.0 * gamma);
            let t = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = c * t;
            for pair in [&mut columns, &mut right] {
                let (x, y) = (pair[p], pair[q]);
                pair[p] = std::array::from_fn(|k| c * x[k] - s * y[k]);
                pair[q] = std::array::from_fn(|k| s * x[k] + c * y[k]);
            }
        }
    }
    (columns, right)
}
