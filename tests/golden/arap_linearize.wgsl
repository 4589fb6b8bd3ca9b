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
    let v0: real = arena[a0 + 2u];
    let v1: real = sine(v0);
    let v2: real = arena[a0 + 0u];
    let v3: real = sine(v2);
    let v4: real = arena[a1 + 2u];
    let v5: real = arena[a2 + 2u];
    let v6: real = v5 - v4;
    let v7: real = v6 * v3;
    let v8: real = cosine(v2);
    let v9: real = arena[a1 + 1u];
    let v10: real = arena[a2 + 1u];
    let v11: real = v10 - v9;
    let v12: real = v11 * v8;
    let v13: real = v12 - v7;
    let v14: real = v13 * v1;
    let v15: real = cosine(v0);
    let v16: real = arena[a0 + 1u];
    let v17: real = sine(v16);
    let v18: real = v11 * v3;
    let v19: real = v6 * v8 + v18;
    let v20: real = v19 * v17;
    let v21: real = cosine(v16);
    let v22: real = arena[a1 + 0u];
    let v23: real = arena[a2 + 0u];
    let v24: real = v23 - v22;
    let v25: real = v24 * v21 + v20;
    let v26: real = v25 * v15;
    let v27: real = v26 - v14;
    let v28: real = arena[a3 + 0u];
    let v29: real = arena[a4 + 0u];
    let v30: real = v29 - v28;
    let v31: real = v30 - v27;
    let v32: real = v25 * v1;
    let v33: real = v13 * v15 + v32;
    let v34: real = arena[a3 + 1u];
    let v35: real = arena[a4 + 1u];
    let v36: real = v35 - v34;
    let v37: real = v36 - v33;
    let v38: real = v24 * v17;
    let v39: real = v19 * v21;
    let v40: real = v39 - v38;
    let v41: real = arena[a3 + 2u];
    let v42: real = arena[a4 + 2u];
    let v43: real = v42 - v41;
    let v44: real = v43 - v40;
    let v45: real = v17 * v15;
    let v46: real = v6 * v45;
    let v47: real = v11 * v1;
    let v48: real = v47 - v46;
    let v49: real = v3 * v48;
    let v50: real = v6 * v1;
    let v51: real = v11 * v45 + v50;
    let v52: real = v8 * v51 + v49;
    let v53: real = v19 * v15;
    let v54: real = v21 * v53;
    let v55: real = v24 * v15;
    let v56: real = v17 * v55;
    let v57: real = v56 - v54;
    let v58: real = v11 * v15;
    let v59: real = v17 * v1;
    let v60: real = v6 * v59 + v58;
    let v61: real = v3 * v60;
    let v62: real = v11 * v59;
    let v63: real = v6 * v15;
    let v64: real = v63 - v62;
    let v65: real = v8 * v64 + v61;
    let v66: real = v19 * v1;
    let v67: real = v21 * v66;
    let v68: real = v24 * v1;
    let v69: real = v17 * v68;
    let v70: real = v69 - v67;
    let v71: real = v11 * v21;
    let v72: real = v8 * v71;
    let v73: real = v6 * v21;
    let v74: real = v3 * v73;
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
    jacobian[10u * params.count + i] = v25;
}
