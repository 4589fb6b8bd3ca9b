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
    let v0: real = jacobian[params.count + i];
    let v1: real = v0 * v0;
    let v2: real = data[0];
    let v3: real = v2 * v1;
    let v4: real = jacobian[2u * params.count + i];
    let v5: real = v0 * v4;
    let v6: real = v2 * v5;
    let v7: real = v4 * v4;
    let v8: real = v2 * v7;
    let v9: real = jacobian[3u * params.count + i];
    let v10: real = v9 * v9;
    let v11: real = v2 * v10;
    let v12: real = jacobian[4u * params.count + i];
    let v13: real = v9 * v12;
    let v14: real = v2 * v13;
    let v15: real = v12 * v12;
    let v16: real = v2 * v15;
    vector_out[i] = v3;
    vector_out[params.count + i] = v6;
    vector_out[2u * params.count + i] = v8;
    vector_out[3u * params.count + i] = v11;
    vector_out[4u * params.count + i] = v14;
    vector_out[5u * params.count + i] = v16;
}
