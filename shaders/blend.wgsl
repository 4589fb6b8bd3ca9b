// Σ p x and Σ p over a block of points, for every anchor: responsibilities times points, shares of the block side by side.
//
// words0: points of the block, dimensions, anchors, shares
// words1: first point of the block in its chunk, 1 to add to what is there

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(4) var<storage, read> responsibilities: array<real>;
@group(0) @binding(5) var<storage, read_write> sums: array<real>;

fn left_at(row: u32, point: u32) -> real {
    if (row < params.words0.z) {
        return responsibilities[row * params.words0.x + point];
    }
    return 0.0;
}

fn right_at(column: u32, point: u32) -> real {
    if (column < params.words0.y) {
        return points[(params.words1.x + point) * params.words0.y + column];
    }
    return 1.0;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let wide = (params.words0.y + 8u * columns) / (8u * columns);
    let high_tiles = (params.words0.z + 8u * rows - 1u) / (8u * rows);
    let g = group_index(group);
    let first = g / wide % high_tiles * 8u * rows;
    let start = g % wide * 8u * columns;
    let share = g / wide / high_tiles;
    let length = (params.words0.x + params.words0.w - 1u) / params.words0.w;
    let begin = min(share * length, params.words0.x);
    multiply_tile(lane, first, start, begin, min(begin + length, params.words0.x), false);
    for (var c = 0u; c < 8u; c++) {
        let column = start + tile_column(lane, c);
        for (var i = 0u; i < 8u; i++) {
            let anchor = first + tile_row(lane, i);
            if (anchor < params.words0.z && column <= params.words0.y && share < params.words0.w) {
                let to = (share * params.words0.z + anchor) * (params.words0.y + 1u) + column;
                var sum = tile_value(i, c);
                if (params.words1.y != 0u) {
                    sum += sums[to];
                }
                sums[to] = sum;
            }
        }
    }
}
