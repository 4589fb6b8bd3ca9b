// Where each fit's points begin, and the end of the last one's.
@group(0) @binding(1) var<storage, read> arena: array<u32>;
@group(0) @binding(2) var<storage, read> data: array<real>;
// The fits of this launch.
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read> vector_in: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;

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
const unknowns: u32 = 13u;
const triangle: u32 = 91u;
const tile_points: u32 = 128u;
const tile_stride: u32 = 129u;
// Columns of points: part of F, u, k, 1 if all is defined, and J. In the end, the inverse of the factor.
var<workgroup> tile: array<real, 17u * tile_stride>;
// Sums at a trial: the lower triangle of the normal matrix, row by row, later the factor.
var<workgroup> factor: array<real, triangle>;
// Gradient, F, and 1 if all is defined; low parts of all but the last.
var<workgroup> total: array<real, unknowns + 2u>;
var<workgroup> low: array<real, unknowns + 1u>;
// The normal matrix at the parameters.
var<workgroup> at_normal: array<real, triangle>;
// Parameters, gradient there, and the trial.
var<workgroup> at_value: array<real, unknowns>;
var<workgroup> at_slope: array<real, unknowns>;
var<workgroup> trial: array<real, unknowns>;
// Scales to a diagonal of 1, 0 for parameters that stay; standard errors.
var<workgroup> scale: array<real, unknowns>;
var<workgroup> deviation: array<real, unknowns>;
// Right-hand side of the first triangular system and its solution, which becomes that of the second; parts of a prediction.
var<workgroup> rest: array<real, unknowns>;
var<workgroup> half_step: array<real, unknowns>;
var<workgroup> solved: array<real, unknowns>;
var<workgroup> part: array<real, unknowns>;
// 1 for a parameter that changes.
var<workgroup> changes: array<u32, unknowns>;
// Diagonal of the matrix, and the pivot that it must have.
var<workgroup> diagonal: real;
var<workgroup> least: real;
// 0: a step follows; 1: standard errors, and the end; 2: the end.
var<workgroup> stage: u32;
// 1 if the trial was accepted; if a pivot is too small, or errors are not known.
var<workgroup> accepted: u32;
var<workgroup> singular: u32;

// Number of a free parameter.
fn field_of(j: u32) -> u32 {
    return j + select(0u, 1u, j >= 2u);
}

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
    let number = group_index(group);
    if (number >= params.group_count) {
        return;
    }
    let fit = index[number];
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
    for (var j = lane; j < unknowns; j += group_size) {
        let value = vector_out[field_of(j) * fits + fit];
        at_value[j] = clamp(value, vector_in[j * bound_stride + bound], vector_in[(unknowns + j) * bound_stride + bound]);
        trial[j] = at_value[j];
        deviation[j] = 0.0;
    }
    // The first lane's.
    var damping: real = vector_out[30u * fits + fit];
    var growth: real = vector_out[31u * fits + fit];
    var iterations = u32(vector_out[28u * fits + fit]);
    if (damping == 0.0) {
        damping = 1e-3;
        growth = 2.0;
    }
    var status = 0u;
    var predicted: real = 0.0;
    var still = false;
    var at_cost: real = 0.0;
    var at_usable = false;
    if (lane == 0u) {
        singular = 0u;
    }
    workgroupBarrier();
    for (var round = 0u; round <= params.args.rounds; round++) {
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
                let g0: real = trial[0];
                let g1: real = trial[1];
                let g2: real = vector_out[2u * fits + fit];
                let g3: real = trial[2];
                let g4: real = trial[3];
                let g5: real = trial[4];
                let g6: real = trial[5];
                let g7: real = trial[6];
                let g8: real = trial[7];
                let g9: real = trial[8];
                let g10: real = trial[9];
                let g11: real = trial[10];
                let g12: real = trial[11];
                let g13: real = trial[12];
                let k = begin + p;
                let own = first + k;
                let g14: real = data[4u + 0u * params.args.points + k];
                let g15: real = data[data_at + own];
                let g16: real = data[weights_at + own];
                let v0: real = g12;
                let v1: real = g13;
                let v2: real = g14;
                let v3: real = v2 * v1 + v0;
                let v4: real = g11;
                let v5: real = v2 * v3 + v4;
                let v6: real = g10;
                let v7: real = v2 * v5 + v6;
                let v8: real = g9;
                let v9: real = v2 * v7 + v8;
                let v10: real = g8;
                let v11: real = v2 * v9 + v10;
                let v12: real = g7;
                let v13: real = v2 * v11 + v12;
                let v14: real = g6;
                let v15: real = v2 * v13 + v14;
                let v16: real = g5;
                let v17: real = v2 * v15 + v16;
                let v18: real = g4;
                let v19: real = v2 * v17 + v18;
                let v20: real = g3;
                let v21: real = v2 * v19 + v20;
                let v22: real = g2;
                let v23: real = v2 * v21 + v22;
                let v24: real = g1;
                let v25: real = v2 * v23 + v24;
                let v26: real = g0;
                let v27: real = v2 * v25 + v26;
                let v28: real = g15;
                let v29: real = v27 - v28;
                let v30: real = v29 * v29;
                let v31: real = 0.5;
                let v32: real = g16;
                let v33: real = v32 * v31;
                let v34: real = v30 * v33;
                let v35: real = v32 * v29;
                let v36: real = select(real(0), real(1), is_finite(v28));
                let v37: real = select(real(0), real(1), is_finite(v2));
                let v38: real = select(real(0), real(1), (v37 != 0.0) & (v36 != 0.0));
                let v39: real = select(real(0), real(1), is_finite(v32));
                let v40: real = select(real(0), real(1), (v38 != 0.0) & (v39 != 0.0));
                let v41: real = 1.0;
                let v42: real = v2 * v2;
                let v43: real = v2 * v42;
                let v44: real = v2 * v43;
                let v45: real = v2 * v44;
                let v46: real = v2 * v45;
                let v47: real = v2 * v46;
                let v48: real = v2 * v47;
                let v49: real = v2 * v48;
                let v50: real = v2 * v49;
                let v51: real = v2 * v50;
                let v52: real = v2 * v51;
                let v53: real = v2 * v52;
                tile[0u * tile_stride + p] = v34;
                tile[1u * tile_stride + p] = v35;
                tile[2u * tile_stride + p] = v32;
                tile[3u * tile_stride + p] = v40;
                tile[4u * tile_stride + p] = v41;
                tile[5u * tile_stride + p] = v2;
                tile[6u * tile_stride + p] = v43;
                tile[7u * tile_stride + p] = v44;
                tile[8u * tile_stride + p] = v45;
                tile[9u * tile_stride + p] = v46;
                tile[10u * tile_stride + p] = v47;
                tile[11u * tile_stride + p] = v48;
                tile[12u * tile_stride + p] = v49;
                tile[13u * tile_stride + p] = v50;
                tile[14u * tile_stride + p] = v51;
                tile[15u * tile_stride + p] = v52;
                tile[16u * tile_stride + p] = v53;
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
            let cost = total[unknowns];
            var usable = total[unknowns + 1u] != 0.0 && is_finite(cost);
            for (var j = 0u; j < size; j++) {
                if (!is_finite(total[j]) || !is_finite(factor[j * (j + 3u) / 2u])) {
                    usable = false;
                }
            }
            accepted = 0u;
            if (round == 0u) {
                accepted = 1u;
                if (!usable) {
                    status = 4u;
                }
            } else if (singular != 0u) {
                damping *= growth;
                growth *= 2.0;
                if (damping > 1e16) {
                    status = 3u;
                }
            } else {
                let change = at_cost - cost;
                let small = abs(predicted) <= cost_tolerance * at_cost;
                let room = noise * at_cost;
                let improves = predicted > 0.0 && change >= 1e-4 * predicted;
                let even = abs(predicted) <= room && change >= -room;
                if (usable && (improves || even)) {
                    let gain = 2.0 * min(max(change / max(predicted, real(1e-37)), 0.0), 1.0) - 1.0;
                    damping *= max(real(1.0) / 3.0, 1.0 - gain * gain * gain);
                    growth = 2.0;
                    accepted = 1u;
                } else {
                    damping *= growth;
                    growth *= 2.0;
                }
                if (usable && (small || still)) {
                    status = 1u;
                } else if (damping > 1e16) {
                    status = select(4u, 1u, usable);
                }
            }
            if (accepted != 0u) {
                at_cost = cost;
                at_usable = usable;
            }
            if (status == 0u && round < params.args.rounds) {
                if (iterations >= params.args.most) {
                    status = 5u;
                } else {
                    iterations++;
                }
            }
            let over = status == 1u || status == 5u;
            let ends = status != 0u || round >= params.args.rounds;
            stage = select(select(0u, 2u, ends), 1u, over);
            diagonal = select(1.0 + damping, real(1.0), over);
            least = select(real(0.0), rank, over);
            singular = 0u;
        }
        let now = workgroupUniformLoad(&stage);
        if (accepted != 0u) {
            for (var e = lane; e < triangle; e += group_size) {
                at_normal[e] = factor[e];
            }
            for (var j = lane; j < unknowns; j += group_size) {
                at_slope[j] = total[j];
                at_value[j] = trial[j];
            }
        }
        workgroupBarrier();
        if (now == 2u) {
            break;
        }
        for (var j = lane; j < unknowns; j += group_size) {
            let curvature = at_normal[j * (j + 3u) / 2u];
            let moves = curvature > least_curvature && !((at_value[j] <= vector_in[j * bound_stride + bound] && at_slope[j] > 0.0) || (at_value[j] >= vector_in[(unknowns + j) * bound_stride + bound] && at_slope[j] < 0.0));
            scale[j] = select(real(0.0), 1.0 / sqrt(max(curvature, least_curvature)), moves);
        }
        workgroupBarrier();
        // Cholesky's factor, column by column.
        for (var j = 0u; j < size; j++) {
            let top = j * (j + 1u) / 2u;
            for (var i = j + lane; i < unknowns; i += group_size) {
                let row = i * (i + 1u) / 2u;
                var pivot = diagonal;
                var entry = at_normal[row + j] * scale[i] * scale[j];
                for (var k = 0u; k < j; k++) {
                    let l = factor[top + k];
                    pivot -= l * l;
                    entry -= factor[row + k] * l;
                }
                let above = pivot > least;
                let root = sqrt(select(real(1.0), pivot, above));
                factor[row + j] = select(entry / root, root, i == j);
                if (i == j && !above) {
                    singular = 1u;
                }
            }
            workgroupBarrier();
        }
        if (now == 1u) {
            // Columns of the factor's inverse, whose squares make the diagonal of the matrix's.
            for (var j = lane; j < unknowns; j += group_size) {
                var squares: real = 0.0;
                for (var i = j; i < unknowns; i++) {
                    let row = i * (i + 1u) / 2u;
                    var known = select(real(0.0), real(1.0), i == j);
                    for (var k = j; k < i; k++) {
                        known -= factor[row + k] * tile[k * unknowns + j];
                    }
                    let entry = known / factor[row + i];
                    tile[i * unknowns + j] = entry;
                    squares += entry * entry;
                }
                deviation[j] = scale[j] * sqrt(squares);
            }
            if (lane == 0u) {
                // A parameter that stays, other than at a bound, has no influence.
                var at_bound = false;
                for (var j = 0u; j < size; j++) {
                    let there = (at_value[j] <= vector_in[j * bound_stride + bound] || at_value[j] >= vector_in[(unknowns + j) * bound_stride + bound]);
                    at_bound = at_bound || there;
                    if (scale[j] == 0.0 && !there) {
                        singular = 1u;
                    }
                }
                if (status == 1u) {
                    status = select(select(status, 2u, at_bound), 3u, singular != 0u);
                }
            }
            workgroupBarrier();
            if (singular != 0u) {
                for (var j = lane; j < unknowns; j += group_size) {
                    deviation[j] = 0.0;
                }
            }
            break;
        }
        for (var j = lane; j < unknowns; j += group_size) {
            rest[j] = -at_slope[j] * scale[j];
        }
        workgroupBarrier();
        for (var j = 0u; j < size; j++) {
            let y = rest[j] / factor[j * (j + 3u) / 2u];
            for (var i = j + 1u + lane; i < unknowns; i += group_size) {
                rest[i] -= factor[i * (i + 1u) / 2u + j] * y;
            }
            if (lane == 0u) {
                half_step[j] = y;
            }
            workgroupBarrier();
        }
        for (var turn = 0u; turn < size; turn++) {
            let j = size - 1u - turn;
            let z = half_step[j] / factor[j * (j + 3u) / 2u];
            for (var i = lane; i < j; i += group_size) {
                half_step[i] -= factor[j * (j + 1u) / 2u + i] * z;
            }
            if (lane == 0u) {
                solved[j] = z;
            }
            workgroupBarrier();
        }
        // Within bounds.
        for (var j = lane; j < unknowns; j += group_size) {
            let reached = clamp(at_value[j] + scale[j] * solved[j], vector_in[j * bound_stride + bound], vector_in[(unknowns + j) * bound_stride + bound]);
            let change = reached - at_value[j];
            trial[j] = reached;
            changes[j] = select(1u, 0u, abs(change) <= step_tolerance * abs(at_value[j]));
            solved[j] = select(real(0.0), change / select(real(1.0), scale[j], scale[j] != 0.0), scale[j] != 0.0);
        }
        workgroupBarrier();
        for (var i = lane; i < unknowns; i += group_size) {
            var products: real = 0.0;
            for (var j = 0u; j < i; j++) {
                products += at_normal[i * (i + 1u) / 2u + j] * scale[i] * scale[j] * solved[i] * solved[j];
            }
            part[i] = products;
        }
        workgroupBarrier();
        if (lane == 0u) {
            var linear: real = 0.0;
            var squares: real = 0.0;
            var products: real = 0.0;
            still = true;
            for (var j = 0u; j < size; j++) {
                linear += (-at_slope[j] * scale[j]) * solved[j];
                squares += solved[j] * solved[j];
                products += part[j];
                still = still && changes[j] == 0u;
            }
            // Parameters that stay have no part in the model of F.
            predicted = linear - (0.5 * squares + products);
        }
    }
    for (var j = lane; j < unknowns; j += group_size) {
        vector_out[field_of(j) * fits + fit] = at_value[j];
        vector_out[(14u + j) * fits + fit] = deviation[j];
    }
    if (lane == 0u) {
        vector_out[27u * fits + fit] = select(flagged(), at_cost, at_usable);
        vector_out[30u * fits + fit] = damping;
        vector_out[31u * fits + fit] = growth;
        vector_out[28u * fits + fit] = real(iterations);
        vector_out[29u * fits + fit] = real(status);
    }
}
