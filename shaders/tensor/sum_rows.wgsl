// The adjoint of gathering rows: every row is the sum of those rows of x that were gathered from it, in ascending order.
//
// table: where each row's members begin, then the members

struct Args {
    // Rows.
    rows: u32,
    // Entries of a row.
    width: u32,
}

@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> gathered: array<real>;
@group(0) @binding(5) var<storage, read_write> results: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = item(id);
    if (place >= params.count) {
        return;
    }
    let row = place / params.args.width;
    let entry = place % params.args.width;
    var sum: real = 0.0;
    for (var t = table[row]; t < table[row + 1u]; t++) {
        sum += gathered[table[params.args.rows + 1u + t] * params.args.width + entry];
    }
    results[place] = sum;
}
