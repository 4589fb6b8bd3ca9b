// Products of sparse matrices of square blocks: αB + βΣ XY, along lists whose rows are the blocks of the product, which workgroups share.
// The highest bit of a block's number says that it is meant transposed. What has no base adds to nothing.

#import shared/rows

struct Args {
    // Rows of a block, 6 at most.
    rows: u32,
    // First word of the row starts.
    starts: u32,
    // First word of the entries: X's and Y's block.
    entries: u32,
    // First word of the bases.
    bases: u32,
    // α and β: 0 for 0 and 1; with the radius ρ, 1 for 1 and −4/3ρ, 2 for 1 and −8/5ρ, 3 for 16/5ρ and −(8/5ρ)²; 4 for 1 and 1.
    mode: u32,
    // Blocks of the product.
    blocks: u32,
    // Lanes that share an entry of a block.
    slots: u32,
}

@group(0) @binding(1) var<storage, read> left: array<real>;
@group(0) @binding(2) var<storage, read> right: array<real>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(0) @binding(4) var<storage, read> base: array<real>;
@group(0) @binding(5) var<storage, read_write> product: array<real>;
@group(0) @binding(6) var<storage, read> radius: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let size = params.args.rows;
    let area = size * size;
    let slots = params.args.slots;
    let share = share_of(lane, group, params.args.blocks, area, slots);
    let row = share.element / size;
    let column = share.element % size;
    let last = size - 1u;
    var start = 0u;
    var end = 0u;
    if (share.slot < slots) {
        start = table[params.args.starts + share.row] + share.slot;
        end = table[params.args.starts + share.row + 1u];
    }
    var sum: real = 0.0;
    for (var e = start; e < end; e += slots) {
        let x = table[params.args.entries + 2u * e];
        let y = table[params.args.entries + 2u * e + 1u];
        let x_turned = (x >> 31u) != 0u;
        let y_turned = (y >> 31u) != 0u;
        let x_first = (x & 0x7fffffffu) * area + select(row * size, row, x_turned);
        let x_step = select(1u, size, x_turned);
        let y_first = (y & 0x7fffffffu) * area + select(column, column * size, y_turned);
        let y_step = select(size, 1u, y_turned);
        // All at once, so that their values are on their way together.
        let values = array<real, 6>(
            left[x_first] * right[y_first],
            left[x_first + min(1u, last) * x_step] * right[y_first + min(1u, last) * y_step],
            left[x_first + min(2u, last) * x_step] * right[y_first + min(2u, last) * y_step],
            left[x_first + min(3u, last) * x_step] * right[y_first + min(3u, last) * y_step],
            left[x_first + min(4u, last) * x_step] * right[y_first + min(4u, last) * y_step],
            left[x_first + last * x_step] * right[y_first + last * y_step],
        );
        sum += values[0];
        sum += select(real(0.0), values[1], size > 1u);
        sum += select(real(0.0), values[2], size > 2u);
        sum += select(real(0.0), values[3], size > 3u);
        sum += select(real(0.0), values[4], size > 4u);
        sum += select(real(0.0), values[5], size > 5u);
    }
    sum = share_sum(lane, share, area, slots, sum);
    if (share.slot != 0u) {
        return;
    }
    let mode = params.args.mode;
    if (mode != 0u) {
        let step = select(real(1.6), real(4.0) / real(3.0), mode == 1u) / radius[0];
        let origin = table[params.args.bases + share.row];
        var before: real = 0.0;
        if (origin != 0xffffffffu) {
            before = base[origin * area + share.element];
        }
        if (mode == 4u) {
            sum = before + sum;
        } else if (mode == 3u) {
            sum = 2.0 * step * before - step * step * sum;
        } else {
            sum = before - step * sum;
        }
    }
    product[share.row * area + share.element] = sum;
}
