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
    let a0 = index[1] + index[4u + params.count + i] * 3u;
    let a1 = index[0] + index[4u + i] * 3u;
    let v0: real = arena[a0 + 1u];
    let v1: real = arena[a0 + 0u];
    let v2: real = power(v1, v0);
    let v3: real = log1p(v2);
    let v4: real = arena[a1 + 0u];
    let v5: real = arena[a1 + 1u];
    let v6: real = arctangent2(v5, v4);
    let v7: real = v6 - v3;
    let v8: real = 0.0;
    let v9: real = select(real(0), real(1), v8 <= v0);
    let v10: real = select(real(0), real(1), v8 <= v1);
    let v11: real = select(real(0), real(1), (v10 != 0.0) & (v9 != 0.0));
    let v12: real = select(real(0), real(1), v8 < v1);
    let v13: real = select(real(0), real(1), (v12 != 0.0) | (v11 != 0.0));
    let v14: real = (-1.0);
    let v15: real = select(real(0), real(1), v14 < v2);
    let v16: real = select(real(0), real(1), (v13 != 0.0) & (v15 != 0.0));
    let v17: real = flagged();
    let v18: real = select(v17, v7, v16 != 0.0);
    let v19: real = v4 * v4;
    let v20: real = v5 * v5 + v19;
    let v21: real = v5 / v20;
    let v22: real = select(real(0), real(1), v8 < v20);
    let v23: real = select(v8, v21, v22 != 0.0);
    let v24: real = v4 / v20;
    let v25: real = select(v8, v24, v22 != 0.0);
    let v26: real = 1.0;
    let v27: real = v0 - v26;
    let v28: real = power(v1, v27);
    let v29: real = v0 * v28;
    let v30: real = v2 + v26;
    let v31: real = v26 / v30;
    let v32: real = v31 * v29;
    let v33: real = select(real(0), real(1), v8 < v30);
    let v34: real = select(v8, v32, v33 != 0.0);
    let v35: real = -v34;
    let v36: real = select(real(0), real(1), v1 <= v8);
    let v37: real = select(real(0), real(1), (v36 != 0.0) & (v10 != 0.0));
    let v38: real = select(real(0), real(1), v0 < v26);
    let v39: real = select(real(0), real(1), (v37 != 0.0) & (v38 != 0.0));
    let v40: real = select(v35, v8, v39 != 0.0);
    let v41: real = logarithm(v1);
    let v42: real = v2 * v41;
    let v43: real = v31 * v42;
    let v44: real = select(v8, v43, v33 != 0.0);
    let v45: real = -v44;
    let v46: real = select(v45, v8, v37 != 0.0);
    jacobian[i] = v18;
    jacobian[params.count + i] = v23;
    jacobian[2u * params.count + i] = v25;
    jacobian[3u * params.count + i] = v40;
    jacobian[4u * params.count + i] = v46;
}
