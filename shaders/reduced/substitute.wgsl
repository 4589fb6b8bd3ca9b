// x = −C⁻¹(product + gradient) for the variables of an eliminated table, with or without the gradient. One item is one variable.

struct Args {
    // First element of the table's vectors.
    vector: u32,
    // Width of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
    // 1 with the gradient.
    whole: u32,
    // State element that stops the kernel.
    guard: u32,
}

@group(0) @binding(2) var<storage, read> product: array<real>;
@group(0) @binding(4) var<storage, read> gradient: array<real>;
@group(0) @binding(5) var<storage, read_write> x: array<real>;
@group(0) @binding(6) var<storage, read> inverse: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.args.width;
    let vector = params.args.vector + i * width;
    let block = params.args.block + i * (width * (width + 1u) / 2u);
    for (var c = 0u; c < width; c++) {
        var value: real = 0.0;
        for (var k = 0u; k < width; k++) {
            let low = min(c, k);
            let high = max(c, k);
            var right = product[vector + k];
            if (params.args.whole != 0u) {
                right += gradient[vector + k];
            }
            value -= inverse[block + high * (high + 1u) / 2u + low] * right;
        }
        x[vector + c] = value;
    }
}
