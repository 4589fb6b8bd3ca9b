//! The inner loop: a tile of sums that stays in registers.

use crate::real::Real;

/// Σ a\[p\]\[i\]·b\[p\]\[j\] for all i and j, p ascending.
///
/// LLVM unrolls the loops over the tile and makes vectors of the lanes j. The loop over p stays as it is: unrolled, all its loads
/// are made first, by LLVM and once more by V8, and sums leave their registers (half the speed, measured).
#[inline(always)]
pub fn tile<R: Real, const M: usize, const N: usize>(a: &[[R; M]], b: &[[R; N]]) -> [[R; N]; M] {
    let mut sums = [[R::ZERO; N]; M];
    for (a, b) in a.iter().zip(b) {
        for (sums, a) in sums.iter_mut().zip(a) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += *a * *b;
            }
        }
    }
    sums
}
