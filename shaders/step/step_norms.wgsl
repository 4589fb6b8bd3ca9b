// How far a step goes: partial sums of sᵀDs and xᵀDx.

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
}

@group(0) @binding(1) var<storage, read> point: array<real>;
@group(0) @binding(2) var<storage, read> scale: array<real>;
@group(0) @binding(4) var<storage, read> step: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var sds: real = 0.0;
    var xdx: real = 0.0;
    let run = run_of(group, params.args.elements);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let d = scale[params.args.vector + i];
        let s = step[params.args.vector + i];
        let x = point[params.args.arena + i];
        sds += s * d * s;
        xdx += x * d * x;
    }
    let of_step = group_sum(lane, sds);
    let of_point = group_sum(lane, xdx);
    let index = group_index(group);
    if (lane == 0u && index < params.group_count) {
        partials[params.args.partial + index] = of_step;
        partials[params.args.distance + params.args.partial + index] = of_point;
    }
}
