// A stable sort by keys, last part: every item's number goes to where its key begins, after those of earlier blocks and after
// those before it in its own. What `spread` stored of a block becomes where the next one begins.

#import clustering/shared/rank

struct Args {
    // Items.
    items: u32,
    // Keys that there can be.
    key_count: u32,
    // Items of a block.
    block: u32,
    // Place of the counts in the table.
    counts: u32,
    // Place of the keys in the table.
    keys: u32,
    // Bits to shift keys by.
    shift: u32,
    // Mask of the shifted keys.
    mask: u32,
    // Place of the items' numbers in the table.
    numbers: u32,
    // 1 if items have numbers, else they are 0, 1, ….
    numbered: u32,
    // State element that stops the kernel.
    guard: u32,
    // Place of the keys' beginnings in the table.
    beginnings: u32,
    // Place of the sorted numbers in the table.
    sorted: u32,
}

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let block = group_index(group);
    let begin = min(block * params.args.block, params.args.items);
    let end = min(begin + params.args.block, params.args.items);
    let counts = params.args.counts + block * params.args.key_count;
    for (var start = begin; start < end; start += group_size) {
        let place = start + lane;
        var key = 0xffffffffu;
        var number = place;
        var base = 0u;
        if (place < end) {
            if (params.args.numbered != 0u) {
                number = table[params.args.numbers + place];
            }
            key = (table[params.args.keys + number] >> params.args.shift) & params.args.mask;
            base = table[counts + key];
        }
        storageBarrier();
        let rank = rank_of(lane, key);
        if (place < end) {
            table[params.args.sorted + table[params.args.beginnings + key] + base + rank.before] = number;
            if (rank.is_last) {
                table[counts + key] = base + rank.before + 1u;
            }
        }
        storageBarrier();
    }
}
