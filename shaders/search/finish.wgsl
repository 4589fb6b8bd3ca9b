// Products q·r′ become squared distances, as `estimate` finds them: ‖q − a‖² − 2q·r′ + (2a·r′ + κ‖r′‖²), a the anchor of the vector's list;
// 3e38 where the query does not probe it. One item is one of a query and a vector.

struct Args {
    // Queries.
    queries: u32,
    // Vectors of the block.
    vectors: u32,
    // Length of a row of products.
    stride: u32,
    // Lists.
    lists: u32,
    // Place of the vectors' lists in the table.
    list_of: u32,
}

@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> constants: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;
@group(0) @binding(6) var<storage, read> distances: array<real>;

// Of a list that is probed, distances are below.
const far: real = 1e38;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    let query = place / params.args.vectors;
    let vector = place % params.args.vectors;
    if (query >= params.args.queries) {
        return;
    }
    let to = query * params.args.stride + vector;
    let distance = distances[query * params.args.lists + table[params.args.list_of + vector]];
    var result: real = 3e38;
    if (distance < far) {
        result = distance + (constants[vector] - 2.0 * results[to]);
        result = select(real(3e38), result, is_finite(result));
    }
    results[to] = result;
}
