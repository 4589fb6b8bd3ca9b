//! Buffers that recordings borrow: uniform blocks, and what readbacks are mapped from.
//!
//! A borrow is an `Arc` clone, so a recording that is dropped half-way gives everything back without knowing of the
//! pool. A uniform buffer may be written again as soon as its borrower is gone, even while the GPU still works: the
//! queue keeps the order. A readback buffer may not, until its mapping has landed.
#![cfg_attr(target_arch = "wasm32", expect(clippy::arc_with_non_send_sync, reason = "in a page there is one thread"))]

use super::{ELEMENT, Internals, descriptor};
use leastwise_recording::{Kind, Params, Signal};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

/// Bytes from one uniform block to the next: the largest alignment that WebGPU may ask for.
pub(super) const PARAMS_STRIDE: usize = 256;

/// How many recordings keep their uniform blocks on the GPU.
const MAX_PARAMS_BUFFERS: usize = 16;

/// Idle readback buffers above this are destroyed before a new one is made.
const IDLE_READBACK_BYTES: u64 = 32 << 20;

/// A uniform block: what all devices have, and for every binding how many elements its low parts lie behind its high parts.
#[derive(Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Block {
    pub params: Params,
    pub planes: [u32; 12],
}

/// The uniform blocks of a recording, one after the other.
pub(super) struct ParamsBuffer {
    /// For the bind groups that name it.
    pub id: u32,
    pub buffer: wgpu::Buffer,
    blocks: Mutex<Vec<Block>>,
    /// When it was leased last, on the pool's clock.
    used: AtomicU64,
}

impl ParamsBuffer {
    fn blocks(&self) -> MutexGuard<'_, Vec<Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
pub(super) struct ParamsPool {
    buffers: Vec<Arc<ParamsBuffer>>,
    next_id: u32,
    clock: u64,
}

impl ParamsPool {
    /// A buffer that holds `blocks`, and the id of the one that had to make place for it, whose bind groups are dead.
    ///
    /// A solver plays few different recordings over and over, mostly with the same blocks. So the buffer that has
    /// them already is best; then one with as many, which probably had the last playing of the same recording.
    pub fn lease(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        internals: &mut Internals,
        blocks: Vec<Block>,
    ) -> (Arc<ParamsBuffer>, Option<u32>) {
        self.clock += 1;
        let bytes = capacity(blocks.len());
        let oldest = |fits: &dyn Fn(&ParamsBuffer) -> bool| {
            let free = self.buffers.iter().enumerate().filter(|(_, buffer)| Arc::strong_count(buffer) == 1 && fits(buffer));
            free.min_by_key(|(_, buffer)| buffer.used.load(Ordering::Relaxed)).map(|(index, _)| index)
        };
        let mut retired = None;
        let index = if let Some(same) = oldest(&|buffer| *buffer.blocks() == blocks) {
            same
        } else if let Some(alike) = oldest(&|buffer| buffer.blocks().len() == blocks.len()) {
            alike
        } else {
            if self.buffers.len() >= MAX_PARAMS_BUFFERS
                && let Some(index) = oldest(&|_| true)
            {
                let old = self.buffers.swap_remove(index);
                old.buffer.destroy();
                retired = Some(old.id);
            }
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            let buffer = device.create_buffer(&descriptor("uniform blocks", bytes, usage));
            internals.pooled_buffers_created += 1;
            self.buffers.push(Arc::new(ParamsBuffer { id: self.next_id, buffer, blocks: Default::default(), used: AtomicU64::new(0) }));
            self.next_id = self.next_id.wrapping_add(1);
            self.buffers.len() - 1
        };
        let chosen = self.buffers[index].clone();
        chosen.used.store(self.clock, Ordering::Relaxed);
        if *chosen.blocks() != blocks {
            let mut data = vec![0; blocks.len() * PARAMS_STRIDE];
            for (to, block) in data.chunks_exact_mut(PARAMS_STRIDE).zip(&blocks) {
                to[..size_of::<Block>()].copy_from_slice(bytemuck::bytes_of(block));
            }
            queue.write_buffer(&chosen.buffer, 0, &data);
            internals.params_uploads += 1;
            *chosen.blocks() = blocks;
        }
        (chosen, retired)
    }

    /// Buffers and their bytes.
    pub fn size(&self) -> (u64, u64) {
        (self.buffers.len() as u64, self.buffers.iter().map(|buffer| buffer.buffer.size()).sum())
    }

    /// Has none any more; who borrowed one keeps it. Ids go on.
    pub fn forget(&mut self) {
        self.buffers.drain(..).filter(|buffer| Arc::strong_count(buffer) == 1).for_each(|buffer| buffer.buffer.destroy());
    }

    pub fn destroy(&mut self) {
        self.buffers.drain(..).for_each(|buffer| buffer.buffer.destroy());
    }
}

/// Room for `blocks` uniform blocks; a recording without dispatches has none, but a buffer has at least one.
fn capacity(blocks: usize) -> u64 {
    (blocks.max(1) * PARAMS_STRIDE) as u64
}

/// Where a mapping is. Its callback may run on another thread natively, so this is all it gets to hold.
#[derive(Default)]
pub(super) struct Landing {
    state: AtomicU8,
    /// When it landed, as bits of an `f64` of milliseconds.
    at_ms: AtomicU64,
}

const IDLE: u8 = 0;
const PENDING: u8 = 1;
const MAPPED: u8 = 2;
const FAILED: u8 = 3;

impl Landing {
    fn land(&self, mapped: bool) {
        self.at_ms.store(leastwise_base::clock::now_ms().to_bits(), Ordering::Relaxed);
        self.state.store(if mapped { MAPPED } else { FAILED }, Ordering::Release);
    }

    pub fn has_landed(&self) -> bool {
        self.state.load(Ordering::Acquire) != PENDING
    }

    pub fn at_ms(&self) -> f64 {
        f64::from_bits(self.at_ms.load(Ordering::Relaxed))
    }
}

/// A buffer that the GPU copies to and the host maps.
pub(super) struct Readback {
    pub buffer: wgpu::Buffer,
    landing: Arc<Landing>,
    signal: Mutex<Signal>,
}

impl Readback {
    fn signal(&self) -> MutexGuard<'_, Signal> {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the first `len` elements. Their copy must have been submitted.
    pub fn map(&self, len: usize) -> (Arc<Landing>, Signal) {
        let signal = Signal::default();
        *self.signal() = signal.clone();
        self.landing.state.store(PENDING, Ordering::Release);
        let landing = self.landing.clone();
        #[cfg(target_arch = "wasm32")]
        let wake = signal.clone();
        // Natively whoever polls sets it, once all that landed is known (`WgpuDevice::reap`).
        self.buffer.map_async(wgpu::MapMode::Read, ..len as u64 * ELEMENT, move |result| {
            landing.land(result.is_ok());
            #[cfg(target_arch = "wasm32")]
            wake.set();
        });
        (self.landing.clone(), signal)
    }

    /// What to wait for, unless the mapping has landed.
    pub fn pending(&self) -> Option<Signal> {
        (!self.landing.has_landed()).then(|| self.signal().clone())
    }

    pub fn landed_at_ms(&self) -> f64 {
        self.landing.at_ms()
    }

    /// What was brought back as `len` elements, which must have landed; `None` when the mapping was refused. Of double-floats
    /// all high parts come first.
    pub fn take(&self, kind: Kind, len: usize) -> Option<Vec<f64>> {
        if self.landing.state.load(Ordering::Acquire) != MAPPED {
            return None;
        }
        let words = if kind == Kind::Double { 2 * len } else { len };
        let view = self.buffer.get_mapped_range(..words as u64 * ELEMENT).ok()?;
        // The view need not be aligned on the web, where it is a copy.
        let number = |bytes: &[u8; 4]| match kind {
            Kind::Real | Kind::Inner | Kind::Single | Kind::Double => f64::from(f32::from_le_bytes(*bytes)),
            Kind::Index => f64::from(u32::from_le_bytes(*bytes)),
        };
        let mut values: Vec<f64> = view.as_chunks::<4>().0.iter().map(number).collect();
        if kind == Kind::Double {
            let low = values.split_off(len);
            // Beyond the largest number there is no low part.
            values.iter_mut().zip(low).filter(|(high, _)| high.is_finite()).for_each(|(high, low)| *high += low);
        }
        drop(view);
        self.unmap();
        Some(values)
    }

    fn unmap(&self) {
        self.buffer.unmap();
        self.landing.state.store(IDLE, Ordering::Release);
    }
}

#[derive(Default)]
pub(super) struct ReadbackPool {
    buffers: Vec<Arc<Readback>>,
}

impl ReadbackPool {
    /// A buffer of at least `len` elements that nobody uses and no mapping is on its way to.
    pub fn lease(&mut self, device: &wgpu::Device, internals: &mut Internals, len: usize) -> Arc<Readback> {
        // Powers of two, so that readbacks of about the same size share a buffer.
        let bytes = (len as u64 * ELEMENT).next_power_of_two().max(256);
        self.reclaim();
        if let Some(free) = self.buffers.iter().find(|buffer| is_idle(buffer) && buffer.buffer.size() == bytes) {
            return free.clone();
        }
        let idle: u64 = self.buffers.iter().filter(|buffer| is_idle(buffer)).map(|buffer| buffer.buffer.size()).sum();
        if idle + bytes > IDLE_READBACK_BYTES {
            self.buffers.retain(|buffer| {
                let keep = !is_idle(buffer);
                if !keep {
                    buffer.buffer.destroy();
                }
                keep
            });
        }
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let buffer = device.create_buffer(&descriptor("readback", bytes, usage));
        internals.pooled_buffers_created += 1;
        let readback = Arc::new(Readback { buffer, landing: Default::default(), signal: Default::default() });
        self.buffers.push(readback.clone());
        readback
    }

    /// Takes back what landed after its borrower had gone: a flag that came too late, a readback of a dropped playing.
    fn reclaim(&mut self) {
        self.buffers.retain(|buffer| {
            let state = buffer.landing.state.load(Ordering::Acquire);
            if Arc::strong_count(buffer) > 1 {
                return true;
            }
            match state {
                MAPPED => buffer.unmap(),
                FAILED => {
                    buffer.buffer.destroy();
                    return false;
                }
                _ => {}
            }
            true
        });
    }

    /// Buffers and their bytes.
    pub fn size(&self) -> (u64, u64) {
        (self.buffers.len() as u64, self.buffers.iter().map(|buffer| buffer.buffer.size()).sum())
    }

    /// Has none any more; who borrowed one keeps it.
    pub fn forget(&mut self) {
        self.buffers.drain(..).filter(|buffer| Arc::strong_count(buffer) == 1).for_each(|buffer| buffer.buffer.destroy());
    }

    pub fn destroy(&mut self) {
        self.buffers.drain(..).for_each(|buffer| buffer.buffer.destroy());
    }
}

fn is_idle(buffer: &Arc<Readback>) -> bool {
    Arc::strong_count(buffer) == 1 && buffer.landing.state.load(Ordering::Acquire) == IDLE
}
