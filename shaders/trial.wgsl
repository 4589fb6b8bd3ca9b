// The trial point x′ = x + s, and partial sums of gᵀs, sᵀDs, sᵀr, sᵀs and xᵀx. One item is one element.
//
// words0: distance of the five kinds of partials

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
        s = step[i];
        x = point[i];
        d = scale[i];
        g = gradient[i];
        r = residual[i];
        trial[i] = x + s;
    }
    let slope = group_sum(lane, g * s);
    let damped = group_sum(lane, s * d * s);
    let unsolved = group_sum(lane, s * r);
    let step_norm = group_sum(lane, s * s);
    let point_norm = group_sum(lane, x * x);
    let to = group_index(group);
    if (lane == 0u && to < params.group_count) {
        let stride = params.words0.x;
        partials[to] = slope;
        partials[stride + to] = damped;
        partials[2u * stride + to] = unsolved;
        partials[3u * stride + to] = step_norm;
        partials[4u * stride + to] = point_norm;
    }
}
