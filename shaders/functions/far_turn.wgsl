// Payne & Hanek's reduction (1983): of the digits of 2/π only those are multiplied that a large x leaves in sight.
// On bits, and so replaced in the CUDA f64 build.

// 2/π in binary, behind 32 zeros.
const two_over_pi = array<u32, 8>(
    0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu
);

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
    // 96 bits of 2/π, from the one that is worth two quarter turns a unit of the significand.
    let first = (exponent - 120u) >> 5u;
    let shift = (exponent - 120u) & 31u;
    let a = two_over_pi[first];
    let b = two_over_pi[first + 1u];
    let c = two_over_pi[first + 2u];
    let d = two_over_pi[first + 3u];
    let upper = (a << shift) | ((b >> 1u) >> (31u - shift));
    let middle = (b << shift) | ((c >> 1u) >> (31u - shift));
    let lower = (c << shift) | ((d >> 1u) >> (31u - shift));
    // Times the significand, in units of 2⁻⁶² quarter turns, modulo 4.
    let significand = (bits & 0x7fffffu) | 0x800000u;
    let product = significand * middle;
    let low = product + upper_product(significand, lower);
    let high = significand * upper + upper_product(significand, middle) + select(0u, 1u, low < product);
    // What is left of the nearest whole one: a sign, and 32 bits that begin with a 1.
    let quarters = (high + 0x20000000u) >> 30u;
    let rest = high - (quarters << 30u);
    let below = rest >= 0x80000000u;
    let rest_high = select(rest, ~rest, below);
    let rest_low = select(low, ~low, below);
    let zeros = min(countLeadingZeros(rest_high), 31u);
    let digits = (rest_high << zeros) | ((rest_low >> 1u) >> (31u - zeros));
    // Times π/2, whose leading digits times the leading digits are exact.
    let leading = real(digits >> 20u) * 1048576.0;
    let r = leading * 1.5703125 + (real(digits & 0xfffffu) * 1.5707963267948966 + leading * 4.83826792e-4);
    let size = r * power_of_two(-30 - i32(zeros));
    let q = i32(quarters);
    let negative = x < 0.0;
    return Turn(select(select(size, -size, below != negative), flagged(), exponent == 255u), select(q, -q, negative));
}
