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
    let v8: real = jacobian[i];
    let v9: real = v7 + v8;
    let v10: real = v7 - v8;
    let v11: real = v10 * v9;
    let v12: real = data[0];
    let v13: real = 0.5;
    let v14: real = v13 * v12;
    let v15: real = v11 * v14;
    let v16: real = 0.0;
    let v17: real = select(real(0), real(1), v16 <= v0);
    let v18: real = select(real(0), real(1), v16 <= v1);
    let v19: real = select(real(0), real(1), (v18 != 0.0) & (v17 != 0.0));
    let v20: real = select(real(0), real(1), v16 < v1);
    let v21: real = select(real(0), real(1), (v20 != 0.0) | (v19 != 0.0));
    let v22: real = (-1.0);
    let v23: real = select(real(0), real(1), v22 < v2);
    let v24: real = select(real(0), real(1), (v21 != 0.0) & (v23 != 0.0));
    let v25: real = flagged();
    let v26: real = select(v25, v15, v24 != 0.0);
    vector_out[i] = v26;
}
