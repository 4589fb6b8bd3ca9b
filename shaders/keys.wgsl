// What sorts points by their distances: the bits of a number that is not negative are in its order. One item is one point.
//
// words0: the table's place of keys, state element that stops the kernel

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(4) var<storage, read> nearest: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (state[params.words0.y] == 0.0 && i < params.count) {
        table[params.words0.x + i] = order_of(nearest[i]);
    }
}
