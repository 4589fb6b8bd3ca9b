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
    let v4: real = v1 * v3;
    let v5: real = jacobian[2u * params.count + i];
    let v6: real = v1 * v5;
    let v7: real = jacobian[3u * params.count + i];
    let v8: real = v7 * v2;
    let v9: real = jacobian[6u * params.count + i];
    let v10: real = v9 * v4;
    let v11: real = v10 - v8;
    let v12: real = jacobian[9u * params.count + i];
    let v13: real = v12 * v6 + v11;
    let v14: real = jacobian[7u * params.count + i];
    let v15: real = v14 * v4;
    let v16: real = jacobian[4u * params.count + i];
    let v17: real = v16 * v2 + v15;
    let v18: real = jacobian[10u * params.count + i];
    let v19: real = v18 * v6 + v17;
    let v20: real = jacobian[8u * params.count + i];
    let v21: real = v20 * v4;
    let v22: real = jacobian[5u * params.count + i];
    let v23: real = v22 * v2;
    let v24: real = v23 - v21;
    vector_out[i] = v2;
    vector_out[params.count + i] = v4;
    vector_out[2u * params.count + i] = v6;
    vector_out[3u * params.count + i] = v13;
    vector_out[4u * params.count + i] = v19;
    vector_out[5u * params.count + i] = v24;
}
