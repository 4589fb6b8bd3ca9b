// The step that stays within the limits, s = P(x + s) − x, its trial point, and p = s, whose product with JᵀWJ says what the
// model makes of it. Partial sums of gᵀs and sᵀs and maxima of |P(x − g) − x|, the projected gradient.

#import shared/reduce

struct Args {
    // Elements between two kinds of partials.
    distance: u32,
    // First element of the table in the arena.
    arena: u32,
    // First element of the table in vectors.
    vector: u32,
    // First partial of this table.
    partial: u32,
    // Elements of the table.
    elements: u32,
    // 1 if the table has limits.
    limited: u32,
}

@group(0) @binding(1) var<storage, read> point: array<real>;
@group(0) @binding(2) var<storage, read> lower: array<real>;
@group(0) @binding(3) var<storage, read> upper: array<real>;
@group(0) @binding(4) var<storage, read> gradient: array<real>;
@group(0) @binding(5) var<storage, read_write> step: array<real>;
@group(0) @binding(6) var<storage, read_write> trial: array<real>;
@group(0) @binding(7) var<storage, read_write> p: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var gs: real = 0.0;
    var ss: real = 0.0;
    var largest: real = 0.0;
    let run = run_of(group, params.args.elements);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let v = params.args.vector + i;
        let g = gradient[v];
        var s = step[v];
        var projected = g;
        if (params.args.limited != 0u) {
            let x = point[params.args.arena + i];
            let inside = clamp(x + s, lower[v], upper[v]);
            // What is fixed stays where it is, inside or not, and what is not finite is seen.
            if (s != 0.0 && inside != x + s && is_finite(x + s)) {
                s = inside - x;
                step[v] = s;
                trial[params.args.arena + i] = inside;
            }
            if (g != 0.0) {
                projected = clamp(x - g, lower[v], upper[v]) - x;
            }
        }
        p[v] = s;
        gs += g * s;
        ss += s * s;
        largest = max(largest, abs(projected));
    }
    let slope = group_sum(lane, gs);
    let step_norm = group_sum(lane, ss);
    let top = group_max(lane, largest);
    let index = group_index(group);
    if (lane == 0u && index < params.group_count) {
        let to = params.args.partial + index;
        let stride = params.args.distance;
        partials[to] = slope;
        partials[stride + to] = step_norm;
        partials[2u * stride + to] = top;
    }
}
