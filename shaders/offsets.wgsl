// A stable sort by keys, between its parts: where each key's items begin, and after the last where they all end. One workgroup,
// whose lanes have runs of keys.
//
// words0: keys, place of their counts in the table, place of the beginnings, state element that stops the kernel

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(7) var<storage, read> state: array<real>;

var<workgroup> sums: array<u32, group_size>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (state[params.words0.w] != 0.0) {
        return;
    }
    let length = (params.words0.x + group_size - 1u) / group_size;
    let begin = min(lane * length, params.words0.x);
    let end = min(begin + length, params.words0.x);
    var sum = 0u;
    for (var key = begin; key < end; key++) {
        sum += table[params.words0.y + key];
    }
    sums[lane] = sum;
    workgroupBarrier();
    var place = 0u;
    for (var other = 0u; other < lane; other++) {
        place += sums[other];
    }
    for (var key = begin; key < end; key++) {
        table[params.words0.z + key] = place;
        place += table[params.words0.y + key];
    }
    if (lane == group_size - 1u) {
        table[params.words0.z + params.words0.x] = place;
    }
}
