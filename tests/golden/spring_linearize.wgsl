@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(2) var<storage, read> data: array<real>;
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
    let v0: real = arena[a0 + 0u];
    let v1: real = arena[a1 + 0u];
    let v2: real = v1 - v0;
    let v3: real = v2 * v2;
    let v4: real = arena[a0 + 1u];
    let v5: real = arena[a1 + 1u];
    let v6: real = v5 - v4;
    let v7: real = v6 * v6 + v3;
    let v8: real = arena[a0 + 2u];
    let v9: real = arena[a1 + 2u];
    let v10: real = v9 - v8;
    let v11: real = v10 * v10 + v7;
    let v12: real = sqrt(v11);
    let v13: real = data[1u + i];
    let v14: real = v12 - v13;
    let v15: real = 0.5;
    let v16: real = v15 / v12;
    let v17: real = v2 * v16;
    let v18: real = v17 + v17;
    let v19: real = 0.0;
    let v20: real = select(real(0), real(1), v19 < v12);
    let v21: real = select(v19, v18, v20 != 0.0);
    let v22: real = v6 * v16;
    let v23: real = v22 + v22;
    let v24: real = select(v19, v23, v20 != 0.0);
    let v25: real = v10 * v16;
    let v26: real = v25 + v25;
    let v27: real = select(v19, v26, v20 != 0.0);
    jacobian[i] = v14;
    jacobian[params.count + i] = v21;
    jacobian[2u * params.count + i] = v24;
    jacobian[3u * params.count + i] = v27;
}
