@group(0) @binding(1) var<storage, read> arena: array<real>;
@group(0) @binding(2) var<storage, read> data: array<real>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(5) var<storage, read_write> vector_out: array<real>;
@group(0) @binding(6) var<storage, read> jacobian: array<real>;

// 2ⁿ for −126 ≤ n ≤ 127.
fn power_of_two(n: i32) -> real {
    return bitcast<real>(u32(n + 127) << 23u);
}

// x·2ⁿ for −252 ≤ n ≤ 254, rounded once. In two steps, since 2ⁿ may be no number where x·2ⁿ is one.
fn scale_by_power_of_two(x: real, n: i32) -> real {
    let half = n >> 1u;
    return opaque(x * power_of_two(half)) * power_of_two(n - half);
}

// The n with √½ ≤ x·2⁻ⁿ < √2, for x > 0. The bits of a subnormal number do not say; some adapters flush it to 0.
fn exponent_of(x: real) -> i32 {
    let subnormal = x < 1.2e-38;
    let bits = bitcast<u32>(select(x, x * 16777216.0, subnormal));
    return (bitcast<i32>(bits - 0x3f3504f3u) >> 23u) - select(0, 24, subnormal);
}

// x cut to the leading 12 bits of its significand: the product of two such is exact.
fn leading_half(x: real) -> real {
    return bitcast<real>(bitcast<u32>(x) & (0xfffff000u ^ params.zero));
}

// What a result beyond the largest number becomes.
fn infinity() -> real {
    return real(bitcast<f32>(0x7f800000u ^ params.zero));
}

fn arctangent_part(x: real) -> real {
    let z = x * x;
    return x + x * z * (-0.333331525 + z * (0.199937731 + z * (-0.142110527 + z * (0.106659956 + z * (-0.0755219534 + z * (0.0432116389 + z * (-0.0163677931 + z * 0.00292065903)))))));
}

// In [−π, π], 0 at the origin. Zeros have no sign here.
fn arctangent2(y: real, x: real) -> real {
    let steep = abs(y) > abs(x);
    let larger = select(abs(x), abs(y), steep);
    let smaller = select(abs(y), abs(x), steep);
    // Division promises nothing beyond 2¹²⁶.
    let factor = select(real(1), 0.25, larger > 4e37);
    let part = arctangent_part(factor * smaller / select(factor * larger, 1.0, larger == 0.0));
    let acute = select(part, 1.57079637 - (part + 4.37113883e-8), steep);
    let angle = select(acute, 3.14159274 - (acute + 8.74227766e-8), x < 0.0);
    return select(angle, -angle, y < 0.0);
}

// 2ʳ
fn exponential2_part(r: real) -> real {
    return 1.0 + r * (0.693147182 + r * (0.240226477 + r * (0.0555033237 + r * (0.00961843692 + r * (0.00133988517 + r * 0.000153535744)))));
}

// n ln 2 + ln(1 + f) + c for a small c.
fn logarithm_part(n: i32, f: real, c: real) -> real {
    let p = 0.333333313 + f * (-0.250008196 + f * (0.200012282 + f * (-0.166233599 + f * (0.142017454 + f * (-0.131601512 + f * (0.127616271 - f * 0.0763462186))))));
    let z = f * f;
    let k = real(n);
    return k * 0.693359375 + (f + (f * z * p + (c - k * 2.12194440e-4) - 0.5 * z));
}

fn log1p(x: real) -> real {
    // 1 + x loses digits of x: close to 1 it is not formed, elsewhere what it lost is added.
    let near = x > -0.2928 && x < 0.4142;
    let sum = opaque(select(1.0 + x, 1.0, near));
    let lost = select(x - opaque(sum - 1.0), 1.0 - opaque(sum - x), x > 1.0);
    let n = exponent_of(sum);
    let f = select(scale_by_power_of_two(sum, -n) - 1.0, x, near);
    let y = logarithm_part(n, f, select(lost / sum, 0.0, near));
    return select(flagged(), y, x > -1.0);
}

struct Sum {
    leading: real,
    rest: real,
}

// log₂ x for x > 0, to 2⁻³⁰ of itself: n + (2/ln 2) artanh s with s = (f − 1)/(f + 1). The polynomial is a minimax fit
// of (artanh s / s − 1)/s² in s².
fn logarithm2(x: real) -> Sum {
    let n = exponent_of(x);
    let f = scale_by_power_of_two(x, -n);
    let s_leading = leading_half((f - 1.0) / (f + 1.0));
    let sum_leading = leading_half(f + 1.0);
    let sum_rest = f - opaque(sum_leading - 1.0);
    let s_rest = (opaque((f - 1.0) - s_leading * sum_leading) - s_leading * sum_rest) / (f + 1.0);
    let s = s_leading + s_rest;
    let z = s * s;
    let tail = s_rest + s * z * (0.333333343 + z * (0.200000614 + z * (0.142753616 + z * 0.116663828)));
    // 2/ln 2 = 2.884765625 + 6.24456792e-4
    let product = s_leading * 2.884765625;
    let product_rest = s_leading * 6.24456792e-4 + 2.8853900817779268 * tail;
    let k = real(n);
    let leading = leading_half(k + (product + product_rest));
    return Sum(leading, opaque(opaque(k - leading) + product) + product_rest);
}

// Below 0, whole exponents have a power: ±|a|ᵇ, negative for odd ones.
fn power(a: real, b: real) -> real {
    let log = logarithm2(abs(a));
    // |b| beyond 2³⁴ overflows or underflows, if a is not 1.
    let c = select(select(b, -1.7e10, b < -1.7e10), 1.7e10, b > 1.7e10);
    let c_leading = leading_half(c);
    let product = c_leading * log.leading;
    let rest = (c - c_leading) * log.leading + c * log.rest;
    let exponent = product + rest;
    let k = round(exponent);
    let y = scale_by_power_of_two(exponential2_part(opaque(product - k) + rest), i32(clamp(k, -200.0, 200.0)));
    let bounded = select(select(y, 0.0, exponent < -150.0), infinity(), exponent >= 128.0);
    let is_odd = b - 2.0 * floor(0.5 * b) == 1.0;
    let signed = select(bounded, -bounded, a < 0.0 && is_odd);
    let is_defined = a > 0.0 || (a < 0.0 && floor(b) == b);
    return select(select(flagged(), select(real(0), 1.0, b == 0.0), a == 0.0 && b >= 0.0), signed, is_defined);
}

@compute @workgroup_size(group_size)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = item(id);
    if (i >= params.count) {
        return;
    }
    let a0 = index[1] + index[4u + params.count + i] * 3u;
    let a1 = index[0] + index[4u + i] * 3u;
    let v0: real = arena[a0 + 1u];
    let v1: real = arena[a0 + 0u];
    let v2: real = power(v1, v0);
    let v3: real = log1p(v2);
    let v4: real = arena[a1 + 0u];
    let v5: real = arena[a1 + 1u];
    let v6: real = arctangent2(v5, v4);
    let v7: real = v6 - v3;
    let v8: real = jacobian[i];
    let v9: real = v7 + v8;
    let v10: real = v7 - v8;
    let v11: real = v10 * v9;
    let v12: real = data[0];
    let v13: real = 0.5;
    let v14: real = v13 * v12;
    let v15: real = v11 * v14;
    let v16: real = 0.0;
    let v17: real = select(real(0), real(1), v16 <= v0);
    let v18: real = select(real(0), real(1), v16 <= v1);
    let v19: real = select(real(0), real(1), v18 != 0.0 && v17 != 0.0);
    let v20: real = select(real(0), real(1), v16 < v1);
    let v21: real = select(real(0), real(1), v20 != 0.0 || v19 != 0.0);
    let v22: real = (-1.0);
    let v23: real = select(real(0), real(1), v22 < v2);
    let v24: real = select(real(0), real(1), v21 != 0.0 && v23 != 0.0);
    let v25: real = flagged();
    let v26: real = select(v25, v15, v24 != 0.0);
    vector_out[i] = v26;
}
