// What the quadratic model promises for a clipped step: −gᵀs − ½ sᵀ(JᵀWJ)s. One workgroup.

#import shared/reduce
#import state/solver

struct Args {
    // Partials of sᵀ(JᵀWJ)s.
    partial_count: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var product: real = 0.0;
    for (var i = lane; i < params.args.partial_count; i += group_size) {
        product += partials[i];
    }
    let curvature = group_sum(lane, product);
    if (lane == 0u) {
        state[MODEL] = -state[MODEL] - 0.5 * curvature;
    }
}
