//! What a code can say of vectors that its model was not made for.

use half::f16;

/// The box that a code's residuals come from. What lies outside is coded as the nearest that lies inside; what lies outside by more than half
/// the box's diagonal is not coded at all: next to nothing would be left of it.
pub struct Reach {
    low: Vec<f32>,
    high: Vec<f32>,
    /// The square of the distance.
    most: f64,
}

impl Reach {
    /// The box from `low` to `high`, one value a coordinate, widened by the rounding of f16.
    pub fn new(low: Vec<f32>, high: Vec<f32>) -> Self {
        // Words of the codes are rounded.
        let rounding = |low: f32, high: f32| f64::from(low.abs().max(high.abs())) * f64::from(f16::EPSILON.to_f32());
        let half = |(low, high): (&f32, &f32)| (f64::from(*high) - f64::from(*low)) / 2.0 + rounding(*low, *high);
        let most = low.iter().zip(&high).map(|sides| half(sides).powi(2)).sum();
        Self { low, high, most }
    }

    /// A cube around the origin, and nothing outside.
    pub fn cube(dim: usize, side: f32) -> Self {
        Self { low: vec![-side; dim], high: vec![side; dim], most: 0.0 }
    }

    /// True if the residual is close enough to the box to be coded.
    pub fn holds(&self, residual: &[f32]) -> bool {
        let sides = self.low.iter().zip(&self.high);
        let outside = residual.iter().zip(sides).map(|(value, (low, high))| f64::from((low - value).max(value - high).max(0.0)).powi(2));
        outside.sum::<f64>() <= self.most
    }
}
