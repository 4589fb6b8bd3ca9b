// Conjugate gradients begin, second stage: rᵀz and max |g| from their partials. One workgroup.

#import shared/reduce
#import state/solver

struct Args {
    // Partials.
    partial_count: u32,
    // Elements between two kinds of partials.
    distance: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var rz: real = 0.0;
    var largest: real = 0.0;
    for (var i = lane; i < params.args.partial_count; i += group_size) {
        rz += partials[i];
        largest = max(largest, partials[params.args.distance + i]);
    }
    let sum = group_sum(lane, rz);
    let top = group_max(lane, largest);
    if (lane == 0u) {
        state[RZ] = sum;
        state[RZ_START] = sum;
        // max() may drop a NaN; the sum never does, and the host must see it.
        state[GRADIENT_MAX] = select(sum, top, is_finite(sum));
        state[BETA] = 0.0;
        state[INNER] = 0.0;
        state[HURRIED] = 0.0;
        state[SOLVED] = select(real(1.0), real(0.0), is_finite(sum) && sum > 0.0);
    }
}
