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
    let v0: real = jacobian[i];
    let v1: real = data[0];
    let v2: real = v1 * v0;
    let v3: real = jacobian[params.count + i];
    let v4: real = v3 * v2;
    let v5: real = jacobian[2u * params.count + i];
    let v6: real = v5 * v2;
    let v7: real = jacobian[3u * params.count + i];
    let v8: real = v7 * v2;
    let v9: real = jacobian[4u * params.count + i];
    let v10: real = v9 * v2;
    vector_out[i] = v4;
    vector_out[params.count + i] = v6;
    vector_out[2u * params.count + i] = v8;
    vector_out[3u * params.count + i] = v10;
}
