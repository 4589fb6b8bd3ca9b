//! Steps of methods that solve no linear system: a recording is one trial of a line search, a step as many as it takes.

use super::super::descent::{self, Arrival};
use super::super::{Iteration, state};
use super::Solver;
use super::cache::{Kind, append};
use super::stepping::{Next, Phase};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Device, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;

impl Solver {
    /// One trial of a step that began at a time.
    pub(super) fn try_point(&mut self, problem: &mut Problem, started_ms: f64) -> Result<Next, Error> {
        self.start.is_due = true;
        let mut commands = self.trial_commands(problem)?;
        commands.push(Command::Read { slice: self.resources.work.state });
        self.phase = Phase::Stepping { started_ms };
        Ok(Next::Run(Recording { commands }))
    }

    /// One trial; the first after an edit begins with the point itself.
    pub(super) fn trial_commands(&mut self, problem: &mut Problem) -> Result<Vec<Command>, Error> {
        let mut commands = problem.take_uploads();
        self.refresh_state(problem, &mut commands)?;
        self.cache.follow(problem);
        if std::mem::take(&mut self.start.is_due) {
            self.keep_start(problem, &mut commands)?;
        }
        let descent = self.resources.descent.as_ref().ok_or(Error::Internal("a solver was not set up"))?;
        let stale = self.iterate.restored_linearization.take();
        if std::mem::take(&mut self.iterate.first_evaluation) {
            descent.set_out(&self.resources.work, problem, &mut commands)?;
        } else if let Some(linearized) = stale {
            let (_, trial) = problem.arenas()?;
            problem.enabled_batches().for_each(|batch| self.resources.work.linearize(batch, trial, &mut commands));
            let known =
                Command::UploadReals { buffer: self.resources.work.state.buffer, offset: state::LINEARIZED, data: vec![linearized] };
            commands.push(known);
        }
        let cached = match self.cache.get(Kind::Whole) {
            Some(cached) => cached,
            None => {
                let mut trial = Vec::new();
                descent.trial(&self.resources.work, problem, &mut trial)?;
                self.cache.keep(Kind::Whole, trial)
            }
        };
        append(&mut commands, cached, self.is_cpu());
        Ok(commands)
    }

    /// Reads a trial: it is a step, or another trial is due.
    pub(super) fn read_trial(&mut self, problem: &mut Problem, device: &Device, readback: &[f64], started_ms: f64) -> Result<Next, Error> {
        let at = |element: u32| readback.get(element as usize).copied().unwrap_or(f64::NAN);
        let [accepted, failed] = [state::ACCEPTED, state::FAILED].map(|element| at(element) != 0.0);
        let (cost, change) = (at(state::COST), at(state::CHANGE));
        let before = if accepted { cost - change } else { cost };
        if !before.is_finite() {
            return Ok(Next::NonFinite);
        }
        self.history.repeats.begin(device.counters());
        self.history.initial_cost.get_or_insert(before);
        self.history.moved[0] = at(state::MOVED) as u32;
        let is_defined = change.is_finite();
        let shows_offender = !is_defined && self.history.non_finite.count(self.history.iterations.len() as u32);
        if !accepted && !failed && !shows_offender {
            let started = self.stopping.started_ms.unwrap_or(started_ms);
            return match self.limit(started, self.stopping.tried) {
                Some(ending) => self.end(problem, ending),
                None => self.try_point(problem, started_ms),
            };
        }
        let iteration = Iteration {
            index: self.history.iterations.len() as u32,
            cost,
            cost_change: change,
            gradient_norm: at(state::GRADIENT_MAX),
            step_norm: at(state::STEP_NORM),
            damping: 0.0,
            radius: None,
            length: Some(if accepted { at(state::LENGTH_BEFORE) } else { 0.0 }),
            gain_ratio: at(state::GAIN),
            inner_iterations: at(state::INNER) as u32,
            accepted,
            ms: now_ms() - started_ms,
        };
        self.stopping.tried += 1;
        self.history.iterations.push(iteration);
        if shows_offender && !failed {
            return self.search(problem, iteration);
        }
        let arrival = Arrival {
            gradient_norm: at(state::NEXT_GRADIENT_MAX),
            point_norm: at(state::POINT_NORM),
            initial_cost: self.history.initial_cost.unwrap_or(before),
            epsilon: self.precision.epsilon(),
            failed,
            slope: at(state::SLOPE),
        };
        if let Some(rule) = self.settings.method.descent() {
            let tolerances = self.tolerances();
            self.stopping.verdict = descent::judge(rule, &tolerances, &iteration, &arrival, &mut self.stopping.tests);
        }
        Ok(Next::Iteration(iteration))
    }
}
