// 1/(1 + e⁻ˣ) and its integral, by e^−|x|, which never overflows.

// a/(1 + e) for 0 ≤ e ≤ 1: no quotient of special cases.
fn over_one_plus(a: real, e: real) -> real {
    return a / (1.0 + e);
}

fn sigmoid(x: real) -> real {
    let e = exponential(-abs(x));
    return over_one_plus(select(1.0, e, x < 0.0), e);
}

fn softplus(x: real) -> real {
    return max(x, 0.0) + log1p(exponential(-abs(x)));
}
