//! Twins of the compaction of fits: `tally`, `offsets`, `compact`.

use crate::Workgroups;
use crate::real::Real;
use leastwise_kernels as kernels;
use std::ops::Range;

/// The part of a list that is a run.
fn run_of(run: usize, length: u32, fits: u32) -> Range<usize> {
    let begin = (run * length as usize).min(fits as usize);
    begin..(begin + length as usize).min(fits as usize)
}

/// How many fits of a run are not at their end.
pub fn tally<R: Real>(work: &Workgroups, args: kernels::fits::Tally, bindings: kernels::fits::TallySlices<R>) {
    let states = &bindings.fields[args.states as usize..];
    for run in work.items() {
        let list = &bindings.table[args.list as usize..][run_of(run, args.run, args.fits)];
        let count = list.iter().filter(|fit| states[**fit as usize] == R::ZERO).count();
        bindings.table[args.counts as usize + run] = count as u32;
    }
}

/// Counts of runs become where the runs begin, and the total is stored.
pub fn offsets<R: Real>(_: &Workgroups, args: kernels::fits::Offsets, bindings: kernels::fits::OffsetsSlices<R>) {
    let counts = &mut bindings.table[args.counts as usize..];
    let mut place = 0;
    for count in &mut counts[..args.runs as usize] {
        place += std::mem::replace(count, place);
    }
    bindings.totals[args.total as usize] = R::from_f64(f64::from(place));
}

/// The fits that are not at their end, in their order.
pub fn compact<R: Real>(work: &Workgroups, args: kernels::fits::Compact, bindings: kernels::fits::CompactSlices<R>) {
    let states = &bindings.fields[args.states as usize..];
    for run in work.items() {
        let mut place = (args.next + bindings.table[args.counts as usize + run]) as usize;
        for k in run_of(run, args.run, args.fits) {
            let fit = bindings.table[args.list as usize + k];
            if states[fit as usize] == R::ZERO {
                bindings.table[place] = fit;
                place += 1;
            }
        }
    }
}
