//! The end of a solve: requests from outside, and the tolerances that its steps are judged by.

use super::super::lagrangian::OuterSettings;
use super::super::linear::Linear;
use super::super::options::Tolerances;
use super::super::termination::SLIGHT_DAMPING;
use super::super::{Iteration, Method, Termination, state};
use super::Solver;
use super::stepping::Phase;
#[cfg(not(target_arch = "wasm32"))]
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Device, Precision, Recording};
use leastwise_error::Error;

impl Solver {
    /// Ends the solve after the step that is being played.
    pub fn stop(&mut self, reason: &str) {
        self.stopping.request = Some(reason.to_string());
    }

    /// Milliseconds since the solve began, to which a checkpoint adds those before it.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn elapsed_ms(&self) -> f64 {
        self.stopping.started_ms.map_or(0.0, |started| now_ms() - started)
    }

    /// Ends the solve between two steps, since all ranks have found that its time is over; unless something else ends it.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn end_at_time_limit(&mut self, time_limit_ms: f64) {
        if self.stopping.verdict.is_none() {
            let (tried, most) = (self.stopping.tried, self.tolerances().max_iterations);
            self.stopping.verdict = self.stopping.limit(f64::NEG_INFINITY, tried, most, time_limit_ms);
        }
    }

    /// True if the step that is being played is to be the last one.
    pub fn is_urged(&self) -> bool {
        matches!(self.phase, Phase::Stepping { .. }) && self.is_late()
    }

    /// Ends the inner iterations of the step that is being played: what they have come to is a step downhill as well.
    pub fn hurry(&mut self, device: &mut Device) -> Result<(), Error> {
        if let Some(flag) = self.flag_of_haste() {
            let set = Command::UploadReals { buffer: self.resources.work.state.buffer, offset: flag, data: vec![1.0] };
            device.interject(Recording { commands: vec![set] })?;
            self.stopping.truncated = true;
        }
        Ok(())
    }

    /// Element of the state that ends inner iterations from outside, if there is one.
    ///
    /// A Schur complement's products go on behind the iterations, where the eliminated variables follow from the others: `SOLVED` would
    /// leave them out, so the test for the end looks at another flag. Dogleg's `SOLVED` guards another product, too: its steps by `"pcg"`
    /// are played to the end.
    fn flag_of_haste(&self) -> Option<u32> {
        match (self.resources.choice.linear, self.settings.method) {
            (Linear::SchurPcg, _) => Some(state::HURRIED),
            (Linear::Pcg, method) => (!matches!(method, Method::Dogleg(_))).then_some(state::SOLVED),
            _ => None,
        }
    }

    /// Forgets how the last solve ended, were it in the midst of a step, so that the solver can go on.
    pub fn reopen(&mut self) {
        self.phase = Phase::Ready;
        if self.stopping.reopen() {
            self.iterate.step_reused = false;
        }
    }

    /// True if it is to find few unknowns to all digits that arithmetic has, and its tolerances are looser than they would be in
    /// another precision.
    pub fn is_loosened_by(&self, finer: Precision) -> bool {
        if self.resources.choice.linear != Linear::Dense {
            return false;
        }
        let [own, finer] = [self.precision, finer].map(|precision| self.settings.tolerances(self.resources.choice.linear, precision));
        own != finer
    }

    /// Settings of the outer iterations of constrained problems.
    pub fn outer_settings(&self) -> OuterSettings {
        self.settings.outer
    }

    /// Has this solve, which is one of several, end at so large a cost tolerance at least.
    pub fn loosen(&mut self, slack: f64) {
        self.stopping.tolerance_floor = slack;
    }

    /// True if the requested tolerance is tighter than that.
    pub fn is_loosened(&self) -> bool {
        self.settings.tolerances(self.resources.choice.linear, self.precision).cost < self.stopping.tolerance_floor
    }

    /// Begins the next of several solves; the time of all counts, and that one of them was to stop.
    pub fn continue_with(&mut self, slack: f64) {
        self.phase = Phase::Ready;
        self.iterate.step_reused = false;
        // A checkpoint has the steps of all.
        self.history.is_concluded = false;
        self.stopping.continue_with(slack);
    }

    pub(super) fn tolerances(&self) -> Tolerances {
        let tolerances = self.settings.tolerances(self.resources.choice.linear, self.precision);
        Tolerances { cost: tolerances.cost.max(self.stopping.tolerance_floor), ..tolerances }
    }

    /// Tolerances that a step is judged by: of one that damping or a trust region made short, little says nothing, however loose the
    /// solve is to be.
    pub(super) fn tolerances_of(&self, step: &Iteration) -> Tolerances {
        let tolerances = self.tolerances();
        let asked = self.settings.tolerances(self.resources.choice.linear, self.precision);
        let is_whole = step.damping <= SLIGHT_DAMPING && step.radius.is_none();
        if is_whole { tolerances } else { asked }
    }

    /// Limit that ends a solve between steps.
    pub(super) fn limit(&self, started: f64, tried: u32) -> Option<(Termination, String)> {
        self.stopping.limit(started, tried, self.tolerances().max_iterations, self.settings.time_limit_ms)
    }

    /// True if the solve is to end as soon as it can.
    pub(super) fn is_late(&self) -> bool {
        self.stopping.is_late(self.settings.time_limit_ms)
    }
}
