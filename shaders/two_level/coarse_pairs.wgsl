// Part of the blocks JₐᵀWJ_b of instances in the blocks of TᵀJᵀWJT: Tₐᵀ(JₐᵀWJ_b)T_b, along lists whose rows are the latter.
// Workgroups share the blocks. On the diagonal the transpose is added as well.
//
// A pair is its rows, its columns, and where the codes of its entries begin behind the first pair. An odd number is the pair turned: bᵀ … a.

#import shared/rows

struct Args {
    // Columns of T.
    modes: u32,
    // First word of the pairs.
    pairs: u32,
    // First word of the row starts.
    starts: u32,
    // First word of the row ids.
    ids: u32,
    // First word of the entries: an instance and its pair, the first unknowns of a and b.
    entries: u32,
    // Bits of a pair's number.
    pair_bits: u32,
    // Length of a column.
    length: u32,
    // Blocks on the diagonal.
    diagonal: u32,
    // Rows of the list.
    rows: u32,
    // Lanes that share an entry of a block.
    slots: u32,
}

@group(0) @binding(2) var<storage, read> modes: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> columns: array<real>;
@group(0) @binding(5) var<storage, read_write> coarse: array<real>;

// An entry of an instance's block, by its code; 0 for one that is always 0.
fn entry_of(code: u32, instance: u32) -> real {
    let stored = columns[(max(code & 0x7fffffffu, 1u) - 1u) * params.args.length + instance];
    let known = select(stored, -stored, (code >> 31u) != 0u);
    return select(known, real(0.0), code == 0u);
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let size = params.args.modes;
    let area = size * size;
    let slots = params.args.slots;
    let share = share_of(lane, group, params.args.rows, area, slots);
    let row = share.element / size;
    let column = share.element % size;
    var start = 0u;
    var end = 0u;
    var block = 0u;
    if (share.slot < slots) {
        block = table[params.args.ids + share.row];
        start = table[params.args.starts + share.row] + share.slot;
        end = table[params.args.starts + share.row + 1u];
    }
    let on_diagonal = block < params.args.diagonal;
    var sum: real = 0.0;
    for (var e = start; e < end; e += slots) {
        let entry = params.args.entries + 3u * e;
        let instance = table[entry] >> params.args.pair_bits;
        let number = table[entry] & ((1u << params.args.pair_bits) - 1u);
        let pair = params.args.pairs + 3u * (number >> 1u);
        let turned = (number & 1u) != 0u && !on_diagonal;
        let a = table[entry + 1u] * size + select(row, column, turned);
        let b = table[entry + 2u] * size + select(column, row, turned);
        let width = table[pair + 1u];
        let last = width - 1u;
        for (var r = 0u; r < table[pair]; r++) {
            var value: real = 0.0;
            let codes = params.args.pairs + table[pair + 2u] + r * width;
            // Three at a time, so that their values are on their way together.
            for (var c = 0u; c < width; c += 3u) {
                let second = min(c + 1u, last);
                let third = min(c + 2u, last);
                let code = array<u32, 3>(
                    table[codes + c],
                    select(0u, table[codes + second], c + 1u < width),
                    select(0u, table[codes + third], c + 2u < width),
                );
                let known = array<real, 3>(entry_of(code[0], instance), entry_of(code[1], instance), entry_of(code[2], instance));
                value += known[0] * modes[b + c * size];
                value += known[1] * modes[b + second * size];
                value += known[2] * modes[b + third * size];
            }
            sum += modes[a + r * size] * value;
        }
    }
    var total = share_sum(lane, share, area, slots, sum);
    workgroupBarrier();
    if (share.slot == 0u) {
        if (on_diagonal) {
            total += shares[lane - share.element + column * size + row];
        }
        coarse[block * area + share.element] += total;
    }
}
