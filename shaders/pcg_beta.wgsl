// β = rᵀz / (rᵀz before), and whether the system is solved well enough: its residual is below η of what it was, in the
// preconditioner's norm. One workgroup.
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
    let rz = group_sum(lane, product);
    if (lane == 0u && state[SOLVED] == 0.0) {
        let before = state[RZ];
        let forcing = state[FORCING];
        let solved = rz <= forcing * forcing * state[RZ_START];
        state[INNER] += 1.0;
        state[BETA] = rz / before;
        state[RZ] = rz;
        state[SOLVED] = select(real(1.0), real(0.0), is_finite(rz) && rz > 0.0 && !solved);
    }
}
