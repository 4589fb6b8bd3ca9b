// Positive semidefinite matrices near symmetric ones: every eigenvalue λ becomes max(λ, ε) (the nearest matrix with such
// eigenvalues: Higham, "Computing a nearest symmetric positive semidefinite matrix", 1988), or max(|λ|, ε).
//
// One item is one matrix, packed row by row, entry k of item i at k * count + i. What changes is Σ (max(λ, ε) − λ) v vᵀ
// over the eigenvectors v of Jacobi's rotations (Golub & Van Loan, Matrix Computations, 4th ed., section 8.5); a matrix
// that needs no change stays as it is, bit by bit, and Cholesky's factor finds most of these without any rotation.
// A matrix with an entry that is not finite stays, too.
//
// limits: ε, and a relative tolerance (a few roundings)
// map: for every packed entry 0 (it is 0) or its column + 1, with the sign in the highest bit
// work: n columns of n entries for the eigenvectors, and one for what their eigenvalues lack

struct Args {
    // Rows of a block.
    width: u32,
    // 1 for absolute values.
    absolute: u32,
    // First column of the blocks.
    column: u32,
}

@group(0) @binding(1) var<storage, read> limits: array<real>;
@group(0) @binding(3) var<storage, read> map: array<u32>;
@group(0) @binding(4) var<storage, read> columns: array<real>;
@group(0) @binding(5) var<storage, read_write> blocks: array<real>;
@group(0) @binding(6) var<storage, read_write> work: array<real>;

const SWEEPS: u32 = 16u;

fn given(k: u32, i: u32) -> real {
    let code = map[k];
    if (code == 0u) {
        return 0.0;
    }
    let value = columns[((code & 0x7fffffffu) - 1u) * params.count + i];
    return select(value, -value, code > 0x7fffffffu);
}

// Where packed entry k of item i is.
fn packed_at(k: u32, i: u32) -> u32 {
    return (params.args.column + k) * params.count + i;
}

// Where entry (r, c) of item i is.
fn at(r: u32, c: u32, i: u32) -> u32 {
    let row = max(r, c);
    return packed_at(row * (row + 1u) / 2u + min(r, c), i);
}

fn copy(packed: u32, i: u32) {
    for (var k = 0u; k < packed; k++) {
        blocks[packed_at(k, i)] = given(k, i);
    }
}

// Whether block − εI has a factor L Lᵀ up to `least`, the size of its rounding errors; L takes the block's place.
fn is_semidefinite(width: u32, epsilon: real, least: real, i: u32) -> bool {
    for (var r = 0u; r < width; r++) {
        for (var c = 0u; c <= r; c++) {
            var value = blocks[at(r, c, i)];
            if (r == c) {
                value -= epsilon;
            }
            for (var k = 0u; k < c; k++) {
                value -= blocks[at(r, k, i)] * blocks[at(c, k, i)];
            }
            if (r == c) {
                if (value < -least) {
                    return false;
                }
                if (value > least) {
                    value = sqrt(value);
                } else {
                    value = 0.0;
                }
            } else {
                let pivot = blocks[at(c, c, i)];
                if (pivot > 0.0) {
                    value /= pivot;
                } else if (abs(value) > least) {
                    return false;
                } else {
                    value = 0.0;
                }
            }
            blocks[at(r, c, i)] = value;
        }
    }
    return true;
}

// (x, y) turned by the angle of sine s whose half has the tangent h: errors are as small as the angle.
fn rotated(x: real, y: real, s: real, h: real) -> vec2<real> {
    return vec2<real>(x - s * (y + h * x), y + s * (x - h * y));
}

// The block becomes diagonal, as far as entries exceed `least`; `work` has the eigenvectors as columns.
fn diagonalise(width: u32, least: real, i: u32) {
    for (var k = 0u; k < width * width; k++) {
        work[k * params.count + i] = 0.0;
    }
    for (var k = 0u; k < width; k++) {
        work[k * (width + 1u) * params.count + i] = 1.0;
    }
    for (var sweep = 0u; sweep < SWEEPS; sweep++) {
        var done = true;
        for (var q = 1u; q < width; q++) {
            for (var p = 0u; p < q; p++) {
                let off = blocks[at(q, p, i)];
                if (abs(off) <= least) {
                    continue;
                }
                done = false;
                let cotangent = 0.5 * (blocks[at(q, q, i)] - blocks[at(p, p, i)]) / off;
                let size = 1.0 / (abs(cotangent) + sqrt(cotangent * cotangent + 1.0));
                let t = select(size, -size, cotangent < 0.0);
                let c = 1.0 / sqrt(t * t + 1.0);
                let s = t * c;
                let h = s / (1.0 + c);
                blocks[at(p, p, i)] -= t * off;
                blocks[at(q, q, i)] += t * off;
                blocks[at(q, p, i)] = 0.0;
                for (var r = 0u; r < width; r++) {
                    if (r != p && r != q) {
                        let pair = rotated(blocks[at(r, p, i)], blocks[at(r, q, i)], s, h);
                        blocks[at(r, p, i)] = pair.x;
                        blocks[at(r, q, i)] = pair.y;
                    }
                    let first = (r * width + p) * params.count + i;
                    let second = (r * width + q) * params.count + i;
                    let pair = rotated(work[first], work[second], s, h);
                    work[first] = pair.x;
                    work[second] = pair.y;
                }
            }
        }
        if (done) {
            return;
        }
    }
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let width = params.args.width;
    let packed = width * (width + 1u) / 2u;
    let epsilon = limits[0];
    let tolerance = limits[1];
    var largest: real = 0.0;
    var finite = true;
    for (var k = 0u; k < packed; k++) {
        let value = given(k, i);
        blocks[packed_at(k, i)] = value;
        finite = finite && is_finite(value);
        largest = max(largest, abs(value));
    }
    if (!finite) {
        return;
    }
    let semidefinite = is_semidefinite(width, epsilon, tolerance * largest, i);
    copy(packed, i);
    if (semidefinite) {
        return;
    }
    // Rotations leave errors of second order.
    diagonalise(width, 0.0625 * tolerance * largest, i);
    let lacking = width * width;
    for (var k = 0u; k < width; k++) {
        let eigenvalue = blocks[at(k, k, i)];
        let kept = select(eigenvalue, abs(eigenvalue), params.args.absolute != 0u);
        work[(lacking + k) * params.count + i] = max(kept, epsilon) - eigenvalue;
    }
    for (var r = 0u; r < width; r++) {
        for (var c = 0u; c <= r; c++) {
            var value = given(r * (r + 1u) / 2u + c, i);
            for (var k = 0u; k < width; k++) {
                let more = work[(lacking + k) * params.count + i];
                value += more * work[(r * width + k) * params.count + i] * work[(c * width + k) * params.count + i];
            }
            blocks[at(r, c, i)] = value;
        }
    }
}
