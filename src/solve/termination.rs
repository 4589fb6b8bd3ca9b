//! Why a solve ends: the tests that are made after every step.

use super::options::Tolerances;
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
    /// Whether one of them was for a loss that was more than rounding: then it was the model that was wrong.
    misjudged: bool,
}

/// Roundings of a cost that a sum of changes may be off by.
const ROUNDINGS: f64 = 16.0;

impl Tests {
    /// Tests for termination after a step: those of Ceres on accepted steps, and on rejected ones whether the precision,
    /// not the model, refused them.
    pub fn judge(&mut self, method: Method, tolerances: &Tolerances, step: &Iteration, scale: &Scale) -> Option<(Termination, String)> {
        let max_rejections = method.max_rejections();
        let &Scale { model, point_norm, epsilon } = scale;
        // A clipped step may promise to go uphill; a promise near 0 is a small one of either sign.
        let (promised, found) = (model.abs(), step.cost_change.abs());
        let converged = |reason: String| Some((Termination::Converged, reason));
        // A decrease that this precision cannot tell from 0 is not progress, whatever the damping.
        let noise = epsilon * step.cost.abs();
        if step.accepted {
            *self = Self::default();
        } else {
            self.rejections += 1;
            self.misjudged |= !(found <= ROUNDINGS * noise);
        }
        // What is predicted for a step that is damped no more than before: nearly all that is to be had.
        let nothing_left = self.rejections == 1 && promised.max(found) <= tolerances.cost.max(ROUNDINGS * epsilon) * step.cost;
        if !step.gradient_norm.is_finite() {
            let reason = "the residual is finite, but its derivative is not: guard the expression with select()";
            Some((Termination::NoProgress, reason.into()))
        } else if step.gradient_norm <= tolerances.gradient {
            converged(format!("gradient: max |gᵢ| = {:.3e} ≤ gradientTolerance = {:e}", step.gradient_norm, tolerances.gradient))
        } else if method == Method::GaussNewton && step.step_norm == 0.0 {
            let reason = "JᵀWJ has no curvature along the gradient, so there is no Gauss–Newton step: use method \"lm\"";
            Some((Termination::Singular, reason.into()))
        } else if step.accepted && found <= tolerances.cost * step.cost {
            let relative = found / step.cost;
            converged(format!("cost: |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}", tolerances.cost))
        } else if step.accepted && step.step_norm <= tolerances.step * (point_norm + tolerances.step) {
            let relative = step.step_norm / point_norm;
            converged(format!("step: ‖s‖ / ‖x‖ = {relative:.3e} ≤ stepTolerance = {:e}", tolerances.step))
        } else if nothing_left && promised.max(found) <= tolerances.cost * step.cost {
            let relative = model / step.cost;
            converged(format!(
                "cost: predicted |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}, and what was found is within it",
                tolerances.cost
            ))
        } else if nothing_left && promised <= noise {
            let relative = model / step.cost;
            converged(format!("cost: predicted |Δcost| / cost = {relative:.3e}, below what arithmetic resolves"))
        } else if !step.accepted && promised <= noise && !self.misjudged {
            let reason =
                format!("the predicted decrease of {model:.3e} is below what this precision resolves in a cost of {:.6e}", step.cost);
            Some((Termination::Precision, reason))
        } else if !step.accepted && promised <= noise || self.rejections >= max_rejections {
            let rejections = self.rejections;
            Some((
                Termination::NoProgress,
                format!("{rejections} steps in a row were rejected, the last one of length {:.3e}", step.step_norm),
            ))
        } else {
            None
        }
    }
}
