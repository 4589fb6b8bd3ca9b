@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;

// 2ⁿ for −126 ≤ n ≤ 127.
fn power_of_two(n: i32) -> real {
    return bitcast<real>(u32(n + 127) << 23u);
}

// x cut to the leading 12 bits of its significand: the product of two such is exact.
fn leading_half(x: real) -> real {
    return bitcast<real>(bitcast<u32>(x) & (0xfffff000u ^ params.zero));
}

// The upper 32 bits of the product.
fn upper_product(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let left = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let right = (a & 0xffffu) * (b >> 16u) + (left & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u);
}

// The quarter turns of x for |x| ≥ 2⁻⁷, to 2⁻⁶² of one, by whole numbers alone.
fn far_turn(x: real) -> Turn {
    let bits = bitcast<u32>(x);
    let exponent = (bits >> 23u) & 255u;
    // 96 bits of 2/π, from the one that is worth two quarter turns a unit of the significand: four words in a row, of
    // eight whose first is before the point.
    let place = exponent - 120u;
    let odd = (place & 32u) != 0u;
    let half = (place & 64u) != 0u;
    let last = (place & 128u) != 0u;
    let w1 = select(0xa2f9836eu, 0xfc2757d1u, half);
    let w2 = select(0x4e441529u, 0xf534ddc0u, half);
    let w3 = select(0xfc2757d1u, 0xdb629599u, half);
    let a = select(select(select(0u, 0x4e441529u, half), w1, odd), 0xf534ddc0u, last);
    let b = select(select(w1, w2, odd), 0xdb629599u, last);
    let c = select(select(w2, w3, odd), 0x3c439041u, last);
    let d = select(select(w3, select(0xf534ddc0u, 0x3c439041u, half), odd), 0xfe5163abu, last);
    let shift = place & 31u;
    let upper = (a << shift) | ((b >> 1u) >> (31u - shift));
    let middle = (b << shift) | ((c >> 1u) >> (31u - shift));
    let lower = (c << shift) | ((d >> 1u) >> (31u - shift));
    // Times the significand, in units of 2⁻⁶² quarter turns, modulo 4.
    let significand = (bits & 0x7fffffu) | 0x800000u;
    let product = significand * middle;
    let low = product + upper_product(significand, lower);
    let high = significand * upper + upper_product(significand, middle) + select(0u, 1u, low < product);
    // What is left of the nearest whole one: a sign, and 61 bits in three numbers.
    let quarters = (high + 0x20000000u) >> 30u;
    let rest = high - (quarters << 30u);
    let below = rest >= 0x80000000u;
    let rest_high = select(rest, ~rest, below);
    let rest_low = select(low, ~low, below);
    let first = real(rest_high >> 6u) * power_of_two(-24);
    let second = real(((rest_high & 63u) << 18u) | (rest_low >> 14u)) * power_of_two(-48);
    let third = real(rest_low & 0x3fffu) * power_of_two(-62);
    // Times π/2, whose leading digits times the leading digits are exact.
    let leading = leading_half(first);
    let tail = (opaque(first - leading) + (second + third)) * 1.5707963267948966 + leading * 4.83826792e-4;
    let size = opaque(leading * 1.5703125) + opaque(tail);
    let q = i32(quarters);
    let negative = x < 0.0;
    return Turn(select(select(size, -size, below != negative), flagged(), exponent == 255u), select(q, -q, negative));
}

// x = r + q·π/2 with |r| ≤ π/4, q modulo 4.
struct Turn {
    r: real,
    q: i32,
}

fn near_turn(x: real) -> Turn {
    let k = round(x * 0.63661977236758134);
    // Products and differences are exact as long as nothing merges the parts again, but for the third difference,
    // whose error is kept.
    let first = opaque(x - k * 1.570556640625);
    let second = opaque(first - k * 2.396702766418457e-4);
    let third = opaque(second - k * 1.5890691429376602e-8);
    let rest = opaque(opaque(second - third) - k * 1.5890691429376602e-8) - k * 2.5633440682571e-12;
    return Turn(third + opaque(rest), i32(k));
}

fn turn(x: real) -> Turn {
    var t = near_turn(x);
    if (abs(x) > 3216.0) {
        t = far_turn(x);
    }
    return t;
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

fn sine(x: Turn) -> real {
    return turned(x.r, x.q);
}

fn cosine(x: Turn) -> real {
    return turned(x.r, x.q + 1);
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a0 = index[4] + index[10u + params.count + i] * 3u;
    let a1 = index[3] + index[10u + i] * 3u;
    let a2 = index[2] + index[10u + i] * 3u;
    let a3 = index[1] + index[10u + params.count + i] * 3u;
    let a4 = index[0] + index[10u + i] * 3u;
    let v0: real = arena[a0 + 2u];
    let v1: real = arena[a1 + 2u];
    let v2: real = v1 - v0;
    let v3: real = arena[a2 + 0u];
    let t3 = turn(v3);
    let v4: real = sine(t3);
    let v5: real = v2 * v4;
    let v6: real = arena[a0 + 1u];
    let v7: real = arena[a1 + 1u];
    let v8: real = v7 - v6;
    let v9: real = cosine(t3);
    let v10: real = v9 * v8;
    let v11: real = v10 - v5;
    let v12: real = arena[a2 + 2u];
    let t12 = turn(v12);
    let v13: real = cosine(t12);
    let v14: real = v13 * v11;
    let v15: real = v8 * v4;
    let v16: real = v2 * v9 + v15;
    let v17: real = arena[a2 + 1u];
    let t17 = turn(v17);
    let v18: real = sine(t17);
    let v19: real = v18 * v16;
    let v20: real = arena[a0 + 0u];
    let v21: real = arena[a1 + 0u];
    let v22: real = v21 - v20;
    let v23: real = cosine(t17);
    let v24: real = v22 * v23 + v19;
    let v25: real = sine(t12);
    let v26: real = v24 * v25 + v14;
    let v27: real = arena[a3 + 1u];
    let v28: real = arena[a4 + 1u];
    let v29: real = v28 - v27;
    let v30: real = v29 - v26;
    let v31: real = jacobian[params.count + i];
    let v32: real = v30 + v31;
    let v33: real = v30 - v31;
    let v34: real = v33 * v32;
    let v35: real = v25 * v11;
    let v36: real = v13 * v24;
    let v37: real = v36 - v35;
    let v38: real = arena[a3 + 0u];
    let v39: real = arena[a4 + 0u];
    let v40: real = v39 - v38;
    let v41: real = v40 - v37;
    let v42: real = jacobian[i];
    let v43: real = v41 + v42;
    let v44: real = v41 - v42;
    let v45: real = v44 * v43 + v34;
    let v46: real = v23 * v16;
    let v47: real = v22 * v18;
    let v48: real = v46 - v47;
    let v49: real = arena[a3 + 2u];
    let v50: real = arena[a4 + 2u];
    let v51: real = v50 - v49;
    let v52: real = v51 - v48;
    let v53: real = jacobian[2u * params.count + i];
    let v54: real = v52 + v53;
    let v55: real = v52 - v53;
    let v56: real = v55 * v54 + v45;
    let v57: real = data[0];
    let v58: real = 0.5;
    let v59: real = v58 * v57;
    let v60: real = v56 * v59;
    vector_out[i] = v60;
}
