// The squared distance of every point of a chunk to the anchor that its label says, if that is in this piece. One item is one point.

#import clustering/shared/row_distance

struct Args {
    // Points of the chunk.
    points: u32,
    // Components of a point.
    dimensions: u32,
    // Anchors of the piece.
    anchors: u32,
    // First anchor of the piece.
    first_anchor: u32,
    // First point of the chunk.
    first_point: u32,
    // Place of the labels in the table.
    labels: u32,
    // State element that stops the kernel.
    guard: u32,
    // 1 where a twin adds four squares at a time.
    fours: u32,
}

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
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let first = group_index(group) * group_size;
    let i = first + lane;
    // Whoever's anchor is in another piece reads along.
    var anchor = params.args.anchors;
    if (i < params.count) {
        anchor = table[params.args.labels + params.args.first_point + i] - params.args.first_anchor;
    }
    let distance = row_distance(lane, first, params.count, min(anchor, params.args.anchors - 1u), params.args.dimensions);
    if (anchor < params.args.anchors) {
        nearest[params.args.first_point + i] = distance;
    }
}
