// The inverse of every block of a table, damped by λD, by Cholesky's factor, in place in packed storage. One item is one variable.
//
// `floors` has blocks that are no smaller: those of JᵀWJ, where blocks of S are inverted. An entry of S is a difference, summed over a
// variable's instances: a pivot below 512 roundings of its entry there says nothing, and what it is divided by would be noise. Then the block
// in `floors` is inverted. So what is inverted is about the block itself or more, and conjugate gradients go on where S is nearly
// singular. A pivot of that block is at least eight roundings of its entry.

#import state/solver

struct Args {
    // First element of the table's vectors.
    vector: u32,
    // Width of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
    // 1 where some unknowns may not move.
    masked: u32,
}

@group(0) @binding(1) var<storage, read> scale: array<real>;
@group(0) @binding(2) var<storage, read> free: array<real>;
@group(0) @binding(3) var<storage, read> floors: array<real>;
@group(0) @binding(4) var<storage, read> blocks: array<real>;
@group(0) @binding(5) var<storage, read_write> inverse: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.args.width;
    let vector = params.args.vector + i * width;
    let block = params.args.block + i * (width * (width + 1u) / 2u);

    // Cholesky: block = L Lᵀ, row by row. A row and a column without a pivot stay 0.
    for (var attempt = 0u; attempt < 2u; attempt++) {
        let of_floors = attempt == 1u;
        var noisy = false;
        for (var r = 0u; r < width; r++) {
            let row = block + r * (r + 1u) / 2u;
            for (var c = 0u; c <= r; c++) {
                let other = block + c * (c + 1u) / 2u;
                var value = blocks[row + c];
                if (of_floors) {
                    value = floors[row + c];
                }
                if (params.args.masked != 0u && (free[vector + r] == 0.0 || free[vector + c] == 0.0)) {
                    value = 0.0;
                }
                for (var k = 0u; k < c; k++) {
                    value -= inverse[row + k] * inverse[other + k];
                }
                if (r == c) {
                    let damping = state[DAMPING] * scale[vector + r];
                    let rounding = state[INNER_EPSILON] * (floors[row + r] + damping);
                    value += damping;
                    let clear = value >= 512.0 * rounding;
                    value = max(value, 8.0 * rounding);
                    if (params.args.masked != 0u && free[vector + r] == 0.0) {
                        value = 0.0;
                    } else {
                        noisy = noisy || !clear;
                    }
                    value = sqrt(max(value, 0.0));
                } else {
                    let pivot = inverse[other + c];
                    if (pivot > 0.0) {
                        value /= pivot;
                    } else {
                        value = 0.0;
                    }
                }
                inverse[row + c] = value;
            }
        }
        if (!noisy) {
            break;
        }
    }
    // L⁻¹, row by row: a row only needs the inverted rows above it.
    for (var r = 0u; r < width; r++) {
        let row = block + r * (r + 1u) / 2u;
        let pivot = inverse[row + r];
        var scaled: real = 0.0;
        if (pivot > 0.0) {
            scaled = 1.0 / pivot;
        }
        for (var c = 0u; c < r; c++) {
            var sum: real = 0.0;
            for (var k = c; k < r; k++) {
                sum += inverse[row + k] * inverse[block + k * (k + 1u) / 2u + c];
            }
            inverse[row + c] = -sum * scaled;
        }
        inverse[row + r] = scaled;
    }
    // L⁻ᵀ L⁻¹: entry (r, c) only needs rows r and below.
    for (var r = 0u; r < width; r++) {
        for (var c = 0u; c <= r; c++) {
            var sum: real = 0.0;
            for (var k = r; k < width; k++) {
                let row = block + k * (k + 1u) / 2u;
                sum += inverse[row + r] * inverse[row + c];
            }
            inverse[block + r * (r + 1u) / 2u + c] = sum;
        }
    }
}
