// Part of the diagonal blocks of JᵀWJ + λD in those of Tᵀ(JᵀWJ + λD)T, for the variables of one table. Workgroups share the blocks.

#import shared/rows
#import state/solver

struct Args {
    // First element of the table in vectors.
    vector: u32,
    // Degrees of freedom of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
    // Columns of T.
    modes: u32,
    // First word of the starts of the patches' lists.
    starts: u32,
    // First word of the patches' members.
    members: u32,
    // Number of patches.
    patches: u32,
    // Lanes that share an entry of a block.
    slots: u32,
}

@group(0) @binding(1) var<storage, read> scale: array<real>;
@group(0) @binding(2) var<storage, read> modes: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> blocks: array<real>;
@group(0) @binding(5) var<storage, read_write> coarse: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let width = params.args.width;
    let columns = params.args.modes;
    let slots = params.args.slots;
    let share = share_of(lane, group, params.args.patches, columns * columns, slots);
    let row = share.element / columns;
    let column = share.element % columns;
    var start = 0u;
    var end = 0u;
    if (share.slot < slots) {
        start = table[params.args.starts + share.row] + share.slot;
        end = table[params.args.starts + share.row + 1u];
    }
    var sum: real = 0.0;
    for (var m = start; m < end; m += slots) {
        let variable = table[params.args.members + m];
        let vector = params.args.vector + variable * width;
        let block = params.args.block + variable * (width * (width + 1u) / 2u);
        for (var c = 0u; c < width; c++) {
            var value = state[DAMPING] * scale[vector + c] * modes[(vector + c) * columns + column];
            for (var k = 0u; k < width; k++) {
                let low = min(c, k);
                let high = max(c, k);
                value += blocks[block + high * (high + 1u) / 2u + low] * modes[(vector + k) * columns + column];
            }
            sum += modes[(vector + c) * columns + row] * value;
        }
    }
    let total = share_sum(lane, share, columns * columns, slots, sum);
    if (share.slot == 0u) {
        coarse[share.row * columns * columns + share.element] += total;
    }
}
