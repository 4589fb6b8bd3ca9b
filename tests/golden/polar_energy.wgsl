@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;

struct Args {
    none: u32,
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let v0: real = 0.5;
    let v1: real = data[0];
    let v2: real = v1 * v0;
    let v3: real = jacobian[i];
    let v4: real = v3 * v3;
    let v5: real = v4 * v2;
    let v6: real = flagged();
    let v7: real = select(real(0), real(1), is_finite(v3));
    let v8: real = select(v6, v5, v7 != 0.0);
    vector_out[i] = v8;
}
