// λD, and −1 where something is fixed: what conjugate gradients in few dispatches need of both. One item is one element.

#import state/solver

struct Args {
    // 1 where something is fixed.
    masked: u32,
}

@group(0) @binding(1) var<storage, read> scale: array<real>;
@group(0) @binding(2) var<storage, read> free: array<real>;
@group(0) @binding(5) var<storage, read_write> diagonal: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let damped = state[DAMPING] * scale[i];
    let is_fixed = params.args.masked != 0u && free[i] == 0.0;
    diagonal[i] = select(damped, real(-1.0), is_fixed);
}
