//! The points of a clustering, as kernels take them.

use crate::rows;
use leastwise_cpu::threads;
use leastwise_error::Error;
use std::sync::Arc;

/// Rows that are looked at together.
const ROWS: usize = 2048;
/// Components that are looked at together, where rows are of no matter.
const PIECE: usize = 1 << 15;
/// The largest number of half precision.
const LARGEST_HALF: f32 = 65504.0;

/// Points of f32, centred and scaled, so that squares neither overflow nor lose what tells points apart: a component x is
/// stored as (x − centre)·2^−exponent.
pub struct Points {
    /// Stored components, row by row.
    pub values: Arc<Vec<f32>>,
    /// Components of a point.
    pub dimensions: usize,
    /// Centre that was subtracted, in the points' units; zeros for points that are kept as they come.
    pub centre: Vec<f32>,
    exponent: i32,
    /// Mean of the points' squared distances from their mean, of the stored values; 0 where they are kept as they come.
    pub variance: f64,
}

impl Points {
    /// Points as they come.
    ///
    /// # Errors
    /// Whatever is not finite, by its row; where they are kept as they are, also what half precision does not have.
    pub fn new(values: Vec<f32>, dimensions: u32, keeps: bool) -> Result<Self, Error> {
        let dimensions = dimensions as usize;
        let count = rows::count("points", values.len(), dimensions)?;
        if count > u32::MAX as usize / 2 {
            return Err(Error::Limits(format!("{count} points, where 2147483647 can be clustered at once")));
        }
        if values.is_empty() {
            return Err(Error::DataLength { term: None, what: "points".into(), got: 0, expected: "at least one row".into() });
        }
        if keeps {
            return Self::kept(values, dimensions);
        }
        Self::centred(values, dimensions, count, |_, own| Ok(own))
    }

    /// Points of a rank, centred and scaled as those of all ranks, which are so many.
    ///
    /// # Errors
    /// Whatever is not finite, on all ranks.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn over_ranks(
        values: Vec<f32>,
        dimensions: u32,
        (ranks, total): (&dyn leastwise_collective::Communicator, usize),
    ) -> Result<Self, Error> {
        rows::count("points", values.len(), dimensions as usize)?;
        Self::centred(values, dimensions as usize, total, |largest, own| {
            Ok(if largest { ranks.largest("scale of points", &own)? } else { ranks.sum("centre of points", &own)? })
        })
    }

    /// The same of other points.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn with_values(&self, values: Vec<f32>) -> Self {
        Self { values: Arc::new(values), centre: self.centre.clone(), ..*self }
    }

    /// Centres and scales points that are `count` with those of others. `all` makes sums, or maxima, those of all.
    fn centred(
        values: Vec<f32>,
        dimensions: usize,
        count: usize,
        all: impl Fn(bool, Vec<f64>) -> Result<Vec<f64>, Error>,
    ) -> Result<Self, Error> {
        let parts = over_rows(&values, dimensions, |rows| {
            let mut sums = vec![0.0; dimensions];
            for row in rows.chunks_exact(dimensions) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
            }
            sums
        });
        let mut mean = vec![0.0; dimensions];
        for sums in parts {
            mean.iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum / count as f64);
        }
        let mean = all(false, mean)?;
        // Sums of finite f32 are finite in f64.
        let is_finite = mean.iter().all(|mean: &f64| mean.is_finite());
        if !is_finite {
            rows::all_finite("points", &values, dimensions)?;
            #[cfg(not(target_arch = "wasm32"))]
            return Err(leastwise_collective::Fault::Refused("points of another rank are not finite: it has the row".into()).into());
        }
        // Their squares about the mean, and how far components are from it.
        let parts = over_rows(&values, dimensions, |rows| {
            let (mut squares, mut farthest) = (vec![0.0; dimensions], vec![0.0f64; dimensions]);
            for row in rows.chunks_exact(dimensions) {
                let sums = squares.iter_mut().zip(&mut farthest);
                for ((square, farthest), (x, mean)) in sums.zip(row.iter().zip(&mean)) {
                    let away = f64::from(*x) - mean;
                    *square += away * away;
                    *farthest = farthest.max(away.abs());
                }
            }
            (squares.iter().sum::<f64>(), farthest.iter().fold(0.0, |most: f64, away| most.max(*away)))
        });
        let variance = all(false, vec![parts.iter().map(|part| part.0).sum::<f64>() / count as f64])?[0];
        let farthest = all(true, vec![parts.iter().map(|part| part.1).fold(0.0, f64::max)])?[0];
        let centre: Vec<f32> = mean.iter().map(|mean| *mean as f32).collect();
        let exponent = if farthest > 0.0 { (libm::log2(farthest) as i32).clamp(-140, 128) } else { 0 };
        let scale = libm::exp2(-f64::from(exponent));
        let mut values = values;
        let rows = values.chunks_mut(ROWS * dimensions).collect();
        threads::each(rows, count * dimensions, |rows: &mut [f32]| {
            for row in rows.chunks_exact_mut(dimensions) {
                row.iter_mut().zip(&centre).for_each(|(x, c)| *x = ((f64::from(*x) - f64::from(*c)) * scale) as f32);
            }
        });
        Ok(Self { values: Arc::new(values), dimensions, centre, exponent, variance: variance * scale * scale })
    }

    /// Points that are stored as they come, for anchors in half precision; what they vary by is of no use there.
    fn kept(values: Vec<f32>, dimensions: usize) -> Result<Self, Error> {
        let pieces: Vec<&[f32]> = values.chunks(PIECE).collect();
        let fit = threads::map(pieces, values.len(), |piece| piece.iter().fold(true, |all, x| all & (x.abs() <= LARGEST_HALF)));
        if fit.contains(&false) {
            rows::all_finite("points", &values, dimensions)?;
            let position = values.iter().position(|x| x.abs() > LARGEST_HALF).unwrap_or_default();
            let (row, value) = (position / dimensions, values[position].to_string());
            return Err(Error::LargePoint { row, component: position % dimensions, value });
        }
        Ok(Self { values: Arc::new(values), dimensions, centre: vec![0.0; dimensions], exponent: 0, variance: 0.0 })
    }

    /// Some of the rows.
    pub fn rows(&self, rows: &[u32]) -> Self {
        let row = |row: &u32| self.values[*row as usize * self.dimensions..][..self.dimensions].iter().copied();
        Self { values: Arc::new(rows.iter().flat_map(row).collect()), dimensions: self.dimensions, centre: self.centre.clone(), ..*self }
    }

    /// Number of points.
    pub fn count(&self) -> u32 {
        (self.values.len() / self.dimensions) as u32
    }

    /// Anchors in the points' own units.
    pub fn restored(&self, anchors: &[f64]) -> Vec<f32> {
        let scale = libm::exp2(f64::from(self.exponent));
        let component = |(i, a): (usize, &f64)| (a * scale + f64::from(self.centre[i % self.dimensions])) as f32;
        anchors.iter().enumerate().map(component).collect()
    }

    /// Anchors as points are stored; what lies beyond all of them has a finite square still.
    pub fn stored(&self, anchors: &[f64]) -> Vec<f64> {
        let scale = libm::exp2(-f64::from(self.exponent));
        anchors.iter().enumerate().map(|(i, a)| ((a - f64::from(self.centre[i % self.dimensions])) * scale).clamp(-1e15, 1e15)).collect()
    }

    /// An energy in the points' own units.
    pub fn restored_energy(&self, energy: f64) -> f64 {
        energy * libm::exp2(2.0 * f64::from(self.exponent))
    }

    /// A distance in the units of what is stored.
    pub fn stored_distance(&self, distance: f64) -> f64 {
        distance * libm::exp2(-f64::from(self.exponent))
    }
}

/// What `work` makes of the rows, so many at a time: the same whoever does it.
fn over_rows<U: Send>(values: &[f32], dimensions: usize, work: impl Fn(&[f32]) -> U + Sync + Send) -> Vec<U> {
    threads::map(values.chunks(ROWS * dimensions).collect(), values.len(), work)
}
