// What sorts points by their distances: the bits of a number that is not negative are in its order. One item is one point.

#import functions/bits

struct Args {
    // Place of the keys in the table.
    keys: u32,
    // State element that stops the kernel.
    guard: u32,
}

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(4) var<storage, read> nearest: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (state[params.args.guard] == 0.0 && i < params.count) {
        table[params.args.keys + i] = order_of(nearest[i]);
    }
}
