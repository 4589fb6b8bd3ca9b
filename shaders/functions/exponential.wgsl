// eˣ, 2ˣ and eˣ − 1: x is reduced by multiples of ln 2 in two parts (the first has 9 bits, so that its multiples are
// exact), then a polynomial, then the exponent. Polynomials are minimax fits: of (eʳ − 1 − r)/r² weighted by r for
// |r| ≤ ½ ln 2, and of (2ʳ − 1)/r for |r| ≤ ½.

// eʳ − 1
fn expm1_part(r: real) -> real {
    return r + r * r * (0.5 + r * (0.166665420 + r * (0.0416662805 + r * (0.00836664438 + r * 0.00139465637))));
}

// 2ʳ
fn exponential2_part(r: real) -> real {
    return 1.0 + r * (0.693147182 + r * (0.240226477 + r * (0.0555033237 + r * (0.00961843692 + r * (0.00133988517 + r * 0.000153535744)))));
}

fn remainder_of_ln2(x: real, k: real) -> real {
    return opaque(x - k * 0.693359375) + k * 2.12194440e-4;
}

// 2ˢeˣ
fn scaled_exponential(x: real, s: i32) -> real {
    let k = round(x * 1.4426950408889634);
    return scale_by_power_of_two(1.0 + expm1_part(remainder_of_ln2(x, k)), i32(clamp(k, -200.0, 200.0)) + s);
}

fn exponential(x: real) -> real {
    return select(select(scaled_exponential(x, 0), 0.0, x < -104.0), infinity(), x > 88.72283);
}

fn exponential2(x: real) -> real {
    let k = round(x);
    let y = scale_by_power_of_two(exponential2_part(x - k), i32(clamp(k, -200.0, 200.0)));
    return select(select(y, 0.0, x < -150.0), infinity(), x >= 128.0);
}

// 2ᵏ((eʳ − 1) + (1 − 2⁻ᵏ)): nothing cancels, and for k = 0 it is the polynomial, unless a driver adds the ones first.
fn expm1(x: real) -> real {
    let k = round(x * 1.4426950408889634);
    let n = i32(clamp(k, -30.0, 200.0));
    let y = scale_by_power_of_two(expm1_part(remainder_of_ln2(x, k)) + opaque(1.0 - power_of_two(-min(n, 126))), n);
    return select(select(y, -1.0, x < -17.4), infinity(), x > 88.72283);
}
