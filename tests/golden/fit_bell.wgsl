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

// F with its low part, gradient, and the lower triangle of the normal matrix.
struct Sums {
    cost: real,
    d0: real,
    d1: real,
    d2: real,
    h0_0: real,
    h1_1: real,
    h2_2: real,
    h1_0: real,
    h2_0: real,
    h2_1: real,
    usable: bool,
}

fn evaluate(first: u32, points: u32, g0: real, g1: real, g2: real, g3: real) -> Sums {
    var cost: real = 0.0;
    var cost_low: real = 0.0;
    var usable = true;
    var d0: real = 0.0;
    var d0_low: real = 0.0;
    var h0_0: real = 0.0;
    var d1: real = 0.0;
    var d1_low: real = 0.0;
    var h1_1: real = 0.0;
    var d2: real = 0.0;
    var d2_low: real = 0.0;
    var h2_2: real = 0.0;
    var h1_0: real = 0.0;
    var h2_0: real = 0.0;
    var h2_1: real = 0.0;
    let data_at = 4u + 1u * params.args.points;
    let weights_at = data_at + params.args.total;
    for (var k = 0u; k < points; k++) {
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
        usable = usable && v95 != 0.0;
        {
            let addend = v26 - cost_low;
            let next = opaque(cost + addend);
            cost_low = opaque(next - cost) - addend;
            cost = next;
        }
        {
            let addend = v35 * v8 - d0_low;
            let next = opaque(d0 + addend);
            d0_low = opaque(next - d0) - addend;
            d0 = next;
        }
        let k0 = v56 * v8;
        h0_0 += k0 * v8;
        {
            let addend = v35 * v100 - d1_low;
            let next = opaque(d1 + addend);
            d1_low = opaque(next - d1) - addend;
            d1 = next;
        }
        let k1 = v56 * v100;
        h1_0 += k1 * v8;
        h1_1 += k1 * v100;
        {
            let addend = v35 * v102 - d2_low;
            let next = opaque(d2 + addend);
            d2_low = opaque(next - d2) - addend;
            d2 = next;
        }
        let k2 = v56 * v102;
        h2_0 += k2 * v8;
        h2_1 += k2 * v100;
        h2_2 += k2 * v102;
    }
    usable = usable && is_finite(cost);
    usable = usable && is_finite(d0) && is_finite(h0_0);
    usable = usable && is_finite(d1) && is_finite(h1_1);
    usable = usable && is_finite(d2) && is_finite(h2_2);
    return Sums(cost, d0, d1, d2, h0_0, h1_1, h2_2, h1_0, h2_0, h2_1, usable);
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let fit = index[i];
    let fits = params.args.fits;
    let first = arena[fit];
    let points = arena[fit + 1u] - first;
    let least_curvature = real(1e-30);
    let cost_tolerance: real = data[0];
    let step_tolerance: real = data[1];
    let noise: real = data[2];
    let rank: real = data[3];
    let bound_stride = select(1u, fits, params.args.each != 0u);
    let bound = fit * params.args.each;
    let lower0: real = vector_in[0u * bound_stride + bound];
    let upper0: real = vector_in[3u * bound_stride + bound];
    let lower1: real = vector_in[1u * bound_stride + bound];
    let upper1: real = vector_in[4u * bound_stride + bound];
    let lower2: real = vector_in[2u * bound_stride + bound];
    let upper2: real = vector_in[5u * bound_stride + bound];
    var g0: real = clamp(vector_out[0u * fits + fit], lower0, upper0);
    var g1: real = clamp(vector_out[1u * fits + fit], lower1, upper1);
    var g2: real = clamp(vector_out[2u * fits + fit], lower2, upper2);
    let g3: real = vector_out[3u * fits + fit];
    var damping: real = vector_out[10u * fits + fit];
    var growth: real = vector_out[11u * fits + fit];
    if (damping == 0.0) {
        damping = 1e-3;
        growth = 2.0;
    }
    var iterations = u32(vector_out[8u * fits + fit]);
    var status = 0u;
    var q0 = g0;
    var error0: real = 0.0;
    var q1 = g1;
    var error1: real = 0.0;
    var q2 = g2;
    var error2: real = 0.0;
    var at = Sums();
    var regular = true;
    var still = false;
    var predicted: real = 0.0;
    for (var round = 0u; ; round++) {
        let trial = evaluate(first, points, q0, q1, q2, g3);
        if (round == 0u) {
            at = trial;
            if (!trial.usable) {
                status = 4u;
            }
        } else if (!regular) {
            damping *= growth;
            growth *= 2.0;
            if (damping > 1e16) {
                status = 3u;
            }
        } else {
            let change = at.cost - trial.cost;
            let small = abs(predicted) <= cost_tolerance * at.cost;
            let room = noise * at.cost;
            let improves = predicted > 0.0 && change >= 1e-4 * predicted;
            let even = abs(predicted) <= room && change >= -room;
            if (trial.usable && (improves || even)) {
                let gain = 2.0 * min(max(change / max(predicted, real(1e-37)), 0.0), 1.0) - 1.0;
                damping *= max(real(1.0) / 3.0, 1.0 - gain * gain * gain);
                growth = 2.0;
                g0 = q0;
                g1 = q1;
                g2 = q2;
                at = trial;
            } else {
                damping *= growth;
                growth *= 2.0;
            }
            if (trial.usable && (small || still)) {
                status = 1u;
            } else if (damping > 1e16) {
                status = select(4u, 1u, trial.usable);
            }
        }
        if (status == 0u && round < params.args.rounds) {
            if (iterations >= params.args.most) {
                status = 5u;
            } else {
                iterations++;
            }
        }
        let over = status == 1u || status == 5u;
        if (!over && (status != 0u || round >= params.args.rounds)) {
            break;
        }
        let moves0 = at.h0_0 > least_curvature && !((g0 <= lower0 && at.d0 > 0.0) || (g0 >= upper0 && at.d0 < 0.0));
        let s0 = select(real(0.0), 1.0 / sqrt(max(at.h0_0, least_curvature)), moves0);
        let moves1 = at.h1_1 > least_curvature && !((g1 <= lower1 && at.d1 > 0.0) || (g1 >= upper1 && at.d1 < 0.0));
        let s1 = select(real(0.0), 1.0 / sqrt(max(at.h1_1, least_curvature)), moves1);
        let moves2 = at.h2_2 > least_curvature && !((g2 <= lower2 && at.d2 > 0.0) || (g2 >= upper2 && at.d2 < 0.0));
        let s2 = select(real(0.0), 1.0 / sqrt(max(at.h2_2, least_curvature)), moves2);
        let c1_0 = at.h1_0 * s1 * s0;
        let c2_0 = at.h2_0 * s2 * s0;
        let c2_1 = at.h2_1 * s2 * s1;
        regular = true;
        let diagonal = select(1.0 + damping, real(1.0), over);
        let least = select(real(0.0), rank, over);
        let pivot0 = diagonal;
        regular = regular && pivot0 > least;
        let l0_0 = sqrt(select(real(1.0), pivot0, pivot0 > least));
        let l1_0 = (c1_0) / l0_0;
        let l2_0 = (c2_0) / l0_0;
        let pivot1 = diagonal - l1_0 * l1_0;
        regular = regular && pivot1 > least;
        let l1_1 = sqrt(select(real(1.0), pivot1, pivot1 > least));
        let l2_1 = (c2_1 - l2_0 * l1_0) / l1_1;
        let pivot2 = diagonal - l2_0 * l2_0 - l2_1 * l2_1;
        regular = regular && pivot2 > least;
        let l2_2 = sqrt(select(real(1.0), pivot2, pivot2 > least));
        if (over) {
            regular = regular && (moves0 || g0 <= lower0 || g0 >= upper0);
            regular = regular && (moves1 || g1 <= lower1 || g1 >= upper1);
            regular = regular && (moves2 || g2 <= lower2 || g2 >= upper2);
            let w0_0 = 1.0 / l0_0;
            let w1_0 = -(l1_0 * w0_0) / l1_1;
            let w2_0 = -(l2_0 * w0_0 + l2_1 * w1_0) / l2_2;
            let w1_1 = 1.0 / l1_1;
            let w2_1 = -(l2_1 * w1_1) / l2_2;
            let w2_2 = 1.0 / l2_2;
            if (regular) {
                error0 = s0 * sqrt(w0_0 * w0_0 + w1_0 * w1_0 + w2_0 * w2_0);
                error1 = s1 * sqrt(w1_1 * w1_1 + w2_1 * w2_1);
                error2 = s2 * sqrt(w2_2 * w2_2);
                if (status == 1u && (g0 <= lower0 || g0 >= upper0 || g1 <= lower1 || g1 >= upper1 || g2 <= lower2 || g2 >= upper2)) {
                    status = 2u;
                }
            } else if (status == 1u) {
                status = 3u;
            }
            break;
        }
        let b0 = -at.d0 * s0;
        let y0 = (b0) / l0_0;
        let b1 = -at.d1 * s1;
        let y1 = (b1 - l1_0 * y0) / l1_1;
        let b2 = -at.d2 * s2;
        let y2 = (b2 - l2_0 * y0 - l2_1 * y1) / l2_2;
        let z2 = (y2) / l2_2;
        let z1 = (y1 - l2_1 * z2) / l1_1;
        let z0 = (y0 - l1_0 * z1 - l2_0 * z2) / l0_0;
        still = true;
        q0 = clamp(g0 + s0 * z0, lower0, upper0);
        let e0 = q0 - g0;
        let m0 = select(real(0.0), e0 / select(real(1.0), s0, moves0), moves0);
        still = still && abs(e0) <= step_tolerance * abs(g0);
        q1 = clamp(g1 + s1 * z1, lower1, upper1);
        let e1 = q1 - g1;
        let m1 = select(real(0.0), e1 / select(real(1.0), s1, moves1), moves1);
        still = still && abs(e1) <= step_tolerance * abs(g1);
        q2 = clamp(g2 + s2 * z2, lower2, upper2);
        let e2 = q2 - g2;
        let m2 = select(real(0.0), e2 / select(real(1.0), s2, moves2), moves2);
        still = still && abs(e2) <= step_tolerance * abs(g2);
        predicted = b0 * m0 + b1 * m1 + b2 * m2 - (0.5 * (m0 * m0 + m1 * m1 + m2 * m2) + c1_0 * m1 * m0 + c2_0 * m2 * m0 + c2_1 * m2 * m1);
    }
    vector_out[0u * fits + fit] = g0;
    vector_out[4u * fits + fit] = error0;
    vector_out[1u * fits + fit] = g1;
    vector_out[5u * fits + fit] = error1;
    vector_out[2u * fits + fit] = g2;
    vector_out[6u * fits + fit] = error2;
    vector_out[7u * fits + fit] = select(flagged(), at.cost, at.usable);
    vector_out[10u * fits + fit] = damping;
    vector_out[11u * fits + fit] = growth;
    vector_out[8u * fits + fit] = real(iterations);
    vector_out[9u * fits + fit] = real(status);
}
