// What is known of a clipped step before its product: gᵀs (which `clipped_model` completes), ‖s‖ and the largest component of
// the projected gradient. The product may begin. One workgroup.

#import shared/reduce
#import state/solver

struct Args {
    // Partials of a kind.
    partial_count: u32,
    // Elements between two kinds of partials.
    distance: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var gs: real = 0.0;
    var ss: real = 0.0;
    var largest: real = 0.0;
    for (var i = lane; i < params.args.partial_count; i += group_size) {
        gs += partials[i];
        ss += partials[params.args.distance + i];
        largest = max(largest, partials[2u * params.args.distance + i]);
    }
    let slope = group_sum(lane, gs);
    let step_norm = group_sum(lane, ss);
    let top = group_max(lane, largest);
    if (lane == 0u) {
        state[MODEL] = slope;
        state[STEP_NORM] = sqrt(step_norm);
        // A gradient that is not finite is still seen: max() may drop a NaN.
        if (is_finite(state[GRADIENT_MAX])) {
            state[GRADIENT_MAX] = top;
        }
        state[SOLVED] = 0.0;
    }
}
