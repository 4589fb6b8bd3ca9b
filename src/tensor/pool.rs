//! Buffers that were used and will be again.
//!
//! Sizes are rounded up to classes, four an octave, so that at most a quarter of a buffer is slack. What is given back is
//! kept for the next who asks for its class; above a cap, what was given back longest ago is destroyed. Devices play
//! commands in order, so a buffer may go to its next user while the last one's work is still to come.

use leastwise_device::{BufferId, Device, DeviceError, Kind};
use std::collections::{BTreeMap, VecDeque};

/// The smallest class, in elements: 256 bytes of f32.
const LEAST: u32 = 64;

/// Bytes that are kept, unless somebody says otherwise.
pub const DEFAULT_CAP: u64 = 256 << 20;

/// A buffer of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// The device's buffer.
    pub buffer: BufferId,
    /// Elements of the buffer.
    pub kind: Kind,
    /// Elements.
    pub class: u32,
}

/// Statistics of a pool.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatistics {
    /// Bytes in use, and kept for later.
    pub live: u64,
    /// Bytes kept for later.
    pub pooled: u64,
    /// The most that both were together.
    pub peak: u64,
    /// How often a kept buffer was there, how often one was made, and destroyed to keep under the cap.
    pub hits: u64,
    /// Buffers that were made.
    pub misses: u64,
    /// Buffers that were destroyed to keep under the cap.
    pub evictions: u64,
}

impl PoolStatistics {
    /// With those of another pool.
    pub fn with(&self, other: &Self) -> Self {
        Self {
            live: self.live + other.live,
            pooled: self.pooled + other.pooled,
            peak: self.peak + other.peak,
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            evictions: self.evictions + other.evictions,
        }
    }
}

/// Buffers of one device by size class, which are kept for reuse up to a cap.
pub struct Pool {
    /// What was given back, the latest last, with the time.
    kept: BTreeMap<(u8, u32), VecDeque<(BufferId, u64)>>,
    clock: u64,
    /// When what is being recorded began: of what was given back since, commands may be still to come.
    epoch: u64,
    /// Bytes that are kept at most.
    pub cap: u64,
    bytes_of_real: u64,
    statistics: PoolStatistics,
}

/// So many elements, rounded up to a class.
pub fn class_of(elements: u32) -> u32 {
    let elements = elements.max(LEAST);
    let step = (1 << elements.ilog2()) / 4;
    elements.checked_next_multiple_of(step).unwrap_or(elements)
}

fn key(kind: Kind, class: u32) -> (u8, u32) {
    (u8::from(kind == Kind::Index), class)
}

impl Pool {
    /// An empty pool of a device whose reals have so many bytes.
    pub fn new(bytes_of_real: u64) -> Self {
        Self { kept: BTreeMap::new(), clock: 0, epoch: 0, cap: DEFAULT_CAP, bytes_of_real, statistics: PoolStatistics::default() }
    }

    /// Counts and bytes so far.
    pub fn statistics(&self) -> PoolStatistics {
        self.statistics
    }

    fn bytes(&self, kind: Kind, class: u32) -> u64 {
        u64::from(class) * if kind == Kind::Index { 4 } else { self.bytes_of_real }
    }

    /// A buffer of at least so many elements. What is in it is anybody's.
    pub fn take(&mut self, device: &mut Device, kind: Kind, elements: u32) -> Result<Block, DeviceError> {
        let class = class_of(elements);
        // The last one that was given back is the likeliest to be in a cache.
        let bytes = self.bytes(kind, class);
        let mut kept = self.kept.get_mut(&key(kind, class)).and_then(VecDeque::pop_back);
        // What memory was refused for, nobody is to get again.
        while let Some((refused, _)) = kept.filter(|(buffer, _)| device.refuses(std::iter::once(*buffer))) {
            device.free(refused);
            self.statistics.pooled -= bytes;
            self.statistics.evictions += 1;
            kept = self.kept.get_mut(&key(kind, class)).and_then(VecDeque::pop_back);
        }
        let buffer = match kept {
            Some((buffer, _)) => {
                self.statistics.hits += 1;
                self.statistics.pooled -= bytes;
                buffer
            }
            None => {
                self.statistics.misses += 1;
                self.make(device, kind, class)?
            }
        };
        self.statistics.live += bytes;
        self.statistics.peak = self.statistics.peak.max(self.statistics.live + self.statistics.pooled);
        Ok(Block { buffer, kind, class })
    }

    /// A new buffer; where there is no room for it, what is kept makes room.
    fn make(&mut self, device: &mut Device, kind: Kind, class: u32) -> Result<BufferId, DeviceError> {
        match device.allocate(kind, class, "tensor") {
            Err(DeviceError::OutOfMemory { .. }) if self.statistics.pooled > 0 => {
                self.destroy(device, 0, self.epoch);
                device.allocate(kind, class, "tensor")
            }
            made => made,
        }
    }

    /// Keeps a buffer for later.
    pub fn give_back(&mut self, block: Block) {
        let bytes = self.bytes(block.kind, block.class);
        self.statistics.live -= bytes;
        self.clock += 1;
        self.kept.entry(key(block.kind, block.class)).or_default().push_back((block.buffer, self.clock));
        self.statistics.pooled += bytes;
    }

    /// From now on commands are recorded that are played later.
    pub fn begin(&mut self) {
        self.epoch = self.clock;
    }

    /// Destroys what was given back longest ago, until no more than so many bytes are kept. Nothing may be recorded that is
    /// still to be played.
    pub fn trim(&mut self, device: &mut Device, cap: u64) {
        self.destroy(device, cap, u64::MAX);
    }

    fn destroy(&mut self, device: &mut Device, cap: u64, until: u64) {
        while self.statistics.pooled > cap {
            let oldest = self.kept.iter().filter_map(|(key, blocks)| Some((blocks.front()?.1, *key))).min();
            let Some((_, key)) = oldest.filter(|(time, _)| *time <= until) else { return };
            let Some((buffer, _)) = self.kept.get_mut(&key).and_then(VecDeque::pop_front) else { return };
            device.free(buffer);
            self.statistics.evictions += 1;
            let kind = if key.0 == 1 { Kind::Index } else { Kind::Real };
            self.statistics.pooled -= self.bytes(kind, key.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_cpu::CpuDevice;
    use leastwise_device::Precision;

    fn device() -> Device {
        Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits()))
    }

    #[test]
    fn classes_have_little_slack() {
        for elements in (1..100_000).step_by(7) {
            let class = class_of(elements);
            assert!(class >= elements && (class <= LEAST || f64::from(class) <= 1.25 * f64::from(elements)), "{elements}: {class}");
        }
        assert_eq!(class_of(u32::MAX), u32::MAX);
    }

    #[test]
    fn what_was_used_least_recently_goes_first() {
        let (mut device, mut pool) = (device(), Pool::new(4));
        pool.cap = 3000 * 4;
        let blocks = [1024, 1280, 1536].map(|size| pool.take(&mut device, Kind::Real, size).unwrap());
        blocks.into_iter().for_each(|block| pool.give_back(block));
        pool.trim(&mut device, pool.cap);
        // 1024 + 1280 + 1536 > 3000: the first is gone.
        assert_eq!(pool.statistics(), PoolStatistics { pooled: 2816 * 4, evictions: 1, misses: 3, peak: 3840 * 4, ..Default::default() });
        let again = pool.take(&mut device, Kind::Real, 1290).unwrap();
        assert_eq!((again, pool.statistics().hits), (blocks[2], 1));
        assert_eq!(pool.take(&mut device, Kind::Real, 1000).unwrap().class, 1024);
        assert_eq!(pool.statistics().misses, 4);
        pool.trim(&mut device, 0);
        assert_eq!((pool.statistics().pooled, device.counters().bytes_live), (0, (1536 + 1024) * 4));
    }
}
