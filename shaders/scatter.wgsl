// A stable sort by keys, last part: every item's number goes to where its key begins, after those of earlier blocks and after
// those before it in its own. What `spread` stored of a block becomes where the next one begins.
//
// words0, words1: as in `tally`
// words2: whether items have numbers, state element that stops the kernel, place of the keys' beginnings, place of the sorted numbers

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
        var number = place;
        var base = 0u;
        if (place < end) {
            if (params.words2.x != 0u) {
                number = table[params.words1.w + place];
            }
            key = (table[params.words1.x + number] >> params.words1.y) & params.words1.z;
            base = table[counts + key];
        }
        storageBarrier();
        let rank = rank_of(lane, key);
        if (place < end) {
            table[params.words2.w + table[params.words2.z + key] + base + rank.before] = number;
            if (rank.is_last) {
                table[counts + key] = base + rank.before + 1u;
            }
        }
        storageBarrier();
    }
}
