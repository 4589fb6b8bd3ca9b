// How far a step goes: partial sums of sᵀDs and xᵀDx.
//
// words0: distance of the two kinds of partials, first element of the table in the arena and in vectors,
//         first partial of this table
// words1: number of elements

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
    let run = run_of(group, params.words1.x);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let d = scale[params.words0.z + i];
        let s = step[params.words0.z + i];
        let x = point[params.words0.y + i];
        sds += s * d * s;
        xdx += x * d * x;
    }
    let of_step = group_sum(lane, sds);
    let of_point = group_sum(lane, xdx);
    let index = group_index(group);
    if (lane == 0u && index < params.group_count) {
        partials[params.words0.w + index] = of_step;
        partials[params.words0.x + params.words0.w + index] = of_point;
    }
}
