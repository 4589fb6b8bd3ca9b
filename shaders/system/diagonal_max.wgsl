// The largest that the diagonal of JᵀWJ has been: the scale that D remembers of an unknown.

struct Args {
    // First element of the table's vectors.
    vector: u32,
    // Width of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
}

@group(0) @binding(4) var<storage, read> blocks: array<real>;
@group(0) @binding(5) var<storage, read_write> peak: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.args.width;
    let component = i % width;
    let packed = width * (width + 1u) / 2u;
    let diagonal = blocks[params.args.block + (i / width) * packed + component * (component + 3u) / 2u];
    if (diagonal > peak[params.args.vector + i]) {
        peak[params.args.vector + i] = diagonal;
    }
}
