// Levenberg–Marquardt's next damping (Nielsen 1999; Madsen, Nielsen & Tingleff 2004, section 3.2). One invocation.

#import state/solver

@group(0) @binding(7) var<storage, read_write> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (lane != 0u) {
        return;
    }
    var damping = state[DAMPING];
    if (state[TELLING] == 0.0) {
        // Nothing to be learnt, unless it is the damping that makes the promise so small.
        if (damping > 1.0) {
            state[DAMPING] = 0.1 * damping;
            state[GROWTH] = 2.0;
        }
        return;
    }
    if (state[ACCEPTED] != 0.0) {
        let t = 2.0 * state[GAIN] - 1.0;
        damping *= max(1.0 / 3.0, 1.0 - t * t * t);
        state[GROWTH] = 2.0;
    } else {
        damping *= state[GROWTH];
        state[GROWTH] = min(2.0 * state[GROWTH], 1e6);
        // What the model left out may need damping where the diagonal has none any more: then D turns into that of Moré,
        // the largest diagonal so far, which alone would damp too much (Moré 1978, section 4).
        state[FLOOR] = min(3.0 * state[FLOOR], 1.0);
    }
    state[DAMPING] = clamp(damping, 1e-20, 1e15);
    if (state[ACCEPTED] != 0.0) {
        state[DAMPING_TAKEN] = state[DAMPING];
    }
}
