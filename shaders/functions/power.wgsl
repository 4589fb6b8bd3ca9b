// aᵇ = 2^(b log₂ a). Up to 128 stands in that exponent, so an error of 2⁻²⁴ in the logarithm would be 2⁻¹⁷ in the power:
// the logarithm is a sum of two numbers. The first of each sum has 12 bits, so that products of firsts are exact
// (the scheme of fdlibm's e_pow.c).

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
