// What the quadratic model promises for a step that solves (JᵀWJ + λD) s = −g − r: ½ (λ sᵀDs + sᵀr − gᵀs). One workgroup.
//
// words0: number of partials of a kind, distance of the five kinds

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let slope = total_of(lane, 0u);
    let damped = total_of(lane, 1u);
    let unsolved = total_of(lane, 2u);
    let step = total_of(lane, 3u);
    let point = total_of(lane, 4u);
    if (lane == 0u) {
        state[MODEL] = 0.5 * (state[DAMPING] * damped + unsolved - slope);
        state[STEP_NORM] = sqrt(step);
        state[POINT_NORM] = sqrt(point);
    }
}
