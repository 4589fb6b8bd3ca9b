//! Compressed vectors: codes, search, and files.

use crate::support;
mod bits;
mod built;
mod by_bits;
mod changes;
mod codes;
mod data;
mod device;
mod fetched;
mod files;
mod graphs;
mod heavy_tails;
mod hostile;
pub mod memory;
mod memory_of;
mod published;
mod routes;
mod search;
mod sketches;
mod slices;
mod whole;

use crate::support::is_full;
use data::{kmeans, mixture};
use leastwise::anneal::code::Code;
use leastwise::anneal::index::{Index, Options};

/// An index of every code over the same points.
fn indexes(points: &[f32], dim: usize, clusters: usize) -> Vec<Index> {
    indexes_of(&Code::ALL, points, dim, clusters)
}

fn indexes_of(codes: &[Code], points: &[f32], dim: usize, clusters: usize) -> Vec<Index> {
    let coarse = kmeans(points, dim, clusters, 4);
    let make = |code: &Code| Index::build(points, dim, coarse.clone(), &options(*code)).expect("an index");
    codes.iter().map(make).collect()
}

/// Every code in `npm run test:full`; in `npm test` three that differ from run to run, neighbours in their list.
fn share_of_codes(seed: u64) -> Vec<Code> {
    let all = Code::ALL;
    let few = if is_full() { all.len() } else { 3 };
    (0..few as u64).map(|place| all[((seed % all.len() as u64 + place) % all.len() as u64) as usize]).collect()
}

fn options(code: Code) -> Options {
    Options { code, ..Options::default() }
}

fn of_bits(bits: f64) -> Options {
    Options { bits: Some(bits), ..Options::default() }
}

/// Mean squared error of what an index gives back, of the mean square around the mean.
fn relative_error(index: &Index, points: &[f32]) -> f64 {
    let dim = index.dim();
    let ids: Vec<u32> = (0..(points.len() / dim) as u32).collect();
    let back = index.reconstruct(&ids).expect("the vectors");
    let means: Vec<f64> =
        (0..dim).map(|axis| points.iter().skip(axis).step_by(dim).map(|&v| f64::from(v)).sum::<f64>() / ids.len() as f64).collect();
    let spread: f64 = points.iter().enumerate().map(|(place, &value)| (f64::from(value) - means[place % dim]).powi(2)).sum();
    points.iter().zip(&back).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>() / spread
}

fn small() -> (Vec<f32>, usize) {
    (mixture(300, 12, 3, 5), 12)
}
