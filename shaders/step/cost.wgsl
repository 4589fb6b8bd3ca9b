// A cost from its partial sums. One workgroup.

#import shared/exact_total

struct Args {
    // Partials.
    partial_count: u32,
    // Elements between the sums and their low parts.
    distance: u32,
    // State element that is written.
    element: u32,
}

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let sum = exact_total(lane, params.args.partial_count, params.args.distance);
    if (lane == 0u) {
        state[params.args.element] = sum.high + sum.low;
    }
}
