//! When a solve is over: what asks for its end from outside, and by what its steps are judged.

use super::super::lagrangian::OuterSettings;
use super::super::linear::Linear;
use super::super::options::Tolerances;
use super::super::termination::{SLIGHT_DAMPING, Tests};
use super::super::{Iteration, Method, Termination, state};
use super::{Phase, Solver};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Device, Precision, Recording};
use leastwise_error::Error;

impl Solver {
    /// Ends the solve after the step that is being played.
    pub fn stop(&mut self, reason: &str) {
        self.stop = Some(reason.to_string());
    }

    /// Whether the step that is being played is to be the last one.
    pub fn is_urged(&self) -> bool {
        matches!(self.phase, Phase::Stepping { .. }) && self.is_late()
    }

    /// Ends the inner iterations of the step that is being played: what they have come to is a step downhill as well.
    /// (Dogleg's flag guards another product, too; its steps are played to the end.)
    pub fn hurry(&mut self, device: &mut Device) -> Result<(), Error> {
        if self.choice.linear == Linear::Pcg && !matches!(self.settings.method, Method::Dogleg(_)) {
            let solved = Command::UploadReals { buffer: self.work.state.buffer, offset: state::SOLVED, data: vec![1.0] };
            device.interject(Recording { commands: vec![solved] })?;
            self.hurried = true;
        }
        Ok(())
    }

    /// Forgets how the last solve ended, were it in the midst of a step, so that the solver can go on.
    pub fn reopen(&mut self) {
        self.phase = Phase::Ready;
        if std::mem::take(&mut self.resuming) {
            return;
        }
        (self.stop, self.ending, self.tests, self.tried) = (None, None, Tests::default(), 0);
        (self.started_ms, self.again, self.hurried) = (None, false, false);
        self.slack = 0.0;
    }

    /// Whether it is to find few unknowns to all digits that arithmetic has, and its tolerances are looser than they would be in
    /// another precision.
    pub fn is_loosened_by(&self, finer: Precision) -> bool {
        if self.choice.linear != Linear::Dense {
            return false;
        }
        let [own, finer] = [self.precision, finer].map(|precision| self.settings.tolerances(self.choice.linear, precision));
        own != finer
    }

    pub fn outer_settings(&self) -> OuterSettings {
        self.settings.outer
    }

    /// Has this solve, which is one of several, end at so large a cost tolerance at least.
    pub fn loosen(&mut self, slack: f64) {
        self.slack = slack;
    }

    /// Whether what was asked for is more exact than that.
    pub fn is_loosened(&self) -> bool {
        self.settings.tolerances(self.choice.linear, self.precision).cost < self.slack
    }

    /// Begins the next of several solves; the time of all counts, and that one of them was to stop.
    pub fn continue_with(&mut self, slack: f64) {
        self.phase = Phase::Ready;
        (self.ending, self.tests, self.tried) = (None, Tests::default(), 0);
        (self.again, self.hurried, self.slack) = (false, false, slack);
    }

    pub(super) fn tolerances(&self) -> Tolerances {
        let tolerances = self.settings.tolerances(self.choice.linear, self.precision);
        Tolerances { cost: tolerances.cost.max(self.slack), ..tolerances }
    }

    /// Those that a step is judged by: of one that damping or a trust region made short, little says nothing, however loose the
    /// solve is to be.
    pub(super) fn tolerances_of(&self, step: &Iteration) -> Tolerances {
        let tolerances = self.tolerances();
        let asked = self.settings.tolerances(self.choice.linear, self.precision);
        let is_whole = step.damping <= SLIGHT_DAMPING && step.radius.is_none();
        if is_whole { tolerances } else { asked }
    }

    /// Limits that end a solve between steps.
    pub(super) fn limit(&self, started: f64, tried: u32) -> Option<(Termination, String)> {
        if let Some(reason) = &self.stop {
            return Some((Termination::Stopped, reason.clone()));
        }
        let most = self.tolerances().max_iterations;
        if tried >= most {
            return Some((Termination::MaxIterations, format!("maxIterations = {most} steps were tried")));
        }
        let elapsed = now_ms() - started;
        (elapsed >= self.settings.time_limit_ms)
            .then(|| (Termination::TimeLimit, format!("timeLimitMs = {} ms are over", self.settings.time_limit_ms)))
    }
}
