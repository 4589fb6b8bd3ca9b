@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(6) var<storage, read_write> jacobian: array<real>;
@group(0) @binding(7) var<storage, read> state: array<real>;

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
    if (state[10] != 0.0) {
        return;
    }
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a0 = index[2] + index[10u + i] * 3u;
    let a1 = index[4] + index[10u + params.count + i] * 3u;
    let a2 = index[3] + index[10u + i] * 3u;
    let a3 = index[1] + index[10u + params.count + i] * 3u;
    let a4 = index[0] + index[10u + i] * 3u;
    let v0: real = arena[a0 + 0u];
    let v1: real = sine(v0);
    let v2: real = arena[a1 + 2u];
    let v3: real = arena[a2 + 2u];
    let v4: real = v3 - v2;
    let v5: real = v4 * v1;
    let v6: real = arena[a1 + 1u];
    let v7: real = arena[a2 + 1u];
    let v8: real = v7 - v6;
    let v9: real = cosine(v0);
    let v10: real = v9 * v8;
    let v11: real = v10 - v5;
    let v12: real = arena[a0 + 2u];
    let v13: real = sine(v12);
    let v14: real = v13 * v11;
    let v15: real = v8 * v1;
    let v16: real = v4 * v9 + v15;
    let v17: real = arena[a0 + 1u];
    let v18: real = sine(v17);
    let v19: real = v18 * v16;
    let v20: real = cosine(v17);
    let v21: real = arena[a1 + 0u];
    let v22: real = arena[a2 + 0u];
    let v23: real = v22 - v21;
    let v24: real = v23 * v20 + v19;
    let v25: real = cosine(v12);
    let v26: real = v25 * v24;
    let v27: real = v26 - v14;
    let v28: real = arena[a3 + 0u];
    let v29: real = arena[a4 + 0u];
    let v30: real = v29 - v28;
    let v31: real = v30 - v27;
    let v32: real = v25 * v11;
    let v33: real = v24 * v13 + v32;
    let v34: real = arena[a3 + 1u];
    let v35: real = arena[a4 + 1u];
    let v36: real = v35 - v34;
    let v37: real = v36 - v33;
    let v38: real = v23 * v18;
    let v39: real = v20 * v16;
    let v40: real = v39 - v38;
    let v41: real = arena[a3 + 2u];
    let v42: real = arena[a4 + 2u];
    let v43: real = v42 - v41;
    let v44: real = v43 - v40;
    let v45: real = v25 * v18;
    let v46: real = v4 * v45;
    let v47: real = v8 * v13;
    let v48: real = v47 - v46;
    let v49: real = v1 * v48;
    let v50: real = v8 * v45;
    let v51: real = v4 * v13 + v50;
    let v52: real = v9 * v51 + v49;
    let v53: real = v25 * v16;
    let v54: real = v20 * v53;
    let v55: real = v25 * v23;
    let v56: real = v18 * v55;
    let v57: real = v56 - v54;
    let v58: real = v18 * v13;
    let v59: real = v4 * v58;
    let v60: real = v25 * v8 + v59;
    let v61: real = v1 * v60;
    let v62: real = v8 * v58;
    let v63: real = v25 * v4;
    let v64: real = v63 - v62;
    let v65: real = v9 * v64 + v61;
    let v66: real = v16 * v13;
    let v67: real = v20 * v66;
    let v68: real = v23 * v13;
    let v69: real = v18 * v68;
    let v70: real = v69 - v67;
    let v71: real = v20 * v8;
    let v72: real = v9 * v71;
    let v73: real = v20 * v4;
    let v74: real = v1 * v73;
    let v75: real = v74 - v72;
    jacobian[i] = v31;
    jacobian[params.count + i] = v37;
    jacobian[2u * params.count + i] = v44;
    jacobian[3u * params.count + i] = v52;
    jacobian[4u * params.count + i] = v57;
    jacobian[5u * params.count + i] = v33;
    jacobian[6u * params.count + i] = v65;
    jacobian[7u * params.count + i] = v70;
    jacobian[8u * params.count + i] = v27;
    jacobian[9u * params.count + i] = v75;
    jacobian[10u * params.count + i] = v24;
}
