//! The twin of `merge`.

use crate::Workgroups;
use crate::real::Real;
use crate::twins::clustering::{nearest_half, squared_distance};
use leastwise_kernels as kernels;
use leastwise_kernels::state::cluster as state;

/// Anchors that are closer than a tenth of what anchors are apart become one.
pub fn merge<R: Real>(_: &Workgroups, args: kernels::clustering::moves::Merge, bindings: kernels::clustering::moves::MergeSlices<R>) {
    let [count, dimensions, counts, map, flags] =
        [args.anchors, args.dimensions, args.counts, args.map, args.flags].map(|word| word as usize);
    let (table, anchors) = (bindings.table, bindings.anchors);
    let (sums, state) = (bindings.sums, bindings.state);
    let of = |anchors: &[R], i: usize, j: usize| {
        squared_distance(&anchors[i * dimensions..][..dimensions], &anchors[j * dimensions..][..dimensions])
    };
    let sampled = count.min(100);
    let apart = (0..sampled).fold(R::ZERO, |sum, i| sum + of(anchors, i, (i + count / 2) % count).sqrt());
    let tenth = if count >= 2 { apart / R::from_f64(sampled as f64) * R::from_f64(0.1) } else { R::from_f64(0.1) };
    let threshold = tenth * tenth;
    (0..count).for_each(|i| table[map + i] = i as u32);
    for i in 0..count {
        for j in i + 1..count {
            let both_stand = table[map + i] == i as u32 && table[map + j] == j as u32;
            if both_stand && of(anchors, i, j) < threshold {
                table[map + j] = i as u32;
            }
        }
    }
    sums[..count * dimensions].fill(R::ZERO);
    for i in 0..count {
        let (to, members) = (table[map + i] as usize, R::from_f64(table[counts + i].into()));
        let row = &anchors[i * dimensions..][..dimensions];
        sums[to * dimensions..][..dimensions].iter_mut().zip(row).for_each(|(sum, a)| *sum += *a * members);
    }
    let mut merged = 0;
    for i in 0..count {
        let to = table[map + i] as usize;
        if to != i {
            table[counts + to] += table[counts + i];
            merged += 1;
        }
    }
    for i in (0..count).filter(|i| table[map + i] as usize == *i && table[counts + i] > 0) {
        let members = R::from_f64(table[counts + i].into());
        let row = anchors[i * dimensions..][..dimensions].iter_mut().zip(&sums[i * dimensions..]);
        row.for_each(|(a, sum)| {
            let value = *sum / members;
            *a = if flags & 4 != 0 { nearest_half(value) } else { value };
        });
    }
    state[state::MERGED as usize] = R::from_f64(merged.into());
}
