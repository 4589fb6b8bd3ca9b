// Payne & Hanek's reduction (1983): of the digits of 2/π only those are multiplied that a large x leaves in sight.
// On bits, and so replaced in the CUDA f64 build.

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
