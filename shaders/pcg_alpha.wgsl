// α = rᵀz / pᵀq. No curvature along p means that the system is solved as well as this precision can. One workgroup.
//
// words0: number of partials

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var product: real = 0.0;
    for (var i = lane; i < params.words0.x; i += group_size) {
        product += partials[i];
    }
    let curvature = group_sum(lane, product);
    if (lane == 0u && state[SOLVED] == 0.0) {
        if (is_finite(curvature) && curvature > 0.0) {
            state[ALPHA] = state[RZ] / curvature;
        } else {
            state[SOLVED] = 1.0;
        }
    }
}
