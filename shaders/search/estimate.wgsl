// Squared distances of a block of vectors from queries, as codes tell them: ‖q − a‖² − 2q·r′ + (2a·r′ + κ‖r′‖²), a the anchor of the
// vector's list; 3e38 where the query does not probe it. A tile that nobody probes is not multiplied.

#import clustering/shared/tile
#import shared/reduce

struct Args {
    // Queries.
    queries: u32,
    // Components of a point.
    dimensions: u32,
    // Vectors of the block.
    vectors: u32,
    // Length of a row of results.
    stride: u32,
    // Lists.
    lists: u32,
    // Place of the vectors' lists in the table.
    list_of: u32,
    // 1 if not all lists are probed.
    probing: u32,
}

@group(0) @binding(1) var<storage, read> queries: array<real>;
@group(0) @binding(2) var<storage, read> residuals: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> constants: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;
@group(0) @binding(6) var<storage, read> distances: array<real>;

// Of a list that is probed, distances are below.
const far: real = 1e38;

var<workgroup> is_probed: u32;

fn left_at(row: u32, k: u32) -> real {
    if (row < params.args.queries) {
        return queries[row * params.args.dimensions + k];
    }
    return 0.0;
}

fn right_at(row: u32, k: u32) -> real {
    if (row < params.args.vectors) {
        return residuals[row * params.args.dimensions + k];
    }
    return 0.0;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let tiles = (params.args.vectors + 8u * columns - 1u) / (8u * columns);
    let g = group_index(group);
    let first = g / tiles * 8u * rows;
    let start = g % tiles * 8u * columns;
    var end = params.args.dimensions;
    if (params.args.probing != 0u) {
        // Vectors stand in order of their lists.
        let from_list = table[params.args.list_of + start];
        let to_list = table[params.args.list_of + min(start + 8u * columns, params.args.vectors) - 1u];
        var probed: real = 0.0;
        for (var row = first + lane; row < min(first + 8u * rows, params.args.queries); row += group_size) {
            for (var list = from_list; list <= to_list; list++) {
                probed = max(probed, select(real(0.0), real(1.0), distances[row * params.args.lists + list] < far));
            }
        }
        probed = group_max(lane, probed);
        if (lane == 0u) {
            is_probed = u32(probed);
        }
        end *= workgroupUniformLoad(&is_probed);
    }
    multiply_tile(lane, first, start, 0u, end, false);
    for (var c = 0u; c < 8u; c++) {
        let vector = start + tile_column(lane, c);
        if (vector < params.args.vectors) {
            let list = table[params.args.list_of + vector];
            let constant = constants[vector];
            for (var i = 0u; i < 8u; i++) {
                let row = first + tile_row(lane, i);
                if (row < params.args.queries) {
                    let distance = distances[row * params.args.lists + list];
                    var result: real = 3e38;
                    if (distance < far) {
                        result = distance + (constant - 2.0 * tile_value(i, c));
                        result = select(real(3e38), result, is_finite(result));
                    }
                    results[row * params.args.stride + vector] = result;
                }
            }
        }
    }
}
