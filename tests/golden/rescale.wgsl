@group(0) @binding(2) var<storage, read> data: array<real>;
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
    let v0: real = jacobian[i];
    let v1: real = jacobian[params.count + i];
    let v2: real = data[1];
    let v3: real = -0.0;
    let v4: real = -v0;
    let v5: real = select(real(0), real(1), v0 < v3);
    let v6: real = select(v0, v4, v5 != 0.0);
    let v7: real = v2 / v6;
    let v8: real = sqrt(v7);
    let v9: real = select(real(0), real(1), v6 <= v2);
    let v10: real = 1.0;
    let v11: real = select(v8, v10, v9 != 0.0);
    let v12: real = (-2.5e-7);
    let v13: real = data[2u + i];
    let v14: real = select(real(0), real(1), v13 < v12);
    let v15: real = select(real(0), real(1), v14 == 0.0);
    let v16: real = select(real(0), real(1), (v15 != 0.0) & (v11 != 0.0));
    let v17: real = select(v3, v11, v16 != 0.0);
    let v18: real = v0 * v17;
    let v19: real = v1 * v17;
    jacobian[i] = v18;
    jacobian[params.count + i] = v19;
}
