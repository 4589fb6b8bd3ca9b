// Partial sums of a column, with what rounding took from each. One item is one element.
//
// words0: first partial, distance between the sums and their low parts

@group(0) @binding(4) var<storage, read> column: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let i = item(id);
    var value: real = 0.0;
    if (i < params.count) {
        value = column[i];
    }
    let sum = group_sum_exact(lane, Exact(value, 0.0));
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.words0.x + g] = sum.high;
        partials[params.words0.y + params.words0.x + g] = sum.low;
    }
}
