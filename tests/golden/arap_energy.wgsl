@group(0) @binding(2) var<storage, read> data: array<real>;
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
    let v0: real = jacobian[params.count + i];
    let v1: real = v0 * v0;
    let v2: real = jacobian[i];
    let v3: real = v2 * v2 + v1;
    let v4: real = jacobian[2u * params.count + i];
    let v5: real = v4 * v4 + v3;
    let v6: real = 0.5;
    let v7: real = data[0];
    let v8: real = v7 * v6;
    let v9: real = v5 * v8;
    vector_out[i] = v9;
}
