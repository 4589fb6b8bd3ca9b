// What the plane of d = −D⁻¹g and the Gauss–Newton step n needs to be known: partial sums of dᵀDd, dᵀq, gᵀn, nᵀDn, dᵀr and
// nᵀr, where q = (JᵀWJ + λD)d and r = −g − (JᵀWJ + λD)n.

#import shared/reduce

struct Args {
    // Elements between two kinds of partials.
    distance: u32,
    // Elements.
    elements: u32,
}

@group(0) @binding(1) var<storage, read> gradient: array<real>;
@group(0) @binding(2) var<storage, read> scale: array<real>;
@group(0) @binding(3) var<storage, read> d: array<real>;
@group(0) @binding(4) var<storage, read> q: array<real>;
@group(0) @binding(5) var<storage, read> n: array<real>;
@group(0) @binding(6) var<storage, read> residual: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var dd: real = 0.0;
    var dq: real = 0.0;
    var gn: real = 0.0;
    var nn: real = 0.0;
    var dr: real = 0.0;
    var nr: real = 0.0;
    let run = run_of(group, params.args.elements);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        dd += d[i] * scale[i] * d[i];
        dq += d[i] * q[i];
        gn += gradient[i] * n[i];
        nn += n[i] * scale[i] * n[i];
        dr += d[i] * residual[i];
        nr += n[i] * residual[i];
    }
    let steepest = group_sum(lane, dd);
    let curvature = group_sum(lane, dq);
    let slope = group_sum(lane, gn);
    let newton = group_sum(lane, nn);
    let unsolved_steepest = group_sum(lane, dr);
    let unsolved_newton = group_sum(lane, nr);
    let to = group_index(group);
    if (lane == 0u && to < params.group_count) {
        let stride = params.args.distance;
        partials[to] = steepest;
        partials[stride + to] = curvature;
        partials[2u * stride + to] = slope;
        partials[3u * stride + to] = newton;
        partials[4u * stride + to] = unsolved_steepest;
        partials[5u * stride + to] = unsolved_newton;
    }
}
