//! The CUDA backend: the kernels of WebGPU, written as CUDA C++ (`wgsl-cuda`), compiled by NVRTC and played on a stream.
//!
//! The driver and NVRTC are loaded when a device is opened, so a program that has this backend links and runs where there
//! is neither; opening then says what was not found. Precision is a build of the kernels, not another set of them: in f64
//! the line `alias real = f32;` says f64, and what is made for f32's bits and digits is replaced (`shaders/f64/`).
//!
//! * `open`: the driver, NVRTC, a GPU and its limits.
//! * `compile`: WGSL to a loaded function, by way of `nvrtc` and a cache on disk, in the `background`.
//! * `images`: static kernels that come compiled with the package, by `packing`.
//! * `tensor`: what stands in for a kernel on tensor cores.
//! * `play`: a recording's way through the stream; what is played again becomes a CUDA graph.
//! * `products`: products of matrices by cuBLASLt, where it is there.
//! * `glances`: a few elements at a time, which nothing waits for.
//! * `staging`: what is uploaded, on its way.
//! * `landing`: pinned memory for flags and readbacks.
//! * `waits`: waits for the GPU, each of which ends.
//! * `ranks`: exchanges with other ranks, `places` of their elements, and `nccl`, by which GPUs have them.
//!
//! [`CudaDevice::resume`] blocks its thread where a GPU must be waited for: long solves run on a thread of their own.
//!
//! ```
//! use leastwise_cuda::{CudaDevice, found};
//! use leastwise_recording::Precision;
//!
//! let found = found();
//! match (found.missing, found.gpus.first()) {
//!     (None, Some(gpu)) => println!("{}", CudaDevice::open(gpu.index, Precision::F64)?.adapter()),
//!     (why, _) => println!("no CUDA here: {}", why.unwrap_or_else(|| "no GPU".into())),
//! }
//! # Ok::<(), leastwise_recording::DeviceError>(())
//! ```

mod background;
mod compile;
mod glances;
mod graphs;
mod images;
mod landing;
mod nccl;
mod nvrtc;
mod open;
mod packing;
mod places;
mod play;
mod products;
mod ranks;
mod staging;
mod tensor;
mod waits;

pub use compile::written;
pub use glances::Glance;
pub use images::use_images;
pub use nccl::{NcclCommunicator, WorldId, nccl_version};
pub use open::{Found, Gpu, found};
pub use packing::pack_images;
pub use play::Play;

use compile::Kernels;
use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
use leastwise_recording::validation::{Held, Inventory};
use leastwise_recording::{
    BufferId, Counters, DeviceError, Form, Interface, KernelId, KernelSource, Kind, Limits, Precision, Reals, Recording, Signal,
};
use std::collections::HashMap;
use std::sync::Arc;

/// One user-visible buffer.
struct Storage {
    place: sys::CUdeviceptr,
    kind: Kind,
    len: u32,
    bytes: u64,
    label: Box<str>,
}

/// An NVIDIA GPU as a device: its context, one stream, buffers and compiled kernels.
pub struct CudaDevice {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    name: String,
    precision: Precision,
    limits: Limits,
    /// By id, which is never used again: a stale id finds nothing.
    buffers: HashMap<BufferId, Storage>,
    next_buffer: u32,
    kernels: Kernels,
    /// Shared memory that a workgroup can have.
    shared_bytes: u32,
    graphs: graphs::Graphs,
    /// What is known of bodies of `Repeat`s, by their signature.
    paces: HashMap<u64, leastwise_recording::repeat_pacing::RepeatPacing>,
    /// Pinned memory through which flags and readbacks come.
    landing: landing::Landing,
    /// Pinned memory that glances land in.
    glances: glances::Glances,
    /// Pinned memory through which uploads go.
    staging: staging::Staging,
    fences: waits::Fences,
    counters: Counters,
    /// From the first product on.
    products: Option<products::Products>,
    /// Where it is one of several ranks.
    ranks: Option<ranks::Ranked>,
}

impl CudaDevice {
    /// Another device on the same GPU, within the same limits.
    pub fn sibling(&self, precision: Precision) -> Result<Self, DeviceError> {
        let limits = self.limits;
        Self::open_within(self.context.ordinal() as u32, precision, |own| own.narrowed(limits))
    }

    /// Precision of its reals.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Limits that recordings are validated by.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// `submissions` are launches of graphs and of single commands' runs; `dispatches` are kernels that were enqueued.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The GPU in words.
    pub fn adapter(&self) -> &str {
        &self.name
    }

    /// A buffer of `len` elements, all 0, from the stream's memory pool.
    pub fn allocate(&mut self, kind: Kind, len: u32, label: &str) -> Result<BufferId, DeviceError> {
        let bytes = u64::from(len) * self.element_bytes(kind);
        let refused = |limit| DeviceError::OutOfMemory { what: label.to_string(), needed: bytes, limit };
        if let Some(most) = self.limits.exceeded(bytes, self.counters.bytes_live) {
            return Err(refused(Some(most)));
        }
        // What nothing is bound to must still be a place.
        let size = bytes.max(32) as usize;
        self.bind()?;
        let _apart = graphs::between_captures();
        let stream = self.stream.cu_stream();
        // SAFETY: the stream is alive, and the memory is written before anything else can be enqueued that reads it.
        let place = match unsafe { result::malloc_async(stream, size) } {
            Ok(place) => place,
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let free = self.context.mem_get_info().map(|(free, _)| free as u64);
                return Err(refused(free.ok()));
            }
            Err(error) => return Err(failed(error)),
        };
        // SAFETY: `place` holds `size` bytes.
        unsafe { result::memset_d8_async(place, 0, size, stream) }.map_err(failed)?;
        let id = BufferId(self.next_buffer);
        self.next_buffer = self.next_buffer.checked_add(1).ok_or_else(|| refused(None))?;
        self.buffers.insert(id, Storage { place, kind, len, bytes, label: label.into() });
        self.counters.buffers_created += 1;
        self.counters.bytes_live += bytes;
        self.counters.bytes_peak = self.counters.bytes_peak.max(self.counters.bytes_live);
        Ok(id)
    }

    /// Frees a buffer once the commands enqueued before it have run; one that is not there is ignored.
    pub fn free(&mut self, buffer: BufferId) {
        let Some(storage) = self.buffers.remove(&buffer) else { return };
        self.graphs.forget(buffer);
        self.forget_exchanges(buffer);
        let _apart = graphs::between_captures();
        // SAFETY: the memory came from this stream's pool, and what was enqueued before may still use it: the stream keeps order.
        // Where the context is lost there is nothing left to free.
        let _ = self.bind().map(|()| unsafe { result::free_async(storage.place, self.stream.cu_stream()) });
        self.counters.buffers_destroyed += 1;
        self.counters.bytes_live -= storage.bytes;
    }

    /// Numbers of kernels; equal ones are one.
    pub fn kernels(&mut self, sources: &[KernelSource]) -> Vec<KernelId> {
        self.kernels.ask(sources)
    }

    /// Begins to translate and compile what a recording names, in the background, on all cores at once; what to wait for before all is
    /// there, if anything.
    pub fn compile(&mut self, recording: &Recording) -> Result<Option<Signal>, DeviceError> {
        self.bind()?;
        let named = recording.kernels();
        self.counters.kernels_created += self.kernels.begin(&named);
        if self.kernels.is_compiling(&named) {
            self.settle()?;
        }
        let _apart = graphs::between_captures();
        self.kernels.compiling(&named)
    }

    /// Whether there is cuBLASLt on this machine.
    pub fn multiplies(&self) -> bool {
        products::is_present()
    }

    /// Makes products of a form ready; whether the library can be opened and has an algorithm for them.
    pub fn prepare_product(&mut self, form: &Form) -> Result<bool, DeviceError> {
        self.bind()?;
        if !self.products.as_ref().is_some_and(|products| products.knows(form)) {
            self.settle()?;
        }
        let _apart = graphs::between_captures();
        if self.products.is_none() {
            let stream = self.stream.cu_stream();
            // SAFETY: the stream is alive; the memory is freed with the device, or here.
            let Ok(workspace) = (unsafe { result::malloc_async(stream, products::WORKSPACE) }) else { return Ok(false) };
            self.products = products::Products::new(self.precision, workspace).ok();
            if self.products.is_none() {
                // SAFETY: nobody uses it.
                unsafe { result::free_async(workspace, stream) }.map_err(failed)?;
            }
        }
        Ok(self.products.as_mut().is_some_and(|products| products.prepare(form)))
    }

    /// A context belongs to a thread; a device may have been moved to another one.
    fn bind(&self) -> Result<(), DeviceError> {
        self.context.bind_to_thread().map_err(failed)
    }

    fn element_bytes(&self, kind: Kind) -> u64 {
        if kind == Kind::Index { 4 } else { self.precision.bytes() }
    }

    fn storage(&self, buffer: BufferId) -> Result<&Storage, DeviceError> {
        self.buffers.get(&buffer).ok_or(DeviceError::UnknownBuffer(buffer.0))
    }
}

impl Inventory for CudaDevice {
    fn held(&self, buffer: BufferId) -> Option<Held<'_>> {
        let Storage { kind, len, label, .. } = self.buffers.get(&buffer)?;
        Some(Held { kind: *kind, len: *len, bytes: self.element_bytes(*kind), plane: 0, label })
    }

    fn interface(&self, kernel: KernelId) -> Option<&Interface> {
        self.kernels.interface(kernel)
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn meaning(&self) -> Reals {
        Reals::Single
    }

    fn multiplies(&self) -> bool {
        self.products.is_some()
    }

    fn is_ranked(&self) -> bool {
        self.ranks.is_some()
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        self.leave_ranks();
        let all: Vec<BufferId> = self.buffers.keys().copied().collect();
        all.into_iter().for_each(|buffer| self.free(buffer));
        self.kernels.abandon();
        // What is enqueued refers to pinned memory and modules that go next; a lost context answers at once.
        if let Err(DeviceError::Lost(_)) = self.wait_for_stream("the end of what was enqueued", waits::last())
            && self.is_working()
        {
            // It hangs: whatever is freed now might still be used, and the context would wait for it.
            std::mem::forget((self.context.clone(), self.stream.clone()));
            self.products.take().into_iter().for_each(std::mem::forget);
            return;
        }
        let _apart = graphs::between_captures();
        if let Some(products) = self.products.take() {
            // SAFETY: nothing is enqueued any more that uses it.
            let _ = unsafe { result::free_async(products.workspace(), self.stream.cu_stream()) };
        }
        self.landing.free();
        self.glances.free();
        self.staging.free();
        self.fences.free();
        self.kernels.unload();
    }
}

/// An error that no later call recovers from: after a kernel's fault the context is gone.
fn failed(error: DriverError) -> DeviceError {
    let text = |of: Result<&std::ffi::CStr, DriverError>| of.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    DeviceError::Lost(format!("{} ({})", text(error.error_string()), text(error.error_name())))
}
