// How far every point of a chunk is from the anchors that were chosen, squared, now that there is one more; of each workgroup's
// run the largest and the sum.

#import clustering/shared/share_rows

struct Args {
    // Points of the chunk.
    points: u32,
    // Components of a point.
    dimensions: u32,
    // The anchor that came last.
    anchor: u32,
    // First point of the chunk.
    first_point: u32,
    // 1 where it is the first.
    starts: u32,
    // First partial.
    partial: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(5) var<storage, read_write> nearest: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

// Components of a row that a lane brings before it adds up the first.
const brought: u32 = 16u;
// Rows are one longer, so that lanes which add up theirs read from different banks.
var<workgroup> shares: array<real, slots * (share + 1u)>;
var<workgroup> peaks: array<real, slots>;
var<workgroup> sums: array<real, slots>;

// What a lane adds to Σ (x − a)².
fn share_of(part: u32, point: u32, anchor: u32, dimensions: u32) -> real {
    var sum: real = 0.0;
    var k = part;
    for (; k + (brought - 1u) * share < dimensions; k += brought * share) {
        var differences: array<real, brought>;
        for (var i = 0u; i < brought; i++) {
            differences[i] = points[point + k + i * share] - anchors[anchor + k + i * share];
        }
        for (var i = 0u; i < brought; i++) {
            sum += differences[i] * differences[i];
        }
    }
    for (; k < dimensions; k += share) {
        let difference = points[point + k] - anchors[anchor + k];
        sum += difference * difference;
    }
    return sum;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let dimensions = params.args.dimensions;
    let g = group_index(group);
    let run = rows_of(g, params.group_count, params.args.points, slots);
    let slot = lane / share;
    let part = lane % share;
    var largest: real = -1.0;
    var sum: real = 0.0;
    for (var start = run.start; start < run.end; start += slots) {
        let point = min(start + slot, run.end - 1u);
        let of_row = share_of(part, point * dimensions, params.args.anchor * dimensions, dimensions);
        workgroupBarrier();
        shares[slot * (share + 1u) + part] = of_row;
        workgroupBarrier();
        if (lane < slots && start + lane < run.end) {
            var distance: real = 0.0;
            for (var i = 0u; i < share; i++) {
                distance += shares[lane * (share + 1u) + i];
            }
            let number = params.args.first_point + start + lane;
            if (params.args.starts == 0u) {
                distance = min(distance, nearest[number]);
            }
            nearest[number] = distance;
            largest = max(largest, distance);
            sum += distance;
        }
    }
    if (lane < slots) {
        peaks[lane] = largest;
        sums[lane] = sum;
    }
    workgroupBarrier();
    if (lane == 0u && g < params.group_count) {
        var peak = peaks[0];
        var total = sums[0];
        for (var i = 1u; i < slots; i++) {
            peak = max(peak, peaks[i]);
            total += sums[i];
        }
        partials[params.args.partial + 2u * g] = peak;
        partials[params.args.partial + 2u * g + 1u] = total;
    }
}
