// Rows of sums that the lanes of a workgroup share. A row has `width` elements; of each, `slots` lanes add up every `slots`-th entry,
// and halves of these are added up in turn: a fixed order, so the same input gives the same bits. One lane an element would wait for
// the loads of all entries of a row, one after the other, and few rows leave a GPU idle.

var<workgroup> shares: array<real, group_size>;

// Part of a sum that a lane adds up.
struct Share {
    // Row, and element of it.
    row: u32,
    element: u32,
    // Lane among those of the element; `slots` for one that has nothing to do.
    slot: u32,
}

// width · slots ≤ group_size; a workgroup has as many rows as fit.
fn share_of(lane: u32, group: vec3<u32>, rows: u32, width: u32, slots: u32) -> Share {
    let each = width * slots;
    let place = lane / each;
    let row = group_index(group) * (group_size / each) + place;
    let rest = lane - place * each;
    let takes_part = (place + 1u) * each <= group_size && row < rows;
    return Share(row, rest % width, select(slots, rest / width, takes_part));
}

// The sum of an element, for its first lane. Every lane of the workgroup has to ask.
fn share_sum(lane: u32, share: Share, width: u32, slots: u32, value: real) -> real {
    shares[lane] = value;
    var left = slots;
    while (left > 1u) {
        let half = (left + 1u) / 2u;
        workgroupBarrier();
        if (share.slot + half < left) {
            shares[lane] += shares[lane + half * width];
        }
        left = half;
    }
    return shares[lane];
}
