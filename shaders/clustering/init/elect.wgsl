// The candidate that leaves the least potential becomes the anchor; of equals the first. One workgroup; sixteen lanes add up the
// runs' potentials of a candidate.

struct Args {
    // Runs.
    runs: u32,
    // Candidates.
    candidates: u32,
    // Components of a point.
    dimensions: u32,
    // Row of the anchor.
    row: u32,
    // First partial.
    partial: u32,
}

@group(0) @binding(2) var<storage, read> candidates: array<real>;
@group(0) @binding(5) var<storage, read_write> anchors: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

const bundle: u32 = 16u;
var<workgroup> sums: array<real, group_size>;
var<workgroup> least: real;
var<workgroup> elected: u32;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    for (var first = 0u; first < params.args.candidates; first += group_size / bundle) {
        let candidate = first + lane / bundle;
        var sum: real = 0.0;
        if (candidate < params.args.candidates) {
            for (var run = lane % bundle; run < params.args.runs; run += bundle) {
                sum += partials[params.args.partial + run * params.args.candidates + candidate];
            }
        }
        workgroupBarrier();
        sums[lane] = sum;
        workgroupBarrier();
        if (lane == 0u) {
            for (var c = first; c < min(first + group_size / bundle, params.args.candidates); c++) {
                var potential: real = 0.0;
                for (var i = 0u; i < bundle; i++) {
                    potential += sums[(c - first) * bundle + i];
                }
                if (c == 0u || potential < least) {
                    least = potential;
                    elected = c;
                }
            }
        }
    }
    workgroupBarrier();
    let dimensions = params.args.dimensions;
    for (var k = lane; k < dimensions; k += group_size) {
        anchors[params.args.row * dimensions + k] = candidates[elected * dimensions + k];
    }
}
