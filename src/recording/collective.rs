//! Exchanges with other ranks, as a command.
//!
//! An exchange is one message to all ranks and one from each: elements of a few buffers, which every rank combines in the order of
//! ranks. Its parts are as long on all ranks, also where a rank has less to give.

use super::{BufferId, Slice};
use std::sync::Arc;

/// Place of an element that this rank does not have.
pub const ABSENT: u32 = u32::MAX;

/// Ways to combine partial sums of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// Their sum.
    Sum,
    /// The largest of them.
    Largest,
    /// A sum and, in the kind behind it, its part that rounding took.
    Exact,
}

impl Fold {
    /// Kinds of partial sums that it combines.
    pub fn kinds(self) -> u32 {
        if self == Self::Exact { 2 } else { 1 }
    }
}

/// One part of an exchange.
#[derive(Clone, PartialEq, Debug)]
pub enum Exchange {
    /// Sums elements that several ranks have. Every rank names the same elements in the same order, by their places in its buffer, or
    /// as [`ABSENT`], which gives 0 and gets nothing.
    Elements {
        /// Buffer of reals.
        buffer: BufferId,
        /// Places of the elements.
        places: Arc<Vec<u32>>,
    },
    /// Combines partial sums place by place. A rank has the first `count` of each kind, and gets `each`; what it does not have is 0.
    Partials {
        /// Buffer of reals.
        buffer: BufferId,
        /// First element of the first kind.
        first: u32,
        /// Elements between two kinds.
        distance: u32,
        /// Folds of the kinds, one after the other.
        folds: &'static [Fold],
        /// Partial sums of a kind on this rank.
        count: u32,
        /// Partial sums of a kind on any rank at most.
        each: u32,
    },
}

/// A message to all ranks, and what becomes of theirs.
#[derive(Clone, PartialEq, Debug)]
pub struct Collective {
    /// Purpose of the message, in errors.
    pub label: &'static str,
    /// Its parts, in order.
    pub parts: Vec<Exchange>,
    /// True if commands after it, up to its `Command::Await`, use none of its buffers: a device may go on with them meanwhile.
    pub in_background: bool,
}

impl Collective {
    /// An exchange that is over before the next command.
    pub fn new(label: &'static str, parts: Vec<Exchange>) -> Self {
        Self { label, parts, in_background: false }
    }

    /// An exchange that may go on beside the commands after it, until it is awaited.
    pub fn in_background(label: &'static str, parts: Vec<Exchange>) -> Self {
        Self { label, parts, in_background: true }
    }
}

impl Exchange {
    /// The sums of all elements of a slice.
    pub fn total(slice: Slice) -> Self {
        let Slice { buffer, offset, len } = slice;
        Self::Partials { buffer, first: offset, distance: 0, folds: &[Fold::Sum], count: len, each: len }
    }

    /// Its buffer.
    pub fn buffer(&self) -> BufferId {
        match self {
            Self::Elements { buffer, .. } | Self::Partials { buffer, .. } => *buffer,
        }
    }

    /// Elements of the message.
    pub fn len(&self) -> usize {
        match self {
            Self::Elements { places, .. } => places.len(),
            Self::Partials { folds, each, .. } => folds.iter().map(|fold| (fold.kinds() * each) as usize).sum(),
        }
    }

    /// True if there is nothing to exchange.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The end of the elements that it reads and writes.
    pub fn end(&self) -> u64 {
        match self {
            Self::Elements { places, .. } => places.iter().filter(|place| **place != ABSENT).max().map_or(0, |place| u64::from(*place) + 1),
            Self::Partials { first, distance, folds, count, each, .. } => {
                let kinds: u32 = folds.iter().map(|fold| fold.kinds()).sum();
                u64::from(*first) + u64::from(kinds.saturating_sub(1)) * u64::from(*distance) + u64::from(*each.max(count))
            }
        }
    }
}
