@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;

// sin and cos to 2 ulp of f32 for |x| ≤ 8192; beyond that the adapter's own, whatever they are worth. WGSL's own may be off by 2⁻¹¹ (the specification, section 15.7.4), and are
// on some adapters: enough to move the minimum of a solve. Cody & Waite's reduction by π/2 in three parts, then the
// polynomials of the Cephes library. The CUDA f64 build has its own library and replaces these two.

fn quadrant(x: real) -> real {
    return round(x * 0.63661977236758134);
}

fn reduced(x: real, k: real) -> real {
    // Each difference is exact as long as nothing merges the three parts again.
    let high = opaque(x - opaque(k * 1.5703125));
    let middle = opaque(high - opaque(k * 4.837512969970703125e-4));
    return middle - k * 7.54978995489188216e-8;
}

fn sine_part(r: real) -> real {
    let z = r * r;
    return r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4));
}

fn cosine_part(r: real) -> real {
    let z = r * r;
    return 1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
}

fn turned(r: real, q: i32) -> real {
    let part = select(sine_part(r), cosine_part(r), (q & 1) != 0);
    return select(part, -part, (q & 2) != 0);
}

fn sine(x: real) -> real {
    let k = quadrant(x);
    let ours = turned(reduced(x, k), i32(clamp(k, -8192.0, 8192.0)));
    return select(ours, sin(x), abs(x) > 8192.0);
}

fn cosine(x: real) -> real {
    let k = quadrant(x);
    let ours = turned(reduced(x, k), i32(clamp(k, -8192.0, 8192.0)) + 1);
    return select(ours, cos(x), abs(x) > 8192.0);
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a0 = index[2] + index[10u + i] * 3u;
    let a1 = index[4] + index[10u + params.count + i] * 3u;
    let a2 = index[3] + index[10u + i] * 3u;
    let a3 = index[1] + index[10u + params.count + i] * 3u;
    let a4 = index[0] + index[10u + i] * 3u;
    let v0: real = data[0];
    let v1: real = 0.5;
    let v2: real = v1 * v0;
    let v3: real = jacobian[params.count + i];
    let v4: real = arena[a0 + 0u];
    let v5: real = sine(v4);
    let v6: real = arena[a1 + 2u];
    let v7: real = arena[a2 + 2u];
    let v8: real = v7 - v6;
    let v9: real = v8 * v5;
    let v10: real = arena[a1 + 1u];
    let v11: real = arena[a2 + 1u];
    let v12: real = v11 - v10;
    let v13: real = cosine(v4);
    let v14: real = v13 * v12;
    let v15: real = v14 - v9;
    let v16: real = arena[a0 + 2u];
    let v17: real = cosine(v16);
    let v18: real = v17 * v15;
    let v19: real = sine(v16);
    let v20: real = v12 * v5;
    let v21: real = v8 * v13 + v20;
    let v22: real = arena[a0 + 1u];
    let v23: real = sine(v22);
    let v24: real = v23 * v21;
    let v25: real = cosine(v22);
    let v26: real = arena[a1 + 0u];
    let v27: real = arena[a2 + 0u];
    let v28: real = v27 - v26;
    let v29: real = v28 * v25 + v24;
    let v30: real = v29 * v19 + v18;
    let v31: real = arena[a3 + 1u];
    let v32: real = arena[a4 + 1u];
    let v33: real = v32 - v31;
    let v34: real = v33 - v30;
    let v35: real = v34 + v3;
    let v36: real = v34 - v3;
    let v37: real = v36 * v35;
    let v38: real = jacobian[i];
    let v39: real = v19 * v15;
    let v40: real = v17 * v29;
    let v41: real = v40 - v39;
    let v42: real = arena[a3 + 0u];
    let v43: real = arena[a4 + 0u];
    let v44: real = v43 - v42;
    let v45: real = v44 - v41;
    let v46: real = v45 + v38;
    let v47: real = v45 - v38;
    let v48: real = v47 * v46 + v37;
    let v49: real = jacobian[2u * params.count + i];
    let v50: real = v28 * v23;
    let v51: real = v25 * v21;
    let v52: real = v51 - v50;
    let v53: real = arena[a3 + 2u];
    let v54: real = arena[a4 + 2u];
    let v55: real = v54 - v53;
    let v56: real = v55 - v52;
    let v57: real = v56 + v49;
    let v58: real = v56 - v49;
    let v59: real = v58 * v57 + v48;
    let v60: real = v59 * v2;
    vector_out[i] = v60;
}
