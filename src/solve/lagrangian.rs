//! The rules of the augmented Lagrangian: when constraints are met, what becomes of multipliers and the penalty.
//!
//! After the residuals and energies were minimised with the constraints as they stand (`problem/constraint.rs`), λ ← μwk r, and
//! where that has not brought the constraints much nearer, μ grows (Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006,
//! framework 17.3; Birgin & Martínez, *Practical Augmented Lagrangian Methods*, 2014, algorithm 4.1). What is left of a row is
//! |r − s|/k: of an equality |c|, of an inequality min(−c, s/k) in magnitude, which is 0 where it is met and λ or c vanish.
//!
//! Where constraints stay unmet although μ is as large as may be, the violation alone is minimised: λ is 0 and μ the largest,
//! beside which the cost is nothing (the restoration of filter methods: Wächter & Biegler, *Math. Program.* 106, 2006, section
//! 3.3). Where that meets them, or comes much nearer, the outer iteration goes on from there. Else, if it ended by itself, the
//! violation is stationary. A solve that fails in any way begins anew from where it began, with a larger penalty: a small one may
//! have let the cost lead it far away.

use super::{Report, Termination};
use leastwise_base::FileError;
use leastwise_problem::Constraint;
use leastwise_problem::file::bytes::{Reader, Writer};
use leastwise_problem::file::malformed;
use serde::Serialize;

/// When outer iterations end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OuterSettings {
    /// Largest |r − s| that counts as met; default: by the precision.
    pub feasibility: Option<f64>,
    /// μ at the start.
    pub penalty: f64,
    /// Greatest number of minimisations.
    pub max_iterations: u32,
}

impl Default for OuterSettings {
    fn default() -> Self {
        Self { feasibility: None, penalty: 10.0, max_iterations: 50 }
    }
}

/// μ grows by this where a violation has not fallen to this part of what it was.
const GROWTH: f64 = 10.0;
const ENOUGH: f64 = 0.25;
/// μ at most: beyond it the penalty hides all else from the arithmetic.
const MOST_PENALTY: [f64; 2] = [1e14, 1e6];
/// Outer iterations in a row that may bring the constraints no nearer, once μ grows no more.
const PATIENCE: u32 = 2;
/// What is left can't be mended where the Lagrangian's gradient is no more than this part of what pulls.
const STATIONARY: f64 = 1e-2;
/// A new beginning has the last one's penalty times this, and there are so many at most.
const BOLDER: f64 = 1e3;
const MOST_RESTARTS: u32 = 2;
/// The Lagrangian's gradient at a solution, as a part of 1 and of a hundredth of the largest λ: what IPOPT asks for, in f64.
const OPTIMAL: [f64; 2] = [1e-8, 1e-4];
const OF_MULTIPLIERS: f64 = 1e-2;
/// A slope that is none beside this part of a violation.
const FLAT: f64 = 1e-5;
/// k at least: a row with a larger slope than 1/k may be one of few such places.
const LEAST_SCALE: f64 = 1e-4;
/// s at most: what is larger tells of a minimisation without end.
const MOST_SHIFT: f64 = 1e30;
/// Of what it was: less than this is no nearer.
const NEARER: f64 = 0.9;
/// The first minimisations need not be exact.
const FIRST_SLACK: f64 = 1e-3;

/// What is left of a constraint's worst row, and λ.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ConstraintReport {
    /// Name of the constraint's term.
    pub term: String,
    /// `"=0"`, `"<=0"` or `">=0"`.
    pub relation: &'static str,
    /// max |c| of equalities; of inequalities max |min(−c, λ/μ)|.
    pub violation: f64,
    /// Instance of the largest violation.
    pub instance: u32,
    /// Row of the largest violation.
    pub row: u32,
    /// max |λ|
    pub multiplier: f64,
}

/// How well a constrained problem is solved.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Feasibility {
    /// Largest violation of all constraints.
    pub violation: f64,
    /// The largest component of the Lagrangian's gradient, before the last step.
    pub optimality: f64,
    /// Minimisations so far.
    pub outer_iterations: u32,
    /// Penalty μ of the last minimisation.
    pub penalty: f64,
    /// Reports of the constraints, by term.
    pub constraints: Vec<ConstraintReport>,
}

/// Verdict on an outer iteration.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Another minimisation, with new multipliers.
    Next,
    /// A minimisation of the violation alone.
    Restoration,
    /// Another beginning from where the solve began, without multipliers.
    Restart,
    /// The end.
    Over(Termination, String),
}

/// The outer iteration.
pub struct Lagrangian {
    settings: OuterSettings,
    feasibility: f64,
    is_single: bool,
    /// Penalty μ of the minimisation under way.
    pub penalty: f64,
    /// The least violation so far, and how many iterations in a row have not come nearer.
    least: f64,
    stuck: u32,
    /// True while the violation alone is minimised.
    restoring: bool,
    /// Beginnings after the first, and the penalty of the last.
    restarts: u32,
    began: f64,
    /// Minimisations so far.
    pub iterations: u32,
    /// Of the iteration under way.
    found: Vec<ConstraintReport>,
}

impl Lagrangian {
    /// The first outer iteration; `is_single` says that the device computes in f32, which decides the default feasibility.
    pub fn new(settings: OuterSettings, is_single: bool) -> Self {
        let feasibility = settings.feasibility.unwrap_or(if is_single { 1e-5 } else { 1e-8 });
        let penalty = settings.penalty;
        Self {
            settings,
            feasibility,
            is_single,
            penalty,
            least: f64::INFINITY,
            stuck: 0,
            restoring: false,
            restarts: 0,
            began: penalty,
            iterations: 0,
            found: Vec::new(),
        }
    }

    /// Writes what the next outer iteration depends on, but for constraints.
    pub fn write(&self, to: &mut Writer) {
        [self.penalty, self.least, self.began].into_iter().for_each(|value| to.f64(value));
        [self.stuck, self.restarts, self.iterations].into_iter().for_each(|count| to.u32(count));
        to.flag(self.restoring);
    }

    /// The outer iteration that was written, as it goes on with these settings.
    ///
    /// # Errors
    /// [`FileError`] for what is none.
    pub fn read(from: &mut Reader, new: Self) -> Result<Self, FileError> {
        let [penalty, least, began] = [from.f64()?, from.f64()?, from.f64()?];
        let [stuck, restarts, iterations] = [from.u32()?, from.u32()?, from.u32()?];
        let is_penalty = |value: f64| value.is_finite() && value > 0.0;
        if !is_penalty(penalty) || !is_penalty(began) || least.is_nan() || least < 0.0 {
            return Err(malformed("its outer iteration makes no sense"));
        }
        Ok(Self { penalty, least, began, stuck, restarts, iterations, restoring: from.flag()?, ..new })
    }

    /// The least cost tolerance of the minimisation under way: once constraints are met, all is to be exact.
    pub fn slack(&self) -> f64 {
        let is_exact = self.restoring || self.least <= self.feasibility;
        if is_exact { 0.0 } else { FIRST_SLACK * 0.1f64.powi(self.iterations.min(300) as i32) }
    }

    /// Looks at a constraint's rows r.
    pub fn look(&mut self, name: &str, constraint: &Constraint, residuals: &[f64]) {
        let rows = constraint.rows as usize;
        let mut worst = (0.0, 0);
        let rows_of = residuals.iter().zip(&constraint.shifts).zip(&constraint.scales);
        for (place, ((r, s), k)) in rows_of.enumerate() {
            let left = (r - s).abs() / k;
            // A NaN is as far as can be.
            let is_worse = left > worst.0 || left.is_nan();
            if constraint.weight.at(place / rows) > 0.0 && is_worse {
                worst = (left, place);
            }
        }
        let multiplier = constraint.multipliers().iter().fold(0f64, |most, value| most.max(value.abs()));
        self.found.push(ConstraintReport {
            term: name.into(),
            relation: constraint.relation.name(),
            violation: worst.0,
            instance: (worst.1 / rows) as u32,
            row: (worst.1 % rows) as u32,
            multiplier,
        });
    }

    /// The constraint that is violated most, of those looked at last.
    pub fn worst(&self) -> Option<&ConstraintReport> {
        self.found.iter().max_by(|a, b| a.violation.total_cmp(&b.violation))
    }

    /// Outcome of an outer iteration, once all constraints were looked at, after a minimisation that ended so, and was as exact as it
    /// is to be or not.
    pub fn judge(&mut self, inner: &Report, is_exact: bool, is_unbounded: bool) -> Verdict {
        self.iterations += 1;
        let Some(worst) = self.worst().cloned() else { return Verdict::Over(inner.termination, inner.reason.clone()) };
        let violation = worst.violation;
        let place = format!("term \"{}\", instance {}", worst.term, worst.instance);
        if matches!(inner.termination, Termination::Stopped | Termination::TimeLimit | Termination::Singular) {
            return Verdict::Over(inner.termination, inner.reason.clone());
        }
        if inner.termination == Termination::Unbounded && violation <= self.feasibility {
            // No penalty holds what constraints let go.
            let reason = format!("{}; constraints are met to {violation:.3e}", inner.reason);
            return Verdict::Over(Termination::Unbounded, reason);
        }
        if is_unbounded {
            let reason = "the augmented Lagrangian seems to be unbounded below: bound the variables, or begin with a larger penalty";
            return self.fail(Termination::Unbounded, reason.into());
        }
        if !violation.is_finite() {
            return self.fail(Termination::NoProgress, format!("a constraint is not finite: {place}"));
        }
        let is_met = violation <= self.feasibility;
        let restored = std::mem::take(&mut self.restoring);
        if is_met && is_exact && !restored {
            let (termination, reason) = self.met(inner);
            let reason = format!("{reason}; constraints are met to {violation:.3e} ≤ feasibilityTolerance = {:e}", self.feasibility);
            return Verdict::Over(termination, reason);
        }
        let is_nearer = violation <= NEARER * self.least;
        let most = MOST_PENALTY[usize::from(self.is_single)];
        if restored && !is_met && !is_nearer {
            return self.fail_unmet(inner, &place, violation);
        }
        // Being slow is not being impossible: only where μ can't grow any more, nothing but distance is minimised.
        self.stuck = if is_nearer || is_met || self.penalty < most { 0 } else { self.stuck + 1 };
        if self.iterations >= self.settings.max_iterations {
            let left = if is_met {
                "constraints are met, but the last minimisation was not as exact as it is to be".into()
            } else {
                format!("{violation:.3e} is left of {place}")
            };
            let reason = format!("maxOuterIterations = {} are over; {left}", self.settings.max_iterations);
            return Verdict::Over(Termination::MaxIterations, reason);
        }
        if restored {
            // From here on the cost counts again.
            self.penalty = (BOLDER * self.began).min(most);
            self.least = if is_met { f64::INFINITY } else { violation };
        } else if self.stuck > PATIENCE {
            (self.restoring, self.penalty) = (true, most.max(self.penalty));
            self.found.clear();
            return Verdict::Restoration;
        } else {
            if !is_met && violation > ENOUGH * self.least {
                self.penalty = (GROWTH * self.penalty).min(most.max(self.penalty));
            }
            self.least = self.least.min(violation);
        }
        self.found.clear();
        Verdict::Next
    }

    /// The ending where constraints are met, and its reason.
    fn met(&self, inner: &Report) -> (Termination, String) {
        let others = inner.cost_by_term.iter().any(|(name, _)| !self.is_constraint(name));
        let slope = inner.iterations.last().map_or(0.0, |step| step.gradient_norm);
        let multiplier = self.found.iter().fold(0f64, |most, found| most.max(found.multiplier));
        let little = OPTIMAL[usize::from(self.is_single)] * (OF_MULTIPLIERS * multiplier).max(1.0);
        if inner.termination == Termination::Converged {
            (Termination::Converged, inner.reason.clone())
        } else if !others {
            (Termination::Converged, "there is nothing to be minimised".into())
        } else if slope <= little {
            (Termination::Converged, format!("gradient: max |gᵢ| of the Lagrangian is {slope:.3e} ({})", inner.reason))
        } else if inner.termination == Termination::MaxIterations {
            (inner.termination, format!("{} in the last minimisation", inner.reason))
        } else {
            (inner.termination, inner.reason.clone())
        }
    }

    /// Verdict where the violation alone was minimised, and stays.
    fn fail_unmet(&mut self, inner: &Report, place: &str, violation: f64) -> Verdict {
        let slope = inner.iterations.last().map_or(0.0, |step| step.gradient_norm);
        let ended = matches!(inner.termination, Termination::Converged | Termination::Precision);
        if ended || slope <= STATIONARY * self.penalty * violation {
            let reason = format!(
                "the constraints can't be met from here: what is left, {violation:.3e} at {place}, stays although nothing else was minimised",
            );
            return self.fail(Termination::Infeasible, reason);
        }
        let reason = format!(
            "minimisations of the constraints alone don't come to an end ({}), and {violation:.3e} is left of {place}: try another method, or a start that is nearer",
            inner.reason
        );
        self.fail(Termination::NoProgress, reason)
    }

    /// Another beginning, if there may be one; else the end.
    fn fail(&mut self, termination: Termination, reason: String) -> Verdict {
        let most = MOST_PENALTY[usize::from(self.is_single)];
        let penalty = BOLDER * self.began;
        if self.restarts >= MOST_RESTARTS || penalty >= most || self.iterations >= self.settings.max_iterations {
            return Verdict::Over(termination, reason);
        }
        self.restarts += 1;
        (self.penalty, self.began) = (penalty, penalty);
        (self.least, self.stuck, self.restoring) = (f64::INFINITY, 0, false);
        self.found.clear();
        Verdict::Restart
    }

    /// True if all that was looked at last is met.
    pub fn is_met(&self) -> bool {
        self.worst().is_none_or(|worst| worst.violation <= self.feasibility)
    }

    fn is_constraint(&self, name: &str) -> bool {
        self.found.iter().any(|found| found.term == name)
    }

    /// Hint at why a constraint could not be met, from its Jacobian at the end.
    pub fn hint(&self, constraint: &Constraint, jacobian: &[f64]) -> Option<&'static str> {
        let worst = self.worst()?;
        let place = (worst.instance * constraint.rows + worst.row) as usize;
        let unknowns = jacobian.len() / constraint.scales.len().max(1);
        let row = jacobian.get(place * unknowns..)?.get(..unknowns)?;
        let slope = row.iter().fold(0f64, |most, entry| most.max(entry.abs())) / constraint.scales.get(place)?;
        let is_flat = slope <= FLAT * worst.violation;
        is_flat.then_some("; the constraint's gradient is 0 here, so no direction is known that leads to it: begin elsewhere")
    }

    /// k of a constraint's rows: by the largest entry of each row's Jacobian, of rows times unknowns. Steep rows are made as gentle
    /// as the others (gradient-based scaling: Wächter & Biegler 2006, section 3.8), by powers of two, which round nothing.
    pub fn scales(constraint: &Constraint, jacobian: &[f64]) -> Vec<f64> {
        let unknowns = jacobian.len() / constraint.scales.len().max(1);
        let slope = |row: usize| jacobian[row * unknowns..][..unknowns].iter().fold(0f64, |most, entry| most.max(entry.abs()));
        let scale = |(row, before): (usize, &f64)| {
            let slope = slope(row) / before;
            if slope.is_finite() && slope > 1.0 { 0.5f64.powf(slope.log2().ceil()).max(LEAST_SCALE) } else { 1.0 }
        };
        constraint.scales.iter().enumerate().map(scale).collect()
    }

    /// Whether what was looked at tells of a minimisation without end: then λ would be none.
    pub fn is_unbounded(&self, residuals: &[f64]) -> bool {
        !residuals.iter().all(|r| r.abs() <= MOST_SHIFT)
    }

    /// s of the next minimisation, from r of the last, for a penalty that was that.
    pub fn shifts(&self, constraint: &Constraint, residuals: &[f64]) -> Vec<f64> {
        let part = constraint.penalty / self.penalty;
        let rows = constraint.rows as usize;
        let weighs = |place: usize| constraint.weight.at(place / rows) > 0.0;
        residuals.iter().enumerate().map(|(place, r)| if weighs(place) { part * r } else { 0.0 }).collect()
    }

    /// What the report says, whose cost is that of the other terms.
    pub fn conclude(self, report: &mut Report) {
        report.cost_by_term.retain(|(name, _)| !self.is_constraint(name));
        report.cost = report.cost_by_term.iter().map(|term| term.1).sum();
        let violation = self.worst().map_or(0.0, |worst| worst.violation);
        let optimality = report.iterations.last().map_or(f64::NAN, |step| step.gradient_norm);
        let (outer_iterations, penalty) = (self.iterations, self.penalty);
        report.feasibility = Some(Feasibility { violation, optimality, outer_iterations, penalty, constraints: self.found });
    }
}
