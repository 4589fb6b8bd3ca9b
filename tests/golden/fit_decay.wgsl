@group(0) @binding(2) var<storage, read> data: array<real>;
// The fits of this launch.
@group(0) @binding(3) var<storage, read> index: array<u32>;
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
    h0_0: real,
    h1_1: real,
    h1_0: real,
    usable: bool,
}

fn evaluate(first: u32, points: u32, g0: real, g1: real) -> Sums {
    var cost: real = 0.0;
    var cost_low: real = 0.0;
    var usable = true;
    var d0: real = 0.0;
    var d0_low: real = 0.0;
    var h0_0: real = 0.0;
    var d1: real = 0.0;
    var d1_low: real = 0.0;
    var h1_1: real = 0.0;
    var h1_0: real = 0.0;
    let data_at = 4u + 0u * params.args.points;
    let weights_at = data_at + params.args.total;
    let variables_at = weights_at + params.args.total;
    for (var k = 0u; k < points; k++) {
        let own = first + k * params.args.fits;
        let g2: real = data[variables_at + 0u * params.args.total + own];
        let g3: real = data[data_at + own];
        let g4: real = data[weights_at + own];
        let v0: real = g3;
        let v1: real = 0.0;
        let v2: real = select(real(0), real(1), v1 < v0);
        let v3: real = 1.0;
        let v4: real = select(v3, v0, v2 != 0.0);
        let v5: real = g2;
        let v6: real = g1;
        let v7: real = v6 * v5;
        let v8: real = -v7;
        let v9: real = exponential(v8);
        let v10: real = g0;
        let v11: real = v10 * v9;
        let v12: real = v11 - v0;
        let v13: real = v12 / v4;
        let v14: real = select(v1, v13, v2 != 0.0);
        let v15: real = log1p(v14);
        let v16: real = v0 * v15;
        let v17: real = v12 - v16;
        let v18: real = g4;
        let v19: real = v18 * v17;
        let v20: real = v12 / v11;
        let v21: real = v18 * v20;
        let v22: real = v18 / v11;
        let v23: real = select(real(0), real(1), v4 < v1);
        let v24: real = select(real(0), real(1), v1 < v4);
        let v25: real = select(real(0), real(1), (v24 != 0.0) | (v23 != 0.0));
        let v26: real = select(real(0), real(1), v2 == 0.0);
        let v27: real = select(real(0), real(1), (v25 != 0.0) | (v26 != 0.0));
        let v28: real = (-1.0);
        let v29: real = select(real(0), real(1), v28 < v14);
        let v30: real = select(real(0), real(1), (v27 != 0.0) & (v29 != 0.0));
        let v31: real = select(real(0), real(1), v11 < v1);
        let v32: real = select(real(0), real(1), v1 < v11);
        let v33: real = select(real(0), real(1), (v32 != 0.0) | (v31 != 0.0));
        let v34: real = select(real(0), real(1), (v30 != 0.0) & (v33 != 0.0));
        let v35: real = select(real(0), real(1), (v33 != 0.0) & (v34 != 0.0));
        let v36: real = select(real(0), real(1), v1 <= v0);
        let v37: real = select(real(0), real(1), (v32 != 0.0) & (v36 != 0.0));
        let v38: real = select(real(0), real(1), (v37 != 0.0) & (v35 != 0.0));
        let v39: real = select(real(0), real(1), is_finite(v5));
        let v40: real = select(real(0), real(1), (v38 != 0.0) & (v39 != 0.0));
        let v41: real = select(real(0), real(1), is_finite(v0));
        let v42: real = select(real(0), real(1), (v40 != 0.0) & (v41 != 0.0));
        let v43: real = select(real(0), real(1), is_finite(v18));
        let v44: real = select(real(0), real(1), (v42 != 0.0) & (v43 != 0.0));
        let v45: real = v5 * v11;
        let v46: real = -v45;
        usable = usable && v44 != 0.0;
        {
            let addend = v19 - cost_low;
            let next = opaque(cost + addend);
            cost_low = opaque(next - cost) - addend;
            cost = next;
        }
        {
            let addend = v21 * v9 - d0_low;
            let next = opaque(d0 + addend);
            d0_low = opaque(next - d0) - addend;
            d0 = next;
        }
        let k0 = v22 * v9;
        h0_0 += k0 * v9;
        {
            let addend = v21 * v46 - d1_low;
            let next = opaque(d1 + addend);
            d1_low = opaque(next - d1) - addend;
            d1 = next;
        }
        let k1 = v22 * v46;
        h1_0 += k1 * v9;
        h1_1 += k1 * v46;
    }
    usable = usable && is_finite(cost);
    usable = usable && is_finite(d0) && is_finite(h0_0);
    usable = usable && is_finite(d1) && is_finite(h1_1);
    return Sums(cost, d0, d1, h0_0, h1_1, h1_0, usable);
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let fit = index[i];
    let fits = params.args.fits;
    let points = params.args.points;
    let first = fit;
    let least_curvature = real(1e-30);
    let cost_tolerance: real = data[0];
    let step_tolerance: real = data[1];
    let noise: real = data[2];
    let rank: real = data[3];
    var g0: real = vector_out[0u * fits + fit];
    var g1: real = vector_out[1u * fits + fit];
    var damping: real = vector_out[7u * fits + fit];
    var growth: real = vector_out[8u * fits + fit];
    if (damping == 0.0) {
        damping = 1e-3;
        growth = 2.0;
    }
    var iterations = u32(vector_out[5u * fits + fit]);
    var status = 0u;
    var q0 = g0;
    var error0: real = 0.0;
    var q1 = g1;
    var error1: real = 0.0;
    var at = Sums();
    var regular = true;
    var still = false;
    var predicted: real = 0.0;
    for (var round = 0u; ; round++) {
        let trial = evaluate(first, points, q0, q1);
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
        let moves0 = at.h0_0 > least_curvature;
        let s0 = select(real(0.0), 1.0 / sqrt(max(at.h0_0, least_curvature)), moves0);
        let moves1 = at.h1_1 > least_curvature;
        let s1 = select(real(0.0), 1.0 / sqrt(max(at.h1_1, least_curvature)), moves1);
        let c1_0 = at.h1_0 * s1 * s0;
        regular = true;
        let diagonal = select(1.0 + damping, real(1.0), over);
        let least = select(real(0.0), rank, over);
        let pivot0 = diagonal;
        regular = regular && pivot0 > least;
        let l0_0 = sqrt(select(real(1.0), pivot0, pivot0 > least));
        let l1_0 = (c1_0) / l0_0;
        let pivot1 = diagonal - l1_0 * l1_0;
        regular = regular && pivot1 > least;
        let l1_1 = sqrt(select(real(1.0), pivot1, pivot1 > least));
        if (over) {
            regular = regular && (moves0);
            regular = regular && (moves1);
            let w0_0 = 1.0 / l0_0;
            let w1_0 = -(l1_0 * w0_0) / l1_1;
            let w1_1 = 1.0 / l1_1;
            if (regular) {
                error0 = s0 * sqrt(w0_0 * w0_0 + w1_0 * w1_0);
                error1 = s1 * sqrt(w1_1 * w1_1);
            } else if (status == 1u) {
                status = 3u;
            }
            break;
        }
        let b0 = -at.d0 * s0;
        let y0 = (b0) / l0_0;
        let b1 = -at.d1 * s1;
        let y1 = (b1 - l1_0 * y0) / l1_1;
        let z1 = (y1) / l1_1;
        let z0 = (y0 - l1_0 * z1) / l0_0;
        still = true;
        let e0 = s0 * z0;
        q0 = g0 + e0;
        let m0 = z0;
        still = still && abs(e0) <= step_tolerance * abs(g0);
        let e1 = s1 * z1;
        q1 = g1 + e1;
        let m1 = z1;
        still = still && abs(e1) <= step_tolerance * abs(g1);
        predicted = b0 * m0 + b1 * m1 - (0.5 * (m0 * m0 + m1 * m1) + c1_0 * m1 * m0);
    }
    vector_out[0u * fits + fit] = g0;
    vector_out[2u * fits + fit] = error0;
    vector_out[1u * fits + fit] = g1;
    vector_out[3u * fits + fit] = error1;
    vector_out[4u * fits + fit] = select(flagged(), at.cost, at.usable);
    vector_out[7u * fits + fit] = damping;
    vector_out[8u * fits + fit] = growth;
    vector_out[5u * fits + fit] = real(iterations);
    vector_out[6u * fits + fit] = real(status);
}
