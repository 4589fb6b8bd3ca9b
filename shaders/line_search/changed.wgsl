// How much higher the trial point lies than the accepted one. What is summed is the change since the last point where the
// residuals were differentiated, whose own change is known; at the trial point they are differentiated next, unless it is not
// finite or so high that differences from there would say nothing: then what is stored must stay, for the trial after it. One
// workgroup.

#import shared/exact_total
#import state/solver

struct Args {
    // Partials.
    partial_count: u32,
    // Elements between the sums and their low parts.
    distance: u32,
    // 1 if every finite point is taken.
    unconditional: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let sum = exact_total(lane, params.args.partial_count, params.args.distance);
    if (lane == 0u) {
        let since = sum.high + sum.low;
        var change: real = 0.0;
        var keeps: real = 0.0;
        if (state[SETTING_OUT] == 0.0) {
            change = state[CHANGE_KNOWN] + since;
        }
        let far = params.args.unconditional == 0u && change > 10.0 * abs(state[COST]) && state[SETTING_OUT] == 0.0;
        if (is_finite(change) && !far) {
            state[CHANGE_KNOWN] = change;
        } else {
            keeps = 1.0;
        }
        state[CHANGE] = change;
        state[LINEARIZED] = keeps;
        state[ANCHORED] = 1.0 - keeps;
        state[TURNING] = 0.0;
    }
}
