//! Methods that know nothing but the gradient: they solve no linear system.
//!
//! - *L-BFGS* (Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006, algorithms 7.4 and 7.5) in Gram form (Chen, Wang & Zhou,
//!   *Large-scale L-BFGS using MapReduce*, 2014): the two loops run over the inner products of the history's vectors, so that a
//!   direction takes one pass for products and one for the sum, whatever the memory.
//! - *Nonlinear conjugate gradients* with Hager & Zhang's β (*A New Conjugate Gradient Method with Guaranteed Descent and an
//!   Efficient Line Search*, SIAM J. Optim. 16, 2005).
//! - *Gradient descent*, whose first trials have Barzilai & Borwein's length (IMA J. Numer. Anal. 8, 1988).
//! - *Adam* (Kingma & Ba 2015), without a line search.
//!
//! The first three look for a point with the strong Wolfe conditions along their direction, or, where rounding hides the
//! difference of costs, with Hager & Zhang's approximate ones (`shaders/line_search/line_search.wgsl`). A recording is one trial: the
//! point, the change of its cost, its gradient, the decision and, where it is taken, the next direction; one small readback
//! tells the host. r and J are those of the last trial point, not of the accepted one, so the change of the cost adds up
//! from trial to trial, each without cancellation.
//!
//! *Limits* are held by projection: trial points are P(x ⊕ αd), d moves only what is not at a limit that the gradient pushes
//! against, and inner products are taken over what may move, anew when that changes (Bertsekas 1982; Schmidt, Kim & Sra,
//! *Projected Newton-type Methods in Machine Learning*, 2012). L-BFGS with limits finds what L-BFGS-B (Byrd, Lu, Nocedal & Zhu
//! 1995) does, without its sequential search for the Cauchy point.
//!
//! On manifolds, vectors of the history are those of their tangent spaces taken as they are, as in Ceres.

mod judge;
mod trials;

pub use judge::{Arrival, judge};

use super::linear::{Choice, Linear};
use super::{Workspace, state};
use leastwise_device::{BufferId, Device, Kind, Slice};
use leastwise_error::Error;
use leastwise_problem::Problem;

/// How directions are made of gradients. The numbers are those that `line_search.wgsl` and `two_loop.wgsl` have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rule {
    /// With so many pairs.
    Lbfgs(u32),
    ConjugateGradients,
    GradientDescent,
    Adam(Rates),
}

/// Adam's η, β₁ and β₂.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    pub learning_rate: f64,
    pub decays: [f64; 2],
}

impl Default for Rates {
    /// The authors' decays; their η = 0.001 is for what is sampled.
    fn default() -> Self {
        Self { learning_rate: 0.01, decays: [0.9, 0.999] }
    }
}

impl Rule {
    /// Pairs of L-BFGS unless told, and at most (`two_loop.wgsl`).
    pub const USUAL_PAIRS: u32 = 10;
    pub const MOST_PAIRS: u32 = 20;

    /// The name that options and reports have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lbfgs(_) => "lbfgs",
            Self::ConjugateGradients => "nonlinear-cg",
            Self::GradientDescent => "gradient-descent",
            Self::Adam(_) => "adam",
        }
    }

    fn number(self) -> u32 {
        match self {
            Self::Lbfgs(_) => 0,
            Self::ConjugateGradients => 1,
            Self::GradientDescent => 2,
            Self::Adam(_) => 3,
        }
    }

    /// Pairs s, y that are kept; Adam's moments are as long as one.
    fn pairs(self) -> u32 {
        if let Self::Lbfgs(pairs) = self { pairs } else { 1 }
    }

    /// The state that the first trial finds.
    pub fn start(self) -> Vec<(u32, f64)> {
        let Self::Adam(Rates { learning_rate, decays }) = self else { return Vec::new() };
        vec![(state::LEARNING_RATE, learning_rate), (state::BETA_1, decays[0]), (state::BETA_2, decays[1])]
    }
}

/// The buffers of such a method, beside the workspace: there, d is z and the trial point's gradient q.
pub struct Descent {
    pub rule: Rule,
    /// Pairs that the history has room for: fewer than wanted where a binding of the device holds no more.
    pub pairs: u32,
    /// s₀ …, y₀ …, and the elements between two of them.
    history: Slice,
    stride: u32,
    /// Partial sums of inner products, the products, and the coefficients of the direction.
    products: Slice,
    gram: Slice,
    coefficients: Slice,
    runs: u32,
}

/// Runs of elements that products are summed over at most: every one of them has a workgroup for each vector.
const MOST_RUNS: u32 = 128;

impl Descent {
    /// Pairs of a history of this problem, at most as many as a rule asks for. A device that has room for none is refused.
    pub fn pairs(device: &Device, problem: &Problem, rule: Rule) -> Result<u32, Error> {
        let limits = device.limits();
        let elements = problem.vector_len();
        let most = (limits.binding_bytes.min(limits.buffer_bytes) / device.precision().bytes()).min(u64::from(u32::MAX));
        let stride = elements.next_multiple_of(limits.offset_alignment);
        let fits = (most / (2 * u64::from(stride)).max(1)).min(u64::from(Rule::MOST_PAIRS)) as u32;
        if fits == 0 {
            let message = format!(
                "method \"{}\" keeps pairs of vectors of {elements} numbers, of which one binding of this device holds less than one: use \"lm\" with linear \"pcg\"",
                rule.name()
            );
            return Err(Error::InvalidOption(message));
        }
        Ok(rule.pairs().min(fits))
    }

    pub fn new(device: &mut Device, problem: &Problem, rule: Rule, work: &Workspace) -> Result<Self, Error> {
        let elements = problem.vector_len();
        let stride = work.aligned(elements);
        let pairs = Self::pairs(device, problem, rule)?;
        let vectors = 2 * pairs + 1;
        let runs = work.runs(elements).min(MOST_RUNS);
        let rows = if work.bounds().is_some() { vectors } else { 3 };
        let sizes = [
            ("history of steps", 2 * pairs * stride),
            ("inner products", runs * rows * vectors),
            ("Gram matrix", vectors * vectors),
            ("coefficients", vectors),
        ];
        let mut slices: Vec<Slice> = Vec::new();
        for (label, len) in sizes {
            match device.allocate(Kind::Real, len, label) {
                Ok(buffer) => slices.push(Slice { buffer, offset: 0, len }),
                Err(error) => {
                    slices.iter().for_each(|slice| device.free(slice.buffer));
                    return Err(error.into());
                }
            }
        }
        let [history, products, gram, coefficients] = [0, 1, 2, 3].map(|place: usize| slices[place]);
        Ok(Self { rule, pairs, history, stride, products, gram, coefficients, runs })
    }

    /// What stands in reports where others have their linear solver.
    pub fn choice(&self) -> Choice {
        let mut why = "the method solves no linear system".to_string();
        if self.pairs < self.rule.pairs() {
            why += &format!("; memory {} instead of {}, which is what a binding of this device holds", self.pairs, self.rule.pairs());
        }
        Choice { linear: Linear::None, why, preconditioner: None }
    }

    /// What the next direction depends on besides the point: the pairs, and their inner products.
    pub fn memory(&self) -> [Slice; 2] {
        [self.history, self.gram]
    }

    pub fn buffers(&self) -> [BufferId; 4] {
        [self.history, self.products, self.gram, self.coefficients].map(|slice| slice.buffer)
    }
}
