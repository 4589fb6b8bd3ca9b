//! How many bodies of a `Repeat` go into one submission.
//!
//! Too few, and the GPU waits for the host between submissions; too many, and bodies are encoded that do nothing since
//! the flag was set long before, or a page stutters because one submission holds the GPU. The numbers only cost or
//! save time: bodies are guarded by their flag, so results do not depend on them.

use super::super::Command;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bodies of a submission before anything was measured.
const FIRST: u32 = 2;

/// What one submission should take at most. The measured time can be off by a factor of two in either direction.
const SUBMISSION_MS: f64 = 25.0;

/// What one submission should take at least, so that the flag of the one before arrives in the meantime.
const HIDE_MS: f64 = 2.0;

/// Commands of one submission: encoding takes time on the host as well.
const MAX_COMMANDS: u32 = 4096;

/// What is known about one body, from the times it was played before.
#[derive(Clone, Copy, Default)]
pub(super) struct Pace {
    body_ms: Option<f64>,
    rounds: Option<u32>,
}

impl Pace {
    /// Which bodies are timed together: those with the same kernels over the same numbers of items.
    pub fn signature(body: &[Command]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for command in body {
            if let Command::Dispatch(dispatch) = command {
                (dispatch.kernel, dispatch.count, dispatch.single_group).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// How many bodies come next, after `played`, with at most `left` to go and `commands` in each.
    pub fn chunk(&self, played: u32, left: u32, commands: usize) -> u32 {
        // A solver plays the same body step after step, and mostly needs about as many rounds as the last time: most of
        // them, then the rest, then a few more. Without that to go by, growth in proportion wastes in proportion.
        let wish = match self.rounds {
            Some(rounds) if played == 0 => rounds - rounds / 4,
            Some(rounds) if played < rounds => rounds - played,
            Some(_) => played / 4,
            None => played / 2,
        };
        let (least, most) = match self.body_ms {
            Some(ms) => ((HIDE_MS / ms) as u32, (SUBMISSION_MS / ms) as u32),
            None => (0, FIRST),
        };
        let encodable = MAX_COMMANDS / (commands as u32).clamp(1, MAX_COMMANDS);
        wish.max(FIRST).max(least).min(most).min(encodable).clamp(1, left.max(1))
    }

    /// `bodies` were worked on for `ms`.
    pub fn measured(&mut self, ms: f64, bodies: u32) {
        let body_ms = (ms / f64::from(bodies.max(1))).max(1e-3);
        self.body_ms = Some(self.body_ms.map_or(body_ms, |before| 0.5 * (before + body_ms)));
    }

    /// The flag was set within the first `rounds` bodies.
    pub fn finished(&mut self, rounds: u32) {
        self.rounds = Some(rounds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_starts_small_grows_and_stays_short() {
        let mut pace = Pace::default();
        assert_eq!(pace.chunk(0, 1000, 5), FIRST);
        pace.measured(1.0, 2);
        assert_eq!(pace.chunk(4, 1000, 5), 4, "long enough to hide the way of the flag");
        assert_eq!(pace.chunk(40, 1000, 5), 20);
        assert_eq!(pace.chunk(900, 1000, 5), 50, "half a millisecond each");
        assert_eq!(pace.chunk(900, 3, 5), 3);
        pace.finished(40);
        assert_eq!([0, 30, 40].map(|played| pace.chunk(played, 1000, 5)), [30, 10, 10]);
    }

    #[test]
    fn there_is_always_at_least_one_body_and_never_too_much_to_encode() {
        let mut slow = Pace::default();
        slow.measured(500.0, 1);
        assert_eq!(slow.chunk(100, 1000, 5), 1);
        let mut fast = Pace::default();
        fast.measured(0.0, 2);
        assert_eq!(fast.chunk(1_000_000, 1_000_000, 8), 512);
        assert_eq!(fast.chunk(1_000_000, 1_000_000, 1_000_000), 1);
    }
}
