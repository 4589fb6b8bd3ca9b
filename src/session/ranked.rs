//! Problems of a session that is one of several ranks: every rank declares them whole, and solves them by its part.
//!
//! A problem is kept twice on the host: as that of one device, which checks what it is given and has the values that are read, and as
//! [`leastwise_ranks::RankedParts`]. On the device there is the latter alone. Of problems, ranks talk to each other in solves alone: a
//! solve ends with the values of all ranks on every one of them.

use super::job::{Ended, Job, Progress, Step};
use super::{Entry, Session, SolverEntry};
use leastwise_collective::{Communicator, Fault};
use leastwise_device::{Device, DeviceError};
use leastwise_error::Error;
use leastwise_outer::{Devices, Driven, SolveMode};
use leastwise_problem::Reals;
use leastwise_ranks::{RankedSolve, supported};
use leastwise_solve::{Iteration, Options, Report};
use std::sync::Arc;

/// Refusal of what one device has, and ranks have not.
pub(super) fn refused(what: &str) -> Error {
    let message = format!(
        "{what}: not with several ranks, which have solve(), read(), write() and term.set(): make an engine without `world` for it"
    );
    Fault::Refused(message).into()
}

impl Session {
    /// A session on a device that is one of several ranks, all of which make the same problems and solve them together.
    ///
    /// # Errors
    /// Those of [`Device::join`].
    pub fn over_ranks(mut device: Device, communicator: Arc<dyn Communicator>) -> Result<Self, Error> {
        device.join(Some(communicator.clone()))?;
        let mut session = Self::new(device);
        session.ranks = Some(communicator);
        Ok(session)
    }

    /// Fixes components of rows in the parts of ranks.
    pub(super) fn fix_parts(&mut self, problem: u32, table: u32, at: Option<&[u32]>, components: Option<&[u32]>) -> Result<(), Error> {
        let (entry, Devices { main: device, registry, .. }) = self.idle(problem)?;
        let Some(parts) = &mut entry.ranked else { return Ok(()) };
        parts.fix((device, registry), table, at, components)
    }

    /// Bounds a table in the parts of ranks.
    pub(super) fn bound_parts(&mut self, problem: u32, table: u32, lower: Option<Reals>, upper: Option<Reals>) -> Result<(), Error> {
        let (entry, Devices { main: device, registry, .. }) = self.idle(problem)?;
        let Some(parts) = &mut entry.ranked else { return Ok(()) };
        parts.bound((device, registry), table, lower, upper)
    }

    /// A solver of ranks, which each of its solves sets up. Options that ranks do not have are refused by a solve, once all were told.
    pub(super) fn ranked_solver(&mut self, problem: u32, options: &Options) -> Result<u32, Error> {
        let settings = supported(&Options::default())?.settings()?;
        let (entry, devices) = self.idle(problem)?;
        let driven = Driven::unprepared(&devices.main, &mut entry.problem, settings)?;
        let options = Some(Box::new(options.clone()));
        Ok(self.solvers.insert(Box::new(SolverEntry { options, ..SolverEntry::new(problem, driven) })))
    }

    /// A table's last values, as a task that is over: ranks have no others to ask for them.
    pub(super) fn read_ranked(&mut self, problem: u32, table: u32) -> Result<u32, Error> {
        let values = self.idle(problem)?.0.problem.known(table)?.to_vec();
        Ok(self.add_task(Ended::with(values)))
    }

    /// A task that solves by all ranks.
    pub(super) fn solve_ranked(&mut self, problem: u32, solver: u32, mode: SolveMode) -> Result<u32, Error> {
        if mode != SolveMode::Solve {
            return Err(refused("step()"));
        }
        let options = self.solver_entry(solver)?.options.clone();
        let options = options.map(|options| *options).ok_or(Error::Internal("a solver of ranks has no options"))?;
        self.start_task(problem, RankedJob { problem, solver, options, solve: None, stop: None, is_over: false })
    }
}

impl Entry {
    /// Takes the values that ranks came to into the problem, from which they are read.
    fn take_values(&mut self, device: &mut Device, at_end: bool) -> Result<(), Error> {
        let Some(parts) = &mut self.ranked else { return Ok(()) };
        let moving = (0..).zip(self.problem.tables()).filter(|(_, table)| table.moving).map(|(number, _)| number);
        for table in moving.collect::<Vec<u32>>() {
            if at_end {
                let values = parts.read(device, table)?;
                self.problem.write_table(table, Reals::F64(&values), None)?;
            } else {
                let (rows, values) = parts.read_present(device, table)?;
                self.problem.write_table(table, Reals::F64(&values), Some(&rows))?;
            }
        }
        Ok(())
    }
}

/// A solve by all ranks. All resume it equally often: an iteration each time.
struct RankedJob {
    problem: u32,
    solver: u32,
    options: Options,
    solve: Option<RankedSolve>,
    /// Reason to end it that this rank was given.
    stop: Option<String>,
    /// True once ranks know of its end.
    is_over: bool,
}

impl RankedJob {
    fn next(&mut self, entry: &mut Entry, devices: &mut Devices) -> Result<Result<Iteration, Box<Report>>, Error> {
        let parts = entry.ranked.as_mut().ok_or(Error::Internal("a problem is not one of ranks"))?;
        let Devices { main: device, registry, .. } = devices;
        let solve = match &mut self.solve {
            Some(solve) => solve,
            none => none.insert(parts.begin(device, registry, &self.options)?),
        };
        // Whoever is to end it, all do, after the same step.
        let wish = if self.stop.is_some() { 1.0 } else { 0.0 };
        if parts.communicator().largest("wishes to stop", &[wish])?[0] > 0.0 {
            solve.stop(self.stop.as_deref().unwrap_or("another rank was told to stop"));
        }
        match solve.advance(parts, device)? {
            Ok(iteration) => Ok(Ok(iteration)),
            Err(report) => {
                let report = solve.finish(parts, device, *report).report;
                entry.take_values(device, true)?;
                Ok(Err(Box::new(report)))
            }
        }
    }
}

impl Job for RankedJob {
    fn resume(&mut self, session: &mut Session, task: u32, _: f64) -> Result<Step, Error> {
        if session.is_behind(task) {
            return Ok(Progress::Yielded.into());
        }
        let Session { problems, devices, .. } = session;
        let entry = problems.get_mut(self.problem).ok_or(Error::Disposed("problem"))?;
        match self.next(entry, devices) {
            Ok(Ok(iteration)) => Ok(Progress::Iteration(iteration).into()),
            Ok(Err(report)) => {
                self.is_over = true;
                Ok(Progress::Report(report).into())
            }
            Err(error) => {
                self.is_over = true;
                if self.solve.is_some() && matches!(error, Error::Device(DeviceError::Ranks(_))) {
                    // The fault says more than what may go wrong now: then values stay as they were before the solve.
                    let _ = entry.take_values(&mut devices.main, false);
                }
                Err(error)
            }
        }
    }

    fn stop(&mut self, _: &mut Session, reason: &str) {
        self.stop.get_or_insert_with(|| reason.into());
    }

    fn cancel(&mut self, _: &mut Session) {}

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        if let Some(ranks) = session.ranks.as_ref().filter(|_| !self.is_over) {
            let message = "its solve was given up".into();
            ranks.give_up(Fault::Broken { rank: ranks.rank(), size: ranks.size(), message });
        }
        self.solve.into_iter().for_each(|solve| solve.free(&mut session.devices.main));
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn solver(&self) -> Option<u32> {
        Some(self.solver)
    }

    fn awaits_kernels(&self) -> bool {
        false
    }

    fn is_collective(&self) -> bool {
        true
    }
}
