//! Fits on the CPU: the lanes of a block are fits, and a run of the program has a few points of each.
//!
//! The algorithm is that of the kernel (`leastwise_program::wgsl::fit_module`), step by step; every loop over lanes is vector
//! code. A lane that is at its fit's end takes the next one of the list at once, so that none waits for the slowest. It depends on
//! its own fit alone, so neither threads nor time slices change a bit.

#![expect(clippy::needless_range_loop, reason = "a loop over lanes reads several columns, and is vector code as it stands")]

mod sharing;
mod sums;
mod system;

use super::lanes::{LANES, Lanes};
use super::parts;
use super::{BlockProgram, Compiled, precision};
use crate::real::Real;
#[cfg(target_arch = "wasm32")]
use crate::wasm::SumsForm;
use crate::wasm::is_summed;
use crate::{Bindings, Evaluator, Workgroups, threads};
use leastwise_kernels::ARGUMENT_WORDS;
use leastwise_program::fit::{FitPlaces, fit_state};
use leastwise_program::{FitArguments, FitLayout, FitProgram};
use leastwise_recording::binding::*;
use sums::{Sums, Work};
use system::System;

/// Fits that the lanes of a block take one after the other.
const SHARE: usize = 512;
/// The same of fits of many parameters.
const WIDE_SHARE: usize = 2 * LANES;

/// Steps of all points' programs between two looks at the clock, where each fit takes a few iterations.
const SLICE: u32 = 1 << 20;

/// Fits in a loop over points.
pub struct FitBlocks {
    block: BlockProgram,
    layout: FitLayout,
    /// Parameters that all fits share, where own ones are to be taken out; else 0.
    shared: usize,
    /// True if a dispatch has a workgroup a fit.
    is_wide: bool,
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

/// First entry of a row of a lower triangle.
const fn row_of(i: usize) -> usize {
    i * (i + 1) / 2
}

fn zeros<R: Real>(count: usize) -> Vec<Lanes<R>> {
    vec![[R::ZERO; LANES]; count]
}

/// Takes lanes where the mask says so.
fn choose<R: Real>(column: &mut Lanes<R>, other: &Lanes<R>, mask: &[bool; LANES]) {
    for lane in 0..LANES {
        column[lane] = if mask[lane] { other[lane] } else { column[lane] };
    }
}

/// The fits that lanes have, and how far they are.
struct Block<R> {
    /// Place of each lane's fit in the list; lanes that are not active have none.
    place: [usize; LANES],
    active: [bool; LANES],
    fits: [usize; LANES],
    first: [usize; LANES],
    points: [usize; LANES],
    /// Evaluations of this launch.
    round: [u32; LANES],
    status: [u32; LANES],
    iterations: [u32; LANES],
    damping: Lanes<R>,
    growth: Lanes<R>,
    /// Parameters, those of the trial, and bounds of the free ones.
    values: Vec<Lanes<R>>,
    moved: Vec<Lanes<R>>,
    lower: Vec<Lanes<R>>,
    upper: Vec<Lanes<R>>,
}

/// A step as it is judged.
struct Tried<R> {
    regular: [bool; LANES],
    still: [bool; LANES],
    predicted: Lanes<R>,
}

impl FitBlocks {
    /// The interpreter's form of a fit.
    pub fn new(fit: &FitProgram) -> Self {
        let (layout, shared, is_wide) = (fit.layout.clone(), fit.shared.len(), fit.is_wide());
        let columns = layout.free_count() + shared as u32;
        let mut block = BlockProgram::new(&fit.program);
        block.has_own_exp = is_summed(&fit.program, columns);
        #[cfg(target_arch = "wasm32")]
        if block.has_own_exp {
            block.linked = crate::wasm::Linked::of_sums(&fit.program, SumsForm::new(&layout, columns));
        }
        Self { block, layout, shared, is_wide }
    }

    /// The program of a point, which may be run by a module.
    #[cfg(target_arch = "wasm32")]
    pub fn block(&self) -> &BlockProgram {
        &self.block
    }

    /// Items of a launch between two looks at the clock, on one thread.
    pub fn slice(&self, words: [u32; ARGUMENT_WORDS]) -> u32 {
        let FitArguments { points, lanes, .. } = FitArguments::of(words);
        let parameters = self.layout.free.len() + self.shared;
        let (matrix, least) = if self.is_wide { (row_of(parameters) as u32, LANES as u32) } else { (0, 0) };
        let fits = SLICE / (self.block.length() + matrix).saturating_mul(points).max(1);
        fits.max(least).saturating_mul(lanes)
    }

    /// Makes the iterations of a launch, for the fits of `work`.
    pub fn run<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>, evaluator: Evaluator) {
        if self.shared > 0 {
            return self.run_shared(work, bindings, evaluator);
        }
        let items = work.items();
        let args = FitArguments::of(work.params.words);
        let lanes = args.lanes as usize;
        let list = &bindings.words(INDEX)[items.start / lanes..items.end / lanes];
        let places = self.layout.places(args.points.into(), args.total.into());
        let (starts, data, bounds) = (bindings.words(ARENA), bindings.read(DATA), bindings.read(VECTOR_IN));
        let state = bindings.write(VECTOR_OUT);
        let compiled = self.block.compiled(evaluator, precision::<R>());
        let fits = args.fits as usize;
        let steps = list.len() * self.block.steps(&compiled).max(1) * args.points.max(1) as usize;
        let share = if self.is_wide { WIDE_SHARE } else { SHARE };
        let shares: Vec<&[u32]> = list.chunks(share).collect();
        let memory = Memory { args, places, starts, data, bounds, state };
        let run = |list: &[u32]| self.fit_share(&memory, list, &compiled);
        let results =
            if parts::threads() == 1 { shares.iter().map(|list| run(list)).collect() } else { threads::map(shares.clone(), steps, run) };
        for (list, columns) in shares.into_iter().zip(results) {
            for (field, column) in self.fields().zip(columns) {
                let column: Vec<R> = column;
                list.iter().zip(column).for_each(|(fit, value)| state[field * fits + *fit as usize] = value);
            }
        }
    }

    /// The fields that a launch writes: free parameters, then those from the first error on.
    fn fields(&self) -> impl Iterator<Item = usize> {
        let free = self.layout.free.iter().map(|number| *number as usize);
        free.chain(self.layout.errors() as usize..self.layout.fields() as usize)
    }

    /// The iterations of a share of the fits; gives a column for each of [`fields`](Self::fields).
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn fit_share<R: Real>(&self, memory: &Memory<R>, list: &[u32], compiled: &Option<Compiled>) -> Vec<Vec<R>> {
        let (layout, args) = (&self.layout, &memory.args);
        let n = layout.free.len();
        let mut columns = vec![vec![R::ZERO; list.len()]; self.fields().count()];
        let mut work = Work::new(layout, n, memory);
        let mut block = Block::new(layout);
        for lane in 0..LANES {
            // Lanes beyond the end have a fit that others have, and give nothing.
            self.load(memory, &mut block, &mut work, lane, list, lane.min(list.len() - 1));
            block.active[lane] = lane < list.len();
        }
        let mut next = LANES.min(list.len());
        let (mut at, mut trial) = (Sums::new(n), Sums::new(n));
        let mut system = System::new(n);
        let mut tried = Tried { regular: [true; LANES], still: [false; LANES], predicted: [R::ZERO; LANES] };
        // The order of `FitTolerances`.
        let [cost_tolerance, step_tolerance, noise, rank] = std::array::from_fn(|number| memory.data[number]);
        loop {
            self.evaluate(memory, &block, &mut work, compiled, &mut trial);
            let accepted = block.judge(&tried, &at, &trial, cost_tolerance, noise);
            for &number in &layout.free {
                let number = number as usize;
                choose(&mut block.values[number], &block.moved[number], &accepted);
            }
            at.take(&trial, &accepted);
            let (over, ended) = block.go_on(args);
            system.scale(&at, layout, &block.values, &block.lower, &block.upper);
            let diagonal = std::array::from_fn(|lane| if over[lane] { R::ONE } else { R::ONE + block.damping[lane] });
            let least = over.map(|over| if over { rank } else { R::ZERO });
            tried.regular = system.factor(&diagonal, &least);
            let mut errors = Vec::new();
            if over.contains(&true) {
                errors = self.end(&system, &mut block, &over, &tried.regular);
            }
            system.solve(&at);
            block.step(layout, &mut system, step_tolerance, &mut tried);
            for lane in 0..LANES {
                if !ended[lane] {
                    block.round[lane] += 1;
                    continue;
                }
                let place = block.place[lane];
                let cost = if at.usable[lane] { at.cost[lane] } else { R::from_f64(f64::NAN) };
                let count = |number: u32| R::from_f64(f64::from(number));
                let values = layout.free.iter().map(|number| block.values[*number as usize][lane]);
                let errors = (0..n).map(|j| if over[lane] { errors[j][lane] } else { R::ZERO });
                let others = [cost, count(block.iterations[lane]), count(block.status[lane]), block.damping[lane], block.growth[lane]];
                columns.iter_mut().zip(values.chain(errors).chain(others)).for_each(|(column, value)| column[place] = value);
                block.active[lane] = next < list.len();
                if block.active[lane] {
                    self.load(memory, &mut block, &mut work, lane, list, next);
                    next += 1;
                }
            }
            if !block.active.contains(&true) {
                return columns;
            }
        }
    }

    /// Gives a lane a fit of the list.
    fn load<R: Real>(&self, memory: &Memory<R>, block: &mut Block<R>, work: &mut Work<R>, lane: usize, list: &[u32], place: usize) {
        let (layout, args) = (&self.layout, &memory.args);
        let (fit, fits) = (list[place] as usize, args.fits as usize);
        let field = |field: u32| memory.state[field as usize * fits + fit];
        block.place[lane] = place;
        block.fits[lane] = fit;
        (block.first[lane], block.points[lane]) = match layout.ragged {
            true => (memory.starts[fit] as usize, (memory.starts[fit + 1] - memory.starts[fit]) as usize),
            false => (fit, args.points as usize),
        };
        for number in 0..layout.parameters {
            block.values[number as usize][lane] = field(number);
        }
        if layout.bounded {
            let (each, n) = (args.each as usize, layout.free.len());
            let stride = if each == 0 { 1 } else { fits };
            for (j, &number) in layout.free.iter().enumerate() {
                let [lower, upper] = [j, n + j].map(|number| memory.bounds[number * stride + fit * each]);
                block.lower[j][lane] = lower;
                block.upper[j][lane] = upper;
                block.values[number as usize][lane] = clamp(field(number), lower, upper);
            }
        }
        for (moved, values) in block.moved.iter_mut().zip(&block.values) {
            moved[lane] = values[lane];
        }
        let damping = field(layout.damping());
        (block.damping[lane], block.growth[lane]) = match damping == R::ZERO {
            true => (R::from_f64(FitProgram::FIRST_DAMPING), R::from_f64(2.0)),
            false => (damping, field(layout.damping() + 1)),
        };
        block.iterations[lane] = field(layout.iterations()).to_f64() as u32;
        block.status[lane] = fit_state::RUNNING;
        block.round[lane] = 0;
        work.load(layout, memory, block, lane);
    }

    /// Standard errors of the fits that are at their end, whose states become final.
    fn end<R: Real>(&self, system: &System<R>, block: &mut Block<R>, over: &[bool; LANES], regular: &[bool; LANES]) -> Vec<Lanes<R>> {
        let mut regular = *regular;
        let mut at_bound = [false; LANES];
        for (j, &number) in self.layout.free.iter().enumerate() {
            for lane in 0..LANES {
                let value = block.values[number as usize][lane];
                let is_there = value <= block.lower[j][lane] || value >= block.upper[j][lane];
                at_bound[lane] |= is_there;
                // A parameter that stays, other than at a bound, has no influence.
                regular[lane] &= is_there || system.s[j][lane] != R::ZERO;
            }
        }
        let mut errors = system.errors(over);
        for column in &mut errors {
            for lane in 0..LANES {
                column[lane] = if regular[lane] { column[lane] } else { R::ZERO };
            }
        }
        for lane in 0..LANES {
            if over[lane] && block.status[lane] == fit_state::CONVERGED {
                block.status[lane] = match (regular[lane], at_bound[lane]) {
                    (false, _) => fit_state::SINGULAR,
                    (true, true) => fit_state::AT_BOUND,
                    (true, false) => fit_state::CONVERGED,
                };
            }
        }
        errors
    }
}

/// The nearest value that is within bounds.
fn clamp<R: Real>(value: R, lower: R, upper: R) -> R {
    let value = if value < lower { lower } else { value };
    if value > upper { upper } else { value }
}

impl<R: Real> Block<R> {
    fn new(layout: &FitLayout) -> Self {
        let (parameters, n) = (layout.parameters as usize, layout.free.len());
        Self {
            place: [0; LANES],
            active: [false; LANES],
            fits: [0; LANES],
            first: [0; LANES],
            points: [0; LANES],
            round: [0; LANES],
            status: [fit_state::RUNNING; LANES],
            iterations: [0; LANES],
            damping: [R::ZERO; LANES],
            growth: [R::ZERO; LANES],
            values: zeros(parameters),
            moved: zeros(parameters),
            lower: vec![[R::from_f64(f64::NEG_INFINITY); LANES]; n],
            upper: vec![[R::from_f64(f64::INFINITY); LANES]; n],
        }
    }

    /// Accepts or rejects the steps to trials, of which the first of a launch is where its fit is; ends fits where they do.
    fn judge(&mut self, tried: &Tried<R>, at: &Sums<R>, trials: &Sums<R>, cost_tolerance: R, noise: R) -> [bool; LANES] {
        let (zero, one, third) = (R::ZERO, R::ONE, R::ONE / R::from_f64(3.0));
        let [two, last, least_gain, tiny] = [2.0, FitProgram::LAST_DAMPING, FitProgram::LEAST_GAIN, 1e-37].map(R::from_f64);
        let mut accepted = [false; LANES];
        for lane in 0..LANES {
            if !self.active[lane] {
                continue;
            }
            let usable = trials.usable[lane];
            let (damping, growth, status) = (&mut self.damping[lane], &mut self.growth[lane], &mut self.status[lane]);
            if self.round[lane] == 0 {
                accepted[lane] = true;
                *status = if usable { fit_state::RUNNING } else { fit_state::NON_FINITE };
                continue;
            }
            if !tried.regular[lane] {
                *damping = *damping * *growth;
                *growth = two * *growth;
                if *damping > last {
                    *status = fit_state::SINGULAR;
                }
                continue;
            }
            let (before, predicted) = (at.cost[lane], tried.predicted[lane]);
            let (change, room) = (before - trials.cost[lane], noise * before);
            let small = predicted.abs() <= cost_tolerance * before;
            let improves = predicted > zero && change >= least_gain * predicted;
            let even = predicted.abs() <= room && change >= -room;
            if usable && (improves || even) {
                let gain = change / if predicted > tiny { predicted } else { tiny };
                let gain = two * clamp(gain, zero, one) - one;
                let factor = one - gain * gain * gain;
                *damping = *damping * if factor > third { factor } else { third };
                *growth = two;
                accepted[lane] = true;
            } else {
                *damping = *damping * *growth;
                *growth = two * *growth;
            }
            if usable && (small || tried.still[lane]) {
                *status = fit_state::CONVERGED;
            } else if *damping > last {
                *status = if usable { fit_state::CONVERGED } else { fit_state::NON_FINITE };
            }
        }
        accepted
    }

    /// Counts iterations. Gives the fits that are at their end and have errors, and all that this launch is over for.
    fn go_on(&mut self, args: &FitArguments) -> ([bool; LANES], [bool; LANES]) {
        let (mut over, mut ended) = ([false; LANES], [false; LANES]);
        for lane in 0..LANES {
            let status = &mut self.status[lane];
            let last = self.round[lane] >= args.rounds;
            if self.active[lane] && *status == fit_state::RUNNING && !last {
                match self.iterations[lane] >= args.most {
                    true => *status = fit_state::LIMIT,
                    false => self.iterations[lane] += 1,
                }
            }
            over[lane] = self.active[lane] && (*status == fit_state::CONVERGED || *status == fit_state::LIMIT);
            ended[lane] = self.active[lane] && (*status != fit_state::RUNNING || last);
        }
        (over, ended)
    }

    /// The solved steps, within bounds, and what the models of F predict of them.
    fn step(&mut self, layout: &FitLayout, system: &mut System<R>, step_tolerance: R, tried: &mut Tried<R>) {
        tried.still = [true; LANES];
        for (j, &number) in layout.free.iter().enumerate() {
            let (value, moved, step) = (&self.values[number as usize], &mut self.moved[number as usize], &mut system.step[j]);
            let (s, lower, upper) = (&system.s[j], &self.lower[j], &self.upper[j]);
            for lane in 0..LANES {
                let target = clamp(value[lane] + s[lane] * step[lane], lower[lane], upper[lane]);
                let e = target - value[lane];
                moved[lane] = target;
                tried.still[lane] &= e.abs() <= step_tolerance * value[lane].abs();
                if layout.bounded {
                    step[lane] = if s[lane] == R::ZERO { R::ZERO } else { e / s[lane] };
                }
            }
        }
        tried.predicted = system.predicted(R::from_f64(0.5));
    }
}
