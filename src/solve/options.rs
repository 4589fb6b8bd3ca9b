//! What a caller may ask of a solve.

use super::linear::Linear;
use crate::error::Error;
use serde::Deserialize;

/// Options of a solve; those left out have Ceres' defaults where Ceres has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// `"lm"`: Levenberg–Marquardt.
    pub method: Option<String>,
    /// `"auto"` or `"pcg"`: conjugate gradients on JᵀWJ + λD, preconditioned by its diagonal blocks.
    pub linear: Option<String>,
    pub max_iterations: Option<f64>,
    pub time_limit_ms: Option<f64>,
    pub cost_tolerance: Option<f64>,
    pub gradient_tolerance: Option<f64>,
    pub step_tolerance: Option<f64>,
}

/// Options after validation.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What was asked for; the best for the problem where nothing was.
    pub linear: Option<Linear>,
    pub max_iterations: u32,
    pub time_limit_ms: f64,
    pub cost_tolerance: f64,
    pub gradient_tolerance: f64,
    pub step_tolerance: f64,
}

impl Options {
    pub fn settings(&self) -> Result<Settings, Error> {
        let known = |what: &str, given: &Option<String>, allowed: &[&str]| match given.as_deref() {
            Some(name) if !allowed.contains(&name) => {
                Err(Error::InvalidOption(format!("{what}: \"{name}\" is not one of \"{}\"", allowed.join("\", \""))))
            }
            _ => Ok(()),
        };
        known("method", &self.method, &["lm"])?;
        known("linear", &self.linear, &["auto", "pcg"])?;
        let number = |what: &str, given: Option<f64>, default: f64| match given {
            Some(value) if value.is_nan() || value < 0.0 => {
                Err(Error::InvalidOption(format!("{what} must be a number that is not negative, not {value}")))
            }
            Some(value) => Ok(value),
            None => Ok(default),
        };
        Ok(Settings {
            linear: (self.linear.as_deref() == Some(Linear::Pcg.name())).then_some(Linear::Pcg),
            max_iterations: number("maxIterations", self.max_iterations, 50.0)? as u32,
            time_limit_ms: number("timeLimitMs", self.time_limit_ms, f64::INFINITY)?,
            cost_tolerance: number("costTolerance", self.cost_tolerance, 1e-6)?,
            gradient_tolerance: number("gradientTolerance", self.gradient_tolerance, 1e-10)?,
            step_tolerance: number("stepTolerance", self.step_tolerance, 1e-8)?,
        })
    }
}
