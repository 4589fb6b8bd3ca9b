//! Kernels of matrices: solutions, triangles, reflections and rotations that are known beforehand.

use super::tensors::{dispatch, limits};
use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, tensor};
use leastwise::tensor::linear::Matrices;

/// Rows and columns of square matrices, beside the sizes of small workgroups.
const SIDES: [usize; 5] = [1, 2, 5, 9, 17];

/// Matrices of about so many elements, but no more work than a software adapter does in a moment.
fn batches(size: usize, each: usize) -> usize {
    size.div_ceil(each).min(300)
}

fn matrices([batches, rows, columns]: [usize; 3]) -> Matrices {
    let [batches, rows, columns] = [batches, rows, columns].map(|size| size as u32);
    Matrices { batches, rows, columns }
}

/// Sums of products of the rows of one matrix and the columns of another.
fn product(a: &[f64], b: &[f64], n: usize, k: usize) -> Vec<f64> {
    let m = a.len() / n;
    (0..m * k).map(|e| (0..n).map(|l| a[e / k * n + l] * b[l * k + e % k]).sum()).collect()
}

fn expect(case: &mut Case, slot: usize, first: usize, values: &[f64], size: f64) {
    values.iter().enumerate().for_each(|(i, &value)| case.expect(slot, first + i, Value { value, size: size + value.abs() }));
}

/// Whole numbers, whose products are exact in f32.
fn whole(random: &mut Random, most: u32) -> f64 {
    f64::from(random.below(2 * most + 1)) - f64::from(most)
}

/// Rows in any order, of matrices that are mostly diagonal: every pivot lies elsewhere.
pub fn solve(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(n, k): (usize, usize)| {
        let b = batches(size, n * n);
        let mut case = Case::new(StaticKernel::TensorSolve, format!("{b} of {n} rows, {k} columns"));
        case.bound = 1e-4;
        dispatch(&mut case, matrices([b, n, n]).solve(k as u32, &limits(group)));
        let (mut a, mut right) = (Vec::new(), Vec::new());
        case.poisoned(tensor::Solve::RESULTS, b * n * k);
        case.scratch(tensor::Solve::FACTORS, b * n * n);
        for batch in 0..b {
            let mut rows: Vec<Vec<f64>> = (0..n)
                .map(|r| (0..n).map(|c| if r == c { 16.0 * n as f64 + whole(random, 4) } else { whole(random, 8) }).collect())
                .collect();
            random.shuffle(&mut rows);
            let x: Vec<f64> = (0..n * k).map(|_| whole(random, 8)).collect();
            let matrix = rows.concat();
            right.extend(product(&matrix, &x, n, k));
            a.extend(matrix);
            expect(&mut case, tensor::Solve::RESULTS, batch * n * k, &x, 8.0);
        }
        case.reals(tensor::Solve::MATRICES, a);
        case.reals(tensor::Solve::RIGHT, right);
        case
    };
    SIDES.into_iter().zip([1, 3, 2, 1, 4]).map(case).collect()
}

/// Products of whole triangles, of which only the lower triangle is read.
pub fn cholesky(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |n: usize| {
        let b = batches(size, n * n);
        let mut case = Case::new(StaticKernel::TensorCholesky, format!("{b} of {n} rows"));
        case.bound = 1e-4;
        dispatch(&mut case, matrices([b, n, n]).cholesky(&limits(group)));
        case.poisoned(tensor::Cholesky::RESULTS, b * n * n);
        let mut all = Vec::new();
        for batch in 0..b {
            let at = |e: usize, random: &mut Random| match (e / n).cmp(&(e % n)) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 4.0 + whole(random, 2),
                std::cmp::Ordering::Greater => whole(random, 2),
            };
            let l: Vec<f64> = (0..n * n).map(|e| at(e, random)).collect();
            let turned: Vec<f64> = (0..n * n).map(|e| l[e % n * n + e / n]).collect();
            let mut a = product(&l, &turned, n, n);
            (0..n * n).filter(|e| e % n > e / n).for_each(|e| a[e] = f64::NAN);
            all.extend(a);
            expect(&mut case, tensor::Cholesky::RESULTS, batch * n * n, &l, 8.0 * n as f64);
        }
        case.reals(tensor::Cholesky::MATRICES, all);
        case
    };
    SIDES.map(case).into()
}

/// Matrices that are mostly diagonal, so that signs are known.
pub fn qr(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(m, n): (usize, usize)| {
        let b = batches(size, m * n);
        let mut case = Case::new(StaticKernel::TensorQr, format!("{b} of {m} × {n}"));
        case.bound = 1e-4;
        dispatch(&mut case, matrices([b, m, n]).qr(&limits(group)));
        case.poisoned(tensor::Qr::ORTHOGONAL, b * m * n);
        case.poisoned(tensor::Qr::TRIANGULAR, b * n * n);
        case.scratch(tensor::Qr::FACTORS, b * n);
        let mut all = Vec::new();
        for batch in 0..b {
            // Any matrix in f64, by Gram and Schmidt; R's diagonal is turned to the signs that reflections give.
            let large = 6.0 + 2.0 * n as f64;
            let entry = |e: usize, random: &mut Random| if e / n == e % n { large + random.signed() } else { random.signed() };
            let a: Vec<f64> = (0..m * n).map(|e| f64::from(entry(e, random) as f32)).collect();
            let (mut q, mut r) = (vec![0.0; m * n], vec![0.0; n * n]);
            for j in 0..n {
                let mut column: Vec<f64> = (0..m).map(|i| a[i * n + j]).collect();
                // Twice is enough (Kahan).
                for _ in 0..2 {
                    for k in 0..j {
                        let along: f64 = (0..m).map(|i| q[i * n + k] * column[i]).sum();
                        r[k * n + j] += along;
                        (0..m).for_each(|i| column[i] -= along * q[i * n + k]);
                    }
                }
                // Where diagonals are large, a reflection turns each column to the negative side; the last of a square matrix stays.
                let length = column.iter().map(|x| x * x).sum::<f64>().sqrt();
                let sign = if j + 1 == m { 1.0 } else { -1.0 };
                r[j * n + j] = sign * length;
                (0..m).for_each(|i| q[i * n + j] = sign * column[i] / length);
            }
            all.extend(a);
            expect(&mut case, tensor::Qr::ORTHOGONAL, batch * m * n, &q, 4.0);
            expect(&mut case, tensor::Qr::TRIANGULAR, batch * n * n, &r, 60.0);
        }
        case.reals(tensor::Qr::MATRICES, all);
        case
    };
    [(1, 1), (3, 2), (9, 4), (20, 17), (40, 3)].map(case).into()
}

/// Pairs of columns in planes of their own, which one rotation each makes orthogonal; a column alone, columns of zeros, and more rows
/// than planes.
pub fn singular(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |(m, n): (usize, usize)| {
        let b = batches(size, m * n);
        let mut case = Case::new(StaticKernel::TensorSingular, format!("{b} of {m} × {n}"));
        case.bound = 1e-4;
        dispatch(&mut case, matrices([b, m, n]).singular(&limits(group)));
        case.poisoned(tensor::Singular::VECTORS, b * n * n);
        case.poisoned(tensor::Singular::PRODUCTS, b * m * n);
        let mut all = Vec::new();
        for batch in 0..b {
            let (mut a, mut v) = (vec![0.0; m * n], vec![0.0; n * n]);
            (0..n).for_each(|i| v[i * n + i] = 1.0);
            let mut columns: Vec<usize> = (0..n).collect();
            random.shuffle(&mut columns);
            for (plane, pair) in columns.chunks(2).enumerate() {
                let &[p, q] = pair else {
                    a[2 * plane.min((m - 1) / 2) * n + pair[0]] = if 2 * plane < m { 2.0 } else { 0.0 };
                    continue;
                };
                let (p, q) = (p.min(q), p.max(q));
                if 2 * plane + 1 >= m {
                    continue;
                }
                let entries =
                    [3.0 + random.signed(), random.signed(), random.signed(), 1.0 + 0.5 * random.signed()].map(|x| f64::from(x as f32));
                let rows = [2 * plane, 2 * plane + 1];
                (a[rows[0] * n + p], a[rows[0] * n + q], a[rows[1] * n + p], a[rows[1] * n + q]) =
                    (entries[0], entries[1], entries[2], entries[3]);
                let both = entries[0] * entries[1] + entries[2] * entries[3];
                let first = entries[0] * entries[0] + entries[2] * entries[2];
                let second = entries[1] * entries[1] + entries[3] * entries[3];
                // tan 2θ = 2 both/(second − first), within ±π/4.
                let angle = 0.5 * (2.0 * both / (second - first)).atan();
                (v[p * n + p], v[p * n + q], v[q * n + p], v[q * n + q]) = (angle.cos(), angle.sin(), -angle.sin(), angle.cos());
            }
            expect(&mut case, tensor::Singular::VECTORS, batch * n * n, &v, 4.0);
            expect(&mut case, tensor::Singular::PRODUCTS, batch * m * n, &product(&a, &v, n, n), 8.0);
            all.extend(a);
        }
        case.reals(tensor::Singular::MATRICES, all);
        case
    };
    [(1, 1), (2, 2), (5, 5), (9, 4), (20, 17), (3, 8)].map(case).into()
}
