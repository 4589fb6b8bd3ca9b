//! Twins of what is done around fits: `tally`, `offsets`, `compact`, `begin`, `keep`, `gather`.

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

/// Starting values, and the list of all fits.
pub fn begin<R: Real>(work: &Workgroups, args: kernels::fits::Begin, bindings: kernels::fits::BeginSlices<R>) {
    let fits = args.fits as usize;
    let (stride, each) = if args.each == 0 { (1, 0) } else { (fits, 1) };
    for fit in work.items() {
        for number in 0..args.parameters {
            let is_given = number < 32 && args.given >> number & 1 != 0;
            if args.keeps != 0 && !is_given {
                continue;
            }
            let place = if is_given { (args.candidate + number) as usize } else { number as usize * stride + each * fit };
            bindings.fields[number as usize * fits + fit] = bindings.starts[place];
        }
        (args.parameters..args.fields).for_each(|field| bindings.fields[field as usize * fits + fit] = R::ZERO);
        bindings.table[fit] = fit as u32;
    }
}

/// The better of two outcomes of every fit.
pub fn keep<R: Real>(work: &Workgroups, args: kernels::fits::Keep, bindings: kernels::fits::KeepSlices<R>) {
    let fits = args.fits as usize;
    for fit in work.items() {
        let (found, kept) = (bindings.fields[args.cost as usize + fit], bindings.best[args.cost as usize + fit]);
        if found.is_finite() && (!kept.is_finite() || found < kept) {
            for field in 0..args.fields as usize {
                bindings.best[field * fits + fit] = bindings.fields[field * fits + fit];
            }
        }
    }
}

/// Sums of columns, with what is lost of them.
pub fn gather<R: Real>(work: &Workgroups, args: kernels::fits::Gather, bindings: kernels::fits::GatherSlices<R>) {
    let fits = args.fits as usize;
    for column in work.groups.start as usize..work.groups.end as usize {
        let (mut sum, mut low) = (R::ZERO, R::ZERO);
        for value in &bindings.columns[column * fits..(column + 1) * fits] {
            let addend = *value - low;
            let next = sum + addend;
            low = (next - sum) - addend;
            sum = next;
        }
        (bindings.totals[2 * column], bindings.totals[2 * column + 1]) = (sum, -low);
    }
}
