// Reductions over one workgroup: a fixed tree, so the same input gives the same bits. Its fan-in is 16, not 2: two
// barriers instead of eight, which is as fast on a GPU and much faster where barriers are emulated. Loops have constant lengths,
// so compilers load all that a lane adds up at once: workgroups are multiples of the fan-in.

const fan_in: u32 = 16u;

var<workgroup> scratch: array<real, group_size>;
var<workgroup> scratch_low: array<real, group_size>;

// The elements of a workgroup: a run of whole rounds of its lanes, so that a CPU can hand runs to threads. What a 2-D grid has
// beyond its workgroups has none.
struct Run {
    start: u32,
    end: u32,
}

fn run_of(group: vec3<u32>, elements: u32) -> Run {
    let length = (elements + params.count - 1u) / params.count * group_size;
    let start = min(group_index(group) * length, elements);
    return Run(start, min(start + length, elements));
}

fn group_sum(lane: u32, value: real) -> real {
    scratch[lane] = value;
    workgroupBarrier();
    if (lane % fan_in == 0u) {
        var sum = scratch[lane];
        for (var k = 1u; k < fan_in; k++) {
            sum += scratch[lane + k];
        }
        scratch[lane] = sum;
    }
    workgroupBarrier();
    var total = scratch[0];
    for (var k = fan_in; k < group_size; k += fan_in) {
        total += scratch[k];
    }
    workgroupBarrier();
    return total;
}

// Two sums at once.
fn group_sums(lane: u32, first: real, second: real) -> vec2<real> {
    scratch[lane] = first;
    scratch_low[lane] = second;
    workgroupBarrier();
    if (lane % fan_in == 0u) {
        var sum = vec2<real>(scratch[lane], scratch_low[lane]);
        for (var k = 1u; k < fan_in; k++) {
            sum += vec2<real>(scratch[lane + k], scratch_low[lane + k]);
        }
        scratch[lane] = sum.x;
        scratch_low[lane] = sum.y;
    }
    workgroupBarrier();
    var total = vec2<real>(scratch[0], scratch_low[0]);
    for (var k = fan_in; k < group_size; k += fan_in) {
        total += vec2<real>(scratch[k], scratch_low[k]);
    }
    workgroupBarrier();
    return total;
}

fn group_max(lane: u32, value: real) -> real {
    scratch[lane] = value;
    workgroupBarrier();
    if (lane % fan_in == 0u) {
        var largest = scratch[lane];
        for (var k = 1u; k < fan_in; k++) {
            largest = max(largest, scratch[lane + k]);
        }
        scratch[lane] = largest;
    }
    workgroupBarrier();
    var total = scratch[0];
    for (var k = fan_in; k < group_size; k += fan_in) {
        total = max(total, scratch[k]);
    }
    workgroupBarrier();
    return total;
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
    if (lane % fan_in == 0u) {
        var sum = value;
        for (var k = 1u; k < fan_in; k++) {
            sum = exact_add(sum, Exact(scratch[lane + k], scratch_low[lane + k]));
        }
        scratch[lane] = sum.high;
        scratch_low[lane] = sum.low;
    }
    workgroupBarrier();
    var total = Exact(scratch[0], scratch_low[0]);
    for (var k = fan_in; k < group_size; k += fan_in) {
        total = exact_add(total, Exact(scratch[k], scratch_low[k]));
    }
    workgroupBarrier();
    return total;
}
