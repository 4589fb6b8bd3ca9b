//! Ranks that a session has in its own process: threads that follow the session, which is rank 0.
//!
//! A follower owns a device and its parts of the session's problems. The session gives all followers the same orders, one for each thing
//! that it has done to a problem, and a follower carries them out in turn. An iteration of a solve is an order, too: so edits stand
//! between the same two iterations on all ranks, and between two iterations no rank waits for another. So is a part of a clustering, from
//! one rest to the next.

mod clusters;

use super::ranked::{Begun, iterate};
use super::threaded::words_of;
use leastwise_collective::{Communicator, DEADLINE, Fault};
use leastwise_device::{Counters, Device, DeviceError};
use leastwise_error::Error;
use leastwise_outer::Devices;
use leastwise_problem::{Registry, Tuning};
use leastwise_ranks::{RankedParts, RankedSolve, Restored};
use leastwise_solve::Options;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest wait for what followers have after a fault, of which one may hang.
const AFTER_A_FAULT: Duration = Duration::from_secs(10);

/// A table, some of its rows, and their values.
pub(super) type Present = (u32, Vec<u32>, Vec<f64>);

/// Work that all followers do, with data that they share.
type Order = Arc<dyn Fn(&mut Follower) -> Result<(), Error> + Send + Sync>;

/// A rank, as its thread has it.
struct Follower {
    devices: Devices,
    communicator: Arc<dyn Communicator>,
    problems: HashMap<u32, Followed>,
    clustering: Option<clusters::Followed>,
}

/// A follower's part of a problem.
pub(super) struct Followed {
    pub parts: RankedParts,
    /// Tables whose values a solve ends with.
    pub moving: Vec<u32>,
    /// The solve in its midst, and the last one.
    solve: Option<RankedSolve>,
    ended: Option<RankedSolve>,
}

impl Follower {
    /// Carries out orders until there are no more.
    fn live(mut self, orders: &Receiver<Option<Order>>) {
        let communicator = self.communicator.clone();
        let give_up = |message: String| {
            let (rank, size) = (communicator.rank(), communicator.size());
            communicator.give_up(Fault::Broken { rank, size, message });
        };
        let lived = catch_unwind(AssertUnwindSafe(|| {
            while let Ok(Some(order)) = orders.recv() {
                if let Err(error) = order(&mut self) {
                    give_up(error.to_string());
                }
            }
        }));
        if let Err(panic) = lived {
            give_up(words_of(&*panic));
        }
        // Remains of a panic may not even be freed without another.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self)));
    }
}

impl Followed {
    /// The iteration of a solve that all ranks make, and after the last one the reads that all make.
    fn next(
        &mut self,
        (device, registry): (&mut Device, &mut Registry),
        (options, restored, again): (&Options, Option<&Restored>, bool),
    ) -> Result<(), Error> {
        let begun = Begun { options, restored, last: &mut self.ended, again };
        let outcome = match iterate(&mut self.parts, (device, registry), &mut self.solve, begun, None) {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(_)) => self.read(device),
            Err(error) => Err(error),
        };
        if outcome.is_ok() {
            self.ended = self.solve.take();
        }
        self.free_solve(device);
        outcome
    }

    fn save(&mut self, device: &mut Device, running: bool) -> Result<(), Error> {
        let solve = if running { &self.solve } else { &self.ended };
        let solve = solve.as_ref().ok_or(Error::Internal("a follower lacks a solve"))?;
        self.parts.save(device, solve, running).map(drop)
    }

    fn forget_solve(&mut self, device: &mut Device) {
        self.ended.take().into_iter().for_each(|solve| solve.free(device));
    }

    fn read(&mut self, device: &mut Device) -> Result<(), Error> {
        self.moving.iter().try_for_each(|table| self.parts.read(device, *table).map(drop))
    }

    fn free_solve(&mut self, device: &mut Device) {
        self.solve.take().into_iter().for_each(|solve| solve.free(device));
    }
}

/// Ways to all followers.
#[derive(Clone)]
struct Orders(Vec<Sender<Option<Order>>>);

impl Orders {
    /// Has all followers do something. One that fails with an error gives its ranks up; one that is gone has done so.
    fn give(&self, order: impl Fn(&mut Follower) -> Result<(), Error> + Send + Sync + 'static) {
        let order: Order = Arc::new(order);
        for follower in &self.0 {
            let _ = follower.send(Some(order.clone()));
        }
    }

    /// The same, with answers.
    fn ask<T: Send + 'static>(&self, question: impl Fn(&mut Follower) -> Option<T> + Send + Sync + 'static) -> Answers<T> {
        let (sender, answers) = channel();
        self.give(move |follower| {
            if let Some(answer) = question(follower) {
                // Nobody may want it any more.
                let _ = sender.send(answer);
            }
            Ok(())
        });
        Answers(answers)
    }
}

/// Answers of followers, in the order in which they come: all of them, or those that come in time.
struct Answers<T>(Receiver<T>);

impl<T> Answers<T> {
    fn within(&self, patience: Duration) -> impl Iterator<Item = T> {
        let begun = Instant::now();
        std::iter::from_fn(move || self.0.recv_timeout(patience.saturating_sub(begun.elapsed())).ok())
    }
}

/// The followers of a session, which end with it.
pub(super) struct Followers {
    orders: Orders,
    threads: Vec<JoinHandle<()>>,
    /// Number of problems so far.
    problems: u32,
}

impl Followers {
    /// Starts a thread for each of these ranks, whose devices join them.
    ///
    /// # Errors
    /// Those of [`Device::join`], and [`Error::Limits`] if the system starts no thread.
    pub fn start(ranks: impl IntoIterator<Item = (Device, Arc<dyn Communicator>)>) -> Result<Self, Error> {
        let mut started = Self { orders: Orders(Vec::new()), threads: Vec::new(), problems: 0 };
        for (mut device, communicator) in ranks {
            device.join(Some(communicator.clone()))?;
            let (sender, orders) = channel();
            let thread = std::thread::Builder::new().name(format!("leastwise {}", communicator.rank()));
            let follower = Follower { devices: Devices::new(device), communicator, problems: HashMap::new(), clustering: None };
            let thread = thread.spawn(move || follower.live(&orders));
            started.threads.push(thread.map_err(|error| Error::Limits(format!("no thread could be started: {error}")))?);
            started.orders.0.push(sender);
        }
        Ok(started)
    }

    /// Has all followers begin a problem.
    pub fn begin(&mut self) -> Following {
        let problem = self.problems;
        self.problems += 1;
        self.orders.give(move |follower| {
            let parts = RankedParts::new(follower.communicator.clone());
            follower.problems.insert(problem, Followed { parts, moving: Vec::new(), solve: None, ended: None });
            Ok(())
        });
        Following { orders: self.orders.clone(), problem }
    }

    /// Counters of their devices, once they have done all that they were told.
    pub fn counters(&self) -> Vec<Counters> {
        self.orders.ask(|follower| Some(follower.devices.counters())).within(DEADLINE).collect()
    }

    /// Sets the schedules of products, and the evaluators of programs.
    pub fn set_tuning(&self, tuning: &Tuning) {
        let tuning = tuning.clone();
        self.orders.give(move |follower| {
            follower.devices.main.set_evaluators(tuning.evaluators());
            follower.devices.registry.tuning = tuning.clone();
            Ok(())
        });
    }

    /// Has them end, after all that they were told. Nothing is waited for: ranks leave together.
    pub fn end(&self) {
        for follower in &self.orders.0 {
            let _ = follower.send(None);
        }
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        self.end();
        for thread in self.threads.drain(..) {
            // It catches every panic.
            let _ = thread.join();
        }
    }
}

/// A problem as followers have it.
pub(super) struct Following {
    orders: Orders,
    problem: u32,
}

impl Following {
    /// Has all followers do what was done to the problem here. A failure there alone is a fault of all ranks.
    pub fn tell(&self, work: impl Fn(&mut Followed, &mut Device, &mut Registry) -> Result<(), Error> + Send + Sync + 'static) {
        let problem = self.problem;
        self.orders.give(move |Follower { devices, problems, .. }| match problems.get_mut(&problem) {
            Some(followed) => work(followed, &mut devices.main, &mut devices.registry),
            None => Ok(()),
        });
    }

    fn ask<T: Send + 'static>(
        &self,
        question: impl Fn(&mut Followed, &mut Device, &mut Registry) -> Option<T> + Send + Sync + 'static,
    ) -> Answers<T> {
        let problem = self.problem;
        self.orders
            .ask(move |Follower { devices, problems, .. }| question(problems.get_mut(&problem)?, &mut devices.main, &mut devices.registry))
    }

    /// Has all followers make the iteration that this rank is about to make.
    pub fn go_on(&self, own: &Arc<dyn Communicator>, options: &Options, restored: Option<&Arc<Restored>>, again: bool) -> Iterating {
        let (options, restored) = (options.clone(), restored.cloned());
        let failures =
            self.ask(move |followed, device, registry| followed.next((device, registry), (&options, restored.as_deref(), again)).err());
        Iterating { failures, own: own.clone() }
    }

    /// Has all followers make the checkpoint that this rank is about to make.
    pub fn save(&self, own: &Arc<dyn Communicator>, running: bool) -> Iterating {
        Iterating { failures: self.ask(move |followed, device, _| followed.save(device, running).err()), own: own.clone() }
    }

    /// Has all followers free the last solve.
    pub fn forget_solve(&self) {
        self.tell(|followed, device, _| {
            followed.forget_solve(device);
            Ok(())
        });
    }

    /// Has all followers end a solve between two iterations, with the reads of a solve's end.
    pub fn leave_solve(&self) {
        self.tell(|followed, device, _| {
            // Values that can't be had stay as they were.
            let _ = followed.read(device);
            followed.free_solve(device);
            Ok(())
        });
    }

    /// Rows that followers have of all tables that move, and their values as of the last accepted step, after a fault.
    pub fn present(&self) -> Vec<Present> {
        let present = self.ask(|followed, device, _| {
            let Followed { parts, moving, .. } = followed;
            moving
                .iter()
                .map(|table| parts.read_present(device, *table).map(|(rows, values)| (*table, rows, values)))
                .collect::<Result<_, _>>()
                .ok()
        });
        present.within(AFTER_A_FAULT).collect::<Vec<Vec<Present>>>().concat()
    }

    /// Has all followers free what they have of the problem.
    pub fn dispose(&self) {
        let problem = self.problem;
        self.orders.give(move |Follower { devices: Devices { main: device, .. }, problems, .. }| {
            if let Some(mut followed) = problems.remove(&problem) {
                followed.free_solve(device);
                followed.forget_solve(device);
                followed.parts.dispose(device);
            }
            Ok(())
        });
    }
}

/// Part of a solve or clustering that followers make while this rank makes its own. If it panics meanwhile, they learn so.
pub(super) struct Iterating {
    failures: Answers<Error>,
    own: Arc<dyn Communicator>,
}

impl Iterating {
    /// The reason of a failure: that of the follower whose own it is, where this rank knows only that another one failed.
    pub fn reason(&self, error: Error) -> Error {
        if !matches!(error, Error::Device(DeviceError::Ranks(Fault::Refused(_)))) {
            return error;
        }
        let mut failures = self.failures.within(DEADLINE);
        failures.find(|failure| !matches!(failure, Error::Device(DeviceError::Ranks(_)))).unwrap_or(error)
    }
}

impl Drop for Iterating {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.own.give_up(Fault::Gone { rank: self.own.rank(), size: self.own.size(), panicked: true });
        }
    }
}
