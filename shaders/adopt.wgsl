// Rows start where the points that were picked are, those of them that are in this chunk. One item is one component.
//
// words0: first point of the chunk, its points, dimensions, the first row
// words1: the table's place of the first choice

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> rows: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let dimensions = params.words0.z;
    let point = table[params.words1.x + i / dimensions] - params.words0.x;
    if (point < params.words0.y) {
        rows[params.words0.w * dimensions + i] = points[point * dimensions + i % dimensions];
    }
}
