// Anchors that are closer than a tenth of what anchors are apart become one, at the mean weighted by their members, as the
// published algorithm has it: greedily, in ascending order; the merged anchor stays in the list, without members. What anchors
// are apart is the mean of ‖aᵢ − aⱼ‖, j = i + m/2 mod m, over the first hundred. One workgroup.

#import functions/bits
#import state/cluster

struct Args {
    // Anchors.
    anchors: u32,
    // Components of a point.
    dimensions: u32,
    // Place of the counts in the table.
    counts: u32,
    // Place of the map from old labels to new in the table.
    map: u32,
    // 4 to round to half precision.
    flags: u32,
}

@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> anchors: array<real>;
@group(0) @binding(6) var<storage, read_write> sums: array<real>;
@group(0) @binding(7) var<storage, read_write> state: array<real>;

var<workgroup> threshold: real;

fn apart(i: u32, j: u32) -> real {
    let dimensions = params.args.dimensions;
    var sum: real = 0.0;
    for (var k = 0u; k < dimensions; k++) {
        let difference = anchors[i * dimensions + k] - anchors[j * dimensions + k];
        sum += difference * difference;
    }
    return sum;
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let count = params.args.anchors;
    let dimensions = params.args.dimensions;
    let map = params.args.map;
    let sampled = min(count, 100u);
    for (var i = lane; i < sampled; i += group_size) {
        sums[i] = sqrt(apart(i, (i + count / 2u) % count));
    }
    for (var i = lane; i < count; i += group_size) {
        table[map + i] = i;
    }
    storageBarrier();
    workgroupBarrier();
    if (lane == 0u) {
        var total: real = 0.0;
        for (var i = 0u; i < sampled; i++) {
            total += sums[i];
        }
        let tenth = select(0.1, total / real(sampled) * 0.1, count >= 2u);
        threshold = tenth * tenth;
    }
    workgroupBarrier();
    for (var i = 0u; i < count; i++) {
        let stands = table[map + i] == i;
        for (var j = i + 1u + lane; stands && j < count; j += group_size) {
            if (table[map + j] == j && apart(i, j) < threshold) {
                table[map + j] = i;
            }
        }
        storageBarrier();
    }
    // A lane has columns, so that each sum is added up by one.
    for (var k = lane; k < dimensions; k += group_size) {
        for (var i = 0u; i < count; i++) {
            sums[i * dimensions + k] = 0.0;
        }
        for (var i = 0u; i < count; i++) {
            sums[table[map + i] * dimensions + k] += anchors[i * dimensions + k] * real(table[params.args.counts + i]);
        }
    }
    storageBarrier();
    workgroupBarrier();
    var merged: real = 0.0;
    for (var i = 0u; i < count; i++) {
        // What was merged has changed the count of what it went to only once all sums are made.
        let target_anchor = table[map + i];
        if (target_anchor != i && lane == 0u) {
            table[params.args.counts + target_anchor] += table[params.args.counts + i];
            merged += 1.0;
        }
    }
    storageBarrier();
    workgroupBarrier();
    for (var i = 0u; i < count; i++) {
        let members = table[params.args.counts + i];
        for (var k = lane; members > 0u && table[map + i] == i && k < dimensions; k += group_size) {
            var value = sums[i * dimensions + k] / real(members);
            if ((params.args.flags & 4u) != 0u) {
                value = nearest_half(value);
            }
            anchors[i * dimensions + k] = value;
        }
    }
    if (lane == 0u) {
        state[MERGED] = merged;
    }
}
