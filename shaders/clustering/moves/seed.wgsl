// Two candidates for every cluster, where two of its members are: those at parts u and v of its list, if they are in this chunk.
// One item is one component of a candidate.

struct Args {
    // Components of a point.
    dimensions: u32,
    // First point of the chunk.
    first_point: u32,
    // Points of the chunk.
    points: u32,
    // Place of the clusters' members in the table.
    members: u32,
    // Place of the beginnings of the clusters' members in the table.
    beginnings: u32,
    // u, of 65535.
    u: u32,
    // v, of 65535.
    v: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> candidates: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let candidate = i / params.args.dimensions;
    let begin = table[params.args.beginnings + candidate / 2u];
    let count = table[params.args.beginnings + candidate / 2u + 1u] - begin;
    if (count == 0u) {
        return;
    }
    // ⌊(count − 1)·part/65535⌋, of which no product exceeds 32 bits.
    let part = select(params.args.u, params.args.v, candidate % 2u == 1u);
    let place = begin + (count - 1u) / 65535u * part + (count - 1u) % 65535u * part / 65535u;
    let point = table[params.args.members + place] - params.args.first_point;
    if (point < params.args.points) {
        candidates[i] = points[point * params.args.dimensions + i % params.args.dimensions];
    }
}
