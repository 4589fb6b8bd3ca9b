// A cost from its partial sums. One workgroup.
//
// words0: number of partials, distance between the sums and their low parts, the element of the state

@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let sum = exact_total(lane);
    if (lane == 0u) {
        state[params.words0.z] = sum.high + sum.low;
    }
}
