//! The twin of `pairs`.

use crate::Workgroups;
use crate::real::Real;
use crate::twins::reduce::{Lanes, MAX_GROUP, group_sum};
use leastwise_kernels as kernels;
use leastwise_kernels::state::cluster as state;

/// −1 … 1 ("pcg", Jarzynski & Olano 2020).
fn random<R: Real>(seed: u32, pair: usize, k: usize) -> R {
    let word = (pair as u32).wrapping_mul(2_654_435_769) ^ seed.wrapping_mul(747_796_405).wrapping_add(k as u32);
    let mixed = word.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let shifted = ((mixed >> ((mixed >> 28) + 4)) ^ mixed).wrapping_mul(277_803_737);
    R::from_f64(f64::from((shifted >> 22) ^ shifted)) / R::from_f64(2_147_483_648.0) - R::ONE
}

/// Pairs of anchors are measured, split or joined.
pub fn pairs<R: Real>(work: &Workgroups, args: kernels::clustering::anneal::Pairs, bindings: kernels::clustering::anneal::PairsSlices<R>) {
    let [dimensions, what, seed, first_step] = [args.dimensions, args.mode, args.seed, args.step].map(|word| word as usize);
    let (anchors, table, steps) = (bindings.anchors, bindings.table, bindings.steps);
    let nudge = bindings.state[state::NUDGE as usize];
    let (pairs, measures) = (bindings.pairs, bindings.measures);
    let spread = nudge * (R::from_f64(3.0) / R::from_f64(dimensions as f64)).sqrt();
    for pair in work.groups.start.min(work.params.group_count) as usize..work.groups.end.min(work.params.group_count) as usize {
        let row = |side: usize| &anchors[(2 * pair + side) * dimensions..][..dimensions];
        let (a, b) = (row(0), row(1));
        let half = R::from_f64(0.5);
        let mut lanes: Lanes<R> = [R::ZERO; MAX_GROUP];
        for k in 0..dimensions {
            let delta = (a[k] - b[k]) * half;
            lanes[k % work.group_size as usize] += delta * delta;
        }
        let length = group_sum(&lanes, work.group_size as usize).sqrt();
        for k in 0..dimensions {
            let middle = (a[k] + b[k]) * half;
            let along = if length > R::ZERO { (a[k] - b[k]) * half / length } else { R::ZERO };
            let mut place = |pair: usize, middle: R, step: R| {
                pairs[2 * pair * dimensions + k] = middle + step;
                pairs[(2 * pair + 1) * dimensions + k] = middle - step;
            };
            let anew = |pair: usize| spread * random(seed as u32, pair, k);
            match what {
                2 => pairs[pair * dimensions + k] = middle,
                0 => place(pair, middle, if length > R::ZERO { nudge * along } else { anew(pair) }),
                _ if steps[first_step + pair] > R::ZERO => {
                    let (step, other) = (steps[first_step + pair] * along, table[pair] as usize);
                    place(pair, middle + step, anew(pair));
                    place(other, middle - step, anew(other));
                }
                _ => place(pair, middle, (a[k] - b[k]) * half),
            }
        }
        if what == 0 {
            measures[pair] = length / nudge;
        }
    }
}
