// Whatever looks at the bits of a number stands here and in far_turn.wgsl, and nowhere else among the functions:
// the CUDA f64 build has its own of these.

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

// x cut to the leading 11 bits of its significand: what tensor cores see of it (TF32).
fn leading_eleven_bits(x: real) -> real {
    return bitcast<real>(bitcast<u32>(x) & (0xffffe000u ^ params.zero));
}

// What a result beyond the largest number becomes.
fn infinity() -> real {
    return real(bitcast<f32>(0x7f800000u ^ params.zero));
}

fn is_nan(x: real) -> bool {
    return ((bitcast<u32>(x) ^ params.zero) & 0x7fffffffu) > 0x7f800000u;
}

// x rounded to the nearest number of half precision (IEEE 754 binary16), of two the even one; at most the largest of these.
fn nearest_half(x: real) -> real {
    let exponent = i32((bitcast<u32>(x) >> 23u) & 0xffu) - 127;
    let n = max(exponent, -14) - 10;
    return clamp(round(x * power_of_two(min(-n, 127))) * power_of_two(n), -65504.0, 65504.0);
}

// Where a number that is not negative stands among all such.
fn order_of(x: real) -> u32 {
    return bitcast<u32>(x) ^ params.zero;
}

// Where a number stands among all.
fn signed_order_of(x: real) -> u32 {
    let bits = bitcast<u32>(x) ^ params.zero;
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) != 0u);
}
