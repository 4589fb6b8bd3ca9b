// Two-means within every cluster: which of its cluster's two candidates (rows 2l and 2l + 1) a point is nearer to, and how far that
// one is, squared. Ties go to the second. One item is one point.

#import clustering/shared/row_distance

struct Args {
    // Points of the chunk.
    points: u32,
    // Components of a point.
    dimensions: u32,
    // First point of the chunk.
    first_point: u32,
    // Place of the labels in the table.
    labels: u32,
    // Place of the sides in the table: 2l or 2l + 1.
    sides: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(3) var<storage, read_write> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> nearest: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let dimensions = params.args.dimensions;
    let start = group_index(group) * group_size;
    let number = params.args.first_point + start + lane;
    var first = 0u;
    if (start + lane < params.count) {
        first = 2u * table[params.args.labels + number];
    }
    let a = row_distance(lane, start, params.count, first, dimensions);
    let b = row_distance(lane, start, params.count, first + 1u, dimensions);
    if (start + lane < params.count) {
        table[params.args.sides + number] = first + select(1u, 0u, a < b);
        nearest[number] = min(a, b);
    }
}
