//! The rules of the augmented Lagrangian: when constraints are met, what becomes of multipliers and the penalty.
//!
//! After the residuals and energies were minimised with the constraints as they stand (`problem/constraint.rs`), λ ← μw r, and
//! where that has not brought the constraints much nearer, μ grows (Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006,
//! framework 17.3; Birgin & Martínez, *Practical Augmented Lagrangian Methods*, 2014, algorithm 4.1). What is left of a row is
//! |r − s|: of an equality |c|, of an inequality min(−c, s) in magnitude, which is 0 where it is met and λ or c vanish.

use super::{Report, Termination};
use leastwise_problem::Constraint;
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
const MOST_PENALTY: [f64; 2] = [1e12, 1e6];
/// Outer iterations in a row that may bring the constraints no nearer, once μ grows no more.
const PATIENCE: u32 = 2;
/// What is left can't be mended where the Lagrangian's gradient is no more than this part of what pulls.
const STATIONARY: f64 = 1e-2;
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
        Self { settings, feasibility, is_single, penalty, least: f64::INFINITY, stuck: 0, iterations: 0, found: Vec::new() }
    }

    /// The least cost tolerance of the minimisation under way: once constraints are met, all is to be exact.
    pub fn slack(&self) -> f64 {
        if self.least <= self.feasibility { 0.0 } else { FIRST_SLACK * 0.1f64.powi(self.iterations.min(300) as i32) }
    }

    /// Looks at a constraint's rows r.
    pub fn look(&mut self, name: &str, constraint: &Constraint, residuals: &[f64]) {
        let rows = constraint.rows as usize;
        let mut worst = (0.0, 0);
        for (place, (r, s)) in residuals.iter().zip(&constraint.shifts).enumerate() {
            let left = (r - s).abs();
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

    fn worst(&self) -> Option<&ConstraintReport> {
        self.found.iter().max_by(|a, b| a.violation.total_cmp(&b.violation))
    }

    /// Once all were looked at, after a minimisation that ended so, and was as exact as it is to be or not: whether it was the
    /// last, how the whole ended, and why.
    pub fn judge(&mut self, inner: &Report, is_exact: bool) -> Option<(Termination, String)> {
        self.iterations += 1;
        let worst = self.worst()?.clone();
        let violation = worst.violation;
        let place = format!("term \"{}\", instance {}", worst.term, worst.instance);
        let ended = matches!(inner.termination, Termination::Stopped | Termination::TimeLimit | Termination::Singular);
        if ended {
            return Some((inner.termination, inner.reason.clone()));
        }
        if violation <= self.feasibility && is_exact {
            let reason =
                format!("{}; constraints are met to {violation:.3e} ≤ feasibilityTolerance = {:e}", inner.reason, self.feasibility);
            return Some((inner.termination, reason));
        }
        if !violation.is_finite() {
            return Some((Termination::NoProgress, format!("a constraint is not finite: {place}")));
        }
        let is_nearer = violation <= NEARER * self.least;
        let is_met = violation <= self.feasibility;
        let most = MOST_PENALTY[usize::from(self.is_single)];
        // Being slow is not being impossible: only where μ can't grow any more, nothing but distance is minimised.
        self.stuck = if is_nearer || is_met || self.penalty < most { 0 } else { self.stuck + 1 };
        let slope = inner.iterations.last().map_or(0.0, |step| step.gradient_norm);
        if self.stuck > PATIENCE && slope > STATIONARY * self.penalty * violation {
            let reason = format!(
                "minimisations with a penalty of {:.0e} don't come to an end ({}), and {violation:.3e} is left of {place}: try another method, or a start that is nearer",
                self.penalty, inner.reason
            );
            return Some((Termination::NoProgress, reason));
        }
        if self.stuck > PATIENCE {
            let reason = format!(
                "the constraints can't be met from here: what is left, {violation:.3e} at {place}, stays although its penalty grew to {:.0e}",
                self.penalty
            );
            return Some((Termination::Infeasible, reason));
        }
        if self.iterations >= self.settings.max_iterations {
            let left = if is_met {
                "constraints are met, but the last minimisation was not as exact as it is to be".into()
            } else {
                format!("{violation:.3e} is left of {place}")
            };
            let reason = format!("maxOuterIterations = {} are over; {left}", self.settings.max_iterations);
            return Some((Termination::MaxIterations, reason));
        }
        if !is_met && violation > ENOUGH * self.least {
            self.penalty = (GROWTH * self.penalty).min(most.max(self.penalty));
        }
        self.least = self.least.min(violation);
        self.found.clear();
        None
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
        let is_constraint = |name: &String| self.found.iter().any(|found| found.term == *name);
        report.cost_by_term.retain(|(name, _)| !is_constraint(name));
        report.cost = report.cost_by_term.iter().map(|term| term.1).sum();
        let violation = self.worst().map_or(0.0, |worst| worst.violation);
        let optimality = report.iterations.last().map_or(f64::NAN, |step| step.gradient_norm);
        let (outer_iterations, penalty) = (self.iterations, self.penalty);
        report.feasibility = Some(Feasibility { violation, optimality, outer_iterations, penalty, constraints: self.found });
    }
}
