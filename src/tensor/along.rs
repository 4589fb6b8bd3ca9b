//! Launches of the kernels that work along an axis: running sums, recurrences, merges of sorted runs, elements by numbers, and sums by numbers.
//!
//! Arrays are `[outer, length, inner]`, the axis in the middle.

use super::attention::Launch;
use leastwise_device::Limits;
use leastwise_kernels::tensor;

fn product(sizes: &[u32]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |all, &size| all.checked_mul(size.into()))
}

/// An array with an axis in the middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Along {
    /// Elements of all axes before.
    pub outer: u32,
    /// Length of the axis.
    pub length: u32,
    /// Elements of all axes behind.
    pub inner: u32,
}

impl Along {
    /// Running sums that begin anew every `chunk` elements, from the last one on where they are reversed. As of all of these, `None`
    /// where a device with these limits can't have so many items in a dispatch.
    pub fn scan(&self, chunk: u32, reverse: bool, limits: &Limits) -> Option<Launch> {
        let Self { outer, length, inner } = *self;
        let args = tensor::Scan { length, inner, chunk, reverse: reverse.into() };
        Launch::new(args, product(&[outer, length.div_ceil(chunk), inner])?, limits)
    }

    /// Running sums of whole numbers, or their products, that begin anew every `chunk` elements.
    pub fn scan_words(&self, chunk: u32, products: bool, limits: &Limits) -> Option<Launch> {
        let Self { outer, length, inner } = *self;
        let args = tensor::ScanWords { length, inner, chunk, products: products.into() };
        Launch::new(args, product(&[outer, length.div_ceil(chunk), inner])?, limits)
    }

    /// Recurrences of first order, from the last element on where they are reversed.
    pub fn recur(&self, reverse: bool, limits: &Limits) -> Option<Launch> {
        let Self { outer, length, inner } = *self;
        Launch::new(tensor::Recur { length, inner, reverse: reverse.into() }, product(&[outer, inner])?, limits)
    }

    /// `taken` elements along the axis, by their numbers.
    pub fn take(&self, taken: u32, limits: &Limits) -> Option<Launch> {
        let Self { outer, length, inner } = *self;
        Launch::new(tensor::Take { length, taken, inner }, product(&[outer, taken, inner])?, limits)
    }

    /// The adjoint of [`take`](Self::take): sums, or the last place of those that were taken. `lists` is 1 or `inner`.
    pub fn scatter(&self, taken: u32, lists: u32, latest: bool, limits: &Limits) -> Option<Launch> {
        let Self { outer, length, inner } = *self;
        let args = tensor::Scatter { length, taken, inner, lists, latest: latest.into() };
        Launch::new(args, product(&[outer, length, inner])?, limits)
    }

    /// Sums of whole numbers by the numbers of their places, as those of [`scatter`](Self::scatter).
    pub fn scatter_words(&self, taken: u32, lists: u32, limits: &Limits) -> Option<Launch> {
        let Self { outer, length, inner } = *self;
        let args = tensor::ScatterWords { length, taken, inner, lists };
        Launch::new(args, product(&[outer, length, inner])?, limits)
    }
}

/// A pass of a merge sort of rows: sorted runs of `width` keys are merged in pairs.
pub fn merge(rows: u32, length: u32, width: u32, limits: &Limits) -> Option<Launch> {
    Launch::new(tensor::Merge { length, width }, product(&[rows, length])?, limits)
}

/// The same of keys that are whole numbers.
pub fn merge_words(rows: u32, length: u32, width: u32, limits: &Limits) -> Option<Launch> {
    Launch::new(tensor::MergeWords { length, width }, product(&[rows, length])?, limits)
}
