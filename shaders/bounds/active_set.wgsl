// The active set: a component at a limit that the gradient pushes outwards is not free in this step, nor is one whose
// limits are equal (Bertsekas 1982, section 2). One item is one element.

struct Args {
    // First element of the table in the arena.
    arena: u32,
    // First element of the table in vectors.
    vector: u32,
}

@group(0) @binding(1) var<storage, read> point: array<real>;
@group(0) @binding(2) var<storage, read> lower: array<real>;
@group(0) @binding(3) var<storage, read> upper: array<real>;
@group(0) @binding(4) var<storage, read> gradient: array<real>;
@group(0) @binding(5) var<storage, read_write> free: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let x = point[params.args.arena + i];
    let v = params.args.vector + i;
    let below = x <= lower[v] && gradient[v] > 0.0;
    let above = x >= upper[v] && gradient[v] < 0.0;
    if (below || above || lower[v] == upper[v]) {
        free[v] = 0.0;
    }
}
