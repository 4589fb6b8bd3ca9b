//! PLACEHOLDER until merged
use crate::real::Real;
pub struct Factor<'a, R> { pub values: &'a [R], pub rows: &'a [u32], pub columns: &'a [u32] }
pub fn multiply<R: Real>(a: Factor<R>, b: Factor<R>, c: &mut [R]) {
    let n = b.columns.len();
    for (i, r) in a.rows.iter().enumerate() { for (j, q) in b.columns.iter().enumerate() {
        let mut s = R::ZERO;
        for (x, y) in a.columns.iter().zip(b.rows) { s += a.values[r.wrapping_add(*x) as usize] * b.values[y.wrapping_add(*q) as usize]; }
        c[i * n + j] = s;
    } }
}
