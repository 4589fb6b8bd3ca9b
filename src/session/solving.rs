//! Jobs of solvers: plain and constrained solves, their continuation in mixed precision, and what comes before them.

use super::Session;
use super::job::{Job, Progress, Step};
use leastwise_device::Play;
use leastwise_error::Error;
use leastwise_outer::{AugmentedLagrangian, MixedPrecision, SetUp, Solve, SolveMode};

/// A solve, a step, or a report.
pub(super) struct SolveJob {
    pub problem: u32,
    pub solver: u32,
    pub solve: Solve,
}

impl Job for SolveJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let &mut Self { problem, solver, .. } = self;
        let mut context = session.context(problem, solver)?;
        let mut report = match self.solve.resume(&mut context, deadline)?.outcome() {
            Ok(Some(report)) => report,
            Ok(None) => return Ok(Progress::Stepped.into()),
            Err(turn) => return Ok(Progress::of(turn, |()| Progress::Stepped).into()),
        };
        if self.solve.mode == SolveMode::Solve
            && let Some(refinement) = MixedPrecision::begin(&mut context, &mut report)?
        {
            return Ok(Step::Becomes(Box::new(RefiningJob { problem, solver, refinement })));
        }
        Ok(Progress::Report(report).into())
    }

    fn free(mut self: Box<Self>, session: &mut Session, _: u32) {
        self.solve.free(&mut session.devices.main);
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn solver(&self) -> Option<u32> {
        (!self.solve.is_searching()).then_some(self.solver)
    }

    fn playing(&mut self) -> Option<&mut Play> {
        self.solve.playing()
    }

    fn is_between_steps(&self) -> bool {
        self.solve.is_between_steps()
    }

    fn awaits_kernels(&self) -> bool {
        self.solve.awaits_kernels()
    }

    fn may_save(&self) -> Result<bool, &'static str> {
        Ok(self.solve.mode == SolveMode::Solve && self.solve.is_between_steps())
    }
}

/// A solve with constraints.
pub(super) struct ConstrainedJob {
    pub problem: u32,
    pub solver: u32,
    pub outer: AugmentedLagrangian,
}

impl Job for ConstrainedJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let mut context = session.context(self.problem, self.solver)?;
        Ok(Progress::of(self.outer.resume(&mut context, deadline)?, Progress::Report).into())
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        if let Ok(context) = session.context(self.problem, self.solver) {
            // A problem that has none of its terms any more has nothing to be left in order.
            let _ = self.outer.abandon(context.problem);
        }
        self.outer.free(&mut session.devices.main);
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn solver(&self) -> Option<u32> {
        Some(self.solver)
    }

    fn playing(&mut self) -> Option<&mut Play> {
        self.outer.playing()
    }

    fn is_between_steps(&self) -> bool {
        self.outer.is_between_steps()
    }

    fn may_save(&self) -> Result<bool, &'static str> {
        Ok(self.is_between_steps())
    }

    fn outer(&self) -> Option<Vec<u8>> {
        Some(self.outer.save())
    }
}

/// A solve that goes on in mixed precision.
pub(super) struct RefiningJob {
    pub problem: u32,
    pub solver: u32,
    pub refinement: Box<MixedPrecision>,
}

impl Job for RefiningJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let mut context = session.context(self.problem, self.solver)?;
        Ok(Progress::of(self.refinement.resume(&mut context, deadline)?, Progress::Report).into())
    }

    fn stop(&mut self, session: &mut Session, reason: &str) {
        self.refinement.stop(reason);
        if let Some(entry) = session.solvers.get_mut(self.solver) {
            entry.driven.solver.stop(reason);
        }
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        self.refinement.free(&mut session.devices);
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn solver(&self) -> Option<u32> {
        Some(self.solver)
    }

    fn is_between_steps(&self) -> bool {
        self.refinement.idle_sibling().is_some()
    }

    fn may_save(&self) -> Result<bool, &'static str> {
        Ok(self.is_between_steps())
    }

    fn refinement(&self) -> Option<&MixedPrecision> {
        Some(&self.refinement)
    }
}

/// Purpose of a solver's task.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Solve(SolveMode),
    Report,
}

/// The set-up of a solver for a job that comes after it.
pub(super) struct SetUpJob {
    problem: u32,
    solver: u32,
    purpose: Purpose,
    set_up: SetUp,
}

impl SetUpJob {
    pub fn new(problem: u32, solver: u32, purpose: Purpose) -> Self {
        Self { problem, solver, purpose, set_up: SetUp::new(purpose != Purpose::Report) }
    }
}

impl Job for SetUpJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        let context = session.context(self.problem, self.solver)?;
        match self.set_up.resume(context.devices, context.problem, &mut context.driven.solver, deadline)?.outcome() {
            Ok(()) => session.prepared(self.problem, self.solver, self.purpose).map(Step::Becomes),
            Err(turn) => Ok(Progress::of(turn, |()| Progress::Stepped).into()),
        }
    }

    fn free(self: Box<Self>, _: &mut Session, _: u32) {}

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn solver(&self) -> Option<u32> {
        Some(self.solver)
    }

    fn awaits_kernels(&self) -> bool {
        false
    }
}

/// The job that begins when a problem is laid out.
pub(super) type Begin = Box<dyn FnOnce(&mut Session) -> Result<Box<dyn Job>, Error> + Send>;

/// A problem that is being laid out, and the job that comes after that.
pub(super) struct LayOutJob {
    pub problem: u32,
    /// False until the first call, which does nothing: so the problem is busy until its caller hears of the end.
    pub begun: bool,
    pub next: Option<Begin>,
}

impl Job for LayOutJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        if !std::mem::replace(&mut self.begun, true) {
            return Ok(Progress::Yielded.into());
        }
        let (devices, problem) = session.site(self.problem)?;
        if !problem.lay_out_until(&mut devices.main, &mut devices.registry, deadline)? {
            return Ok(Progress::Yielded.into());
        }
        match self.next.take() {
            Some(begin) => begin(session).map(Step::Becomes),
            None => Ok(Progress::Values(Vec::new()).into()),
        }
    }

    fn free(self: Box<Self>, _: &mut Session, _: u32) {}

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn awaits_kernels(&self) -> bool {
        false
    }
}
