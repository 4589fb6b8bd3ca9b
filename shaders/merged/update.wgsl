// α = rᵀz / pᵀq, s += αp, r −= αq, z = M⁻¹r; partial sums of rᵀz. Over the variables of all tables.
//
// Every workgroup adds the partial sums of pᵀq up by itself, as in `pcg/update`. Where there is no curvature along p, nothing is done but
// to note it: `merged/accumulate` ends the solve.

#import shared/reduce
#import merged/shared/tables

struct Args {
    // Tables.
    tables: u32,
    // Variables of all of them.
    variables: u32,
    // First partial of pᵀq.
    curvature: u32,
    // Partials of pᵀq.
    curvature_count: u32,
    // Partial of rᵀz, 0 once solved, which becomes rᵀz before; behind that, whether there is no curvature.
    control: u32,
}

@group(0) @binding(1) var<storage, read_write> z: array<real>;
@group(0) @binding(2) var<storage, read> p: array<real>;
@group(0) @binding(3) var<storage, read> incidence: array<u32>;
@group(0) @binding(4) var<storage, read> q: array<real>;
@group(0) @binding(5) var<storage, read_write> step: array<real>;
@group(0) @binding(6) var<storage, read_write> residual: array<real>;
@group(0) @binding(7) var<storage, read> inverse: array<real>;
@group(0) @binding(8) var<storage, read_write> partials: array<real>;

// A variable of three degrees of freedom, as points and rotations are: all that it reads is on its way at once.
fn update3(alpha: real, vector: u32, block: u32) -> real {
    let r0 = residual[vector] - alpha * q[vector];
    let r1 = residual[vector + 1u] - alpha * q[vector + 1u];
    let r2 = residual[vector + 2u] - alpha * q[vector + 2u];
    let s0 = step[vector] + alpha * p[vector];
    let s1 = step[vector + 1u] + alpha * p[vector + 1u];
    let s2 = step[vector + 2u] + alpha * p[vector + 2u];
    let m00 = inverse[block];
    let m10 = inverse[block + 1u];
    let m11 = inverse[block + 2u];
    let m20 = inverse[block + 3u];
    let m21 = inverse[block + 4u];
    let m22 = inverse[block + 5u];
    let z0 = m00 * r0 + m10 * r1 + m20 * r2;
    let z1 = m10 * r0 + m11 * r1 + m21 * r2;
    let z2 = m20 * r0 + m21 * r1 + m22 * r2;
    step[vector] = s0;
    step[vector + 1u] = s1;
    step[vector + 2u] = s2;
    residual[vector] = r0;
    residual[vector + 1u] = r1;
    residual[vector + 2u] = r2;
    z[vector] = z0;
    z[vector + 1u] = z1;
    z[vector + 2u] = z2;
    return r0 * z0 + r1 * z1 + r2 * z2;
}

@compute @workgroup_size(group_size)
fn main(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    var part: real = 0.0;
    for (var k = lane; k < params.args.curvature_count; k += group_size) {
        part += partials[params.args.curvature + k];
    }
    let curvature = group_sum(lane, part);
    let before = partials[params.args.control];
    var rz: real = 0.0;
    let is_curved = is_finite(curvature) && curvature > 0.0;
    if (before > 0.0 && is_curved) {
        let alpha = before / curvature;
        let run = run_of(group, params.args.variables);
        for (var i = run.start + lane; i < run.end; i += group_size) {
            let place = variable_at(i, params.args.tables);
            let vector = place.vector;
            if (place.width == 3u) {
                rz += update3(alpha, vector, place.block);
                continue;
            }
            for (var c = 0u; c < place.width; c++) {
                step[vector + c] += alpha * p[vector + c];
                residual[vector + c] -= alpha * q[vector + c];
            }
            for (var c = 0u; c < place.width; c++) {
                var value: real = 0.0;
                for (var other = 0u; other < place.width; other++) {
                    let low = min(c, other);
                    let high = max(c, other);
                    value += inverse[place.block + high * (high + 1u) / 2u + low] * residual[vector + other];
                }
                z[vector + c] = value;
                rz += residual[vector + c] * value;
            }
        }
    }
    let sum = group_sum(lane, rz);
    let g = group_index(group);
    if (lane == 0u && g < params.group_count && before > 0.0) {
        partials[g] = sum;
        if (g == 0u) {
            partials[params.args.control + 1u] = before;
            partials[params.args.control + 2u] = select(real(1.0), real(0.0), is_curved);
        }
    }
}
