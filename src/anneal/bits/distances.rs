//! Hamming distances of a query to rows: the bits that are set in their exclusive or.

use leastwise_cpu::block::SimdKernel;

/// Distances of one query to some rows, which are as wide as it.
pub(super) struct Distances<'a> {
    pub rows: &'a [u64],
    pub query: &'a [u64],
    pub distances: &'a mut [u32],
}

impl SimdKernel for Distances<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { rows, query, distances } = self;
        // Widths of codes that are common get loops of their own, without a loop inside.
        match query.len() {
            1 => of_width::<1>(rows, query, distances),
            2 => of_width::<2>(rows, query, distances),
            4 => of_width::<4>(rows, query, distances),
            6 => of_width::<6>(rows, query, distances),
            width => rows.chunks_exact(width).zip(distances).for_each(|(row, distance)| *distance = differing(row, query)),
        }
    }
}

#[inline(always)]
fn of_width<const WIDTH: usize>(rows: &[u64], query: &[u64], distances: &mut [u32]) {
    let query: [u64; WIDTH] = std::array::from_fn(|word| query[word]);
    for (row, distance) in rows.as_chunks::<WIDTH>().0.iter().zip(distances) {
        *distance = row.iter().zip(&query).map(|(a, b)| (a ^ b).count_ones()).sum();
    }
}

/// Number of bits in which two rows differ.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn differing(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// The same by `i8x16.popcnt`. Lanes count up to 255, so that 31 vectors of 16 bytes are added up before they widen.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(always)]
fn differing(a: &[u64], b: &[u64]) -> u32 {
    use std::arch::wasm32::{
        u8x16_add, u8x16_popcnt, u8x16_splat, u16x8_extadd_pairwise_u8x16, u32x4_add, u32x4_extadd_pairwise_u16x8, u32x4_extract_lane,
        u32x4_splat, u64x2, v128_xor,
    };
    /// Vectors of 16 bytes whose counts a byte holds.
    const TOGETHER: usize = 31;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
    let mut total = u32x4_splat(0);
    for (a, b) in a.chunks(TOGETHER).zip(b.chunks(TOGETHER)) {
        let mut counts = u8x16_splat(0);
        for (a, b) in a.iter().zip(b) {
            counts = u8x16_add(counts, u8x16_popcnt(v128_xor(u64x2(a[0], a[1]), u64x2(b[0], b[1]))));
        }
        total = u32x4_add(total, u32x4_extadd_pairwise_u16x8(u16x8_extadd_pairwise_u8x16(counts)));
    }
    let lanes =
        u32x4_extract_lane::<0>(total) + u32x4_extract_lane::<1>(total) + u32x4_extract_lane::<2>(total) + u32x4_extract_lane::<3>(total);
    lanes + a_rest.iter().zip(b_rest).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
}
