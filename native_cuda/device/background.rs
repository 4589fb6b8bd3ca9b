//! Work off the thread that asks for it, on all cores.

use leastwise_recording::{Command, Signal};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A pool of its own: what the engine computes on all cores must not wait behind a compiler.
static POOL: LazyLock<Option<ThreadPool>> =
    LazyLock::new(|| ThreadPoolBuilder::new().thread_name(|number| format!("leastwise-nvrtc-{number}")).build().ok());

/// Bytes that take longer to give back than another thread takes to begin.
const MUCH: usize = 1 << 18;

/// Frees what a command uploaded and nobody needs any more, on another thread if it is much: the system takes back page by page, some
/// 25 ms for 400 MB.
pub(super) fn give_back(command: &mut Command) {
    match command {
        Command::UploadReals { data, .. } => free(std::mem::take(data)),
        Command::UploadIndices { data, .. } => free(std::mem::take(data)),
        _ => {}
    }
}

fn free<T: Send + 'static>(memory: Vec<T>) {
    // The pool begins with the first that is much.
    if memory.capacity() * size_of::<T>() >= MUCH
        && let Some(pool) = &*POOL
    {
        pool.spawn(move || drop(memory));
    }
}

/// Jobs that were begun together. What came of them is in the order of their items, whichever ended first.
pub(super) struct Jobs<T>(Arc<Shared<T>>);

struct Shared<T> {
    results: Mutex<Vec<Option<Result<T, String>>>>,
    left: AtomicUsize,
    abandoned: AtomicBool,
    done: Signal,
}

impl<T: Send + 'static> Jobs<T> {
    /// Begins one job for each item. One that panics fails with what it said.
    pub fn begin<I: Send + 'static>(items: Vec<I>, work: impl Fn(I) -> Result<T, String> + Send + Sync + 'static) -> Self {
        let results = Mutex::new(items.iter().map(|_| None).collect());
        let left = AtomicUsize::new(items.len());
        let shared = Arc::new(Shared { results, left, abandoned: AtomicBool::new(false), done: Signal::default() });
        if items.is_empty() {
            shared.done.set();
        }
        let work = Arc::new(work);
        for (number, item) in items.into_iter().enumerate() {
            let (shared, work) = (shared.clone(), work.clone());
            let job = move || shared.take(number, || work(item));
            match &*POOL {
                Some(pool) => pool.spawn(job),
                None => job(),
            }
        }
        Self(shared)
    }

    /// What to wait for; none when all are done.
    pub fn running(&self) -> Option<Signal> {
        (!self.0.done.is_set()).then(|| self.0.done.clone())
    }

    /// What came of the jobs that are done.
    pub fn results(self) -> Vec<Result<T, String>> {
        let results = std::mem::take(&mut *self.0.results.lock().unwrap_or_else(PoisonError::into_inner));
        results.into_iter().flatten().collect()
    }

    /// Leaves out what was not begun yet, and waits for the rest; for a compiler that hangs, no longer than for a GPU.
    pub fn abandon(self) {
        self.0.abandoned.store(true, Ordering::Relaxed);
        let _ = super::waits::wait("the end of compiling", super::waits::last(), || Ok(self.0.done.is_set()));
    }
}

impl<T> Shared<T> {
    fn take(&self, number: usize, work: impl FnOnce() -> Result<T, String>) {
        let result = if self.abandoned.load(Ordering::Relaxed) {
            Err("nobody waits for it any more".into())
        } else {
            catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
                let said = panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
                Err(format!("a panic: {}", said.unwrap_or_default()))
            })
        };
        self.results.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(result);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.done.set();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_come_in_the_order_of_the_items_and_a_panic_is_one() {
        let jobs = Jobs::begin((0..100).collect(), |item: u64| match item {
            40 => panic!("forty"),
            50 => Err("fifty".to_string()),
            _ => Ok((0..(100 - item) * 1000).fold(item, |sum, _| std::hint::black_box(sum))),
        });
        if let Some(signal) = jobs.running() {
            pollster::block_on(signal);
        }
        assert!(jobs.running().is_none());
        let results = jobs.results();
        assert_eq!(results.len(), 100);
        for (item, result) in (0..).zip(results) {
            let expected = match item {
                40 => Err("a panic: forty".to_string()),
                50 => Err("fifty".to_string()),
                _ => Ok(item),
            };
            assert_eq!(result, expected);
        }
        assert!(Jobs::begin(Vec::<u64>::new(), Ok).running().is_none());
    }

    #[test]
    fn whoever_begins_does_not_wait_and_what_was_abandoned_is_left_out() {
        let (begun, may_end) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(2)));
        let of_job = (begun.clone(), may_end.clone());
        let jobs = Jobs::begin((0..10_000).collect(), move |item: usize| {
            if of_job.0.fetch_add(1, Ordering::SeqCst) == 0 {
                of_job.1.wait();
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
            Ok(item)
        });
        let signal = jobs.running().expect("one of them waits for this thread");
        let waiting = [0, 1].map(|_| signal.clone()).map(|signal| std::thread::spawn(|| pollster::block_on(signal)));
        may_end.wait();
        jobs.abandon();
        assert!(signal.is_set());
        waiting.into_iter().for_each(|thread| thread.join().expect("both learn of it"));
        assert!(begun.load(Ordering::SeqCst) < 10_000);
    }
}
