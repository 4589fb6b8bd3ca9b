//! Pinned memory that flags and readbacks land in.

use cudarc::driver::{CudaContext, DriverError, result, sys};
use std::ffi::c_void;
use std::sync::Arc;

/// Chunks of a `Repeat` whose flags can be on their way at once.
pub(super) const FLAGS: usize = 2;

/// Bytes from which on room is added in steps of as many, not by doubling.
const STEP: usize = 1 << 26;

/// Pinned memory: flags of chunks of a `Repeat` in turn, and readbacks.
pub(super) struct Landing {
    pub flags: *mut f64,
    pub events: [sys::CUevent; FLAGS],
    reals: *mut c_void,
    bytes: usize,
}

// SAFETY: it is used by its device alone, on the thread that the context is bound to.
unsafe impl Send for Landing {}

impl Landing {
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        // SAFETY: freed in `free`.
        let flags = unsafe { result::malloc_host(2 * size_of::<f64>(), 0) }?.cast();
        Ok(Self { flags, events: [event()?, event()?], reals: std::ptr::null_mut(), bytes: 0 })
    }

    /// True if pinned memory of so many bytes is there.
    pub fn has_room(&self, bytes: usize) -> bool {
        bytes <= self.bytes
    }

    /// Pinned memory of at least so many bytes, whose contents are not kept.
    pub fn reals(&mut self, bytes: usize) -> Result<*mut c_void, DriverError> {
        if bytes > self.bytes {
            // SAFETY: the old memory is not used by anything enqueued: readbacks are waited for.
            unsafe {
                if !self.reals.is_null() {
                    result::free_host(self.reals)?;
                    (self.reals, self.bytes) = (std::ptr::null_mut(), 0);
                }
                self.reals = result::malloc_host(room(bytes), 0)?;
            }
            self.bytes = room(bytes);
        }
        Ok(self.reals)
    }

    pub fn free(&mut self) {
        // SAFETY: the device has synchronised; nothing writes here any more.
        unsafe {
            let _ = result::free_host(self.flags.cast());
            if !self.reals.is_null() {
                let _ = result::free_host(self.reals);
            }
            for event in self.events {
                let _ = result::event::destroy(event);
            }
        }
    }
}

/// Bytes that are pinned for so many: not many more, and not again for a few more.
fn room(bytes: usize) -> usize {
    if bytes < STEP { bytes.next_power_of_two() } else { bytes.next_multiple_of(STEP) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_doubled_and_from_some_size_on_added_to() {
        assert_eq!([1, 3, STEP - 1, STEP, STEP + 1, 5 * STEP].map(room), [1, 4, STEP, STEP, 2 * STEP, 5 * STEP]);
    }
}
