//! Glances: a few elements that are copied to the host behind what is enqueued, and looked at when they are there. Nothing ever
//! waits for them, unlike for readbacks; each lands in pinned memory of its own.

use super::{CudaDevice, failed};
use cudarc::driver::{DriverError, result, sys};
use leastwise_recording::{DeviceError, Slice};
use std::sync::{Arc, Weak};

/// Elements of a glance at most.
const MOST: usize = 8;

/// A glance on its way. Dropping it gives its place to another, once the copy is done.
pub struct Glance {
    place: usize,
    len: usize,
    each: usize,
    _owner: Arc<()>,
}

/// Where a glance lands, and who asked for it.
struct Landing {
    memory: *mut f64,
    event: sys::CUevent,
    owner: Weak<()>,
}

// SAFETY: it is used by its device alone, on the thread that the context is bound to.
unsafe impl Send for Landing {}

#[derive(Default)]
pub(super) struct Glances(Vec<Landing>);

impl Glances {
    /// A landing that nothing is copied to and nobody looks at.
    fn free_place(&mut self) -> Result<usize, DriverError> {
        for (place, landing) in self.0.iter().enumerate().filter(|(_, landing)| landing.owner.strong_count() == 0) {
            if has_landed(landing)? {
                return Ok(place);
            }
        }
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
        // SAFETY: freed in `free`.
        let memory = unsafe { result::malloc_host(MOST * size_of::<f64>(), 0) }?.cast();
        self.0.push(Landing { memory, event, owner: Weak::new() });
        Ok(self.0.len() - 1)
    }

    pub fn free(&mut self) {
        for landing in self.0.drain(..) {
            // SAFETY: the device has synchronised; nothing writes here any more.
            unsafe {
                let _ = result::free_host(landing.memory.cast());
                let _ = result::event::destroy(landing.event);
            }
        }
    }
}

/// An event that was never recorded counts as over.
fn has_landed(landing: &Landing) -> Result<bool, DriverError> {
    // SAFETY: the event lives as long as its landing.
    match unsafe { result::event::query(landing.event) } {
        Ok(()) => Ok(true),
        Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
        Err(error) => Err(error),
    }
}

impl CudaDevice {
    /// Copies a few elements behind all that is enqueued.
    pub fn glance(&mut self, slice: Slice) -> Result<Glance, DeviceError> {
        let kind = self.storage(slice.buffer)?.kind;
        let (from, _) = self.place(slice.buffer, slice.offset, slice.len.into())?;
        let (len, each) = (slice.len as usize, self.element_bytes(kind) as usize);
        if len > MOST {
            return Err(DeviceError::Invalid(format!("a glance of {len} elements, of which {MOST} are possible")));
        }
        self.bind()?;
        let place = self.glances.free_place().map_err(failed)?;
        let (landing, owner) = (&mut self.glances.0[place], Arc::new(()));
        landing.owner = Arc::downgrade(&owner);
        // SAFETY: the landing holds as many bytes, and is looked at after its event.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(landing.memory.cast::<u8>(), len * each);
            result::memcpy_dtoh_async(bytes, from, self.stream.cu_stream()).map_err(failed)?;
            result::event::record(landing.event, self.stream.cu_stream()).map_err(failed)?;
        }
        Ok(Glance { place, len, each, _owner: owner })
    }

    /// The elements, once they are there.
    pub fn seen(&mut self, glance: &Glance) -> Result<Option<Vec<f64>>, DeviceError> {
        self.bind()?;
        let landing = &self.glances.0[glance.place];
        if !has_landed(landing).map_err(failed)? {
            return Ok(None);
        }
        // SAFETY: the copy is done, and nobody else has this landing.
        Ok(Some(unsafe {
            match glance.each {
                8 => std::slice::from_raw_parts(landing.memory, glance.len).to_vec(),
                _ => std::slice::from_raw_parts(landing.memory.cast::<f32>(), glance.len).iter().map(|value| f64::from(*value)).collect(),
            }
        }))
    }
}
