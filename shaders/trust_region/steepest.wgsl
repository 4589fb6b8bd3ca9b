// z = −D⁻¹g, the direction of steepest descent in the norm √(sᵀDs). Between tables D is 0. One item is one element.

@group(0) @binding(2) var<storage, read> scale: array<real>;
@group(0) @binding(4) var<storage, read> gradient: array<real>;
@group(0) @binding(5) var<storage, read_write> z: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    var direction: real = 0.0;
    if (scale[i] > 0.0) {
        direction = -gradient[i] / scale[i];
    }
    z[i] = direction;
}
