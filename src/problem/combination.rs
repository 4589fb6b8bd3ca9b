//! Linear combinations of tables, made on the device: the values of the last frame, velocities, predictions.
//!
//! They are commands among the uploads, so each is played behind all that was begun before it, and ahead of what comes after it.

use super::{Problem, Recipient, Table};
use leastwise_device::{BufferId, Command, Device, Dispatch, KernelId, KernelSource, Kind, Slice};
use leastwise_error::Error;
use leastwise_kernels::{Arguments, step};

/// Sources of a combination at most.
const MOST_SOURCES: usize = 16;

/// What combinations are made with: a kernel, and the buffers that it reads.
pub(super) struct Combining {
    kernel: KernelId,
    /// First elements of the sources in the arena.
    places: BufferId,
    factors: BufferId,
}

impl Combining {
    fn new(device: &mut Device) -> Result<Self, Error> {
        let kernel = device.kernels(&[KernelSource::of_static(step::LinearCombination::KERNEL)])?[0];
        let places = device.allocate(Kind::Index, MOST_SOURCES as u32, "places of tables")?;
        let factors = device.allocate(Kind::Real, MOST_SOURCES as u32, "factors of tables").inspect_err(|_| device.free(places))?;
        Ok(Self { kernel, places, factors })
    }

    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        [self.places, self.factors].into_iter()
    }

    fn dispatch(&self, arena: Slice, table: &Table, sources: u32) -> Command {
        let bindings = step::LinearCombinationBindings {
            factors: Slice { buffer: self.factors, offset: 0, len: MOST_SOURCES as u32 },
            places: Slice { buffer: self.places, offset: 0, len: MOST_SOURCES as u32 },
            values: arena,
        };
        let args = step::LinearCombination { arena: table.arena, sources };
        Command::Dispatch(Dispatch::of(self.kernel, args, table.elements(), bindings))
    }
}

impl Problem {
    /// Overwrites a table by Σ factor · source. Of what lies on a manifold, a copy alone.
    pub fn combine(&mut self, device: &mut Device, table: u32, sources: &[u32], factors: &[f64]) -> Result<(), Error> {
        let to = self.table(table)?;
        let refuse = |message: String| Err(Error::Shape { name: to.name.clone(), message });
        if sources.is_empty() || sources.len() > MOST_SOURCES || sources.len() != factors.len() {
            return refuse(format!("a combination is of 1 to {MOST_SOURCES} tables, each with a factor, not of {}", sources.len()));
        }
        if let Some(factor) = factors.iter().find(|factor| factor.is_nan() || factor.abs() > device.precision().largest()) {
            return refuse(format!("a factor is {factor}, but has to be a finite number"));
        }
        for &source in sources {
            let from = self.table(source)?;
            if (from.width, from.count) != (to.width, to.count) {
                let (width, count, name) = (from.width, from.count, &from.name);
                return refuse(format!("{} instances of {} can't be made of \"{name}\", which has {count} of {width}", to.count, to.width));
            }
            let same = from.manifold.as_ref().map(|manifold| manifold.number) == to.manifold.as_ref().map(|manifold| manifold.number);
            if to.manifold.is_some() && !(same && factors == [1.0]) {
                return refuse(format!(
                    "it lies on a manifold, so it can be a copy of a table of its shape only, with the factor 1, not of \"{}\"",
                    from.name
                ));
            }
        }
        if self.lending.is_active() {
            sources.iter().try_for_each(|&source| self.must_not_await(source))?;
        }
        // Values are there before terms are.
        self.lay_out_values(device)?;
        let combining = match self.combining.take() {
            Some(known) => known,
            None => Combining::new(device)?,
        };
        let (point, trial) = self.arenas()?;
        let to = &self.tables[table as usize];
        let places = sources.iter().map(|&source| self.tables[source as usize].arena).collect();
        self.uploads.extend([
            Command::UploadIndices { buffer: combining.places, offset: 0, data: places },
            Command::UploadReals { buffer: combining.factors, offset: 0, data: factors.to_vec() },
            combining.dispatch(point, to, sources.len() as u32),
        ]);
        // Constants are read at the trial point too.
        if !to.moving {
            let part = |arena: Slice| Slice { buffer: arena.buffer, offset: to.arena, len: to.elements() };
            self.uploads.push(Command::Copy { from: part(point), to: part(trial) });
        }
        self.combining = Some(combining);
        if self.lending.is_active() {
            self.withdraw(Recipient::Table(table));
        }
        self.tables[table as usize].is_combined = true;
        self.revision += 1;
        Ok(())
    }

    /// True once tables were combined.
    pub fn combines(&self) -> bool {
        self.combining.is_some()
    }

    /// The kernel of combinations, where there were any, in a command that is compiled and never played.
    pub fn combination_kernel(&self) -> Option<Command> {
        let (combining, table) = (self.combining.as_ref()?, self.tables.first()?);
        Some(combining.dispatch(self.arenas().ok()?.0, table, 1))
    }

    pub(super) fn free_combining(&mut self, device: &mut Device) {
        if let Some(combining) = self.combining.take() {
            super::chunk::free(combining.buffers(), device, &mut self.uploads);
        }
    }
}
