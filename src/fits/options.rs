//! Options of fits.

use leastwise_device::Precision;
use leastwise_error::Error;
use leastwise_program::FitTolerances;

/// When fits end; what is not there is the default.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Options {
    /// Iterations of a fit at most, 1 at least; default: 100.
    pub max_iterations: Option<f64>,
    /// Converged if a step is predicted to reduce the objective by less than this part; default: 10⁻¹², in f32 10⁻⁷.
    pub cost_tolerance: Option<f64>,
    /// Converged if a step changes every parameter by less than this part; default: 10⁻¹¹, in f32 10⁻⁶.
    pub step_tolerance: Option<f64>,
}

/// Tolerances in f64, and in f32.
const DOUBLE: FitTolerances = FitTolerances { cost: 1e-12, step: 1e-11, noise: 1e-13, rank: 1e-14 };
const SINGLE: FitTolerances = FitTolerances { cost: 1e-7, step: 1e-6, noise: 1e-5, rank: 2e-6 };

impl Options {
    /// The most iterations.
    pub(crate) fn most(&self) -> Result<u32, Error> {
        let most = self.max_iterations.unwrap_or(100.0);
        if !(1.0..=1e6).contains(&most) || most.fract() != 0.0 {
            return Err(Error::InvalidOption(format!("maxIterations must be a whole number from 1 to 1000000, not {most}")));
        }
        Ok(most as u32)
    }

    /// The tolerances in a precision.
    pub(crate) fn tolerances(&self, precision: Precision) -> Result<FitTolerances, Error> {
        let usual = if precision == Precision::F64 { DOUBLE } else { SINGLE };
        let tolerance = |name: &str, given: Option<f64>, usual: f64| match given {
            None => Ok(usual),
            Some(value) if (0.0..=1.0).contains(&value) => Ok(value),
            Some(value) => Err(Error::InvalidOption(format!("{name} must be a number from 0 to 1, not {value}"))),
        };
        let cost = tolerance("costTolerance", self.cost_tolerance, usual.cost)?;
        Ok(FitTolerances { cost, step: tolerance("stepTolerance", self.step_tolerance, usual.step)?, ..usual })
    }
}
