// An iteration is over: its energy (the mean of the squared distances, whose partial sums are there), how many labels changed,
// cooling, and whether both have been still for long enough. One workgroup.
//
// words0: first partial of the energy, how many, distance to what rounding took of each, state element that stops the kernel
// words1: first partial of the changes, how many

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var part = Exact(0.0, 0.0);
    for (var i = lane; i < params.words0.y; i += group_size) {
        part = exact_add(part, Exact(partials[params.words0.x + i], partials[params.words0.z + params.words0.x + i]));
    }
    let energy = group_sum_exact(lane, part);
    var counted: real = 0.0;
    for (var i = lane; i < params.words1.y; i += group_size) {
        counted += partials[params.words1.x + i];
    }
    let changed = group_sum(lane, counted);
    if (lane == 0u && state[params.words0.w] == 0.0) {
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
