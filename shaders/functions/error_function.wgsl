// erf x: up to 0.92 an odd polynomial (a minimax fit of erf x / x − 1 in x²), beyond it 1 − e^−u, where u is one of
// −ln(erfc x)/x − 1; both for the relative error of erf. From 3.95 on it is 1 in f32.

fn error_function(x: real) -> real {
    let z = x * x;
    let near = x + x * (0.128379151 + z * (-0.376124978 + z * (0.112818457 + z * (-0.0267677195 + z * (0.00499483012 - z * 0.000599940482)))));
    let t = min(abs(x), 4.0);
    let u = 0.128637075 + t * (0.635198057 + t * (0.106159039 + t * (-0.0236945562 + t * (0.00361033785 + t * (-0.000314857229 + t * 1.04330393e-5)))));
    let far = 1.0 - exponential(-t - t * u);
    return select(select(far, -far, x < 0.0), near, !(abs(x) >= 0.92));
}
