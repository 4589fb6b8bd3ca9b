// An anchor starts where the point that was picked is, if that is in this chunk. One item is one component.
//
// words0: first point of the chunk, its points, dimensions, the anchor
// words1: the table's place of the choice

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(5) var<storage, read_write> anchors: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let k = item(id);
    let point = table[params.words1.x] - params.words0.x;
    if (k < params.count && point < params.words0.y) {
        anchors[params.words0.w * params.words0.z + k] = points[point * params.words0.z + k];
    }
}
