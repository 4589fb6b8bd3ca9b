// A table's values: a linear combination of those of tables of the same size in the same arena. One item is one element, so a
// table may be one of its own sources.

struct Args {
    // First element of the table in the arena.
    arena: u32,
    // Sources, one or more.
    sources: u32,
}

@group(0) @binding(2) var<storage, read> factors: array<real>;
// First elements of the sources in the arena.
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(5) var<storage, read_write> values: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    // A copy is one to the bit: 0 would be added to −0.
    var sum = factors[0] * values[places[0] + i];
    for (var k = 1u; k < params.args.sources; k++) {
        sum += factors[k] * values[places[k] + i];
    }
    values[params.args.arena + i] = sum;
}
