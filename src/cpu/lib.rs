//! The CPU backend: plays recordings with the twins of the shaders and the block evaluator.
//!
//! Resumable: a dispatch is a range of workgroups, so playing can stop between any two of them when its time slice ends,
//! and go on later with the same bits. Workgroups is spread over all cores (in a browser: where the module has threads), with the same bits too.
//!
//! It writes no kernels: it has a twin for each static one, and runs programs as they are.
//!
//! ```
//! use leastwise_cpu::CpuDevice;
//! use leastwise_recording::{Kind, Precision};
//!
//! let mut device = CpuDevice::new(Precision::F64, CpuDevice::default_limits());
//! let buffer = device.allocate(Kind::Real, 100, "step")?;
//! assert_eq!(device.counters().bytes_live, 800);
//! device.free(buffer);
//! # Ok::<(), leastwise_recording::DeviceError>(())
//! ```

// Waiting in shared memory; the build of the module with threads compiles the standard library itself.
#![cfg_attr(all(target_arch = "wasm32", target_feature = "atomics"), feature(stdarch_wasm_atomic_wait))]

mod bindings;
pub mod block;
#[cfg(not(target_arch = "wasm32"))]
mod collective;
mod evaluators;
pub mod half;
mod play;
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub mod pool;
pub mod product;
pub mod real;
pub mod threads;
pub mod twins;
pub mod wasm;

pub use bindings::{Bindings, Body, Twin, Workgroups};
pub use evaluators::{Evaluation, Evaluator, EvaluatorKey, Evaluators, Linking};
pub use play::Play;
pub use threads::Pieces;

use leastwise_base::clock::now_ms;
use leastwise_base::slab::Slab;
use leastwise_recording::validation::{Held, Inventory};
use leastwise_recording::{
    BufferId, Counters, DeviceError, Interface, KernelId, KernelKey, KernelSource, Kind, Limits, Precision, Reals, Structure,
};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

/// The storage of one buffer.
pub enum Storage {
    /// Reals of a device in f32.
    F32(Vec<f32>),
    /// Reals of a device in f64.
    F64(Vec<f64>),
    /// Indices.
    Index(Vec<u32>),
}

struct Buffer {
    storage: RefCell<Storage>,
    kind: Kind,
    len: u32,
    label: Box<str>,
}

struct Kernel {
    structure: Structure,
    interface: Interface,
    /// Made when it is run first.
    body: OnceCell<Option<Body>>,
}

impl Kernel {
    fn new(source: &KernelSource, body: OnceCell<Option<Body>>) -> Self {
        Self { structure: source.structure.clone(), interface: Interface::of(source), body }
    }

    fn body(&self) -> Option<&Body> {
        self.body.get_or_init(|| Body::of(&self.structure)).as_ref()
    }
}

/// Kernels by number and by what they are made of: equal ones are one.
#[derive(Default)]
struct Kernels {
    list: Vec<Kernel>,
    known: HashMap<KernelKey, KernelId>,
}

/// Elements that become zeros between two looks at the clock.
const ZEROS: usize = 1 << 17;

/// A run of zeros more; whether all are there.
fn extend<T: Clone + Default>(values: &mut Vec<T>, len: usize) -> bool {
    values.resize(len.min(values.len() + ZEROS), T::default());
    values.len() == len
}

/// The CPU as a device: buffers in main memory, kernels as Rust functions and interpreted programs.
pub struct CpuDevice {
    /// A number of its own among the devices of this process.
    identity: u64,
    precision: Precision,
    limits: Box<Limits>,
    buffers: Slab<Buffer>,
    /// Buffers that are not filled yet: they become zeros in time slices, before a recording is played.
    fresh: VecDeque<BufferId>,
    kernels: Box<Kernels>,
    evaluators: Box<Evaluators>,
    counters: Box<Counters>,
    #[cfg(not(target_arch = "wasm32"))]
    communicator: Option<std::sync::Arc<dyn leastwise_collective::Communicator>>,
}

impl CpuDevice {
    /// A device without buffers and kernels. [`Precision::F32x2`] is computed in f64.
    pub fn new(precision: Precision, limits: Limits) -> Self {
        static DEVICES: AtomicU64 = AtomicU64::new(1);
        Self {
            identity: DEVICES.fetch_add(1, Ordering::Relaxed),
            precision,
            limits: Box::new(limits),
            buffers: Slab::default(),
            fresh: VecDeque::new(),
            kernels: Box::default(),
            evaluators: Box::default(),
            counters: Box::default(),
            #[cfg(not(target_arch = "wasm32"))]
            communicator: None,
        }
    }

    /// The limits of main memory: one chunk a term, unless tests ask for [`Limits::SMALL`].
    pub fn default_limits() -> Limits {
        // In WebAssembly an array has less than 2 GiB.
        let bytes = if cfg!(target_arch = "wasm32") { (1 << 31) - (1 << 16) } else { 1 << 32 };
        Limits {
            binding_bytes: bytes,
            buffer_bytes: bytes,
            memory_bytes: u64::MAX,
            group_size: 256,
            groups_per_dimension: u16::MAX.into(),
            offset_alignment: 64,
            elements_per_lane: 8,
        }
    }

    /// Forgets buffers and kernels at once, not when a garbage collector comes by.
    pub fn dispose(&mut self) {
        self.buffers.handles().into_iter().for_each(|buffer| self.free(BufferId(buffer)));
        *self.kernels = Kernels::default();
    }

    /// Precision of its reals.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Limits that recordings are validated by.
    pub fn limits(&self) -> Limits {
        *self.limits
    }

    /// Counters since the device was made: buffers, kernels, submissions, dispatches, readbacks.
    pub fn counters(&self) -> Counters {
        *self.counters
    }

    /// Numbers of kernels; equal sources get the same number.
    pub fn kernels(&mut self, sources: &[KernelSource]) -> Vec<KernelId> {
        sources.iter().map(|source| self.kernel(source, OnceCell::new())).collect()
    }

    /// The number of a kernel that is run by a body of its own, whatever its structure says.
    pub fn kernel_of(&mut self, source: &KernelSource, body: Body) -> KernelId {
        self.kernel(source, OnceCell::from(Some(body)))
    }

    fn kernel(&mut self, source: &KernelSource, body: OnceCell<Option<Body>>) -> KernelId {
        let Kernels { list, known } = &mut *self.kernels;
        *known.entry(source.key()).or_insert_with(|| {
            self.counters.kernels_created += 1;
            list.push(Kernel::new(source, body));
            KernelId(list.len() as u32 - 1)
        })
    }

    /// A buffer of `len` zeros. A long one is filled in time slices before the next recording is played.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], named by `label`, beyond the device's limit or the memory that there is.
    pub fn allocate(&mut self, kind: Kind, len: u32, label: &str) -> Result<BufferId, DeviceError> {
        let bytes = u64::from(len) * self.bytes_of(kind);
        let out_of_memory = |limit| DeviceError::OutOfMemory { what: label.to_string(), needed: bytes, limit };
        if let Some(most) = self.limits.exceeded(bytes, self.counters.bytes_live) {
            return Err(out_of_memory(Some(most)));
        }
        fn zeros<T: Clone + Default>(len: u32) -> Option<Vec<T>> {
            let mut values = Vec::new();
            values.try_reserve_exact(len as usize).ok()?;
            if len as usize <= ZEROS {
                values.resize(len as usize, T::default());
            }
            Some(values)
        }
        let storage = match (kind, self.precision) {
            (Kind::Index, _) => zeros(len).map(Storage::Index),
            (_, Precision::F32) => zeros(len).map(Storage::F32),
            (_, Precision::F32x2 | Precision::F64) => zeros(len).map(Storage::F64),
        };
        let storage = storage.filter(|_| !self.buffers.is_full()).ok_or_else(|| out_of_memory(None))?;
        let id = BufferId(self.buffers.insert(Buffer { storage: RefCell::new(storage), kind, len, label: label.into() }));
        if len as usize > ZEROS {
            self.fresh.push_back(id);
        }
        self.counters.buffers_created += 1;
        self.counters.bytes_live += bytes;
        self.counters.bytes_peak = self.counters.bytes_peak.max(self.counters.bytes_live);
        Ok(id)
    }

    /// Frees a buffer; one that is not there is ignored.
    pub fn free(&mut self, buffer: BufferId) {
        let Some(Buffer { kind, len, .. }) = self.buffers.remove(buffer.0) else { return };
        self.counters.buffers_destroyed += 1;
        self.counters.bytes_live -= u64::from(len) * self.bytes_of(kind);
        if len as usize > ZEROS {
            self.fresh.retain(|fresh| *fresh != buffer);
        }
    }

    /// Fills allocated buffers with zeros until the deadline. True if all are filled.
    fn fill(&mut self, deadline_ms: f64) -> bool {
        while let Some(fresh) = self.fresh.front() {
            let is_filled = self.buffers.get_mut(fresh.0).is_none_or(|Buffer { storage, len, .. }| match storage.get_mut() {
                Storage::F32(values) => extend(values, *len as usize),
                Storage::F64(values) => extend(values, *len as usize),
                Storage::Index(values) => extend(values, *len as usize),
            });
            if is_filled {
                self.fresh.pop_front();
            }
            if now_ms() > deadline_ms && !self.fresh.is_empty() {
                return false;
            }
        }
        true
    }

    /// Bytes of an element.
    fn bytes_of(&self, kind: Kind) -> u64 {
        if kind == Kind::Index { 4 } else { self.precision.bytes() }
    }

    fn buffer(&self, buffer: BufferId) -> Result<&Buffer, DeviceError> {
        self.buffers.get(buffer.0).ok_or(DeviceError::UnknownBuffer(buffer.0))
    }
}

impl Inventory for CpuDevice {
    fn held(&self, buffer: BufferId) -> Option<Held<'_>> {
        let Buffer { kind, len, label, .. } = self.buffer(buffer).ok()?;
        Some(Held { kind: *kind, len: *len, bytes: self.bytes_of(*kind), plane: 0, label })
    }

    fn interface(&self, kernel: KernelId) -> Option<&Interface> {
        self.kernels.list.get(kernel.0 as usize).map(|kernel| &kernel.interface)
    }

    fn limits(&self) -> Limits {
        *self.limits
    }

    fn meaning(&self) -> Reals {
        Reals::Single
    }

    fn multiplies(&self) -> bool {
        false
    }

    fn identity(&self) -> u64 {
        self.identity
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn is_ranked(&self) -> bool {
        self.communicator.is_some()
    }
}
