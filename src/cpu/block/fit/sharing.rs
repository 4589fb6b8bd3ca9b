//! Parameters that fits share: the own parameters of a block of fits are taken out of their normal equations.
//!
//! The algorithm is that of the kernel (`leastwise_program::wgsl::fit_module`).

use super::super::lanes::LANES;
use super::sums::{Sums, Work};
use super::{Block, Compiled, FitBlocks, Memory, SHARE, row_of};
use crate::real::Real;
use crate::{Bindings, Evaluator, Workgroups, threads};
use leastwise_program::fit::fit_sums;
use leastwise_program::{FitArguments, FitProgram};
use leastwise_recording::binding::*;

/// Normal equations of one fit, whose own columns are factored. Rows of own parameters come before those of shared ones.
struct Eliminated<R> {
    own: usize,
    shared: usize,
    /// Factor of the own columns, and what they leave of the shared block; row by row.
    factor: Vec<R>,
    /// The gradient without the solved own part.
    rest: Vec<R>,
    /// Scales to a diagonal of 1, 0 for parameters that stay; true for own parameters that the data determine.
    scale: Vec<R>,
    known: Vec<bool>,
}

impl<R: Real> Eliminated<R> {
    fn new(own: usize, shared: usize, sums: &Sums<R>, lane: usize, held: impl Fn(usize) -> bool, rank: R) -> Self {
        let (all, least) = (own + shared, R::from_f64(FitProgram::LEAST_CURVATURE));
        let mut factor: Vec<R> = sums.normal.iter().map(|entry| entry[lane]).collect();
        let scale = (0..all).map(|j| match factor[row_of(j) + j] {
            _ if j >= own => R::ONE,
            curvature if curvature > least && !held(j) => R::ONE / curvature.sqrt(),
            _ => R::ZERO,
        });
        let scale: Vec<R> = scale.collect();
        let mut rest: Vec<R> = (0..all).map(|j| sums.gradient[j][lane] * scale[j]).collect();
        let mut known = vec![false; own];
        for j in 0..own {
            let mut pivot = if scale[j] == R::ZERO { R::ZERO } else { R::ONE };
            for k in 0..j {
                let l = factor[row_of(j) + k];
                pivot -= l * l;
            }
            known[j] = pivot > rank;
            let root = if known[j] { pivot } else { R::ONE }.sqrt();
            factor[row_of(j) + j] = root;
            for i in j + 1..all {
                let mut entry = factor[row_of(i) + j] * scale[i] * scale[j];
                for k in 0..j {
                    entry -= factor[row_of(i) + k] * factor[row_of(j) + k];
                }
                factor[row_of(i) + j] = if known[j] { entry / root } else { R::ZERO };
            }
            let y = if known[j] { rest[j] / root } else { R::ZERO };
            for i in j + 1..all {
                let l = factor[row_of(i) + j];
                rest[i] -= l * y;
            }
        }
        let before: Vec<R> = (own..all).map(|k| factor[row_of(k) + k]).collect();
        for k in own..all {
            for l in own..=k {
                for j in 0..own {
                    let product = factor[row_of(k) + j] * factor[row_of(l) + j];
                    factor[row_of(k) + l] -= product;
                }
            }
        }
        // A shared parameter that own ones make up for: what is left is rounding.
        for k in own..all {
            if factor[row_of(k) + k] <= rank * before[k - own] {
                (own..=k).for_each(|l| factor[row_of(k) + l] = R::ZERO);
                (k..all).for_each(|i| factor[row_of(i) + k] = R::ZERO);
                rest[k] = R::ZERO;
            }
        }
        Self { own, shared, factor, rest, scale, known }
    }

    /// Part of the reduced equations: the lower triangle row by row, then the gradient.
    fn reduced(&self) -> impl Iterator<Item = R> {
        let all = self.own + self.shared;
        let entries = (self.own..all).flat_map(move |k| (self.own..=k).map(move |l| self.factor[row_of(k) + l]));
        entries.chain(self.rest[self.own..].iter().copied())
    }

    /// Standard errors of the own parameters, where shared ones have this covariance.
    fn errors(&self, covariance: &[R]) -> Vec<R> {
        let Self { own, shared, factor, .. } = self;
        let (own, shared) = (*own, *shared);
        let mut crossed = vec![R::ZERO; shared * own];
        for k in 0..shared {
            for j in (0..own).rev() {
                let mut left = factor[row_of(own + k) + j];
                for i in j + 1..own {
                    left -= factor[row_of(i) + j] * crossed[k * own + i];
                }
                crossed[k * own + j] = left / factor[row_of(j) + j];
            }
        }
        let error = |j: usize| {
            let (mut column, mut variance) = (vec![R::ZERO; own], R::ZERO);
            for i in j..own {
                let mut left = if i == j { R::ONE } else { R::ZERO };
                for k in j..i {
                    left -= factor[row_of(i) + k] * column[k];
                }
                column[i] = left / factor[row_of(i) + i];
                variance += column[i] * column[i];
            }
            for k in 0..shared {
                for l in 0..shared {
                    variance += crossed[k * own + j] * covariance[k * shared + l] * crossed[l * own + j];
                }
            }
            let is_known = self.known[j] && variance > R::ZERO;
            if is_known { self.scale[j] * variance.sqrt() } else { R::ZERO }
        };
        (0..own).map(error).collect()
    }
}

impl FitBlocks {
    /// Gives parts of the reduced equations of the fits of `work`, or their standard errors.
    pub(super) fn run_shared<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>, evaluator: Evaluator) {
        let args = FitArguments::of(work.params.words);
        let (items, lanes) = (work.items(), args.lanes as usize);
        let list: Vec<u32> = (items.start as u32 / lanes as u32..items.end as u32 / lanes as u32).collect();
        let places = self.layout.places(args.points.into(), args.total.into());
        let (starts, data, bounds) = (bindings.words(ARENA), bindings.read(DATA), bindings.read(VECTOR_IN));
        let covariance = bindings.read(STATE);
        let (state, partials) = (bindings.write(VECTOR_OUT), bindings.write(PARTIALS));
        let compiled = self.block.compiled(evaluator, crate::block::precision::<R>());
        let fits = args.fits as usize;
        let steps = list.len() * self.block.steps(&compiled).max(1) * args.points.max(1) as usize;
        let memory = Memory { args, places, starts, data, bounds, state };
        let run = |list: &[u32]| self.reduce_share(&memory, covariance, list, &compiled);
        let shares: Vec<&[u32]> = list.chunks(SHARE).collect();
        let results: Vec<Vec<Vec<R>>> = match super::parts::threads() {
            1 => shares.iter().map(|list| run(list)).collect(),
            _ => threads::map(shares.clone(), steps, run),
        };
        let (target, first) = match args.rounds {
            0 => (partials, 0),
            _ => (state, self.layout.errors() as usize),
        };
        for (list, columns) in shares.into_iter().zip(results) {
            for (column, field) in columns.into_iter().zip(first..) {
                let values = list.iter().zip(column).filter(|(_, value)| args.rounds == 0 || value.is_finite());
                values.for_each(|(fit, value)| target[field * fits + *fit as usize] = value);
            }
        }
    }

    /// Columns of what a share of the fits gives.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn reduce_share<R: Real>(&self, memory: &Memory<R>, covariance: &[R], list: &[u32], compiled: &Option<Compiled>) -> Vec<Vec<R>> {
        let (layout, own, shared) = (&self.layout, self.layout.free.len(), self.shared);
        let is_sum = memory.args.rounds == 0;
        let count = if is_sum { fit_sums::count(shared as u32) as usize } else { own };
        let mut columns = vec![Vec::with_capacity(list.len()); count];
        let mut work = Work::new(layout, own + shared, memory);
        let mut block = Block::new(layout);
        let mut sums = Sums::new(own + shared);
        let rank = memory.data[3];
        for fits in list.chunks(LANES) {
            for lane in 0..LANES {
                self.load(memory, &mut block, &mut work, lane, fits, lane.min(fits.len() - 1));
                block.active[lane] = lane < fits.len();
            }
            self.evaluate(memory, &block, &mut work, compiled, &mut sums);
            for lane in 0..fits.len() {
                let mut put =
                    |values: &mut dyn Iterator<Item = R>| columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
                if !sums.usable[lane] {
                    // It gives nothing but that it is one of these; its errors stay as they are.
                    let none = |q: usize| if q + 1 == count { R::ONE } else { R::ZERO };
                    put(&mut (0..count).map(|q| if is_sum { none(q) } else { R::from_f64(f64::NAN) }));
                    continue;
                }
                let held = |j: usize| {
                    let (value, slope) = (block.values[layout.free[j] as usize][lane], sums.gradient[j][lane]);
                    value <= block.lower[j][lane] && slope > R::ZERO || value >= block.upper[j][lane] && slope < R::ZERO
                };
                let eliminated = Eliminated::new(own, shared, &sums, lane, held, rank);
                match is_sum {
                    true => {
                        let taken = (0..own).filter(|&j| eliminated.known[j] || held(j)).count();
                        let freedom = R::from_f64(block.points[lane] as f64 - taken as f64);
                        put(&mut eliminated.reduced().chain([sums.cost[lane], freedom, R::ZERO]))
                    }
                    false => put(&mut eliminated.errors(covariance).into_iter()),
                }
            }
        }
        columns
    }
}
