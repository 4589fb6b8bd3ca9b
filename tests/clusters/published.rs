//! The published compressor's synthetic rows: its own energies and anchors.

use crate::clusters::support::{cluster, cpu, gpu, hash_of_halves, to_half};
use crate::support::repeated;
use leastwise::anneal::cluster::{Mean, Method, Options, Start};
use leastwise::device::{Device, Limits};

/// `x[i][j] = f16(c[i mod 3] + ½ sin(0.1 (i d + j)))`, with c = 0, 5, 10.
pub fn rows(count: usize, dimensions: usize) -> Vec<f32> {
    let component = |i: usize| {
        let centre = [0.0f32, 5.0, 10.0][i / dimensions % 3];
        to_half(centre + 0.5 * (i as f32 * 0.1).sin())
    };
    (0..count * dimensions).map(component).collect()
}

#[test]
fn rows_are_those_that_were_published() {
    for (count, dimensions, hash) in
        [(300, 64, 0x8a64_47d7_d3ae_7c4b), (1000, 64, 0xd944_b087_62b0_8e1d), (10_000, 128, 0xe2a8_0d0b_b91c_a5a7)]
    {
        assert_eq!(hash_of_halves(&rows(count, dimensions)), hash, "{count}x{dimensions}");
    }
}

fn options(dimensions: u32, clusters: u32, trim: f64, maintains: bool) -> Options {
    Options {
        method: Some(Method::Vlc),
        mean: Some(if trim > 0.0 { Mean::Trim(trim) } else { Mean::Plain }),
        max_iterations: Some(50),
        tolerance: Some(1e-3),
        min_changes: Some(1),
        temperature: Some(1.0),
        cooling: Some(0.05),
        learning_rate: Some(0.2),
        maintenance_interval: Some(if maintains { 20 } else { 1000 }),
        ..Options::new(dimensions, clusters)
    }
}

/// Energies of every iteration, published or computed from the published algorithm, to six decimals.
fn golden() -> serde_json::Value {
    serde_json::from_str(include_str!("golden.json")).expect("a file of the project")
}

/// Every iteration's energy within 1e-5 of itself, and the half of the last decimal that is known.
fn follows(device: &mut Device, name: &str, variant: &str) -> Vec<f32> {
    let case = &golden()[name];
    let size: Vec<usize> = name.split('x').map(|part| part.parse().expect("a number")).collect();
    let (trim, interval) = (if variant.starts_with("trim10") { 0.1 } else { 0.0 }, variant.ends_with("_maint"));
    let outcome = cluster(device, &rows(size[0], size[1]), &options(size[1] as u32, size[2] as u32, trim, interval));
    let expected: Vec<f64> = case[variant]["energies"].as_array().expect("energies").iter().map(|e| e.as_f64().expect("one")).collect();
    assert_eq!(outcome.iterations.len(), expected.len(), "{name}, {variant}");
    assert_eq!(Some(outcome.clusters.into()), case[variant]["m"].as_u64(), "{name}, {variant}");
    for (number, (iteration, expected)) in outcome.iterations.iter().zip(expected).enumerate() {
        let error = (iteration.energy - expected).abs();
        assert!(error <= 1e-5 * expected + 5e-7, "{name}, {variant}, iteration {number}: {}, expected {expected}", iteration.energy);
    }
    outcome.centroids
}

const VARIANTS: [&str; 4] = ["trim10_maint", "trim0_maint", "trim10_nomaint", "trim0_nomaint"];

#[test]
fn energies_are_the_published_ones() {
    for name in ["300x64x10", "1000x64x10", "1000x64x32"] {
        for variant in VARIANTS {
            follows(&mut cpu(), name, variant);
        }
    }
}

#[test]
fn anchors_are_the_published_ones_to_the_bit() {
    for (name, hash) in [("1000x64x32", 0xa5ae_8d16_52d7_b201), ("10000x128x256", 0xa77e_2c5b_f0fc_f378)] {
        assert_eq!(hash_of_halves(&follows(&mut cpu(), name, "trim10_maint")), hash, "{name}");
    }
}

#[test]
fn energies_are_the_published_ones_on_webgpu() {
    for &limits in repeated(&[Limits::SMALL, Limits::WEBGPU], 1) {
        let mut gpu = gpu(limits);
        for variant in repeated(&VARIANTS, 2) {
            follows(&mut gpu, "300x64x10", variant);
        }
        follows(&mut gpu, "1000x64x32", "trim10_maint");
    }
}

/// Lloyd's iterations from farthest first, in f32: the rows that they begin with, and the energy that they end with.
#[test]
fn farthest_first_and_lloyds_iterations_are_those_of_the_reference() {
    for (name, case) in golden().as_object().expect("cases") {
        let size: Vec<usize> = name.split('x').map(|part| part.parse().expect("a number")).collect();
        let points = rows(size[0], size[1]);
        let of = |max_iterations: u32| Options {
            method: Some(Method::Lloyd),
            start: Some(Start::Farthest),
            tolerance: Some(0.0),
            max_iterations: Some(max_iterations),
            ..Options::new(size[1] as u32, size[2] as u32)
        };
        // One iteration only assigns.
        let start = cluster(&mut cpu(), &points, &of(1)).centroids;
        let first = case["init_indices"].as_array().expect("rows").iter().map(|row| row.as_u64().expect("one") as usize);
        for (number, (centroid, row)) in start.chunks(size[1]).zip(first).enumerate() {
            let apart = centroid.iter().zip(&points[row * size[1]..]).map(|(a, x)| (a - x).abs()).fold(0.0, f32::max);
            assert!(apart < 1e-4, "{name}: anchor {number} is not row {row}, but {apart} away");
        }
        let energy = cluster(&mut cpu(), &points, &of(300)).energy;
        let expected = case["lloyd_f32"]["E"].as_f64().expect("an energy");
        assert!((energy - expected).abs() <= 2e-4 * expected, "{name}: {energy}, expected {expected}");
    }
}

#[test]
fn buffers_that_maintenance_outgrew_are_freed_wherever_iterations_end() {
    let points = rows(300, 8);
    for last in 1..=6 {
        // Nothing of it may be left on the device, which is asserted there.
        cluster(&mut cpu(), &points, &Options { max_iterations: Some(last), maintenance_interval: Some(2), ..options(8, 3, 0.0, true) });
    }
}
