// The inverses of small symmetric blocks, by Cholesky's factor. What is lost in rounding when its turn comes is left out: its row and
// column become 0, and such a motion is none. One item is one block.

#import state/solver

struct Args {
    // Rows of a block, 6 at most.
    rows: u32,
}

@group(0) @binding(4) var<storage, read> blocks: array<real>;
@group(0) @binding(5) var<storage, read_write> inverse: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let size = params.args.rows;
    let first = i * size * size;
    // L, then L⁻¹, by rows of six.
    var l: array<real, 36>;
    for (var r = 0u; r < size; r++) {
        let entry = blocks[first + r * size + r];
        for (var c = 0u; c <= r; c++) {
            var value = blocks[first + r * size + c];
            for (var k = 0u; k < c; k++) {
                value -= l[r * 6u + k] * l[c * 6u + k];
            }
            if (c == r) {
                // Of what was left out, neither row nor column is seen again.
                let known = value > 64.0 * state[INNER_EPSILON] * entry && is_finite(value);
                l[r * 6u + r] = select(real(0.0), real(1.0) / sqrt(max(value, real(1e-30))), known);
            } else {
                l[r * 6u + c] = value * l[c * 6u + c];
            }
        }
    }
    // The diagonal has its reciprocals already.
    for (var r = 0u; r < size; r++) {
        for (var c = 0u; c < r; c++) {
            var sum: real = 0.0;
            for (var k = c; k < r; k++) {
                sum += l[r * 6u + k] * l[k * 6u + c];
            }
            l[r * 6u + c] = -sum * l[r * 6u + r];
        }
    }
    for (var r = 0u; r < size; r++) {
        for (var c = 0u; c <= r; c++) {
            var sum: real = 0.0;
            for (var k = r; k < size; k++) {
                sum += l[k * 6u + r] * l[k * 6u + c];
            }
            inverse[first + r * size + c] = sum;
            inverse[first + c * size + r] = sum;
        }
    }
}
