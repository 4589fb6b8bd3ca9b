// ‖a‖² − T ln p − 2x·a for a block of points and all anchors, anchor by anchor.
//
// words0: points of the block, dimensions, anchors
// words1: first point of the block in its chunk

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(4) var<storage, read> norms: array<real>;
@group(0) @binding(5) var<storage, read_write> scores: array<real>;

fn left_at(row: u32, k: u32) -> real {
    if (row < params.words0.x) {
        return points[(params.words1.x + row) * params.words0.y + k];
    }
    return 0.0;
}

fn right_at(row: u32, k: u32) -> real {
    if (row < params.words0.z) {
        return anchors[row * params.words0.y + k];
    }
    return 0.0;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let tiles = (params.words0.z + 8u * columns - 1u) / (8u * columns);
    let g = group_index(group);
    let first = g / tiles * 8u * rows;
    let start = g % tiles * 8u * columns;
    multiply_tile(lane, first, start, 0u, params.words0.y, false);
    for (var c = 0u; c < 8u; c++) {
        let anchor = start + tile_column(lane, c);
        for (var i = 0u; i < 8u; i++) {
            let point = first + tile_row(lane, i);
            if (anchor < params.words0.z && point < params.words0.x) {
                scores[anchor * params.words0.x + point] = norms[anchor] - 2.0 * tile_value(i, c);
            }
        }
    }
}
