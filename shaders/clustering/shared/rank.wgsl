// How items of a workgroup's lanes stand among those of equal keys: what stable sorts count by, without atomics.

struct Rank {
    // Lanes before this one that have its key.
    before: u32,
    // Whether no lane after it has.
    is_last: bool,
}

var<workgroup> keys: array<u32, group_size>;
// The same, four at a time.
var<workgroup> fours: array<vec4<u32>, (group_size + 3u) / 4u>;

// Every lane of the workgroup calls this, in uniform control flow.
fn rank_of(lane: u32, key: u32) -> Rank {
    workgroupBarrier();
    keys[lane] = key;
    workgroupBarrier();
    if (lane < (group_size + 3u) / 4u) {
        fours[lane] = vec4<u32>(keys[4u * lane], keys[4u * lane + 1u], keys[4u * lane + 2u], keys[4u * lane + 3u]);
    }
    workgroupBarrier();
    let mine = lane / 4u;
    var before = vec4<u32>(0u);
    for (var other = 0u; other < mine; other++) {
        before += select(vec4<u32>(0u), vec4<u32>(1u), fours[other] == vec4<u32>(key));
    }
    let lanes = vec4<u32>(0u, 1u, 2u, 3u);
    let equal = fours[mine] == vec4<u32>(key);
    before += select(vec4<u32>(0u), vec4<u32>(1u), equal & (lanes < vec4<u32>(lane % 4u)));
    var after = any(equal & (lanes > vec4<u32>(lane % 4u)));
    for (var other = mine + 1u; other < (group_size + 3u) / 4u; other++) {
        after |= any(fours[other] == vec4<u32>(key));
    }
    return Rank(before.x + before.y + before.z + before.w, !after);
}
