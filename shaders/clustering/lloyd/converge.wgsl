// An iteration is over: its energy (the mean of the squared distances, whose partial sums are there), how many labels changed,
// cooling, and whether both have been still for long enough. One workgroup.

#import shared/reduce
#import state/cluster

struct Args {
    // First partial of the energy.
    energy: u32,
    // Partials of the energy.
    energy_count: u32,
    // Elements to what rounding took of each.
    distance: u32,
    // State element that stops the kernel.
    guard: u32,
    // First partial of the changes.
    changes: u32,
    // Partials of the changes.
    change_count: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var part = Exact(0.0, 0.0);
    for (var i = lane; i < params.args.energy_count; i += group_size) {
        part = exact_add(part, Exact(partials[params.args.energy + i], partials[params.args.distance + params.args.energy + i]));
    }
    let energy = group_sum_exact(lane, part);
    var counted: real = 0.0;
    for (var i = lane; i < params.args.change_count; i += group_size) {
        counted += partials[params.args.changes + i];
    }
    let changed = group_sum(lane, counted);
    if (lane == 0u && state[params.args.guard] == 0.0) {
        let mean = (energy.high + energy.low) / state[POINTS];
        let still = abs(mean - state[ENERGY]) < state[TOLERANCE] && changed < state[FEWEST_CHANGES];
        let streak = select(real(0.0), state[STREAK] + 1.0, still);
        let number = u32(state[ITERATION]);
        let entry = HISTORY + 3u * (number % HISTORY_LEN);
        state[ENERGY] = mean;
        state[CHANGED] = changed;
        state[STREAK] = streak;
        state[ITERATION] = state[ITERATION] + 1.0;
        state[entry] = mean;
        state[entry + 1u] = changed;
        state[entry + 2u] = state[TEMPERATURE];
        state[TEMPERATURE] = state[TEMPERATURE] * state[KEPT_HEAT];
        if (streak >= state[STREAK_NEEDED]) {
            state[DONE] = 1.0;
        }
    }
}
