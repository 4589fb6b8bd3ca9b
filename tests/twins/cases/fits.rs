//! Compaction of fits, their beginning, the best of several starts, and sums over fits.

use crate::twins::harness::{Case, POISONED_WORD};
use crate::twins::value::{Random, Value};
use leastwise::kernels::{StaticKernel, fits};

/// A list of fits, a part of which are at their end.
struct List {
    /// Numbers of fits, in an order that is not theirs.
    fits: Vec<u32>,
    /// States of all fits, behind other fields.
    fields: Vec<f64>,
    states: u32,
    run: u32,
}

impl List {
    fn new(size: usize, over: f64, random: &mut Random) -> Self {
        let all = size + 5;
        let states = random.below(4) * all as u32;
        let mut fields = random.vector(states as usize + all);
        for state in &mut fields[states as usize..] {
            *state = if random.below(1000) < (over * 1000.0) as u32 { f64::from(1 + random.below(5)) } else { 0.0 };
        }
        let fits = (0..size as u32).map(|k| (k * 7 + 3) % all as u32).collect();
        Self { fits, fields, states, run: 1 + random.below(70) }
    }

    fn runs(&self) -> Vec<&[u32]> {
        self.fits.chunks(self.run as usize).collect()
    }

    fn is_running(&self, fit: u32) -> bool {
        self.fields[(self.states + fit) as usize] == 0.0
    }

    fn counts(&self) -> Vec<u32> {
        self.runs().iter().map(|run| run.iter().filter(|fit| self.is_running(**fit)).count() as u32).collect()
    }
}

fn shares(size: usize, random: &mut Random) -> Vec<(String, List)> {
    [0.0, 0.4, 1.0].map(|over| (format!("{} % at their end", 100.0 * over), List::new(size, over, random))).into()
}

pub fn tally(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |(name, list): (String, List)| {
        let mut case = Case::new(StaticKernel::FitsTally, name);
        let (runs, at) = (list.runs().len(), 3);
        let counts = at + size;
        let table = [vec![POISONED_WORD; at], list.fits.clone(), vec![POISONED_WORD; runs + 2]].concat();
        case.indices(table);
        case.reals(fits::Tally::FIELDS, list.fields.clone());
        let args = fits::Tally { fits: size as u32, run: list.run, list: at as u32, counts: counts as u32, states: list.states };
        case.dispatch(runs as u32, args);
        list.counts().into_iter().enumerate().for_each(|(run, count)| case.expect_index(counts + run, count));
        case
    };
    shares(size, random).into_iter().map(case).collect()
}

pub fn offsets(size: usize, random: &mut Random) -> Case {
    let counts: Vec<u32> = (0..size).map(|_| random.below(65)).collect();
    let mut case = Case::of_one_group(StaticKernel::FitsOffsets, "");
    let at = 2;
    case.indices([&[POISONED_WORD; 2][..], &counts, &[POISONED_WORD; 2]].concat());
    case.poisoned(fits::Offsets::TOTALS, 3);
    case.dispatch(1, fits::Offsets { runs: size as u32, counts: at as u32, total: 1 });
    let mut place = 0;
    for (run, count) in counts.iter().enumerate() {
        case.expect_index(at + run, place);
        place += count;
    }
    case.expect(fits::Offsets::TOTALS, 1, f64::from(place));
    case
}

pub fn compact(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |(name, list): (String, List)| {
        let mut case = Case::new(StaticKernel::FitsCompact, name);
        let (runs, at) = (list.runs().len(), 1);
        let next = at + size;
        let counts = next + size;
        let mut place = 0;
        let beginnings: Vec<u32> = list
            .counts()
            .into_iter()
            .map(|count| {
                place += count;
                place - count
            })
            .collect();
        case.indices([vec![POISONED_WORD; at], list.fits.clone(), vec![POISONED_WORD; size], beginnings].concat());
        case.reals(fits::Compact::FIELDS, list.fields.clone());
        let [at, next_at, counts] = [at, next, counts].map(|place| place as u32);
        let args = fits::Compact { fits: size as u32, run: list.run, list: at, counts, states: list.states, next: next_at };
        case.dispatch(runs as u32, args);
        let running = list.fits.iter().filter(|fit| list.is_running(**fit));
        running.enumerate().for_each(|(k, fit)| case.expect_index(next + k, *fit));
        case
    };
    shares(size, random).into_iter().map(case).collect()
}

pub fn begin(size: usize, random: &mut Random) -> Vec<Case> {
    let case = |(name, each, keeps, given): (&str, bool, bool, u32)| {
        let mut case = Case::new(StaticKernel::FitsBegin, name);
        let (parameters, fields) = (2 + random.below(3) as usize, 9);
        let own = if each { parameters * size } else { parameters };
        let starts = random.vector(own + parameters);
        case.indices(vec![POISONED_WORD; size + 2]);
        case.reals(fits::Begin::STARTS, starts.clone());
        case.poisoned(fits::Begin::FIELDS, fields * size + 2);
        let args = fits::Begin {
            fits: size as u32,
            parameters: parameters as u32,
            fields: fields as u32,
            each: each.into(),
            keeps: keeps.into(),
            given,
            candidate: own as u32,
        };
        case.dispatch(size as u32, args);
        for fit in 0..size {
            case.expect_index(fit, fit as u32);
            for number in 0..parameters {
                if keeps && given >> number & 1 == 0 {
                    continue;
                }
                let place = match given >> number & 1 {
                    0 if each => number * size + fit,
                    0 => number,
                    _ => own + number,
                };
                case.expect(fits::Begin::FIELDS, number * size + fit, starts[place]);
            }
            (parameters..fields).for_each(|field| case.expect(fits::Begin::FIELDS, field * size + fit, 0.0));
        }
        case
    };
    let cases = [("shared", false, false, 0), ("own", true, false, 0), ("candidate", true, false, 0b10), ("kept", false, true, 0b1)];
    cases.map(case).into()
}

pub fn keep(size: usize, random: &mut Random) -> Case {
    let mut case = Case::new(StaticKernel::FitsKeep, "");
    let (fields, cost) = (4, 2 * size);
    let [mut found, mut best] = [(); 2].map(|()| random.vector(fields * size));
    for fit in 0..size {
        match random.below(4) {
            0 => found[cost + fit] = f64::NAN,
            1 => best[cost + fit] = f64::NAN,
            2 => best[cost + fit] = found[cost + fit],
            _ => {}
        }
    }
    case.reals(fits::Keep::FIELDS, found.clone());
    case.reals(fits::Keep::BEST, best.clone());
    case.dispatch(size as u32, fits::Keep { fits: size as u32, fields: fields as u32, cost: cost as u32 });
    for fit in 0..size {
        let (a, b) = (found[cost + fit], best[cost + fit]);
        if a.is_finite() && (b.is_nan() || a < b) {
            (0..fields).for_each(|field| case.expect(fits::Keep::BEST, field * size + fit, found[field * size + fit]));
        }
    }
    case
}

pub fn gather(size: usize, group: usize, random: &mut Random) -> Case {
    let mut case = Case::new(StaticKernel::FitsGather, "");
    let columns = 3;
    let values = random.vector(columns * size);
    case.reals(fits::Gather::COLUMNS, values.clone());
    case.poisoned(fits::Gather::TOTALS, 2 * columns + 1);
    case.dispatch((columns * group) as u32, fits::Gather { fits: size as u32 });
    for column in 0..columns {
        let sum: Value = values[column * size..(column + 1) * size].iter().map(|value| Value::from(*value)).sum();
        case.expect(fits::Gather::TOTALS, 2 * column, sum);
        case.expect(fits::Gather::TOTALS, 2 * column + 1, Value { value: 0.0, ..sum });
    }
    case
}
