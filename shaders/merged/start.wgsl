// Conjugate gradients begin: s = 0, r = −g, z = M⁻¹r, over the variables of all tables; partial sums of rᵀz and maxima of |g|.

#import shared/reduce
#import merged/shared/tables

struct Args {
    // Tables.
    tables: u32,
    // Variables of all of them.
    variables: u32,
    // Elements between two kinds of partials.
    distance: u32,
}

@group(0) @binding(1) var<storage, read_write> residual: array<real>;
@group(0) @binding(2) var<storage, read_write> step: array<real>;
@group(0) @binding(3) var<storage, read> incidence: array<u32>;
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
        let place = variable_at(i, params.args.tables);
        for (var c = 0u; c < place.width; c++) {
            residual[place.vector + c] = -gradient[place.vector + c];
            step[place.vector + c] = 0.0;
            largest = max(largest, abs(gradient[place.vector + c]));
        }
        for (var c = 0u; c < place.width; c++) {
            var value: real = 0.0;
            for (var k = 0u; k < place.width; k++) {
                let low = min(c, k);
                let high = max(c, k);
                value -= inverse[place.block + high * (high + 1u) / 2u + low] * gradient[place.vector + k];
            }
            z[place.vector + c] = value;
            rz -= gradient[place.vector + c] * value;
        }
    }
    let sum = group_sum(lane, rz);
    let top = group_max(lane, largest);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count) {
        partials[g] = sum;
        partials[params.args.distance + g] = top;
    }
}
