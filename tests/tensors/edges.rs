//! Infinities, zeros and NaN: every elementwise function at the edges of its domain as IEEE 754 and NumPy have it.

use super::benches;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Arguments of a function of one: −∞, −1, −0, 0, 1, ∞, NaN.
const POINTS: [f64; 7] = [-INF, -1.0, -0.0, 0.0, 1.0, INF, NAN];

/// A function, and its values at [`POINTS`].
type Row = (&'static str, [f64; 7]);

fn table() -> Vec<Row> {
    let e = std::f64::consts::E;
    let ln2 = std::f64::consts::LN_2;
    vec![
        ("neg", [INF, 1.0, 0.0, 0.0, -1.0, -INF, NAN]),
        ("abs", [INF, 1.0, 0.0, 0.0, 1.0, INF, NAN]),
        ("square", [INF, 1.0, 0.0, 0.0, 1.0, INF, NAN]),
        ("floor", [-INF, -1.0, 0.0, 0.0, 1.0, INF, NAN]),
        ("ceil", [-INF, -1.0, 0.0, 0.0, 1.0, INF, NAN]),
        ("round", [-INF, -1.0, 0.0, 0.0, 1.0, INF, NAN]),
        ("sqrt", [NAN, NAN, 0.0, 0.0, 1.0, INF, NAN]),
        ("cbrt", [-INF, -1.0, 0.0, 0.0, 1.0, INF, NAN]),
        ("exp", [0.0, 1.0 / e, 1.0, 1.0, e, INF, NAN]),
        ("exp2", [0.0, 0.5, 1.0, 1.0, 2.0, INF, NAN]),
        ("expm1", [-1.0, 1.0 / e - 1.0, 0.0, 0.0, e - 1.0, INF, NAN]),
        ("log", [NAN, NAN, -INF, -INF, 0.0, INF, NAN]),
        ("log1p", [NAN, -INF, 0.0, 0.0, ln2, INF, NAN]),
        ("sin", [NAN, -(1f64.sin()), 0.0, 0.0, 1f64.sin(), NAN, NAN]),
        ("cos", [NAN, 1f64.cos(), 1.0, 1.0, 1f64.cos(), NAN, NAN]),
        ("tan", [NAN, -(1f64.tan()), 0.0, 0.0, 1f64.tan(), NAN, NAN]),
        ("tanh", [-1.0, -(1f64.tanh()), 0.0, 0.0, 1f64.tanh(), 1.0, NAN]),
        ("erf", [-1.0, -0.842_700_792_949_714_9, 0.0, 0.0, 0.842_700_792_949_714_9, 1.0, NAN]),
        ("relu", [0.0, 0.0, 0.0, 0.0, 1.0, INF, NAN]),
        ("sigmoid", [0.0, 1.0 / (1.0 + e), 0.5, 0.5, e / (1.0 + e), 1.0, NAN]),
        ("softplus", [0.0, (1.0 / e).ln_1p(), ln2, ln2, e.ln_1p(), INF, NAN]),
    ]
}

/// Equal, both NaN, or finite and near.
fn is_near(found: f64, right: f64, tolerance: f64) -> bool {
    found == right || found.is_nan() && right.is_nan() || right.is_finite() && (found - right).abs() <= tolerance * right.abs().max(1.0)
}

#[test]
fn functions_of_one_at_their_edges() {
    for mut bench in benches() {
        for unfused in [false, true] {
            bench.tensors.unfused = unfused;
            let x = bench.tensor(&POINTS, &[7]);
            let names: Vec<Row> = table();
            let made = bench.graph().made(|graph| names.iter().map(|(name, _)| graph.apply(name, &[x])).collect());
            let found = bench.read(&made.unwrap());
            let tolerance = 2.0 * bench.epsilon();
            for ((name, right), found) in names.iter().zip(found) {
                for ((x, found), right) in POINTS.iter().zip(found).zip(right) {
                    assert!(is_near(found, *right, tolerance), "{}: {name}({x}) = {found} instead of {right}", bench.name);
                }
            }
        }
    }
}

/// An operation of two, and what it is of numbers.
type OfTwo<'a> = (&'a str, &'a dyn Fn(f64, f64) -> f64);

#[test]
fn arithmetic_of_infinities() {
    let all = [-INF, -2.0, 0.0, 3.0, INF, NAN];
    let pairs: Vec<(f64, f64)> = all.iter().flat_map(|&a| all.map(|b| (a, b))).collect();
    let (left, right): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let known: [OfTwo; 4] = [("add", &|a, b| a + b), ("sub", &|a, b| a - b), ("mul", &|a, b| a * b), ("div", &|a, b| a / b)];
    for mut bench in benches() {
        let size = pairs.len() as u32;
        let (a, b) = (bench.tensor(&left, &[size]), bench.tensor(&right, &[size]));
        let made = bench.graph().made(|graph| known.iter().map(|(name, _)| graph.apply(name, &[a, b])).collect());
        let found = bench.read(&made.unwrap());
        for ((name, of), found) in known.iter().zip(found) {
            for (&(a, b), found) in pairs.iter().zip(found) {
                let right = of(a, b);
                let is_right = is_near(found, right, bench.epsilon());
                assert!(is_right, "{}: {a} {name} {b} = {found} instead of {right}", bench.name);
            }
        }
    }
}

/// exp(log 0) = exp(−∞) = 0, in one kernel and in two; and what is made of such.
#[test]
fn the_exponential_undoes_the_logarithm_of_zero() {
    for mut bench in benches() {
        for unfused in [false, true] {
            bench.tensors.unfused = unfused;
            let [x, y] = [[0.0, 1.0, 4.0, INF], [0.0, 1.0, 4.0, INF]].map(|values| bench.tensor(&values, &[4]));
            let made = bench.graph().made(|graph| {
                let logarithm = graph.apply("log", &[x])?;
                let again = graph.apply("exp", &[logarithm])?;
                let negative = graph.apply("neg", &[logarithm])?;
                let inverse = graph.apply("exp", &[negative])?;
                let other = graph.apply("log", &[y])?;
                Ok::<_, leastwise::Error>(vec![again, inverse, graph.apply("sub", &[logarithm, other])?])
            });
            let found = bench.read(&made.unwrap());
            let right = [[0.0, 1.0, 4.0, INF], [INF, 1.0, 0.25, 0.0], [NAN, 0.0, 0.0, NAN]];
            for (found, right) in found.iter().zip(right) {
                let is_right = found.iter().zip(right).all(|(found, right)| is_near(*found, right, 4.0 * bench.epsilon()));
                assert!(is_right, "{}: {found:?} instead of {right:?}", bench.name);
            }
        }
    }
}
