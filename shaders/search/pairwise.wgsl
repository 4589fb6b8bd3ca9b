// Products x·y, or squared distances Σ(x − y)², of all rows of one matrix with all rows of another: a tile of them a workgroup.

#import clustering/shared/tile

struct Args {
    // Rows.
    rows: u32,
    // Entries of a row.
    entries: u32,
    // Rows of the other.
    other_rows: u32,
    // 1 for squared distances.
    squared: u32,
    // Elements from row to row.
    stride: u32,
    // First entry of a row.
    first: u32,
    // Elements from row to row of the results.
    result_stride: u32,
    // First entry of a row of results.
    result_first: u32,
    // First element of the other.
    other_first: u32,
    // Elements from row to row of the other.
    other_row_stride: u32,
    // Elements from entry to entry of the other.
    other_entry_stride: u32,
}

@group(0) @binding(1) var<storage, read> points: array<real>;
@group(0) @binding(2) var<storage, read> others: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

fn left_at(row: u32, k: u32) -> real {
    if (row < params.args.rows) {
        return points[row * params.args.stride + params.args.first + k];
    }
    return 0.0;
}

fn right_at(row: u32, k: u32) -> real {
    if (row < params.args.other_rows) {
        return others[params.args.other_first + row * params.args.other_row_stride + k * params.args.other_entry_stride];
    }
    return 0.0;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let tiles = (params.args.other_rows + 8u * columns - 1u) / (8u * columns);
    let g = group_index(group);
    let first = g / tiles * 8u * rows;
    let start = g % tiles * 8u * columns;
    multiply_tile(lane, first, start, 0u, params.args.entries, params.args.squared != 0u);
    for (var i = 0u; i < 8u; i++) {
        let row = first + tile_row(lane, i);
        for (var c = 0u; c < 8u; c++) {
            let other = start + tile_column(lane, c);
            if (row < params.args.rows && other < params.args.other_rows) {
                results[row * params.args.result_stride + params.args.result_first + other] = tile_value(i, c);
            }
        }
    }
}
