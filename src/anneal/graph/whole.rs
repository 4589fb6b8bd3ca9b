//! Whole vectors in bytes, which a graph is built by: x − mean = unit·c with whole numbers |cⱼ| ≤ 127. Products are integers, so that distances have the
//! same bits everywhere. They are there while the graph is built.

/// Largest number of a vector.
const LARGEST: f32 = 127.0;

/// Vectors in bytes.
#[derive(Default)]
pub struct Whole {
    pub dim: usize,
    pub numbers: Vec<i8>,
    /// Unit and squared length of each.
    pub rows: Vec<(f32, f32)>,
}

impl Whole {
    /// Appends a vector.
    #[inline(always)]
    pub fn push(&mut self, vector: &[f32]) {
        let largest = vector.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        let unit = largest / LARGEST;
        let per_unit = if unit >= f32::MIN_POSITIVE { unit.recip() } else { 0.0 };
        let mut squares = 0;
        for value in vector {
            let number = (value * per_unit).round_ties_even().clamp(-LARGEST, LARGEST) as i32;
            squares += number * number;
            self.numbers.push(number as i8);
        }
        self.rows.push((unit, unit * unit * squares as f32));
    }

    #[inline(always)]
    fn row(&self, at: u32) -> &[i8] {
        &self.numbers[at as usize * self.dim..][..self.dim]
    }

    /// Squared distance of two vectors.
    #[inline(always)]
    pub fn distance(&self, a: u32, b: u32) -> f32 {
        let ((a_unit, a_length), (b_unit, b_length)) = (self.rows[a as usize], self.rows[b as usize]);
        let product = product(self.row(a), self.row(b)) as f32;
        (a_length + b_length - 2.0 * (a_unit * b_unit * product)).max(0.0)
    }
}

/// ⟨a, b⟩
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline(always)]
fn product(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
}

/// The same by `dot`, which the compiler doesn't find by itself.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[inline(never)]
fn product(a: &[i8], b: &[i8]) -> i32 {
    use std::arch::wasm32::{
        i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i32x4_add, i32x4_dot_i16x8, i32x4_extract_lane, i32x4_splat, u64x2,
    };
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let half = |bytes: &[i8; 16], at: usize| u64::from_le_bytes(std::array::from_fn(|lane| bytes[at + lane] as u8));
    let mut sums = [i32x4_splat(0); 2];
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (u64x2(half(a, 0), half(a, 8)), u64x2(half(b, 0), half(b, 8)));
        sums[0] = i32x4_add(sums[0], i32x4_dot_i16x8(i16x8_extend_low_i8x16(a), i16x8_extend_low_i8x16(b)));
        sums[1] = i32x4_add(sums[1], i32x4_dot_i16x8(i16x8_extend_high_i8x16(a), i16x8_extend_high_i8x16(b)));
    }
    let sum = i32x4_add(sums[0], sums[1]);
    let lanes = i32x4_extract_lane::<0>(sum) + i32x4_extract_lane::<1>(sum) + i32x4_extract_lane::<2>(sum) + i32x4_extract_lane::<3>(sum);
    lanes + a_rest.iter().zip(b_rest).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>()
}
