// Partial sums of pᵀq. A lane takes every `params.count`-th element, so that there are few workgroups to reduce.
//
// words0: number of elements

@group(0) @binding(2) var<storage, read> p: array<real>;
@group(0) @binding(4) var<storage, read> q: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (state[SOLVED] != 0.0) {
        return;
    }
    var product: real = 0.0;
    for (var i = first_element(id); i < params.words0.x; i += params.count) {
        product += p[i] * q[i];
    }
    let sum = group_sum(lane, product);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[g] = sum;
    }
}
