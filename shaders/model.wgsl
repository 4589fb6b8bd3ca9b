// What the quadratic model promises for a step that solves (JᵀWJ + λD) s = −g − r: ½ (λ sᵀDs + sᵀr − gᵀs). One workgroup.
//
// words0: number of partials of a kind, distance of the five kinds

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
    let slope = total(lane, 0u);
    let damped = total(lane, 1u);
    let unsolved = total(lane, 2u);
    let step = total(lane, 3u);
    let point = total(lane, 4u);
    if (lane == 0u) {
        state[MODEL] = 0.5 * (state[DAMPING] * damped + unsolved - slope);
        state[STEP_NORM] = sqrt(step);
        state[POINT_NORM] = sqrt(point);
    }
}
