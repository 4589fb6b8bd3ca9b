//! L-BFGS (Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006, algorithms 7.4 and 7.5) in Gram form (Chen, Wang & Zhou,
//! *Large-scale L-BFGS using MapReduce*, 2014): the two loops run over the inner products of the history's vectors, so that a
//! direction takes one pass for products and one for the sum, whatever the memory.

use crate::descent::rule::*;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lbfgs {
    pairs: u32,
}

impl Lbfgs {
    /// Default number of pairs.
    const USUAL_PAIRS: u32 = 10;
}

impl DescentRule for Lbfgs {
    const NUMBER: u32 = 0;
    const NAME: &'static str = "lbfgs";
    const DESCRIPTION: &'static str =
        "limited-memory BFGS (Nocedal & Wright 2006, algorithm 7.5) in Gram form, {@link SolveOptions.memory} pairs.";
    const STEP: &'static str = "along −Hg, H of the last pairs of steps and gradients";
    const GOOD_FOR: &'static str = "large and smooth, many cheap steps; live meshes";
    const OPTIONS: &'static [&'static str] = &["memory"];
    const REMEMBERS: bool = true;

    fn of(options: &Options) -> Result<Self, Error> {
        let most = Descent::MOST_PAIRS;
        match options.memory {
            None => Ok(Self { pairs: Self::USUAL_PAIRS }),
            Some(pairs) if pairs.fract() == 0.0 && (1.0..=f64::from(most)).contains(&pairs) => Ok(Self { pairs: pairs as u32 }),
            Some(pairs) => Err(Error::InvalidOption(format!("memory must be a whole number from 1 to {most}, not {pairs}"))),
        }
    }

    fn pairs(self) -> u32 {
        self.pairs
    }

    fn manner(self) -> String {
        format!("memory: {}", self.pairs)
    }
}
