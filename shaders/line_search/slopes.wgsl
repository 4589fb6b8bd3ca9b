// What a line search asks of a trial point, as partial sums: dᵀg′, where the step was not clipped; gᵀs, g′ᵀs and sᵀs; and the
// largest component of g′ that may move.

#import shared/reduce
#import state/solver

struct Args {
    // Elements between two kinds of partials.
    distance: u32,
    // Elements.
    elements: u32,
    // 1 if something may not move.
    masked: u32,
    // 1 if there are limits.
    limited: u32,
}

@group(0) @binding(1) var<storage, read> gradient: array<real>;
@group(0) @binding(2) var<storage, read> direction: array<real>;
@group(0) @binding(3) var<storage, read> free: array<real>;
@group(0) @binding(4) var<storage, read> trial_gradient: array<real>;
@group(0) @binding(6) var<storage, read> step: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let length = state[LENGTH];
    var ahead: real = 0.0;
    var before: real = 0.0;
    var after: real = 0.0;
    var ss: real = 0.0;
    var largest: real = 0.0;
    let run = run_of(group, params.args.elements);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let s = step[i];
        let g = trial_gradient[i];
        // What does not move may hold anything.
        if (s != 0.0) {
            if (params.args.limited == 0u || s == length * direction[i]) {
                ahead += direction[i] * g;
            }
            before += gradient[i] * s;
            after += g * s;
            ss += s * s;
        }
        if (params.args.masked == 0u || free[i] != 0.0) {
            largest = max(largest, abs(g));
            // max() may drop a NaN, a product does not.
            if (!is_finite(g)) {
                ahead = flagged();
            }
        }
    }
    let slope = group_sum(lane, ahead);
    let promised = group_sum(lane, before);
    let kept = group_sum(lane, after);
    let squared = group_sum(lane, ss);
    let top = group_max(lane, largest);
    let index = group_index(group);
    if (lane == 0u && index < params.group_count) {
        let stride = params.args.distance;
        partials[index] = slope;
        partials[stride + index] = promised;
        partials[2u * stride + index] = kept;
        partials[3u * stride + index] = squared;
        partials[4u * stride + index] = top;
    }
}
