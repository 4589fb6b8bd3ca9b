//! Overload: values beyond the outermost levels of a quantiser, and the larger unit in which they are within.
//!
//! Levels are made for normal values. A vector whose components are mostly small and now and then large has coordinates far beyond them, and
//! what is cut off is an error that no number of bits makes smaller. Divided by a unit larger than its length, the vector fits; all
//! other values become coarser. With weights wᵢ, reaches tᵢ and the granular error G of a vector of unit 1, the error in a unit u is about
//!
//! ```text
//! E(u) = u²·G + Σ wᵢ·max(0, |yᵢ| − u·tᵢ)²
//! ```
//!
//! The unit is stored nowhere: the scale of a vector follows it.

/// A candidate is so many times the one before it.
const STEP: f32 = 1.25;

/// Largest unit, in lengths, and largest unit at all: scales of half precision have to hold it.
const MOST: f32 = 16.0;
const LARGEST: f32 = 32768.0;

/// Share of E that a larger unit has to save, since it is an estimate.
const WORTH: f32 = 0.05;

/// Reach of the outermost levels as a share of the largest level; the rest is the mean of the largest level of every state. A trellis
/// comes to its largest level from few states only.
const OUTERMOST: f32 = 0.4;

pub struct Overload {
    /// By coordinate, tᵢ; infinite without bits.
    reach: Vec<f32>,
    /// By coordinate, wᵢ.
    weights: Vec<f32>,
    /// G
    granular: f32,
}

impl Overload {
    pub fn new(reach: Vec<f32>, weights: Vec<f32>, granular: f32) -> Self {
        Self { reach, weights, granular }
    }

    /// Reach of levels of so many bits, in their standard deviations; infinite of none.
    pub fn reach_of(levels: &[f32], bits: u32) -> f32 {
        if levels.is_empty() {
            return f32::INFINITY;
        }
        let mut levels = levels.to_vec();
        levels.sort_by(f32::total_cmp);
        let outer = &levels[levels.len() - (levels.len() >> bits).max(1)..];
        let mean = outer.iter().sum::<f32>() / outer.len() as f32;
        OUTERMOST * outer[outer.len() - 1] + (1.0 - OUTERMOST) * mean
    }

    /// The unit of least E for a vector of this length, where that is worth it.
    #[inline(always)]
    pub fn wider(&self, vector: &[f32], length: f32) -> Option<f32> {
        let most = vector.iter().zip(&self.reach).fold(0.0, |most: f32, (value, reach)| most.max(value.abs() / reach));
        if most <= length {
            return None;
        }
        let most = most.min(MOST * length).min(LARGEST);
        let (first, mut best, mut unit) = (self.estimate(vector, length), (f32::INFINITY, length), length);
        while unit < most {
            unit = (STEP * unit).min(most);
            let error = self.estimate(vector, unit);
            if error < best.0 {
                best = (error, unit);
            }
        }
        (best.0 < (1.0 - WORTH) * first).then_some(best.1)
    }

    /// E
    #[inline(always)]
    fn estimate(&self, vector: &[f32], unit: f32) -> f32 {
        let cut = |value: f32, reach: f32| (value.abs() - unit * reach).max(0.0);
        let lost = vector.iter().zip(&self.reach).zip(&self.weights).map(|((&value, &reach), weight)| weight * cut(value, reach).powi(2));
        self.granular * unit * unit + lost.sum::<f32>()
    }

    /// Weighted squared error of a vector that decodes to `unit·decoded`.
    #[inline(always)]
    pub fn error(&self, vector: &[f32], unit: f32, decoded: &[f32]) -> f32 {
        vector.iter().zip(decoded).zip(&self.weights).map(|((value, decoded), weight)| weight * (value - unit * decoded).powi(2)).sum()
    }
}
