// Σ w x and Σ w over the members of every cluster that are in a chunk, in the order in which they are listed; w is 1 without
// weights. A workgroup has a share of one cluster's members; its lanes have columns and, where these are few, members in turn.

struct Args {
    // Clusters.
    clusters: u32,
    // First cluster.
    first_cluster: u32,
    // Components of a point.
    dimensions: u32,
    // Shares of a cluster.
    shares: u32,
    // First point of the chunk.
    first_point: u32,
    // Points of the chunk.
    points: u32,
    // Place of the clusters' members in the table.
    members: u32,
    // Place of the beginnings of the clusters' members in the table.
    beginnings: u32,
    // State element that stops the kernel.
    guard: u32,
    // 1 for weights + 2 to add to what is there + 4 where members are not all in ascending order (and all in the chunk).
    flags: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> weights: array<real>;
@group(0) @binding(5) var<storage, read_write> sums: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

var<workgroup> scratch: array<real, group_size>;

// The first place from `begin` on whose member is `number` or a later one.
fn place_of(begin: u32, end: u32, number: u32) -> u32 {
    var low = begin;
    var high = end;
    while (low < high) {
        let middle = low + (high - low) / 2u;
        if (table[params.args.members + middle] < number) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

// What the member at a place adds to a column; behind the end, nothing. Loads that nothing decides about are on their way together.
fn value_of(place: u32, end: u32, column: u32) -> real {
    let number = table[params.args.members + min(place, end - 1u)];
    let value = points[(number - params.args.first_point) * params.args.dimensions + min(column, params.args.dimensions - 1u)];
    var weight: real = 1.0;
    if ((params.args.flags & 1u) != 0u) {
        weight = weights[number];
    }
    return select(select(weight, weight * value, column < params.args.dimensions), 0.0, place >= end);
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let g = group_index(group);
    if (state[params.args.guard] != 0.0 || g >= params.group_count) {
        return;
    }
    let cluster = params.args.first_cluster + g % params.args.clusters;
    let share = g / params.args.clusters;
    var begin = table[params.args.beginnings + cluster];
    var end = table[params.args.beginnings + cluster + 1u];
    if ((params.args.flags & 4u) == 0u) {
        begin = place_of(begin, end, params.args.first_point);
        end = place_of(begin, end, params.args.first_point + params.args.points);
    }
    let length = (end - begin + params.args.shares - 1u) / params.args.shares;
    begin = min(begin + share * length, end);
    end = min(begin + length, end);
    let dimensions = params.args.dimensions;
    // Columns side by side: a power of two, so that as many lanes have each.
    var width = 1u;
    while (width < group_size && width < dimensions + 1u) {
        width *= 2u;
    }
    let turns = group_size / width;
    for (var first = 0u; first <= dimensions; first += width) {
        let column = first + lane % width;
        var sum: real = 0.0;
        for (var place = begin + lane / width; place < end && column <= dimensions; place += 8u * turns) {
            // All are on their way before the first is needed.
            var values: array<real, 8>;
            for (var i = 0u; i < 8u; i++) {
                values[i] = value_of(place + i * turns, end, column);
            }
            for (var i = 0u; i < 8u; i++) {
                sum += values[i];
            }
        }
        workgroupBarrier();
        scratch[lane] = sum;
        workgroupBarrier();
        if (lane < width && column <= dimensions) {
            for (var turn = 1u; turn < turns; turn++) {
                sum += scratch[lane + turn * width];
            }
            let to = g * (dimensions + 1u) + column;
            if ((params.args.flags & 2u) != 0u) {
                sum += sums[to];
            }
            sums[to] = sum;
        }
    }
}
