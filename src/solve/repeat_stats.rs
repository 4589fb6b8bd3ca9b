//! Statistics of repeats: a device plays the body of a `Repeat` ahead of the flag that ends it, so some dispatches find the
//! linear system solved already.

use super::state;
use leastwise_device::Counters;

#[derive(Clone, Copy, Default)]
pub struct RepeatStats {
    seen: Counters,
    /// Dispatches of conjugate gradients after the system was solved.
    pub dispatches: u64,
}

impl RepeatStats {
    /// What is counted from here on.
    pub fn begin(&mut self, counters: Counters) {
        self.seen = counters;
    }

    /// After a step whose state came back: of the rounds that were played since the last time, so many did something.
    pub fn note(&mut self, counters: Counters, readback: &[f64]) {
        let since = counters.since(&std::mem::replace(&mut self.seen, counters));
        let useful = readback.get(state::INNER as usize).map_or(0, |inner| *inner as u64);
        let idle = since.rounds.saturating_sub(useful);
        // All rounds of a step dispatch the same.
        self.dispatches += (since.round_dispatches * idle).checked_div(since.rounds).unwrap_or(0);
    }
}
