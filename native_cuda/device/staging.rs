//! Pinned memory that uploads go through. What the caller has is copied into it once, by all cores where it is much, rounded on the
//! way where the device has f32; from there the GPU fetches it by itself, while the host copies what comes next.

use super::failed;
use super::waits::{self, Exchanges};
use cudarc::driver::{CudaContext, DriverError, result, sys};
use leastwise_recording::DeviceError;
use rayon::prelude::*;
use std::ffi::c_void;
use std::sync::Arc;

/// Bytes of a slot, and how many there are.
const SLOT: usize = 4 << 20;
const SLOTS: usize = 4;

/// Elements that a thread copies at a time.
const PIECE: usize = 1 << 16;

/// Uploads fill one slot after the other. A slot is filled anew when the GPU has fetched what was in it.
pub(super) struct Staging {
    memory: *mut c_void,
    /// Recorded behind the last copy out of each slot.
    fetched: [sys::CUevent; SLOTS],
    slot: usize,
    /// Bytes of the slot that are taken.
    used: usize,
}

// SAFETY: it is used by its device alone, on the thread that the context is bound to.
unsafe impl Send for Staging {}

impl Staging {
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let fetched = [event()?, event()?, event()?, event()?];
        // SAFETY: freed in `free`.
        let memory = unsafe { result::malloc_host(SLOTS * SLOT, 0) }?;
        Ok(Self { memory, fetched, slot: 0, used: 0 })
    }

    /// Enqueues a copy of `data`, element by element as `to` makes it, to where there is room for it. `data` is not needed afterwards.
    ///
    /// # Safety
    /// As many `U` fit at `place`, and `U` is a number.
    pub unsafe fn send<T: Sync, U: Send>(
        &mut self,
        stream: sys::CUstream,
        mut place: sys::CUdeviceptr,
        data: &[T],
        to: impl Fn(&T) -> U + Sync,
        exchanges: Option<Exchanges>,
    ) -> Result<(), DeviceError> {
        let each = size_of::<U>();
        let mut rest = data;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min((SLOT - self.used) / each));
            if now.is_empty() {
                self.turn(stream, exchanges)?;
                continue;
            }
            // SAFETY: so many elements are left in the slot, which the GPU has done with; it begins at a page, and `used` is a multiple
            // of every number's size.
            let staged =
                unsafe { std::slice::from_raw_parts_mut(self.memory.byte_add(self.slot * SLOT + self.used).cast::<U>(), now.len()) };
            fill(staged, now, &to);
            // SAFETY: the caller says that there is room; nothing is written here before the slot's event.
            unsafe { result::memcpy_htod_async(place, staged, stream) }.map_err(failed)?;
            self.used = (self.used + now.len() * each).next_multiple_of(16);
            place += (now.len() * each) as u64;
            rest = later;
        }
        Ok(())
    }

    /// Goes on to the next slot, as soon as it is free.
    fn turn(&mut self, stream: sys::CUstream, exchanges: Option<Exchanges>) -> Result<(), DeviceError> {
        // SAFETY: the events live as long as this does; one that was never recorded is not waited for.
        unsafe {
            result::event::record(self.fetched[self.slot], stream).map_err(failed)?;
            (self.slot, self.used) = ((self.slot + 1) % SLOTS, 0);
            waits::wait_for_event(self.fetched[self.slot], "the end of an upload", exchanges)
        }
    }

    pub fn free(&mut self) {
        // SAFETY: the device has synchronised; nothing is fetched from here any more.
        unsafe {
            let _ = result::free_host(self.memory);
            for event in self.fetched {
                let _ = result::event::destroy(event);
            }
        }
    }
}

fn fill<T: Sync, U: Send>(staged: &mut [U], data: &[T], to: &(impl Fn(&T) -> U + Sync)) {
    let copy = |(staged, data): (&mut [U], &[T])| staged.iter_mut().zip(data).for_each(|(staged, value)| *staged = to(value));
    if data.len() <= PIECE {
        return copy((staged, data));
    }
    staged.par_chunks_mut(PIECE).zip(data.par_chunks(PIECE)).for_each(copy);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_arrives_rounded() {
        for len in [0, 1, PIECE, PIECE + 1, 5 * PIECE + 17] {
            let data: Vec<f64> = (0..len).map(|k| k as f64 / 3.0).collect();
            let (mut single, mut double) = (vec![0f32; len], vec![0f64; len]);
            fill(&mut single, &data, &|value| *value as f32);
            fill(&mut double, &data, &|value| *value);
            assert!(double == data && single.iter().zip(&data).all(|(single, value)| *single == *value as f32), "{len} elements");
        }
    }
}
