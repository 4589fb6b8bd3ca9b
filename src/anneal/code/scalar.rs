//! The codes `int8` and `int4`: every coordinate of a residual by itself, between its least and largest value.

use super::{Fields, Form, PADDING, Reach};
use leastwise_base::task::Pace;

/// Equal steps a coordinate, found so that a sample's squared error is least.
pub struct Scalar {
    /// 8 or 4.
    pub bits: u32,
    /// Least value of each coordinate.
    pub low: Vec<f32>,
    /// Distance of two neighbouring levels of each coordinate.
    pub step: Vec<f32>,
}

impl Scalar {
    /// Levels for a sample (row-major, `dim` values a row), chosen for the least squared error of each coordinate.
    pub async fn train(sample: &[f32], dim: usize, bits: u32, pace: &Pace) -> Self {
        let most = (1_u32 << bits) - 1;
        let (mut low, mut step) = (Vec::with_capacity(dim), Vec::with_capacity(dim));
        for coordinate in 0..dim {
            pace.rest(coordinate, dim).await;
            let values = || sample.iter().skip(coordinate).step_by(dim);
            let (least, largest) = values().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
            if least > largest {
                low.push(0.0);
                step.push(0.0);
                continue;
            }
            // Cutting rare values off makes all others finer.
            let (middle, half) = (least * 0.5 + largest * 0.5, largest * 0.5 - least * 0.5);
            let candidates = (0..if bits == 4 { 10 } else { 3 }).map(|cut| {
                let half = half * (1.0 - 0.07 * cut as f32);
                (middle - half, 2.0 * half / most as f32)
            });
            let error = |(low, step): (f32, f32)| -> f64 {
                values().map(|&value| f64::from(value - (low + step * number(value, low, step, most) as f32)).powi(2)).sum()
            };
            let best = candidates.map(|range| (error(range), range)).min_by(|a, b| a.0.total_cmp(&b.0));
            let (best_low, best_step) = best.map_or((middle, 0.0), |best| best.1);
            low.push(best_low);
            step.push(best_step);
        }
        Self { bits, low, step }
    }

    /// Steps are numbered from the least value on.
    pub(super) fn fields(&self) -> Fields {
        let mask = (1 << self.bits) - 1;
        Fields {
            places: (0..self.low.len() as u32).map(|coordinate| [coordinate * self.bits, mask, 0]).collect(),
            spreads: self.step.clone(),
            lows: self.low.clone(),
            levels: (0..=mask).map(|level| level as f32).collect(),
            form: Form::Levels,
        }
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        (self.low.len() * self.bits as usize).div_ceil(8)
    }

    /// From the first step to the last.
    pub(super) fn reach(&self) -> Reach {
        let steps = ((1_u32 << self.bits) - 1) as f32;
        let high = self.low.iter().zip(&self.step).map(|(low, step)| low + step * steps).collect();
        Reach::new(self.low.clone(), high)
    }

    /// Number of the nearest level of every coordinate, packed; `row` has [`row_bytes`](Self::row_bytes) bytes.
    pub fn encode(&self, residual: &[f32], row: &mut [u8]) {
        let most = (1_u32 << self.bits) - 1;
        row.fill(0);
        for (coordinate, &value) in residual.iter().enumerate() {
            let code = number(value, self.low[coordinate], self.step[coordinate], most) as u8;
            match self.bits {
                8 => row[coordinate] = code,
                _ => row[coordinate / 2] |= code << (coordinate % 2 * 4),
            }
        }
    }

    /// Levels of padded rows, by coordinates.
    #[inline(always)]
    pub fn decode(&self, rows: &[u8], columns: &mut [f32]) {
        let (stride, count) = (self.row_bytes() + PADDING, columns.len() / self.low.len());
        for (coordinate, out) in columns.chunks_exact_mut(count.max(1)).enumerate() {
            let (low, step) = (self.low[coordinate], self.step[coordinate]);
            let (byte, shift, mask) = if self.bits == 8 { (coordinate, 0, 255) } else { (coordinate / 2, coordinate % 2 * 4, 15) };
            for (out, row) in out.iter_mut().zip(rows.chunks_exact(stride)) {
                *out = low + step * f32::from(row[byte] >> shift & mask);
            }
        }
    }
}

#[inline(always)]
fn number(value: f32, low: f32, step: f32, most: u32) -> u32 {
    if step > 0.0 { ((value - low) / step).round_ties_even().clamp(0.0, most as f32) as u32 } else { 0 }
}
