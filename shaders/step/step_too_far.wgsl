// Whether a first step goes farther than the values that it starts from say anything about: √(sᵀDs) > 10 √(xᵀDx).
// Values that are all 0 say nothing. One workgroup.

#import shared/reduce
#import state/solver

struct Args {
    // Partials of a kind.
    partial_count: u32,
    // Elements between two kinds of partials.
    distance: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

fn total(lane: u32, kind: u32) -> real {
    var sum: real = 0.0;
    for (var i = lane; i < params.args.partial_count; i += group_size) {
        sum += partials[kind * params.args.distance + i];
    }
    return group_sum(lane, sum);
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let of_step = total(lane, 0u);
    let of_point = total(lane, 1u);
    if (lane == 0u) {
        let too_far = of_point > 0.0 && of_step > 100.0 * of_point;
        state[TOO_FAR] = select(real(0.0), real(1.0), too_far);
    }
}
