// Two candidates for every cluster, where two of its members are: those at parts u and v of its list, if they are in this chunk.
// One item is one component of a candidate.
//
// words0: dimensions, first point of the chunk, its points
// words1: the table's place of members, that of where each cluster's begin; u and v, of 65535

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> candidates: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let candidate = i / params.words0.x;
    let begin = table[params.words1.y + candidate / 2u];
    let count = table[params.words1.y + candidate / 2u + 1u] - begin;
    if (count == 0u) {
        return;
    }
    // ⌊(count − 1)·part/65535⌋, of which no product exceeds 32 bits.
    let part = select(params.words1.z, params.words1.w, candidate % 2u == 1u);
    let place = begin + (count - 1u) / 65535u * part + (count - 1u) % 65535u * part / 65535u;
    let point = table[params.words1.x + place] - params.words0.y;
    if (point < params.words0.z) {
        candidates[i] = points[point * params.words0.x + i % params.words0.x];
    }
}
