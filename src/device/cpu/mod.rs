//! The CPU backend: plays recordings with the twins of the shaders and the block evaluator.
//!
//! Resumable: a dispatch is a range of workgroups, so playing can stop between any two of them when its time slice ends,
//! and go on later with the same bits. Work is spread over all cores (in a browser: where the module has threads), with the same bits too.

mod bindings;
mod evaluators;
mod play;
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub(crate) mod pool;
pub(crate) mod threads;
pub mod twins;

pub use bindings::{Bindings, Body, Twin, Work};
pub use evaluators::{Evaluation, Evaluator, EvaluatorKey, Evaluators, Linking};
pub use play::Play;
pub use threads::Pieces;

use super::{BufferId, Counters, DeviceError, KernelId, KernelSource, KernelText, Kind, Limits, Precision};
use crate::clock::now_ms;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

/// The storage of one buffer.
pub enum Storage {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Index(Vec<u32>),
}

/// Kernels by number and by their texts: equal ones are one.
#[derive(Default)]
struct Kernels {
    list: Vec<KernelSource>,
    known: HashMap<Vec<KernelText>, KernelId>,
}

/// Elements that become zeros between two looks at the clock.
const ZEROS: usize = 1 << 17;

/// A run of zeros more; whether all are there.
fn extend<T: Clone + Default>(values: &mut Vec<T>, len: usize) -> bool {
    values.resize(len.min(values.len() + ZEROS), T::default());
    values.len() == len
}

pub struct CpuDevice {
    precision: Precision,
    limits: Limits,
    buffers: Vec<Option<RefCell<Storage>>>,
    /// Buffers with room for so many elements that are not there yet: they become zeros in time slices, when something is played.
    fresh: VecDeque<(BufferId, usize)>,
    kernels: Box<Kernels>,
    evaluators: Box<Evaluators>,
    counters: Counters,
}

impl CpuDevice {
    pub fn new(precision: Precision, limits: Limits) -> Self {
        Self {
            precision,
            limits,
            buffers: Vec::new(),
            fresh: VecDeque::new(),
            kernels: Box::default(),
            evaluators: Box::default(),
            counters: Counters::default(),
        }
    }

    /// The limits of main memory: one chunk a term, unless tests ask for [`Limits::SMALL`].
    pub fn default_limits() -> Limits {
        Limits {
            binding_bytes: 1 << 32,
            buffer_bytes: 1 << 32,
            group_size: 256,
            groups_per_dimension: u16::MAX.into(),
            offset_alignment: 64,
            elements_per_lane: 8,
        }
    }

    /// Forgets buffers and kernels at once, not when a garbage collector comes by.
    pub fn dispose(&mut self) {
        (0..self.buffers.len() as u32).for_each(|buffer| self.free(BufferId(buffer)));
        *self.kernels = Kernels::default();
    }

    pub fn precision(&self) -> Precision {
        self.precision
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    pub fn kernels(&mut self, sources: &[KernelSource]) -> Vec<KernelId> {
        let Kernels { list, known } = &mut *self.kernels;
        let add = |source: &KernelSource| {
            *known.entry(source.texts.clone()).or_insert_with(|| {
                self.counters.kernels_created += 1;
                list.push(source.clone());
                KernelId(list.len() as u32 - 1)
            })
        };
        sources.iter().map(add).collect()
    }

    pub fn allocate(&mut self, kind: Kind, len: u32, label: &str) -> Result<BufferId, DeviceError> {
        let bytes = u64::from(len) * if kind == Kind::Index { 4 } else { self.precision.bytes() };
        let out_of_memory = |limit| DeviceError::OutOfMemory { what: label.to_string(), needed: bytes, limit };
        if bytes > self.limits.buffer_bytes {
            return Err(out_of_memory(Some(self.limits.buffer_bytes)));
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
        let storage = storage.ok_or_else(|| out_of_memory(None))?;
        self.buffers.push(Some(RefCell::new(storage)));
        if len as usize > ZEROS {
            self.fresh.push_back((BufferId(self.buffers.len() as u32 - 1), len as usize));
        }
        self.counters.buffers_created += 1;
        self.counters.bytes_live += bytes;
        self.counters.bytes_peak = self.counters.bytes_peak.max(self.counters.bytes_live);
        Ok(BufferId(self.buffers.len() as u32 - 1))
    }

    pub fn free(&mut self, buffer: BufferId) {
        let Some(storage) = self.buffers.get_mut(buffer.0 as usize).and_then(Option::take) else { return };
        self.counters.buffers_destroyed += 1;
        let fresh = self.fresh.iter().position(|(fresh, _)| *fresh == buffer).and_then(|place| self.fresh.remove(place));
        let len = |elements: usize| fresh.map_or(elements, |(_, len)| len) as u64;
        self.counters.bytes_live -= match storage.into_inner() {
            Storage::F32(values) => len(values.len()) * 4,
            Storage::F64(values) => len(values.len()) * 8,
            Storage::Index(values) => len(values.len()) * 4,
        };
    }

    /// Fills what was allocated with zeros, until the deadline; whether all is.
    fn fill(&mut self, deadline_ms: f64) -> bool {
        while let Some(&(buffer, len)) = self.fresh.front() {
            let Some(storage) = self.buffers.get_mut(buffer.0 as usize).and_then(Option::as_mut) else {
                self.fresh.pop_front();
                continue;
            };
            let filled = match storage.get_mut() {
                Storage::F32(values) => extend(values, len),
                Storage::F64(values) => extend(values, len),
                Storage::Index(values) => extend(values, len),
            };
            if filled {
                self.fresh.pop_front();
            }
            if now_ms() > deadline_ms && !self.fresh.is_empty() {
                return false;
            }
        }
        true
    }

    /// Bytes of an element.
    fn bytes_of(&self, buffer: BufferId) -> Result<u64, DeviceError> {
        Ok(if matches!(*self.buffer(buffer)?.borrow(), Storage::Index(_)) { 4 } else { self.precision.bytes() })
    }

    fn buffer(&self, buffer: BufferId) -> Result<&RefCell<Storage>, DeviceError> {
        self.buffers.get(buffer.0 as usize).and_then(Option::as_ref).ok_or(DeviceError::UnknownBuffer(buffer.0))
    }
}
