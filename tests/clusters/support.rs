//! Data, and clusterings played to their end.

use crate::support::{SharedDevice, shared_device};
use leastwise::anneal::cluster::{Clustering, Next, Options, Outcome};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Limits, Playing, Precision};
use std::hash::{DefaultHasher, Hash, Hasher};

pub fn cpu() -> Device {
    Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits()))
}

pub fn gpu(limits: Limits) -> SharedDevice {
    shared_device(Some(limits))
}

/// Plays a clustering to its end; nothing of it is left on the device.
pub fn cluster(device: &mut Device, points: &[f32], options: &Options) -> Outcome {
    let before = device.counters().bytes_live;
    let mut clustering = Clustering::new(device, points.to_vec(), options).expect("a clustering");
    let mut readback = Vec::new();
    let outcome = loop {
        match clustering.advance(device, &readback).expect("an advance") {
            Next::Run(recording) => readback = device.run(recording).expect("a recording"),
            Next::Done(outcome) => break outcome,
        }
    };
    clustering.dispose(device);
    assert_eq!(device.counters().bytes_live, before, "buffers are left");
    *outcome
}

/// FNV-1a of 64 bits, of numbers as little-endian halves.
pub fn hash_of_halves(values: &[f32]) -> u64 {
    let bytes = values.iter().flat_map(|value| half_bits(*value).to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The bits of a number that is one of half precision.
pub fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = f64::from(value.abs());
    if magnitude < f64::from(2.0f32.powi(-14)) {
        return sign | (magnitude * 2f64.powi(24)) as u16;
    }
    sign | ((((bits >> 23 & 0xff) as i32 - 112) as u16) << 10) | (bits >> 13 & 0x3ff) as u16
}

/// The nearest number of half precision, of two the even one.
pub fn to_half(value: f32) -> f32 {
    let exponent = (value.abs().log2().floor() as i32).max(-14);
    let unit = 2f64.powi(exponent - 10);
    ((f64::from(value) / unit).round_ties_even() * unit) as f32
}

/// The same with time slices that are over at once.
pub fn cluster_in_slices(device: &mut Device, points: &[f32], options: &Options) -> Outcome {
    let mut clustering = Clustering::new(device, points.to_vec(), options).expect("a clustering");
    let mut readback = Vec::new();
    loop {
        match clustering.advance(device, &readback).expect("an advance") {
            Next::Run(recording) => {
                let mut play = device.start(recording);
                readback = loop {
                    if let Playing::Finished(values) = device.resume(&mut play, f64::NEG_INFINITY).expect("a slice") {
                        break values;
                    }
                };
            }
            Next::Done(outcome) => return *outcome,
        }
    }
}

/// Normal numbers, new in every run unless `LEASTWISE_TEST_SEED` is set.
pub struct Gaussian(u64);

impl Gaussian {
    pub fn new(name: &str) -> Self {
        let given = std::env::var("LEASTWISE_TEST_SEED").ok().map(|seed| seed.parse().expect("LEASTWISE_TEST_SEED is a number"));
        let seed: u64 = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock after 1970");
            now.as_nanos() as u64
        });
        println!("{name}: LEASTWISE_TEST_SEED={seed}");
        let mut hasher = DefaultHasher::new();
        (seed, name).hash(&mut hasher);
        Self(hasher.finish())
    }

    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// By Box and Muller.
    pub fn next(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Points about so many centres in [−1, 1]ⁿ.
    pub fn mixture(&mut self, components: usize, dim: usize, count: usize, deviation: f64) -> Vec<f32> {
        let centres: Vec<f64> = (0..components * dim).map(|_| 2.0 * self.uniform() - 1.0).collect();
        let point = |i: usize| centres[(i / dim % components) * dim + i % dim];
        (0..count * dim).map(|i| (point(i) + deviation * self.next()) as f32).collect()
    }
}
