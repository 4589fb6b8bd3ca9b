//! A problem over ranks, with a device of its own.

use super::parts::RankedParts;
use super::solve::RankedReport;
use leastwise_collective::Communicator;
use leastwise_device::Device;
use leastwise_error::Error;
use leastwise_problem::{Reals, Registry, Shape, TermSpec};
use leastwise_solve::{Iteration, Options};
use std::sync::Arc;

/// A problem that all ranks of a group declare alike, and solve together.
///
/// All ranks make the same calls in the same order; [`read_own`](Self::read_own) alone is a rank's own.
///
/// # Errors
/// Of every call that ranks make together: [`Fault`] as [`leastwise_error::Error::Device`], on all ranks that are left.
///
/// [`Fault`]: leastwise_collective::Fault
pub struct RankedProblem {
    device: Device,
    registry: Registry,
    parts: RankedParts,
}

impl RankedProblem {
    /// A problem without tables and terms, of one of the ranks.
    ///
    /// # Errors
    /// [`leastwise_collective::Fault::Refused`] on WebGPU, which can't be one of several ranks, and for a communicator over NCCL that
    /// another device made.
    pub fn new(mut device: Device, communicator: Arc<dyn Communicator>) -> Result<Self, Error> {
        device.join(Some(communicator.clone()))?;
        Ok(Self { device, registry: Registry::default(), parts: RankedParts::new(communicator) })
    }

    /// A table of instances that are made of these shapes; gives its number.
    ///
    /// # Errors
    /// Those of [`RankedParts::table`].
    pub fn table(&mut self, name: &str, shapes: Vec<Shape>, values: &[f64], moving: bool) -> Result<u32, Error> {
        self.parts.table((&self.device, &mut self.registry), name, shapes, Reals::F64(values), moving)
    }

    /// A term; gives its number.
    ///
    /// # Errors
    /// Those of [`RankedParts::term`].
    pub fn term(&mut self, spec: &TermSpec) -> Result<u32, Error> {
        self.parts.term(spec)
    }

    /// Fixes components (all, or those given) of the rows in `at` (or of all): they keep their values.
    ///
    /// # Errors
    /// Those of [`RankedParts::fix`].
    pub fn fix(&mut self, table: u32, at: Option<&[u32]>, components: Option<&[u32]>) -> Result<(), Error> {
        self.parts.fix((&self.device, &mut self.registry), table, at, components)
    }

    /// Lets every component of the rows in `at` (or of all) move again.
    ///
    /// # Errors
    /// Those of [`RankedParts::unfix`].
    pub fn unfix(&mut self, table: u32, at: Option<&[u32]>) -> Result<(), Error> {
        self.parts.unfix((&self.device, &mut self.registry), table, at)
    }

    /// Bounds the components of a table: limits are one for all, one a component, or one a component of each row. What is not given stays
    /// as it was.
    ///
    /// # Errors
    /// Those of [`RankedParts::bound`].
    pub fn bound(&mut self, table: u32, lower: Option<&[f64]>, upper: Option<&[f64]>) -> Result<(), Error> {
        self.parts.bound((&self.device, &mut self.registry), table, lower.map(Reals::F64), upper.map(Reals::F64))
    }

    /// Overwrites values of a table: all rows, or those in `at`.
    ///
    /// # Errors
    /// Those of [`RankedParts::write`].
    pub fn write(&mut self, table: u32, values: &[f64], at: Option<&[u32]>) -> Result<(), Error> {
        self.parts.write((&self.device, &mut self.registry), table, Reals::F64(values), at)
    }

    /// Replaces the values of a term's data column.
    ///
    /// # Errors
    /// Those of [`RankedParts::set_column`].
    pub fn set_column(&mut self, term: u32, column: u32, values: &[f64]) -> Result<(), Error> {
        self.parts.set_column(&self.device, term, column, Reals::F64(values))
    }

    /// All values of a table, from the ranks that own them: on every rank the same.
    ///
    /// # Errors
    /// Those of [`RankedParts::read`].
    pub fn read(&mut self, table: u32) -> Result<Vec<f64>, Error> {
        self.parts.read(&mut self.device, table)
    }

    /// Rows of a table that this rank owns, and their values as of the last accepted step. No other rank is asked, so it works after a
    /// fault, too.
    ///
    /// # Errors
    /// Those of [`RankedParts::read_own`].
    pub fn read_own(&mut self, table: u32) -> Result<(Vec<u32>, Vec<f64>), Error> {
        self.parts.read_own(&mut self.device, table)
    }

    /// The same of all rows that this rank has, with copies of those that other ranks own, behind its own.
    ///
    /// # Errors
    /// Those of [`RankedParts::read_present`].
    pub fn read_present(&mut self, table: u32) -> Result<(Vec<u32>, Vec<f64>), Error> {
        self.parts.read_present(&mut self.device, table)
    }

    /// Solves the problem by all ranks together.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for methods and linear solvers that ranks do not have, [`Fault::Differs`] where a rank was given other
    /// terms, data or options, [`Error::NonFinite`] for residuals that are not finite, and any other [`Fault`].
    ///
    /// [`Fault::Differs`]: leastwise_collective::Fault::Differs
    /// [`Fault`]: leastwise_collective::Fault
    pub fn solve(&mut self, options: &Options) -> Result<RankedReport, Error> {
        self.solve_with(options, |_| {})
    }

    /// The same; each iteration is told.
    ///
    /// # Errors
    /// Those of [`solve`](Self::solve).
    pub fn solve_with(&mut self, options: &Options, mut each: impl FnMut(&Iteration)) -> Result<RankedReport, Error> {
        let Self { device, registry, parts } = self;
        let mut solve = parts.begin((device, registry), options, None, (&mut None, false))?;
        let result = loop {
            let heeded = if solve.has_time_limit() { solve.heed(&**parts.communicator(), None) } else { Ok(()) };
            match heeded.map_err(Error::from).and_then(|()| solve.advance(parts, device)) {
                Ok(Ok(iteration)) => each(&iteration),
                Ok(Err(report)) => break Ok(solve.finish(parts, device, *report)),
                Err(error) => break Err(error),
            }
        };
        solve.free(device);
        result
    }

    /// Frees the problem's memory on the device, and gives the device back, alone. No other rank is asked.
    ///
    /// # Errors
    /// Those of [`Device::join`].
    pub fn close(mut self) -> Result<Device, Error> {
        self.parts.dispose(&mut self.device);
        self.device.join(None)?;
        Ok(self.device)
    }
}
