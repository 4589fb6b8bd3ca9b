//! Reductions over one workgroup (`shaders/shared/reduce.wgsl`).

use crate::Workgroups;
use crate::real::Real;
use std::ops::Range;

/// Workgroups are at most this large ([`Limits::group_size`](leastwise_recording::Limits)).
pub const MAX_GROUP: usize = 256;

/// The values of a workgroup's lanes.
pub type Lanes<R> = [R; MAX_GROUP];

/// What one lane of the reduction's first stage adds up (the fan-in of the tree).
const FAN_IN: usize = 16;

/// Combines the lanes of a workgroup by a tree of fan-in 16. Lanes that nothing was added to may be left out of a sum: lanes begin
/// at +0, and so are never −0, the only number that +0 would change.
fn group_fold<T: Copy>(values: &[T], combine: impl Fn(T, T) -> T) -> T {
    let fold = |part: &[T]| part[1..].iter().fold(part[0], |sum, value| combine(sum, *value));
    let first = fold(&values[..FAN_IN.min(values.len())]);
    values.chunks(FAN_IN).skip(1).fold(first, |sum, part| combine(sum, fold(part)))
}

pub fn group_sum<R: Real>(values: &Lanes<R>, group_size: usize) -> R {
    group_fold(&values[..group_size], |a, b| a + b)
}

pub fn group_max<R: Real>(values: &Lanes<R>, group_size: usize) -> R {
    group_fold(&values[..group_size], larger)
}

#[inline(always)]
pub fn larger<R: Real>(a: R, b: R) -> R {
    if b > a { b } else { a }
}

#[inline(always)]
pub fn smaller<R: Real>(a: R, b: R) -> R {
    if b < a { b } else { a }
}

pub fn clamp<R: Real>(value: R, lowest: R, highest: R) -> R {
    smaller(larger(lowest, value), highest)
}

/// A sum and what rounding took from it (Knuth's two-sum).
#[derive(Clone, Copy, Default)]
pub struct Exact<R> {
    pub high: R,
    pub low: R,
}

impl<R: Real> Exact<R> {
    pub fn add(self, other: Self) -> Self {
        let sum = self.high + other.high;
        let part = sum - self.high;
        let rest = (self.high - (sum - part)) + (other.high - part);
        Self { high: sum, low: rest + (self.low + other.low) }
    }
}

pub fn group_sum_exact<R: Real>(values: &[Exact<R>; MAX_GROUP], group_size: usize) -> Exact<R> {
    group_fold(&values[..group_size], Exact::add)
}

/// Lane by lane strided sums of `count` values, then the tree: what a single workgroup does.
pub fn strided_sum<R: Real>(work: &Workgroups, count: u32, value: impl Fn(usize) -> R) -> R {
    let mut lanes = [R::ZERO; MAX_GROUP];
    for i in 0..count as usize {
        lanes[i % work.group_size as usize] += value(i);
    }
    group_sum(&lanes, work.lanes_of(count as usize))
}

pub fn strided_sum_exact<R: Real>(work: &Workgroups, count: u32, value: impl Fn(usize) -> Exact<R>) -> Exact<R> {
    let mut lanes = [Exact::default(); MAX_GROUP];
    for i in 0..count as usize {
        let lane = &mut lanes[i % work.group_size as usize];
        *lane = lane.add(value(i));
    }
    group_sum_exact(&lanes, work.lanes_of(count as usize))
}

/// The elements of every workgroup to do: runs of whole rounds of its lanes, one after the other.
pub fn runs(work: &Workgroups, elements: usize) -> impl Iterator<Item = Range<usize>> {
    let length = elements.div_ceil((work.params.count as usize).max(1)) * work.group_size as usize;
    work.groups.clone().map(move |group| (group as usize * length).min(elements)..((group as usize + 1) * length).min(elements))
}

/// The elements of all of them.
pub fn run_elements(work: &Workgroups, elements: usize) -> usize {
    runs(work, elements).map(|run| run.len()).sum()
}
