// The squared distance of every point of a chunk to the anchor that its label says, if that is in this piece. One item is one point.
//
// words0: points of the chunk, dimensions, anchors of the piece, first of them
// words1: first point of the chunk, the table's place of labels, state element that stops the kernel,
//         1 where a twin adds four squares at a time

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> nearest: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (state[params.words1.z] != 0.0) {
        return;
    }
    let first = group_index(group) * group_size;
    let i = first + lane;
    // Whoever's anchor is in another piece reads along.
    var anchor = params.words0.z;
    if (i < params.count) {
        anchor = table[params.words1.y + params.words1.x + i] - params.words0.w;
    }
    let distance = row_distance(lane, first, params.count, min(anchor, params.words0.z - 1u), params.words0.y);
    if (anchor < params.words0.z) {
        nearest[params.words1.x + i] = distance;
    }
}
