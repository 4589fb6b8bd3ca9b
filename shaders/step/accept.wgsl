// Whether the trial point is taken, and the next step's forcing term. One workgroup.
//
// A step may go uphill where the model's sum of promises since a reference point is kept (Toint 1996; Conn, Gould & Toint,
// Trust-Region Methods, 2000, algorithm 10.1.2, in the form that Ceres has): costs are kept as differences to the present
// one, so that nothing is lost to rounding. With a window of 0 steps, every accepted step is the reference.
//
// A first step that goes far beyond the values that it starts from is not taken, whatever it gains.

#import shared/exact_total
#import state/solver

struct Args {
    // Partials.
    partial_count: u32,
    // Elements between the sums and their low parts.
    distance: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let sum = exact_total(lane, params.args.partial_count, params.args.distance);
    if (lane == 0u) {
        let change = sum.high + sum.low;
        let model = state[MODEL];
        var gain: real = 0.0;
        if (is_finite(change) && is_finite(model) && model > 0.0) {
            let since = (state[REFERENCE] - change) / (state[REFERENCE_MODEL] + model);
            gain = clamp(max(-change / model, since), real(-10.0), real(10.0));
        }
        if (state[TOO_FAR] != 0.0) {
            gain = 0.0;
        }
        state[TOO_FAR] = 0.0;
        let accepted = gain > 1e-3;
        var leaving: real = 0.0;
        if (accepted) {
            state[COST] += change;
            let above = state[ABOVE_BEST] + change;
            var reference = state[REFERENCE] - change;
            var reference_model = state[REFERENCE_MODEL] + model;
            var candidate = state[CANDIDATE] - change;
            var candidate_model = state[CANDIDATE_MODEL] + model;
            var uphill = state[UPHILL] + 1.0;
            if (above < 0.0) {
                uphill = 0.0;
            } else if (state[ABOVE_BEST] == 0.0) {
                leaving = 1.0;
            }
            if (above < 0.0 || candidate < 0.0) {
                candidate = 0.0;
                candidate_model = 0.0;
            }
            if (uphill == state[WINDOW]) {
                reference = candidate;
                reference_model = candidate_model;
            }
            state[UPHILL] = uphill;
            state[REFERENCE] = reference;
            state[REFERENCE_MODEL] = reference_model;
            state[CANDIDATE] = candidate;
            state[CANDIDATE_MODEL] = candidate_model;
            state[ABOVE_BEST] = max(above, real(0.0));
        }
        // A step that the model judged badly was solved too loosely as well: what is cheap to move has moved, what is
        // stiff has not. A good one may be solved more loosely next time.
        var forcing = state[FORCING];
        if (gain < 0.5) {
            forcing *= 0.3;
        } else if (gain > 0.75) {
            forcing *= 2.0;
        }
        state[FORCING] = clamp(forcing, state[FORCING_LEAST], state[FORCING_MOST]);
        // A promise below what the precision resolves says nothing about the model: at rest, live steps are rejected for
        // ever, and the next edit must not find the damping, the length or the radius at its limit.
        let telling = accepted || !is_finite(model) || abs(model) > state[EPSILON] * abs(state[COST]);
        state[TELLING] = select(real(0.0), real(1.0), telling);
        state[DAMPING_BEFORE] = state[DAMPING];
        state[RADIUS_BEFORE] = state[RADIUS];
        state[LENGTH_BEFORE] = state[ALONG_NEWTON];
        state[LEAVING] = leaving;
        state[CHANGE] = change;
        state[GAIN] = gain;
        state[ACCEPTED] = select(real(0.0), real(1.0), accepted);
        state[LINEARIZED] = select(real(1.0), real(0.0), accepted);
        state[STEPS] += 1.0;
        state[TAKEN] += state[ACCEPTED];
    }
}
