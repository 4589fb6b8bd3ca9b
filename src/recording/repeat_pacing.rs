//! How many bodies of a `Repeat` go into one submission.
//!
//! Too few, and the GPU waits for the host between submissions; too many, and bodies are encoded that do nothing since
//! the flag was set long before, or a page stutters because one submission holds the GPU. Bodies whose work may be done are submitted
//! as long as they take no longer than the way of a flag to the host and back, or are a tenth of all. The numbers only cost or save
//! time: bodies are guarded by their flag, so results do not depend on them.

use super::Command;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bodies of a submission before anything was measured.
const FIRST: u32 = 2;

/// Bodies of a submission that are worth to follow another one whose flag is not known.
const WORTH: u32 = 4;

/// What one submission should take at most. The measured time can be off by a factor of two in either direction.
const SUBMISSION_MS: f64 = 25.0;

/// Bodies that are worth a round trip, at most: what is measured can be off.
const MOST_WORTH: f64 = 32.0;

/// Weight of what was measured before, when something is measured.
const REMEMBERED: f64 = 0.8;

/// Commands of one submission: encoding takes time on the host as well.
const MAX_COMMANDS: u32 = 4096;

/// What is known about one body, from the times it was played before.
#[derive(Clone, Copy, Default)]
pub struct RepeatPacing {
    times: Times,
    /// The rounds of the last time, and of the time before.
    rounds: Option<[u32; 2]>,
}

/// Times of submissions, t = b·n + L for n bodies, where L is the round trip, of those alone that followed no other one: for the others
/// the GPU did not wait. Of t/n = b + L·x, with x = 1/n or 0, the line through all that is remembered is kept.
#[derive(Clone, Copy, Default)]
struct Times {
    count: f64,
    x: f64,
    xx: f64,
    y: f64,
    xy: f64,
}

impl Times {
    fn add(&mut self, x: f64, y: f64) {
        for (sum, value) in [(&mut self.count, 1.0), (&mut self.x, x), (&mut self.xx, x * x), (&mut self.y, y), (&mut self.xy, x * y)] {
            *sum = REMEMBERED * *sum + value;
        }
    }

    /// Milliseconds of a body and of a round trip; 0 for what can't be told apart.
    fn line(&self) -> Option<(f64, f64)> {
        if self.count == 0.0 {
            return None;
        }
        let (mean_x, mean_y) = (self.x / self.count, self.y / self.count);
        let spread = self.xx / self.count - mean_x * mean_x;
        let slope = if spread > 1e-4 { (self.xy / self.count - mean_x * mean_y) / spread } else { 0.0 };
        let trip = if mean_x > 0.0 { slope.clamp(0.0, mean_y / mean_x) } else { 0.0 };
        Some(((mean_y - trip * mean_x).max(1e-3), trip))
    }
}

impl RepeatPacing {
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

    /// Rounds that are hardly ever too many: a solver plays the same body step after step, and mostly needs about as many as
    /// the last time.
    fn sure(&self) -> u32 {
        self.rounds.map_or(0, |rounds| rounds[0].min(rounds[1]) / 4 * 3)
    }

    /// Bodies of a submission after these: what two of them waste is a tenth at most.
    fn step(&self, played: u32) -> u32 {
        self.rounds.map_or(played, |rounds| played.max(rounds[0])) / 20
    }

    /// Bodies that take as long as a round trip.
    fn worth(&self) -> u32 {
        self.times.line().map_or(0, |(body, trip)| (trip / body).min(MOST_WORTH) as u32)
    }

    /// Submissions whose flag need not be known when another one follows, after `played`.
    pub fn in_flight(&self, played: u32) -> usize {
        if played < self.sure() || self.step(played) >= WORTH || self.worth() >= 1 { 2 } else { 1 }
    }

    /// How many bodies come next, after `played`, with at most `left` to go and `commands` in each.
    pub fn chunk(&self, played: u32, left: u32, commands: usize) -> u32 {
        let most = self.times.line().map_or(FIRST, |(body, _)| (SUBMISSION_MS / body) as u32);
        let encodable = MAX_COMMANDS / (commands as u32).clamp(1, MAX_COMMANDS);
        let wish = match self.sure().saturating_sub(played) {
            0 => self.step(played).max(self.worth()).max(if self.rounds.is_none() && played == 0 { FIRST } else { 1 }),
            sure => sure,
        };
        wish.min(most).min(encodable).clamp(1, left.max(1))
    }

    /// `bodies` were worked on for `ms`, from when they were submitted on where they `followed` none that was in flight, and otherwise
    /// from when those before were known to be done.
    pub fn measured(&mut self, ms: f64, bodies: u32, followed: bool) {
        let bodies = f64::from(bodies.max(1));
        self.times.add(if followed { 0.0 } else { 1.0 / bodies }, ms.max(0.0) / bodies);
    }

    /// The flag was set within the first `rounds` bodies.
    pub fn finished(&mut self, rounds: u32) {
        self.rounds = Some([rounds, self.rounds.map_or(rounds, |before| before[0])]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_submission_starts_small_grows_and_stays_short() {
        let mut pace = RepeatPacing::default();
        assert_eq!((pace.chunk(0, 1000, 5), pace.in_flight(2)), (FIRST, 1));
        pace.measured(1.0, 2, false);
        assert_eq!((pace.chunk(4, 1000, 5), pace.chunk(160, 1000, 5)), (1, 8));
        assert_eq!(pace.chunk(1200, 3000, 5), 50, "half a millisecond each");
        assert_eq!(pace.chunk(900, 3, 5), 3);
        pace.finished(40);
        assert_eq!([0, 20, 30, 40].map(|played| pace.chunk(played, 1000, 5)), [30, 10, 2, 2]);
        assert_eq!([0, 20, 30, 40, 80].map(|played| pace.in_flight(played)), [2, 2, 1, 1, 2]);
        pace.finished(20);
        assert_eq!([0, 15, 20].map(|played| (pace.chunk(played, 1000, 5), pace.in_flight(played))), [(15, 2), (1, 1), (1, 1)]);
        pace.finished(40);
        assert_eq!(pace.chunk(0, 1000, 5), 15, "the lesser of the last two");
    }

    /// Whatever the rounds come to, flags that arrive one submission late waste little.
    #[test]
    fn at_most_a_tenth_is_wasted() {
        let mut pace = RepeatPacing::default();
        pace.measured(0.1, 1, false);
        let (mut played_in_all, mut needed_in_all) = (0, 0);
        for needed in [30, 34, 28, 40, 41, 60, 55, 58, 90, 80, 120, 118, 100, 110, 70, 85] {
            let (mut played, mut flights) = (0u32, VecDeque::new());
            loop {
                if flights.len() >= pace.in_flight(played) && flights.pop_front().is_some_and(|end| end >= needed) {
                    break;
                }
                played += pace.chunk(played, 1000, 10);
                flights.push_back(played);
            }
            pace.finished(played);
            (played_in_all, needed_in_all) = (played_in_all + played, needed_in_all + needed);
        }
        assert!(10 * (played_in_all - needed_in_all) <= played_in_all, "{played_in_all} for {needed_in_all}");
    }

    /// Solves take little longer than their bodies and one round trip, where that takes as long as many bodies.
    #[test]
    fn round_trips_are_not_waited_for() {
        for (body, trip) in [(0.03, 0.2), (0.02, 1.5), (0.1, 0.1)] {
            let mut pace = RepeatPacing::default();
            let (mut taken, mut needed_ms) = (0.0, 0.0);
            for (solve, needed) in [53, 18, 115, 37, 78, 13, 7, 110, 51, 112, 40, 60].into_iter().enumerate() {
                let (mut now, mut free, mut last, mut played) = (0.0f64, 0.0f64, 0.0f64, 0u32);
                let mut flights: VecDeque<(f64, f64, u32, u32)> = VecDeque::new();
                loop {
                    if flights.len() >= pace.in_flight(played) {
                        let (submitted, landed, bodies, end) = flights.pop_front().unwrap();
                        now = now.max(landed);
                        if end >= needed {
                            pace.finished(end);
                            break;
                        }
                        pace.measured(now - submitted.max(last), bodies, submitted < last);
                        last = now;
                    }
                    let bodies = pace.chunk(played, 1000, 3);
                    // What finds its work done takes a third.
                    let working = needed.saturating_sub(played).min(bodies);
                    let ms = body * (f64::from(working) + f64::from(bodies - working) / 3.0);
                    free = free.max(now + trip / 2.0) + ms;
                    played += bodies;
                    flights.push_back((now, free + trip / 2.0, bodies, played));
                }
                // The first solves are those that measure.
                if solve >= 2 {
                    taken += now;
                    needed_ms += body * f64::from(needed) + trip;
                }
            }
            assert!(taken < 1.3 * needed_ms, "{taken} ms for {needed_ms} with bodies of {body} and round trips of {trip} ms");
        }
    }

    #[test]
    fn there_is_always_at_least_one_body_and_never_too_much_to_encode() {
        let mut slow = RepeatPacing::default();
        slow.measured(500.0, 1, false);
        assert_eq!(slow.chunk(100, 1000, 5), 1);
        let mut fast = RepeatPacing::default();
        fast.measured(0.0, 2, false);
        assert_eq!(fast.chunk(1_000_000, 1_000_000, 8), 512);
        assert_eq!(fast.chunk(1_000_000, 1_000_000, 1_000_000), 1);
    }
}
