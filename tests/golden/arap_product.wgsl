@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read> vector_in: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

struct Args {
    none: u32,
}

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
    let v0: real = vector_in[a0 + 0u];
    let v1: real = jacobian[3u * params.count + i];
    let v2: real = v1 * v0;
    let v3: real = vector_in[a1 + 0u];
    let v4: real = vector_in[a2 + 0u];
    let v5: real = v4 - v3;
    let v6: real = v5 - v2;
    let v7: real = vector_in[a0 + 1u];
    let v8: real = jacobian[4u * params.count + i];
    let v9: real = v8 * v7 + v6;
    let v10: real = vector_in[a0 + 2u];
    let v11: real = jacobian[5u * params.count + i];
    let v12: real = v11 * v10 + v9;
    let v13: real = data[0];
    let v14: real = v13 * v12;
    let v15: real = vector_in[a1 + 1u];
    let v16: real = vector_in[a2 + 1u];
    let v17: real = v16 - v15;
    let v18: real = jacobian[6u * params.count + i];
    let v19: real = v18 * v0 + v17;
    let v20: real = jacobian[7u * params.count + i];
    let v21: real = v20 * v7 + v19;
    let v22: real = jacobian[8u * params.count + i];
    let v23: real = v22 * v10;
    let v24: real = v21 - v23;
    let v25: real = v13 * v24;
    let v26: real = vector_in[a1 + 2u];
    let v27: real = vector_in[a2 + 2u];
    let v28: real = v27 - v26;
    let v29: real = jacobian[9u * params.count + i];
    let v30: real = v29 * v0 + v28;
    let v31: real = jacobian[10u * params.count + i];
    let v32: real = v31 * v7 + v30;
    let v33: real = v13 * v32;
    let v34: real = v1 * v14;
    let v35: real = v18 * v25;
    let v36: real = v35 - v34;
    let v37: real = v29 * v33 + v36;
    let v38: real = v20 * v25;
    let v39: real = v8 * v14 + v38;
    let v40: real = v31 * v33 + v39;
    let v41: real = v22 * v25;
    let v42: real = v11 * v14;
    let v43: real = v42 - v41;
    vector_out[i] = v14;
    vector_out[params.count + i] = v25;
    vector_out[2u * params.count + i] = v33;
    vector_out[3u * params.count + i] = v37;
    vector_out[4u * params.count + i] = v40;
    vector_out[5u * params.count + i] = v43;
}
