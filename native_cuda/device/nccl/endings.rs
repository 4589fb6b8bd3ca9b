//! Ends of communicators, each on a thread of its own. NCCL's abort and destroy join a thread that stays for as long as other ranks are
//! connected, one that hangs included. Whoever waits for an end has a deadline, after which NCCL keeps the handle and the memory.

use super::library::{Handle, Nccl, Status};
use super::{NAP, NcclCommunicator, lock};
use leastwise_collective::Fault;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for the end of communicators before memory that they use is freed: later it is left to NCCL.
pub const FAREWELL: Duration = Duration::from_secs(5);

/// Longest wait for an abort by whoever reports a fault. Kernels end as it begins, and all else of it concerns NCCL alone.
const ABORT: Duration = Duration::from_secs(2);

/// Number of ends that are under way.
#[derive(Default)]
pub struct Endings(Arc<AtomicUsize>);

impl Endings {
    /// Begins one.
    pub fn begin(&self, end: impl FnOnce() + Clone + Send + 'static) {
        self.0.fetch_add(1, Ordering::AcqRel);
        let (under_way, work) = (self.0.clone(), end.clone());
        let on_thread = move || {
            work();
            under_way.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().name("leastwise-nccl".into()).spawn(on_thread).is_err() {
            // No thread is to be had: kernels that wait must end all the same, however long it takes.
            end();
            self.0.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// True once all are over; waits for so long at most.
    pub fn are_over_within(&self, longest: Duration) -> bool {
        let begun = Instant::now();
        loop {
            if self.0.load(Ordering::Acquire) == 0 {
                return true;
            }
            if begun.elapsed() >= longest {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl NcclCommunicator {
    /// Ends what waits for other ranks on this GPU, by the communicators of both devices. All aborts begin before one is waited for: each
    /// first ends its own kernels, and later frees memory, for which the driver waits for all kernels of the GPU.
    pub(super) fn abort(&self, fault: &Fault) {
        let other = self.other();
        if let Some(other) = &other {
            other.world.fail(fault.clone());
        }
        let (both, begun) = ([Some(self), other.as_deref()], Instant::now());
        both.into_iter().flatten().for_each(Self::begin_abort);
        for communicator in both.into_iter().flatten() {
            if communicator.endings.are_over_within(ABORT.saturating_sub(begun.elapsed())) {
                communicator.left();
            }
        }
    }

    fn begin_abort(&self) {
        for of in [&self.quick, &self.comm] {
            let comm = std::mem::replace(&mut *lock(of), std::ptr::null_mut()) as usize;
            if comm != 0 {
                let (nccl, context) = (self.nccl, self.context.clone());
                self.endings.begin(move || {
                    let _ = context.bind_to_thread();
                    // SAFETY: nobody else has the handle any more.
                    unsafe { (nccl.abort)(comm as Handle) };
                });
            }
        }
    }

    /// Tells other ranks of this process, once, that nothing of this one waits for them.
    pub(super) fn left(&self) {
        if !self.has_left.swap(true, Ordering::AcqRel) {
            self.world.left();
        }
    }

    /// Leaves a group in which nothing failed.
    pub(super) fn leave(&self) {
        let handles = [&self.quick, &self.comm].map(|comm| std::mem::replace(&mut *lock(comm), std::ptr::null_mut()) as usize);
        if handles != [0, 0] {
            let (nccl, context) = (self.nccl, self.context.clone());
            self.endings.begin(move || {
                let _ = context.bind_to_thread();
                // SAFETY: nobody else has the handles, and all that they enqueued is over.
                unsafe { farewell(nccl, handles.map(|comm| comm as Handle)) };
            });
            self.endings.are_over_within(FAREWELL);
        }
        self.left();
    }
}

/// Destroys both communicators of a rank, of which each may be none.
///
/// # Safety
/// Nobody else has the handles, and all that they enqueued is over.
unsafe fn farewell(nccl: &Nccl, [quick, comm]: [Handle; 2]) {
    let begun = Instant::now();
    // SAFETY: each handle is used until it is destroyed or aborted.
    unsafe {
        if !quick.is_null() {
            (nccl.destroy)(quick);
        }
        if comm.is_null() {
            return;
        }
        let mut status = (nccl.finalize)(comm);
        while status == Status::IN_PROGRESS && begun.elapsed() < FAREWELL {
            std::thread::sleep(NAP);
            if (nccl.async_error)(comm, &mut status) != Status::SUCCESS {
                break;
            }
        }
        if status == Status::SUCCESS {
            (nccl.destroy)(comm)
        } else {
            (nccl.abort)(comm)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn ends_are_waited_for_and_those_that_hang_are_left() {
        let endings = Endings::default();
        assert!(endings.are_over_within(Duration::ZERO), "none was begun");
        let (told, heard) = channel();
        endings.begin(move || told.send(std::thread::current().id()).expect("the test listens"));
        assert_ne!(heard.recv().expect("it was begun"), std::thread::current().id());
        assert!(endings.are_over_within(Duration::from_secs(60)));
        let gate = Arc::new(std::sync::Barrier::new(2));
        let of_end = gate.clone();
        endings.begin(move || {
            of_end.wait();
        });
        endings.begin(|| {});
        assert!(!endings.are_over_within(Duration::from_millis(20)), "one hangs");
        gate.wait();
        assert!(endings.are_over_within(Duration::from_secs(60)));
    }
}
