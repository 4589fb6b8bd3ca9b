@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(6) var<storage, read_write> jacobian: array<real>;

struct Args {
    none: u32,
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a0 = index[0] + index[1u + i] * 3u;
    let a1 = index[0] + index[1u + params.count + i] * 3u;
    let v0: real = arena[a0 + 0u];
    let v1: real = arena[a0 + 1u];
    let v2: real = arena[a0 + 2u];
    let v3: real = arena[a1 + 0u];
    let v4: real = arena[a1 + 1u];
    let v5: real = arena[a1 + 2u];
    let v6: real = v0 - v3;
    let v7: real = v1 - v4;
    let v8: real = v2 - v5;
    let v9: real = v6 * v6;
    let v10: real = v7 * v7 + v9;
    let v11: real = v8 * v8 + v10;
    let v12: real = sqrt(v11);
    let v13: real = data[1u + i];
    let v14: real = v12 - v13;
    let v15: real = data[0];
    let v16: real = v15 * v14;
    jacobian[i] = v16;
}
