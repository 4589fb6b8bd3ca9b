// Rows start where the points that were picked are, those of them that are in this chunk. One item is one component.

struct Args {
    // First point of the chunk.
    first_point: u32,
    // Points of the chunk.
    points: u32,
    // Components of a point.
    dimensions: u32,
    // First row.
    row: u32,
    // Place of the first choice in the table.
    choice: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> rows: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let dimensions = params.args.dimensions;
    let point = table[params.args.choice + i / dimensions] - params.args.first_point;
    if (point < params.args.points) {
        rows[params.args.row * dimensions + i] = points[point * dimensions + i % dimensions];
    }
}
