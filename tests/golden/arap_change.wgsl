@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
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
    let a0 = index[4] + index[10u + params.count + i] * 3u;
    let a1 = index[3] + index[10u + i] * 3u;
    let a2 = index[2] + index[10u + i] * 3u;
    let a3 = index[1] + index[10u + params.count + i] * 3u;
    let a4 = index[0] + index[10u + i] * 3u;
    let v0: real = arena[a0 + 2u];
    let v1: real = arena[a1 + 2u];
    let v2: real = v1 - v0;
    let v3: real = arena[a2 + 0u];
    let t3 = turn(v3);
    let v4: real = sine(t3);
    let v5: real = v2 * v4;
    let v6: real = arena[a0 + 1u];
    let v7: real = arena[a1 + 1u];
    let v8: real = v7 - v6;
    let v9: real = cosine(t3);
    let v10: real = v9 * v8;
    let v11: real = v10 - v5;
    let v12: real = arena[a2 + 2u];
    let t12 = turn(v12);
    let v13: real = cosine(t12);
    let v14: real = v13 * v11;
    let v15: real = v8 * v4;
    let v16: real = v2 * v9 + v15;
    let v17: real = arena[a2 + 1u];
    let t17 = turn(v17);
    let v18: real = sine(t17);
    let v19: real = v18 * v16;
    let v20: real = arena[a0 + 0u];
    let v21: real = arena[a1 + 0u];
    let v22: real = v21 - v20;
    let v23: real = cosine(t17);
    let v24: real = v22 * v23 + v19;
    let v25: real = sine(t12);
    let v26: real = v24 * v25 + v14;
    let v27: real = arena[a3 + 1u];
    let v28: real = arena[a4 + 1u];
    let v29: real = v28 - v27;
    let v30: real = v29 - v26;
    let v31: real = jacobian[params.count + i];
    let v32: real = v30 + v31;
    let v33: real = v30 - v31;
    let v34: real = v33 * v32;
    let v35: real = v25 * v11;
    let v36: real = v13 * v24;
    let v37: real = v36 - v35;
    let v38: real = arena[a3 + 0u];
    let v39: real = arena[a4 + 0u];
    let v40: real = v39 - v38;
    let v41: real = v40 - v37;
    let v42: real = jacobian[i];
    let v43: real = v41 + v42;
    let v44: real = v41 - v42;
    let v45: real = v44 * v43 + v34;
    let v46: real = v23 * v16;
    let v47: real = v22 * v18;
    let v48: real = v46 - v47;
    let v49: real = arena[a3 + 2u];
    let v50: real = arena[a4 + 2u];
    let v51: real = v50 - v49;
    let v52: real = v51 - v48;
    let v53: real = jacobian[2u * params.count + i];
    let v54: real = v52 + v53;
    let v55: real = v52 - v53;
    let v56: real = v55 * v54 + v45;
    let v57: real = data[0];
    let v58: real = 0.5;
    let v59: real = v58 * v57;
    let v60: real = v56 * v59;
    vector_out[i] = v60;
}
