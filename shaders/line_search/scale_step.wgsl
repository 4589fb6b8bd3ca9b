// The step along a direction: s = αd. One item is one element.

#import state/solver

@group(0) @binding(4) var<storage, read> direction: array<real>;
@group(0) @binding(5) var<storage, read_write> step: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let length = state[LENGTH];
    var s: real = 0.0;
    // A direction that is not used may hold anything.
    if (length != 0.0) {
        s = length * direction[i];
    }
    step[i] = s;
}
