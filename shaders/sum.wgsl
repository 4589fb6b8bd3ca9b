// Partial sums of a column, with what rounding took from each. A lane takes every
// `params.count`-th element, so that there are few workgroups to reduce.
//
// words0: first partial, distance between the sums and their low parts, number of elements

@group(0) @binding(4) var<storage, read> column: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var part = Exact(0.0, 0.0);
    for (var i = first_element(id); i < params.words0.z; i += params.count) {
        part = exact_add(part, Exact(column[i], 0.0));
    }
    let sum = group_sum_exact(lane, part);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.words0.x + g] = sum.high;
        partials[params.words0.y + params.words0.x + g] = sum.low;
    }
}
