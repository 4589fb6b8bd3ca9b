// Gauss–Newton's next step length: whole steps, halved after each that was rejected. One invocation.

#import state/solver

@group(0) @binding(7) var<storage, read_write> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (lane != 0u) {
        return;
    }
    // A promise that rounding hides may be one of a step that was cut too often.
    if (state[ACCEPTED] != 0.0 || state[TELLING] == 0.0) {
        state[ALONG_NEWTON] = 1.0;
    } else {
        state[ALONG_NEWTON] = max(0.5 * state[ALONG_NEWTON], 1e-12);
    }
}
