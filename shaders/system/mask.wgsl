// What is not free of a vector becomes 0. One item is one element.

struct Args {
    // State element that stops the kernel.
    guard: u32,
}

@group(0) @binding(4) var<storage, read> free: array<real>;
@group(0) @binding(5) var<storage, read_write> vector: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let i = item(id);
    if (i < params.count && free[i] == 0.0) {
        vector[i] = 0.0;
    }
}
