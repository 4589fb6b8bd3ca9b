//! Losses as the engine has them, and as the textbook has them.

use crate::support::Tape;
use leastwise::expr::Opcode::{self, *};
use leastwise::problem::Loss;

pub struct Sample {
    pub name: String,
    pub loss: Loss,
    /// ρ and ρ′ as they are written down everywhere, in f64.
    pub value: Box<dyn Fn(f64) -> f64>,
    pub slope: Box<dyn Fn(f64) -> f64>,
    /// Where ρ″ jumps.
    pub kinks: Vec<f64>,
    /// The scale of s: where something happens.
    pub scale: f64,
    /// Whether ρ(s₁) − ρ(s₀) subtracts where a kink lies between.
    pub subtracts_across: bool,
    /// Whether a function has no rule for differences: it subtracts over steps that are not small.
    pub has_no_rule: bool,
}

fn sample(name: &str, loss: Loss, scale: f64, value: impl Fn(f64) -> f64 + 'static, slope: impl Fn(f64) -> f64 + 'static) -> Sample {
    let (value, slope) = (Box::new(value), Box::new(slope));
    Sample { name: name.into(), loss, value, slope, kinks: Vec::new(), scale, subtracts_across: false, has_no_rule: false }
}

fn kinked(kinks: &[f64], sample: Sample) -> Sample {
    Sample { kinks: kinks.to_vec(), ..sample }
}

/// A loss traced from instructions on s (value 0) and parameters (values 1, …).
pub fn traced(parameters: &[f64], build: impl Fn(&mut Tape) -> u32) -> Loss {
    let mut tape = Tape::default();
    (0..=parameters.len()).for_each(|source| {
        tape.input(source as u32);
    });
    let output = build(&mut tape);
    Loss::traced(&tape.words, output, parameters).unwrap()
}

/// scale · f(s/scale), of which ρ′ is f′(s/scale).
fn function(opcode: Opcode, f: fn(f64) -> f64, slope: fn(f64) -> f64) -> Sample {
    let loss = traced(&[2.5], |tape| {
        let x = tape.op(Div, &[0, 1]);
        let y = tape.op(opcode, &[x]);
        tape.op(Mul, &[y, 1])
    });
    let has_no_rule = matches!(opcode, Asinh | Erf);
    Sample { has_no_rule, ..sample(&format!("{opcode:?}"), loss, 2.5, move |s| 2.5 * f(s / 2.5), move |s| slope(s / 2.5)) }
}

fn barron(alpha: f64, c: f64) -> Sample {
    let b = c * c;
    let beta = (alpha - 2.0).abs();
    let value = move |s: f64| match alpha {
        2.0 => s,
        0.0 => 2.0 * b * (s / (2.0 * b)).ln_1p(),
        f64::NEG_INFINITY => 2.0 * b * (1.0 - (-s / (2.0 * b)).exp()),
        _ => 2.0 * b * beta / alpha * ((s / b / beta + 1.0).powf(alpha / 2.0) - 1.0),
    };
    let slope = move |s: f64| match alpha {
        2.0 => 1.0,
        f64::NEG_INFINITY => (-s / (2.0 * b)).exp(),
        _ => (s / b / beta + 1.0).powf(alpha / 2.0 - 1.0),
    };
    sample(&format!("barron({alpha}, {c})"), Loss::barron(alpha, c).unwrap(), b, value, slope)
}

pub fn built_in() -> Vec<Sample> {
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let mut all = vec![
        sample("trivial", Loss::trivial(), 1.0, |s| s, |_| 1.0),
        kinked(
            &[2.25],
            sample(
                "huber",
                Loss::huber(1.5).unwrap(),
                2.25,
                |s| if s <= 2.25 { s } else { 3.0 * s.sqrt() - 2.25 },
                |s| if s <= 2.25 { 1.0 } else { 1.5 / s.sqrt() },
            ),
        ),
        sample("softL1", Loss::soft_l1(0.5).unwrap(), 0.25, |s| 0.5 * ((1.0 + 4.0 * s).sqrt() - 1.0), |s| 1.0 / (1.0 + 4.0 * s).sqrt()),
        sample("cauchy", Loss::cauchy(2.0).unwrap(), 4.0, |s| 4.0 * (s / 4.0).ln_1p(), |s| 1.0 / (1.0 + s / 4.0)),
        sample("arctan", Loss::arctan(3.0).unwrap(), 3.0, |s| 3.0 * (s / 3.0).atan(), |s| 1.0 / (1.0 + s * s / 9.0)),
        kinked(
            &[2.25],
            sample(
                "tukey",
                Loss::tukey(1.5).unwrap(),
                2.25,
                |s| 0.75 * (1.0 - (1.0 - s / 2.25).max(0.0).powi(3)),
                |s| (1.0 - s / 2.25).max(0.0).powi(2),
            ),
        ),
        sample("gemanMcClure", Loss::geman_mc_clure(0.5).unwrap(), 0.25, |s| s / (1.0 + 4.0 * s), |s| (1.0 + 4.0 * s).powi(-2)),
        sample("welsch", Loss::welsch(2.0).unwrap(), 4.0, |s| 4.0 * (1.0 - (-s / 4.0).exp()), |s| (-s / 4.0).exp()),
        sample(
            "tolerant",
            Loss::tolerant(3.0, 0.5).unwrap(),
            3.0,
            move |s| 0.5 * (softplus((s - 3.0) / 0.5) - softplus(-6.0)),
            |s| 1.0 / (1.0 + ((3.0 - s) / 0.5).exp()),
        ),
        sample(
            "scaled",
            Loss::scaled(&Loss::cauchy(2.0).unwrap(), 0.3).unwrap(),
            4.0,
            |s| 1.2 * (s / 4.0).ln_1p(),
            |s| 0.3 / (1.0 + s / 4.0),
        ),
        kinked(
            &[4.0 * 0.25f64.exp_m1()],
            sample(
                "composed",
                Loss::composed(&Loss::huber(1.0).unwrap(), &Loss::cauchy(2.0).unwrap()),
                4.0,
                |s| {
                    let g = 4.0 * (s / 4.0).ln_1p();
                    if g <= 1.0 { g } else { 2.0 * g.sqrt() - 1.0 }
                },
                |s| {
                    let g = 4.0 * (s / 4.0).ln_1p();
                    (if g <= 1.0 { 1.0 } else { 1.0 / g.sqrt() }) / (1.0 + s / 4.0)
                },
            ),
        ),
    ];
    let alphas = [2.0, 1.0, 0.0, -2.0, f64::NEG_INFINITY, 1.5, 0.5, -0.7, -10.0, 2.5];
    all.extend(alphas.map(|alpha| barron(alpha, 1.5)));
    all
}

pub fn user_traced() -> Vec<Sample> {
    let cosh2 = |x: f64| 1.0 / x.cosh().powi(2);
    let mut all = vec![
        function(Log1p, f64::ln_1p, |x| 1.0 / (1.0 + x)),
        function(Atan, f64::atan, |x| 1.0 / (1.0 + x * x)),
        function(Tanh, f64::tanh, cosh2),
        function(Sin, f64::sin, f64::cos),
        function(Sinh, f64::sinh, f64::cosh),
        function(Asinh, f64::asinh, |x| 1.0 / (1.0 + x * x).sqrt()),
        function(Erf, |x| leastwise::expr::Unary::Erf.apply(x), |x| std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp()),
        function(Expm1, f64::exp_m1, f64::exp),
        function(Softplus, |x| x + (-x).exp().ln_1p(), |x| 1.0 / (1.0 + (-x).exp())),
        function(Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), |x| (-x).exp() / (1.0 + (-x).exp()).powi(2)),
        sample(
            "s/(1 + s)",
            traced(&[], |tape| {
                let one = tape.literal(1.0);
                let sum = tape.op(Add, &[0, one]);
                tape.op(Div, &[0, sum])
            }),
            1.0,
            |s| s / (1.0 + s),
            |s| (1.0 + s).powi(-2),
        ),
        sample(
            "√(1 + s) − 1",
            traced(&[], |tape| {
                let one = tape.literal(1.0);
                let sum = tape.op(Add, &[0, one]);
                let root = tape.op(Sqrt, &[sum]);
                tape.op(Sub, &[root, one])
            }),
            1.0,
            |s| (1.0 + s).sqrt() - 1.0,
            |s| 0.5 / (1.0 + s).sqrt(),
        ),
        sample(
            "(1 + s/a)ᵖ and ln (1.5 + s)",
            traced(&[2.0, 0.4], |tape| {
                let (one, more) = (tape.literal(1.0), tape.literal(1.5));
                let x = tape.op(Div, &[0, 1]);
                let sum = tape.op(Add, &[one, x]);
                let power = tape.op(Pow, &[sum, 2]);
                let sum = tape.op(Add, &[0, more]);
                let logarithm = tape.op(Log, &[sum]);
                tape.op(Add, &[power, logarithm])
            }),
            2.0,
            |s| (1.0 + s / 2.0).powf(0.4) + (1.5 + s).ln(),
            |s| 0.2 * (1.0 + s / 2.0).powf(-0.6) + 1.0 / (1.5 + s),
        ),
        sample(
            "s e⁻ˢ + s²",
            traced(&[], |tape| {
                let minus = tape.op(Neg, &[0]);
                let power = tape.op(Exp, &[minus]);
                let (product, square) = (tape.op(Mul, &[0, power]), tape.op(Square, &[0]));
                tape.op(Add, &[product, square])
            }),
            1.0,
            |s| s * (-s).exp() + s * s,
            |s| (1.0 - s) * (-s).exp() + 2.0 * s,
        ),
    ];
    let huber = traced(&[1.5], |tape| {
        let square = tape.op(Square, &[1]);
        let inside = tape.op(Le, &[0, square]);
        let root = tape.op(Sqrt, &[0]);
        let twice = tape.op(Add, &[root, root]);
        let product = tape.op(Mul, &[twice, 1]);
        let beyond = tape.op(Sub, &[product, square]);
        tape.op(Select, &[inside, 0, beyond])
    });
    let plain = built_in().remove(1);
    all.push(Sample { name: "Huber's, traced".into(), loss: huber, subtracts_across: true, ..plain });
    all
}
