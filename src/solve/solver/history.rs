//! History of a solver: its iterations, and what the next report tells of them.

use super::super::nonfinite::{NonFinite, NonFiniteResidual};
use super::super::repeat_stats::RepeatStats;
use super::super::{Iteration, Report};
use super::saved::{read_iteration, write_iteration};
use leastwise_base::FileError;
use leastwise_device::Counters;
use leastwise_problem::file::bytes::{Reader, Writer};

/// Systems that were read back for linear solvers on the host, and their elements.
#[derive(Clone, Copy, Default)]
pub(super) struct Returned {
    pub systems: u64,
    pub elements: u64,
}

impl Returned {
    pub fn plus(self, (systems, elements): (u64, u64)) -> Self {
        Self { systems: self.systems + systems, elements: self.elements + elements }
    }
}

pub(super) struct History {
    pub iterations: Vec<Iteration>,
    /// Number of the first iteration since the last report.
    pub unreported: u32,
    /// Cost at the start of the solve, once a step was tried.
    pub initial_cost: Option<f64>,
    /// Components that were moved into their limits since the solver was made, and until the last report.
    pub moved: [u32; 2],
    /// True until the first call: what making the solver took belongs to it.
    pub is_fresh: bool,
    /// True after a report, until the next step.
    pub is_concluded: bool,
    pub non_finite: NonFinite,
    pub repeats: RepeatStats,
    /// Counters of the device when the present call began.
    pub counters: Counters,
    /// Systems that earlier linear solvers had returned, and those of all when the present call began.
    pub returned: Returned,
    pub returned_before: Returned,
}

/// Steps since the last report, and what was found in them.
pub(super) struct Unreported {
    pub iterations: Vec<Iteration>,
    pub initial_cost: Option<f64>,
    pub moved: u32,
    pub non_finite: NonFinite,
}

impl History {
    pub fn new(counters: Counters) -> Self {
        Self {
            iterations: Vec::new(),
            unreported: 0,
            initial_cost: None,
            moved: [0; 2],
            is_fresh: true,
            is_concluded: false,
            non_finite: NonFinite::default(),
            repeats: RepeatStats::default(),
            counters,
            returned: Returned::default(),
            returned_before: Returned::default(),
        }
    }

    /// Number of iterations of all solves.
    pub fn len(&self) -> u32 {
        self.iterations.len() as u32
    }

    /// Forgets what earlier calls did, and reported.
    pub fn forget(&mut self, counters: Counters, returned: Returned) {
        self.iterations.clear();
        (self.unreported, self.initial_cost, self.moved[1]) = (0, None, self.moved[0]);
        (self.non_finite, self.repeats.dispatches) = (NonFinite::default(), 0);
        (self.counters, self.returned_before) = (counters, returned);
        self.is_concluded = false;
    }

    /// Takes what the next report tells; the one after it begins here.
    pub fn conclude(&mut self) -> Unreported {
        self.is_concluded = true;
        let steps = self.len();
        let first = std::mem::replace(&mut self.unreported, steps);
        let moved = self.moved[0];
        Unreported {
            iterations: self.iterations[first as usize..].to_vec(),
            initial_cost: self.initial_cost.take(),
            moved: moved.saturating_sub(std::mem::replace(&mut self.moved[1], moved)),
            non_finite: std::mem::take(&mut self.non_finite),
        }
    }

    /// Takes a report back: what it was made of belongs to a later one.
    pub fn withdraw(&mut self, report: &Report) {
        self.is_concluded = false;
        self.unreported = self.len() - report.iterations.len() as u32;
        self.initial_cost = Some(report.initial_cost);
        self.moved[1] = self.moved[0].saturating_sub(report.moved_into_bounds);
        (self.non_finite.count, self.non_finite.first) = (report.non_finite, report.first_non_finite.clone());
    }

    /// Writes the steps. Those that were reported are over: the next call begins anew.
    pub fn write(&self, to: &mut Writer) {
        let told = self.is_concluded;
        let iterations = if told { &[] } else { &self.iterations[..] };
        to.u32(iterations.len() as u32);
        iterations.iter().for_each(|iteration| write_iteration(to, iteration));
        to.u32(if told { 0 } else { self.unreported });
        to.option(self.initial_cost.filter(|_| !told), Writer::f64);
        self.moved.into_iter().for_each(|moved| to.u32(moved));
    }

    pub fn write_non_finite(&self, to: &mut Writer) {
        let unreported = Some(&self.non_finite).filter(|_| !self.is_concluded);
        to.u32(unreported.map_or(0, |found| found.count));
        to.option(unreported.and_then(|found| found.first.as_ref()), |to, first| first.write(to));
    }

    pub fn read_non_finite(&mut self, from: &mut Reader) -> Result<(), FileError> {
        (self.non_finite.count, self.non_finite.first) = (from.u32()?, from.option(NonFiniteResidual::read)?);
        Ok(())
    }

    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        let count = from.u32()?;
        Ok(Self {
            iterations: from.list(count, read_iteration)?,
            unreported: from.u32()?,
            initial_cost: from.option(Reader::f64)?,
            moved: [from.u32()?, from.u32()?],
            is_fresh: false,
            ..Self::new(Counters::default())
        })
    }

    /// Becomes what was saved; what the device counted stays.
    pub fn restore(&mut self, saved: Self) {
        let History { repeats, counters, returned, returned_before, .. } = *self;
        let NonFinite { count, first, .. } = saved.non_finite;
        let mut non_finite = std::mem::take(&mut self.non_finite);
        (non_finite.count, non_finite.first) = (count, first);
        *self = Self { repeats, counters, returned, returned_before, non_finite, ..saved };
    }
}
