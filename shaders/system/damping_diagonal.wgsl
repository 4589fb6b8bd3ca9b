// D = the diagonal of JᵀWJ, but no less than φ times the largest that it has been, nor so large that it overflows; 1 where
// it was always 0. So D scales with the unknowns, and a column that vanishes for a while does not set its unknown free.
// Nor is it less than 10⁻⁷ of the cost, or of 1 where that is less: an unknown of which almost nothing depends at the
// start would go anywhere.

#import state/solver

struct Args {
    // First element of the table's vectors.
    vector: u32,
    // Width of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
}

@group(0) @binding(2) var<storage, read> peak: array<real>;
@group(0) @binding(4) var<storage, read> blocks: array<real>;
@group(0) @binding(5) var<storage, read_write> scale: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

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
    let lowest = state[FLOOR] * peak[params.args.vector + i];
    var value = lowest;
    if (diagonal > lowest) {
        value = diagonal;
    }
    // What hardware may take for 0 is 0.
    if (value < 1e-36) {
        value = 1.0;
    } else {
        value = max(value, 1e-7 * min(state[COST], real(1.0)));
    }
    scale[params.args.vector + i] = min(value, 1e30);
}
