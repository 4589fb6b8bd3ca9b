// The second half of a product with JᵀWJ + λD in conjugate gradients, for the unknowns of all tables, and what comes before and behind:
//
//   β = rᵀz / (rᵀz before),  p = z + βp,  q = (JᵀWJ + λD)z + βq = (JᵀWJ + λD)p;  partial sums of pᵀq.
//
// Every unknown adds up what the instances of all batches contribute to it, along one list. One item is one element. The columns are
// those of z, so the first half need not wait for β.
//
// Every workgroup adds the partial sums of rᵀz up by itself, in the same order: to have them would take another dispatch. So every one
// knows whether the system is solved well enough, as `pcg/beta` does; the first one notes it. Then nothing is done, in this dispatch or
// in those behind it.

#import shared/reduce
#import state/solver

struct Args {
    // Unknowns, and what is between tables.
    elements: u32,
    // Tables.
    tables: u32,
    // First word of the variables' starts, one more than there are variables.
    starts: u32,
    // First word of the entries: the place among the columns, and in the lowest bits the kind of contribution.
    entries: u32,
    // Bits of a kind.
    kind_bits: u32,
    // Vectors that are added as they are, behind λD.
    vectors: u32,
    // Elements between two of them.
    length: u32,
    // Partials of rᵀz.
    partial_count: u32,
    // First partial of pᵀq.
    curvature: u32,
    // Partial of rᵀz that goes on, 0 once solved; rᵀz before is the next one, then 1 if there was no curvature along p.
    control: u32,
}

// λD, −1 where something is fixed; then vectors.
@group(0) @binding(1) var<storage, read> vectors: array<real>;
@group(0) @binding(2) var<storage, read> z: array<real>;
@group(0) @binding(3) var<storage, read> incidence: array<u32>;
@group(0) @binding(4) var<storage, read> columns: array<real>;
@group(0) @binding(5) var<storage, read_write> p: array<real>;
@group(0) @binding(6) var<storage, read_write> q: array<real>;
@group(0) @binding(7) var<storage, read_write> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

// Contribution of an entry to a component, whose code in the first kind is at `map`.
fn contribution(entry: u32, map: u32, width: u32) -> real {
    let bits = params.args.kind_bits;
    let code = incidence[map + (entry & ((1u << bits) - 1u)) * width];
    if (code == 0u) {
        return 0.0;
    }
    let value = columns[(code & 0x7fffffffu) - 1u + (entry >> bits)];
    return select(value, -value, (code >> 31u) != 0u);
}

// Sum of what the vectors and the instances of all batches contribute to an element; 0 between two tables.
fn gathered(i: u32) -> real {
    var t = 0u;
    while (t + 1u < params.args.tables && incidence[6u * t + 6u] <= i) {
        t++;
    }
    let width = incidence[6u * t + 1u];
    let variable = (i - incidence[6u * t]) / width;
    if (variable >= incidence[6u * t + 5u]) {
        return 0.0;
    }
    let map = incidence[6u * t + 4u] + i - incidence[6u * t] - variable * width;
    let row = params.args.starts + incidence[6u * t + 3u] + variable;
    let start = params.args.entries + incidence[row];
    let end = params.args.entries + incidence[row + 1u];
    var sum: real = 0.0;
    for (var k = 1u; k <= params.args.vectors; k++) {
        sum += vectors[k * params.args.length + i];
    }
    // Four at a time, so that their values are on their way together.
    for (var e = start; e < end; e += 4u) {
        let last = end - 1u;
        let first = incidence[e];
        let second = incidence[min(e + 1u, last)];
        let third = incidence[min(e + 2u, last)];
        let fourth = incidence[min(e + 3u, last)];
        let values = array<real, 4>(
            contribution(first, map, width),
            contribution(second, map, width),
            contribution(third, map, width),
            contribution(fourth, map, width),
        );
        sum += values[0];
        sum += select(real(0.0), values[1], e + 1u < end);
        sum += select(real(0.0), values[2], e + 2u < end);
        sum += select(real(0.0), values[3], e + 3u < end);
    }
    return sum;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let run = run_of(group, params.args.elements);
    // A lane's first element is on its way while rᵀz is added up.
    var sum: real = 0.0;
    if (run.start + lane < run.end) {
        sum = gathered(run.start + lane);
    }
    var part: real = 0.0;
    for (var k = lane; k < params.args.partial_count; k += group_size) {
        part += partials[k];
    }
    let rz = group_sum(lane, part);
    let before = partials[params.args.control + 1u];
    let is_first = before == 0.0;
    let is_solved = !is_first && rz <= state[FORCING] * state[FORCING] * state[RZ_START];
    let goes_on = is_finite(rz) && rz > 0.0 && !is_solved && partials[params.args.control + 2u] == 0.0;
    let g = group_index(group);
    if (lane == 0u && g == 0u) {
        partials[params.args.control] = select(real(0.0), rz, goes_on);
        if (goes_on) {
            state[RZ] = rz;
            state[INNER] += 1.0;
        } else {
            state[SOLVED] = 1.0;
        }
    }
    var along: real = 0.0;
    if (goes_on) {
        var beta: real = 0.0;
        if (!is_first) {
            beta = rz / before;
        }
        for (var i = run.start + lane; i < run.end; i += group_size) {
            if (i >= run.start + group_size) {
                sum = gathered(i);
            }
            let diagonal = vectors[i];
            var direction = z[i];
            var product: real = diagonal * direction + sum;
            // The first direction does not look at p and q: they may hold anything.
            if (!is_first) {
                product += beta * q[i];
                direction += beta * p[i];
            }
            if (diagonal < 0.0) {
                product = 0.0;
            }
            p[i] = direction;
            q[i] = product;
            along += direction * product;
        }
    }
    let total = group_sum(lane, along);
    if (lane == 0u && g < params.group_count && goes_on) {
        partials[params.args.curvature + g] = total;
    }
}
