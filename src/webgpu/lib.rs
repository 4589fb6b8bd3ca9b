//! WebGPU through wgpu: Vulkan, Metal and DX12 natively, the browser's or Dawn's `GPUDevice` on the web.
//!
//! The one rule of a GPU backend is that the host never stands between two pieces of work. So everything that can be
//! decided on the host is decided before a command is encoded, commands go into as few submissions as the recording
//! allows, and what comes back is mapped asynchronously: [`WgpuDevice::resume`] submits what it can and says what it
//! waits for.
//!
//! * `open`: an adapter, a device and its limits; natively and on the web.
//! * `kernels`: WGSL text to pipelines, in the background on the web. `exactness`: whether double-floats are exact.
//! * `encode`: commands, checked and turned into what an encoder takes; bind groups and their cache.
//! * `play`: a recording's way through the queue. `leastwise_recording::pace`: how many bodies of a `Repeat` one submission has.
//! * `pool`: the uniform and readback buffers that recordings borrow.
//! * `health`: errors that arrive when the call that caused them has long returned.
//!
//! ```no_run
//! use leastwise_recording::{Command, DeviceError, Kind, Playing, Recording, Slice};
//! use leastwise_webgpu::{Play, WgpuDevice};
//!
//! let mut device = WgpuDevice::open_blocking(None)?;
//! let buffer = device.allocate(Kind::Real, 3, "values")?;
//! let mut recording = Recording::new();
//! recording.push(Command::UploadReals { buffer, offset: 0, data: vec![1.0, 2.0, 3.0] });
//! recording.push(Command::Read { slice: Slice { buffer, offset: 1, len: 2 } });
//! let mut play = Play::new(recording);
//! let read = loop {
//!     match device.resume(&mut play)? {
//!         Playing::Finished(read) => break read,
//!         Playing::Waiting(signal) => device.block_on(&signal)?,
//!         Playing::Yielded => {}
//!     }
//! };
//! assert_eq!(read, [2.0, 3.0]);
//! # Ok::<(), DeviceError>(())
//! ```

mod encode;
mod exactness;
mod health;
mod kernels;
mod open;
mod play;
mod pool;
#[cfg(target_arch = "wasm32")]
mod web;

pub use play::Play;

use health::{Fate, Health, Scopes};
use leastwise_kernels::Products;
use leastwise_recording::validation::{Held, Inventory};
use leastwise_recording::{BufferId, Counters, DeviceError, Interface, KernelId, Kind, Limits, Precision, Reals};
use std::{collections::HashMap, sync::Arc};

/// One user-visible buffer.
struct Storage {
    buffer: ::wgpu::Buffer,
    kind: Kind,
    /// Elements that were asked for; the GPU's buffer may be longer.
    len: u32,
    /// How many elements the low parts of double-floats lie behind the high parts; 0 where there are none.
    plane: u32,
    label: String,
    fate: Fate,
}

/// What the device keeps for itself, beside the buffers that were asked for. Playing a recording again should leave
/// all of this as it was, except for `flag_reads`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Internals {
    /// Bind groups that were made so far.
    pub bind_groups_created: u64,
    /// Bind groups that exist now.
    pub bind_groups_live: u64,
    /// Uniform and readback buffers that exist now.
    pub pooled_buffers: u64,
    /// Bytes of these buffers.
    pub pooled_bytes: u64,
    /// Uniform and readback buffers that were made so far.
    pub pooled_buffers_created: u64,
    /// How often the uniform blocks of a recording were written, because no buffer held them already.
    pub params_uploads: u64,
    /// How often the flag of a `Repeat` was read back.
    pub flag_reads: u64,
}

/// A device of WebGPU: its buffers, its kernels and what it keeps for recordings.
pub struct WgpuDevice {
    device: ::wgpu::Device,
    queue: ::wgpu::Queue,
    adapter: String,
    limits: Limits,
    health: Arc<Health>,
    counters: Counters,
    internals: Internals,
    /// By id, which is never used again: a stale id finds nothing.
    buffers: HashMap<BufferId, Storage>,
    next_buffer: u32,
    kernels: kernels::Kernels,
    bind_groups: HashMap<encode::BindKey, ::wgpu::BindGroup>,
    /// Bound where a slice is empty, which WebGPU does not allow: one for reading, one for writing, since a buffer
    /// cannot be both in one dispatch.
    empty: [::wgpu::Buffer; 2],
    params: pool::ParamsPool,
    readbacks: pool::ReadbackPool,
    paces: HashMap<u64, leastwise_recording::repeat_pacing::RepeatPacing>,
    reals: leastwise_recording::Reals,
    /// What the self-check of double-floats found, once it was made.
    exactness: Option<Result<Products, String>>,
    /// Mappings under way, oldest first, those of siblings too: whoever polls, polls for all. On the web the browser tells; natively one has to poll.
    #[cfg(not(target_arch = "wasm32"))]
    flights: Arc<play::Flights>,
    disposed: bool,
    /// Whether the adapter is another's, who disposes of it.
    is_sibling: bool,
}

/// What every buffer can be used for. A renderer may draw from the variables' buffer, hence `VERTEX`.
const USAGE: ::wgpu::BufferUsages = ::wgpu::BufferUsages::STORAGE
    .union(::wgpu::BufferUsages::COPY_SRC)
    .union(::wgpu::BufferUsages::COPY_DST)
    .union(::wgpu::BufferUsages::VERTEX);

/// Bytes of an element: a GPU's reals are `f32`.
const ELEMENT: u64 = 4;

/// A binding must hold at least one element of the kernel's array type; 16 bytes hold any.
const MIN_BYTES: u64 = 16;

impl WgpuDevice {
    /// Both planes of a buffer of double-floats are bound at once.
    pub fn limits(&self) -> Limits {
        match self.reals {
            Reals::Single => self.limits,
            _ => Limits { buffer_bytes: self.limits.buffer_bytes.min(self.limits.binding_bytes), ..self.limits },
        }
    }

    /// What reals are: see [`Self::set_reals`].
    pub fn reals(&self) -> Reals {
        self.reals
    }

    /// Says what [`Kind::Real`] and the reals of kernels are from now on.
    ///
    /// # Errors
    /// Where double-floats were not found to be exact.
    pub fn set_reals(&mut self, reals: Reals) -> Result<(), DeviceError> {
        if reals != Reals::Single {
            self.has_doubles().map_err(|reason| DeviceError::NoDoubles(reason.into()))?;
        }
        self.reals = reals;
        Ok(())
    }

    /// Arithmetic of its reals.
    pub fn precision(&self) -> Precision {
        if self.reals == Reals::Single { Precision::F32 } else { Precision::F32x2 }
    }

    /// A device of the same adapter, with buffers and kernels of its own.
    pub fn sibling(&self, reals: Reals) -> Result<Self, DeviceError> {
        self.health.check()?;
        let mut sibling = Self::on(self.device.clone(), self.queue.clone(), self.adapter.clone(), self.limits);
        sibling.health = Arc::new(self.health.sibling());
        #[cfg(not(target_arch = "wasm32"))]
        {
            sibling.flights = self.flights.clone();
        }
        sibling.is_sibling = true;
        sibling.exactness = self.exactness.clone();
        if let Some(Ok(products)) = sibling.exactness {
            sibling.kernels.multiply_by(products);
        }
        sibling.set_reals(reals)?;
        Ok(sibling)
    }

    /// How double-floats are made here, or what is wrong with them: the verdict of the self-check.
    pub fn has_doubles(&self) -> Result<Products, &str> {
        match &self.exactness {
            Some(verdict) => verdict.as_ref().copied().map_err(String::as_str),
            None => Err("the adapter was opened without double-floats"),
        }
    }

    /// `submissions` are real ones; `dispatches` are those encoded, so bodies of a `Repeat` that were played past its
    /// end count, and dispatches over no items do not. Buffers and bytes are the asked-for ones: see [`Internals`].
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What it keeps for itself now.
    pub fn internals(&self) -> Internals {
        let (buffers, bytes) = [self.params.size(), self.readbacks.size()].iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        Internals { bind_groups_live: self.bind_groups.len() as u64, pooled_buffers: buffers, pooled_bytes: bytes, ..self.internals }
    }

    /// The adapter in words.
    pub fn adapter(&self) -> &str {
        &self.adapter
    }

    /// A buffer of `len` elements, all 0 (WebGPU sees to that).
    pub fn allocate(&mut self, kind: Kind, len: u32, label: &str) -> Result<BufferId, DeviceError> {
        self.health.check()?;
        let kind = if kind.is_double(self.reals) { Kind::Double } else { kind };
        let plane = if kind == Kind::Double { u64::from(len).next_multiple_of(self.limits.offset_alignment.into()) } else { 0 };
        let bytes = (plane + u64::from(len)) * ELEMENT;
        let out_of_memory = |limit| DeviceError::OutOfMemory { what: label.to_string(), needed: bytes, limit };
        let size = bytes.max(MIN_BYTES);
        if let Some(most) = self.limits.exceeded(size, self.counters.bytes_live) {
            return Err(out_of_memory(Some(most)));
        }
        let scopes = Scopes::open(&self.device);
        let buffer = self.device.create_buffer(&descriptor(label, size, USAGE));
        // How much there would have been, WebGPU does not tell.
        let (refused, fate, health) = (out_of_memory(None), Fate::default(), Arc::downgrade(&self.health));
        let known = fate.clone();
        scopes.settle(move |caught| {
            let Some((out_of_memory, message)) = caught else { return };
            // Who owns the buffer is told when it is used; it may be freed already.
            let is_held = Arc::strong_count(&fate) > 1;
            let _ = fate.set(if out_of_memory { refused } else { DeviceError::Invalid(message) });
            health.upgrade().filter(|_| is_held).iter().for_each(|health| health.count_refused());
        });
        if let Some(error) = known.get() {
            self.health.forget_refused();
            buffer.destroy();
            return Err(error.clone());
        }
        // Whatever fits the largest binding is counted in 32 bits.
        let plane = u32::try_from(plane).map_err(|_| out_of_memory(None))?;
        let id = BufferId(self.next_buffer);
        self.next_buffer = self.next_buffer.checked_add(1).ok_or_else(|| out_of_memory(None))?;
        self.buffers.insert(id, Storage { buffer, kind, len, plane, label: label.to_string(), fate: known });
        self.counters.buffers_created += 1;
        self.counters.bytes_live += bytes;
        self.counters.bytes_peak = self.counters.bytes_peak.max(self.counters.bytes_live);
        Ok(id)
    }

    /// Destroys a buffer now; on the web, dropping the handle would free nothing before a garbage collection.
    pub fn free(&mut self, buffer: BufferId) {
        let Some(storage) = self.buffers.remove(&buffer) else { return };
        self.bind_groups.retain(|key, _| !key.names(buffer));
        storage.buffer.destroy();
        if storage.fate.get().is_some() {
            self.health.forget_refused();
        }
        self.counters.buffers_destroyed += 1;
        self.counters.bytes_live -= (u64::from(storage.plane) + u64::from(storage.len)) * ELEMENT;
    }

    /// Whether memory was refused for some buffer that was not freed since.
    pub fn has_refused(&self) -> bool {
        self.health.refused() > 0
    }

    /// Why memory was refused for a buffer, if it was.
    pub fn refusal(&self, buffer: BufferId) -> Option<DeviceError> {
        self.buffers.get(&buffer)?.fate.get().cloned()
    }

    /// Destroys every buffer, and natively the device. On the web the façade made the `GPUDevice` (or was given it),
    /// so the façade decides about that. Any later call answers [`DeviceError::Lost`].
    pub fn dispose(&mut self) {
        if std::mem::replace(&mut self.disposed, true) {
            return;
        }
        if !self.is_sibling {
            self.health.lose("it was disposed");
        }
        for buffer in self.buffers.keys().copied().collect::<Vec<_>>() {
            self.free(buffer);
        }
        self.bind_groups.clear();
        self.params.destroy();
        self.readbacks.destroy();
        self.empty.iter().for_each(::wgpu::Buffer::destroy);
        #[cfg(not(target_arch = "wasm32"))]
        if !self.is_sibling {
            self.device.destroy();
        }
    }

    /// The `GPUBuffer` behind a buffer, so that a renderer can draw from it without a copy.
    #[cfg(target_arch = "wasm32")]
    pub fn as_web_buffer(&self, buffer: BufferId) -> Option<wasm_bindgen::JsValue> {
        Some(self.buffers.get(&buffer)?.buffer.as_webgpu()?.into())
    }

    /// The `GPUDevice`.
    #[cfg(target_arch = "wasm32")]
    pub fn as_web_device(&self) -> Option<wasm_bindgen::JsValue> {
        Some(self.device.as_webgpu()?.into())
    }

    fn storage(&self, buffer: BufferId) -> Result<&Storage, DeviceError> {
        self.buffers.get(&buffer).ok_or(DeviceError::UnknownBuffer(buffer.0))
    }

    /// An error that arrived since it was asked last, or for good.
    pub fn check_health(&self) -> Result<(), DeviceError> {
        self.health.check()
    }
}

impl Inventory for WgpuDevice {
    fn held(&self, buffer: BufferId) -> Option<Held<'_>> {
        let Storage { kind, len, plane, label, .. } = self.buffers.get(&buffer)?;
        Some(Held { kind: *kind, len: *len, bytes: ELEMENT, plane: *plane, label })
    }

    fn interface(&self, kernel: KernelId) -> Option<&Interface> {
        self.kernels.get(kernel).ok().map(|kernel| &kernel.interface)
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn meaning(&self) -> Reals {
        self.reals
    }

    fn multiplies(&self) -> bool {
        false
    }
}

impl Drop for WgpuDevice {
    fn drop(&mut self) {
        self.dispose();
    }
}

fn descriptor(label: &str, size: u64, usage: ::wgpu::BufferUsages) -> ::wgpu::BufferDescriptor<'_> {
    ::wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false }
}
