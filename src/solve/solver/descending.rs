//! Steps of methods that solve no linear system: a recording is one trial of a line search, a step as many as it takes.

use super::super::descent::{self, Arrival};
use super::super::{Iteration, state};
use super::{Next, Phase, Solver};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Device, Recording};
use leastwise_error::Error;
use leastwise_problem::Problem;

impl Solver {
    /// One trial of a step that began at a time.
    pub(super) fn try_point(&mut self, problem: &mut Problem, started_ms: f64) -> Result<Next, Error> {
        self.start.is_due = true;
        let mut commands = self.trial_commands(problem)?;
        commands.push(Command::Read { slice: self.work.state });
        self.phase = Phase::Stepping { started_ms };
        Ok(Next::Run(Recording { commands }))
    }

    /// One trial; the first after an edit begins with the point itself.
    pub(super) fn trial_commands(&mut self, problem: &mut Problem) -> Result<Vec<Command>, Error> {
        let mut commands = problem.take_uploads();
        self.refresh_state(problem, &mut commands)?;
        if self.selection != problem.selection {
            self.selection = problem.selection;
            self.recordings = [None, None, None];
        }
        if std::mem::take(&mut self.start.is_due) {
            self.keep_start(problem, &mut commands)?;
        }
        let descent = self.descent.as_ref().ok_or(Error::Disposed("solver"))?;
        let stale = self.stale.take();
        if std::mem::take(&mut self.sets_out) {
            descent.set_out(&self.work, problem, &mut commands)?;
        } else if let Some(linearized) = stale {
            let (_, trial) = problem.arenas()?;
            problem.enabled_batches().for_each(|batch| self.work.linearize(batch, trial, &mut commands));
            let known = Command::UploadReals { buffer: self.work.state.buffer, offset: state::LINEARIZED, data: vec![linearized] };
            commands.push(known);
        }
        let cached = match self.recordings[0].take() {
            Some(cached) => cached,
            None => {
                let mut trial = Vec::new();
                descent.trial(&self.work, problem, &mut trial)?;
                trial
            }
        };
        commands.extend(cached.iter().cloned());
        self.recordings[0] = Some(cached);
        Ok(commands)
    }

    /// What a trial brought back: a step, or that another trial is due.
    pub(super) fn read_trial(&mut self, problem: &mut Problem, device: &Device, readback: &[f64], started_ms: f64) -> Result<Next, Error> {
        let at = |element: u32| readback.get(element as usize).copied().unwrap_or(f64::NAN);
        let [accepted, failed] = [state::ACCEPTED, state::FAILED].map(|element| at(element) != 0.0);
        let (cost, change) = (at(state::COST), at(state::CHANGE));
        let before = if accepted { cost - change } else { cost };
        if !before.is_finite() {
            return Ok(Next::Blame);
        }
        self.waste.begin(device.counters());
        self.initial_cost.get_or_insert(before);
        self.moved[0] = at(state::MOVED) as u32;
        let is_defined = change.is_finite();
        let shows_offender = !is_defined && self.offenders.count(self.iterations.len() as u32);
        if !accepted && !failed && !shows_offender {
            let started = self.started_ms.unwrap_or(started_ms);
            return match self.limit(started, self.tried) {
                Some(ending) => self.end(problem, ending),
                None => self.try_point(problem, started_ms),
            };
        }
        let iteration = Iteration {
            index: self.iterations.len() as u32,
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
        self.tried += 1;
        self.iterations.push(iteration);
        if shows_offender && !failed {
            return self.search(problem, iteration);
        }
        let arrival = Arrival {
            gradient_norm: at(state::NEXT_GRADIENT_MAX),
            point_norm: at(state::POINT_NORM),
            initial_cost: self.initial_cost.unwrap_or(before),
            epsilon: self.precision.epsilon(),
            failed,
            slope: at(state::SLOPE),
        };
        if let Some(rule) = self.settings.method.descent() {
            let tolerances = self.tolerances();
            self.ending = descent::judge(rule, &tolerances, &iteration, &arrival, &mut self.tests);
        }
        Ok(Next::Iteration(iteration))
    }
}
