//! F, gradient and normal matrix of a block's fits: a few points of all of them at a time.

use super::super::allocate::View;
use super::super::interpreter::Inputs;
use super::super::parts::Part;
use super::{Block, Compiled, FitBlocks, Memory, choose, row_of, zeros};
use crate::block::lanes::{LANES, Lanes};
use crate::real::Real;
use leastwise_program::{FitLayout, FitProgram, FitWeights, Store};

/// Items that the program is run on at once, about: a call of a module takes as long as a few dozen.
const RUN: usize = 512;

/// Points at most of which a block keeps what is given; of more it is brought anew in each evaluation.
const KEPT: usize = 128;

/// Lanes whose sums stay in registers while the points of a run are added.
const TOGETHER: usize = 8;

/// Sums over points; the lower triangle of the normal matrix row by row.
#[derive(Clone)]
pub(super) struct Sums<R> {
    pub cost: Lanes<R>,
    pub gradient: Vec<Lanes<R>>,
    pub normal: Vec<Lanes<R>>,
    pub usable: [bool; LANES],
}

impl<R: Real> Sums<R> {
    pub fn new(n: usize) -> Self {
        Self { cost: [R::ZERO; LANES], gradient: zeros(n), normal: zeros(row_of(n)), usable: [true; LANES] }
    }

    /// Takes the sums of another point in the lanes that moved there.
    pub fn take(&mut self, other: &Self, moved: &[bool; LANES]) {
        let columns = self.gradient.iter_mut().chain(&mut self.normal).chain([&mut self.cost]);
        let others = other.gradient.iter().chain(&other.normal).chain([&other.cost]);
        for (column, other) in columns.zip(others) {
            choose(column, other, moved);
        }
        for lane in 0..LANES {
            self.usable[lane] = if moved[lane] { other.usable[lane] } else { self.usable[lane] };
        }
    }
}

/// Lanes as loops take them.
fn few<R>(values: &[R]) -> &[[R; TOGETHER]] {
    values.as_chunks().0
}

/// Compensated sums (Kahan 1965) of `count` points.
#[inline(always)]
fn accumulate<R: Real>(sums: &mut Lanes<R>, lows: &mut Lanes<R>, count: usize, value: impl Fn(usize) -> [R; TOGETHER]) {
    let (sums, lows) = (sums.as_chunks_mut::<TOGETHER>().0, lows.as_chunks_mut::<TOGETHER>().0);
    for (part, (to_sum, to_low)) in sums.iter_mut().zip(lows).enumerate() {
        let (mut sum, mut low) = (*to_sum, *to_low);
        for point in 0..count {
            let value = value(point * (LANES / TOGETHER) + part);
            for lane in 0..TOGETHER {
                let addend = value[lane] - low[lane];
                let next = sum[lane] + addend;
                low[lane] = (next - sum[lane]) - addend;
                sum[lane] = next;
            }
        }
        (*to_sum, *to_low) = (sum, low);
    }
}

/// Sums of products of `count` points.
#[inline(always)]
fn add_products<R: Real>(sums: &mut Lanes<R>, count: usize, a: &[[R; TOGETHER]], b: &[[R; TOGETHER]]) {
    for (part, to) in sums.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        let mut sum = *to;
        for point in 0..count {
            let item = point * (LANES / TOGETHER) + part;
            let (a, b) = (&a[item], &b[item]);
            for lane in 0..TOGETHER {
                sum[lane] += a[lane] * b[lane];
            }
        }
        *to = sum;
    }
}

/// Working memory of a block.
pub(super) struct Work<R> {
    /// Columns of the parameters, for each point of a run.
    parameters: Vec<Vec<R>>,
    /// Columns of the variables, the datum and the weight: for all points where `kept`, else for those of a run.
    given: Vec<Vec<R>>,
    kept: bool,
    /// Columns that the program stores, and rows of J times k.
    stored: Vec<Vec<R>>,
    weighted: Vec<R>,
    low: Vec<Lanes<R>>,
    /// 1 in lanes where all is defined and finite, else 0, and the points that lanes still have: of modules.
    #[cfg(target_arch = "wasm32")]
    usable: Lanes<R>,
    #[cfg(target_arch = "wasm32")]
    left: Lanes<R>,
    /// Points of a run.
    run: usize,
}

/// A number of every point: the same for all fits, or one for each; and its place.
fn given(layout: &FitLayout, memory: &Memory<impl Real>) -> Vec<Option<(bool, usize)>> {
    let places = &memory.places;
    let variables = layout.variables.iter().zip(&places.variables).map(|(shared, place)| Some((*shared, *place as usize)));
    let weights = match layout.weights {
        FitWeights::None => None,
        FitWeights::Shared => Some((true, places.weights as usize)),
        FitWeights::Each => Some((false, places.weights as usize)),
    };
    variables.chain([Some((false, places.data as usize)), weights]).collect()
}

impl<R: Real> Work<R> {
    /// For so many columns of J.
    pub fn new(layout: &FitLayout, columns: usize, memory: &Memory<R>) -> Self {
        let points = memory.args.points.max(1) as usize;
        let kept = points <= KEPT;
        let run = (RUN / LANES).min(points);
        let column = |points: usize| vec![R::ZERO; points * LANES];
        let stored = FitProgram::BEFORE as usize + columns;
        let mut work = Self {
            parameters: vec![column(run); layout.parameters as usize],
            given: vec![column(if kept { points } else { run }); layout.variables.len() + 2],
            kept,
            stored: vec![column(run); stored],
            weighted: column(run),
            low: zeros(columns + 1),
            #[cfg(target_arch = "wasm32")]
            usable: [R::ONE; LANES],
            #[cfg(target_arch = "wasm32")]
            left: [R::ZERO; LANES],
            run,
        };
        if kept {
            work.share(layout, memory, 0, memory.args.points as usize);
        }
        work
    }

    /// Fills in values that all fits share, of `count` points.
    fn share(&mut self, layout: &FitLayout, memory: &Memory<R>, start: usize, count: usize) {
        for (column, source) in self.given.iter_mut().zip(given(layout, memory)) {
            let Some((true, place)) = source else { continue };
            for (lanes, value) in column.chunks_exact_mut(LANES).zip(&memory.data[place + start..][..count]) {
                lanes.fill(*value);
            }
        }
    }

    /// Fills in a lane's own values, of `count` points.
    fn bring(&mut self, layout: &FitLayout, memory: &Memory<R>, block: &Block<R>, lane: usize, (start, count): (usize, usize)) {
        let (first, points, fits) = (block.first[lane], block.points[lane], memory.args.fits as usize);
        for (column, source) in self.given.iter_mut().zip(given(layout, memory)) {
            let Some((false, place)) = source else { continue };
            let to = column[lane..].iter_mut().step_by(LANES).take(count);
            if layout.ragged {
                // A fit without so many points has its last one again, or whatever is there: it is not added.
                let number = |point: usize| (start + point).min(points.saturating_sub(1));
                to.enumerate().for_each(|(point, to)| *to = memory.data[(place + first + number(point)).min(memory.data.len() - 1)]);
            } else {
                let from = memory.data[place + first + start * fits..].iter().step_by(fits);
                to.zip(from).for_each(|(to, from)| *to = *from);
            }
        }
    }

    /// A lane has another fit.
    pub fn load(&mut self, layout: &FitLayout, memory: &Memory<R>, block: &Block<R>, lane: usize) {
        if self.kept && memory.args.points > 0 {
            self.bring(layout, memory, block, lane, (0, memory.args.points as usize));
        }
    }
}

impl FitBlocks {
    /// The sums at the trial values of the parameters.
    pub(super) fn evaluate<R: Real>(
        &self,
        memory: &Memory<R>,
        block: &Block<R>,
        work: &mut Work<R>,
        compiled: &Option<Compiled>,
        sums: &mut Sums<R>,
    ) {
        sums.cost = [R::ZERO; LANES];
        sums.usable = [true; LANES];
        sums.gradient.iter_mut().chain(&mut sums.normal).chain(&mut work.low).for_each(|column| column.fill(R::ZERO));
        let most = (0..LANES).filter(|lane| block.active[*lane]).map(|lane| block.points[lane]).max().unwrap_or(0);
        let at_once = if work.kept { most.max(1) } else { work.run };
        let mut has_parameters = false;
        for start in (0..most).step_by(at_once) {
            let count = at_once.min(most - start);
            if !work.kept {
                work.share(&self.layout, memory, start, count);
                (0..LANES).for_each(|lane| work.bring(&self.layout, memory, block, lane, (start, count)));
            }
            #[cfg(target_arch = "wasm32")]
            if self.add_by_module(memory, block, work, compiled, sums, (start, count)) {
                continue;
            }
            if !std::mem::replace(&mut has_parameters, true) {
                for (column, value) in work.parameters.iter_mut().zip(&block.moved) {
                    column.as_chunks_mut::<LANES>().0.iter_mut().for_each(|lanes| *lanes = *value);
                }
            }
            for first in (start..start + count).step_by(work.run) {
                self.add_by_program(block, work, compiled, sums, (first, work.run.min(start + count - first)));
            }
        }
        for column in std::iter::once(&sums.cost).chain(&sums.gradient).chain((0..sums.gradient.len()).map(|j| &sums.normal[row_of(j) + j]))
        {
            for lane in 0..LANES {
                sums.usable[lane] &= column[lane].is_finite();
            }
        }
    }

    /// Adds points by the program's steps, which store columns.
    fn add_by_program<R: Real>(
        &self,
        block: &Block<R>,
        work: &mut Work<R>,
        compiled: &Option<Compiled>,
        sums: &mut Sums<R>,
        (start, count): (usize, usize),
    ) {
        let (items, from) = (count * LANES, if work.kept { start * LANES } else { 0 });
        let view = |view: &View| match *view {
            View::Given(number) => match (number as usize).checked_sub(work.parameters.len()) {
                None => &work.parameters[number as usize][..items],
                Some(number) => &work.given[number][from..][..items],
            },
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
        // Where modules add, they do nothing else.
        let compiled = if self.block.has_own_exp { &None } else { compiled };
        self.block.compute(&inputs, Part { items: 0..items, targets }, compiled);
        if self.layout.ragged {
            leave_out(block, start, count, &mut work.stored);
        }
        add(self.layout.free.len() + self.shared, count, work, sums);
    }

    /// Adds points by a module, if there is one that does.
    #[cfg(target_arch = "wasm32")]
    fn add_by_module<R: Real>(
        &self,
        memory: &Memory<R>,
        block: &Block<R>,
        work: &mut Work<R>,
        compiled: &Option<Compiled>,
        sums: &mut Sums<R>,
        (start, count): (usize, usize),
    ) -> bool {
        let Some(ready) = compiled.as_ref().filter(|_| self.block.has_own_exp) else { return false };
        work.usable = [R::ONE; LANES];
        for lane in 0..LANES {
            work.left[lane] = R::from_f64(block.points[lane].saturating_sub(start) as f64);
        }
        let sources = given(&self.layout, memory);
        let from = if work.kept { start * LANES } else { 0 };
        let address = |view: &View| match *view {
            View::Given(number) if number < self.layout.parameters => block.moved[number as usize].as_ptr(),
            View::Given(number) => match sources.get((number - self.layout.parameters) as usize) {
                Some(Some((true, place))) => memory.data[place + start..].as_ptr(),
                Some(_) => work.given[(number - self.layout.parameters) as usize][from..].as_ptr(),
                // Columns behind all that is given.
                None => work.left.as_ptr(),
            },
            View::Data(_) | View::Jacobian(_) => unreachable!("a fit reads what it is given alone"),
        };
        let mut words: Vec<u32> = vec![count as u32, 0];
        words.extend(ready.module().views.iter().map(|view| address(view) as u32));
        words.push(work.usable.as_mut_ptr() as u32);
        let columns = std::iter::once(&mut sums.cost).chain(&mut sums.gradient).chain(&mut sums.normal);
        words.extend(columns.chain(&mut work.low).map(|column| column.as_mut_ptr() as u32));
        let added = ready.add(&words);
        for lane in 0..LANES {
            sums.usable[lane] &= work.usable[lane] != R::ZERO;
        }
        added
    }
}

/// Points that a fit does not have add nothing.
fn leave_out<R: Real>(block: &Block<R>, start: usize, count: usize, stored: &mut [Vec<R>]) {
    for (column, values) in stored.iter_mut().enumerate() {
        let none = if column == 3 { R::ONE } else { R::ZERO };
        for (lane, points) in block.points.iter().enumerate() {
            for point in points.saturating_sub(start)..count {
                values[point * LANES + lane] = none;
            }
        }
    }
}

/// Adds a run of points to sums.
fn add<R: Real>(n: usize, count: usize, work: &mut Work<R>, sums: &mut Sums<R>) {
    let Work { stored, weighted, low, .. } = work;
    let column = |number: usize| few(&stored[number][..count * LANES]);
    let (cost, u, k, valid) = (column(0), column(1), column(2), &stored[3][..count * LANES]);
    for lanes in valid.chunks_exact(LANES) {
        for lane in 0..LANES {
            sums.usable[lane] &= lanes[lane] != R::ZERO;
        }
    }
    let (low, lows) = low.split_first_mut().expect("one of F");
    accumulate(&mut sums.cost, low, count, |item| cost[item]);
    for i in 0..n {
        let row = column(FitProgram::BEFORE as usize + i);
        accumulate(&mut sums.gradient[i], &mut lows[i], count, |item| {
            let (u, row) = (&u[item], &row[item]);
            std::array::from_fn(|lane| u[lane] * row[lane])
        });
        for (to, (k, row)) in weighted.as_chunks_mut::<TOGETHER>().0.iter_mut().zip(k.iter().zip(row)) {
            *to = std::array::from_fn(|lane| k[lane] * row[lane]);
        }
        for j in 0..=i {
            add_products(&mut sums.normal[row_of(i) + j], count, few(weighted), column(FitProgram::BEFORE as usize + j));
        }
    }
}
