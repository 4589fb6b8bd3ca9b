// After an edit: what rest made of the damping, the radius and the length says nothing about the values that hold now. At
// rest every step is rejected, and where the cost is next to nothing even its rounding looks like a model gone wrong. So
// rejections after the last accepted step are forgotten. Where no step was accepted since the edit before, they are kept:
// a problem that is edited every frame would never come to the damping that it needs. One invocation.

#import state/solver

@group(0) @binding(7) var<storage, read_write> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (lane != 0u) {
        return;
    }
    if (state[DAMPING_TAKEN] > 0.0) {
        state[DAMPING] = min(state[DAMPING], state[DAMPING_TAKEN]);
        state[GROWTH] = 2.0;
    }
    state[DAMPING] = min(state[DAMPING], real(1e3));
    state[RADIUS] = max(max(state[RADIUS], state[RADIUS_TAKEN]), real(1e-2));
    state[DAMPING_TAKEN] = 0.0;
    state[RADIUS_TAKEN] = 0.0;
    state[ALONG_NEWTON] = 1.0;
}
