//! Options of fits.

use leastwise_device::Precision;
use leastwise_error::Error;
use leastwise_program::FitArguments;

/// When fits end; what is not there is the default.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Options {
    /// Iterations of a fit at most, 1 at least; default: 100.
    pub max_iterations: Option<f64>,
    /// Converged if a step is predicted to reduce the objective by less than this part; default: 10⁻¹⁴, in f32 10⁻⁷.
    pub cost_tolerance: Option<f64>,
    /// Converged if a step changes every parameter by less than this part; default: 10⁻¹¹, in f32 10⁻⁶.
    pub step_tolerance: Option<f64>,
}

/// What rounding errors leave of f64, and of f32: parts of the objective, and of pivots.
const DOUBLE: [f64; 4] = [1e-14, 1e-11, 1e-13, 1e-14];
const SINGLE: [f64; 4] = [1e-7, 1e-6, 1e-5, 2e-6];

impl Options {
    /// The arguments of launches in a precision, but for sizes.
    pub(crate) fn arguments(&self, precision: Precision) -> Result<FitArguments, Error> {
        let [cost, step, noise, rank] = if precision == Precision::F64 { DOUBLE } else { SINGLE };
        let most = self.max_iterations.unwrap_or(100.0);
        if !(1.0..=1e6).contains(&most) || most.fract() != 0.0 {
            return Err(Error::InvalidOption(format!("maxIterations must be a whole number from 1 to 1000000, not {most}")));
        }
        let tolerance = |name: &str, given: Option<f64>, usual: f64| match given {
            None => Ok(usual as f32),
            Some(value) if (0.0..1.0).contains(&value) => Ok(value as f32),
            Some(value) => Err(Error::InvalidOption(format!("{name} must be a number from 0 to 1, not {value}"))),
        };
        Ok(FitArguments {
            fits: 0,
            points: 0,
            total: 0,
            rounds: 0,
            most: most as u32,
            cost_tolerance: tolerance("costTolerance", self.cost_tolerance, cost)?,
            step_tolerance: tolerance("stepTolerance", self.step_tolerance, step)?,
            noise: noise as f32,
            rank: rank as f32,
            each: 0,
        })
    }
}
