// What candidates for the next anchor would leave: Σ min(nearest, ‖x − c‖²) over each workgroup's run of a chunk, for every candidate c
// (Arthur & Vassilvitskii 2007: the potential). Eight candidates at a time go through the rows; the eight lanes that have a row
// together have a candidate each when its distances are added up.

#import clustering/shared/share_rows

struct Args {
    // Points of the chunk.
    points: u32,
    // Components of a point.
    dimensions: u32,
    // Candidates.
    candidates: u32,
    // First point of the chunk.
    first_point: u32,
    // First partial.
    partial: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> candidates: array<real>;
@group(0) @binding(4) var<storage, read> nearest: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

// A lane has four rows at a time, so that a component of a candidate is read for four.
const abreast: u32 = 4u;
// One longer, so that lanes which add up theirs read from different banks.
const stride: u32 = share + 1u;
var<workgroup> shares: array<real, group_size * stride>;
var<workgroup> totals: array<real, group_size>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let dimensions = params.args.dimensions;
    let g = group_index(group);
    let run = rows_of(g, params.group_count, params.args.points, abreast * slots);
    let slot = lane / share;
    let part = lane % share;
    for (var first = 0u; first < params.args.candidates; first += share) {
        var total: real = 0.0;
        for (var start = run.start; start < run.end; start += abreast * slots) {
            var rows: array<u32, abreast>;
            for (var i = 0u; i < abreast; i++) {
                rows[i] = min(start + abreast * slot + i, run.end - 1u) * dimensions;
            }
            var sums: array<vec4<real>, share>;
            for (var c = 0u; c < share; c++) {
                sums[c] = vec4<real>(0.0);
            }
            for (var k = part; k < dimensions; k += share) {
                let x = vec4<real>(points[rows[0] + k], points[rows[1] + k], points[rows[2] + k], points[rows[3] + k]);
                for (var c = 0u; c < share; c++) {
                    let difference = x - vec4<real>(candidates[min(first + c, params.args.candidates - 1u) * dimensions + k]);
                    sums[c] += difference * difference;
                }
            }
            for (var i = 0u; i < abreast; i++) {
                workgroupBarrier();
                for (var c = 0u; c < share; c++) {
                    shares[lane * stride + c] = sums[c][i];
                }
                workgroupBarrier();
                let row = start + abreast * slot + i;
                if (row < run.end) {
                    var distance: real = 0.0;
                    for (var other = 0u; other < share; other++) {
                        distance += shares[(slot * share + other) * stride + part];
                    }
                    total += min(distance, nearest[params.args.first_point + row]);
                }
            }
        }
        workgroupBarrier();
        totals[lane] = total;
        workgroupBarrier();
        if (lane < share && first + lane < params.args.candidates && g < params.group_count) {
            var potential: real = 0.0;
            for (var other = 0u; other < slots; other++) {
                potential += totals[other * share + lane];
            }
            partials[params.args.partial + g * params.args.candidates + first + lane] = potential;
        }
    }
}
