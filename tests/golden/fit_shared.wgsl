// Where each fit's points begin, and the end of the last one's.
@group(0) @binding(1) var<storage, read> arena: array<u32>;
@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(4) var<storage, read> vector_in: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

struct Args {
    fits: u32,
    points: u32,
    total: u32,
    rounds: u32,
    most: u32,
    // 1 if every fit has bounds of its own.
    each: u32,
    // Invocations of a fit.
    lanes: u32,
}

// Parameters, and the entries of the lower triangle of their normal matrix.
const unknowns: u32 = 3u;
const triangle: u32 = 6u;
const tile_points: u32 = 128u;
const tile_stride: u32 = 129u;
// Columns of points: part of F, u, k, 1 if all is defined, and J. In the end, the inverse of the factor.
var<workgroup> tile: array<real, 7u * tile_stride>;
// Own parameters, which come before the shared ones, and these.
const own_count: u32 = 2u;
const shared_count: u32 = 1u;
// Sums at a trial: the lower triangle of the normal matrix, row by row, later the factor.
var<workgroup> factor: array<real, triangle>;
// Gradient, F, and 1 if all is defined; low parts of all but the last.
var<workgroup> total: array<real, unknowns + 2u>;
var<workgroup> low: array<real, unknowns + 1u>;
// Scales to a diagonal of 1, 0 for parameters that stay; 1 for shared ones.
var<workgroup> scale: array<real, unknowns>;
// 1 for a parameter that is at a bound, and would go through it; 1 for one that the data determine.
var<workgroup> held: array<u32, own_count>;
var<workgroup> known: array<real, own_count>;
// 1 for a shared parameter that own ones do not make up for.
var<workgroup> seen: array<u32, shared_count>;
// The gradient, of which the solved own part is taken.
var<workgroup> rest: array<real, unknowns>;
var<workgroup> usable: u32;

// Row of an entry of a lower triangle.
fn row_of(entry: u32) -> u32 {
    var i = u32((sqrt(8.0 * f32(entry) + 1.0) - 1.0) * 0.5);
    if (i * (i + 1u) / 2u > entry) {
        i--;
    }
    if ((i + 1u) * (i + 2u) / 2u <= entry) {
        i++;
    }
    return i;
}
@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let fit = group_index(group);
    if (fit >= params.group_count) {
        return;
    }
    let fits = params.args.fits;
    let first = arena[fit];
    let points = arena[fit + 1u] - first;
    let least_curvature = real(1e-30);
    let cost_tolerance: real = data[0];
    let step_tolerance: real = data[1];
    let noise: real = data[2];
    let rank: real = data[3];
    let data_at = 4u + 1u * params.args.points;
    let weights_at = data_at + params.args.total;
    let bound_stride = select(1u, fits, params.args.each != 0u);
    let bound = fit * params.args.each;
    // Compilers must not unroll what runs over it.
    let size = unknowns + params.zero;
        for (var e = lane; e < triangle + unknowns + 2u; e += group_size) {
            if (e < triangle) {
                factor[e] = 0.0;
            } else {
                let j = e - triangle;
                total[j] = select(real(0.0), real(1.0), j == unknowns + 1u);
                if (j <= unknowns) {
                    low[j] = 0.0;
                }
            }
        }
        for (var begin = 0u; begin < points; begin += tile_points) {
            let here = min(tile_points, points - begin);
            for (var p = lane; p < here; p += group_size) {
                let g0: real = vector_out[0u * fits + fit];
                let g1: real = vector_out[1u * fits + fit];
                let g2: real = vector_out[2u * fits + fit];
                let g3: real = vector_out[3u * fits + fit];
                let k = begin + p;
                let own = first + k;
                let g4: real = data[4u + 0u * params.args.points + k];
                let g5: real = data[data_at + own];
                let g6: real = data[weights_at + k];
                let v0: real = g1;
                let v1: real = g4;
                let v2: real = v1 - v0;
                let v3: real = g2;
                let v4: real = v2 / v3;
                let v5: real = v4 * v4;
                let v6: real = (-0.5);
                let v7: real = v5 * v6;
                let v8: real = exponential(v7);
                let v9: real = g0;
                let v10: real = v9 * v8;
                let v11: real = g3;
                let v12: real = v11 + v10;
                let v13: real = g5;
                let v14: real = v12 - v13;
                let v15: real = v14 * v14;
                let v16: real = sqrt(v15);
                let v17: real = 3.0;
                let v18: real = v16 * v17;
                let v19: real = 2.25;
                let v20: real = v18 - v19;
                let v21: real = select(real(0), real(1), v15 <= v19);
                let v22: real = select(v20, v15, v21 != 0.0);
                let v23: real = 0.5;
                let v24: real = g6;
                let v25: real = v24 * v23;
                let v26: real = v25 * v22;
                let v27: real = select(real(0), real(1), v19 <= v15);
                let v28: real = select(v19, v15, v27 != 0.0);
                let v29: real = sqrt(v28);
                let v30: real = 1.5;
                let v31: real = v30 / v29;
                let v32: real = 1.0;
                let v33: real = select(v31, v32, v21 != 0.0);
                let v34: real = v14 * v33;
                let v35: real = v24 * v34;
                let v36: real = 2.0;
                let v37: real = v36 * v28;
                let v38: real = v33 / v37;
                let v39: real = v36 * v38;
                let v40: real = -v39;
                let v41: real = 0.0;
                let v42: real = select(v40, v41, v21 != 0.0);
                let v43: real = v15 * v39;
                let v44: real = -v43;
                let v45: real = select(v44, v41, v21 != 0.0);
                let v46: real = 0.09999999999999998;
                let v47: real = v46 * v33;
                let v48: real = v47 + v45;
                let v49: real = select(real(0), real(1), v48 < v41);
                let v50: real = v47 / v15;
                let v51: real = select(real(0), real(1), v41 < v15);
                let v52: real = select(v41, v50, v51 != 0.0);
                let v53: real = -v52;
                let v54: real = select(v42, v53, v49 != 0.0);
                let v55: real = v15 * v54 + v33;
                let v56: real = v24 * v55;
                let v57: real = select(real(0), real(1), v41 < v29);
                let v58: real = select(real(0), real(1), v27 == 0.0);
                let v59: real = select(real(0), real(1), v3 < v41);
                let v60: real = select(real(0), real(1), v41 < v3);
                let v61: real = select(real(0), real(1), (v60 != 0.0) | (v59 != 0.0));
                let v62: real = select(real(0), real(1), (v61 != 0.0) | (v58 != 0.0));
                let v63: real = select(real(0), real(1), (v61 != 0.0) & (v62 != 0.0));
                let v64: real = select(real(0), real(1), (v63 != 0.0) & (v57 != 0.0));
                let v65: real = select(real(0), real(1), (v21 != 0.0) | (v64 != 0.0));
                let v66: real = select(real(0), real(1), (v61 != 0.0) & (v65 != 0.0));
                let v67: real = select(real(0), real(1), (v63 != 0.0) & (v66 != 0.0));
                let v68: real = select(real(0), real(1), v41 < v37);
                let v69: real = select(real(0), real(1), (v68 != 0.0) & (v67 != 0.0));
                let v70: real = select(real(0), real(1), (v21 != 0.0) | (v69 != 0.0));
                let v71: real = select(real(0), real(1), (v61 != 0.0) & (v70 != 0.0));
                let v72: real = select(real(0), real(1), (v61 != 0.0) & (v66 != 0.0));
                let v73: real = select(real(0), real(1), (v51 != 0.0) & (v72 != 0.0));
                let v74: real = select(real(0), real(1), v51 == 0.0);
                let v75: real = select(real(0), real(1), (v73 != 0.0) | (v74 != 0.0));
                let v76: real = select(real(0), real(1), (v61 != 0.0) & (v75 != 0.0));
                let v77: real = select(v71, v76, v49 != 0.0);
                let v78: real = select(real(0), real(1), (v61 != 0.0) & (v69 != 0.0));
                let v79: real = select(real(0), real(1), (v21 != 0.0) | (v78 != 0.0));
                let v80: real = select(real(0), real(1), (v61 != 0.0) & (v79 != 0.0));
                let v81: real = select(real(0), real(1), (v66 != 0.0) & (v80 != 0.0));
                let v82: real = select(real(0), real(1), (v81 != 0.0) & (v77 != 0.0));
                let v83: real = select(real(0), real(1), (v61 != 0.0) & (v82 != 0.0));
                let v84: real = select(real(0), real(1), (v66 != 0.0) & (v83 != 0.0));
                let v85: real = select(real(0), real(1), (v61 != 0.0) & (v72 != 0.0));
                let v86: real = select(real(0), real(1), (v84 != 0.0) & (v85 != 0.0));
                let v87: real = select(real(0), real(1), (v61 != 0.0) & (v86 != 0.0));
                let v88: real = select(real(0), real(1), (v61 != 0.0) & (v87 != 0.0));
                let v89: real = select(real(0), real(1), (v61 != 0.0) & (v88 != 0.0));
                let v90: real = select(real(0), real(1), is_finite(v1));
                let v91: real = select(real(0), real(1), (v89 != 0.0) & (v90 != 0.0));
                let v92: real = select(real(0), real(1), is_finite(v13));
                let v93: real = select(real(0), real(1), (v91 != 0.0) & (v92 != 0.0));
                let v94: real = select(real(0), real(1), is_finite(v24));
                let v95: real = select(real(0), real(1), (v93 != 0.0) & (v94 != 0.0));
                let v96: real = v6 * v10;
                let v97: real = v4 * v96;
                let v98: real = v97 + v97;
                let v99: real = v98 / v3;
                let v100: real = -v99;
                let v101: real = v4 * v99;
                let v102: real = -v101;
                tile[0u * tile_stride + p] = v26;
                tile[1u * tile_stride + p] = v35;
                tile[2u * tile_stride + p] = v56;
                tile[3u * tile_stride + p] = v95;
                tile[4u * tile_stride + p] = v8;
                tile[5u * tile_stride + p] = v100;
                tile[6u * tile_stride + p] = v102;
            }
            workgroupBarrier();
            // The same lanes have the same entries in every tile.
            for (var e = lane; e < triangle + unknowns + 2u; e += group_size) {
                if (e < triangle) {
                    let i = row_of(e);
                    let row = (4u + i) * tile_stride;
                    let column = (4u + e - i * (i + 1u) / 2u) * tile_stride;
                    var sum = factor[e];
                    for (var p = 0u; p < here; p++) {
                        sum += (tile[2u * tile_stride + p] * tile[row + p]) * tile[column + p];
                    }
                    factor[e] = sum;
                } else if (e == triangle + unknowns + 1u) {
                    for (var p = 0u; p < here; p++) {
                        if (tile[3u * tile_stride + p] == 0.0) {
                            total[unknowns + 1u] = 0.0;
                        }
                    }
                } else {
                    // Compensated (Kahan 1965).
                    let j = e - triangle;
                    var sum = total[j];
                    var lost = low[j];
                    for (var p = 0u; p < here; p++) {
                        var value = tile[p];
                        if (j < unknowns) {
                            value = tile[tile_stride + p] * tile[(4u + j) * tile_stride + p];
                        }
                        let addend = value - lost;
                        let next = opaque(sum + addend);
                        lost = opaque(next - sum) - addend;
                        sum = next;
                    }
                    total[j] = sum;
                    low[j] = lost;
                }
            }
            workgroupBarrier();
        }
        workgroupBarrier();
    if (lane == 0u) {
        usable = select(0u, 1u, total[unknowns + 1u] != 0.0 && is_finite(total[unknowns]));
        for (var j = 0u; j < size; j++) {
            if (!is_finite(total[j]) || !is_finite(factor[j * (j + 3u) / 2u])) {
                usable = 0u;
            }
        }
    }
    for (var j = lane; j < own_count; j += group_size) {
        held[j] = 0u;
    }
    if (workgroupUniformLoad(&usable) == 0u) {
        // It gives nothing but that it is one of these.
        if (params.args.rounds == 0u) {
            for (var q = lane; q < 5u; q += group_size) {
                partials[q * fits + fit] = select(real(0.0), real(1.0), q == 5u - 1u);
            }
        }
        return;
    }
    if (lane == 0u % group_size) {
        let value = vector_out[0u * fits + fit];
        held[0] = select(0u, 1u, (value <= vector_in[0u * bound_stride + bound] && total[0] > 0.0) || (value >= vector_in[2u * bound_stride + bound] && total[0] < 0.0));
    }
    if (lane == 1u % group_size) {
        let value = vector_out[1u * fits + fit];
        held[1] = select(0u, 1u, (value <= vector_in[1u * bound_stride + bound] && total[1] > 0.0) || (value >= vector_in[3u * bound_stride + bound] && total[1] < 0.0));
    }
    workgroupBarrier();
    for (var j = lane; j < unknowns; j += group_size) {
        scale[j] = 1.0;
        if (j < own_count) {
            let curvature = factor[j * (j + 3u) / 2u];
            let moves = curvature > least_curvature && held[j] == 0u;
            scale[j] = select(real(0.0), 1.0 / sqrt(max(curvature, least_curvature)), moves);
        }
        rest[j] = total[j] * scale[j];
    }
    workgroupBarrier();
    // Cholesky's factor of the own columns. A parameter that is not determined stays.
    for (var j = 0u; j < own_count + params.zero; j++) {
        let top = j * (j + 1u) / 2u;
        for (var i = j + lane; i < unknowns; i += group_size) {
            let row = i * (i + 1u) / 2u;
            var pivot = select(real(0.0), real(1.0), scale[j] != 0.0);
            var entry = factor[row + j] * scale[i] * scale[j];
            for (var k = 0u; k < j; k++) {
                let l = factor[top + k];
                pivot -= l * l;
                entry -= factor[row + k] * l;
            }
            let above = pivot > rank;
            let root = sqrt(select(real(1.0), pivot, above));
            if (i == j) {
                factor[row + j] = root;
                known[j] = select(real(0.0), real(1.0), above);
            } else {
                factor[row + j] = select(real(0.0), entry / root, above);
            }
        }
        workgroupBarrier();
    }
    if (params.args.rounds == 0u) {
        for (var j = 0u; j < own_count + params.zero; j++) {
            let y = known[j] * rest[j] / factor[j * (j + 3u) / 2u];
            for (var i = j + 1u + lane; i < unknowns; i += group_size) {
                rest[i] -= factor[i * (i + 1u) / 2u + j] * y;
            }
            workgroupBarrier();
        }
        for (var k = lane; k < shared_count; k += group_size) {
            let row = (own_count + k) * (own_count + k + 1u) / 2u;
            let whole = factor[row + own_count + k];
            var left = whole;
            for (var j = 0u; j < own_count; j++) {
                left -= factor[row + j] * factor[row + j];
            }
            // Otherwise what is left is rounding.
            seen[k] = select(0u, 1u, left > rank * whole);
        }
        workgroupBarrier();
        for (var q = lane; q < 2u; q += group_size) {
            let k = row_of(q);
            if (k < shared_count) {
                let row = (own_count + k) * (own_count + k + 1u) / 2u;
                let other = own_count + q - k * (k + 1u) / 2u;
                let column = other * (other + 1u) / 2u;
                var sum = factor[row + other];
                for (var j = 0u; j < own_count; j++) {
                    sum -= factor[row + j] * factor[column + j];
                }
                partials[q * fits + fit] = select(real(0.0), sum, (seen[k] & seen[other - own_count]) == 1u);
            } else {
                let number = q - shared_count * (shared_count + 1u) / 2u;
                partials[q * fits + fit] = select(real(0.0), rest[own_count + number], seen[number] == 1u);
            }
        }
        if (lane == 0u) {
            var freedom = real(points);
            for (var j = 0u; j < own_count; j++) {
                freedom -= select(real(0.0), real(1.0), known[j] != 0.0 || held[j] == 1u);
            }
            partials[2u * fits + fit] = total[unknowns];
            partials[(2u + 1u) * fits + fit] = freedom;
            partials[(2u + 2u) * fits + fit] = 0.0;
        }
        return;
    }
    // Columns of the factor's inverse; behind them A⁻¹ B, a shared parameter after the other.
    for (var c = lane; c < unknowns; c += group_size) {
        if (c < own_count) {
            for (var i = c; i < own_count; i++) {
                let row = i * (i + 1u) / 2u;
                var left = select(real(0.0), real(1.0), i == c);
                for (var k = c; k < i; k++) {
                    left -= factor[row + k] * tile[k * own_count + c];
                }
                tile[i * own_count + c] = left / factor[row + i];
            }
        } else {
            let row = c * (c + 1u) / 2u;
            for (var turn = 0u; turn < own_count; turn++) {
                let j = own_count - 1u - turn;
                var left = factor[row + j];
                for (var i = j + 1u; i < own_count; i++) {
                    left -= factor[i * (i + 1u) / 2u + j] * tile[c * own_count + i];
                }
                tile[c * own_count + j] = left / factor[j * (j + 3u) / 2u];
            }
        }
    }
    workgroupBarrier();
    for (var j = lane; j < own_count; j += group_size) {
        var variance: real = 0.0;
        for (var i = j; i < own_count; i++) {
            variance += tile[i * own_count + j] * tile[i * own_count + j];
        }
        for (var k = own_count; k < unknowns; k++) {
            for (var l = own_count; l < unknowns; l++) {
                variance += tile[k * own_count + j] * state[(k - own_count) * shared_count + l - own_count] * tile[l * own_count + j];
            }
        }
        vector_out[(4u + j) * fits + fit] = known[j] * scale[j] * sqrt(max(variance, real(0.0)));
    }
}
