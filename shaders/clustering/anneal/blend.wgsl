// Σ p x and Σ p over a block of points, for every anchor: responsibilities times points, shares of the block side by side.

#import clustering/shared/tile

struct Args {
    // Points of the block.
    points: u32,
    // Components of a point.
    dimensions: u32,
    // Anchors.
    anchors: u32,
    // Shares.
    shares: u32,
    // First point of the block in its chunk.
    first_point: u32,
    // 1 to add to what is there.
    adds: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(4) var<storage, read> responsibilities: array<real>;
@group(0) @binding(5) var<storage, read_write> sums: array<real>;

fn left_at(row: u32, point: u32) -> real {
    if (row < params.args.anchors) {
        return responsibilities[row * params.args.points + point];
    }
    return 0.0;
}

fn right_at(column: u32, point: u32) -> real {
    if (column < params.args.dimensions) {
        return points[(params.args.first_point + point) * params.args.dimensions + column];
    }
    return 1.0;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let wide = (params.args.dimensions + 8u * columns) / (8u * columns);
    let high_tiles = (params.args.anchors + 8u * rows - 1u) / (8u * rows);
    let g = group_index(group);
    let first = g / wide % high_tiles * 8u * rows;
    let start = g % wide * 8u * columns;
    let share = g / wide / high_tiles;
    let length = (params.args.points + params.args.shares - 1u) / params.args.shares;
    let begin = min(share * length, params.args.points);
    multiply_tile(lane, first, start, begin, min(begin + length, params.args.points), false);
    for (var c = 0u; c < 8u; c++) {
        let column = start + tile_column(lane, c);
        for (var i = 0u; i < 8u; i++) {
            let anchor = first + tile_row(lane, i);
            if (anchor < params.args.anchors && column <= params.args.dimensions && share < params.args.shares) {
                let to = (share * params.args.anchors + anchor) * (params.args.dimensions + 1u) + column;
                var sum = tile_value(i, c);
                if (params.args.adds != 0u) {
                    sum += sums[to];
                }
                sums[to] = sum;
            }
        }
    }
}
