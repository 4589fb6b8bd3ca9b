//! Methods that know nothing but the gradient: they solve no linear system.
//!
//! How directions are made of gradients, a [`Rule`] says: [`rules`] has a file for each.
//!
//! Rules that search look for a point with the strong Wolfe conditions along their direction, or, where rounding hides the
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
mod rule;
mod rules;
mod trials;

pub use judge::{Arrival, judge};
pub use rule::RuleEntry;
pub use rules::Rule;

use super::Workspace;
use super::linear::{Choice, Linear};
use leastwise_device::{BufferId, Device, Kind, Slice};
use leastwise_error::Error;
use leastwise_problem::Problem;

/// The buffers of such a method, beside the workspace: there, d is z and the trial point's gradient q.
pub(crate) struct Descent {
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
    /// Pairs of a history at most (`two_loop.wgsl`).
    pub const MOST_PAIRS: u32 = 20;

    /// Pairs of a history of this problem, at most as many as a rule asks for. A device that has room for none is refused.
    pub fn pairs(device: &Device, problem: &Problem, rule: Rule) -> Result<u32, Error> {
        let limits = device.limits();
        let elements = problem.vector_len();
        let most = (limits.binding_bytes.min(limits.buffer_bytes) / device.precision().bytes()).min(u64::from(u32::MAX));
        let stride = elements.next_multiple_of(limits.offset_alignment);
        let fits = (most / (2 * u64::from(stride)).max(1)).min(u64::from(Self::MOST_PAIRS)) as u32;
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
