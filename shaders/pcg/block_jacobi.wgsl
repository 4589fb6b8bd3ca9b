// M⁻¹: the inverse of every diagonal block of JᵀWJ + λD, by Cholesky's factor, in place in packed storage.
// One item is one variable. A block that is not positive definite in this precision falls back to its diagonal.

#import state/solver

struct Args {
    // First element of the table's vectors.
    vector: u32,
    // Width of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
}

@group(0) @binding(1) var<storage, read> scale: array<real>;
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

    // Cholesky: block = L Lᵀ, row by row.
    var definite = true;
    for (var r = 0u; r < width; r++) {
        let row = block + r * (r + 1u) / 2u;
        for (var c = 0u; c <= r; c++) {
            let other = block + c * (c + 1u) / 2u;
            var value = blocks[row + c];
            if (r == c) {
                value += state[DAMPING] * scale[vector + r];
            }
            let entry = value;
            for (var k = 0u; k < c; k++) {
                value -= inverse[row + k] * inverse[other + k];
            }
            if (r == c) {
                definite = definite && value > 1e-7 * entry;
                value = sqrt(max(value, 1e-7 * entry));
            } else {
                value /= inverse[other + c];
            }
            inverse[row + c] = value;
        }
    }
    if (!definite) {
        for (var r = 0u; r < width; r++) {
            let row = block + r * (r + 1u) / 2u;
            for (var c = 0u; c < r; c++) {
                inverse[row + c] = 0.0;
            }
            // What nothing depends on does not move.
            let diagonal = blocks[row + r] + state[DAMPING] * scale[vector + r];
            if (diagonal > 0.0) {
                inverse[row + r] = 1.0 / diagonal;
            } else {
                inverse[row + r] = 0.0;
            }
        }
        return;
    }
    // L⁻¹, row by row: a row only needs the inverted rows above it.
    for (var r = 0u; r < width; r++) {
        let row = block + r * (r + 1u) / 2u;
        for (var c = 0u; c < r; c++) {
            var sum: real = 0.0;
            for (var k = c; k < r; k++) {
                sum += inverse[row + k] * inverse[block + k * (k + 1u) / 2u + c];
            }
            inverse[row + c] = -sum / inverse[row + r];
        }
        inverse[row + r] = 1.0 / inverse[row + r];
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
