// The next radius of the trust region, from how the model did (Nocedal & Wright, 2nd ed., algorithm 4.1, with Ceres'
// factors). One invocation.

#import state/solver

@group(0) @binding(7) var<storage, read_write> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (lane != 0u) {
        return;
    }
    let length = state[SCALED_NORM];
    let gain = state[GAIN];
    var radius = state[RADIUS];
    if (state[TELLING] == 0.0) {
        // Nothing to be learnt, unless it is the radius that makes the promise so small.
        if (length > 0.99 * radius) {
            state[RADIUS] = min(10.0 * radius, real(1e15));
        }
        return;
    }
    if (state[ACCEPTED] == 0.0 || gain < 0.25) {
        // What was tried and found too long may be much shorter than the radius.
        if (is_finite(length)) {
            radius = min(radius, length);
        }
        radius *= 0.5;
    } else if (gain > 0.75) {
        radius = max(radius, 3.0 * length);
    }
    state[RADIUS] = clamp(radius, 1e-15, 1e15);
    if (state[ACCEPTED] != 0.0) {
        state[RADIUS_TAKEN] = state[RADIUS];
    }
}
