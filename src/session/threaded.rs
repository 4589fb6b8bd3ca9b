//! A session with a thread for its tasks, for native programs whose own thread must stay free: an event loop.
//!
//! Calls run on the caller's thread. A task that was [resumed](Threaded::resume) runs on the worker, slice by slice, and the
//! worker gives way to calls between two slices. A task whose kernels are being compiled waits aside. What only stops or
//! frees is [posted](Threaded::post): it never waits, and happens before anything that is asked for later. A panic ends the
//! session, not the program.

use super::{Progress, Session};
use leastwise_device::Signal;
use leastwise_error::Error;
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};
use std::thread::JoinHandle;

/// Reason that a call failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The session refused the call, or the task failed.
    Refused(Error),
    /// The session panicked, now or before, and can't go on: what it said.
    Dead(String),
}

impl Failure {
    /// Message of a panic.
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        Self::Dead(words_of(panic))
    }
}

/// Words of a panic.
pub(super) fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic that says nothing".into())
}

/// Outcome of a task.
pub type Outcome = Result<Progress, Failure>;

type Posted = Box<dyn FnOnce(&mut Session) + Send>;
type Wake = Box<dyn FnOnce() + Send>;

/// A session, and the thread that works through its tasks.
pub struct Threaded {
    shared: Arc<Shared>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    session: Mutex<Life>,
    /// Calls that wait for the session.
    callers: AtomicU32,
    /// Locked after the session, where both are.
    work: Mutex<Work>,
    changed: Condvar,
}

enum Life {
    Alive(Box<Session>),
    Dead(Failure),
    Disposed,
}

#[derive(Default)]
struct Work {
    /// Tasks to go on with, in turn, and the budgets of their slices.
    resumed: VecDeque<(u32, f64)>,
    /// Tasks whose signals put them back among those when they are set.
    waiting: Vec<(u32, f64)>,
    /// Whom to tell when a task has come to something.
    wakes: Vec<(u32, Wake)>,
    /// Outcomes of tasks that nobody has taken yet.
    outcomes: HashMap<u32, Outcome>,
    posted: Vec<Posted>,
    over: bool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Threaded {
    /// Takes a session over, and starts the thread.
    ///
    /// # Errors
    /// [`Error::Limits`] if the system starts no thread.
    pub fn new(session: Session) -> Result<Self, Error> {
        let life = Mutex::new(Life::Alive(Box::new(session)));
        let shared = Arc::new(Shared { session: life, callers: AtomicU32::new(0), work: Mutex::default(), changed: Condvar::new() });
        let of_worker = shared.clone();
        let worker = std::thread::Builder::new().name("leastwise".into()).spawn(move || of_worker.work());
        let worker = worker.map_err(|error| Error::Limits(format!("no thread could be started: {error}")))?;
        Ok(Self { shared, worker: Mutex::new(Some(worker)) })
    }

    /// Works on the session, as soon as the slice that is running is over.
    pub fn call<T>(&self, work: impl FnOnce(&mut Session) -> Result<T, Error>) -> Result<T, Failure> {
        self.shared.enter().run(work)
    }

    /// Has something done before anything that is asked for later, and does not wait for it.
    pub fn post(&self, work: impl FnOnce(&mut Session) + Send + 'static) {
        locked(&self.shared.work).posted.push(Box::new(work));
        self.shared.changed.notify_one();
    }

    /// Outcome of a task since it was resumed, given once: [`Progress::Yielded`] and [`Progress::Waiting`] are not among it.
    pub fn outcome(&self, task: u32) -> Option<Outcome> {
        let mut work = locked(&self.shared.work);
        if work.over {
            return Some(Err(Failure::Refused(Error::Disposed("engine"))));
        }
        // What was posted may end the task: the worker sees to that first.
        if work.posted.is_empty() { work.outcomes.remove(&task) } else { None }
    }

    /// Goes on with a task in slices of so many milliseconds, and wakes when there is an [outcome](Self::outcome).
    pub fn resume(&self, task: u32, budget_ms: f64, wake: impl FnOnce() + Send + 'static) {
        let mut work = locked(&self.shared.work);
        if work.over {
            drop(work);
            return wake();
        }
        if !work.wakes.iter().any(|(other, _)| *other == task) {
            work.resumed.push_back((task, budget_ms));
        }
        work.wakes.push((task, Box::new(wake)));
        self.shared.changed.notify_one();
    }

    /// Drops a task that is not over: who resumes it learns that it is gone. What a task that is over has come to stays, since it has been
    /// done: who asked for it may still have it.
    pub fn abort(&self, task: u32) {
        self.post(move |session| session.cancel(task));
    }

    /// Drops a task that nobody resumes any more, and what it has come to.
    pub fn cancel(&self, task: u32) {
        locked(&self.shared.work).outcomes.remove(&task);
        self.post(move |session| session.cancel(task));
    }

    /// Destroys the session and ends its thread.
    pub fn dispose(&self) {
        let life = std::mem::replace(&mut *self.shared.enter(), Life::Disposed);
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if let Life::Alive(mut session) = life {
                session.dispose();
            }
        }));
        self.shared.end();
        self.join();
    }

    fn join(&self) {
        if let Some(worker) = locked(&self.worker).take() {
            // It catches every panic.
            let _ = worker.join();
        }
    }
}

impl Drop for Threaded {
    fn drop(&mut self) {
        self.shared.end();
        // In the midst of a slice it is left to end by itself: whoever drops this is not to wait.
        if self.shared.session.try_lock().is_ok() {
            self.join();
        }
    }
}

impl Shared {
    /// The session, for a call.
    fn enter(&self) -> MutexGuard<'_, Life> {
        self.callers.fetch_add(1, Ordering::SeqCst);
        let mut life = locked(&self.session);
        self.callers.fetch_sub(1, Ordering::SeqCst);
        self.catch_up(&mut life);
        life
    }

    /// Does what was posted.
    fn catch_up(&self, life: &mut Life) {
        let posted = std::mem::take(&mut locked(&self.work).posted);
        if posted.is_empty() {
            return;
        }
        for work in posted {
            // A panic is told by the next call.
            let _ = life.run(|session| {
                work(session);
                Ok(())
            });
        }
        // Tasks that are gone now shall be found to be.
        self.resume_waiting(|_| true);
        // An iteration of what is gone now is nobody's.
        if let Life::Alive(session) = life {
            let stands = |task: &u32, outcome: &mut Outcome| {
                !matches!(outcome, Ok(Progress::Iteration(_) | Progress::Partly { .. })) || session.has_task(*task)
            };
            locked(&self.work).outcomes.retain(stands);
        }
    }

    /// Has a task wait for a signal, without the session and without the worker.
    fn wait(self: &Arc<Self>, task: u32, budget_ms: f64, mut signal: Signal) {
        locked(&self.work).waiting.push((task, budget_ms));
        let waker = Waker::from(Arc::new(Return { shared: Arc::downgrade(self), task }));
        if Pin::new(&mut signal).poll(&mut Context::from_waker(&waker)).is_ready() {
            waker.wake();
        }
    }

    /// Puts tasks that wait back among those to go on with.
    fn resume_waiting(&self, chosen: impl Fn(u32) -> bool) {
        let mut work = locked(&self.work);
        let back: Vec<_> = work.waiting.extract_if(.., |(task, _)| chosen(*task)).collect();
        work.resumed.extend(back);
        self.changed.notify_one();
    }

    /// The worker's life.
    fn work(self: &Arc<Self>) {
        while let Some(next) = self.next() {
            // A mutex alone would give the session to the thread that had it last.
            while self.callers.load(Ordering::SeqCst) > 0 {
                std::thread::yield_now();
            }
            let mut life = locked(&self.session);
            self.catch_up(&mut life);
            let Some((task, budget_ms)) = next else { continue };
            if locked(&self.work).outcomes.contains_key(&task) {
                self.wake(task);
                continue;
            }
            let outcome = life.run(|session| go_on(session, task, budget_ms));
            if let Ok(Progress::Waiting(signal)) = outcome {
                // Before others have the session: what they do to the task must find it waiting.
                self.wait(task, budget_ms, signal);
                continue;
            }
            drop(life);
            let mut work = locked(&self.work);
            if let Ok(Progress::Yielded) = outcome {
                work.resumed.push_back((task, budget_ms));
                continue;
            }
            // Where nobody waits, it was cancelled.
            if work.wakes.iter().any(|(other, _)| *other == task) {
                work.outcomes.insert(task, outcome);
            }
            drop(work);
            self.wake(task);
        }
    }

    /// Waits for something to do: a task's slice, or only what was posted. None when all is over.
    fn next(&self) -> Option<Option<(u32, f64)>> {
        let mut work = locked(&self.work);
        loop {
            if work.over {
                return None;
            }
            if let Some(next) = work.resumed.pop_front() {
                return Some(Some(next));
            }
            if !work.posted.is_empty() {
                return Some(None);
            }
            work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn wake(&self, task: u32) {
        let wakes: Vec<Wake> = {
            let mut work = locked(&self.work);
            work.wakes.extract_if(.., |(other, _)| *other == task).map(|(_, wake)| wake).collect()
        };
        wakes.into_iter().for_each(|wake| wake());
    }

    fn end(&self) {
        let mut work = locked(&self.work);
        work.over = true;
        work.resumed.clear();
        work.waiting.clear();
        let wakes = std::mem::take(&mut work.wakes);
        drop(work);
        self.changed.notify_one();
        wakes.into_iter().for_each(|(_, wake)| wake());
    }
}

impl Life {
    fn run<T>(&mut self, work: impl FnOnce(&mut Session) -> Result<T, Error>) -> Result<T, Failure> {
        let session = match self {
            Self::Alive(session) => session,
            Self::Dead(failure) => return Err(failure.clone()),
            Self::Disposed => return Err(Failure::Refused(Error::Disposed("engine"))),
        };
        catch_unwind(AssertUnwindSafe(|| work(session))).map(|done| done.map_err(Failure::Refused)).unwrap_or_else(|panic| {
            let failure = Failure::panicked(&*panic);
            let broken = std::mem::replace(self, Self::Dead(failure.clone()));
            // What a panic left behind may not even be freed without another.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
            Err(failure)
        })
    }
}

/// Puts a waiting task back when its signal is set.
struct Return {
    shared: Weak<Shared>,
    task: u32,
}

impl std::task::Wake for Return {
    fn wake(self: Arc<Self>) {
        if let Some(shared) = self.shared.upgrade() {
            shared.resume_waiting(|task| task == self.task);
        }
    }
}

/// One slice of a task. Where a device must be polled, this thread polls it.
fn go_on(session: &mut Session, task: u32, budget_ms: f64) -> Result<Progress, Error> {
    match session.resume(task, budget_ms)? {
        Progress::Waiting(signal) if session.device().is_polled() => {
            session.device_mut().block_on(&signal)?;
            Ok(Progress::Yielded)
        }
        progress => Ok(progress),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_cpu::CpuDevice;
    use leastwise_device::{Device, Precision};
    use leastwise_problem::Reals;
    use std::sync::mpsc::channel;

    /// A task that waits for a signal goes on when it is set, ends when its problem does, and keeps nobody from calling.
    #[test]
    fn a_task_waits_without_the_session() {
        let session = Session::new(Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits())));
        let session = Threaded::new(session).unwrap();
        let begin = || {
            let made = session.call(|session| {
                let problem = session.problem();
                let table = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0]), true)?;
                Ok((problem, session.read_table(problem, table)?))
            });
            let (problem, task) = made.unwrap();
            let (wake, woken) = channel();
            locked(&session.shared.work).wakes.push((task, Box::new(move || wake.send(()).unwrap())));
            let signal = Signal::default();
            session.shared.wait(task, 8.0, signal.clone());
            (problem, task, signal, woken)
        };
        let (_, task, signal, woken) = begin();
        let (_, set_before, earlier, _woken) = begin();
        session.call(|session| Ok(session.problem())).unwrap();
        assert!(woken.try_recv().is_err() && session.outcome(task).is_none());
        signal.set();
        woken.recv().unwrap();
        let Some(Ok(Progress::Values(values))) = session.outcome(task) else { panic!("no values") };
        assert_eq!(values, [1.0, 2.0]);
        earlier.set();
        assert!(session.outcome(set_before).is_none_or(|outcome| outcome.is_ok()));

        let (problem, task, _never, woken) = begin();
        session.post(move |session| session.free_problem(problem));
        woken.recv().unwrap();
        assert!(matches!(session.outcome(task), Some(Err(Failure::Refused(Error::Disposed(_))))));

        let (_, task, _never, woken) = begin();
        session.dispose();
        woken.recv().unwrap();
        assert!(matches!(session.outcome(task), Some(Err(Failure::Refused(Error::Disposed("engine"))))));
    }
}
