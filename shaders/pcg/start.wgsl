// Conjugate gradients begin: s = 0, r = −g, z = M⁻¹r; partial sums of rᵀz and maxima of |g|.

#import shared/reduce

struct Args {
    // First element of the table's vectors.
    vector: u32,
    // Width of a variable.
    width: u32,
    // First element of its packed blocks.
    block: u32,
    // First partial of this table.
    partial: u32,
    // Elements between two kinds of partials.
    distance: u32,
    // Variables of the table.
    variables: u32,
}

@group(0) @binding(2) var<storage, read_write> residual: array<real>;
@group(0) @binding(3) var<storage, read_write> step: array<real>;
@group(0) @binding(4) var<storage, read> gradient: array<real>;
@group(0) @binding(5) var<storage, read_write> z: array<real>;
@group(0) @binding(6) var<storage, read> inverse: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var rz: real = 0.0;
    var largest: real = 0.0;
    let run = run_of(group, params.args.variables);
    for (var i = run.start + lane; i < run.end; i += group_size) {
        let width = params.args.width;
        let vector = params.args.vector + i * width;
        let block = params.args.block + i * (width * (width + 1u) / 2u);
        for (var c = 0u; c < width; c++) {
            residual[vector + c] = -gradient[vector + c];
            step[vector + c] = 0.0;
            largest = max(largest, abs(gradient[vector + c]));
        }
        for (var c = 0u; c < width; c++) {
            var value: real = 0.0;
            for (var k = 0u; k < width; k++) {
                let low = min(c, k);
                let high = max(c, k);
                value -= inverse[block + high * (high + 1u) / 2u + low] * gradient[vector + k];
            }
            z[vector + c] = value;
            rz -= gradient[vector + c] * value;
        }
    }
    let sum = group_sum(lane, rz);
    let top = group_max(lane, largest);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[params.args.partial + g] = sum;
        partials[params.args.distance + params.args.partial + g] = top;
    }
}
