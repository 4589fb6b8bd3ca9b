//! Going on in mixed precision where f32 stopped a solve: the default on WebGPU.
//!
//! Most solves on a GPU end by their tolerances before f32 shows. Where it does (`precision`, `no-progress`, `singular`, or
//! tolerances that are looser only because f32 has no more digits), the problem's mirror is solved on from there on a sibling of
//! the device ([`mirrors`](super::mirrors)), and the values that it finds, rounded, are the problem's. What was given in f64,
//! data and constants, is there in f64; limits and what is pinned are as f32 has them.
//!
//! What is edited on the way is felt by the next step but one at the latest: the mirror ends, its point is taken over, and
//! another is made of the problem as it is then. All steps are the solver's own, as their numbers are.

use super::mirrors::{Mirror, Turn};
use super::task::{Progress, Task};
use super::{Session, SideDevice};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Device, DeviceError, Play, Playing, Precision, Reals, Recording};
use leastwise_error::Error;
use leastwise_problem::Registry;
use leastwise_solve::{Iteration, Offender, Refinement, RefinementState, Report, Spent, Termination};

/// What two sums for the same cost may differ by, as a part of it.
const SUMS: f64 = 1e-10;

/// A solve that f32 stopped, and how far it is refined.
pub(super) struct Refining {
    pub problem: u32,
    pub solver: u32,
    /// What f32 came to, and what the mirrors that ended did, as one.
    before: Report,
    after: Option<Report>,
    /// The number of the first step in mixed precision among the solver's.
    first: u32,
    pub spent: Spent,
    started_ms: f64,
    /// What mirrors took to be made and compiled.
    compile_ms: f64,
    /// Of the problem, as the mirror has it; and how often it was edited on the way.
    pub revision: u64,
    edits: u32,
    /// Whether a mirror ended above the cost that it began with.
    has_risen: bool,
    /// The cost that the first mirror began with, once it is known.
    start_cost: Option<f64>,
    /// Why it is to stop, if somebody said so.
    pub stopped: Option<String>,
    stage: Stage,
}

enum Stage {
    /// The point where f32 stopped, or where the mirror before ended.
    Reading(Box<Play>),
    Solving(Box<Mirror>),
    Over,
}

impl Refining {
    /// The mirror, while it has no step on its way.
    pub fn idle_mirror(&self) -> Option<&Mirror> {
        if let Stage::Solving(mirror) = &self.stage { Some(&**mirror).filter(|mirror| mirror.is_between_steps()) } else { None }
    }

    /// Whether no mirror has ended yet: what f32 came to may still be the whole account.
    pub fn is_first(&self) -> bool {
        self.after.is_none()
    }

    /// How f32 ended, for whoever goes on from a checkpoint that was made after so many steps.
    pub fn ending(&self, steps: u32) -> (Termination, String) {
        let Report { termination, reason, .. } = &self.before;
        let mixed = steps - self.first;
        (*termination, format!("{reason}; {mixed} steps in mixed precision followed, before it was saved"))
    }

    /// Adds what a mirror did, whose steps began at this number.
    fn absorb(&mut self, report: Report, first: u32) {
        let first_non_finite =
            report.first_non_finite.clone().map(|offender| Offender { iteration: offender.iteration + first, ..offender });
        let report = Report { first_non_finite, ..report };
        self.after = Some(match self.after.take() {
            None => report,
            Some(earlier) => with(&earlier, report),
        });
    }
}

impl Session {
    /// Whether a solve may go on in mixed precision where f32 stops it; unless told, it does on WebGPU.
    pub fn set_refines(&mut self, refines: bool) {
        self.refines = refines;
    }

    /// Begins to go on where f32 stopped a solve. Where it did not, or where there is no more precision, the report says so.
    pub(super) fn refinement(&mut self, problem: u32, solver: u32, report: &mut Report) -> Result<Option<Box<Refining>>, Error> {
        if let Some(refusal) = self.refusal(problem, solver, report)? {
            report.refinement = refusal;
            return Ok(None);
        }
        let method = &mut self.solver_entry(solver)?.solver;
        let (spent, first) = (method.handed_on(report), method.steps());
        method.withdraw(report);
        let mut task = Box::new(Refining {
            problem,
            solver,
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
        self.read_point(&mut task)?;
        Ok(Some(task))
    }

    /// Why a solve does not go on in mixed precision; none where it is to.
    pub(super) fn refusal(&mut self, problem: u32, solver: u32, report: &Report) -> Result<Option<Refinement>, Error> {
        let is_single = self.device.precision_name() == "f32";
        let method = &self.solver_entry(solver)?.solver;
        let stopped = matches!(report.termination, Termination::Precision | Termination::NoProgress | Termination::Singular);
        // Where it may take as many steps as it likes, f32 may also go round in circles.
        let ended = report.converged || report.termination == Termination::MaxIterations;
        let wanted = stopped || ended && method.is_loosened_by(Precision::F32x2);
        if !is_single || !wanted {
            return Ok(Some(report.refinement.clone()));
        }
        let limit = method.limit_of(method.handed_on(report));
        let refused = |code, reason: &str| Ok(Some(Refinement::new(RefinementState::Refused, Some(code), reason)));
        if !self.refines {
            return refused("off", "precision \"f32\" was asked for: leave it out, and such a solve goes on in mixed precision");
        }
        if let Err(reason) = self.device.has_doubles() {
            return refused("no-doubles", reason);
        }
        if report.feasibility.is_some() {
            return refused("constrained", "solves with constraints stay in f32");
        }
        if let Some((termination, reason)) = limit {
            return refused(termination.name(), &reason);
        }
        let limits = self.mixed()?.0.limits();
        match self.entry(problem)?.0.problem.fits_doubled(limits) {
            Err(error) => refused(error.code(), &error.to_string()),
            Ok(()) => Ok(None),
        }
    }

    /// The sibling in mixed precision, with the tuning that holds.
    pub(super) fn mixed(&mut self) -> Result<(&mut Device, &mut Registry), Error> {
        if self.mixed.is_none() {
            let Device::Wgpu(device) = &self.device else { return Err(Error::Disposed("device")) };
            let device = Device::Wgpu(Box::new(device.sibling(Reals::Mixed)?));
            self.mixed = Some(SideDevice { device, registry: Registry::default() });
        }
        let SideDevice { device, registry } = self.mixed.as_mut().ok_or(Error::Disposed("device"))?;
        if registry.tuning != self.registry.tuning {
            registry.tuning = self.registry.tuning.clone();
        }
        registry.adopt_manifolds(&self.registry);
        Ok((device, registry))
    }

    /// Reads the point that the next mirror begins at.
    fn read_point(&mut self, task: &mut Refining) -> Result<(), Error> {
        let (owner, device, _) = self.entry(task.problem)?;
        // Uploads are not left to a task that may be dropped.
        device.enqueue(&Recording { commands: owner.problem.take_uploads() })?;
        let read = Command::Read { slice: owner.problem.arenas()?.0 };
        task.stage = Stage::Reading(Box::new(device.start(Recording { commands: vec![read] })));
        Ok(())
    }

    /// Goes on; where that is not to be had, what was found before stands, with the reason.
    pub(super) fn resume_refining(&mut self, task: &mut Refining, deadline: f64) -> Result<Progress, Error> {
        match self.refine(task, deadline) {
            Err(error) if !matches!(error, Error::Device(DeviceError::Lost(_))) => {
                let reason = format!("going on in mixed precision failed: {error}");
                let refinement = Refinement::new(RefinementState::Failed, Some(error.code()), reason);
                self.account(task, refinement).map(Progress::Report)
            }
            progress => progress,
        }
    }

    fn refine(&mut self, task: &mut Refining, deadline: f64) -> Result<Progress, Error> {
        loop {
            match std::mem::replace(&mut task.stage, Stage::Over) {
                Stage::Reading(mut play) => {
                    if let Some(reason) = task.stopped.clone().filter(|_| task.is_first()) {
                        return self.ended_early(task, Termination::Stopped, reason);
                    }
                    let point = match self.device.resume(&mut play, deadline)? {
                        Playing::Finished(point) => point,
                        waiting => {
                            task.stage = Stage::Reading(play);
                            return Ok(of_waiting(waiting));
                        }
                    };
                    // Reading took time as well.
                    let method = &self.solver_entry(task.solver)?.solver;
                    if let Some((termination, reason)) = method.limit_of(task.spent).filter(|_| task.is_first()) {
                        return self.ended_early(task, termination, reason);
                    }
                    task.stage = Stage::Solving(Box::new(self.mirror(task, point)?));
                }
                Stage::Solving(mut mirror) => match self.advance_mirror(task, &mut mirror, deadline) {
                    Ok(Turn::Progress(progress)) => {
                        task.stage = Stage::Solving(mirror);
                        return Ok(progress);
                    }
                    Ok(Turn::Over(report)) => {
                        let is_edited = self.take_over(task, &mut mirror);
                        task.start_cost = task.start_cost.or(mirror.start_cost);
                        task.has_risen |= mirror.start_cost.is_some_and(|start| report.cost - start > SUMS * start.abs());
                        task.absorb(*report, mirror.first);
                        self.drop_mirror(task, *mirror);
                        if !is_edited? {
                            return Ok(Progress::Report(self.conclude(task)?));
                        }
                        task.edits += 1;
                        self.read_point(task)?;
                    }
                    Ok(Turn::Undefined) => {
                        self.drop_mirror(task, *mirror);
                        let reason = "going on in mixed precision failed: the residual is not finite in double-floats at the values that it was to go on from";
                        let refinement = Refinement::new(RefinementState::Failed, Some("non-finite"), reason);
                        return self.account(task, refinement).map(Progress::Report);
                    }
                    Ok(Turn::Unbegun(termination, reason)) => {
                        self.drop_mirror(task, *mirror);
                        return self.ended_early(task, termination, reason);
                    }
                    Err(error) => {
                        self.drop_mirror(task, *mirror);
                        return Err(error);
                    }
                },
                Stage::Over => return Err(Error::Disposed("task")),
            }
        }
    }

    fn drop_mirror(&mut self, task: &mut Refining, mirror: Mirror) {
        task.compile_ms += mirror.compile_ms();
        self.free_mirror(mirror);
    }

    /// What is to be said where it ended before a step was made in mixed precision.
    fn ended_early(&mut self, task: &mut Refining, termination: Termination, reason: String) -> Result<Progress, Error> {
        let was_stopped = termination == Termination::Stopped;
        let refinement = Refinement::new(RefinementState::Ended, Some(termination.name()), reason.clone());
        let mut report = self.account(task, refinement)?;
        if was_stopped {
            (report.termination, report.converged) = (termination, false);
            report.reason = format!("{reason} (in f32 it had ended: {}; it was about to go on in mixed precision)", task.before.reason);
        }
        Ok(Progress::Report(report))
    }

    /// The account of a solve that went on to some end.
    fn conclude(&mut self, task: &mut Refining) -> Result<Box<Report>, Error> {
        let Some(Report { termination, reason, .. }) = &task.after else { return Err(Error::Disposed("task")) };
        let (termination, reason) = (*termination, reason.clone());
        let is_limit = matches!(termination, Termination::Stopped | Termination::TimeLimit | Termination::MaxIterations);
        let refinement = match is_limit {
            true => Refinement::new(RefinementState::Ended, Some(termination.name()), reason),
            false => Refinement::new(RefinementState::Done, None, format!("it went on in mixed precision: {reason}")),
        };
        self.account(task, refinement)
    }

    /// Both solves as one.
    fn account(&mut self, task: &mut Refining, refinement: Refinement) -> Result<Box<Report>, Error> {
        let iterations: Vec<Iteration> = self.solver_entry(task.solver)?.solver.conclude();
        let (before, steps) = (&task.before, task.before.iterations.len());
        let compile_ms = before.compile_ms + task.compile_ms;
        let solve_ms = before.solve_ms + (now_ms() - task.started_ms - task.compile_ms).max(0.0);
        let Some(after) = task.after.take() else {
            // Of steps whose outcome was lost, nothing is left.
            let iterations = before.iterations.clone();
            let reason = match refinement.state {
                RefinementState::Failed => format!("{}; {}", before.reason, refinement.reason),
                _ => before.reason.clone(),
            };
            return Ok(Box::new(Report { iterations, reason, compile_ms, solve_ms, refinement, ..before.clone() }));
        };
        let edits = match task.edits {
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
        } else if stands && task.edits == 0 && !task.has_risen {
            let later = format!("it went on in mixed precision, where it ended: {}", after.reason);
            (before.termination, format!("{} (in f32, after {steps} iterations; then {later})", before.reason))
        } else {
            let account = format!("in f32 it ended after {steps} iterations: {}; then it went on in mixed precision", before.reason);
            (after.termination, format!("{} ({account}{edits})", after.reason))
        };
        let converged = termination == Termination::Converged;
        let initial_cost = if task.edits == 0 {
            initial_cost([before.initial_cost, before.cost], task.start_cost, after.cost)
        } else {
            before.initial_cost
        };
        let both = with(before, after);
        Ok(Box::new(Report { initial_cost, termination, converged, reason, iterations, compile_ms, solve_ms, refinement, ..both }))
    }

    /// Ends a running refinement after the present iteration.
    pub(super) fn stop_refining(&mut self, task: u32, reason: &str) {
        let Some(refining) = self.tasks.get_mut(&task).and_then(Task::refining) else { return };
        refining.stopped = Some(reason.into());
        if let Stage::Solving(mirror) = &mut refining.stage {
            mirror.stop(reason);
        }
    }

    /// Frees what a task that does not go on has on its device.
    pub(super) fn end_refining(&mut self, task: Refining) {
        if let Stage::Solving(mirror) = task.stage {
            self.free_mirror(*mirror);
        }
    }
}

pub(super) fn of_waiting(playing: Playing) -> Progress {
    match playing {
        Playing::Waiting(signal) => Progress::Waiting(signal),
        _ => Progress::Yielded,
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

/// What is said of two solves, one after the other: how the later one ended, and what both did.
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
