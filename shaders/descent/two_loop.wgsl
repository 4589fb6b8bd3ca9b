// The next direction, as coefficients of s₀ …, y₀ …, g, from nothing but these vectors' inner products (the two loops of
// Nocedal & Wright 2006, algorithm 7.4, in the form of Chen, Wang & Zhou, Large-scale L-BFGS using MapReduce, 2014); for
// conjugate gradients Hager & Zhang's β (2005) with the bound of their CG_DESCENT 6.0; for gradient descent −g, whose first
// trial is as long as Barzilai & Borwein (1988) say. One workgroup.
//
// The new state: φ′(0) = gᵀd, and the first α to try. That is 1 for L-BFGS; along −g without a history it is the step to the
// least of a parabola through the cost that touches 0, and no farther than the point is from the origin.

#import state/solver

struct Args {
    // Runs of partial sums.
    runs: u32,
    // Pairs that are kept.
    pairs: u32,
    // The rule, as in `line_search`.
    rule: u32,
    // 1 if there are products of all vectors.
    all: u32,
}

@group(0) @binding(4) var<storage, read> products: array<real>;
@group(0) @binding(5) var<storage, read_write> gram: array<real>;
@group(0) @binding(6) var<storage, read_write> coefficients: array<real>;
@group(0) @binding(7) var<storage, read_write> state: array<real>;

// Vectors of the history at most, and pairs.
const most_vectors: u32 = 41u;
const most_pairs: u32 = 20u;

var<private> factors: array<real, most_vectors>;
var<private> along: array<real, most_pairs>;

fn against(column: u32, vectors: u32) -> real {
    var sum: real = 0.0;
    for (var j = 0u; j < vectors; j++) {
        if (factors[j] != 0.0) {
            sum += factors[j] * gram[j * vectors + column];
        }
    }
    return sum;
}

// What the pair promises to know: sᵀy, unless it is no curvature where limits leave to move.
fn curvature(pair: u32, pairs: u32, vectors: u32) -> real {
    let sy = gram[pair * vectors + pairs + pair];
    let ss = gram[pair * vectors + pair];
    let yy = gram[(pairs + pair) * vectors + pairs + pair];
    if (sy > state[EPSILON] * sqrt(ss * yy)) {
        return sy;
    }
    return 0.0;
}

fn lbfgs(kept: u32, pairs: u32, vectors: u32) {
    let newest = u32(state[NEWEST]);
    var scale: real = 0.0;
    for (var k = 0u; k < kept; k++) {
        let i = (newest + pairs - k) % pairs;
        let sy = curvature(i, pairs, vectors);
        along[i] = 0.0;
        if (sy > 0.0) {
            along[i] = against(i, vectors) / sy;
            factors[pairs + i] -= along[i];
            if (scale == 0.0) {
                scale = sy / gram[(pairs + i) * vectors + pairs + i];
            }
        }
    }
    if (scale > 0.0) {
        for (var j = 0u; j < vectors; j++) {
            factors[j] *= scale;
        }
    }
    for (var k = kept; k > 0u; k--) {
        let i = (newest + pairs + 1u - k) % pairs;
        let sy = curvature(i, pairs, vectors);
        if (sy > 0.0) {
            factors[i] += along[i] - against(pairs + i, vectors) / sy;
        }
    }
}

fn conjugate(pairs: u32, vectors: u32) {
    let s = u32(state[NEWEST]);
    let y = pairs + s;
    let g = 2u * pairs;
    let sy = curvature(s, pairs, vectors);
    if (sy > 0.0) {
        let sg = gram[s * vectors + g];
        let beta = (gram[y * vectors + g] - 2.0 * sg * gram[y * vectors + y] / sy) / sy;
        factors[s] = max(beta, 0.4 * (sg - sy) / gram[s * vectors + s]);
    }
}

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    let runs = params.args.runs;
    let pairs = params.args.pairs;
    let rule = params.args.rule;
    let all_rows = params.args.all != 0u;
    let vectors = 2u * pairs + 1u;
    let rows = select(3u, vectors, all_rows);
    let newest = u32(state[NEWEST]);
    let turning = state[TURNING] != 0.0;
    let kinds = select(0u, rows * vectors, turning);
    for (var kind = lane; kind < kinds; kind += group_size) {
        var sum: real = 0.0;
        for (var run = 0u; run < runs; run++) {
            sum += products[run * rows * vectors + kind];
        }
        let r = kind / vectors;
        let column = kind % vectors;
        var row = r;
        if (!all_rows) {
            row = select(2u * pairs, newest + r * pairs, r < 2u);
        }
        gram[row * vectors + column] = sum;
        let is_row = all_rows || column == newest || column == pairs + newest || column == 2u * pairs;
        if (!is_row) {
            gram[column * vectors + row] = sum;
        }
    }
    storageBarrier();
    workgroupBarrier();
    if (lane != 0u || !turning) {
        return;
    }
    let g = 2u * pairs;
    let kept = u32(state[PAIRS]);
    for (var j = 0u; j < vectors; j++) {
        factors[j] = 0.0;
    }
    factors[g] = -1.0;
    if (kept > 0u) {
        if (rule == 0u) {
            lbfgs(kept, pairs, vectors);
        } else if (rule == 1u) {
            conjugate(pairs, vectors);
        }
    }
    var slope = against(g, vectors);
    let squared = gram[g * vectors + g];
    if (!(slope < 0.0) || !is_finite(slope)) {
        for (var j = 0u; j < vectors; j++) {
            factors[j] = 0.0;
        }
        factors[g] = -1.0;
        slope = -squared;
        state[PAIRS] = 0.0;
    }
    var length: real = 1.0;
    let before = state[LENGTH_BEFORE];
    if (state[PAIRS] == 0.0 || rule != 0u) {
        let sy = gram[newest * vectors + pairs + newest];
        if (before > 0.0 && rule == 1u) {
            length = min(before * state[SLOPE_BEFORE] / slope, 10.0 * before);
        } else if (state[PAIRS] > 0.0 && rule == 2u && sy > 0.0) {
            length = gram[newest * vectors + newest] / sy;
        } else if (squared > 0.0) {
            let far = sqrt(squared);
            length = 1.0 / far;
            if (state[COST] != 0.0) {
                length = 2.0 * abs(state[COST]) / squared;
            }
            if (state[POINT_NORM] > 0.0) {
                length = min(length, state[POINT_NORM] / far);
            }
        }
    }
    for (var j = 0u; j < vectors; j++) {
        coefficients[j] = factors[j];
    }
    state[SLOPE] = slope;
    state[LENGTH] = length;
}
