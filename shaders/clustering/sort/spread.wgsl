// A stable sort by keys, between its parts: a key's counts in the blocks become where its items of each block begin among all
// its items, and their sum its count. One item is one key.

struct Args {
    // Blocks.
    blocks: u32,
    // Keys.
    key_count: u32,
    // Place of the blocks' counts in the table.
    block_counts: u32,
    // Place of the keys' counts in the table.
    counts: u32,
    // State element that stops the kernel.
    guard: u32,
}

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let key = item(id);
    if (state[params.args.guard] != 0.0 || key >= params.count) {
        return;
    }
    var sum = 0u;
    for (var first = 0u; first < params.args.blocks; first += 8u) {
        // All are on their way before the first is needed.
        var counts: array<u32, 8>;
        for (var i = 0u; i < 8u; i++) {
            let block = min(first + i, params.args.blocks - 1u);
            counts[i] = table[params.args.block_counts + block * params.args.key_count + key];
        }
        for (var i = 0u; i < 8u; i++) {
            if (first + i < params.args.blocks) {
                table[params.args.block_counts + (first + i) * params.args.key_count + key] = sum;
                sum += counts[i];
            }
        }
    }
    table[params.args.counts + key] = sum;
}
