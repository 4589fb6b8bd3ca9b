// The hyperbolic functions, by the exponential function; where that would cancel, odd polynomials (minimax fits of
// (sinh x − x)/x³ for |x| ≤ 1 and (tanh x − x)/x³ for |x| ≤ 0.55, in x²). e^|x|/2 is a number even where e^|x| is none.

fn hyperbolic_sine(x: real) -> real {
    let size = abs(x);
    let half = scaled_exponential(size, -1);
    let z = x * x;
    let near = size + size * z * (0.166666672 + z * (0.0083333496 + z * (0.000198361595 + z * 2.81695134e-6)));
    let y = select(select(half - 0.25 / half, near, size < 1.0), infinity(), size > 89.415985);
    return select(y, -y, x < 0.0);
}

fn hyperbolic_cosine(x: real) -> real {
    let half = scaled_exponential(abs(x), -1);
    return select(half + 0.25 / half, infinity(), abs(x) > 89.415985);
}

fn hyperbolic_tangent(x: real) -> real {
    let size = abs(x);
    let z = x * x;
    let near = size + size * z * (-0.333333164 + z * (0.133325860 + z * (-0.0538523085 + z * (0.0210716687 - z * 0.00627422659))));
    let e = exponential(-2.0 * size);
    let y = select(1.0 - over_one_plus(2.0 * e, e), near, size < 0.55);
    return select(y, -y, x < 0.0);
}
