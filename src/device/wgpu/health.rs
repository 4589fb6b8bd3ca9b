//! Errors that arrive late.
//!
//! A GPU checks and runs commands after the call that made them has returned, so most of its errors have no caller to
//! return to. They are kept here until the next call, which fails with them. What we check ourselves never comes this
//! way; what does is a bug of ours, memory running out, or a device that was lost.

use super::super::DeviceError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared with the callbacks of the device, which hold it weakly: on the web they live for ever.
#[derive(Default)]
pub(super) struct Health {
    /// Siblings are lost together.
    lost: Arc<Mutex<Option<String>>>,
    error: Mutex<Option<DeviceError>>,
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Health {
    /// That of a sibling, whose errors are its own.
    pub fn sibling(&self) -> Self {
        Self { lost: self.lost.clone(), error: Mutex::default() }
    }

    /// Keeps the first of several errors: the others follow from it.
    pub fn note(&self, error: DeviceError) {
        lock(&self.error).get_or_insert(error);
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

    /// What the scopes caught: whether memory ran out, and the message.
    pub fn caught(self) -> Option<(bool, String)> {
        let errors = [self.internal.pop(), self.validation.pop(), self.memory.pop()].map(pollster::block_on);
        let error = errors.into_iter().flatten().next()?;
        Some((matches!(error, wgpu::Error::OutOfMemory { .. }), error.to_string()))
    }

    /// Notes what the scopes caught, after `describe` made an error of it (out of memory?, message).
    pub fn close(self, health: &Arc<Health>, describe: impl FnOnce(bool, String) -> DeviceError + 'static) {
        if let Some((out_of_memory, message)) = self.caught() {
            health.note(describe(out_of_memory, message));
        }
    }
}

#[cfg(target_arch = "wasm32")]
pub(super) use super::web::Scopes;
