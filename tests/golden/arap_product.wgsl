@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read> vector_in: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[11] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a0 = index[7] + index[10u + i] * 3u;
    let a1 = index[6] + index[10u + params.count + i] * 3u;
    let a2 = index[5] + index[10u + i] * 3u;
    let v0: real = vector_in[a0 + 1u];
    let v1: real = jacobian[4u * params.count + i];
    let v2: real = v1 * v0;
    let v3: real = vector_in[a0 + 0u];
    let v4: real = jacobian[3u * params.count + i];
    let v5: real = v4 * v3;
    let v6: real = vector_in[a1 + 0u];
    let v7: real = vector_in[a2 + 0u];
    let v8: real = v7 - v6;
    let v9: real = v8 - v5;
    let v10: real = v9 - v2;
    let v11: real = vector_in[a0 + 2u];
    let v12: real = jacobian[5u * params.count + i];
    let v13: real = v12 * v11 + v10;
    let v14: real = data[0];
    let v15: real = v14 * v13;
    let v16: real = jacobian[8u * params.count + i];
    let v17: real = v16 * v11;
    let v18: real = jacobian[7u * params.count + i];
    let v19: real = v18 * v0;
    let v20: real = jacobian[6u * params.count + i];
    let v21: real = v20 * v3;
    let v22: real = vector_in[a1 + 1u];
    let v23: real = vector_in[a2 + 1u];
    let v24: real = v23 - v22;
    let v25: real = v24 - v21;
    let v26: real = v25 - v19;
    let v27: real = v26 - v17;
    let v28: real = v14 * v27;
    let v29: real = jacobian[9u * params.count + i];
    let v30: real = v29 * v3;
    let v31: real = vector_in[a1 + 2u];
    let v32: real = vector_in[a2 + 2u];
    let v33: real = v32 - v31;
    let v34: real = v33 - v30;
    let v35: real = jacobian[10u * params.count + i];
    let v36: real = v35 * v0 + v34;
    let v37: real = v14 * v36;
    let v38: real = v20 * v28;
    let v39: real = v4 * v15 + v38;
    let v40: real = v29 * v37 + v39;
    let v41: real = v35 * v37;
    let v42: real = v18 * v28;
    let v43: real = v1 * v15 + v42;
    let v44: real = v43 - v41;
    let v45: real = v16 * v28;
    let v46: real = v12 * v15;
    let v47: real = v46 - v45;
    vector_out[i] = v15;
    vector_out[params.count + i] = v28;
    vector_out[2u * params.count + i] = v37;
    vector_out[3u * params.count + i] = v40;
    vector_out[4u * params.count + i] = v44;
    vector_out[5u * params.count + i] = v47;
}
