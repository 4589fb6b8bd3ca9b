//! The codes `f32` and `f16`: numbers as they are, in single or half precision.
//!
//! With one anchor at the origin a residual is the vector itself, times a power of two: so nothing of it is lost but what half precision rounds.

use super::{PADDING, Reach};
use half::f16;

/// Most that a coordinate may be in units: its square, and sums of such, are finite.
pub(crate) const LARGEST: f32 = 1e15;

/// Precision of the numbers of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// f32.
    Single,
    /// f16.
    Half,
}

/// Coordinates as they are.
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    /// Coordinates of a row.
    pub dim: usize,
    /// Precision of each.
    pub precision: Precision,
}

impl Whole {
    /// Bytes of a number.
    pub(crate) fn bytes(self) -> usize {
        match self.precision {
            Precision::Single => 4,
            Precision::Half => 2,
        }
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(self) -> usize {
        self.dim * self.bytes()
    }

    /// Cube of what is finite in this precision, and squared.
    pub(super) fn reach(self) -> Reach {
        Reach::cube(
            self.dim,
            match self.precision {
                Precision::Single => LARGEST,
                Precision::Half => f16::MAX.to_f32(),
            },
        )
    }

    /// Numbers of a residual, little-endian.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    pub fn encode(self, residual: &[f32], row: &mut [u8]) {
        match self.precision {
            Precision::Single => {
                row.as_chunks_mut().0.iter_mut().zip(residual).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
            }
            Precision::Half => {
                row.as_chunks_mut().0.iter_mut().zip(residual).for_each(|(bytes, value)| *bytes = f16::from_f32(*value).to_le_bytes());
            }
        }
    }

    /// Numbers of padded rows, by coordinates.
    // In WebAssembly, which has one set of instructions, it is not copied to whoever decodes.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub fn decode(self, rows: &[u8], columns: &mut [f32]) {
        let (stride, count) = (self.row_bytes() + PADDING, columns.len() / self.dim);
        for (place, row) in rows.chunks_exact(stride).enumerate() {
            match self.precision {
                Precision::Single => {
                    for (bytes, column) in row.as_chunks().0.iter().zip(columns.chunks_exact_mut(count)) {
                        column[place] = f32::from_le_bytes(*bytes);
                    }
                }
                Precision::Half => {
                    for (bytes, column) in row.as_chunks().0.iter().zip(columns.chunks_exact_mut(count)) {
                        column[place] = single(u16::from_le_bytes(*bytes));
                    }
                }
            }
        }
    }

    /// True if all numbers of some rows can be distances' parts: finite, and their squares.
    pub(crate) fn is_sound(self, codes: &[u8]) -> bool {
        match self.precision {
            Precision::Single => codes.as_chunks().0.iter().all(|bytes| f32::from_le_bytes(*bytes).abs() <= LARGEST),
            Precision::Half => codes.as_chunks().0.iter().all(|bytes| f16::from_le_bytes(*bytes).is_finite()),
        }
    }
}

/// A finite number of half precision: its bits at their places in single precision have an exponent that is 112 too small, subnormal ones too.
#[inline(always)]
fn single(half: u16) -> f32 {
    let (size, sign) = (u32::from(half & 0x7fff) << 13, u32::from(half & 0x8000) << 16);
    // 2¹¹²: its product is exact.
    let size = f32::from_bits(size) * f32::from_bits((112 + 127) << 23);
    f32::from_bits(size.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_exact() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            if half.is_finite() {
                assert_eq!(single(bits).to_bits(), half.to_f32().to_bits(), "{half}");
            }
        }
    }

    #[test]
    fn rows_come_back() {
        for (precision, exact) in [(Precision::Single, true), (Precision::Half, false)] {
            let whole = Whole { dim: 5, precision };
            let values = [1.0f32, -0.1, 3.25e-3, 2000.123, -0.0, 7.0, 1e-9, -1e3, 0.5, 0.3];
            let width = whole.row_bytes();
            let mut rows = vec![0; 2 * (width + PADDING)];
            for (row, values) in rows.chunks_exact_mut(width + PADDING).zip(values.chunks(5)) {
                whole.encode(values, &mut row[..width]);
                assert!(whole.is_sound(&row[..width]));
            }
            let mut columns = vec![f32::NAN; 10];
            whole.decode(&rows, &mut columns);
            for (place, value) in values.iter().enumerate() {
                let wanted = if exact { *value } else { f16::from_f32(*value).to_f32() };
                assert_eq!(columns[place % 5 * 2 + place / 5].to_bits(), wanted.to_bits(), "{precision:?} {place}");
            }
        }
    }

    #[test]
    fn rows_that_overflow_are_told() {
        let single = Whole { dim: 1, precision: Precision::Single };
        assert!(
            !single.is_sound(&f32::NAN.to_le_bytes())
                && !single.is_sound(&1e16f32.to_le_bytes())
                && single.is_sound(&1e15f32.to_le_bytes())
        );
        let half = Whole { dim: 1, precision: Precision::Half };
        assert!(!half.is_sound(&f16::INFINITY.to_le_bytes()) && half.is_sound(&f16::MIN.to_le_bytes()));
    }
}
