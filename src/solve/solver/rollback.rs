//! Rollback: a step that led to where J or g is not finite counts as rejected, and the next recording begins with undoing it.

use super::super::Iteration;
use super::saved::{read_iteration, write_iteration};
use leastwise_base::FileError;
use leastwise_problem::file::bytes::{Reader, Writer};

#[derive(Default)]
pub(super) struct Rollback {
    /// The accepted step that led to the point, while nothing else has touched it.
    pub last_accepted: Option<Iteration>,
    /// The step to be undone before the next one.
    pending: Option<Iteration>,
    /// Steps that were undone in a row.
    count: u32,
}

impl Rollback {
    /// Forgets where the point came from: an edit or a live step has touched it.
    pub fn forget(&mut self) {
        (self.last_accepted, self.count) = (None, 0);
    }

    /// Leaves the point where it is.
    pub fn cancel(&mut self) {
        self.pending = None;
    }

    /// The step as a rejected one, if it found that the one before it is to be undone; so many are in a row at most.
    pub fn judge(&mut self, iteration: &Iteration, most: u32) -> Option<Iteration> {
        let last = std::mem::replace(&mut self.last_accepted, iteration.accepted.then_some(*iteration));
        if iteration.gradient_norm.is_finite() {
            self.count = if last.is_some() { 0 } else { self.count };
            return None;
        }
        let last = last.filter(|_| self.count < most)?;
        self.count += 1;
        self.pending = Some(last);
        let cost = last.cost - last.cost_change;
        Some(Iteration { cost, gradient_norm: last.gradient_norm, gain_ratio: 0.0, accepted: false, ..*iteration })
    }

    /// The step to be undone now, and how many in a row that makes.
    pub fn take(&mut self) -> Option<(Iteration, u32)> {
        self.pending.take().map(|step| (step, self.count))
    }

    /// True if a step is known that may be undone.
    pub fn may_undo(&self) -> bool {
        self.last_accepted.is_some() || self.pending.is_some()
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    pub fn write(&self, to: &mut Writer) {
        to.option(self.last_accepted.as_ref(), write_iteration);
        to.option(self.pending.as_ref(), write_iteration);
        to.u32(self.count);
    }

    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        let [last_accepted, pending] = [from.option(read_iteration)?, from.option(read_iteration)?];
        Ok(Self { last_accepted, pending, count: from.u32()? })
    }
}
