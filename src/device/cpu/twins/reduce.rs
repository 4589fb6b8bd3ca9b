//! Reductions over one workgroup (`shaders/reduce.wgsl`).

use super::super::Work;
use crate::real::Real;

/// Workgroups are at most this large ([`Limits::group_size`](crate::device::Limits)).
pub const MAX_GROUP: usize = 256;

/// The values of a workgroup's lanes.
pub type Lanes<R> = [R; MAX_GROUP];

pub fn group_sum<R: Real>(values: &mut Lanes<R>, group_size: usize) -> R {
    let mut half = group_size / 2;
    while half > 0 {
        let (low, high) = values.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(a, b)| *a += *b);
        half /= 2;
    }
    values[0]
}

pub fn group_max<R: Real>(values: &mut Lanes<R>, group_size: usize) -> R {
    let mut half = group_size / 2;
    while half > 0 {
        let (low, high) = values.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(a, b)| *a = larger(*a, *b));
        half /= 2;
    }
    values[0]
}

pub fn larger<R: Real>(a: R, b: R) -> R {
    if b > a { b } else { a }
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

pub fn group_sum_exact<R: Real>(values: &mut [Exact<R>; MAX_GROUP], group_size: usize) -> Exact<R> {
    let mut half = group_size / 2;
    while half > 0 {
        for lane in 0..half {
            values[lane] = values[lane].add(values[lane + half]);
        }
        half /= 2;
    }
    values[0]
}

/// Lane by lane strided sums of `count` values, then the tree: what a single workgroup does.
pub fn strided_sum<R: Real>(work: &Work, count: u32, value: impl Fn(usize) -> R) -> R {
    let mut lanes = [R::ZERO; MAX_GROUP];
    for i in 0..count as usize {
        lanes[i % work.group_size as usize] += value(i);
    }
    group_sum(&mut lanes, work.group_size as usize)
}

pub fn strided_sum_exact<R: Real>(work: &Work, count: u32, value: impl Fn(usize) -> Exact<R>) -> Exact<R> {
    let mut lanes = [Exact::default(); MAX_GROUP];
    for i in 0..count as usize {
        let lane = &mut lanes[i % work.group_size as usize];
        *lane = lane.add(value(i));
    }
    group_sum_exact(&mut lanes, work.group_size as usize)
}

/// Calls `each` with every workgroup's number and its items' range.
pub fn for_each_group(work: &Work, mut each: impl FnMut(usize, std::ops::Range<usize>)) {
    let size = work.group_size as usize;
    let count = work.params.count as usize;
    for group in work.groups.clone() {
        let start = group as usize * size;
        each(group as usize, start.min(count)..(start + size).min(count));
    }
}
