@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(6) var<storage, read_write> jacobian: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

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
    let v0: real = data[1u + i];
    let v1: real = arena[a0 + 0u];
    let v2: real = arena[a1 + 0u];
    let v3: real = v2 - v1;
    let v4: real = v3 * v3;
    let v5: real = arena[a0 + 1u];
    let v6: real = arena[a1 + 1u];
    let v7: real = v6 - v5;
    let v8: real = v7 * v7 + v4;
    let v9: real = arena[a0 + 2u];
    let v10: real = arena[a1 + 2u];
    let v11: real = v10 - v9;
    let v12: real = v11 * v11 + v8;
    let v13: real = sqrt(v12);
    let v14: real = v13 - v0;
    let v15: real = 0.0;
    let v16: real = 0.5;
    let v17: real = v16 / v13;
    let v18: real = v3 * v17;
    let v19: real = v18 + v18;
    let v20: real = select(real(0), real(1), v15 < v13);
    let v21: real = select(v15, v19, v20 != 0.0);
    let v22: real = v7 * v17;
    let v23: real = v22 + v22;
    let v24: real = select(v15, v23, v20 != 0.0);
    let v25: real = v11 * v17;
    let v26: real = v25 + v25;
    let v27: real = select(v15, v26, v20 != 0.0);
    jacobian[i] = v14;
    jacobian[params.count + i] = v21;
    jacobian[2u * params.count + i] = v24;
    jacobian[3u * params.count + i] = v27;
}
