// A stable sort by keys, between its parts: where each key's items begin, and after the last where they all end. One workgroup,
// whose lanes have runs of keys.

struct Args {
    // Keys.
    key_count: u32,
    // Place of their counts in the table.
    counts: u32,
    // Place of their beginnings in the table.
    beginnings: u32,
    // State element that stops the kernel.
    guard: u32,
}

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(7) var<storage, read> state: array<real>;

var<workgroup> sums: array<u32, group_size>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let length = (params.args.key_count + group_size - 1u) / group_size;
    let begin = min(lane * length, params.args.key_count);
    let end = min(begin + length, params.args.key_count);
    var sum = 0u;
    for (var key = begin; key < end; key++) {
        sum += table[params.args.counts + key];
    }
    sums[lane] = sum;
    workgroupBarrier();
    var place = 0u;
    for (var other = 0u; other < lane; other++) {
        place += sums[other];
    }
    for (var key = begin; key < end; key++) {
        table[params.args.beginnings + key] = place;
        place += table[params.args.counts + key];
    }
    if (lane == group_size - 1u) {
        table[params.args.beginnings + params.args.key_count] = place;
    }
}
