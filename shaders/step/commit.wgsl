// A table's values, from one arena to another, where the state says so: the trial point where the step was accepted, the
// best point where it is left, and where one returns to it. One item is one element.

struct Args {
    // First element of the table in the arenas.
    arena: u32,
    // State element that must be 1.
    condition: u32,
}

@group(0) @binding(4) var<storage, read> from_arena: array<real>;
@group(0) @binding(5) var<storage, read_write> to_arena: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[params.args.condition] == 0.0) {
        return;
    }
    let i = item(id);
    if (i < params.count) {
        to_arena[params.args.arena + i] = from_arena[params.args.arena + i];
    }
}
