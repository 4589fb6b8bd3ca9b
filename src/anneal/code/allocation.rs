//! How many bits each coordinate gets: reverse water-filling, by whole bits.

use super::trellis;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Most bits a coordinate.
pub const MOST_BITS: u32 = 12;

/// Mean squared error of a standard normal value by its bits: measured of the trellis, Panter and Dite's of scalar levels.
pub(super) fn distortion(bits: u32) -> f64 {
    const TRELLIS: [f64; trellis::MOST_BITS as usize + 1] = [1.0, 0.283, 0.0745, 0.0193, 0.00506, 0.00135, 0.00036];
    TRELLIS.get(bits as usize).copied().unwrap_or_else(|| 2.72 * 0.25_f64.powi(bits as i32))
}

/// A coordinate, and what its next bit takes off the error.
struct Next {
    gain: f64,
    coordinate: usize,
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gain.total_cmp(&other.gain).then(other.coordinate.cmp(&self.coordinate))
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Next {}

/// The bits of every coordinate, `budget` in all or fewer, that make Σ weight·distortion smallest. Gains fall from bit to
/// bit, so that the greedy choice is the best one. What has no weight gets no bits.
pub fn allocate(weights: &[f64], budget: usize) -> Vec<u8> {
    let mut bits = vec![0_u8; weights.len()];
    let gain = |coordinate: usize, bits: u8| weights[coordinate] * (distortion(bits.into()) - distortion(u32::from(bits) + 1));
    let mut queue: BinaryHeap<Next> =
        (0..weights.len()).map(|coordinate| Next { gain: gain(coordinate, 0), coordinate }).filter(|next| next.gain > 0.0).collect();
    for _ in 0..budget {
        let Some(Next { coordinate, .. }) = queue.pop() else { break };
        bits[coordinate] += 1;
        if u32::from(bits[coordinate]) < MOST_BITS {
            queue.push(Next { gain: gain(coordinate, bits[coordinate]), coordinate });
        }
    }
    bits
}
