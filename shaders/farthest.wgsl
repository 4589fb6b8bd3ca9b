// How far every point of a chunk is from the anchors that were chosen, squared, now that there is one more; of each workgroup's
// run the largest and the sum.
//
// words0: points of the chunk, dimensions, the anchor that came last, first point of the chunk
// words1: 1 where it is the first, first partial

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(5) var<storage, read_write> nearest: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let dimensions = params.words0.y;
    var largest: real = -1.0;
    var sum: real = 0.0;
    let run = run_of(group, params.words0.x);
    for (var start = run.start; start < run.end; start += group_size) {
        var distance = row_distance(lane, start, run.end, params.words0.z, dimensions);
        if (start + lane < run.end) {
            let number = params.words0.w + start + lane;
            if (params.words1.x == 0u) {
                distance = min(distance, nearest[number]);
            }
            nearest[number] = distance;
            largest = max(largest, distance);
            sum += distance;
        }
    }
    let peak = group_max(lane, largest);
    let total = group_sum(lane, sum);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.words1.y + 2u * g] = peak;
        partials[params.words1.y + 2u * g + 1u] = total;
    }
}
