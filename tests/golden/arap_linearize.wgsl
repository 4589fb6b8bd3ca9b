@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(6) var<storage, read_write> jacobian: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

struct Args {
    none: u32,
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[10] != 0.0) {
        return;
    }
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
    let v13: real = sine(t12);
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
    let v25: real = cosine(t12);
    let v26: real = v25 * v24;
    let v27: real = v26 - v14;
    let v28: real = arena[a3 + 0u];
    let v29: real = arena[a4 + 0u];
    let v30: real = v29 - v28;
    let v31: real = v30 - v27;
    let v32: real = v25 * v11;
    let v33: real = v24 * v13 + v32;
    let v34: real = arena[a3 + 1u];
    let v35: real = arena[a4 + 1u];
    let v36: real = v35 - v34;
    let v37: real = v36 - v33;
    let v38: real = v23 * v16;
    let v39: real = v22 * v18;
    let v40: real = v38 - v39;
    let v41: real = arena[a3 + 2u];
    let v42: real = arena[a4 + 2u];
    let v43: real = v42 - v41;
    let v44: real = v43 - v40;
    let v45: real = v25 * v18;
    let v46: real = v2 * v45;
    let v47: real = v8 * v13;
    let v48: real = v47 - v46;
    let v49: real = v4 * v48;
    let v50: real = v8 * v45;
    let v51: real = v2 * v13 + v50;
    let v52: real = v9 * v51 + v49;
    let v53: real = v25 * v16;
    let v54: real = v23 * v53;
    let v55: real = v25 * v22;
    let v56: real = v18 * v55;
    let v57: real = v56 - v54;
    let v58: real = v18 * v13;
    let v59: real = v2 * v58;
    let v60: real = v25 * v8 + v59;
    let v61: real = v4 * v60;
    let v62: real = v8 * v58;
    let v63: real = v25 * v2;
    let v64: real = v63 - v62;
    let v65: real = v9 * v64 + v61;
    let v66: real = v16 * v13;
    let v67: real = v23 * v66;
    let v68: real = v22 * v13;
    let v69: real = v18 * v68;
    let v70: real = v69 - v67;
    let v71: real = v23 * v8;
    let v72: real = v9 * v71;
    let v73: real = v23 * v2;
    let v74: real = v4 * v73;
    let v75: real = v74 - v72;
    jacobian[i] = v31;
    jacobian[params.count + i] = v37;
    jacobian[2u * params.count + i] = v44;
    jacobian[3u * params.count + i] = v52;
    jacobian[4u * params.count + i] = v57;
    jacobian[5u * params.count + i] = v33;
    jacobian[6u * params.count + i] = v65;
    jacobian[7u * params.count + i] = v70;
    jacobian[8u * params.count + i] = v27;
    jacobian[9u * params.count + i] = v75;
    jacobian[10u * params.count + i] = v24;
}
