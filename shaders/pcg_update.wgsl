// α = rᵀz / pᵀq, s += αp, r −= αq, z = M⁻¹r; partial sums of rᵀz. Over the variables of one table or of two.
//
// Every workgroup adds the partial sums of pᵀq up by itself, in the same order: to have them would take another dispatch.
// Where there is no curvature along p, nothing is done: `pcg_beta` ends the solve.
//
// words0, words1: first element of a table's vectors, width of a variable, first element of its packed blocks,
//                 number of variables
// words2: first partial of rᵀz, first and number of those of pᵀq

@group(0) @binding(1) var<storage, read_write> z: array<real>;
@group(0) @binding(2) var<storage, read> p: array<real>;
@group(0) @binding(3) var<storage, read> q: array<real>;
@group(0) @binding(4) var<storage, read> inverse: array<real>;
@group(0) @binding(5) var<storage, read_write> step: array<real>;
@group(0) @binding(6) var<storage, read_write> residual: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    if (state[SOLVED] != 0.0) {
        return;
    }
    var product: real = 0.0;
    for (var k = lane; k < params.words2.z; k += group_size) {
        product += partials[params.words2.y + k];
    }
    let curvature = group_sum(lane, product);
    var rz: real = 0.0;
    if (is_finite(curvature) && curvature > 0.0) {
        let alpha = state[RZ] / curvature;
        let run = run_of(group, params.words0.w + params.words1.w);
        for (var k = run.start + lane; k < run.end; k += group_size) {
            let is_second = k >= params.words0.w;
            let table = select(params.words0, params.words1, is_second);
            let i = k - select(0u, params.words0.w, is_second);
            let width = table.y;
            let vector = table.x + i * width;
            let block = table.z + i * (width * (width + 1u) / 2u);
            for (var c = 0u; c < width; c++) {
                step[vector + c] += alpha * p[vector + c];
                residual[vector + c] -= alpha * q[vector + c];
            }
            for (var c = 0u; c < width; c++) {
                var value: real = 0.0;
                for (var other = 0u; other < width; other++) {
                    let low = min(c, other);
                    let high = max(c, other);
                    value += inverse[block + high * (high + 1u) / 2u + low] * residual[vector + other];
                }
                z[vector + c] = value;
                rz += residual[vector + c] * value;
            }
        }
    }
    let sum = group_sum(lane, rz);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.words2.x + g] = sum;
    }
}
