// p = z + βp, and q = λDp, to which the product JᵀWJp is then gathered. One item is one element.

#import state/solver

@group(0) @binding(2) var<storage, read> scale: array<real>;
@group(0) @binding(4) var<storage, read> z: array<real>;
@group(0) @binding(5) var<storage, read_write> p: array<real>;
@group(0) @binding(6) var<storage, read_write> q: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[SOLVED] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    // The first direction does not look at p: it may hold anything.
    var direction = z[i];
    if (state[BETA] != 0.0) {
        direction += state[BETA] * p[i];
    }
    p[i] = direction;
    q[i] = state[DAMPING] * scale[i] * direction;
}
