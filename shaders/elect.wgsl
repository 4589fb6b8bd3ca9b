// The candidate that leaves the least potential becomes the anchor; of equals the first. One workgroup; sixteen lanes add up the
// runs' potentials of a candidate.
//
// words0: runs, candidates, dimensions, the anchor's row
// words1: first partial

@group(0) @binding(2) var<storage, read> candidates: array<real>;
@group(0) @binding(5) var<storage, read_write> anchors: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

const bundle: u32 = 16u;
var<workgroup> sums: array<real, group_size>;
var<workgroup> least: real;
var<workgroup> elected: u32;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    for (var first = 0u; first < params.words0.y; first += group_size / bundle) {
        let candidate = first + lane / bundle;
        var sum: real = 0.0;
        if (candidate < params.words0.y) {
            for (var run = lane % bundle; run < params.words0.x; run += bundle) {
                sum += partials[params.words1.x + run * params.words0.y + candidate];
            }
        }
        workgroupBarrier();
        sums[lane] = sum;
        workgroupBarrier();
        if (lane == 0u) {
            for (var c = first; c < min(first + group_size / bundle, params.words0.y); c++) {
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
    let dimensions = params.words0.z;
    for (var k = lane; k < dimensions; k += group_size) {
        anchors[params.words0.w * dimensions + k] = candidates[elected * dimensions + k];
    }
}
