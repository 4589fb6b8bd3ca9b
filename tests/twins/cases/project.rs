use crate::twins::harness::Case;
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, system};
use leastwise::program::NEGATIVE;

/// A few roundings of f64; for f32 it is as good as none.
const TOLERANCE: f64 = 2e-15;
pub fn project_blocks(size: usize, random: &mut Random) -> Vec<Case> {
    let widths: &[usize] = match size {
        0..=65 => &[1, 2, 3, 6, 9, 12, 32],
        66..=1000 => &[3, 9],
        1001..=6000 => &[3],
        _ => &[2],
    };
    let each = widths.iter().map(|&width| {
        let (absolute, epsilon) = (random.below(2) == 1, [0.0, 0.0625][random.below(2) as usize]);
        projected(size, width, absolute, epsilon, random)
    });
    each.collect()
}

fn projected(count: usize, width: usize, absolute: bool, epsilon: f64, random: &mut Random) -> Case {
    let mut case =
        Case::new(StaticKernel::SystemPsdBlocks, format!("width {width}, ε {epsilon}{}", if absolute { ", absolute" } else { "" }));
    case.bound = if width > 12 { 1e-5 } else { 4e-6 };
    // Even and odd rows may have nothing to do with each other; then entries between them have no column.
    let split = width > 1 && random.below(3) == 0;
    let packed: Vec<(usize, usize)> = (0..width).flat_map(|r| (0..=r).map(move |c| (r, c))).collect();
    let there: Vec<bool> = packed.iter().map(|(r, c)| !split || (r - c).is_multiple_of(2)).collect();
    let mut order: Vec<usize> = (0..packed.len()).filter(|&k| there[k]).collect();
    random.shuffle(&mut order);
    let mut map = vec![0u32; packed.len()];
    for (column, &k) in order.iter().enumerate() {
        map[k] = (column as u32 + 1) | if random.below(2) == 0 { NEGATIVE } else { 0 };
    }
    let mut columns = vec![0.0; order.len() * count];
    let first = random.below(3) as usize;
    case.poisoned(system::PsdBlocks::BLOCKS, (first + packed.len()) * count);
    for i in 0..count {
        let given = symmetric(width, split, random);
        for (k, &(r, c)) in packed.iter().enumerate().filter(|(k, _)| there[*k]) {
            let value = given[r][c];
            columns[(map[k] & !NEGATIVE) as usize * count - count + i] = if map[k] & NEGATIVE == 0 { value } else { -value };
        }
        let mut expected = given;
        if absolute {
            let sign = sign(&expected);
            expected = product(&expected, &sign);
        }
        let shifted = with_diagonal(&expected, -epsilon);
        let above = product(&shifted, &sign(&shifted));
        for (k, &(r, c)) in packed.iter().enumerate() {
            let raised = (shifted[r][c] + above[r][c]) / 2.0 + if r == c { epsilon } else { 0.0 };
            case.expect(system::PsdBlocks::BLOCKS, (first + k) * count + i, Value { value: raised, size: 2.0 });
        }
    }
    case.reals(system::PsdBlocks::COLUMNS, columns);
    case.scratch(system::PsdBlocks::WORK, (width + 1) * width * count);
    case.indices(map);
    case.reals(system::PsdBlocks::LIMITS, vec![epsilon, TOLERANCE]);
    case.dispatch(count as u32, system::PsdBlocks { width: width as u32, absolute: u32::from(absolute), column: first as u32 });
    case
}

type Matrix = Vec<Vec<f64>>;

/// Of eigenvalues ±0.2 … ±2, none of them negative in every third: a diagonal matrix after some reflections.
fn symmetric(width: usize, split: bool, random: &mut Random) -> Matrix {
    let definite = random.below(3) == 0;
    let mut a = vec![vec![0.0; width]; width];
    for (k, row) in a.iter_mut().enumerate() {
        let size = random.within(0.2, 2.0);
        row[k] = if definite || random.below(2) == 0 { size } else { -size };
    }
    for reflection in 0..4 {
        let v: Vec<f64> = (0..width).map(|k| if split && k % 2 != reflection % 2 { 0.0 } else { random.signed() }).collect();
        let squared: f64 = v.iter().map(|x| x * x).sum();
        if squared == 0.0 {
            continue;
        }
        // a − u vᵀ − v uᵀ with u = 2/‖v‖² (a v − (vᵀav/‖v‖²) v)
        let image: Vec<f64> = a.iter().map(|row| row.iter().zip(&v).map(|(x, y)| x * y).sum()).collect();
        let along = image.iter().zip(&v).map(|(x, y)| x * y).sum::<f64>() / squared;
        let u: Vec<f64> = image.iter().zip(&v).map(|(x, y)| 2.0 / squared * (x - along * y)).collect();
        for r in 0..width {
            for c in 0..width {
                a[r][c] -= u[r] * v[c] + v[r] * u[c];
            }
        }
    }
    (0..width).map(|r| (0..width).map(|c| f64::from(a[r.max(c)][r.min(c)] as f32)).collect()).collect()
}

fn with_diagonal(a: &Matrix, more: f64) -> Matrix {
    let entry = |r: usize, c: usize, x: f64| if r == c { x + more } else { x };
    a.iter().enumerate().map(|(r, row)| row.iter().enumerate().map(|(c, &x)| entry(r, c, x)).collect()).collect()
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let entry = |row: &[f64], c: usize| row.iter().zip(b).map(|(x, other)| x * other[c]).sum();
    a.iter().map(|row| (0..b.len()).map(|c| entry(row, c)).collect()).collect()
}

/// sign(a), which has a's eigenvectors and the eigenvalues ±1, by Newton's iteration x ← (x + x⁻¹)/2 (Higham,
/// *Functions of Matrices*, section 5.3): |a| = a sign(a) without a single eigenvector.
fn sign(a: &Matrix) -> Matrix {
    let mut x = a.clone();
    for _ in 0..10 {
        let inverse = inverse(&x);
        for (row, other) in x.iter_mut().zip(&inverse) {
            row.iter_mut().zip(other).for_each(|(value, inverse)| *value = (*value + inverse) / 2.0);
        }
    }
    x
}

/// By Gauss and Jordan with pivots.
fn inverse(a: &Matrix) -> Matrix {
    let width = a.len();
    let unit = |r: usize| (0..width).map(move |c| f64::from(u8::from(r == c)));
    let mut rows: Matrix = a.iter().enumerate().map(|(r, row)| row.iter().copied().chain(unit(r)).collect()).collect();
    for c in 0..width {
        let pivot = (c..width).max_by(|a, b| rows[*a][c].abs().total_cmp(&rows[*b][c].abs())).expect("a row");
        rows.swap(c, pivot);
        let top = rows[c][c];
        rows[c].iter_mut().for_each(|value| *value /= top);
        let pivot = rows[c].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(r, _)| *r != c) {
            let factor = row[c];
            row.iter_mut().zip(&pivot).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    rows.into_iter().map(|row| row[width..].to_vec()).collect()
}
