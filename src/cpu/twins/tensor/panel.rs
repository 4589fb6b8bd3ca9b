//! A few rows side by side, a lane each, with whatever is worked out for them: products with other rows, one after the other, and
//! sums of other rows. What softmax needs of a row is then a lane's own, and no other matrix is packed.

use crate::real::Real;
use std::ops::Range;

/// Rows of a panel: what four sums leave registers for.
pub const LANES: usize = if cfg!(target_arch = "wasm32") { 8 } else { 16 };

/// Other rows that a panel is multiplied with before it goes on with the products.
pub const BLOCK: usize = 64;

pub type Lanes<R> = [R; LANES];

/// The rows of a matrix of so many entries, entry by entry. What is missing is 0.
pub fn packed<R: Real>(matrix: &[R], entries: usize, rows: Range<usize>) -> Vec<Lanes<R>> {
    let mut panel = vec![[R::ZERO; LANES]; entries];
    for (lane, row) in matrix[rows.start * entries..rows.end * entries].chunks_exact(entries).enumerate() {
        panel.iter_mut().zip(row).for_each(|(lanes, entry)| lanes[lane] = *entry);
    }
    panel
}

/// The panel as rows, as many as there is room for.
pub fn unpacked<R: Real>(panel: &[Lanes<R>], rows: &mut [R]) {
    for (lane, row) in rows.chunks_exact_mut(panel.len()).enumerate() {
        row.iter_mut().zip(panel).for_each(|(entry, lanes)| *entry = lanes[lane]);
    }
}

/// One number of every row of a panel. What is missing is 0.
pub fn lanes_of<R: Real>(numbers: &[R]) -> Lanes<R> {
    let mut lanes = [R::ZERO; LANES];
    lanes.iter_mut().zip(numbers).for_each(|(lane, number)| *lane = *number);
    lanes
}

// In both, sums have names of their own, so that they stay in registers.

/// Σ_k row(k)·panel(k) for each of the rows.
#[inline(always)]
pub fn multiply<R: Real>(panel: &[Lanes<R>], rows: &[R], products: &mut [Lanes<R>]) {
    let last = products.len() - 1;
    for (four, products) in products.chunks_mut(4).enumerate() {
        // What is missing of the last four is another row once more.
        let [r0, r1, r2, r3]: [&[R]; 4] = std::array::from_fn(|i| &rows[(4 * four + i).min(last) * panel.len()..][..panel.len()]);
        let [mut s0, mut s1, mut s2, mut s3] = [[R::ZERO; LANES]; 4];
        for ((((a, x0), x1), x2), x3) in panel.iter().zip(r0).zip(r1).zip(r2).zip(r3) {
            for lane in 0..LANES {
                s0[lane] += *x0 * a[lane];
                s1[lane] += *x1 * a[lane];
                s2[lane] += *x2 * a[lane];
                s3[lane] += *x3 * a[lane];
            }
        }
        products.iter_mut().zip([s0, s1, s2, s3]).for_each(|(product, sum)| *product = sum);
    }
}

/// Adds Σ_j row_j(c)·weights_j to every sum c.
#[inline(always)]
pub fn add_weighted<R: Real>(sums: &mut [Lanes<R>], rows: &[R], weights: &[Lanes<R>]) {
    let entries = sums.len();
    let (fours, rest) = sums.as_chunks_mut::<4>();
    let begin = 4 * fours.len();
    for (four, sums) in fours.iter_mut().enumerate() {
        let [mut s0, mut s1, mut s2, mut s3] = *sums;
        for (row, weight) in rows.chunks_exact(entries).zip(weights) {
            let Some([x0, x1, x2, x3]) = row[4 * four..].first_chunk() else { continue };
            for lane in 0..LANES {
                s0[lane] += *x0 * weight[lane];
                s1[lane] += *x1 * weight[lane];
                s2[lane] += *x2 * weight[lane];
                s3[lane] += *x3 * weight[lane];
            }
        }
        *sums = [s0, s1, s2, s3];
    }
    for (c, sum) in rest.iter_mut().enumerate() {
        for (row, weight) in rows.chunks_exact(entries).zip(weights) {
            for lane in 0..LANES {
                sum[lane] += row[begin + c] * weight[lane];
            }
        }
    }
}
