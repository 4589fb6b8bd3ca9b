//! A step as a state machine: each call of [`Solver::advance`] takes what the last recording read back and gives the next one.

use super::super::linear::Inner;
use super::super::linear::direct::DampingState;
use super::super::termination::Scale;
use super::super::{Iteration, Method, Report, Termination, ranks, state};
use super::Solver;
use super::cache::{Kind, append};
use super::systems::{Arrived, Solving};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Device, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;

/// Next thing that a solver wants.
pub enum Next {
    /// Play this and come back with what it read.
    Run(Recording),
    /// The time slice is over, and the host not done: ask again.
    Yielded,
    /// One iteration is complete; ask again for the next recording.
    Iteration(Iteration),
    /// The residual is not finite at the accepted values: find out where.
    NonFinite,
    /// The solve is over.
    Done(Box<Report>),
}

/// Place within a step.
pub(super) enum Phase {
    /// Before a step, or after one was reported.
    Ready,
    /// The system of a step is being assembled, for a linear solver on the host.
    Assembling { started_ms: f64 },
    /// It is being solved on the host.
    Solving(Solving),
    /// A step is being played.
    Stepping { started_ms: f64 },
    /// The instance that was not finite at the trial point is being looked for.
    Searching(Iteration),
    /// The costs of the terms are being summed for the report.
    Reporting(Termination, String),
}

impl Solver {
    /// Goes on with what the last recording read back, on the host until the deadline.
    pub fn advance(&mut self, problem: &mut Problem, device: &Device, readback: &mut Vec<f64>, deadline_ms: f64) -> Result<Next, Error> {
        let started = *self.stopping.started_ms.get_or_insert_with(now_ms);
        match std::mem::replace(&mut self.phase, Phase::Ready) {
            Phase::Assembling { started_ms } => {
                let host = self.resources.host.as_mut().ok_or(Error::Internal("a solver was not set up"))?;
                let (cost, damping) = host.arrived(readback);
                if !cost.is_finite() {
                    return Ok(Next::NonFinite);
                }
                self.iterate.damping = damping;
                let mut arrived =
                    Arrived { readback: std::mem::take(readback), is_masked: self.resources.work.free().is_some(), scale: None };
                let mut commands = Vec::new();
                if let Some(kept) = self.iterate.checkpointed_system.take().filter(|_| self.iterate.step_reused) {
                    commands.extend(kept.uploads);
                    self.iterate.damping = kept.damping;
                    arrived.scale = kept.scale;
                }
                let solving = self.solve_system(Some(arrived), commands, started_ms)?;
                self.go_on(problem, solving, deadline_ms)
            }
            Phase::Solving(solving) => self.go_on(problem, solving, deadline_ms),
            Phase::Stepping { started_ms } if self.resources.descent.is_some() => self.read_trial(problem, device, readback, started_ms),
            Phase::Stepping { started_ms } => {
                let Some((iteration, scale)) = self.read_step(readback, now_ms() - started_ms) else { return Ok(Next::NonFinite) };
                self.stopping.tried += 1;
                self.history.repeats.note(device.counters(), readback);
                if let Some(iteration) = self.rollback.judge(&iteration, self.settings.method.max_rejections()) {
                    self.history.iterations.push(iteration);
                    return Ok(Next::Iteration(iteration));
                }
                // A step whose inner iterations were cut short says nothing when it is small.
                if !std::mem::take(&mut self.stopping.truncated) {
                    let tolerances = self.tolerances_of(&iteration);
                    self.stopping.verdict = self.stopping.tests.judge(self.settings.method, &tolerances, &iteration, &scale);
                }
                self.history.iterations.push(iteration);
                let straight = || self.stopping.tests.is_straight(&self.history.iterations, scale.initial_cost, scale.epsilon);
                self.stopping.verdict = self.stopping.verdict.take().or_else(straight);
                if !iteration.cost_change.is_finite() && self.history.non_finite.count(iteration.index) {
                    return self.search(problem, iteration);
                }
                Ok(Next::Iteration(iteration))
            }
            Phase::Searching(iteration) => {
                self.history.non_finite.look(problem, readback)?;
                self.search(problem, iteration)
            }
            Phase::Reporting(termination, reason) => {
                let costs = ranks::total_costs(problem, self.costs.read(readback))?;
                let report = self.report(device, problem, (termination, reason), costs, started);
                // Accepted values always have a finite cost, so it is those that the solve began with.
                if report.cost.is_finite() { self.settle(problem, report) } else { Ok(Next::NonFinite) }
            }
            Phase::Ready => {
                if self.stopping.verdict.is_none() {
                    self.stopping.verdict = self.limit(started, self.stopping.tried);
                }
                if let Some(ending) = self.stopping.verdict.clone() {
                    return self.end(problem, ending);
                }
                self.history.repeats.begin(device.counters());
                self.begin(problem, deadline_ms)
            }
        }
    }

    /// The recording of the report of a solve that ends so.
    pub(super) fn end(&mut self, problem: &mut Problem, (termination, reason): (Termination, String)) -> Result<Next, Error> {
        self.start.may_return = true;
        self.phase = Phase::Reporting(termination, reason);
        Ok(Next::Run(self.report_recording(problem)?))
    }

    /// A step, or its first half: the assembly of a system that the host is to solve.
    fn begin(&mut self, problem: &mut Problem, deadline_ms: f64) -> Result<Next, Error> {
        let started_ms = now_ms();
        if self.resources.descent.is_some() {
            return self.try_point(problem, started_ms);
        }
        let mut commands = problem.take_uploads();
        self.refresh_state(problem, &mut commands)?;
        self.go_back(problem, &mut commands)?;
        self.keep_start(problem, &mut commands)?;
        commands.extend(self.resources.on_device.iter_mut().flat_map(|solver| solver.take_uploads()));
        let (again, restored) = (self.iterate.step_reused, self.iterate.checkpointed_system.is_some());
        let assembles = !again || restored && !self.settings.method.keeps_solution();
        match &mut self.resources.host {
            Some(host) if !assembles && !self.settings.method.keeps_solution() => {
                if host.is_formed() {
                    return self.form_system(problem, commands, started_ms);
                }
                let solving = self.solve_system(None, commands, started_ms)?;
                self.go_on(problem, solving, deadline_ms)
            }
            Some(host) if assembles => {
                commands.extend(host.take_uploads());
                self.cache.follow(problem);
                let cached = match self.cache.get(Kind::Assembly) {
                    Some(cached) => cached,
                    None => {
                        let mut made = Vec::new();
                        self.resources.work.differentiate(problem, &mut made)?;
                        self.resources.work.scale_damping(problem, &mut made);
                        host.assemble(&self.resources.work, problem, &mut made)?;
                        self.cache.keep(Kind::Assembly, made)
                    }
                };
                let is_formed = host.is_formed();
                append(&mut commands, cached, self.is_cpu());
                if is_formed {
                    // What a checkpoint has of a rejected step is there before its system is formed.
                    if let Some(kept) = self.iterate.checkpointed_system.take().filter(|_| again) {
                        commands.extend(kept.uploads);
                    }
                    self.append_forming(problem, &mut commands);
                }
                self.phase = Phase::Assembling { started_ms };
                Ok(Next::Run(Recording { commands }))
            }
            _ => {
                if let Some(kept) = self.iterate.checkpointed_system.take().filter(|_| again) {
                    self.resources.work.differentiate(problem, &mut commands)?;
                    commands.extend(kept.uploads);
                }
                self.record(problem, Kind::Whole, &mut commands)?;
                commands.push(Command::Read { slice: self.resources.work.state });
                self.phase = Phase::Stepping { started_ms };
                Ok(Next::Run(Recording { commands }))
            }
        }
    }

    /// Looks for what is not finite at the trial point, then gives the step.
    pub(super) fn search(&mut self, problem: &Problem, iteration: Iteration) -> Result<Next, Error> {
        Ok(match self.history.non_finite.next(&self.resources.work, problem)? {
            Some(recording) => {
                self.phase = Phase::Searching(iteration);
                Next::Run(recording)
            }
            None => Next::Iteration(iteration),
        })
    }

    /// Appends a step; one of kind `Whole` becomes `Again` where that is enough.
    pub(super) fn record(&mut self, problem: &mut Problem, kind: Kind, commands: &mut Vec<Command>) -> Result<(), Error> {
        self.cache.follow(problem);
        let kind = if self.iterate.step_reused && matches!(kind, Kind::Whole) { Kind::Again } else { kind };
        self.iterate.step_reused = false;
        let cached = match self.cache.get(kind) {
            Some(cached) => cached,
            None => {
                let made = self.step_commands(problem, kind)?;
                self.cache.keep(kind, made)
            }
        };
        append(commands, cached, self.is_cpu());
        Ok(())
    }

    pub(super) fn step_commands(&self, problem: &Problem, kind: Kind) -> Result<Vec<Command>, Error> {
        let (work, method, mut commands) = (&self.resources.work, self.settings.method, Vec::new());
        let again = matches!(kind, Kind::Again);
        if !again {
            work.differentiate(problem, &mut commands)?;
        }
        if !again || !method.keeps_solution() {
            work.scale_damping(problem, &mut commands);
            let inner = if matches!(kind, Kind::Live) { Inner::Live } else { Inner::ToTolerance };
            let solver = self.resources.on_device.as_deref();
            self.resources.choice.linear.append(work, problem, solver, inner, self.settings.max_inner_iterations, &mut commands)?;
            method.keep(work, problem, &mut commands)?;
        }
        method.combine(work, problem, &mut commands)?;
        work.attempt(problem, &mut commands)?;
        if !self.iterate.has_moved && !matches!(kind, Kind::Live) {
            work.measure_reach(problem, &mut commands)?;
        }
        work.decide(method, problem, &mut commands)?;
        Ok(commands)
    }

    /// Reads a step; `None` when the cost before it is not finite.
    fn read_step(&mut self, readback: &[f64], ms: f64) -> Option<(Iteration, Scale)> {
        let at = |element: u32| readback.get(element as usize).copied().unwrap_or(f64::NAN);
        let accepted = at(state::ACCEPTED) != 0.0;
        let cost = at(state::COST);
        let before = if accepted { cost - at(state::CHANGE) } else { cost };
        if !before.is_finite() {
            return None;
        }
        self.history.initial_cost.get_or_insert(before);
        self.history.moved[0] = at(state::MOVED) as u32;
        self.iterate.step_reused = !accepted;
        self.iterate.damping = DampingState::of(readback);
        if accepted && !self.iterate.has_moved {
            self.iterate.has_moved = true;
            self.cache.clear();
        }
        let method = self.settings.method;
        let initial_cost = self.history.initial_cost.unwrap_or(before);
        let is_cut = matches!(method, Method::Dogleg(_)) && at(state::SCALED_NORM) > 0.99 * at(state::RADIUS_BEFORE);
        let (model, point_norm) = (at(state::MODEL), at(state::POINT_NORM));
        let scale = Scale { model, point_norm, initial_cost, epsilon: self.precision.epsilon(), is_cut };
        let iteration = Iteration {
            index: self.history.iterations.len() as u32,
            cost,
            cost_change: at(state::CHANGE),
            gradient_norm: at(state::GRADIENT_MAX),
            step_norm: at(state::STEP_NORM),
            damping: at(state::DAMPING_BEFORE),
            radius: matches!(method, Method::Dogleg(_)).then(|| at(state::RADIUS_BEFORE)),
            length: method.has_length().then(|| at(state::LENGTH_BEFORE)),
            gain_ratio: at(state::GAIN),
            inner_iterations: at(state::INNER) as u32,
            accepted,
            ms,
        };
        Some((iteration, scale))
    }

    /// Appends the rollback of a step, if one is due.
    pub(super) fn go_back(&mut self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        if let Some((step, count)) = self.rollback.take() {
            self.iterate.step_reused = false;
            self.resources.work.retreat(problem, &self.settings.method.retreat(&step, count), commands)?;
        }
        Ok(())
    }
}
