// The inverse hyperbolic functions, all by ln(1 + x), so that nothing cancels where they are small. Beyond 2²⁶ the
// argument of the logarithm is 2x in f32, whose factor becomes a summand lest it overflow.

fn inverse_hyperbolic_sine(x: real) -> real {
    let size = abs(x);
    let far = size > 67108864.0;
    let z = select(size, 1.0, far) * size;
    let y = log1p(select(size + z / (1.0 + sqrt(1.0 + z)), size, far)) + select(real(0), 0.69314718055994531, far);
    return select(y, -y, x < 0.0);
}

fn inverse_hyperbolic_cosine(x: real) -> real {
    let far = x > 67108864.0;
    let t = x - 1.0;
    let z = select(max(t, 0.0), 1.0, far) * (t + 2.0);
    let y = log1p(select(t + sqrt(z), t, far)) + select(real(0), 0.69314718055994531, far);
    return select(flagged(), y, x >= 1.0);
}

fn inverse_hyperbolic_tangent(x: real) -> real {
    let size = abs(x);
    let twice = 2.0 * size;
    let y = 0.5 * log1p(twice + twice * size / (1.0 - size));
    return select(flagged(), select(y, -y, x < 0.0), size < 1.0);
}
