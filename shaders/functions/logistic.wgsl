// 1/(1 + e⁻ˣ) and its integral, by e^−|x|, which never overflows.

fn sigmoid(x: real) -> real {
    let e = exponential(-abs(x));
    return select(1.0, e, x < 0.0) / (1.0 + e);
}

fn softplus(x: real) -> real {
    return max(x, 0.0) + log1p(exponential(-abs(x)));
}
