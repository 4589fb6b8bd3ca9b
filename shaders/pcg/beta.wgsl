// β = rᵀz / (rᵀz before), and whether the system is solved well enough: its residual is below η of what it was, in the
// preconditioner's norm, or nobody waits for more. No curvature along p means that it is solved as well as this precision can. One workgroup.

#import shared/reduce
#import state/solver

struct Args {
    // Partials of rᵀz.
    partial_count: u32,
    // First partial of pᵀq.
    curvature: u32,
    // Partials of pᵀq.
    curvature_count: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var of_residual: real = 0.0;
    for (var i = lane; i < params.args.partial_count; i += group_size) {
        of_residual += partials[i];
    }
    var of_direction: real = 0.0;
    for (var i = lane; i < params.args.curvature_count; i += group_size) {
        of_direction += partials[params.args.curvature + i];
    }
    let sums = group_sums(lane, of_residual, of_direction);
    let rz = sums.x;
    let curvature = sums.y;
    if (lane == 0u && state[SOLVED] == 0.0) {
        if (is_finite(curvature) && curvature > 0.0) {
            let before = state[RZ];
            let forcing = state[FORCING];
            let solved = rz <= forcing * forcing * state[RZ_START] || state[HURRIED] != 0.0;
            state[INNER] += 1.0;
            state[BETA] = rz / before;
            state[RZ] = rz;
            state[SOLVED] = select(real(1.0), real(0.0), is_finite(rz) && rz > 0.0 && !solved);
        } else {
            state[SOLVED] = 1.0;
        }
    }
}
