//! Errors that arrive late.
//!
//! A GPU checks and runs commands after the call that made them has returned, so most of its errors have no caller to
//! return to. They are kept here until the next call, which fails with them. What we check ourselves never comes this
//! way; what does is a bug of ours, memory running out, or a device that was lost.

use leastwise_recording::{DeviceError, Signal};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Why memory was refused for a buffer, which on the web is known only later; nothing where it was not.
pub(super) type Fate = Arc<OnceLock<DeviceError>>;

/// What scopes caught: whether memory ran out, and the message.
pub(super) type Caught = Option<(bool, String)>;

/// Shared with the callbacks of the device, which hold it weakly: on the web they live for ever.
#[derive(Default)]
pub(super) struct Health {
    /// Siblings are lost together.
    lost: Arc<Mutex<Option<String>>>,
    error: Mutex<Option<DeviceError>>,
    /// Buffers that memory was refused for, and that were not freed yet.
    refused: AtomicU32,
}

/// What the scopes of a recording's submissions caught. The recording is told, and nobody else.
#[derive(Default)]
pub(super) struct Troubles {
    /// Scopes of which nothing is known yet.
    pending: AtomicU32,
    first: OnceLock<(bool, String)>,
    settled: Mutex<Signal>,
}

impl Troubles {
    /// What to wait for until all is known.
    pub fn pending(&self) -> Option<Signal> {
        let signal = lock(&self.settled);
        (self.pending.load(SeqCst) > 0).then(|| signal.clone())
    }

    pub fn first(&self) -> Option<&(bool, String)> {
        self.first.get()
    }

    /// Notes what scopes catch.
    pub fn watch(self: &Arc<Self>, scopes: Scopes, health: &Arc<Health>) {
        if self.pending.fetch_add(1, SeqCst) == 0 {
            *lock(&self.settled) = Signal::default();
        }
        let (troubles, health) = (Arc::downgrade(self), Arc::downgrade(health));
        scopes.settle(move |caught| match troubles.upgrade() {
            Some(troubles) => {
                if let Some(caught) = caught {
                    let _ = troubles.first.set(caught);
                }
                if troubles.pending.fetch_sub(1, SeqCst) == 1 {
                    lock(&troubles.settled).set();
                }
            }
            // Nobody plays it any more.
            None => {
                if let (Some(caught), Some(health)) = (caught, health.upgrade()) {
                    health.note_unowned(caught);
                }
            }
        });
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Health {
    /// That of a sibling, whose errors are its own.
    pub fn sibling(&self) -> Self {
        Self { lost: self.lost.clone(), ..Self::default() }
    }

    /// Keeps the first of several errors: the others follow from it.
    pub fn note(&self, error: DeviceError) {
        lock(&self.error).get_or_insert(error);
    }

    /// Keeps what a recording was refused for that nobody plays any more, unless that is a buffer: whoever owns it is told when it is
    /// used next.
    pub fn note_unowned(&self, (out_of_memory, message): (bool, String)) {
        if self.refused() == 0 {
            self.note(trouble(out_of_memory, message));
        }
    }

    /// Buffers that memory was refused for, and that were not freed yet.
    pub fn refused(&self) -> u32 {
        self.refused.load(SeqCst)
    }

    pub fn count_refused(&self) {
        self.refused.fetch_add(1, SeqCst);
    }

    pub fn forget_refused(&self) {
        self.refused.fetch_sub(1, SeqCst);
    }

    /// For good: a lost device does not come back.
    pub fn lose(&self, why: &str) {
        lock(&self.lost).get_or_insert_with(|| why.to_string());
    }

    /// Fails with what went wrong since the last look. A lost device fails every time; any other error once, since
    /// what caused it may be gone (memory that was freed) and shows itself again when it is not.
    pub fn check(&self) -> Result<(), DeviceError> {
        let error = lock(&self.error).take();
        match &*lock(&self.lost) {
            Some(why) => Err(DeviceError::Lost(why.clone())),
            None => error.map_or(Ok(()), Err),
        }
    }

    pub fn watch(self: &Arc<Self>, device: &wgpu::Device) {
        let health = Arc::downgrade(self);
        device.set_device_lost_callback(move |_, message| {
            if let Some(health) = health.upgrade() {
                health.lose(if message.is_empty() { "no reason was given" } else { &message });
            }
        });
        // Natively an error outside of any scope is a panic by default. On the web a handler would displace the one
        // of whoever shares the device with us, and it would hear their errors as ours: there, scopes must do.
        #[cfg(not(target_arch = "wasm32"))]
        {
            let health = Arc::downgrade(self);
            device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
                if let Some(health) = health.upgrade() {
                    health.note(DeviceError::Invalid(error.to_string()));
                }
            }));
        }
    }
}

/// Everything that can fail later is done between `open` and `close`, without an await in between: scopes form a
/// stack, and must be popped in reverse order.
#[cfg(not(target_arch = "wasm32"))]
pub(super) struct Scopes {
    // Dropped in this order, which is the reverse of pushing.
    internal: wgpu::ErrorScopeGuard,
    validation: wgpu::ErrorScopeGuard,
    memory: wgpu::ErrorScopeGuard,
}

#[cfg(not(target_arch = "wasm32"))]
impl Scopes {
    pub fn open(device: &wgpu::Device) -> Self {
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        Self { internal, validation, memory }
    }

    /// What the scopes caught; that memory ran out is what the rest follows from.
    pub fn caught(self) -> Caught {
        let [internal, validation, memory] = [self.internal.pop(), self.validation.pop(), self.memory.pop()].map(pollster::block_on);
        let error = memory.or(validation).or(internal)?;
        Some((matches!(error, wgpu::Error::OutOfMemory { .. }), error.to_string()))
    }

    /// Tells what the scopes caught, when that is known: natively at once.
    pub fn settle(self, tell: impl FnOnce(Caught) + 'static) {
        tell(self.caught());
    }
}

/// An error of what the scopes of a recording caught.
pub(super) fn trouble(out_of_memory: bool, message: String) -> DeviceError {
    match out_of_memory {
        true => DeviceError::OutOfMemory { what: "the buffers that go with a recording".into(), needed: 0, limit: None },
        false => DeviceError::Invalid(message),
    }
}

#[cfg(target_arch = "wasm32")]
pub(super) use super::web::Scopes;
