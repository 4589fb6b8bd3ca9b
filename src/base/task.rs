//! Long work on the host, in time slices.
//!
//! It is written straight on, as an `async fn` that looks at the clock wherever it may be interrupted: where it says how much is done
//! ([`Pace::rest`]), or how many operations it has spent ([`Pace::spend`]). Only the clock decides where a slice ends, and no result
//! depends on that: looks stand at places that sizes decide.

use crate::clock::now_ms;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// Operations between two looks at the clock: about a millisecond in a page.
pub const UNIT: usize = 1 << 20;

/// The work was told to end before it was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// What work and whoever resumes it tell each other. Deadline and share are bits of f64.
#[derive(Default)]
struct Shared {
    deadline: AtomicU64,
    done: AtomicU64,
    stopped: AtomicBool,
    /// Operations since the last look at the clock, and the most that there were between two.
    spent: AtomicUsize,
    largest: AtomicUsize,
}

/// The work's side: how far it has come, and whether its time is up.
#[derive(Clone)]
pub struct Pace {
    shared: Arc<Shared>,
    /// Which part of the whole this part of the work is.
    part: Range<f64>,
}

impl Pace {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, part: 0.0..1.0 }
    }

    /// The pace of a part of this work.
    pub fn part(&self, range: Range<f64>) -> Self {
        let at = |share: f64| self.part.start + share * (self.part.end - self.part.start);
        Self { shared: self.shared.clone(), part: at(range.start)..at(range.end) }
    }

    /// Says which share of this part is done.
    pub fn tell(&self, done: usize, of: usize) {
        let share = done as f64 / of.max(1) as f64;
        self.shared.done.store(self.part(share..1.0).part.start.to_bits(), Relaxed);
    }

    /// Says which share of this part is done, and gives way when the time slice is over.
    pub async fn rest(&self, done: usize, of: usize) {
        self.tell(done, of);
        self.give_way().await;
    }

    /// Counts operations that were done, and looks at the clock when they are a [`UNIT`] together.
    ///
    /// # Errors
    /// [`Stopped`] where the work is to end.
    pub async fn spend(&self, operations: usize) -> Result<(), Stopped> {
        let spent = self.shared.spent.load(Relaxed).saturating_add(operations);
        self.shared.spent.store(spent, Relaxed);
        if spent < UNIT { Ok(()) } else { self.look(spent).await }
    }

    async fn look(&self, spent: usize) -> Result<(), Stopped> {
        self.shared.largest.fetch_max(spent, Relaxed);
        self.shared.spent.store(0, Relaxed);
        if !self.is_stopped() {
            self.give_way().await;
        }
        if self.is_stopped() { Err(Stopped) } else { Ok(()) }
    }

    async fn give_way(&self) {
        if now_ms() >= f64::from_bits(self.shared.deadline.load(Relaxed)) {
            let mut rested = false;
            poll_fn(|_| if std::mem::replace(&mut rested, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }

    fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Relaxed)
    }
}

/// Task on its way to a `T`. Dropping it frees what it holds.
pub struct Task<'a, T> {
    work: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    shared: Arc<Shared>,
}

impl<'a, T> Task<'a, T> {
    /// Task that a function begins, which is given the pace to rest and to report by.
    pub fn new<F: Future<Output = T> + Send + 'a>(work: impl FnOnce(Pace) -> F) -> Self {
        let shared = Arc::<Shared>::default();
        Self { work: Box::pin(work(Pace::new(shared.clone()))), shared }
    }

    /// Goes on until it is done, or rests after the deadline (of [`now_ms`]). Not to be called again after the end.
    pub fn resume(&mut self, deadline: f64) -> Option<T> {
        self.shared.deadline.store(deadline.to_bits(), Relaxed);
        match self.work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }

    /// The share that is done.
    pub fn done(&self) -> f64 {
        f64::from_bits(self.shared.done.load(Relaxed))
    }

    /// The most operations that were spent between two looks at the clock.
    pub fn largest_unit(&self) -> usize {
        self.shared.largest.load(Relaxed)
    }

    /// All of it at once.
    pub fn finish(mut self) -> T {
        loop {
            if let Some(result) = self.resume(f64::INFINITY) {
                return result;
            }
        }
    }

    /// Has it end at its next look at the clock, with [`Stopped`] or what it makes of that.
    pub fn stop(self) -> T {
        self.shared.stopped.store(true, Relaxed);
        self.finish()
    }
}
