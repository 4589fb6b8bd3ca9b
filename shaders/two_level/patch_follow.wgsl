// A column of T for variables that are no points: the motion of least energy that goes with one of the points,
// −M⁻¹q, where q is the product with the latter and M the diagonal block. One item is one variable.

struct Args {
    // First element of the table in vectors.
    vector: u32,
    // Degrees of freedom of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
    // Columns of T.
    modes: u32,
    // Column that is followed.
    column: u32,
    // First word of the variables' patches.
    patches: u32,
}

@group(0) @binding(2) var<storage, read> inverse: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> product: array<real>;
@group(0) @binding(5) var<storage, read_write> modes: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.args.width;
    let vector = params.args.vector + i * width;
    let block = params.args.block + i * (width * (width + 1u) / 2u);
    let takes_part = table[params.args.patches + i] != 0xffffffffu;
    for (var c = 0u; c < width; c++) {
        var value: real = 0.0;
        for (var k = 0u; k < width; k++) {
            let low = min(c, k);
            let high = max(c, k);
            value -= inverse[block + high * (high + 1u) / 2u + low] * product[vector + k];
        }
        modes[(vector + c) * params.args.modes + params.args.column] = select(real(0.0), value, takes_part);
    }
}
