// Two-means within every cluster: which of its cluster's two candidates (rows 2l and 2l + 1) a point is nearer to, and how far that
// one is, squared. Ties go to the second. One item is one point.
//
// words0: points of the chunk, dimensions, first point of the chunk
// words1: the table's place of labels, that of sides (2l or 2l + 1)

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> nearest: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let dimensions = params.words0.y;
    let start = group_index(group) * group_size;
    let number = params.words0.z + start + lane;
    var first = 0u;
    if (start + lane < params.count) {
        first = 2u * table[params.words1.x + number];
    }
    let a = row_distance(lane, start, params.count, first, dimensions);
    let b = row_distance(lane, start, params.count, first + 1u, dimensions);
    if (start + lane < params.count) {
        table[params.words1.y + number] = first + select(1u, 0u, a < b);
        nearest[number] = min(a, b);
    }
}
