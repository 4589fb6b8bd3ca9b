//! Problems of a session that is one of several ranks: every rank declares them whole, and solves them by its part.
//!
//! A problem is kept twice on the host: as that of one device, which checks what it is given and has the values that are read, and as
//! [`Parts`](super::parts::Parts). On the device there is the latter alone. Of problems, ranks talk to each other in solves alone: a
//! solve ends with the values of all ranks on every one of them.

use super::followers::Followers;
use super::job::{Ended, Job, Progress, Step};
use super::{Entry, Session, SolverEntry};
use leastwise_collective::{Communicator, Fault};
use leastwise_device::{Device, DeviceError};
use leastwise_error::Error;
use leastwise_outer::{Devices, Driven, SolveMode};
use leastwise_problem::{Reals, Registry};
use leastwise_ranks::{RankedParts, RankedSolve, Restored, supported};
use leastwise_solve::{Iteration, Options, Report};
use std::sync::Arc;

/// Refusal of what one device has, and ranks have not.
pub(super) fn refused(what: &str) -> Error {
    let message = format!(
        "{what}: not with several ranks, which have solve(), read(), write() and term.set(): make an engine without `world` or `devices` for it"
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

    /// A session over several devices of this process: it is the first rank, on the first device, and has a thread for each of the others.
    /// Communicators are in the order of ranks. A device by itself needs none: [`Session::new`].
    ///
    /// # Errors
    /// Those of [`Device::join`], and [`Error::InvalidOption`] without devices.
    pub fn over_devices(devices: Vec<Device>, communicators: Vec<Arc<dyn Communicator>>) -> Result<Self, Error> {
        if devices.len() != communicators.len() {
            return Err(Error::Internal("devices and communicators are not equally many"));
        }
        let mut ranks = devices.into_iter().zip(communicators);
        let (device, communicator) = ranks.next().ok_or_else(|| Error::InvalidOption("devices: name one or more".into()))?;
        let mut session = Self::over_ranks(device, communicator)?;
        session.followers = Some(Followers::start(ranks)?);
        Ok(session)
    }

    /// A problem of ranks in which rows are about to be fixed or released: for the first time only if nothing is running on it.
    fn pinned(&mut self, problem: u32) -> Result<(&mut Entry, &mut Devices), Error> {
        let lacking = self.entry(problem)?.0.ranked.as_ref().is_none_or(|parts| parts.lacks_pins());
        if lacking { self.idle(problem) } else { self.entry(problem) }
    }

    /// Fixes components of rows in the parts of ranks, and in the problem as one device has it.
    pub(super) fn fix_parts(&mut self, problem: u32, table: u32, at: Option<&[u32]>, components: Option<&[u32]>) -> Result<(), Error> {
        let (entry, Devices { main: device, registry, .. }) = self.pinned(problem)?;
        let parts = entry.ranked.as_mut().ok_or(Error::Internal("a problem is not one of ranks"))?;
        parts.fix((device, registry), table, at, components)?;
        entry.problem.fix(table, at, components)
    }

    /// Lets rows move again in the parts of ranks, and in the problem as one device has it.
    pub(super) fn unfix_parts(&mut self, problem: u32, table: u32, at: Option<&[u32]>) -> Result<(), Error> {
        let (entry, Devices { main: device, registry, .. }) = self.pinned(problem)?;
        let parts = entry.ranked.as_mut().ok_or(Error::Internal("a problem is not one of ranks"))?;
        parts.unfix((device, registry), table, at)?;
        entry.problem.unfix(table, at)
    }

    /// Bounds a table in the parts of ranks.
    pub(super) fn bound_parts(&mut self, problem: u32, table: u32, lower: Option<Reals>, upper: Option<Reals>) -> Result<(), Error> {
        let (entry, Devices { main: device, registry, .. }) = self.idle(problem)?;
        let Some(parts) = &mut entry.ranked else { return Ok(()) };
        parts.bound((device, registry), table, lower, upper)
    }

    /// A solver of ranks, which each of its solves sets up. Options that ranks do not have are refused by a solve, once all were told.
    pub(super) fn ranked_solver(&mut self, problem: u32, options: &Options) -> Result<u32, Error> {
        let usual = || supported(&Options::default())?.settings();
        let settings = supported(options).and_then(|options| options.settings()).or_else(|_| usual())?;
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
        let SolverEntry { options, restored, .. } = self.solver_entry(solver)?;
        let options = options.as_deref().cloned().ok_or(Error::Internal("a solver of ranks has no options"))?;
        let restored = restored.clone();
        self.start_task(problem, RankedJob { problem, solver, options, restored, solve: None, stop: None, is_over: false })
    }

    /// Leaves a solve that has not come to its end, and may not have begun.
    fn leave_ranked(&mut self, problem: u32, has_begun: bool) {
        if self.followers.is_some() {
            // No rank is waiting: it ends for all as a solve does. Of a problem that is gone, followers are told so.
            if let Some(entry) = self.problems.get_mut(problem).filter(|_| has_begun) {
                entry.ranked.iter().for_each(|parts| parts.leave_solve());
                // Values that can't be had stay as they were.
                let _ = entry.take_values(&mut self.devices.main);
            }
        } else if let Some(ranks) = &self.ranks {
            let message = "its solve was given up".into();
            ranks.give_up(Fault::Broken { rank: ranks.rank(), size: ranks.size(), message });
        }
    }
}

impl Entry {
    /// Takes the values that ranks came to into the problem, from which they are read.
    fn take_values(&mut self, device: &mut Device) -> Result<(), Error> {
        let tables = self.moving();
        let Some(parts) = &mut self.ranked else { return Ok(()) };
        // Ranks read all tables before any values are taken: whatever fails here alone, all have made the same calls.
        let read = tables.iter().map(|table| parts.own().read(device, *table)).collect::<Result<Vec<_>, _>>()?;
        tables.iter().zip(read).try_for_each(|(table, values)| self.problem.write_table(*table, Reals::F64(&values), None))
    }

    /// Takes the values of rows that this rank has, and that others of this process have, as of the last accepted step.
    fn take_present(&mut self, device: &mut Device) -> Result<(), Error> {
        let tables = self.moving();
        let Some(parts) = &mut self.ranked else { return Ok(()) };
        let mut present = parts.present_elsewhere();
        for table in tables {
            let (rows, values) = parts.own().read_present(device, table)?;
            present.push((table, rows, values));
        }
        present.iter().try_for_each(|(table, rows, values)| self.problem.write_table(*table, Reals::F64(values), Some(rows)))
    }

    /// Tables whose values a solve changes.
    fn moving(&self) -> Vec<u32> {
        (0..).zip(self.problem.tables()).filter(|(_, table)| table.moving).map(|(number, _)| number).collect()
    }
}

/// Begin of a solve: by options, from a file if there is one, and after the last solve, `again` if it is of the same solver.
pub(super) struct Begun<'a> {
    pub options: &'a Options,
    pub restored: Option<&'a Restored>,
    pub last: &'a mut Option<RankedSolve>,
    pub again: bool,
}

/// An iteration of a solve that all ranks make, of which the first one begins the solve; the report at its end. A rank may have a reason to
/// stop.
pub(super) fn iterate(
    parts: &mut RankedParts,
    (device, registry): (&mut Device, &mut Registry),
    solve: &mut Option<RankedSolve>,
    Begun { options, restored, last, again }: Begun,
    stop: Option<&str>,
) -> Result<Result<Iteration, Box<Report>>, Error> {
    let solve = match solve {
        Some(solve) => solve,
        none => none.insert(parts.begin((device, registry), options, restored, (last, again))?),
    };
    // Whoever is to end it, all do, after the same step.
    solve.heed(&**parts.communicator(), stop)?;
    let outcome = solve.advance(parts, device)?;
    Ok(outcome.map_err(|report| Box::new(solve.finish(parts, device, *report).report)))
}

/// A solve by all ranks. All resume it equally often: an iteration each time.
struct RankedJob {
    problem: u32,
    solver: u32,
    options: Options,
    /// File that it goes on from.
    restored: Option<Arc<Restored>>,
    solve: Option<RankedSolve>,
    /// Reason to end it that this rank was given.
    stop: Option<String>,
    /// True once ranks know of its end.
    is_over: bool,
}

impl Job for RankedJob {
    fn resume(&mut self, session: &mut Session, task: u32, _: f64) -> Result<Step, Error> {
        // A checkpoint that was asked for after the last iteration stands before the next one on all ranks.
        if session.is_behind(task) || session.is_preceded(task, u32::MAX) {
            return Ok(Progress::Yielded.into());
        }
        let Session { problems, solvers, devices: Devices { main: device, registry, .. }, .. } = session;
        let entry = problems.get_mut(self.problem).ok_or(Error::Disposed("problem"))?;
        let parts = entry.ranked.as_mut().ok_or(Error::Internal("a problem is not one of ranks"))?;
        let begins = self.solve.is_none();
        let (owner, mut last) = if begins { parts.take_last() } else { None }.unzip();
        let again = owner == Some(self.solver);
        let elsewhere = parts.go_on(&self.options, self.restored.as_ref(), again);
        let begun = Begun { options: &self.options, restored: self.restored.as_deref(), last: &mut last, again };
        let next = iterate(parts.own(), (device, registry), &mut self.solve, begun, self.stop.as_deref());
        if begins {
            // A refusal leaves the last solve as it was. A file counts for one solve, and not again if it does not fit.
            parts.keep_last(owner.zip(last));
            let is_spent = self.solve.is_some() || matches!(next, Err(Error::File(_) | Error::Checkpoint(_)));
            solvers.get_mut(self.solver).filter(|_| is_spent).into_iter().for_each(|solver| solver.restored = None);
        }
        let outcome = match next {
            Ok(Ok(iteration)) => return Ok(Progress::Iteration(iteration).into()),
            Ok(Err(report)) => entry.take_values(device).map(|()| report),
            Err(error) => Err(error),
        };
        self.is_over = true;
        match outcome {
            Ok(report) => {
                if let (Some(parts), Some(solve)) = (&mut entry.ranked, self.solve.take()) {
                    parts.keep_solve(self.solver, solve);
                }
                Ok(Progress::Report(report).into())
            }
            Err(error) => {
                if self.solve.is_some() && matches!(error, Error::Device(DeviceError::Ranks(_))) {
                    // The fault says more than what may go wrong now: then values stay as they were before the solve.
                    let _ = entry.take_present(device);
                }
                Err(match elsewhere {
                    Some(elsewhere) => elsewhere.reason(error),
                    None => error,
                })
            }
        }
    }

    fn stop(&mut self, _: &mut Session, reason: &str) {
        self.stop.get_or_insert_with(|| reason.into());
    }

    fn cancel(&mut self, _: &mut Session) {}

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        if !self.is_over {
            session.leave_ranked(self.problem, self.solve.is_some());
        }
        self.solve.into_iter().for_each(|solve| solve.free(&mut session.devices.main));
    }

    fn problem(&self) -> Option<u32> {
        Some(self.problem)
    }

    fn solver(&self) -> Option<u32> {
        Some(self.solver)
    }

    fn ranked(&self) -> Option<&RankedSolve> {
        self.solve.as_ref()
    }

    fn awaits_kernels(&self) -> bool {
        false
    }

    fn is_collective(&self) -> bool {
        true
    }
}
