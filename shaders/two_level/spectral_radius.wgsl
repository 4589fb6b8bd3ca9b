// The largest eigenvalue of D⁻¹A by its Rayleigh quotient, vᵀAv / vᵀDv, for v = D⁻¹u. One workgroup.

#import shared/reduce

struct Args {
    // Elements.
    elements: u32,
}

@group(0) @binding(1) var<storage, read> v: array<real>;
@group(0) @binding(2) var<storage, read> product: array<real>;
@group(0) @binding(4) var<storage, read> u: array<real>;
@group(0) @binding(5) var<storage, read_write> radius: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(local_invocation_index) lane: u32) {
    var along: real = 0.0;
    var size: real = 0.0;
    for (var i = lane; i < params.args.elements; i += group_size) {
        along += v[i] * product[i];
        size += v[i] * u[i];
    }
    let sums = group_sums(lane, along, size);
    if (lane == 0u) {
        // Where nothing is left of v, so is nothing of what is to be smoothed.
        let known = is_finite(sums.x) && is_finite(sums.y) && sums.x > 0.0 && sums.y > 0.0;
        radius[0] = select(real(2.0), max(sums.x / select(real(1.0), sums.y, known), real(1.0)), known);
    }
}
