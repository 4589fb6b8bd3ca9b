// y = Mx + Nz for sparse matrices of square blocks, along lists whose rows are nodes of y. One item is one element of y. The highest bit
// of a block's number says that it is meant transposed.

struct Args {
    // Rows of a block, 6 at most.
    rows: u32,
    // State element that stops the kernel.
    guard: u32,
    // First word of M's row starts.
    starts: u32,
    // First word of M's entries: block and column.
    entries: u32,
    // First word of N's row starts.
    other_starts: u32,
    // First word of N's entries.
    other_entries: u32,
    // 1 if there is N.
    has_other: u32,
}

@group(0) @binding(1) var<storage, read> left: array<real>;
@group(0) @binding(2) var<storage, read> x: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> right: array<real>;
@group(0) @binding(5) var<storage, read_write> y: array<real>;
@group(0) @binding(6) var<storage, read> z: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let size = params.args.rows;
    let node = i / size;
    let row = i - node * size;
    let last = size - 1u;
    var sum: real = 0.0;
    var end = table[params.args.starts + node + 1u];
    for (var e = table[params.args.starts + node]; e < end; e++) {
        let block = table[params.args.entries + 2u * e];
        let column = table[params.args.entries + 2u * e + 1u] * size;
        let turned = (block >> 31u) != 0u;
        let first = (block & 0x7fffffffu) * size * size + select(row * size, row, turned);
        let step = select(1u, size, turned);
        // All at once, so that their values are on their way together.
        let values = array<real, 6>(
            left[first] * x[column],
            left[first + min(1u, last) * step] * x[column + min(1u, last)],
            left[first + min(2u, last) * step] * x[column + min(2u, last)],
            left[first + min(3u, last) * step] * x[column + min(3u, last)],
            left[first + min(4u, last) * step] * x[column + min(4u, last)],
            left[first + last * step] * x[column + last],
        );
        sum += values[0];
        sum += select(real(0.0), values[1], size > 1u);
        sum += select(real(0.0), values[2], size > 2u);
        sum += select(real(0.0), values[3], size > 3u);
        sum += select(real(0.0), values[4], size > 4u);
        sum += select(real(0.0), values[5], size > 5u);
    }
    if (params.args.has_other != 0u) {
        end = table[params.args.other_starts + node + 1u];
        for (var e = table[params.args.other_starts + node]; e < end; e++) {
            let block = table[params.args.other_entries + 2u * e];
            let column = table[params.args.other_entries + 2u * e + 1u] * size;
            let turned = (block >> 31u) != 0u;
            let first = (block & 0x7fffffffu) * size * size + select(row * size, row, turned);
            let step = select(1u, size, turned);
            // All at once, so that their values are on their way together.
            let values = array<real, 6>(
                right[first] * z[column],
                right[first + min(1u, last) * step] * z[column + min(1u, last)],
                right[first + min(2u, last) * step] * z[column + min(2u, last)],
                right[first + min(3u, last) * step] * z[column + min(3u, last)],
                right[first + min(4u, last) * step] * z[column + min(4u, last)],
                right[first + last * step] * z[column + last],
            );
            sum += values[0];
            sum += select(real(0.0), values[1], size > 1u);
            sum += select(real(0.0), values[2], size > 2u);
            sum += select(real(0.0), values[3], size > 3u);
            sum += select(real(0.0), values[4], size > 4u);
            sum += select(real(0.0), values[5], size > 5u);
        }
    }
    y[i] = sum;
}
