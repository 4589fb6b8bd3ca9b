//! Steps whose linear systems are solved on the host, between two recordings.

use super::super::linear::direct::{DampingState, Direct, Step, Unfinished};
use super::super::{Termination, state};
use super::Solver;
use super::cache::{Kind, append};
use super::stepping::{Next, Phase};
use leastwise_base::task::Task;
use leastwise_device::{BufferId, Command, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;

/// The linear solver, given back, the damping as it is now, and the step that was found, if there is one.
type Solved = (Box<Direct>, DampingState, Result<Option<Step>, Unfinished>);

/// A system that is being solved, and what the second recording begins with.
pub(super) struct Solving {
    task: Task<'static, Solved>,
    commands: Vec<Command>,
    started_ms: f64,
}

/// Readback of an assembly, and the D of a checkpoint.
pub(super) struct Arrived {
    pub readback: Vec<f64>,
    /// True if some unknowns may not move.
    pub is_masked: bool,
    pub scale: Option<Vec<f64>>,
}

impl Solver {
    /// Has the host begin to solve a step's system, whose values have arrived, or are those of the step before.
    pub(super) fn solve_system(&mut self, arrived: Option<Arrived>, commands: Vec<Command>, started_ms: f64) -> Result<Solving, Error> {
        let mut host = self.resources.host.take().ok_or(Error::Internal("a solver was not set up"))?;
        let (mut damping, may_damp) = (self.iterate.damping, self.settings.method.may_damp());
        let task = Task::new(move |pace| async move {
            let mut taken = Ok(());
            if let Some(Arrived { readback, is_masked, scale }) = arrived {
                taken = host.take(&readback, is_masked, &pace).await;
                scale.into_iter().for_each(|scale| host.recall(scale));
            }
            let step = match taken {
                Ok(()) => host.solve(&mut damping, may_damp, &pace).await,
                Err(stopped) => Err(stopped.into()),
            };
            (host, damping, step)
        });
        Ok(Solving { task, commands, started_ms })
    }

    /// Has the device form a step's system for the damping as it is now, and bring it back.
    pub(super) fn form_system(&mut self, problem: &mut Problem, mut commands: Vec<Command>, started_ms: f64) -> Result<Next, Error> {
        let data = vec![self.iterate.damping.damping];
        commands.push(Command::UploadReals { buffer: self.resources.work.state.buffer, offset: state::DAMPING, data });
        self.append_forming(problem, &mut commands);
        self.phase = Phase::Assembling { started_ms };
        Ok(Next::Run(Recording { commands }))
    }

    /// Appends what forms a system of an assembled matrix, where the device does that.
    pub(super) fn append_forming(&mut self, problem: &Problem, commands: &mut Vec<Command>) {
        let Some(host) = self.resources.host.as_ref().filter(|host| host.is_formed()) else { return };
        self.cache.follow(problem);
        let cached = match self.cache.get(Kind::Forming) {
            Some(cached) => cached,
            None => {
                let mut made = Vec::new();
                self.resources.work.scale_damping(problem, &mut made);
                host.form(&self.resources.work, problem, &mut made);
                self.cache.keep(Kind::Forming, made)
            }
        };
        append(commands, cached, self.is_cpu());
    }

    /// Goes on with a system until the deadline, or until the solve is to end: then the step is given up.
    pub(super) fn go_on(&mut self, problem: &mut Problem, mut solving: Solving, deadline_ms: f64) -> Result<Next, Error> {
        let (host, damping, step) = if self.is_late() {
            solving.task.stop()
        } else {
            match solving.task.resume(deadline_ms) {
                Some(solved) => solved,
                None => {
                    self.phase = Phase::Solving(solving);
                    return Ok(Next::Yielded);
                }
            }
        };
        self.resources.host = Some(host);
        let Solving { commands, started_ms, .. } = solving;
        match step {
            Ok(step) => {
                self.iterate.damping = damping;
                self.finish(problem, step, commands, started_ms)
            }
            Err(Unfinished::Damped) => {
                self.iterate.damping = damping;
                self.form_system(problem, commands, started_ms)
            }
            Err(Unfinished::Refused(error)) => Err(error),
            Err(Unfinished::Stopped) => {
                let ending = self
                    .limit(self.stopping.started_ms.unwrap_or(started_ms), self.stopping.tried)
                    .ok_or(Error::Internal("a task has nothing to go on with"))?;
                self.end_after(problem, ending, commands)
            }
        }
    }

    /// True while a system is being solved.
    pub fn is_solving(&self) -> bool {
        matches!(self.phase, Phase::Solving(_))
    }

    /// Gives up a system that is being solved, where nobody asks for it any more. What it would have begun with is still to be played.
    pub fn give_up(&mut self) -> Recording {
        match std::mem::replace(&mut self.phase, Phase::Ready) {
            Phase::Solving(Solving { task, commands, .. }) => {
                self.resources.host = Some(task.stop().0);
                Recording { commands }
            }
            phase => {
                self.phase = phase;
                Recording::default()
            }
        }
    }

    /// The second half of a step, once its system is solved.
    fn finish(&mut self, problem: &mut Problem, step: Option<Step>, mut commands: Vec<Command>, started_ms: f64) -> Result<Next, Error> {
        let (work, method) = (&self.resources.work, self.settings.method);
        let Some(step) = step else {
            let reason = if method.may_damp() {
                "the linear system has no solution: its matrix is not positive definite, whatever the damping"
            } else {
                "JᵀWJ is not positive definite, so there is no Gauss–Newton step: use method \"lm\""
            };
            return self.end_after(problem, (Termination::Singular, reason.into()), commands);
        };
        let upload = |buffer: BufferId, offset: u32, data: Vec<f64>| Command::UploadReals { buffer, offset, data };
        commands.extend(step.pieces.into_iter().map(|(first, values)| upload(work.step.buffer, first, values)));
        commands.push(match step.residual {
            Some(residual) => upload(work.residual.buffer, 0, residual),
            None => Command::Clear { slice: work.residual },
        });
        let known = [
            (state::DAMPING, self.iterate.damping.damping),
            (state::GRADIENT_MAX, step.gradient_max),
            (state::INNER, step.iterations.into()),
        ];
        commands.extend(known.map(|(element, value)| upload(work.state.buffer, element, vec![value])));
        let again = self.iterate.step_reused && !method.keeps_solution();
        let kind = if again { Kind::SolvedAgain } else { Kind::Solved };
        let cached = match self.cache.get(kind) {
            Some(cached) => cached,
            None => {
                let mut made = Vec::new();
                if let Some(host) = &self.resources.host {
                    host.complete(work, problem, &mut made);
                }
                if again {
                    work.scale_damping(problem, &mut made);
                }
                method.keep(work, problem, &mut made)?;
                method.combine(work, problem, &mut made)?;
                work.attempt(problem, &mut made)?;
                if !self.iterate.has_moved {
                    work.measure_reach(problem, &mut made)?;
                }
                work.decide(method, problem, &mut made)?;
                made.push(Command::Read { slice: work.state });
                self.cache.keep(kind, made)
            }
        };
        append(&mut commands, cached, self.is_cpu());
        self.iterate.step_reused = false;
        self.phase = Phase::Stepping { started_ms };
        Ok(Next::Run(Recording { commands }))
    }

    /// The recording of the report, after commands that are still to be played.
    fn end_after(&mut self, problem: &mut Problem, ending: (Termination, String), mut commands: Vec<Command>) -> Result<Next, Error> {
        commands.extend(self.report_recording(problem)?.commands);
        self.phase = Phase::Reporting(ending.0, ending.1);
        self.start.may_return = true;
        Ok(Next::Run(Recording { commands }))
    }
}
