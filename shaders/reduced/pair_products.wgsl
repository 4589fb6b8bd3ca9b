// Sums of products Y_i E_jᵀ over a few eliminated variables that join two kept ones, i and j: a part of a block of E C⁻¹ Eᵀ. One item is
// one entry of a segment, whose pairs are added up in their order.

struct Args {
    // Rows of a block: unknowns of i.
    rows: u32,
    // Columns: unknowns of j.
    columns: u32,
    // Unknowns of an eliminated variable.
    inner: u32,
    // 1 for the lower triangles of diagonal blocks, row by row.
    packed: u32,
    // First word of the segments' starts.
    starts: u32,
    // First word of the pairs.
    pairs: u32,
}

// A pair is the first element of a block of Y and of one of E, its highest bit 1 where rows are those of the kept variable.
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read> solved: array<real>;
@group(0) @binding(1) var<storage, read> blocks: array<real>;
@group(0) @binding(4) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let rows = params.args.rows;
    let columns = params.args.columns;
    let inner = params.args.inner;
    var size = rows * columns;
    if (params.args.packed != 0u) {
        size = rows * (rows + 1u) / 2u;
    }
    let segment = i / size;
    let entry = i - segment * size;
    var row = entry / columns;
    var column = entry - row * columns;
    if (params.args.packed != 0u) {
        row = 0u;
        while ((row + 1u) * (row + 2u) / 2u <= entry) {
            row++;
        }
        column = entry - row * (row + 1u) / 2u;
    }
    let end = table[params.args.starts + segment + 1u];
    var sum: real = 0.0;
    for (var e = table[params.args.starts + segment]; e < end; e++) {
        let left = table[params.args.pairs + 2u * e] + row * inner;
        let word = table[params.args.pairs + 2u * e + 1u];
        let is_kept = (word >> 31u) != 0u;
        let right = (word & 0x7fffffffu) + select(column, column * inner, is_kept);
        let step = select(columns, 1u, is_kept);
        for (var k = 0u; k < inner; k++) {
            sum += solved[left + k] * blocks[right + k * step];
        }
    }
    partials[i] = sum;
}
