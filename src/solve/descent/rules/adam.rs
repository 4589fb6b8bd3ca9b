//! Adam (Kingma & Ba 2015), without a line search.

use crate::descent::rule::*;

/// η, β₁ and β₂.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adam {
    learning_rate: f64,
    decays: [f64; 2],
}

impl Adam {
    /// The authors' η = 0.001 is for what is sampled.
    const USUAL_RATE: f64 = 0.01;
    /// The authors'.
    const USUAL_DECAYS: [f64; 2] = [0.9, 0.999];
}

impl DescentRule for Adam {
    const NUMBER: u32 = 3;
    const NAME: &'static str = "adam";
    const DESCRIPTION: &'static str = "Kingma & Ba 2015, without a search and without a look at the cost: the variables end at the last iterate, not at the best; {@link SolveOptions.learningRate} and {@link SolveOptions.decays}.";
    const STEP: &'static str = "−η m̂/(√v̂ + ε)";
    const GOOD_FOR: &'static str = "noisy or rugged costs";
    const OPTIONS: &'static [&'static str] = &["learningRate", "decays"];
    const SEARCHES: bool = false;

    fn of(options: &Options) -> Result<Self, Error> {
        let learning_rate = options.learning_rate.unwrap_or(Self::USUAL_RATE);
        let decays = options.decays.unwrap_or(Self::USUAL_DECAYS);
        if !(learning_rate > 0.0 && learning_rate.is_finite()) {
            return Err(Error::InvalidOption(format!("learningRate must be a positive number, not {learning_rate}")));
        }
        if let Some(decay) = decays.iter().find(|decay| !(0.0..1.0).contains(*decay)) {
            return Err(Error::InvalidOption(format!("decays must be two numbers from 0 to less than 1, not {decay}")));
        }
        Ok(Self { learning_rate, decays })
    }

    fn start(self) -> Vec<(u32, f64)> {
        vec![(state::LEARNING_RATE, self.learning_rate), (state::BETA_1, self.decays[0]), (state::BETA_2, self.decays[1])]
    }

    fn manner(self) -> String {
        format!("learningRate: {}, decays: {:?}", self.learning_rate, self.decays)
    }

    /// Its moments are as long as a pair of the history.
    fn direction(self, turn: &Turn, work: &Workspace, problem: &Problem) -> Option<Command> {
        Some(work.fixed(
            descent::Adam { distance: turn.stride, masked: u32::from(turn.is_masked) },
            problem.vector_len(),
            descent::AdamBindings { gradient: work.gradient, free: turn.free, moments: turn.history, direction: work.z, state: work.state },
        ))
    }
}
