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
    let v0: real = data[0];
    let v1: real = jacobian[6u * params.count + i];
    let v2: real = v1 * v1;
    let v3: real = jacobian[3u * params.count + i];
    let v4: real = v3 * v3 + v2;
    let v5: real = jacobian[9u * params.count + i];
    let v6: real = v5 * v5 + v4;
    let v7: real = v0 * v6;
    let v8: real = jacobian[4u * params.count + i];
    let v9: real = v3 * v8;
    let v10: real = jacobian[7u * params.count + i];
    let v11: real = v1 * v10;
    let v12: real = v11 - v9;
    let v13: real = jacobian[10u * params.count + i];
    let v14: real = v5 * v13 + v12;
    let v15: real = v0 * v14;
    let v16: real = v10 * v10;
    let v17: real = v8 * v8 + v16;
    let v18: real = v13 * v13 + v17;
    let v19: real = v0 * v18;
    let v20: real = jacobian[8u * params.count + i];
    let v21: real = v1 * v20;
    let v22: real = jacobian[5u * params.count + i];
    let v23: real = v3 * v22 + v21;
    let v24: real = v0 * v23;
    let v25: real = v10 * v20;
    let v26: real = v8 * v22;
    let v27: real = v26 - v25;
    let v28: real = v0 * v27;
    let v29: real = v20 * v20;
    let v30: real = v22 * v22 + v29;
    let v31: real = v0 * v30;
    vector_out[i] = v0;
    vector_out[params.count + i] = v7;
    vector_out[2u * params.count + i] = v15;
    vector_out[3u * params.count + i] = v19;
    vector_out[4u * params.count + i] = v24;
    vector_out[5u * params.count + i] = v28;
    vector_out[6u * params.count + i] = v31;
}
