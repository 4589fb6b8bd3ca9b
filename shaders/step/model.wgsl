// What the quadratic model promises for a step that solves (JᵀWJ + λD) s = −g − r: ½ (λ sᵀDs + sᵀr − gᵀs). One workgroup.

#import shared/total_of
#import state/solver

struct Args {
    // Partials of a kind.
    partial_count: u32,
    // Elements between two kinds of partials.
    distance: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let slope = total_of(lane, 0u, params.args.partial_count, params.args.distance);
    let damped = total_of(lane, 1u, params.args.partial_count, params.args.distance);
    let unsolved = total_of(lane, 2u, params.args.partial_count, params.args.distance);
    let step = total_of(lane, 3u, params.args.partial_count, params.args.distance);
    let point = total_of(lane, 4u, params.args.partial_count, params.args.distance);
    if (lane == 0u) {
        state[MODEL] = 0.5 * (state[DAMPING] * damped + unsolved - slope);
        state[STEP_NORM] = sqrt(step);
        state[POINT_NORM] = sqrt(point);
    }
}
