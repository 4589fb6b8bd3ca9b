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
