// T, the coarse space, for the unknowns of a table: the motions of its variable's patch. Of points these are the rigid ones, to
// first order and about the patch's centre; else every degree of freedom is one. One item is one unknown, a row of T.
//
// words0: first element of the table in the arena, in vectors, degrees of freedom of a variable, columns of T
// words1: first column, coordinates (0 for what are no points), 1 where not all is free, first word of the variables' patches

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
    let variable = i / params.words0.z;
    let component = i - variable * params.words0.z;
    let owner = table[params.words1.w + variable];
    let row = (params.words0.y + i) * params.words0.w;
    var moves = owner != 0xffffffffu;
    if (moves && params.words1.z != 0u) {
        moves = free[params.words0.y + i] != 0.0;
    }
    for (var k = 0u; k < params.words0.w; k++) {
        modes[row + k] = 0.0;
    }
    if (!moves) {
        return;
    }
    modes[row + params.words1.x + component] = 1.0;
    let point = params.words0.x + variable * params.words0.z;
    let center = owner * params.words1.y;
    if (params.words1.y == 2u) {
        // About the centre: (−y, x).
        let other = 1u - component;
        let arm = arena[point + other] - centers[center + other];
        modes[row + 2u] = select(arm, -arm, component == 0u);
    }
    if (params.words1.y == 3u) {
        // e_k × arm, of which component c is an entry of the arm for k ≠ c.
        let next = (component + 1u) % 3u;
        let last = (component + 2u) % 3u;
        modes[row + 3u + next] = arena[point + last] - centers[center + last];
        modes[row + 3u + last] = -(arena[point + next] - centers[center + next]);
    }
}
