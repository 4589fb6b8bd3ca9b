// The plane of d = −D⁻¹g and the Gauss–Newton step n, second stage: lengths, slopes and curvatures H = JᵀWJ in it, from
// their partials. Since gᵀd = −dᵀDd and gᵀn = −dᵀDn, the products with H follow from what is left of the system that n
// solves. One workgroup.
//
// words0: number of partials of a kind, distance of the six kinds

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

fn total(lane: u32, kind: u32) -> real {
    var sum: real = 0.0;
    for (var i = lane; i < params.words0.x; i += group_size) {
        sum += partials[kind * params.words0.y + i];
    }
    return group_sum(lane, sum);
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let steepest = total(lane, 0u);
    let curvature = total(lane, 1u);
    let slope = total(lane, 2u);
    let newton = total(lane, 3u);
    let unsolved_steepest = total(lane, 4u);
    let unsolved_newton = total(lane, 5u);
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
