// After an edit: what rest made of the damping, the radius and the length says nothing about the values that hold now. At
// rest every step is rejected, and where the cost is next to nothing even its rounding looks like a model gone wrong. What a
// hard problem has come to is kept, as far as it is within reason. One invocation.

#import state/solver

@group(0) @binding(7) var<storage, read_write> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (lane != 0u) {
        return;
    }
    state[DAMPING] = min(state[DAMPING], real(1e3));
    state[GROWTH] = 2.0;
    state[RADIUS] = max(state[RADIUS], real(1e-2));
    state[ALONG_NEWTON] = 1.0;
}
