// s += αp, r −= αq, z = M⁻¹r; partial sums of rᵀz.
//
// words0: first element of the table's vectors, width of a variable, first element of its packed blocks,
//         first partial of this table
// words1: number of variables

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
    var rz: real = 0.0;
    let run = run_of(group, params.words1.x);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let width = params.words0.y;
        let vector = params.words0.x + i * width;
        let block = params.words0.z + i * (width * (width + 1u) / 2u);
        let alpha = state[ALPHA];
        for (var c = 0u; c < width; c++) {
            step[vector + c] += alpha * p[vector + c];
            residual[vector + c] -= alpha * q[vector + c];
        }
        for (var c = 0u; c < width; c++) {
            var value: real = 0.0;
            for (var k = 0u; k < width; k++) {
                let low = min(c, k);
                let high = max(c, k);
                value += inverse[block + high * (high + 1u) / 2u + low] * residual[vector + k];
            }
            z[vector + c] = value;
            rz += residual[vector + c] * value;
        }
    }
    let sum = group_sum(lane, rz);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.words0.w + g] = sum;
    }
}
