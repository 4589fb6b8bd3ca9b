// The plane of d = −D⁻¹g and the Gauss–Newton step n, second stage: lengths, slopes and curvatures H = JᵀWJ in it, from
// their partials. Since gᵀd = −dᵀDd and gᵀn = −dᵀDn, the products with H follow from what is left of the system that n
// solves. One workgroup.

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
    let steepest = total_of(lane, 0u, params.args.partial_count, params.args.distance);
    let curvature = total_of(lane, 1u, params.args.partial_count, params.args.distance);
    let slope = total_of(lane, 2u, params.args.partial_count, params.args.distance);
    let newton = total_of(lane, 3u, params.args.partial_count, params.args.distance);
    let unsolved_steepest = total_of(lane, 4u, params.args.partial_count, params.args.distance);
    let unsolved_newton = total_of(lane, 5u, params.args.partial_count, params.args.distance);
    if (lane == 0u) {
        let damping = state[DAMPING];
        state[STEEPEST_SQUARED] = steepest;
        state[NEWTON_SQUARED] = newton;
        state[NEWTON_SLOPE] = slope;
        state[STEEPEST_CURVATURE] = curvature - damping * steepest;
        state[MIXED_CURVATURE] = steepest - unsolved_steepest + damping * slope;
        state[NEWTON_CURVATURE] = -slope - unsolved_newton - damping * newton;
    }
}
