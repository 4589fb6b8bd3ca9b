//! Twin of `shaders/gather.wgsl`.

use super::super::{Bindings, Work};
use crate::device::binding::{STATE, VECTOR_IN, VECTOR_OUT};
use crate::kernel::NEGATIVE;
use crate::real::Real;

/// total\[v\] += the contributions of the instances that v takes part in, in the order of the incidence list.
pub fn gather<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [width, map, starts, ids, entries, bits, stride, base, guard, ..] = work.params.words;
    if bindings.read(STATE)[guard as usize] != R::ZERO {
        return;
    }
    let (incidence, columns, total) = (bindings.index(), bindings.read(VECTOR_IN), bindings.write(VECTOR_OUT));
    let (width, items) = (width as usize, work.items());
    if items.is_empty() {
        return;
    }
    let map = &incidence[map as usize..(map as usize + (width << bits)).min(incidence.len())];
    let slots = decode(map, width, stride as usize);
    let entries = &incidence[entries as usize..];
    let slot_mask = (1u32 << bits) - 1;
    let mut sums = vec![R::ZERO; width];
    for row in items.start / width..=(items.end - 1) / width {
        let (start, end) = (incidence[starts as usize + row], incidence[starts as usize + row + 1]);
        let entries = &entries[start as usize..end as usize];
        let first = base as usize + incidence[ids as usize + row] as usize * width;
        // A row may begin in the workgroup before or end in the next one.
        let mine = items.start.saturating_sub(row * width)..(items.end - row * width).min(width);
        sums.fill(R::ZERO);
        for &entry in entries {
            let instance = (entry >> bits) as usize;
            for term in &slots[(entry & slot_mask) as usize] {
                sums[term.component] += term.of(columns, instance);
            }
        }
        let to = &mut total[first + mine.start..first + mine.end];
        to.iter_mut().zip(&sums[mine]).for_each(|(to, sum)| *to += *sum);
    }
}

/// One non-zero entry of the column map.
struct Contribution {
    component: usize,
    /// Where its column begins.
    column: usize,
    negative: bool,
}

impl Contribution {
    fn of<R: Real>(&self, columns: &[R], instance: usize) -> R {
        let value = columns[self.column + instance];
        if self.negative { -value } else { value }
    }
}

fn decode(map: &[u32], width: usize, stride: usize) -> Vec<Vec<Contribution>> {
    let slot = |codes: &[u32]| {
        let coded = codes.iter().enumerate().filter(|(_, code)| **code != 0);
        coded
            .map(|(component, code)| Contribution {
                component,
                column: ((code & !NEGATIVE) as usize - 1) * stride,
                negative: code & NEGATIVE != 0,
            })
            .collect()
    };
    map.chunks(width).map(slot).collect()
}
