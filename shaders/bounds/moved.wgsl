// How many components were moved into their limits, from partial sums. One workgroup.

#import shared/reduce
#import state/solver

struct Args {
    // Partials.
    partial_count: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var moved: real = 0.0;
    for (var i = lane; i < params.args.partial_count; i += group_size) {
        moved += partials[i];
    }
    let sum = group_sum(lane, moved);
    if (lane == 0u) {
        state[MOVED] += sum;
    }
}
