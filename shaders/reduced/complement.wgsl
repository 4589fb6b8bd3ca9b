// Blocks of S = B − E C⁻¹ Eᵀ: those of B, less the sums of their segments in their order. One item is one entry of a block.

struct Args {
    // Entries of a block.
    size: u32,
    // First element of the blocks of S.
    first: u32,
    // First word of the rows' first segments.
    segments: u32,
    // First word of the first elements of the blocks of B.
    origins: u32,
    // 1 to go on with what is there, for another table of eliminated variables.
    again: u32,
}

@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read> blocks: array<real>;
@group(0) @binding(1) var<storage, read> partials: array<real>;
@group(0) @binding(4) var<storage, read_write> complement: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let size = params.args.size;
    let row = i / size;
    let entry = i - row * size;
    let to = params.args.first + i;
    var value: real = 0.0;
    if (params.args.again != 0u) {
        value = complement[to];
    } else {
        // A block that B has not is 0.
        let origin = table[params.args.origins + row];
        if (origin != 0xffffffffu) {
            value = blocks[origin + entry];
        }
    }
    let end = table[params.args.segments + row + 1u];
    var sum: real = 0.0;
    for (var s = table[params.args.segments + row]; s < end; s++) {
        sum += partials[s * size + entry];
    }
    complement[to] = value - sum;
}
