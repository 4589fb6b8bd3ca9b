// A stable sort by keys, first of three parts: how often every key stands in each block of items. Of a batch of a
// workgroup's lanes, the last item of a key adds their number.
//
// words0: items, keys that there can be, items of a block, place of the counts in the table
// words1: place of the keys, bits to shift them by, their mask, place of the items' numbers
// words2: whether items have numbers (or are 0, 1, …), state element that stops the kernel

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (state[params.words2.y] != 0.0) {
        return;
    }
    let block = group_index(group);
    let begin = min(block * params.words0.z, params.words0.x);
    let end = min(begin + params.words0.z, params.words0.x);
    let counts = params.words0.w + block * params.words0.y;
    for (var start = begin; start < end; start += group_size) {
        let place = start + lane;
        var key = 0xffffffffu;
        if (place < end) {
            var number = place;
            if (params.words2.x != 0u) {
                number = table[params.words1.w + place];
            }
            key = (table[params.words1.x + number] >> params.words1.y) & params.words1.z;
        }
        let rank = rank_of(lane, key);
        if (place < end && rank.is_last) {
            table[counts + key] += rank.before + 1u;
        }
        storageBarrier();
    }
}
