// A table's values, from one arena to another, where the state says so: the trial point where the step was accepted, the
// best point where it is left, and where one returns to it. One item is one element.
//
// words0: first element of the table in the arenas, the element of the state

@group(0) @binding(4) var<storage, read> from_arena: array<real>;
@group(0) @binding(5) var<storage, read_write> to_arena: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[params.words0.y] == 0.0) {
        return;
    }
    let i = item(id);
    if (i < params.count) {
        to_arena[params.words0.x + i] = from_arena[params.words0.x + i];
    }
}
