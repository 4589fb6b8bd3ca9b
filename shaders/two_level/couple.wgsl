// y = Mx + Nz for sparse matrices of square blocks, along lists whose rows are nodes of y, which workgroups share. The highest bit of a
// block's number says that it is meant transposed.

#import shared/rows

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
    // Nodes of y.
    nodes: u32,
    // Lanes that share an element of y.
    slots: u32,
}

@group(0) @binding(1) var<storage, read> left: array<real>;
@group(0) @binding(2) var<storage, read> x: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> right: array<real>;
@group(0) @binding(5) var<storage, read_write> y: array<real>;
@group(0) @binding(6) var<storage, read> z: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

// Row of a block, by its first entry and the distance of entries, and the first element that it is multiplied by.
struct Entry {
    first: u32,
    step: u32,
    column: u32,
}

fn entry_at(entry: u32, row: u32, size: u32) -> Entry {
    let block = table[entry];
    let turned = (block >> 31u) != 0u;
    let first = (block & 0x7fffffffu) * size * size + select(row * size, row, turned);
    return Entry(first, select(1u, size, turned), table[entry + 1u] * size);
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    if (state[params.args.guard] != 0.0) {
        return;
    }
    let size = params.args.rows;
    let slots = params.args.slots;
    let share = share_of(lane, group, params.args.nodes, size, slots);
    let takes_part = share.slot < slots;
    let last = size - 1u;
    var sum: real = 0.0;
    if (takes_part) {
        var end = table[params.args.starts + share.row + 1u];
        for (var e = table[params.args.starts + share.row] + share.slot; e < end; e += slots) {
            let entry = entry_at(params.args.entries + 2u * e, share.element, size);
            // All at once, so that their values are on their way together.
            let values = array<real, 6>(
                left[entry.first] * x[entry.column],
                left[entry.first + min(1u, last) * entry.step] * x[entry.column + min(1u, last)],
                left[entry.first + min(2u, last) * entry.step] * x[entry.column + min(2u, last)],
                left[entry.first + min(3u, last) * entry.step] * x[entry.column + min(3u, last)],
                left[entry.first + min(4u, last) * entry.step] * x[entry.column + min(4u, last)],
                left[entry.first + last * entry.step] * x[entry.column + last],
            );
            sum += values[0];
            sum += select(real(0.0), values[1], size > 1u);
            sum += select(real(0.0), values[2], size > 2u);
            sum += select(real(0.0), values[3], size > 3u);
            sum += select(real(0.0), values[4], size > 4u);
            sum += select(real(0.0), values[5], size > 5u);
        }
        if (params.args.has_other != 0u) {
            end = table[params.args.other_starts + share.row + 1u];
            for (var e = table[params.args.other_starts + share.row] + share.slot; e < end; e += slots) {
                let entry = entry_at(params.args.other_entries + 2u * e, share.element, size);
                let values = array<real, 6>(
                    right[entry.first] * z[entry.column],
                    right[entry.first + min(1u, last) * entry.step] * z[entry.column + min(1u, last)],
                    right[entry.first + min(2u, last) * entry.step] * z[entry.column + min(2u, last)],
                    right[entry.first + min(3u, last) * entry.step] * z[entry.column + min(3u, last)],
                    right[entry.first + min(4u, last) * entry.step] * z[entry.column + min(4u, last)],
                    right[entry.first + last * entry.step] * z[entry.column + last],
                );
                sum += values[0];
                sum += select(real(0.0), values[1], size > 1u);
                sum += select(real(0.0), values[2], size > 2u);
                sum += select(real(0.0), values[3], size > 3u);
                sum += select(real(0.0), values[4], size > 4u);
                sum += select(real(0.0), values[5], size > 5u);
            }
        }
    }
    let total = share_sum(lane, share, size, slots, sum);
    if (share.slot == 0u) {
        y[share.row * size + share.element] = total;
    }
}
