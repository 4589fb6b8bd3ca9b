//! Turns of state machines that work in time slices.

use leastwise_device::{Playing, Signal};
use leastwise_solve::Iteration;

/// Outcome of one slice of a state machine that comes to a `T`.
pub enum Turn<T> {
    /// The time slice is used up.
    Yielded,
    /// A device works: nothing goes on before the signal is set.
    Waiting(Signal),
    /// A solver has completed an iteration.
    Iteration(Iteration),
    /// Progress so far.
    Partly {
        /// Work done, in the units of `total`.
        done: f64,
        /// Work in all; 1 if it is a part.
        total: f64,
    },
    /// The outcome; the machine is through.
    Over(T),
}

impl<T> Turn<T> {
    /// The outcome, or this turn as one of a machine that comes to something else.
    pub fn outcome<U>(self) -> Result<T, Turn<U>> {
        Err(match self {
            Self::Over(outcome) => return Ok(outcome),
            Self::Yielded => Turn::Yielded,
            Self::Waiting(signal) => Turn::Waiting(signal),
            Self::Iteration(iteration) => Turn::Iteration(iteration),
            Self::Partly { done, total } => Turn::Partly { done, total },
        })
    }

    /// The same with another outcome.
    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> Turn<U> {
        match self.outcome() {
            Ok(outcome) => Turn::Over(map(outcome)),
            Err(turn) => turn,
        }
    }
}

impl From<Playing> for Turn<Vec<f64>> {
    fn from(playing: Playing) -> Self {
        match playing {
            Playing::Yielded => Self::Yielded,
            Playing::Waiting(signal) => Self::Waiting(signal),
            Playing::Finished(values) => Self::Over(values),
        }
    }
}
