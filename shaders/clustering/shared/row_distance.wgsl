// Σ (x − a)² of rows of `points` and of `anchors`, in order. Lanes bring eight components of their rows together, neighbours side by side,
// and each adds up its own.

const brought: u32 = 8u;
// Rows are one longer, so that lanes which read theirs at once read from different banks.
var<workgroup> components: array<real, group_size * (brought + 1u)>;
var<workgroup> anchor_rows: array<u32, group_size>;
var<private> of_points: array<real, brought>;
var<private> of_anchors: array<real, brought>;

// What is beyond a row or the last point is some number that is there: loads that nothing decides about are on their way together.
fn fetch_rows(lane: u32, first: u32, end: u32, k0: u32, dimensions: u32) {
    for (var i = 0u; i < brought; i++) {
        let e = lane + i * group_size;
        let k = min(k0 + e % brought, dimensions - 1u);
        of_points[i] = points[min(first + e / brought, end - 1u) * dimensions + k];
        of_anchors[i] = anchors[anchor_rows[e / brought] * dimensions + k];
    }
}

// A lane's point is first + lane, if that is before the end. All lanes of a workgroup come here together.
fn row_distance(lane: u32, first: u32, end: u32, anchor: u32, dimensions: u32) -> real {
    workgroupBarrier();
    anchor_rows[lane] = anchor;
    workgroupBarrier();
    var sum: real = 0.0;
    fetch_rows(lane, first, end, 0u, dimensions);
    for (var k0 = 0u; k0 < dimensions; k0 += brought) {
        workgroupBarrier();
        for (var i = 0u; i < brought; i++) {
            let e = lane + i * group_size;
            let difference = select(0.0, of_points[i] - of_anchors[i], k0 + e % brought < dimensions);
            components[e / brought * (brought + 1u) + e % brought] = difference;
        }
        workgroupBarrier();
        // The next ones are on their way while these are added.
        if (k0 + brought < dimensions) {
            fetch_rows(lane, first, end, k0 + brought, dimensions);
        }
        for (var i = 0u; i < brought; i++) {
            let difference = components[lane * (brought + 1u) + i];
            sum += difference * difference;
        }
    }
    return sum;
}
