//! Fits on the CPU: the lanes of a block are fits, and a run of the program has a few points of each.
//!
//! The algorithm is that of the kernel (`leastwise_program::wgsl::fit_module`), step by step; every loop over lanes is vector
//! code. A lane depends on its own fit alone, so neither threads nor time slices change a bit.

#![expect(clippy::needless_range_loop, reason = "a loop over lanes reads several columns, and is vector code as it stands")]
#![expect(clippy::type_complexity, reason = "bounds are two lists of columns")]

mod system;

use super::allocate::View;
use super::interpreter::Inputs;
use super::lanes::{LANES, Lanes};
use super::parts::{self, Part};
use super::{BlockProgram, Compiled, precision};
use crate::real::Real;
use crate::{Bindings, Evaluator, Workgroups, threads};
use leastwise_program::fit::{FitPlaces, fit_state};
use leastwise_program::{FitArguments, FitLayout, FitProgram, FitWeights, Store};
use leastwise_recording::binding::*;
use system::System;

/// Items that the program is run on at once, about: a call of a module takes as long as a few dozen.
const RUN: usize = 512;

/// Fits in a loop over points.
pub struct FitBlocks {
    block: BlockProgram,
    layout: FitLayout,
}

/// Values that all fits read.
struct Memory<'a, R> {
    args: FitArguments,
    places: FitPlaces,
    starts: &'a [u32],
    data: &'a [R],
    bounds: &'a [R],
    state: &'a [R],
}

/// F, gradient and normal matrix (lower triangle, row by row) of a block's fits.
#[derive(Clone)]
struct Sums<R> {
    cost: Lanes<R>,
    gradient: Vec<Lanes<R>>,
    normal: Vec<Lanes<R>>,
    usable: [bool; LANES],
}

/// Where row `i` of a lower triangle begins.
const fn row_of(i: usize) -> usize {
    i * (i + 1) / 2
}

fn zeros<R: Real>(count: usize) -> Vec<Lanes<R>> {
    vec![[R::ZERO; LANES]; count]
}

impl<R: Real> Sums<R> {
    fn new(n: usize) -> Self {
        Self { cost: [R::ZERO; LANES], gradient: zeros(n), normal: zeros(row_of(n)), usable: [true; LANES] }
    }

    /// Takes the sums of another point in the lanes that moved there.
    fn take(&mut self, other: &Self, moved: &[bool; LANES]) {
        let columns = self.gradient.iter_mut().chain(&mut self.normal).chain([&mut self.cost]);
        let others = other.gradient.iter().chain(&other.normal).chain([&other.cost]);
        for (column, other) in columns.zip(others) {
            choose(column, other, moved);
        }
        // A point that was moved to is usable.
    }
}

/// Takes lanes where the mask says so.
fn choose<R: Real>(column: &mut Lanes<R>, other: &Lanes<R>, mask: &[bool; LANES]) {
    for lane in 0..LANES {
        column[lane] = if mask[lane] { other[lane] } else { column[lane] };
    }
}

/// A compensated sum (Kahan 1965).
fn accumulate<R: Real>(sum: &mut Lanes<R>, low: &mut Lanes<R>, value: impl Fn(usize) -> R) {
    for lane in 0..LANES {
        let addend = value(lane) - low[lane];
        let next = sum[lane] + addend;
        low[lane] = (next - sum[lane]) - addend;
        sum[lane] = next;
    }
}

/// The lanes of a column of a run that are a point's.
fn lanes_of<R>(column: &[R], point: usize) -> &Lanes<R> {
    column[point * LANES..].first_chunk().expect("a column is whole blocks")
}

/// Working memory of a block.
struct Work<R> {
    /// Columns of the parameters, the variables, the datum and the weight, for each point of a run.
    given: Vec<Vec<R>>,
    /// Columns that the program stores.
    stored: Vec<Vec<R>>,
    low: Vec<Lanes<R>>,
    points: usize,
}

/// The fits of a block: the last one is repeated in lanes beyond the end.
struct Block {
    fits: [usize; LANES],
    first: [usize; LANES],
    points: [usize; LANES],
    most: usize,
    is_ragged: bool,
}

impl FitBlocks {
    /// The interpreter's form of a fit.
    pub fn new(fit: &FitProgram) -> Self {
        Self { block: BlockProgram::new(&fit.program), layout: fit.layout.clone() }
    }

    /// The program of a point, which may be run by a module.
    #[cfg(target_arch = "wasm32")]
    pub fn block(&self) -> &BlockProgram {
        &self.block
    }

    /// Makes the iterations of a launch, for the fits of `work`.
    pub fn run<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>, evaluator: Evaluator) {
        let items = work.items();
        let args = FitArguments::of(work.params.words);
        let list = &bindings.words(INDEX)[items];
        let places = self.layout.places(args.points.into(), args.total.into());
        let (starts, data, bounds) = (bindings.words(ARENA), bindings.read(DATA), bindings.read(VECTOR_IN));
        let state = bindings.write(VECTOR_OUT);
        let compiled = self.block.compiled(evaluator, precision::<R>());
        let fits = args.fits as usize;
        let steps = list.len() * self.block.steps(&compiled).max(1) * args.points.max(1) as usize;
        let blocks: Vec<&[u32]> = list.chunks(LANES).collect();
        let memory = Memory { args, places, starts, data, bounds, state };
        let run = |list: &[u32]| self.fit_block(&memory, list, &compiled);
        let results =
            if parts::threads() == 1 { blocks.iter().map(|list| run(list)).collect() } else { threads::map(blocks.clone(), steps, run) };
        for (list, results) in blocks.into_iter().zip(results) {
            for (field, column) in results {
                let column: Lanes<R> = column;
                list.iter().zip(column).for_each(|(fit, value)| state[field * fits + *fit as usize] = value);
            }
        }
    }

    /// The iterations of a block; gives fields of the state and what is to be written there.
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn fit_block<R: Real>(&self, memory: &Memory<R>, list: &[u32], compiled: &Option<Compiled>) -> Vec<(usize, Lanes<R>)> {
        let (layout, args) = (&self.layout, &memory.args);
        let (n, fits) = (layout.free.len(), args.fits as usize);
        let block = self.block_of(memory, list);
        let field = |field: u32| -> Lanes<R> { block.fits.map(|fit| memory.state[field as usize * fits + fit]) };
        let mut values: Vec<Lanes<R>> = (0..layout.parameters).map(field).collect();
        let bound = |number: usize, none: f64| -> Lanes<R> {
            if !layout.bounded {
                return [R::from_f64(none); LANES];
            }
            let each = args.each as usize;
            let stride = if each == 0 { 1 } else { fits };
            block.fits.map(|fit| memory.bounds[number * stride + fit * each])
        };
        let lower: Vec<Lanes<R>> = (0..n).map(|j| bound(j, f64::NEG_INFINITY)).collect();
        let upper: Vec<Lanes<R>> = (0..n).map(|j| bound(n + j, f64::INFINITY)).collect();
        let cost = layout.cost();
        let (mut damping, mut growth) = (field(cost + 1), field(cost + 2));
        for lane in 0..LANES {
            if damping[lane] == R::ZERO {
                (damping[lane], growth[lane]) = (R::from_f64(FitProgram::FIRST_DAMPING), R::from_f64(2.0));
            }
        }
        let mut iterations = field(layout.iterations()).map(|value| value.to_f64() as u32);
        let mut status = [fit_state::RUNNING; LANES];
        let points = (RUN / LANES).min(block.most.max(1));
        let columns = layout.parameters as usize + layout.variables.len() + 2;
        let stored = (FitProgram::BEFORE as usize) + n;
        let mut work = Work {
            given: vec![vec![R::ZERO; points * LANES]; columns],
            stored: vec![vec![R::ZERO; points * LANES]; stored],
            low: zeros(n + 1),
            points,
        };
        let (mut at, mut trial) = (Sums::new(n), Sums::new(n));
        self.evaluate(memory, &block, &values, &mut work, compiled, &mut at);
        for lane in 0..LANES {
            status[lane] = if at.usable[lane] { fit_state::RUNNING } else { fit_state::NON_FINITE };
        }
        let mut system = System::new(n);
        let mut moved = values.clone();
        // The order of `FitTolerances`.
        let [cost_tolerance, step_tolerance, noise, rank] = std::array::from_fn(|number| memory.data[number]);
        let (zero, one, third) = (R::ZERO, R::ONE, R::ONE / R::from_f64(3.0));
        let [half, two, last, least_gain, tiny] = [0.5, 2.0, FitProgram::LAST_DAMPING, FitProgram::LEAST_GAIN, 1e-37].map(R::from_f64);
        for _ in 0..args.rounds {
            for lane in 0..LANES {
                if status[lane] == fit_state::RUNNING {
                    match iterations[lane] >= args.most {
                        true => status[lane] = fit_state::LIMIT,
                        false => iterations[lane] += 1,
                    }
                }
            }
            if status.iter().all(|status| *status != fit_state::RUNNING) {
                break;
            }
            system.scale(&at, layout, &values, (&lower, &upper));
            let diagonal = damping.map(|damping| one + damping);
            let regular = system.factor(&diagonal, zero);
            system.solve(&at);
            let mut still = [true; LANES];
            for (j, &number) in layout.free.iter().enumerate() {
                let (value, trial, step) = (&values[number as usize], &mut moved[number as usize], &mut system.step[j]);
                let (s, lower, upper) = (&system.s[j], &lower[j], &upper[j]);
                for lane in 0..LANES {
                    let target = value[lane] + s[lane] * step[lane];
                    let q = if target < lower[lane] { lower[lane] } else { target };
                    let q = if q > upper[lane] { upper[lane] } else { q };
                    let e = q - value[lane];
                    trial[lane] = q;
                    still[lane] &= e.abs() <= step_tolerance * value[lane].abs();
                    if layout.bounded {
                        step[lane] = if s[lane] == zero { zero } else { e / s[lane] };
                    }
                }
            }
            let predicted = system.predicted(half);
            self.evaluate(memory, &block, &moved, &mut work, compiled, &mut trial);
            let mut accepted = [false; LANES];
            for lane in 0..LANES {
                if status[lane] != fit_state::RUNNING {
                    continue;
                }
                if !regular[lane] {
                    damping[lane] = damping[lane] * growth[lane];
                    growth[lane] = two * growth[lane];
                    if damping[lane] > last {
                        status[lane] = fit_state::SINGULAR;
                    }
                    continue;
                }
                let (before, predicted) = (at.cost[lane], predicted[lane]);
                let (change, room) = (before - trial.cost[lane], noise * before);
                let small = predicted.abs() <= cost_tolerance * before;
                let improves = predicted > zero && change >= least_gain * predicted;
                let even = predicted.abs() <= room && change >= -room;
                if trial.usable[lane] && (improves || even) {
                    let gain = change / if predicted > tiny { predicted } else { tiny };
                    let gain = if gain > one {
                        one
                    } else if gain > zero {
                        gain
                    } else {
                        zero
                    };
                    let gain = two * gain - one;
                    let factor = one - gain * gain * gain;
                    damping[lane] = damping[lane] * if factor > third { factor } else { third };
                    growth[lane] = two;
                    accepted[lane] = true;
                } else {
                    damping[lane] = damping[lane] * growth[lane];
                    growth[lane] = two * growth[lane];
                }
                if trial.usable[lane] && (small || still[lane]) {
                    status[lane] = fit_state::CONVERGED;
                } else if damping[lane] > last {
                    status[lane] = if trial.usable[lane] { fit_state::CONVERGED } else { fit_state::NON_FINITE };
                }
            }
            for &number in &layout.free {
                let number = number as usize;
                choose(&mut values[number], &moved[number], &accepted);
            }
            at.take(&trial, &accepted);
        }
        self.end(&mut system, &at, (&values, &lower, &upper), &mut status, rank)
            .into_iter()
            .chain(layout.free.iter().map(|number| (*number as usize, values[*number as usize])))
            .chain([
                (cost as usize, std::array::from_fn(|lane| if at.usable[lane] { at.cost[lane] } else { R::from_f64(f64::NAN) })),
                (cost as usize + 1, damping),
                (cost as usize + 2, growth),
                (layout.iterations() as usize, iterations.map(|count| R::from_f64(f64::from(count)))),
                (layout.state() as usize, status.map(|status| R::from_f64(f64::from(status)))),
            ])
            .collect()
    }

    /// Standard errors of the fits that are at their end, whose states become final.
    fn end<R: Real>(
        &self,
        system: &mut System<R>,
        at: &Sums<R>,
        (values, lower, upper): (&[Lanes<R>], &[Lanes<R>], &[Lanes<R>]),
        status: &mut [u32; LANES],
        rank: R,
    ) -> Vec<(usize, Lanes<R>)> {
        let layout = &self.layout;
        let over = |status: u32| status == fit_state::CONVERGED || status == fit_state::LIMIT;
        if !status.iter().any(|status| over(*status)) {
            return (0..layout.free.len()).map(|j| (layout.errors() as usize + j, [R::ZERO; LANES])).collect();
        }
        system.scale(at, layout, values, (lower, upper));
        let mut regular = system.factor(&[R::ONE; LANES], rank);
        let mut at_bound = [false; LANES];
        for (j, &number) in layout.free.iter().enumerate() {
            for lane in 0..LANES {
                let value = values[number as usize][lane];
                let is_there = value <= lower[j][lane] || value >= upper[j][lane];
                at_bound[lane] |= is_there;
                // A parameter that stays, other than at a bound, has no influence.
                regular[lane] &= is_there || system.s[j][lane] != R::ZERO;
            }
        }
        let errors = system.errors();
        let fields = (0..).zip(errors).map(|(j, mut column)| {
            for lane in 0..LANES {
                if !regular[lane] || !over(status[lane]) {
                    column[lane] = R::ZERO;
                }
            }
            (layout.errors() as usize + j, column)
        });
        let fields = fields.collect();
        for lane in 0..LANES {
            if status[lane] == fit_state::CONVERGED {
                status[lane] = match (regular[lane], at_bound[lane]) {
                    (false, _) => fit_state::SINGULAR,
                    (true, true) => fit_state::AT_BOUND,
                    (true, false) => fit_state::CONVERGED,
                };
            }
        }
        fields
    }

    fn block_of<R>(&self, memory: &Memory<R>, list: &[u32]) -> Block {
        let fits: [usize; LANES] = std::array::from_fn(|lane| list[lane.min(list.len() - 1)] as usize);
        let points = memory.args.points as usize;
        if !self.layout.ragged {
            return Block { fits, first: fits.map(|fit| fit * points), points: [points; LANES], most: points, is_ragged: false };
        }
        let first = fits.map(|fit| memory.starts[fit] as usize);
        let counts = fits.map(|fit| (memory.starts[fit + 1] - memory.starts[fit]) as usize);
        Block { fits, first, points: counts, most: counts.into_iter().max().unwrap_or(0), is_ragged: true }
    }

    /// The sums at values of the parameters.
    fn evaluate<R: Real>(
        &self,
        memory: &Memory<R>,
        block: &Block,
        values: &[Lanes<R>],
        work: &mut Work<R>,
        compiled: &Option<Compiled>,
        sums: &mut Sums<R>,
    ) {
        let n = self.layout.free.len();
        sums.cost = [R::ZERO; LANES];
        sums.usable = [true; LANES];
        sums.gradient.iter_mut().chain(&mut sums.normal).chain(&mut work.low).for_each(|column| column.fill(R::ZERO));
        for (column, value) in work.given.iter_mut().zip(values) {
            column.as_chunks_mut::<LANES>().0.iter_mut().for_each(|lanes| *lanes = *value);
        }
        for start in (0..block.most).step_by(work.points) {
            let count = work.points.min(block.most - start);
            self.fill(memory, block, start, count, &mut work.given);
            let items = count * LANES;
            let view = |view: &View| match *view {
                View::Given(number) => &work.given[number as usize][..items],
                View::Data(_) | View::Jacobian(_) => &[][..],
            };
            let views = self.block.allocation.views.iter().map(view).collect();
            let inputs = Inputs { count: items, arena: &[], vector: &[], data: &[], bases: Vec::new(), indices: Vec::new(), views };
            let mut columns: Vec<Option<&mut [R]>> = work.stored.iter_mut().map(|column| Some(&mut column[..items])).collect();
            let targets = self.block.allocation.targets.iter().map(|target| match *target {
                Store::Tile(column) => columns[column as usize].take().expect("a column is written by one target"),
                Store::Column(_) | Store::Jacobian(_) => unreachable!("a fit stores in its tile alone"),
            });
            let targets = targets.collect();
            self.block.compute(&inputs, Part { items: 0..items, targets }, compiled);
            for point in 0..count {
                self.add(block, start + point, point, work, sums, n);
            }
        }
        for lane in 0..LANES {
            let mut finite = sums.cost[lane].is_finite();
            for j in 0..n {
                finite &= sums.gradient[j][lane].is_finite() & sums.normal[row_of(j) + j][lane].is_finite();
            }
            sums.usable[lane] &= finite;
        }
    }

    /// Adds a point of every fit to its sums.
    fn add<R: Real>(&self, block: &Block, number: usize, point: usize, work: &mut Work<R>, sums: &mut Sums<R>, n: usize) {
        if block.is_ragged && block.points.iter().any(|points| *points <= number) {
            for (column, values) in work.stored.iter_mut().enumerate() {
                let none = if column == 3 { R::ONE } else { R::ZERO };
                let lanes = &mut values[point * LANES..][..LANES];
                lanes.iter_mut().zip(block.points).filter(|(_, points)| *points <= number).for_each(|(lane, _)| *lane = none);
            }
        }
        let column = |number: usize| lanes_of(&work.stored[number], point);
        let (cost, u, k, valid) = (column(0), column(1), column(2), column(3));
        for lane in 0..LANES {
            sums.usable[lane] &= valid[lane] != R::ZERO;
        }
        let (low, lows) = work.low.split_first_mut().expect("one of F");
        accumulate(&mut sums.cost, low, |lane| cost[lane]);
        for i in 0..n {
            let row = column(FitProgram::BEFORE as usize + i);
            accumulate(&mut sums.gradient[i], &mut lows[i], |lane| u[lane] * row[lane]);
            let mut weighted = [R::ZERO; LANES];
            for lane in 0..LANES {
                weighted[lane] = k[lane] * row[lane];
            }
            for j in 0..=i {
                let (other, sum) = (column(FitProgram::BEFORE as usize + j), &mut sums.normal[row_of(i) + j]);
                for lane in 0..LANES {
                    sum[lane] += weighted[lane] * other[lane];
                }
            }
        }
    }

    /// The variables, data and weights of some points.
    fn fill<R: Real>(&self, memory: &Memory<R>, block: &Block, start: usize, count: usize, given: &mut [Vec<R>]) {
        let (layout, data) = (&self.layout, memory.data);
        let (_, given) = given.split_at_mut(layout.parameters as usize);
        let each = |column: &mut [R], place: u64| {
            for point in 0..count {
                let lanes = &mut column[point * LANES..][..LANES];
                for (lane, value) in lanes.iter_mut().enumerate() {
                    // A fit without so many points has its last one again, or whatever is there: it is not added.
                    let number = (start + point).min(block.points[lane].saturating_sub(1));
                    *value = data[(place as usize + block.first[lane] + number).min(data.len() - 1)];
                }
            }
        };
        let shared = |column: &mut [R], place: u64| {
            for point in 0..count {
                column[point * LANES..][..LANES].fill(data[place as usize + start + point]);
            }
        };
        for (number, is_shared) in layout.variables.iter().enumerate() {
            let (column, place) = (&mut given[number], memory.places.variables[number]);
            if *is_shared { shared(column, place) } else { each(column, place) }
        }
        let variables = layout.variables.len();
        each(&mut given[variables], memory.places.data);
        match layout.weights {
            FitWeights::None => {}
            FitWeights::Shared => shared(&mut given[variables + 1], memory.places.weights),
            FitWeights::Each => each(&mut given[variables + 1], memory.places.weights),
        }
    }
}
