//! Why a solve by gradients ends.

use super::super::options::Tolerances;
use super::super::termination::Tests;
use super::super::{Iteration, Termination};
use super::Rule;

/// What a test sees of a step besides its [`Iteration`].
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// max |gᵢ| where the step led.
    pub gradient_norm: f64,
    /// ‖x‖ before the step.
    pub point_norm: f64,
    /// The cost that the solve began with.
    pub initial_cost: f64,
    /// What the arithmetic resolves of 1.
    pub epsilon: f64,
    /// Whether the search came to nothing, along −g as well.
    pub failed: bool,
    /// gᵀd of that search.
    pub slope: f64,
}

/// Roundings that a change of the cost is made of.
const ROUNDINGS: f64 = 16.0;

/// Steps in a row that hardly change the cost before that says something: a direction may have been a bad one.
const STILL: u32 = 3;

/// Tests for termination after a trial that was taken, or a search that failed.
pub fn judge(rule: Rule, tolerances: &Tolerances, step: &Iteration, arrival: &Arrival, tests: &mut Tests) -> Option<(Termination, String)> {
    let ending = ending(rule, tolerances, step, arrival, tests);
    tests.unless_falling(step, arrival.initial_cost, arrival.epsilon, ending)
}

fn ending(rule: Rule, tolerances: &Tolerances, step: &Iteration, arrival: &Arrival, tests: &mut Tests) -> Option<(Termination, String)> {
    let converged = |reason: String| Some((Termination::Converged, reason));
    let cost = step.cost.abs();
    if !arrival.gradient_norm.is_finite() {
        let reason = "the residual is finite, but its derivative is not: guard the expression with select()";
        return Some((Termination::NoProgress, reason.into()));
    }
    if let Some(lost) = [step.step_norm, arrival.point_norm].into_iter().find_map(|length| Tests::is_lost(length, arrival.epsilon)) {
        return Some(lost);
    }
    if let Some(unbounded) = tests.unbounded(step, arrival.initial_cost, arrival.point_norm, arrival.epsilon) {
        return Some(unbounded);
    }
    if arrival.gradient_norm <= tolerances.gradient {
        let gradient = arrival.gradient_norm;
        return converged(format!("gradient: max |gᵢ| = {gradient:.3e} ≤ gradientTolerance = {:e}", tolerances.gradient));
    }
    if arrival.failed {
        let hidden = ROUNDINGS * arrival.epsilon * cost;
        // A search that ends in steps which move nothing is one that rounding has ended.
        let is_short = step.step_norm <= ROUNDINGS * arrival.epsilon * arrival.point_norm;
        if step.cost_change.abs() <= hidden || is_short {
            let reason = format!(
                "line search: the cost {:.6e} does not fall any more along −g, as far as this precision tells; max |gᵢ| = {:.3e}",
                step.cost, arrival.gradient_norm
            );
            return Some((Termination::Precision, reason));
        }
        let reason = format!("line search: no point along −g satisfies the Wolfe conditions; the slope is {:.3e}", arrival.slope);
        return Some((Termination::NoProgress, reason));
    }
    // Without a search the cost rises and falls.
    if !step.accepted || !rule.searches() {
        return None;
    }
    tests.still = if step.cost_change.abs() <= tolerances.cost * cost { tests.still + 1 } else { 0 };
    if tests.still >= STILL {
        let relative = step.cost_change.abs() / cost;
        return converged(format!(
            "cost: |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}, as in the two steps before",
            tolerances.cost
        ));
    }
    if step.step_norm <= tolerances.step * (arrival.point_norm + tolerances.step) {
        let relative = step.step_norm / arrival.point_norm;
        return converged(format!("step: ‖s‖ / ‖x‖ = {relative:.3e} ≤ stepTolerance = {:e}", tolerances.step));
    }
    None
}
