//! Why a solve ends: the tests that are made after every step.

use super::options::Tolerances;
use super::{Iteration, Method, Termination};
use leastwise_base::FileError;
use leastwise_problem::file::bytes::{Reader, Writer};

/// What a test sees of a step besides its [`Iteration`].
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The decrease that the quadratic model predicted.
    pub model: f64,
    /// ‖x‖ before the step.
    pub point_norm: f64,
    /// The cost that the solve began with.
    pub initial_cost: f64,
    /// What the arithmetic resolves of 1.
    pub epsilon: f64,
    /// Whether it was the trust region that ended the step: then being short and promising little says nothing.
    pub is_cut: bool,
}

/// How the last steps went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tests {
    /// Rejections in a row.
    rejections: u32,
    /// Whether the first of them was of a step that was hardly damped, and yet promised next to nothing; or not much, and promised no
    /// more than roundings.
    spent: bool,
    /// Whether one of them was for a loss that was more than rounding: then it was the model that was wrong.
    misjudged: bool,
    /// Steps in a row by the gradient alone that hardly changed the cost.
    pub(super) still: u32,
    /// Accepted steps in a row that at least doubled both the size of a negative cost and ‖x‖.
    falls: u32,
    /// What the first accepted step gained.
    first_fall: Option<f64>,
    /// The largest max |gᵢ| so far.
    steepest: f64,
}

/// What every end of an unbounded energy says.
const UNBOUNDED: &str = "bound the variables, or add what holds them";

/// Such steps after which a cost far below the first one is taken to have no lower bound.
const FALLS: u32 = 3;
/// Steps alike after which an energy is taken to be a slope without end, and what their gradients may differ by: a minimum is
/// 1/ALIKE of these steps away at least.
const STRAIGHT: usize = 8;
const ALIKE: f64 = 1e-6;
/// The part of the largest gradient that is none of a minimum's.
const STEEP: f64 = 0.1;

/// A λ at which a step still is nearly that of Gauss and Newton.
pub(super) const SLIGHT_DAMPING: f64 = 1e-2;
/// A λ up to which a short step says that it is not far to go.
const MODERATE_DAMPING: f64 = 1.0;
/// Roundings that a change of the cost is made of.
const ROUNDINGS: f64 = 16.0;
/// The part of a cost that nobody misses, and the part of the first cost that is as good as none.
const LITTLE: f64 = 1e-11;
const NEXT_TO_NOTHING: f64 = 1e-14;

impl Tests {
    /// The most of what they count.
    pub fn count(&self) -> u32 {
        self.rejections.max(self.still).max(self.falls)
    }

    /// Whether an energy falls without end. Its cost is negative, and so large that its square overflows; or it is 1/ε times
    /// the first one, what the first step gained, and 1, and three accepted steps in a row at least doubled both its size and
    /// ‖x‖, which no energy with a minimum does there. `point_norm` is that before the step.
    pub fn unbounded(&mut self, step: &Iteration, initial_cost: f64, point_norm: f64, epsilon: f64) -> Option<(Termination, String)> {
        let size = -step.cost;
        self.steepest = self.steepest.max(step.gradient_norm);
        if step.accepted {
            self.first_fall.get_or_insert(step.cost_change.abs());
            let doubles = -step.cost_change >= 0.5 * size && step.step_norm >= point_norm;
            self.falls = if size > 0.0 && doubles { self.falls + 1 } else { 0 };
        }
        let overflows = if epsilon < 1e-10 { size >= 1e154 } else { size >= 1e19 };
        let falls = overflows || self.is_far(step.cost, initial_cost, epsilon) && self.falls >= FALLS;
        falls.then(|| Self::falling(step.cost))
    }

    /// Whether the cost is negative, and 1/ε times all that it was known to be of.
    fn is_far(&self, cost: f64, initial_cost: f64, epsilon: f64) -> bool {
        -cost >= initial_cost.abs().max(self.first_fall.unwrap_or(0.0)).max(1.0) / epsilon
    }

    fn falling(cost: f64) -> (Termination, String) {
        (Termination::Unbounded, format!("the energy falls without end: it is {cost:.3e} now; {UNBOUNDED}"))
    }

    /// The ending of a solve, which is another where only the size of its cost hides how it falls: so far down
    /// the gradient at a minimum would be small beside what it was on the way.
    pub fn unless_falling(
        &self,
        step: &Iteration,
        initial_cost: f64,
        epsilon: f64,
        ending: Option<(Termination, String)>,
    ) -> Option<(Termination, String)> {
        let is_steep = step.gradient_norm >= STEEP * self.steepest;
        if ending.is_some() && is_steep && self.is_far(step.cost, initial_cost, 10.0 * epsilon) {
            Some(Self::falling(step.cost))
        } else {
            ending
        }
    }

    /// Whether the last steps, each as long as next to no damping lets one be, went down a slope that does not bend: no trust region
    /// or line search makes them longer then, and the cost does not double. It is negative, and 1/√ε times all that it was of.
    pub fn is_straight(&self, steps: &[Iteration], initial_cost: f64, epsilon: f64) -> Option<(Termination, String)> {
        let last = &steps[steps.len().checked_sub(STRAIGHT)?..];
        let [first, .., end] = last else { return None };
        let is_like = |a: f64, b: f64| (a - b).abs() <= ALIKE * b.abs();
        let is_plain = |step: &Iteration| {
            let alike = is_like(step.gradient_norm, first.gradient_norm) && is_like(step.step_norm, first.step_norm);
            step.accepted && step.damping <= SLIGHT_DAMPING && step.radius.is_some() && alike
        };
        let is_straight = self.is_far(end.cost, initial_cost, epsilon.sqrt()) && last.iter().all(is_plain);
        is_straight.then(|| Self::falling(end.cost))
    }

    /// The same of a length whose square overflows soon.
    pub fn is_lost(length: f64, epsilon: f64) -> Option<(Termination, String)> {
        let far = if epsilon < 1e-10 { 1e100 } else { 1e17 };
        let reason = || format!("the variables go away without end: ‖x‖ or ‖s‖ is {length:.3e} now; {UNBOUNDED}");
        (length.is_nan() || length >= far).then(|| (Termination::Unbounded, reason()))
    }

    pub fn write(&self, to: &mut Writer) {
        to.u32(self.rejections);
        to.flag(self.spent);
        to.flag(self.misjudged);
        to.u32(self.still);
        to.u32(self.falls);
        to.option(self.first_fall, Writer::f64);
        to.f64(self.steepest);
    }

    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        Ok(Self {
            rejections: from.u32()?,
            spent: from.flag()?,
            misjudged: from.flag()?,
            still: from.u32()?,
            falls: from.u32()?,
            first_fall: from.option(Reader::f64)?,
            steepest: from.f64()?,
        })
    }

    /// Tests for termination after a step: those of Ceres on accepted steps, and on rejected ones whether the precision,
    /// not the model, refused them.
    pub fn judge(&mut self, method: Method, tolerances: &Tolerances, step: &Iteration, scale: &Scale) -> Option<(Termination, String)> {
        let ending = self.ending(method, tolerances, step, scale);
        self.unless_falling(step, scale.initial_cost, scale.epsilon, ending)
    }

    fn ending(&mut self, method: Method, tolerances: &Tolerances, step: &Iteration, scale: &Scale) -> Option<(Termination, String)> {
        let &Scale { model, point_norm, initial_cost, epsilon, is_cut } = scale;
        // Energies may be negative: it is their size that counts.
        let (cost, initial_cost) = (step.cost.abs(), initial_cost.abs());
        // A clipped step may promise to go uphill; a promise near 0 is a small one of either sign.
        let (promised, found) = (model.abs(), step.cost_change.abs());
        let converged = |reason: String| Some((Termination::Converged, reason));
        if let Some(unbounded) = self.unbounded(step, initial_cost, point_norm, epsilon) {
            return Some(unbounded);
        }
        let is_slight = step.damping <= SLIGHT_DAMPING;
        if step.accepted {
            *self = Self { falls: self.falls, first_fall: self.first_fall, steepest: self.steepest, ..Self::default() };
        } else {
            self.rejections += 1;
            // Residuals are differences of what is measured and what is modelled, whose roundings are those of the latter.
            let rounding = (epsilon.sqrt() * cost).max(ROUNDINGS * epsilon * (cost * initial_cost).sqrt());
            self.misjudged |= !found.is_finite() || found > rounding;
            // What f32 does not resolve may be more than anyone would call nothing, and is told.
            let [unasked, roundings] = if epsilon < LITTLE { [LITTLE, ROUNDINGS * epsilon] } else { [0.0; 2] };
            let little = tolerances.cost.max(unasked) * cost;
            let is_little = is_slight && promised <= little.max(NEXT_TO_NOTHING * initial_cost);
            self.spent |= self.rejections == 1 && (is_little || step.damping <= MODERATE_DAMPING && promised <= roundings * cost);
        }
        // A decrease that this precision cannot tell from 0 is not progress, whatever the damping.
        let is_noise = promised <= epsilon * cost;
        let relative = model / cost;
        if !step.gradient_norm.is_finite() {
            let reason = "the residual is finite, but its derivative is not: guard the expression with select()";
            Some((Termination::NoProgress, reason.into()))
        } else if step.gradient_norm <= tolerances.gradient {
            converged(format!("gradient: max |gᵢ| = {:.3e} ≤ gradientTolerance = {:e}", step.gradient_norm, tolerances.gradient))
        } else if method == Method::GaussNewton && step.step_norm == 0.0 {
            let reason = "JᵀWJ has no curvature along the gradient, so there is no Gauss–Newton step: use method \"lm\"";
            Some((Termination::Singular, reason.into()))
        } else if step.accepted && !is_cut && found <= tolerances.cost * cost {
            let relative = found / cost;
            converged(format!("cost: |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}", tolerances.cost))
        } else if step.accepted
            && !is_cut
            && step.damping <= MODERATE_DAMPING
            && step.step_norm <= tolerances.step * (point_norm + tolerances.step)
        {
            let relative = step.step_norm / point_norm;
            converged(format!("step: ‖s‖ / ‖x‖ = {relative:.3e} ≤ stepTolerance = {:e}", tolerances.step))
        } else if self.rejections == 1 && !is_cut && promised.max(found) <= tolerances.cost * cost {
            // The damping was not raised yet, so the model's promise is that of a full step; what was found instead of
            // it is rounding. (After more rejections a small promise only says that the damping is large.)
            converged(format!(
                "cost: predicted |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}, and what was found is within it",
                tolerances.cost
            ))
        } else if !step.accepted && (is_noise || self.rejections >= method.max_rejections()) {
            let Self { rejections, spent, misjudged, .. } = *self;
            if spent {
                return converged(format!("cost: what is left to be had is below what arithmetic resolves in a cost of {:.6e}", step.cost));
            }
            if !misjudged {
                let reason =
                    format!("the predicted decrease of {model:.3e} is below what this precision resolves in a cost of {:.6e}", step.cost);
                return Some((Termination::Precision, reason));
            }
            let reason = format!("{rejections} steps in a row were rejected, the last one of length {:.3e}", step.step_norm);
            Some((Termination::NoProgress, reason))
        } else {
            None
        }
    }
}
