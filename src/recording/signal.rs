//! What tasks wait for.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Wakes whoever waits for the GPU. Cheap to clone; independent of any borrow of the device.
#[derive(Clone, Default)]
pub struct Signal(Arc<SignalState>);

#[derive(Default)]
struct SignalState {
    set: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Signal {
    /// Tells whoever waits, now and from now on.
    pub fn set(&self) {
        self.0.set.store(true, Ordering::Release);
        let wakers = std::mem::take(&mut *self.wakers());
        wakers.into_iter().for_each(Waker::wake);
    }

    /// True once it was set.
    pub fn is_set(&self) -> bool {
        self.0.set.load(Ordering::Acquire)
    }

    /// Has another be set with this one, which may be set before it.
    pub fn sets(&self, other: &Self) {
        let mut wakers = self.wakers();
        // Once it is set nobody takes wakers out any more.
        if self.is_set() {
            drop(wakers);
            return other.set();
        }
        wakers.push(Waker::from(other.0.clone()));
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for SignalState {
    fn wake(self: Arc<Self>) {
        Signal(self).set();
    }
}

/// Any number may wait for the same: kernels are shared between problems.
impl Future for Signal {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut wakers = self.wakers();
        // Once it is set nobody takes wakers out any more.
        if self.is_set() {
            return Poll::Ready(());
        }
        if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}
