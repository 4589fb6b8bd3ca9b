//! Codebooks of real embeddings on the CPU: energy, time, and operations, for every method.
//!
//! `LEASTWISE_DATA=… cargo bench --bench clusters`: the folder has `embeddings/minilm-20k-base.f16.npy`.
//! REFERENCE: best of ten k-means++ runs of scikit-learn on two cores has 0.68623 with 64 clusters (13 s) and 0.60166 with 256 (45 s).

use leastwise::anneal::cluster::{Clustering, Method, Next, Options, Outcome};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Precision};
use std::time::Instant;

fn cluster(points: &[f32], options: &Options) -> Outcome {
    let mut device = Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits()));
    let mut clustering = Clustering::new(&mut device, points.to_vec(), options).expect("a clustering");
    let mut readback = Vec::new();
    loop {
        match clustering.advance(&mut device, &readback).expect("an advance") {
            Next::Run(recording) => readback = device.run(recording).expect("a recording"),
            Next::Done(outcome) => return *outcome,
        }
    }
}

/// The rows of a `.npy` file of halves.
fn embeddings() -> Option<Vec<f32>> {
    let folder = std::env::var("LEASTWISE_DATA").ok()?;
    let bytes = std::fs::read(format!("{folder}/embeddings/minilm-20k-base.f16.npy")).ok()?;
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    Some(bytes[header..].chunks_exact(2).map(|bits| half::f16::from_le_bytes([bits[0], bits[1]]).to_f32()).collect())
}

fn main() {
    let Some(points) = embeddings() else {
        println!("LEASTWISE_DATA says no folder with embeddings/minilm-20k-base.f16.npy: nothing was measured");
        return;
    };
    for clusters in [64, 256] {
        for (method, seeds) in [(Method::Lloyd, 0..2), (Method::Anneal, 0..3)] {
            for seed in seeds {
                let begun = Instant::now();
                let outcome = cluster(&points, &Options { method: Some(method), seed: Some(seed), ..Options::new(384, clusters) });
                println!(
                    "{clusters:4} clusters, {method:?}, seed {seed}: energy {:.5}, {} iterations, {:.2} s, {}",
                    outcome.energy,
                    outcome.iterations.len(),
                    begun.elapsed().as_secs_f64(),
                    outcome.reason
                );
            }
        }
    }
}
