// Σ w x and Σ w over the members of every cluster that are in a chunk, in the order in which they are listed; w is 1 without
// weights. A workgroup has a share of one cluster's members; its lanes have columns and, where these are few, members in turn.
//
// words0: clusters, first of them, dimensions, shares of a cluster
// words1: first point of the chunk, its points, the table's place of members, that of where each cluster's begin
// words2: state element that stops the kernel, 1 for weights + 2 to add to what is there + 4 where members are not all in
//         ascending order (and all in the chunk)

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
        if (table[params.words1.z + middle] < number) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

// What the member at a place adds to a column; behind the end, nothing. Loads that nothing decides about are on their way together.
fn value_of(place: u32, end: u32, column: u32) -> real {
    let number = table[params.words1.z + min(place, end - 1u)];
    let value = points[(number - params.words1.x) * params.words0.z + min(column, params.words0.z - 1u)];
    var weight: real = 1.0;
    if ((params.words2.y & 1u) != 0u) {
        weight = weights[number];
    }
    return select(select(weight, weight * value, column < params.words0.z), 0.0, place >= end);
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let g = group_index(group);
    if (state[params.words2.x] != 0.0 || g >= params.group_count) {
        return;
    }
    let cluster = params.words0.y + g % params.words0.x;
    let share = g / params.words0.x;
    var begin = table[params.words1.w + cluster];
    var end = table[params.words1.w + cluster + 1u];
    if ((params.words2.y & 4u) == 0u) {
        begin = place_of(begin, end, params.words1.x);
        end = place_of(begin, end, params.words1.x + params.words1.y);
    }
    let length = (end - begin + params.words0.w - 1u) / params.words0.w;
    begin = min(begin + share * length, end);
    end = min(begin + length, end);
    let dimensions = params.words0.z;
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
            if ((params.words2.y & 2u) != 0u) {
                sum += sums[to];
            }
            sums[to] = sum;
        }
    }
}
