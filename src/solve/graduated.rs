//! Graduated non-convexity: robust costs without a good start (Yang, Antonante, Tzoumas & Carlone, *Graduated Non-Convexity for
//! Robust Spatial Perception: From Non-Minimal Solvers to Global Outlier Rejection*, RA-L 5(2), 2020, arXiv 1909.08605).
//!
//! The cost of residuals rᵢ with an inlier threshold c̄ is minimised through surrogates ρ_μ, which are convex where μ begins and
//! the robust cost where it ends. By the duality of Black & Rangarajan (1996) each is a weighted least-squares problem whose
//! weights have a closed form; weights and values are found in turn, and μ moves on:
//!
//! | | truncated least squares | Geman & McClure |
//! |---|---|---|
//! | cost in the end | min(r², c̄²) | c̄²r² / (c̄² + r²) |
//! | μ at first (remarks 5) | c̄² / (2r²max − c̄²), upwards | 2r²max / c̄², down to 1 |
//! | w (propositions 3 and 4) | 1 up to r² = μ/(μ+1) c̄², 0 from (μ+1)/μ c̄² on, between c̄/r √(μ(μ+1)) − μ | (μc̄² / (r² + μc̄²))² |
//!
//! Here r² = w₀‖r‖², with the weight w₀ that an instance has of its own: thresholds are in units of weighted residuals, as
//! where w₀ is an inverse variance and c̄² a quantile of χ². Each term has its own c̄, so everything is in s = r²/c̄².

use leastwise_error::Error;

/// Weights this near to 0 or 1 are binary (GTSAM's `weightsTol`).
const BINARY: f64 = 1e-4;

/// Robust cost that the rounds approach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Surrogate {
    /// Truncated least squares: min(s, 1), with s = r²/c̄².
    #[default]
    TruncatedLeastSquares,
    /// Geman and McClure's loss: s/(1 + s).
    GemanMcClure,
}

impl Surrogate {
    /// The cost of this name in options: `"tls"` or `"gm"`.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for another name.
    pub fn of_name(name: &str) -> Result<Self, Error> {
        match name {
            "tls" => Ok(Self::TruncatedLeastSquares),
            "gm" => Ok(Self::GemanMcClure),
            other => Err(Error::InvalidOption(format!("cost: \"{other}\" is not \"tls\" or \"gm\""))),
        }
    }
}

/// How μ moves on, and when all is over.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Robust cost that is approached.
    pub surrogate: Surrogate,
    /// What μ is multiplied with, or divided by, from round to round.
    pub step: f64,
    /// Greatest number of rounds.
    pub max_rounds: u32,
    /// Σ w s counts as settled when it changes by this part of itself (truncated least squares).
    pub cost_tolerance: f64,
}

impl Default for Schedule {
    fn default() -> Self {
        Self { surrogate: Surrogate::default(), step: 1.4, max_rounds: 100, cost_tolerance: 1e-5 }
    }
}

impl Schedule {
    /// Refuses a step that is not more than 1, and a negative tolerance.
    pub fn validate(&self) -> Result<(), Error> {
        if !(self.step > 1.0 && self.step.is_finite()) {
            return Err(Error::InvalidOption(format!("muStep must be more than 1, not {}", self.step)));
        }
        if self.cost_tolerance.is_nan() || self.cost_tolerance < 0.0 {
            return Err(Error::InvalidOption(format!("costTolerance must be a number that is not negative, not {}", self.cost_tolerance)));
        }
        Ok(())
    }

    /// μ of the first round, where s is at most `largest`; none where all are inliers by far: then the least-squares solution
    /// is that of the robust cost.
    fn first(&self, largest: f64) -> Option<f64> {
        match self.surrogate {
            Surrogate::TruncatedLeastSquares => (2.0 * largest > 1.0).then(|| 1.0 / (2.0 * largest - 1.0)),
            Surrogate::GemanMcClure => (2.0 * largest > 1.0).then_some(2.0 * largest),
        }
    }

    /// The weight of a residual with this s.
    pub fn weight(&self, mu: f64, s: f64) -> f64 {
        match self.surrogate {
            Surrogate::GemanMcClure => (mu / (s + mu)).powi(2),
            // In this order, so that neither bound is needed exactly where μ is very small or very large.
            Surrogate::TruncatedLeastSquares if s * (mu + 1.0) <= mu => 1.0,
            Surrogate::TruncatedLeastSquares if s * mu >= mu + 1.0 => 0.0,
            Surrogate::TruncatedLeastSquares => ((mu * (mu + 1.0) / s).sqrt() - mu).clamp(0.0, 1.0),
        }
    }
}

/// Why it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// No residual is beyond its threshold by so much that weights would tell it apart.
    AllInliers,
    /// Weights are 0 or 1.
    Binary,
    /// The weighted cost does not change any more.
    Settled,
    /// μ has come to its end.
    Schedule,
    /// The greatest number of rounds was reached.
    MaxRounds,
    /// The solve was stopped, or none was possible.
    Stopped,
    /// A constraint can't be met.
    Infeasible,
}

/// The rounds so far.
pub struct Rounds {
    schedule: Schedule,
    /// μ of the last round; `None` before the first.
    pub mu: Option<f64>,
    /// Rounds so far.
    pub count: u32,
    last: Option<f64>,
}

impl Rounds {
    /// No round yet.
    pub fn new(schedule: Schedule) -> Self {
        Self { schedule, mu: None, count: 0, last: None }
    }

    /// The weights of the next round, for the s of all instances (those of known inliers are not among them); or why there is
    /// no next one, with the weights as they are.
    pub fn next(&mut self, s: &[f64], weights: &mut [f64]) -> Option<Ending> {
        let largest = s.iter().fold(0.0, |top: f64, s| top.max(*s));
        let mu = match self.mu {
            None => match self.schedule.first(largest) {
                Some(mu) => mu,
                None => return Some(Ending::AllInliers),
            },
            Some(mu) => {
                let cost: f64 = s.iter().zip(&*weights).map(|(s, w)| s * w).sum();
                let last = self.last.replace(cost);
                match self.schedule.surrogate {
                    Surrogate::GemanMcClure if mu <= 1.0 => return Some(Ending::Schedule),
                    Surrogate::GemanMcClure => (mu / self.schedule.step).max(1.0),
                    Surrogate::TruncatedLeastSquares => {
                        if weights.iter().all(|w| *w <= BINARY || *w >= 1.0 - BINARY) {
                            return Some(Ending::Binary);
                        }
                        if last.is_some_and(|last| (cost - last).abs() <= self.schedule.cost_tolerance * last.max(f64::MIN_POSITIVE)) {
                            return Some(Ending::Settled);
                        }
                        mu * self.schedule.step
                    }
                }
            }
        };
        if self.count >= self.schedule.max_rounds {
            return Some(Ending::MaxRounds);
        }
        self.mu = Some(mu);
        self.count += 1;
        weights.iter_mut().zip(s).for_each(|(weight, s)| *weight = self.schedule.weight(mu, *s));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights minimise w s + Φ(w) with Φ as the paper has it (equations 14 and 13): no other does better.
    #[test]
    fn weights_are_those_of_the_duality() {
        for surrogate in [Surrogate::TruncatedLeastSquares, Surrogate::GemanMcClure] {
            let schedule = Schedule { surrogate, ..Schedule::default() };
            for mu in [1e-3, 0.3, 1.0, 7.0, 2e3] {
                let penalty = |w: f64| match surrogate {
                    Surrogate::TruncatedLeastSquares => mu * (1.0 - w) / (mu + w),
                    Surrogate::GemanMcClure => mu * (w.sqrt() - 1.0).powi(2),
                };
                for s in [0.0, 1e-4, 0.2, 0.9, 1.0, 1.1, 4.0, 1e3, 1e7] {
                    let weight = schedule.weight(mu, s);
                    let best = (0..=20_000).map(|k| f64::from(k) / 20_000.0).map(|w| w * s + penalty(w)).fold(f64::INFINITY, f64::min);
                    let found = weight * s + penalty(weight);
                    assert!(found <= best + 1e-7 * best.abs(), "{surrogate:?}, μ = {mu}, s = {s}: {found} and {best}");
                }
            }
        }
    }
}
