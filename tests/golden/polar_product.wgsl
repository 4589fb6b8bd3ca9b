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
    let a0 = index[2] + index[4u + i] * 3u;
    let a1 = index[3] + index[4u + params.count + i] * 3u;
    let v0: real = vector_in[a0 + 0u];
    let v1: real = jacobian[params.count + i];
    let v2: real = v1 * v0;
    let v3: real = vector_in[a0 + 1u];
    let v4: real = jacobian[2u * params.count + i];
    let v5: real = v4 * v3;
    let v6: real = v5 - v2;
    let v7: real = vector_in[a1 + 0u];
    let v8: real = jacobian[3u * params.count + i];
    let v9: real = v8 * v7 + v6;
    let v10: real = vector_in[a1 + 1u];
    let v11: real = jacobian[4u * params.count + i];
    let v12: real = v11 * v10 + v9;
    let v13: real = data[0];
    let v14: real = v13 * v12;
    let v15: real = v1 * v14;
    let v16: real = v4 * v14;
    let v17: real = v8 * v14;
    let v18: real = v11 * v14;
    vector_out[i] = v15;
    vector_out[params.count + i] = v16;
    vector_out[2u * params.count + i] = v17;
    vector_out[3u * params.count + i] = v18;
}
