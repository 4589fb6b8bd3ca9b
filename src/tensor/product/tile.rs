//! The inner loop: a tile of sums that stays in registers.

use super::pack::Lanes;
use crate::real::Real;

/// Σ a[p][i]·b[p][j], p ascending.
#[inline(always)]
pub fn tile<R: Real, const M: usize, const N: usize>(a: &[[R; M]], b: &[Lanes<R, N>]) -> [[R; N]; M] {
    let mut sums = [[R::ZERO; N]; M];
    for (a, Lanes(b)) in a.iter().zip(b) {
        for i in 0..M {
            for j in 0..N {
                sums[i][j] += a[i] * b[j];
            }
        }
    }
    sums
}
