// The functions that kernels call, where reals are double-floats. Reductions and identities are exact or nearly so; where an
// inverse function has one, the built-in's value in f32 is the first guess and the function itself corrects it, which is two
// to three times as many digits.
//
// Functions that need no other formula are those of f32 (`src/kernels/build/doubles.rs`). Relative errors are some 2⁻⁴⁴; where the argument's own rounding is magnified (sin of many turns, powers), that much more.

// eʳ − 1 for |r| ≤ ½ ln 2: Taylor's series of an eighth, doubled three times by (1 + E)² − 1 = E(E + 2).
fn expm1_part(r: real) -> real {
    let x = 0.125 * r;
    let tail = x * (0.008333333333333333 + x * (0.001388888888888889 + x * (1.984126984126984e-4 + x * (2.48015873015873e-5 + x * 2.7557319223985893e-6))));
    let e = x + x * x * (0.5 + x * (0.16666666666666666 + x * (0.041666666666666664 + tail)));
    let e2 = e * (e + 2.0);
    let e4 = e2 * (e2 + 2.0);
    return e4 * (e4 + 2.0);
}

// x − k ln 2: the product with the leading part is exact.
fn remainder_of_ln2(x: real, k: real) -> real {
    return (x - k * 0.693359375) + k * 2.1219444005469057e-4;
}

// eˣ = 2ᵏ(1 + E)
struct Power {
    k: i32,
    e: real,
}

fn power_of_e(x: real) -> Power {
    let k = round(x * 1.4426950408889634);
    return Power(i32(clamp(k, -200.0, 200.0)), expm1_part(remainder_of_ln2(x, k)));
}

// 2ˢeˣ
fn scaled_exponential(x: real, s: i32) -> real {
    let p = power_of_e(x);
    return scale_by_power_of_two(1.0 + p.e, p.k + s);
}

fn exponential(x: real) -> real {
    return select(select(scaled_exponential(x, 0), 0.0, x < -104.0), infinity(), x > 88.7228);
}

fn exponential2(x: real) -> real {
    let k = round(x);
    let y = scale_by_power_of_two(1.0 + expm1_part((x - k) * 0.6931471805599453), i32(clamp(k, -200.0, 200.0)));
    return select(select(y, 0.0, x < -150.0), infinity(), x >= 128.0);
}

fn expm1(x: real) -> real {
    let p = power_of_e(max(x, -40.0));
    let n = min(p.k, 126);
    let y = scale_by_power_of_two(p.e + (1.0 - power_of_two(max(-n, -126))), n);
    return select(select(y, -1.0, x < -39.0), infinity(), x > 87.3);
}

// ln(1 + δ) for |δ| < 2⁻⁹.
fn logarithm_of_near_one(d: real) -> real {
    return d - d * d * (0.5 - d * (0.3333333333333333 - d * (0.25 - d * 0.2)));
}

// With x = f·2ⁿ and y the logarithm of f in f32: ln f = y + ln(f e⁻ʸ).
fn logarithm(x: real) -> real {
    let n = exponent_of(x);
    let f = scale_by_power_of_two(x, -n);
    let y = real(log(f32(f)));
    let e = expm1_part(-y);
    let rest = logarithm_of_near_one((f - 1.0) + f * e);
    let whole = real(n);
    let sum = whole * 0.693359375 + ((y + rest) - whole * 2.1219444005469057e-4);
    return select(select(flagged(), -infinity(), x == 0.0), select(sum, x, x > 3.4e38), x > 0.0);
}

// Where x is small, ln(1 + x) = y + ln(1 + (x − (eʸ − 1)) e⁻ʸ).
fn log1p(x: real) -> real {
    let near = clamp(x, -0.3, 0.4);
    let y = real(log(1.0 + f32(near)));
    let d = (near - expm1_part(y)) * (1.0 + expm1_part(-y));
    return select(logarithm(1.0 + x), y + logarithm_of_near_one(d), abs(x) < 0.25);
}

fn power(a: real, b: real) -> real {
    let y = exponential(b * logarithm(max(abs(a), 1.2e-38)));
    let is_odd = b - 2.0 * floor(0.5 * b) == 1.0;
    let is_defined = a > 0.0 || (a < 0.0 && floor(b) == b);
    return select(select(flagged(), select(real(0), real(1), b == 0.0), a == 0.0 && b >= 0.0), negated_if(y, a < 0.0 && is_odd), is_defined);
}

// Two steps of Newton's method from f32.
fn cube_root(x: real) -> real {
    let size = abs(x);
    let n = exponent_of(size);
    let third = (n + 300) / 3 - 100;
    let f = scale_by_power_of_two(size, -3 * third);
    var y = real(exp2(log2(f32(f)) / 3.0));
    y = y - (y - f / (y * y)) / 3.0;
    y = y - (y - f / (y * y)) / 3.0;
    let root = scale_by_power_of_two(y, third);
    return select(negated_if(root, x < 0.0), x, x == 0.0);
}

// x = r + q·π/2 with |r| ≤ π/4 or little more, q modulo 4.
struct Turn {
    r: real,
    q: i32,
}

// π/2 in parts of 11, 11 and 24 bits and what remains: multiples of the first are exact up to 8192 turns. Beyond, digits that x
// does not have would be needed as well; it is reduced twice, by what there is.
fn reduced(x: real) -> Turn {
    let k = round(x * 0.6366197723675814);
    let r = (((x - k * 1.5703125) - k * 4.837512969970703e-4) - k * 7.549789415861596e-8) - k * 5.390302858158119e-15;
    let fourth = k - 4.0 * floor(0.25 * k);
    return Turn(r, i32(fourth));
}

fn turn(x: real) -> Turn {
    let first = reduced(x);
    let second = reduced(first.r);
    let far = abs(x) > 1e4;
    return Turn(select(first.r, clamp(second.r, -0.8, 0.8), far), first.q + select(0, second.q, far));
}

fn sine_part(r: real) -> real {
    let z = r * r;
    let tail = z * (2.7557319223985893e-6 + z * (-2.505210838544172e-8 + z * (1.6059043836821613e-10 - z * 7.647163731819816e-13)));
    return r + r * z * (-0.16666666666666666 + z * (0.008333333333333333 + z * (-1.984126984126984e-4 + tail)));
}

fn cosine_part(r: real) -> real {
    let z = r * r;
    let tail = z * (-2.755731922398589e-7 + z * (2.08767569878681e-9 + z * (-1.1470745597729725e-11 + z * 4.779477332387385e-14)));
    return 1.0 - 0.5 * z + z * z * (0.041666666666666664 + z * (-0.001388888888888889 + z * (2.48015873015873e-5 + tail)));
}

fn turned(r: real, q: i32) -> real {
    return negated_if(select(sine_part(r), cosine_part(r), (q & 1) != 0), (q & 2) != 0);
}

fn tangent(x: Turn) -> real {
    return turned(x.r, x.q) / turned(x.r, x.q + 1);
}

// arctan δ for |δ| < 2⁻⁹.
fn small_arctangent(d: real) -> real {
    let z = d * d;
    return d - d * z * (0.3333333333333333 - z * (0.2 - z * 0.14285714285714285));
}

// The angle a of (x, |y|) in f32, and that of the point turned back by a. The larger coordinate is 1, lest squares leave the range.
fn arctangent2(y: real, x: real) -> real {
    let size = max(abs(x), abs(y));
    let unit = max(size, 1.2e-38);
    let u = x / unit;
    let v = abs(y) / unit;
    let guess = real(atan2(f32(v), f32(u)));
    let t = turn(guess);
    let s = sine(t);
    let c = cosine(t);
    let angle = guess + small_arctangent((v * c - u * s) / (u * c + v * s));
    return select(negated_if(angle, y < 0.0), 0.0, size == 0.0);
}

fn arctangent(x: real) -> real {
    return arctangent2(x, 1.0);
}

fn arcsine(x: real) -> real {
    let y = arctangent2(x, sqrt(max((1.0 - x) * (1.0 + x), 0.0)));
    return select(flagged(), y, abs(x) <= 1.0);
}

fn arccosine(x: real) -> real {
    let y = arctangent2(sqrt(max((1.0 - x) * (1.0 + x), 0.0)), x);
    return select(flagged(), y, abs(x) <= 1.0);
}

fn hyperbolic_sine(x: real) -> real {
    let size = abs(x);
    let e = expm1(min(size, 80.0));
    let half = scaled_exponential(size, -1);
    let y = select(select(half - 0.25 / half, 0.5 * (e + e / (e + 1.0)), size < 20.0), infinity(), size > 89.4);
    return negated_if(y, x < 0.0);
}

fn hyperbolic_cosine(x: real) -> real {
    let half = scaled_exponential(abs(x), -1);
    return select(half + 0.25 / half, infinity(), abs(x) > 89.4);
}

// a/(1 + e), which the logistic function of f32 names.
fn over_one_plus(a: real, e: real) -> real {
    return a / (1.0 + e);
}

fn hyperbolic_tangent(x: real) -> real {
    let e = expm1(2.0 * min(abs(x), 20.0));
    let y = e / (e + 2.0);
    return negated_if(y, x < 0.0);
}

fn inverse_hyperbolic_sine(x: real) -> real {
    let size = abs(x);
    let far = size > 1e9;
    let z = select(size, 1.0, far) * size;
    let near = log1p(size + z / (1.0 + sqrt(1.0 + z)));
    let y = select(near, logarithm(size) + 0.6931471805599453, far);
    return negated_if(y, x < 0.0);
}

fn inverse_hyperbolic_cosine(x: real) -> real {
    let far = x > 1e9;
    let t = x - 1.0;
    let z = select(max(t, 0.0), 1.0, far) * (t + 2.0);
    let y = select(log1p(t + sqrt(z)), logarithm(x) + 0.6931471805599453, far);
    return select(flagged(), y, x >= 1.0);
}

// Fits of f64's (`src/cpu/block/error_function.rs`): x + x R(x²) up to 1, beyond it 1 − e^−h.
fn error_function(x: real) -> real {
    let size = abs(x);
    let near = min(size, 1.0);
    let z = near * near;
    let inner_tail = z * (0.00012055331133348168 + z * (-1.4925595782181653e-5 + z * (1.646100864515775e-6 + z * (-1.6350398051079786e-7 + z * (1.4660341276143654e-8 + z * (-1.1375004913459357e-9 + z * 5.960769165543903e-11))))));
    let inner = 0.1283791670955126 + z * (-0.3761263890318375 + z * (0.11283791670954885 + z * (-0.02686617064507789 + z * (0.005223977624828584 + z * (-0.0008548326981435447 + inner_tail)))));
    let t = min(size, 6.0) - 1.5;
    let outer_tail = t * (2.762082412192859e-8 + t * (7.568106177681104e-10 + t * (-1.7913815538923064e-9 + t * (5.297491915413924e-10 + t * (-7.794072510852662e-11 + t * 4.862357844999034e-12)))));
    let outer_middle = t * (2.2473713157372115e-5 + t * (2.646905527756023e-6 + t * (-2.370989600710484e-6 + t * (8.186626253665754e-7 + t * (-1.9216681885437509e-7 + outer_tail)))));
    let outer = 3.3844920895515527 + t * (3.508800801779525 + t * (0.8926403306150028 + t * (0.02582414063378811 + t * (-0.006006746385214441 + t * (0.0012572166843481964 + t * (-0.00021596331956330784 + outer_middle))))));
    let y = select(1.0 - exponential(-outer), near + near * inner, size < 1.0);
    return negated_if(y, x < 0.0);
}
