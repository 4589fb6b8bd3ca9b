// Whether the trial point is taken, and the next damping (Nielsen 1999; Madsen, Nielsen & Tingleff 2004, section 3.2).
// A step whose promise is below what the precision resolves leaves the damping alone: at rest, live steps are rejected for
// ever, and the next edit must not find λ at its limit. One workgroup.
//
// words0: number of partials, distance between the sums and their low parts

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var part = Exact(0.0, 0.0);
    for (var i = lane; i < params.words0.x; i += group_size) {
        part = exact_add(part, Exact(partials[i], partials[params.words0.y + i]));
    }
    let sum = group_sum_exact(lane, part);
    if (lane == 0u) {
        let change = sum.high + sum.low;
        let model = state[MODEL];
        let sensible = is_finite(change) && is_finite(model) && model > 0.0 && change < 0.0;
        var gain: real = 0.0;
        if (sensible) {
            gain = min(-change / model, 10.0);
        }
        let accepted = gain > 1e-3;
        var damping = state[DAMPING];
        if (accepted) {
            let t = 2.0 * gain - 1.0;
            damping *= max(1.0 / 3.0, 1.0 - t * t * t);
            state[GROWTH] = 2.0;
            state[COST] += change;
        } else if (!is_finite(model) || abs(model) > state[EPSILON] * abs(state[COST])) {
            damping *= state[GROWTH];
            state[GROWTH] = min(2.0 * state[GROWTH], 1e6);
        }
        // A step that the model judged badly was solved too loosely as well: what is cheap to move has moved, what is
        // stiff has not. A good one may be solved more loosely next time.
        var forcing = state[FORCING];
        if (gain < 0.5) {
            forcing *= 0.3;
        } else if (gain > 0.75) {
            forcing *= 2.0;
        }
        state[FORCING] = clamp(forcing, 1e-3, 0.1);
        state[DAMPING] = clamp(damping, 1e-15, 1e15);
        state[CHANGE] = change;
        state[GAIN] = gain;
        state[ACCEPTED] = select(real(0.0), real(1.0), accepted);
        state[LINEARIZED] = select(real(1.0), real(0.0), accepted);
        state[STEPS] += 1.0;
    }
}
