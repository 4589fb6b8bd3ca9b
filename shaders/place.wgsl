// What `trial` does, for a table on a manifold: x′ comes from the columns that its retraction stored. Partial sums of
// gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx; the first four are over the degrees of freedom, of which there are no more than scalars.
//
// words0: distance of the five kinds of partials, first element of the instances in the arena and in vectors,
//         first partial of these instances
// words1: their degrees of freedom, their scalars, scalars an instance, instances

@group(0) @binding(1) var<storage, read> point: array<real>;
@group(0) @binding(2) var<storage, read> scale: array<real>;
@group(0) @binding(3) var<storage, read> gradient: array<real>;
@group(0) @binding(4) var<storage, read> step: array<real>;
@group(0) @binding(5) var<storage, read_write> trial: array<real>;
@group(0) @binding(6) var<storage, read> residual: array<real>;
@group(0) @binding(7) var<storage, read> columns: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let width = params.words1.z;
    var gs: real = 0.0;
    var sds: real = 0.0;
    var sr: real = 0.0;
    var ss: real = 0.0;
    var xx: real = 0.0;
    let run = run_of(group, params.words1.y);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let x = point[params.words0.y + i];
        trial[params.words0.y + i] = columns[(i % width) * params.words1.w + i / width];
        xx += x * x;
        if (i < params.words1.x) {
            let v = params.words0.z + i;
            let s = step[v];
            gs += gradient[v] * s;
            sds += s * scale[v] * s;
            sr += s * residual[v];
            ss += s * s;
        }
    }
    let slope = group_sum(lane, gs);
    let damped = group_sum(lane, sds);
    let unsolved = group_sum(lane, sr);
    let step_norm = group_sum(lane, ss);
    let point_norm = group_sum(lane, xx);
    let index = group_index(group);
    if (lane == 0u && index < params.group_count) {
        let to = params.words0.w + index;
        let stride = params.words0.x;
        partials[to] = slope;
        partials[stride + to] = damped;
        partials[2u * stride + to] = unsolved;
        partials[3u * stride + to] = step_norm;
        partials[4u * stride + to] = point_norm;
    }
}
