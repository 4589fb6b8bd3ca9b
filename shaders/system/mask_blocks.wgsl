// Rows and columns of the packed diagonal blocks that belong to what is not free become those of the identity.
// One item is one variable.

struct Args {
    // First element of the table's vectors.
    vector: u32,
    // Width of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
}

@group(0) @binding(4) var<storage, read> free: array<real>;
@group(0) @binding(5) var<storage, read_write> blocks: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.args.width;
    let vector = params.args.vector + i * width;
    var entry = params.args.block + i * (width * (width + 1u) / 2u);
    for (var r = 0u; r < width; r++) {
        for (var c = 0u; c <= r; c++) {
            if (free[vector + r] == 0.0 || free[vector + c] == 0.0) {
                blocks[entry] = select(real(0.0), real(1.0), r == c);
            }
            entry++;
        }
    }
}
