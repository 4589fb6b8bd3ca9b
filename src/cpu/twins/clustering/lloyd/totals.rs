//! Twins of what an iteration ends with: `totals`, `converge`.

use crate::Workgroups;
use crate::real::Real;
use crate::twins::reduce::*;
use leastwise_kernels as kernels;
use leastwise_kernels::state::cluster::*;

/// Sums of two numbers of every point over the members of each cluster, one after the other.
pub fn totals<R: Real>(work: &Workgroups, args: kernels::clustering::lloyd::Totals, bindings: kernels::clustering::lloyd::TotalsSlices<R>) {
    let [clusters, members, begins, other] = [args.clusters, args.members, args.beginnings, args.distance].map(|word| word as usize);
    let (table, numbers, totals) = (bindings.table, bindings.numbers, bindings.totals);
    for cluster in (work.groups.start as usize..work.groups.end as usize).take_while(|cluster| *cluster < clusters) {
        let (mut a, mut b) = (R::ZERO, R::ZERO);
        for place in table[begins + cluster]..table[begins + cluster + 1] {
            let number = table[members + place as usize] as usize;
            a += numbers[number];
            b += numbers[other + number];
        }
        (totals[2 * cluster], totals[2 * cluster + 1]) = (a, b);
    }
}

/// An iteration is over.
pub fn converge<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::lloyd::Converge,
    bindings: kernels::clustering::lloyd::ConvergeSlices<R>,
) {
    let [first, count, low, guard, changes, changes_count] =
        [args.energy, args.energy_count, args.distance, args.guard, args.changes, args.change_count].map(|word| word as usize);
    let (state, partials) = (bindings.state, bindings.partials);
    if state[guard] != R::ZERO {
        return;
    }
    let energy = strided_sum_exact(work, count as u32, |i| Exact { high: partials[first + i], low: partials[low + first + i] });
    let changed = strided_sum(work, changes_count as u32, |i| partials[changes + i]);
    let at = |element: u32| element as usize;
    let mean = (energy.high + energy.low) / state[at(POINTS)];
    let still = (mean - state[at(ENERGY)]).abs() < state[at(TOLERANCE)] && changed < state[at(FEWEST_CHANGES)];
    let streak = if still { state[at(STREAK)] + R::ONE } else { R::ZERO };
    let entry = HISTORY + 3 * (state[at(ITERATION)].to_f64() as u32 % HISTORY_LEN);
    let heat = state[at(TEMPERATURE)];
    for (offset, value) in [mean, changed, heat].into_iter().enumerate() {
        state[at(entry) + offset] = value;
    }
    (state[at(ENERGY)], state[at(CHANGED)], state[at(STREAK)]) = (mean, changed, streak);
    state[at(ITERATION)] += R::ONE;
    state[at(TEMPERATURE)] = heat * state[at(KEPT_HEAT)];
    if streak >= state[at(STREAK_NEEDED)] {
        state[at(DONE)] = R::ONE;
    }
}
