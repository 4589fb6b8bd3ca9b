// A stable sort by keys, first of three parts: how often every key stands in each block of items. Of a batch of a
// workgroup's lanes, the last item of a key adds their number.

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
        if (place < end) {
            var number = place;
            if (params.args.numbered != 0u) {
                number = table[params.args.numbers + place];
            }
            key = (table[params.args.keys + number] >> params.args.shift) & params.args.mask;
        }
        let rank = rank_of(lane, key);
        if (place < end && rank.is_last) {
            table[counts + key] += rank.before + 1u;
        }
        storageBarrier();
    }
}
