//! ρ, ρ′, ρ″ and ρ(s₁) − ρ(s₀), evaluated node by node in f64 and with every operation rounded to f32.

use crate::losses::samples::{Sample, built_in, traced, user_traced};
use crate::support::Random;
use leastwise::expr::{Expr, Graph, Leaf, Node, Opcode::*, Scope, Symbol};
use leastwise::problem::Loss;
use leastwise::program::{LossKind, Step};
use leastwise::session::wire;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Rounding {
    F64,
    F32,
}

impl Rounding {
    fn of(self, x: f64) -> f64 {
        if self == Self::F32 { f64::from(x as f32) } else { x }
    }

    fn unit(self) -> f64 {
        if self == Self::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
    }
}

/// What `build` makes of s₀, s₁, s₁ − s₀ and the parameters.
struct Formula {
    graph: Graph,
    root: Expr,
    parameters: Vec<f64>,
}

const INPUTS: u32 = 3;

impl Formula {
    fn new(loss: &Loss, build: impl for<'g> Fn(&LossKind, [Symbol<'g>; 3], &[Symbol<'g>]) -> Symbol<'g>) -> Self {
        let mut graph = Graph::new();
        let root = graph.formula(|scope: &Scope| {
            let input = |number: u32| scope.build(|graph| graph.leaf(Leaf::Row(number)));
            let parameters: Vec<Symbol> = (0..loss.parameters.len() as u32).map(|k| input(INPUTS + k)).collect();
            build(&loss.kind, [0, 1, 2].map(input), &parameters).expr
        });
        Self { graph, root, parameters: loss.parameters.clone() }
    }

    fn value(loss: &Loss) -> Self {
        Self::new(loss, |kind, s, p| kind.value(s[0], p))
    }

    fn at(&self, inputs: [f64; 3], rounding: Rounding) -> f64 {
        let inputs = [&inputs[..], &self.parameters].concat();
        let mut values: Vec<f64> = Vec::new();
        for index in 0..=self.root.0 {
            let at = |expr: Expr| values[expr.0 as usize];
            let value = match self.graph.node(Expr(index)) {
                Node::Const(bits) => f64::from_bits(bits),
                Node::Leaf(Leaf::Row(number)) => inputs[number as usize],
                Node::Leaf(other) => panic!("{other:?}"),
                Node::Unary(operation, a) => operation.apply(at(a)),
                Node::Binary(operation, a, b) => operation.apply(at(a), at(b)),
                Node::Select { condition, then, otherwise } => at(if at(condition) != 0.0 { then } else { otherwise }),
            };
            values.push(rounding.of(value));
        }
        values[self.root.0 as usize]
    }

    fn of(&self, s: f64, rounding: Rounding) -> f64 {
        self.at([rounding.of(s), 0.0, 0.0], rounding)
    }
}

fn all() -> Vec<Sample> {
    built_in().into_iter().chain(user_traced()).collect()
}

/// Where ρ is looked at: 0, small and large values, and both sides of kinks.
fn places(sample: &Sample) -> Vec<f64> {
    let mut random = Random::new(sample.name.len() as u64);
    let mut places: Vec<f64> = [0.0, 1e-8, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0].map(|x| x * sample.scale).to_vec();
    places.extend((0..20).map(|_| random.between(0.0, 4.0) * sample.scale));
    places.extend(sample.kinks.iter().flat_map(|kink| [kink * 0.999, kink * 1.001]));
    places
}

fn near(what: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance, "{what}: {got:e}, not {expected:e} (off by {:e} > {tolerance:e})", (got - expected).abs());
}

#[test]
fn values_and_slopes_are_the_textbooks() {
    for sample in all() {
        let (value, slope) = (Formula::value(&sample.loss), Formula::new(&sample.loss, |kind, s, p| kind.slope(s[0], p)));
        for s in places(&sample) {
            for rounding in [Rounding::F64, Rounding::F32] {
                let (s, unit) = (rounding.of(s), rounding.unit());
                let what = format!("{} at {s:e} in {rounding:?}", sample.name);
                let (rho, first) = ((sample.value)(s), (sample.slope)(s));
                // The textbook's formula cancels near 0, and what was traced stays as it is.
                let cancels = if sample.loss.kind.is_built_in() { 2e-14 } else { 4.0 * unit };
                near(&what, value.of(s, rounding), rho, 60.0 * unit * (rho.abs() + s * first.abs()) + cancels * sample.scale);
                if s < 1e-2 * sample.scale && sample.loss.kind.is_built_in() {
                    near(&what, value.of(s, rounding), integral(&sample, 0.0, s), 60.0 * unit * s * first);
                }
                near(&format!("slope of {what}"), slope.of(s, rounding), first, 60.0 * unit * first.abs().max(1e-2));
            }
        }
    }
}

#[test]
fn second_derivatives_are_differences_of_slopes() {
    for sample in all() {
        let bend = Formula::new(&sample.loss, |kind, s, p| kind.bend(s[0], p));
        for s in places(&sample) {
            let step = 1e-5 * s.max(1e-3 * sample.scale);
            if sample.kinks.iter().any(|kink| (kink - s).abs() < 3.0 * step) {
                continue;
            }
            let difference = match s < 2.0 * step {
                // One-sided where s ≥ 0 ends.
                true => {
                    let at = |k: f64| (sample.slope)(s + k * step);
                    (-3.0 * at(0.0) + 4.0 * at(1.0) - at(2.0)) / (2.0 * step)
                }
                false => ((sample.slope)(s + step) - (sample.slope)(s - step)) / (2.0 * step),
            };
            let got = bend.of(s, Rounding::F64);
            near(&format!("second derivative of {} at {s:e}", sample.name), got, difference, 2e-5 * (got.abs() + 0.1 / sample.scale));
        }
    }
}

/// ∫ ρ′ from s to s + by, by Gauss' five points between kinks: exact to rounding for small steps.
fn integral(sample: &Sample, s: f64, by: f64) -> f64 {
    const POINTS: [(f64, f64); 3] =
        [(0.0, 128.0 / 225.0), (0.538_469_310_105_683_1, 0.478_628_670_499_366_47), (0.906_179_845_938_664, 0.236_926_885_056_189_08)];
    let piece = |from: f64, by: f64| {
        let at = |x: f64| (sample.slope)(from + by * (1.0 + x) / 2.0);
        by / 2.0 * POINTS.iter().map(|&(x, weight)| weight * if x == 0.0 { at(0.0) } else { at(x) + at(-x) }).sum::<f64>()
    };
    match sample.kinks.iter().find(|&&kink| (kink - s) * (kink - s - by) < 0.0) {
        Some(kink) => piece(s, kink - s) + piece(*kink, by - (kink - s)),
        None => piece(s, by),
    }
}

#[test]
fn differences_do_not_cancel() {
    let steps = [1e-9, -1e-9, 1e-6, -1e-6, 1e-4, -1e-4, 1e-3, -1e-3];
    for sample in all() {
        let difference = Formula::new(&sample.loss, |kind, [from, to, by], p| kind.difference(Step { from, to, by }, p));
        let slope = Formula::new(&sample.loss, |kind, s, p| kind.slope(s[0], p));
        let mut places = places(&sample);
        places.extend(sample.kinks.iter().flat_map(|kink| [-1e-3, -1e-5, -5e-10, 0.0, 5e-10, 1e-5, 1e-3].map(|by| kink * (1.0 + by))));
        for rounding in [Rounding::F64, Rounding::F32] {
            let unit = rounding.unit();
            for &s in &places {
                for relative in steps {
                    let s = rounding.of(s);
                    let by = rounding.of(relative * s);
                    let expected = integral(&sample, s, by);
                    let got = difference.at([s, rounding.of(s + by), by], rounding);
                    let crosses = sample.kinks.iter().any(|kink| (kink - s) * (kink - s - by) <= 0.0 || (kink - s).abs() < 2.0 * unit * s);
                    if sample.subtracts_across && crosses {
                        near(&format!("{} across its kink", sample.name), got, expected, 8.0 * unit * (sample.value)(s));
                        continue;
                    }
                    // Near 0 of ρ′ it is ρ″ that counts: s is only known up to rounding.
                    let error = 4.0 * unit * s;
                    let at = |s: f64| slope.of(s.max(0.0), Rounding::F64);
                    let spread = [s, s + by].map(|s| (at(s + error) - at(s)).abs().max((at(s - error) - at(s)).abs()));
                    let spread = spread[0].max(spread[1]);
                    let subtracted = if sample.has_no_rule && relative.abs() > 9e-4 { 8.0 * unit * (sample.value)(s) } else { 0.0 };
                    let tolerance = (80.0 * unit + 3e-13) * expected.abs() + spread * by.abs() + subtracted + 1e-35;
                    near(&format!("{} from {s:e} by {by:e} in {rounding:?}", sample.name), got, expected, tolerance);
                }
            }
        }
    }
}

#[test]
fn large_differences_are_those_of_the_values() {
    for sample in all() {
        let difference = Formula::new(&sample.loss, |kind, [from, to, by], p| kind.difference(Step { from, to, by }, p));
        for rounding in [Rounding::F64, Rounding::F32] {
            let places: Vec<f64> = places(&sample).into_iter().map(|s| rounding.of(s)).collect();
            for (from, to) in places.iter().flat_map(|&from| places.iter().map(move |&to| (from, to))) {
                let (before, after) = ((sample.value)(from), (sample.value)(to));
                let got = difference.at([from, to, rounding.of(to - from)], rounding);
                let tolerance = 100.0 * rounding.unit() * (before.abs() + after.abs() + sample.scale);
                near(&format!("{} from {from:e} to {to:e} in {rounding:?}", sample.name), got, after - before, tolerance);
            }
        }
    }
}

#[test]
fn everything_is_finite_at_zero_and_far_out() {
    for sample in all() {
        for rounding in [Rounding::F64, Rounding::F32] {
            for s in [0.0, 1e-30, 1e-12, 1e12] {
                // Exponentials of 10¹² are not.
                if s > 1.0 && ["Sinh", "Expm1", "barron(2.5, 1.5)"].contains(&sample.name.as_str()) {
                    continue;
                }
                let all = [
                    Formula::value(&sample.loss).of(s, rounding),
                    Formula::new(&sample.loss, |kind, s, p| kind.slope(s[0], p)).of(s, rounding),
                    Formula::new(&sample.loss, |kind, s, p| kind.bend(s[0], p)).of(s, rounding),
                ];
                assert!(all.iter().all(|value| value.is_finite()), "{} at {s:e} in {rounding:?}: {all:?}", sample.name);
            }
        }
    }
}

#[test]
fn barrons_loss_joins_its_limits() {
    let of = |alpha: f64| Formula::value(&Loss::barron(alpha, 1.5).unwrap());
    for rounding in [Rounding::F64, Rounding::F32] {
        let bound = if rounding == Rounding::F64 { 1e-6 } else { 1e-5 };
        for s in [0.3, 2.0, 17.0] {
            for (alpha, close) in [(2.0, 2.0 - 1e-8), (2.0, 2.0 + 1e-8), (0.0, 1e-8), (0.0, -1e-8), (f64::NEG_INFINITY, -1e9)] {
                let (limit, near) = (of(alpha).of(s, rounding), of(close).of(s, rounding));
                assert!((limit - near).abs() <= bound * limit, "α = {alpha} at {s}: {limit}, and {near} beside it");
            }
        }
    }
    // Zhang's Geman–McClure, Welsch and Cauchy are Barron's with another scale.
    let s = 1.7;
    for (loss, barron) in [
        (Loss::geman_mc_clure(0.8).unwrap(), Loss::barron(-2.0, 0.4).unwrap()),
        (Loss::welsch(0.8).unwrap(), Loss::barron(f64::NEG_INFINITY, 0.8 / 2f64.sqrt()).unwrap()),
        (Loss::cauchy(0.8).unwrap(), Loss::barron(0.0, 0.8 / 2f64.sqrt()).unwrap()),
        (Loss::soft_l1(0.8).unwrap(), Loss::barron(1.0, 0.8).unwrap()),
    ] {
        let [a, b] = [&loss, &barron].map(|loss| Formula::value(loss).of(s, Rounding::F64));
        assert!((a - b).abs() < 1e-14 * a, "{a} and {b}");
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-10, 1e10] {
        for made in [Loss::huber(bad), Loss::soft_l1(bad), Loss::cauchy(bad), Loss::arctan(bad), Loss::tukey(bad), Loss::welsch(bad)] {
            assert_eq!(made.unwrap_err().code(), "invalid-option", "{bad}");
        }
        assert!(Loss::geman_mc_clure(bad).is_err() && Loss::tolerant(1.0, bad).is_err() && Loss::barron(1.0, bad).is_err());
    }
    assert!(Loss::tolerant(-1.0, 1.0).is_err() && Loss::barron(f64::NAN, 1.0).is_err() && Loss::barron(f64::INFINITY, 1.0).is_err());
    let cauchy = Loss::cauchy(1.0).unwrap();
    assert!(Loss::scaled(&cauchy, -1.0).is_err() && Loss::scaled(&cauchy, f64::NAN).is_err() && Loss::scaled(&cauchy, 0.0).is_ok());
}

#[test]
fn hostile_packings_are_refused() {
    let refused = |words: &[u32], reals: &[f64]| assert_eq!(wire::loss(words, reals).unwrap_err().code(), "invalid-option", "{words:?}");
    refused(&[], &[]);
    refused(&[1], &[]);
    refused(&[1], &[1.0, 2.0]);
    refused(&[99], &[]);
    refused(&[10, 1], &[1.0]);
    refused(&[11, 1, 1], &[1.0]);
    refused(&vec![10; 4000], &vec![1.0; 4000]);
    refused(&[12, 0, 0, u32::MAX], &[]);
    refused(&[12, u32::MAX, 0, 0], &[]);
    refused(&[12, 0, 5, 2, 1 | 1 << 16, 0], &[]);
    // A number is no loss.
    let half = 0.5f64.to_bits();
    refused(&[12, 0, 0, 3, 2 << 16, half as u32, (half >> 32) as u32], &[]);
    let nested = wire::loss(&[11, 10, 1, 3], &[2.0, 1.5, 3.0]).unwrap();
    assert_eq!(nested.parameters, [2.0, 1.5, 3.0]);
}

/// What differs in numbers alone is one kind.
#[test]
fn kinds_do_not_depend_on_numbers() {
    assert_eq!(Loss::huber(1.0).unwrap().kind, Loss::huber(2.0).unwrap().kind);
    let log = |c: f64| {
        traced(&[], |tape| {
            let c = tape.literal(c);
            let x = tape.op(Div, &[0, c]);
            let y = tape.op(Log1p, &[x]);
            tape.op(Mul, &[c, y])
        })
    };
    let (two, three) = (log(2.0), log(3.0));
    assert_eq!(two.kind, three.kind);
    assert_eq!((two.parameters, three.parameters), (vec![2.0], vec![3.0]));
}
