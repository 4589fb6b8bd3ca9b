// A stable sort by keys, between its parts: a key's counts in the blocks become where its items of each block begin among all
// its items, and their sum its count. One item is one key.
//
// words0: blocks, keys, place of the blocks' counts in the table, place of the keys' counts
// words1: state element that stops the kernel

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let key = item(id);
    if (state[params.words1.x] != 0.0 || key >= params.count) {
        return;
    }
    var sum = 0u;
    for (var first = 0u; first < params.words0.x; first += 8u) {
        // All are on their way before the first is needed.
        var counts: array<u32, 8>;
        for (var i = 0u; i < 8u; i++) {
            let block = min(first + i, params.words0.x - 1u);
            counts[i] = table[params.words0.z + block * params.words0.y + key];
        }
        for (var i = 0u; i < 8u; i++) {
            if (first + i < params.words0.x) {
                table[params.words0.z + (first + i) * params.words0.y + key] = sum;
                sum += counts[i];
            }
        }
    }
    table[params.words0.w + key] = sum;
}
