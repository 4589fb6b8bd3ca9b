//! Where anchors start at random.

use crate::clusters::support::{Gaussian, cluster, cpu, gpu};
use crate::support::is_full;
use leastwise::anneal::cluster::{Method, Options, Outcome};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Limits, Precision};

fn options(dim: usize, clusters: u32, seed: u32) -> Options {
    Options { method: Some(Method::Lloyd), seed: Some(seed), ..Options::new(dim as u32, clusters) }
}

fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum()
}

/// The mean of squared distances that k-means++ with one candidate leaves (Arthur & Vassilvitskii 2007, section 2.2).
fn plain(points: &[f32], dim: usize, clusters: u32, random: &mut Gaussian) -> f64 {
    let rows: Vec<&[f32]> = points.chunks(dim).collect();
    let mut chosen = (random.uniform() * rows.len() as f64) as usize;
    let mut nearest = vec![f64::INFINITY; rows.len()];
    for anchor in 0..clusters {
        if anchor > 0 {
            let mut left = random.uniform() * nearest.iter().sum::<f64>();
            chosen = nearest
                .iter()
                .position(|distance| {
                    left -= distance;
                    left < 0.0
                })
                .unwrap_or(0);
        }
        nearest.iter_mut().zip(&rows).for_each(|(least, row)| *least = least.min(squared_distance(row, rows[chosen])));
    }
    nearest.iter().sum::<f64>() / rows.len() as f64
}

#[test]
fn several_candidates_leave_less_than_one_on_average() {
    let mut random = Gaussian::new("candidates");
    for (components, dim, count, clusters) in [(9, 2, 900, 9), (40, 6, 2000, 40), (1, 12, 1500, 25)] {
        let points = random.mixture(components, dim, count, 0.1);
        let seeds = 30;
        let mean = |energies: Vec<f64>| energies.iter().sum::<f64>() / f64::from(seeds);
        let of_one = mean((0..seeds).map(|_| plain(&points, dim, clusters, &mut random)).collect());
        // The first iteration's energy is that of the anchors where they start.
        let start = |seed| cluster(&mut cpu(), &points, &options(dim, clusters, seed)).iterations[0].energy;
        let greedy = mean((0..seeds).map(start).collect());
        println!("{components} Gaussians, {clusters} clusters: {greedy:.5} on average, with one candidate {of_one:.5}");
        assert!(greedy <= of_one, "{components} Gaussians: {greedy}, and with one candidate {of_one}");
    }
}

/// Small whole numbers and their opposites: distances and their sums are exact in any order.
fn whole_numbers(count: usize, dim: usize) -> Vec<f32> {
    let mut word = 1u32;
    let half: Vec<f32> = (0..count / 2 * dim)
        .map(|_| {
            word = word.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (word >> 16) as f32 % 5.0 - 2.0
        })
        .collect();
    half.iter().copied().chain(half.iter().map(|x| -x)).collect()
}

#[test]
fn neither_chunks_nor_devices_change_where_anchors_start() {
    let (dim, clusters) = (30, 17);
    let points = whole_numbers(3000, dim);
    // One iteration assigns to the anchors where they start.
    let options = Options { max_iterations: Some(1), ..options(dim, clusters, 4) };
    let whole = cluster(&mut cpu(), &points, &options);
    let streamed = cluster(&mut cpu(), &points, &Options { device_bytes: Some(100_000.0), ..options.clone() });
    let mut small = Device::Cpu(CpuDevice::new(Precision::F32, Limits { binding_bytes: 200_000, ..Limits::SMALL }));
    let cramped = cluster(&mut small, &points, &options);
    let on_gpu = cluster(&mut gpu(Limits::WEBGPU), &points, &options);
    // By the limits of a device that compiles every kernel for this alone, or by what it is told to take.
    let in_chunks = if is_full() {
        cluster(&mut gpu(Limits { binding_bytes: 200_000, ..Limits::SMALL }), &points, &options)
    } else {
        cluster(&mut gpu(Limits::SMALL), &points, &Options { device_bytes: Some(100_000.0), ..options.clone() })
    };
    let rows = |outcome: &Outcome| outcome.centroids.chunks(dim).map(<[f32]>::to_vec).collect::<Vec<_>>();
    assert!(rows(&whole).iter().all(|anchor| points.chunks(dim).any(|point| point == anchor)), "anchors start at points");
    for (name, other) in [("streamed", &streamed), ("cramped", &cramped), ("WebGPU", &on_gpu), ("WebGPU, in chunks", &in_chunks)] {
        assert_eq!(rows(&whole), rows(other), "{name}");
    }
}
