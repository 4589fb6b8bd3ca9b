//! Exchanges of a step, where a problem is one rank's part of a larger one.
//!
//! Each rank evaluates its own instances. What instances add up, g, the diagonal blocks and q = JᵀWJ·p, is a rank's part of a sum
//! over ranks; it is exchanged for variables that several ranks touch, and complete at once for all others. Sums over variables leave
//! out copies; their partial sums are combined place by place before the kernel that adds them up. So every rank has the same state,
//! to the bit, and makes the same decisions.
//!
//! λDp is not a sum over instances: a rank adds it where it owns the variable. Then pᵀq is a sum over ranks of what each has before
//! the exchange, and needs no other.
//!
//! | in a step | exchanged |
//! |---|---|
//! | cost, change of the cost | partial sums with low parts |
//! | differentiation | shared parts of g and of the diagonal blocks |
//! | start of conjugate gradients | partial sums of rᵀz and maxima of abs(g) |
//! | an iteration | shared part of q with partial sums of pᵀq; partial sums of rᵀz |
//! | trial point | partial sums of five kinds |
//! | the first step | partial sums of two kinds |
//! | with a Schur complement, a step besides | shared part of g + E y, partial sums of rᵀz and maxima again, shared blocks of S |
//! | with limits, the clipped step and its model | partial sums of two kinds and maxima of the projected gradient; partial sums of sᵀ(JᵀWJ)s |
//! | with limits, the start of a solve | partial sums of how many components were moved |

use super::Workspace;
use super::buffers::Lengths;
use super::reduction::Reduction;
use super::workspace::Needs;

pub(super) use leastwise_device::Fold;
use leastwise_device::{BufferId, Collective, Command, Device, Exchange, Kind, Slice};

use leastwise_error::Error;
use leastwise_problem::Problem;
use std::sync::Arc;

/// Additions to a workspace of a rank.
pub(super) struct Ranked {
    /// Partial sums of a kind on any rank at most.
    each: u32,
    /// D, but 0 for copies.
    owned_scale: Slice,
    /// Shared elements of vectors, and of the diagonal blocks.
    in_vectors: Arc<Vec<u32>>,
    in_blocks: Arc<Vec<u32>>,
}

impl Ranked {
    /// Additions for a problem's part, which has so many partial sums of a kind itself; none where there are no ranks.
    pub fn new(device: &mut Device, problem: &Problem, partials: u32) -> Result<Option<Self>, Error> {
        let Some(shares) = problem.shares() else { return Ok(None) };
        let each = shares.partials;
        if each < partials {
            return Err(Error::Internal("ranks have not agreed on a number of partial sums"));
        }
        let (in_vectors, in_blocks) = (problem.shared_places(false)?, problem.shared_places(true)?);
        let len = problem.vector_len();
        let owned_scale = Slice { buffer: device.allocate(Kind::Real, len, "damping of owned variables")?, offset: 0, len };
        Ok(Some(Self { each, owned_scale, in_vectors, in_blocks }))
    }

    /// Its buffer.
    pub fn buffer(&self) -> BufferId {
        self.owned_scale.buffer
    }

    /// Elements between two kinds of partial sums.
    pub fn distance(&self) -> u32 {
        self.each
    }
}

/// Has all ranks agree on a number of partial sums, once all have laid out their parts: a solver is then set up without the others.
///
/// # Errors
/// A [`leastwise_error::Error`] of a problem that is not laid out, and those of collective calls.
pub fn agree_on_partials(device: &Device, problem: &mut Problem) -> Result<(), Error> {
    let own = Lengths::new(device, problem, Needs::default(), Reduction::on(device))?.partial_distance;
    let Some(shares) = problem.shares() else { return Ok(()) };
    let most = shares.communicator.largest("partial sums", &[own.into()])?[0] as u32;
    problem.set_partials(most);
    Ok(())
}

/// Sizes that the bytes of a step follow from, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exchanged {
    /// Degrees of freedom of shared variables.
    pub unknowns: u64,
    /// Elements of their packed diagonal blocks.
    pub blocks: u64,
    /// Partial sums of a kind on any rank at most.
    pub partials: u64,
    /// True if variables have limits.
    pub limited: bool,
    /// True if conjugate gradients are on a Schur complement.
    pub reduced: bool,
    /// True if they are preconditioned by its diagonal blocks.
    pub reduced_blocks: bool,
}

impl Exchanged {
    /// Elements that a rank gives in an iteration of conjugate gradients.
    pub fn inner_iteration(self) -> u64 {
        self.unknowns + 2 * self.partials
    }

    /// Elements that a rank gives in a step besides: one that goes on from a rejected step differentiates nothing.
    pub fn step(self, differentiates: bool) -> u64 {
        let derivatives = if differentiates { 2 * self.partials + self.unknowns + self.blocks } else { 0 };
        let reduced = if self.reduced { self.unknowns + 2 * self.partials } else { 0 };
        let blocks = if self.reduced_blocks { self.blocks } else { 0 };
        derivatives + reduced + blocks + (if self.limited { 13 } else { 9 }) * self.partials
    }

    /// Elements that a rank gives to move the point into its limits, when a solve starts.
    pub fn start(self) -> u64 {
        if self.limited { self.partials } else { 0 }
    }
}

fn exchange(label: &'static str, parts: Vec<Exchange>) -> Command {
    Command::Collective(Arc::new(Collective::new(label, parts)))
}

impl Workspace {
    /// Sizes of what ranks exchange, with or without a Schur complement; none where there are no ranks.
    pub(super) fn exchanged(&self, [reduced, reduced_blocks]: [bool; 2]) -> Option<Exchanged> {
        let ranked = self.ranked.as_ref()?;
        let [unknowns, blocks] = [&ranked.in_vectors, &ranked.in_blocks].map(|places| places.len() as u64);
        Some(Exchanged { unknowns, blocks, partials: ranked.each.into(), limited: self.bounds().is_some(), reduced, reduced_blocks })
    }

    fn partials_of(&self, ranked: &Ranked, buffer: Slice, folds: &'static [Fold], first: u32, count: u32) -> Exchange {
        Exchange::Partials { buffer: buffer.buffer, first, distance: self.partial_distance, folds, count, each: ranked.each }
    }

    /// Combines the partial sums of all ranks; gives how many there are then.
    pub(super) fn combine(&self, label: &'static str, folds: &'static [Fold], count: u32, commands: &mut Vec<Command>) -> u32 {
        let Some(ranked) = &self.ranked else { return count };
        commands.push(exchange(label, vec![self.partials_of(ranked, self.partials, folds, 0, count)]));
        ranked.each
    }

    /// The same of what inner iterations left.
    pub(super) fn combine_inner(&self, label: &'static str, folds: &'static [Fold], count: u32, commands: &mut Vec<Command>) -> u32 {
        let Some(ranked) = &self.ranked else { return count };
        commands.push(exchange(label, vec![self.partials_of(ranked, self.inner_partials, folds, 0, count)]));
        ranked.each
    }

    /// Completes g and the diagonal blocks of shared variables.
    pub(super) fn complete_derivatives(&self, commands: &mut Vec<Command>) {
        let Some(ranked) = &self.ranked else { return };
        let gradient = Exchange::Elements { buffer: self.gradient.buffer, places: ranked.in_vectors.clone() };
        let blocks = Exchange::Elements { buffer: self.blocks.buffer, places: ranked.in_blocks.clone() };
        commands.push(exchange("gradient and diagonal blocks", vec![gradient, blocks]));
    }

    /// Completes q of shared variables, and combines partial sums of pᵀq, which begin at `first`; gives how many there are then.
    pub(super) fn complete_product(&self, first: u32, count: u32, commands: &mut Vec<Command>) -> u32 {
        let Some(ranked) = &self.ranked else { return count };
        let product = Exchange::Elements { buffer: self.q.buffer, places: ranked.in_vectors.clone() };
        let partials = self.partials_of(ranked, self.inner_partials, &[Fold::Sum], first, count);
        commands.push(exchange("product", vec![product, partials]));
        ranked.each
    }

    /// Completes a vector of which shared variables have this rank's part.
    pub(super) fn complete_vector(&self, vector: Slice, commands: &mut Vec<Command>) {
        let Some(ranked) = &self.ranked else { return };
        commands.push(exchange("vector", vec![Exchange::Elements { buffer: vector.buffer, places: ranked.in_vectors.clone() }]));
    }

    /// The same of packed diagonal blocks.
    pub(super) fn complete_blocks(&self, blocks: Slice, commands: &mut Vec<Command>) {
        let Some(ranked) = &self.ranked else { return };
        commands.push(exchange("diagonal blocks", vec![Exchange::Elements { buffer: blocks.buffer, places: ranked.in_blocks.clone() }]));
    }

    /// Clears a vector's copies, whose values their owner gives to a sum over ranks.
    pub(super) fn clear_copies(&self, problem: &Problem, vector: Slice, commands: &mut Vec<Command>) {
        let copies = problem.copies().map(|table| Slice { offset: table.vector, len: table.unknowns(), ..vector });
        commands.extend(copies.map(|slice| Command::Clear { slice }));
    }

    /// The same of packed diagonal blocks.
    pub(super) fn clear_copied_blocks(&self, problem: &Problem, blocks: Slice, commands: &mut Vec<Command>) {
        let copies = problem.copies().map(|table| Slice { offset: table.block, len: table.count * table.packed(), ..blocks });
        commands.extend(copies.map(|slice| Command::Clear { slice }));
    }

    /// D as products take it.
    pub(super) fn product_scale(&self) -> Slice {
        self.ranked.as_ref().map_or(self.scale, |ranked| ranked.owned_scale)
    }

    /// Keeps D of what this rank owns, for products.
    pub(super) fn own_scale(&self, problem: &Problem, commands: &mut Vec<Command>) {
        let Some(ranked) = &self.ranked else { return };
        commands.push(Command::Copy { from: self.scale, to: ranked.owned_scale });
        self.clear_copies(problem, ranked.owned_scale, commands);
    }
}

/// Costs of the enabled terms in their order, added up over all ranks.
pub(super) fn total_costs(problem: &Problem, costs: Vec<(String, f64)>) -> Result<Vec<(String, f64)>, Error> {
    let Some(shares) = problem.shares() else { return Ok(costs) };
    let mut own = vec![0.0; shares.names.len()];
    problem.enabled_names().keys().zip(costs).for_each(|(term, (_, cost))| own[shares.terms[*term as usize] as usize] = cost);
    let totals = shares.communicator.sum("costs of terms", &own)?;
    Ok(shares.names.iter().cloned().zip(totals).collect())
}

/// Degrees of freedom of all ranks.
pub(super) fn unknowns(problem: &Problem) -> u32 {
    problem.shares().map_or(problem.vector_len(), |shares| shares.unknowns)
}

/// True if it is one of several ranks' parts.
pub(super) fn is_ranked(problem: &Problem) -> bool {
    problem.shares().is_some()
}
