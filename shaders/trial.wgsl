// The trial point x′ = x + s, and partial sums of gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx. One item is one element.
//
// words0: distance of the five kinds of partials, first element of the table in the arena and in vectors,
//         first partial of this table

@group(0) @binding(1) var<storage, read> point: array<real>;
@group(0) @binding(2) var<storage, read> scale: array<real>;
@group(0) @binding(3) var<storage, read> gradient: array<real>;
@group(0) @binding(4) var<storage, read> step: array<real>;
@group(0) @binding(5) var<storage, read_write> trial: array<real>;
@group(0) @binding(6) var<storage, read> residual: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let i = item(id);
    var s: real = 0.0;
    var x: real = 0.0;
    var d: real = 0.0;
    var g: real = 0.0;
    var r: real = 0.0;
    if (i < params.count) {
        let v = params.words0.z + i;
        s = step[v];
        x = point[params.words0.y + i];
        d = scale[v];
        g = gradient[v];
        r = residual[v];
        trial[params.words0.y + i] = x + s;
    }
    let slope = group_sum(lane, g * s);
    let damped = group_sum(lane, s * d * s);
    let unsolved = group_sum(lane, s * r);
    let step_norm = group_sum(lane, s * s);
    let point_norm = group_sum(lane, x * x);
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
