// Products x·y, or squared distances Σ(x − y)², of all rows of one matrix with all rows of another: a tile of them a workgroup.
//
// words0: rows, entries, rows of the other, 1 for squared distances
// words1: length of a row, its first entry, length of a row of results, its first
// words2: of the other: where it begins, how far it is from row to row and from entry to entry

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> others: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

fn left_at(row: u32, k: u32) -> real {
    if (row < params.words0.x) {
        return points[row * params.words1.x + params.words1.y + k];
    }
    return 0.0;
}

fn right_at(row: u32, k: u32) -> real {
    if (row < params.words0.z) {
        return others[params.words2.x + row * params.words2.y + k * params.words2.z];
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
    multiply_tile(lane, first, start, 0u, params.words0.y, params.words0.w != 0u);
    for (var i = 0u; i < 8u; i++) {
        let row = first + tile_row(lane, i);
        for (var c = 0u; c < 8u; c++) {
            let other = start + tile_column(lane, c);
            if (row < params.words0.x && other < params.words0.z) {
                results[row * params.words1.z + params.words1.w + other] = tile_value(i, c);
            }
        }
    }
}
