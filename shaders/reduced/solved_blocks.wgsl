// Y = E C⁻¹ of every block between a kept variable and an eliminated one: a row for each unknown of the kept variable. One item is one
// row of a block.

struct Args {
    // Rows of a block: unknowns of the kept variable.
    rows: u32,
    // Columns: unknowns of the eliminated one.
    columns: u32,
    // First element of the eliminated table's inverted blocks.
    inverse: u32,
}

// First element of a block of E, its highest bit 1 where rows are those of the kept variable; the eliminated variable; first element of
// the block of Y.
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> blocks: array<real>;
@group(0) @binding(2) var<storage, read> inverse: array<real>;
@group(0) @binding(4) var<storage, read_write> solved: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let rows = params.args.rows;
    let columns = params.args.columns;
    let place = i / rows;
    let row = i - place * rows;
    let word = table[3u * place];
    let is_kept = (word >> 31u) != 0u;
    let start = (word & 0x7fffffffu) + select(row, row * columns, is_kept);
    let step = select(rows, 1u, is_kept);
    let own = params.args.inverse + table[3u * place + 1u] * (columns * (columns + 1u) / 2u);
    let to = table[3u * place + 2u] + row * columns;
    for (var c = 0u; c < columns; c++) {
        var sum: real = 0.0;
        for (var k = 0u; k < columns; k++) {
            let low = min(c, k);
            let high = max(c, k);
            sum += blocks[start + k * step] * inverse[own + high * (high + 1u) / 2u + low];
        }
        solved[to + c] = sum;
    }
}
