// ln x and ln(1 + x): n ln 2 + ln(1 + f) with √½ ≤ 1 + f < √2. The polynomial is a minimax fit of
// (ln(1 + f) − f + f²/2)/f³, for the relative error of the logarithm; ln 2 has two parts, the first of 9 bits.

// n ln 2 + ln(1 + f) + c for a small c.
fn logarithm_part(n: i32, f: real, c: real) -> real {
    let p = 0.333333313 + f * (-0.250008196 + f * (0.200012282 + f * (-0.166233599 + f * (0.142017454 + f * (-0.131601512 + f * (0.127616271 - f * 0.0763462186))))));
    let z = f * f;
    let k = real(n);
    return k * 0.693359375 + (f + (f * z * p + (c - k * 2.12194440e-4) - 0.5 * z));
}

// The logarithm of u, which is y where it is a number: −∞ at 0, ∞ at ∞, none below 0.
fn logarithm_at_edges(u: real, y: real) -> real {
    return select(select(flagged(), -infinity(), u == 0.0), select(u, y, is_finite(u)), u > 0.0);
}

fn logarithm(x: real) -> real {
    let n = exponent_of(x);
    return logarithm_at_edges(x, logarithm_part(n, scale_by_power_of_two(x, -n) - 1.0, 0.0));
}

fn log1p(x: real) -> real {
    // 1 + x loses digits of x: close to 1 it is not formed, elsewhere what it lost is added.
    let near = x > -0.2928 && x < 0.4142;
    let sum = opaque(select(1.0 + x, 1.0, near));
    let lost = select(x - opaque(sum - 1.0), 1.0 - opaque(sum - x), x > 1.0);
    let n = exponent_of(sum);
    let f = select(scale_by_power_of_two(sum, -n) - 1.0, x, near);
    return logarithm_at_edges(sum, logarithm_part(n, f, select(lost / sum, 0.0, near)));
}
