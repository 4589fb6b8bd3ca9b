//! Work that takes long, in time slices.
//!
//! It is written straight on, as an `async fn` that [rests](Pace::rest) wherever it may be interrupted. Nothing but the clock decides where
//! it is, and nothing that it computes depends on that.

use crate::clock::now_ms;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// What work and whoever resumes it tell each other, as bits of f64.
#[derive(Default)]
struct Shared {
    deadline: AtomicU64,
    done: AtomicU64,
}

/// The work's side: how far it has come, and whether its time is up.
#[derive(Clone)]
pub struct Pace {
    shared: Arc<Shared>,
    /// Which part of the whole this part of the work is.
    part: Range<f64>,
}

impl Pace {
    /// The pace of a part of this work.
    pub fn part(&self, range: Range<f64>) -> Self {
        let at = |share: f64| self.part.start + share * (self.part.end - self.part.start);
        Self { shared: self.shared.clone(), part: at(range.start)..at(range.end) }
    }

    /// Says which share of this part is done, and gives way when the time slice is over.
    pub async fn rest(&self, done: usize, of: usize) {
        let share = done as f64 / of.max(1) as f64;
        self.shared.done.store(self.part(share..1.0).part.start.to_bits(), Relaxed);
        if now_ms() >= f64::from_bits(self.shared.deadline.load(Relaxed)) {
            let mut rested = false;
            poll_fn(|_| if std::mem::replace(&mut rested, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }
}

/// Work on its way to a `T`. Dropping it frees what it holds.
pub struct Work<'a, T> {
    work: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    shared: Arc<Shared>,
}

impl<'a, T> Work<'a, T> {
    pub fn new<F: Future<Output = T> + Send + 'a>(work: impl FnOnce(Pace) -> F) -> Self {
        let shared = Arc::<Shared>::default();
        Self { work: Box::pin(work(Pace { shared: shared.clone(), part: 0.0..1.0 })), shared }
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

    /// All of it at once.
    pub fn finish(mut self) -> T {
        loop {
            if let Some(result) = self.resume(f64::INFINITY) {
                return result;
            }
        }
    }
}
