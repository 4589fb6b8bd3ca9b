// T, the coarse space, for the unknowns of a table: the motions of its variable's patch. Of points these are the rigid ones, to
// first order and about the patch's centre; else every degree of freedom is one. One item is one unknown, a row of T.

struct Args {
    // First element of the table in the arena.
    arena: u32,
    // First element of the table in vectors.
    vector: u32,
    // Degrees of freedom of a variable.
    width: u32,
    // Columns of T.
    modes: u32,
    // First column.
    column: u32,
    // Coordinates of a point; 0 for what are no points.
    coordinates: u32,
    // 1 if not all is free.
    masked: u32,
    // First word of the variables' patches.
    patches: u32,
}

@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(2) var<storage, read> centers: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> free: array<real>;
@group(0) @binding(5) var<storage, read_write> modes: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let variable = i / params.args.width;
    let component = i - variable * params.args.width;
    let owner = table[params.args.patches + variable];
    let row = (params.args.vector + i) * params.args.modes;
    var moves = owner != 0xffffffffu;
    if (moves && params.args.masked != 0u) {
        moves = free[params.args.vector + i] != 0.0;
    }
    for (var k = 0u; k < params.args.modes; k++) {
        modes[row + k] = 0.0;
    }
    if (!moves) {
        return;
    }
    modes[row + params.args.column + component] = 1.0;
    let point = params.args.arena + variable * params.args.width;
    let center = owner * params.args.coordinates;
    if (params.args.coordinates == 2u) {
        // About the centre: (−y, x).
        let other = 1u - component;
        let arm = arena[point + other] - centers[center + other];
        modes[row + 2u] = select(arm, -arm, component == 0u);
    }
    if (params.args.coordinates == 3u) {
        // e_k × arm, of which component c is an entry of the arm for k ≠ c.
        let next = (component + 1u) % 3u;
        let last = (component + 2u) % 3u;
        modes[row + 3u + next] = arena[point + last] - centers[center + last];
        modes[row + 3u + last] = -(arena[point + next] - centers[center + next]);
    }
}
