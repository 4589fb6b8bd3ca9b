@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read> vector_in: array<real>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

struct Args {
    none: u32,
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if (state[3] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a0 = index[0] + index[2u + i] * 3u;
    let a1 = index[1] + index[2u + 2u * params.count + i] * 3u;
    let v0: real = arena[a0 + 0u];
    let v1: real = arena[a0 + 1u];
    let v2: real = arena[a0 + 2u];
    let v3: real = vector_in[a1 + 0u];
    let v4: real = vector_in[a1 + 1u];
    let v5: real = vector_in[a1 + 2u];
    let v6: real = v2 * v4;
    let v7: real = v1 * v5;
    let v8: real = v7 - v6;
    let v9: real = v0 * v5;
    let v10: real = v2 * v3;
    let v11: real = v10 - v9;
    let v12: real = v1 * v3;
    let v13: real = v0 * v4;
    let v14: real = v13 - v12;
    vector_out[i] = v8;
    vector_out[params.count + i] = v11;
    vector_out[2u * params.count + i] = v14;
}
