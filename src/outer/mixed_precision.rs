//! Mixed precision: a solve that f32 stopped goes on on a sibling of the device. This is the default on WebGPU.
//!
//! Most solves on a GPU end by their tolerances before f32 shows. Where it does (`precision`, `no-progress`, `singular`, or
//! tolerances that are looser only because f32 has no more digits), a [`SiblingSolve`] starts from the point where f32 stopped, and
//! the values that it finds, rounded, are the problem's. What was given in f64, data and constants, is there in f64; limits and what
//! is pinned are as f32 has them.
//!
//! Edits made during refinement take effect within two steps: the sibling solve is stopped, its values are copied back, and a new one
//! starts from the edited problem. All steps are the solver's own, as their numbers are.

use crate::sibling_solve::{SiblingSolve, SiblingTurn};
use crate::{Context, Devices, Turn};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, DeviceError, Play, Precision, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;
use leastwise_solve::{Iteration, NonFiniteResidual, Refinement, RefinementState, Report, Solver, Spent, Termination};

/// Relative difference that two sums for the same cost may have.
const SUMS: f64 = 1e-10;

/// A solve that f32 stopped, and how far it is refined.
pub struct MixedPrecision {
    /// Report of f32, and those of the sibling solves that ended, as one.
    before: Report,
    after: Option<Report>,
    /// Number of the first step in mixed precision among the solver's.
    first: u32,
    pub(crate) spent: Spent,
    started_ms: f64,
    /// Time that sibling solves took to be made and compiled.
    compile_ms: f64,
    /// Revision of the problem that the sibling solve was made of, and how often it was edited on the way.
    pub(crate) revision: u64,
    edits: u32,
    /// True if a sibling solve ended above the cost that it began with.
    has_risen: bool,
    /// Cost that the first sibling solve began with, once it is known.
    start_cost: Option<f64>,
    /// Reason to stop, once it was asked to.
    pub(crate) stopped: Option<String>,
    stage: Stage,
}

enum Stage {
    /// The point where f32 stopped, or where the sibling solve before ended.
    Reading(Box<Play>),
    Solving(Box<SiblingSolve>),
    Over,
}

impl MixedPrecision {
    /// Begins to go on where f32 stopped a solve. Where it did not, or where there is no more precision, the report says so.
    pub fn begin(context: &mut Context, report: &mut Report) -> Result<Option<Box<Self>>, Error> {
        let Context { devices, problem, driven } = context;
        if let Some(refusal) = refusal(devices, problem, &driven.solver, report)? {
            report.refinement = refusal;
            return Ok(None);
        }
        let solver = &mut driven.solver;
        let (spent, first) = (solver.handed_on(report), solver.steps());
        solver.withdraw(report);
        let mut refinement = Box::new(Self {
            before: report.clone(),
            after: None,
            first,
            spent,
            started_ms: now_ms(),
            compile_ms: 0.0,
            revision: 0,
            edits: 0,
            has_risen: false,
            start_cost: None,
            stopped: None,
            stage: Stage::Over,
        });
        refinement.read_point(devices, problem)?;
        Ok(Some(refinement))
    }

    /// The sibling solve, while it has no step on its way.
    pub fn idle_sibling(&self) -> Option<&SiblingSolve> {
        if let Stage::Solving(sibling) = &self.stage { Some(&**sibling).filter(|sibling| sibling.is_between_steps()) } else { None }
    }

    /// True while no sibling solve has ended: the report of f32 may still be the whole account.
    pub(crate) fn is_first(&self) -> bool {
        self.after.is_none()
    }

    /// Ending of f32, for a checkpoint that is made after so many steps.
    pub fn ending(&self, steps: u32) -> (Termination, String) {
        let Report { termination, reason, .. } = &self.before;
        let mixed = steps - self.first;
        (*termination, format!("{reason}; {mixed} steps in mixed precision followed, before it was saved"))
    }

    /// Ends after the present iteration.
    pub fn stop(&mut self, reason: &str) {
        self.stopped = Some(reason.into());
        if let Stage::Solving(sibling) = &mut self.stage {
            sibling.stop(reason);
        }
    }

    /// Goes on; on an error, what was found before stands, with the reason.
    pub fn resume(&mut self, context: &mut Context, deadline: f64) -> Result<Turn<Box<Report>>, Error> {
        match self.refine(context, deadline) {
            Err(error) if !matches!(error, Error::Device(DeviceError::Lost(_))) => {
                let reason = format!("going on in mixed precision failed: {error}");
                let refinement = Refinement::new(RefinementState::Failed, Some(error.code()), reason);
                Ok(Turn::Over(self.account(&mut context.driven.solver, refinement)))
            }
            turn => turn,
        }
    }

    fn refine(&mut self, context: &mut Context, deadline: f64) -> Result<Turn<Box<Report>>, Error> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Reading(mut play) => {
                    if let Some(reason) = self.stopped.clone().filter(|_| self.is_first()) {
                        return Ok(self.ended_early(context, Termination::Stopped, reason));
                    }
                    let point = match Turn::from(context.devices.main.resume(&mut play, deadline)?).outcome() {
                        Ok(point) => point,
                        Err(turn) => {
                            self.stage = Stage::Reading(play);
                            return Ok(turn);
                        }
                    };
                    // Reading took time as well.
                    let limit = context.driven.solver.limit_of(self.spent);
                    if let Some((termination, reason)) = limit.filter(|_| self.is_first()) {
                        return Ok(self.ended_early(context, termination, reason));
                    }
                    // The snapshot is of what the host knows.
                    if context.problem.has_unknown_data() {
                        let reason = "it was given tensors meanwhile, whose elements are on the device alone: solve again";
                        let refinement = Refinement::new(RefinementState::Refused, Some("tensors"), reason);
                        return Ok(Turn::Over(self.account(&mut context.driven.solver, refinement)));
                    }
                    self.stage = Stage::Solving(Box::new(SiblingSolve::new(self, context, point)?));
                }
                Stage::Solving(mut sibling) => match sibling.advance(self, context, deadline) {
                    Ok(SiblingTurn::Under(turn)) => {
                        self.stage = Stage::Solving(sibling);
                        return Ok(turn);
                    }
                    Ok(SiblingTurn::Over(report)) => {
                        let is_edited = sibling.take_over(self, context);
                        self.start_cost = self.start_cost.or(sibling.start_cost);
                        self.has_risen |= sibling.start_cost.is_some_and(|start| report.cost - start > SUMS * start.abs());
                        self.absorb(*report, sibling.first);
                        self.drop_sibling(context.devices, *sibling);
                        if !is_edited? {
                            return self.conclude(&mut context.driven.solver).map(Turn::Over);
                        }
                        self.edits += 1;
                        self.read_point(context.devices, context.problem)?;
                    }
                    Ok(SiblingTurn::Undefined) => {
                        self.drop_sibling(context.devices, *sibling);
                        let reason = "going on in mixed precision failed: the residual is not finite in double-floats at the values that it was to go on from";
                        let refinement = Refinement::new(RefinementState::Failed, Some("non-finite"), reason);
                        return Ok(Turn::Over(self.account(&mut context.driven.solver, refinement)));
                    }
                    Ok(SiblingTurn::Unbegun(termination, reason)) => {
                        self.drop_sibling(context.devices, *sibling);
                        return Ok(self.ended_early(context, termination, reason));
                    }
                    Err(error) => {
                        self.drop_sibling(context.devices, *sibling);
                        return Err(error);
                    }
                },
                Stage::Over => return Err(Error::Internal("a refinement that is over goes on")),
            }
        }
    }

    /// Reads the point that the next sibling solve begins at.
    fn read_point(&mut self, devices: &mut Devices, problem: &mut Problem) -> Result<(), Error> {
        // Uploads are not left to a task that may be dropped.
        devices.main.enqueue(&Recording { commands: problem.take_uploads() })?;
        let read = Command::Read { slice: problem.arenas()?.0 };
        self.stage = Stage::Reading(Box::new(devices.main.start(Recording { commands: vec![read] })));
        Ok(())
    }

    fn drop_sibling(&mut self, devices: &mut Devices, sibling: SiblingSolve) {
        self.compile_ms += sibling.compile_ms();
        sibling.free(devices);
    }

    /// Adds the report of a sibling solve whose steps began at this number.
    fn absorb(&mut self, report: Report, first: u32) {
        let first_non_finite =
            report.first_non_finite.clone().map(|found| NonFiniteResidual { iteration: found.iteration + first, ..found });
        let report = Report { first_non_finite, ..report };
        self.after = Some(match self.after.take() {
            None => report,
            Some(earlier) => with(&earlier, report),
        });
    }

    /// Account of an end before a step was made in mixed precision.
    fn ended_early(&mut self, context: &mut Context, termination: Termination, reason: String) -> Turn<Box<Report>> {
        let was_stopped = termination == Termination::Stopped;
        let refinement = Refinement::new(RefinementState::Ended, Some(termination.name()), reason.clone());
        let mut report = self.account(&mut context.driven.solver, refinement);
        if was_stopped {
            (report.termination, report.converged) = (termination, false);
            report.reason = format!("{reason} (in f32 it had ended: {}; it was about to go on in mixed precision)", self.before.reason);
        }
        Turn::Over(report)
    }

    /// Account of a solve that went on to some end.
    fn conclude(&mut self, solver: &mut Solver) -> Result<Box<Report>, Error> {
        let Some(Report { termination, reason, .. }) = &self.after else { return Err(Error::Internal("a task has nothing to go on with")) };
        let (termination, reason) = (*termination, reason.clone());
        let is_limit = matches!(termination, Termination::Stopped | Termination::TimeLimit | Termination::MaxIterations);
        let refinement = match is_limit {
            true => Refinement::new(RefinementState::Ended, Some(termination.name()), reason),
            false => Refinement::new(RefinementState::Done, None, format!("it went on in mixed precision: {reason}")),
        };
        Ok(self.account(solver, refinement))
    }

    /// Account of both solves as one.
    fn account(&mut self, solver: &mut Solver, refinement: Refinement) -> Box<Report> {
        let iterations: Vec<Iteration> = solver.conclude();
        let (before, steps) = (&self.before, self.before.iterations.len());
        let compile_ms = before.compile_ms + self.compile_ms;
        let solve_ms = before.solve_ms + (now_ms() - self.started_ms - self.compile_ms).max(0.0);
        let Some(after) = self.after.take() else {
            // Of steps whose outcome was lost, nothing is left.
            let iterations = before.iterations.clone();
            let reason = match refinement.state {
                RefinementState::Failed => format!("{}; {}", before.reason, refinement.reason),
                _ => before.reason.clone(),
            };
            return Box::new(Report { iterations, reason, compile_ms, solve_ms, refinement, ..before.clone() });
        };
        let edits = match self.edits {
            0 => String::new(),
            1 => ", anew after it was edited".into(),
            edits => format!(", anew after each of {edits} edits"),
        };
        // In more precision, less progress is made out; what f32 called converged is not worse for that.
        let stands = before.converged && !after.converged && after.termination != Termination::Stopped;
        let (termination, reason) = if refinement.state == RefinementState::Failed {
            // f32 did not converge for what the problem has become.
            let termination = if before.converged { Termination::Precision } else { before.termination };
            (
                termination,
                format!(
                    "after it was edited, {}; cost and steps are those before (in f32 it had ended: {})",
                    refinement.reason, before.reason
                ),
            )
        } else if stands && self.edits == 0 && !self.has_risen {
            let later = format!("it went on in mixed precision, where it ended: {}", after.reason);
            (before.termination, format!("{} (in f32, after {steps} iterations; then {later})", before.reason))
        } else {
            let account = format!("in f32 it ended after {steps} iterations: {}; then it went on in mixed precision", before.reason);
            (after.termination, format!("{} ({account}{edits})", after.reason))
        };
        let converged = termination == Termination::Converged;
        let initial_cost = if self.edits == 0 {
            initial_cost([before.initial_cost, before.cost], self.start_cost, after.cost)
        } else {
            before.initial_cost
        };
        let both = with(before, after);
        Box::new(Report { initial_cost, termination, converged, reason, iterations, compile_ms, solve_ms, refinement, ..both })
    }

    /// Frees what it has on the devices.
    pub fn free(self, devices: &mut Devices) {
        if let Stage::Solving(sibling) = self.stage {
            sibling.free(devices);
        }
    }
}

/// Reason that a solve does not go on in mixed precision; none if it does.
pub fn refusal(devices: &mut Devices, problem: &Problem, solver: &Solver, report: &Report) -> Result<Option<Refinement>, Error> {
    let is_single = devices.main.precision_name() == "f32";
    let stopped = matches!(report.termination, Termination::Precision | Termination::NoProgress | Termination::Singular);
    // Where it may take as many steps as it likes, f32 may also go round in circles.
    let ended = report.converged || report.termination == Termination::MaxIterations;
    let wanted = stopped || ended && solver.is_loosened_by(Precision::F32x2);
    if !is_single || !wanted {
        return Ok(Some(report.refinement.clone()));
    }
    let limit = solver.limit_of(solver.handed_on(report));
    let refused = |code, reason: &str| Ok(Some(Refinement::new(RefinementState::Refused, Some(code), reason)));
    if !devices.refines {
        return refused("off", "precision \"f32\" was asked for: leave it out, and such a solve goes on in mixed precision");
    }
    if let Err(reason) = devices.main.has_doubles() {
        return refused("no-doubles", reason);
    }
    if report.feasibility.is_some() {
        return refused("constrained", "solves with constraints stay in f32");
    }
    if problem.has_unknown_data() {
        return refused("tensors", "solves with data that a tensor has on the device stay in f32");
    }
    if let Some((termination, reason)) = limit {
        return refused(termination.name(), &reason);
    }
    let limits = devices.mixed()?.0.limits();
    match problem.fits_doubled(limits) {
        Err(error) => refused(error.code(), &error.to_string()),
        Ok(()) => Ok(None),
    }
}

/// The cost that both solves began with, where the later one went on from where f32 ended and came to `cost`.
///
/// Where residuals are small differences of large numbers, f32 adds its rounding to every sum of their squares, and may well have begun
/// below what double-floats find at the end. Its differences of costs are without that: from the cost that double-floats find where
/// f32 ended, they lead back to the one at the beginning.
fn initial_cost([began, ended]: [f64; 2], start: Option<f64>, cost: f64) -> f64 {
    if cost <= began {
        return began;
    }
    (start.unwrap_or(cost) + (began - ended).max(0.0)).max(cost)
}

/// Report of two solves, one after the other: the ending of the later one, and the counts of both.
fn with(before: &Report, after: Report) -> Report {
    Report {
        initial_cost: before.initial_cost,
        moved_into_bounds: before.moved_into_bounds + after.moved_into_bounds,
        non_finite: before.non_finite + after.non_finite,
        first_non_finite: before.first_non_finite.clone().or(after.first_non_finite),
        counters: before.counters.with(&after.counters),
        idle_dispatches: before.idle_dispatches + after.idle_dispatches,
        ..after
    }
}

#[cfg(test)]
mod tests {
    use super::initial_cost;

    #[test]
    fn two_solves_never_end_above_the_cost_that_they_began_with() {
        // What double-floats find is below f32's first sum: that stands.
        assert_eq!(initial_cost([2.0, 1.0], Some(1.1), 0.9), 2.0);
        // It is above, since f32's sums are too small: f32's decrease is counted from the cost where it ended.
        assert_eq!(initial_cost([0.5, 0.375], Some(0.75), 0.625), 0.875);
        assert_eq!(initial_cost([0.5, 0.5], Some(0.75), 0.75), 0.75);
        assert_eq!(initial_cost([0.5, 0.5], Some(0.75), 0.750_000_1), 0.750_000_1);
        assert_eq!(initial_cost([0.5, 0.5], None, 0.75), 0.75);
    }
}
