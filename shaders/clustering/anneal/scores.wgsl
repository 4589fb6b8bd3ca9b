// ‖a‖² − T ln p − 2x·a for a block of points and all anchors, anchor by anchor.

#import clustering/shared/tile

struct Args {
    // Points of the block.
    points: u32,
    // Components of a point.
    dimensions: u32,
    // Anchors.
    anchors: u32,
    // First point of the block in its chunk.
    first_point: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> anchors: array<real>;
@group(0) @binding(4) var<storage, read> norms: array<real>;
@group(0) @binding(5) var<storage, read_write> scores: array<real>;

fn left_at(row: u32, k: u32) -> real {
    if (row < params.args.points) {
        return points[(params.args.first_point + row) * params.args.dimensions + k];
    }
    return 0.0;
}

fn right_at(row: u32, k: u32) -> real {
    if (row < params.args.anchors) {
        return anchors[row * params.args.dimensions + k];
    }
    return 0.0;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let tiles = (params.args.anchors + 8u * columns - 1u) / (8u * columns);
    let g = group_index(group);
    let first = g / tiles * 8u * rows;
    let start = g % tiles * 8u * columns;
    multiply_tile(lane, first, start, 0u, params.args.dimensions, false);
    for (var c = 0u; c < 8u; c++) {
        let anchor = start + tile_column(lane, c);
        for (var i = 0u; i < 8u; i++) {
            let point = first + tile_row(lane, i);
            if (anchor < params.args.anchors && point < params.args.points) {
                scores[anchor * params.args.points + point] = norms[anchor] - 2.0 * tile_value(i, c);
            }
        }
    }
}
