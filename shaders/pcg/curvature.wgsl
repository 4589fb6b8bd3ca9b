// Partial sums of pᵀq.

#import shared/reduce
#import state/solver

struct Args {
    // Elements.
    elements: u32,
    // First partial.
    partial: u32,
}

@group(0) @binding(2) var<storage, read> p: array<real>;
@group(0) @binding(4) var<storage, read> q: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (state[SOLVED] != 0.0) {
        return;
    }
    var product: real = 0.0;
    let run = run_of(group, params.args.elements);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        product += p[i] * q[i];
    }
    let sum = group_sum(lane, product);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.args.partial + g] = sum;
    }
}
