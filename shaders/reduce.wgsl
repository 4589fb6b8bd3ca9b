// Reductions over one workgroup: a fixed tree, so the same input gives the same bits.

var<workgroup> scratch: array<real, group_size>;
var<workgroup> scratch_low: array<real, group_size>;

fn group_sum(lane: u32, value: real) -> real {
    scratch[lane] = value;
    workgroupBarrier();
    for (var half = group_size / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            scratch[lane] += scratch[lane + half];
        }
        workgroupBarrier();
    }
    let total = scratch[0];
    workgroupBarrier();
    return total;
}

fn group_max(lane: u32, value: real) -> real {
    scratch[lane] = value;
    workgroupBarrier();
    for (var half = group_size / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            scratch[lane] = max(scratch[lane], scratch[lane + half]);
        }
        workgroupBarrier();
    }
    let largest = scratch[0];
    workgroupBarrier();
    return largest;
}

// A sum and what rounding took from it (Knuth's two-sum; the barrier keeps compilers from "simplifying" it to 0).
struct Exact {
    high: real,
    low: real,
}

fn exact_add(a: Exact, b: Exact) -> Exact {
    let sum = opaque(a.high + b.high);
    let part = opaque(sum - a.high);
    let rest = opaque(a.high - opaque(sum - part)) + opaque(b.high - part);
    return Exact(sum, opaque(rest) + (a.low + b.low));
}

fn group_sum_exact(lane: u32, value: Exact) -> Exact {
    scratch[lane] = value.high;
    scratch_low[lane] = value.low;
    workgroupBarrier();
    for (var half = group_size / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            let other = Exact(scratch[lane + half], scratch_low[lane + half]);
            let sum = exact_add(Exact(scratch[lane], scratch_low[lane]), other);
            scratch[lane] = sum.high;
            scratch_low[lane] = sum.low;
        }
        workgroupBarrier();
    }
    let total = Exact(scratch[0], scratch_low[0]);
    workgroupBarrier();
    return total;
}
