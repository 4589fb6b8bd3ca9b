//! Why a solve ends: the tests that are made after every step.

use super::options::Settings;
use super::{Iteration, Method, Termination};

/// What a test sees of a step besides its [`Iteration`].
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The decrease that the quadratic model predicted.
    pub model: f64,
    /// ‖x‖ before the step.
    pub point_norm: f64,
    /// What the arithmetic resolves of 1.
    pub epsilon: f64,
}

/// How the last steps went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tests {
    /// Rejections in a row.
    rejections: u32,
}

impl Tests {
    /// Tests for termination after a step: those of Ceres on accepted steps, and on rejected ones whether the precision,
    /// not the model, refused them.
    pub fn judge(&mut self, settings: &Settings, step: &Iteration, scale: &Scale) -> Option<(Termination, String)> {
        let max_rejections = settings.method.max_rejections();
        let &Scale { model, point_norm, epsilon } = scale;
        // A clipped step may promise to go uphill; a promise near 0 is a small one of either sign.
        let promised = model.abs();
        let converged = |reason: String| Some((Termination::Converged, reason));
        self.rejections = if step.accepted { 0 } else { self.rejections + 1 };
        // A decrease that this precision cannot tell from 0 is not progress, whatever the damping.
        let noise = epsilon * step.cost.abs();
        if !step.gradient_norm.is_finite() {
            let reason = "the residual is finite, but its derivative is not: guard the expression with select()";
            Some((Termination::NoProgress, reason.into()))
        } else if step.gradient_norm <= settings.gradient_tolerance {
            converged(format!("gradient: max |gᵢ| = {:.3e} ≤ gradientTolerance = {:e}", step.gradient_norm, settings.gradient_tolerance))
        } else if settings.method == Method::GaussNewton && step.step_norm == 0.0 {
            let reason = "JᵀWJ has no curvature along the gradient, so there is no Gauss–Newton step: use method \"lm\"";
            Some((Termination::Singular, reason.into()))
        } else if step.accepted && step.cost_change.abs() <= settings.cost_tolerance * step.cost {
            let relative = step.cost_change.abs() / step.cost;
            converged(format!("cost: |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}", settings.cost_tolerance))
        } else if step.accepted && step.step_norm <= settings.step_tolerance * (point_norm + settings.step_tolerance) {
            let relative = step.step_norm / point_norm;
            converged(format!("step: ‖s‖ / ‖x‖ = {relative:.3e} ≤ stepTolerance = {:e}", settings.step_tolerance))
        } else if self.rejections == 1 && promised.max(step.cost_change.abs()) <= settings.cost_tolerance * step.cost {
            // The damping was not raised yet, so the model's promise is that of a full step; what was found instead of
            // it is rounding. (After more rejections a small promise only says that the damping is large.)
            let relative = model / step.cost;
            converged(format!(
                "cost: predicted |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}, and what was found is within it",
                settings.cost_tolerance
            ))
        } else if !step.accepted && promised <= noise {
            let reason =
                format!("the predicted decrease of {model:.3e} is below what this precision resolves in a cost of {:.6e}", step.cost);
            Some((Termination::Precision, reason))
        } else if self.rejections >= max_rejections {
            Some((Termination::NoProgress, format!("{max_rejections} steps in a row were rejected")))
        } else {
            None
        }
    }
}
