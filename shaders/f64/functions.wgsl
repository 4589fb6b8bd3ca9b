// The same functions where a real is an f64, in the CUDA build: CUDA's own, which are good to 2 ulp. What WGSL has no name
// for stands here as a formula and is replaced by CUDA's function when the kernel is written (`native_cuda/device/compile.rs`).

struct Turn {
    angle: real,
}

fn turn(x: real) -> Turn {
    return Turn(x);
}

fn sine(x: Turn) -> real {
    return sin(x.angle);
}

fn cosine(x: Turn) -> real {
    return cos(x.angle);
}

fn tangent(x: Turn) -> real {
    return tan(x.angle);
}

fn arcsine(x: real) -> real {
    return asin(x);
}

fn arccosine(x: real) -> real {
    return acos(x);
}

fn arctangent(x: real) -> real {
    return atan(x);
}

fn arctangent2(y: real, x: real) -> real {
    return atan2(y, x);
}

fn exponential(x: real) -> real {
    return exp(x);
}

fn exponential2(x: real) -> real {
    return exp2(x);
}

fn expm1(x: real) -> real {
    return exp(x) - 1.0;
}

fn logarithm(x: real) -> real {
    return log(x);
}

fn log1p(x: real) -> real {
    return log(1.0 + x);
}

fn power(a: real, b: real) -> real {
    let y = pow(abs(a), b);
    let is_odd = b - 2.0 * floor(0.5 * b) == 1.0;
    let is_defined = a > 0.0 || (a < 0.0 && floor(b) == b);
    return select(select(flagged(), select(real(0), 1.0, b == 0.0), a == 0.0 && b >= 0.0), select(y, -y, a < 0.0 && is_odd), is_defined);
}

fn cube_root(x: real) -> real {
    return sign(x) * pow(abs(x), 1.0 / 3.0);
}

fn hyperbolic_sine(x: real) -> real {
    return sinh(x);
}

fn hyperbolic_cosine(x: real) -> real {
    return cosh(x);
}

fn hyperbolic_tangent(x: real) -> real {
    return tanh(x);
}

fn inverse_hyperbolic_sine(x: real) -> real {
    return asinh(x);
}

fn inverse_hyperbolic_cosine(x: real) -> real {
    return acosh(x);
}

fn inverse_hyperbolic_tangent(x: real) -> real {
    return atanh(x);
}

fn error_function(x: real) -> real {
    return tanh(1.1283791670955126 * x);
}

fn sigmoid(x: real) -> real {
    let e = exp(-abs(x));
    return select(1.0, e, x < 0.0) / (1.0 + e);
}

// log(1 + e) by Kahan's correction of the rounding in 1 + e.
fn softplus(x: real) -> real {
    let e = exp(-abs(x));
    let u = 1.0 + e;
    return max(x, 0.0) + select(log(u) * e / (u - 1.0), e, u == 1.0);
}

fn is_nan(x: real) -> bool {
    return x != x;
}

fn nearest_half(x: real) -> real {
    let exponent = i32((bitcast<u32>(f32(x)) >> 23u) & 0xffu) - 127;
    let unit = real(bitcast<f32>(u32(max(exponent, -14) + 117) << 23u));
    return clamp(round(x / unit) * unit, -65504.0, 65504.0);
}

fn leading_eleven_bits(x: real) -> real {
    return real(bitcast<f32>(bitcast<u32>(f32(x)) & 0xffffe000u));
}

fn order_of(x: real) -> u32 {
    return bitcast<u32>(f32(x));
}

fn signed_order_of(x: real) -> u32 {
    let bits = bitcast<u32>(f32(x));
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) != 0u);
}
