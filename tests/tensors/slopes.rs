//! Slopes at the edges of domains and outside of them, where they are limits: those of JAX.

use super::benches;
use leastwise::Error;
use leastwise::expr::{Binary, Unary};
use leastwise::tensor::formula::{Formula, Slopes};
use leastwise::tensor::graph::{Graph, Node};

/// Operations, points and slopes, which the tests of the package read as well.
const TABLE: &str = include_str!("../../pkg_tests/problems/slopes.txt");

/// Points of operations of one.
const POINTS: [f64; 8] = [f64::NEG_INFINITY, -2.0, -1.0, 0.0, 1.0, 2.0, f64::INFINITY, f64::NAN];

/// Operations that TypeScript composes of others.
const COMPOSED: [&str; 5] = ["log2", "mod", "prod", "logsumexp", "clip"];

/// Lines of a kind: the name, and what follows it.
fn lines(kind: &str) -> Vec<(&'static str, Vec<f64>)> {
    let parsed = |line: &'static str| {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        let name = if matches!(first, "left" | "right") { first } else { words.next()? };
        (first == kind).then(|| (name, words.map(|word| word.parse().expect("a number")).collect()))
    };
    TABLE.lines().filter_map(parsed).filter(|(name, _)| !COMPOSED.contains(name)).collect()
}

fn is_near(found: f64, right: f64) -> bool {
    found == right || found.is_nan() && right.is_nan() || right.is_finite() && (found - right).abs() <= 1e-3 * right.abs()
}

fn unary(name: &str) -> Option<Unary> {
    Some(match name {
        "asin" => Unary::Asin,
        "acos" => Unary::Acos,
        "atan" => Unary::Atan,
        "sinh" => Unary::Sinh,
        "cosh" => Unary::Cosh,
        "asinh" => Unary::Asinh,
        "acosh" => Unary::Acosh,
        "atanh" => Unary::Atanh,
        _ => return None,
    })
}

/// The operation of a line.
fn applied(graph: &mut Graph, name: &str, x: &[Node]) -> Result<Node, Error> {
    if let Some(operation) = unary(name) {
        return graph.map(name, &Formula::unary(operation), x);
    }
    if let Some(exponent) = name.strip_prefix("pow(") {
        let exponent: f64 = exponent.trim_end_matches(')').parse().expect("an exponent");
        return graph.operation("powInt", x, &[exponent]);
    }
    let square = |graph: &mut Graph, x| graph.apply("square", &[x]);
    match name {
        "atan2" => graph.map(name, &Formula::binary(Binary::Atan2), x),
        "max" | "min" => graph.operation(name, x, &[0.0]),
        "mean" => graph.mean(x[0], &[], false),
        "softmax" | "logSoftmax" => {
            let all = graph.operation(name, x, &[0.0])?;
            graph.operation("slice", &[all], &[0.0, 0.0, 1.0, 1.0])
        }
        "cumprod" => graph.operation(name, x, &[0.0]),
        "norm" => {
            let squares = square(graph, x[0])?;
            let sum = graph.operation("sum", &[squares], &[0.0])?;
            graph.apply("sqrt", &[sum])
        }
        "var" | "std" => {
            let mean = graph.mean(x[0], &[], true)?;
            let centred = graph.apply("sub", &[x[0], mean])?;
            let squares = square(graph, centred)?;
            let variance = graph.mean(squares, &[], false)?;
            if name == "var" { Ok(variance) } else { graph.apply("sqrt", &[variance]) }
        }
        _ => graph.apply(name, x),
    }
}

/// The operations of a line with several.
fn mixed(graph: &mut Graph, name: &str, x: Node) -> Result<Node, Error> {
    let zero = graph.constant(0.0, &[]);
    let is_positive = graph.apply("less", &[zero, x])?;
    let chain = |graph: &mut Graph, names: &[&str], x| names.iter().try_fold(x, |x, name| graph.apply(name, &[x]));
    match name {
        "where(x>0,sqrt(x),0)" | "where(x>0,log(x),0)" => {
            let value = graph.apply(if name.contains("sqrt") { "sqrt" } else { "log" }, &[x])?;
            graph.apply("where", &[is_positive, value, zero])
        }
        "sqrt(where(x>0,x,0))" => {
            let guarded = graph.apply("where", &[is_positive, x, zero])?;
            graph.apply("sqrt", &[guarded])
        }
        "sqrt(maximum(x,0))" => {
            let guarded = graph.apply("maximum", &[x, zero])?;
            graph.apply("sqrt", &[guarded])
        }
        "pow(x,0.5)" => graph.apply_number("pow", x, 0.5),
        "pow(x,-0.5)" => graph.apply_number("pow", x, -0.5),
        "pow(x,1.5)" => graph.apply_number("pow", x, 1.5),
        "sqrt(relu(x))" => chain(graph, &["relu", "sqrt"], x),
        "log(exp(log(x)))" => chain(graph, &["log", "exp", "log"], x),
        "sqrt(square(x))" => chain(graph, &["square", "sqrt"], x),
        "square(sqrt(x))" => chain(graph, &["sqrt", "square"], x),
        _ => panic!("no such operations: {name}"),
    }
}

/// 2 Σ y, of a factor that the compiler does not know.
fn doubled(graph: &mut Graph, y: Node, two: Node) -> Result<Node, Error> {
    let scaled = graph.apply("mul", &[y, two])?;
    graph.operation("sum", &[scaled], &[0.0])
}

/// A line: its name, its operands, and the slopes by them, one operand after the other.
type Line = (&'static str, Vec<Vec<f64>>, Vec<f64>);

#[test]
fn slopes_are_limits() {
    let [left, right] = ["left", "right"].map(|kind| lines(kind).swap_remove(0).1);
    let mut all: Vec<Line> = Vec::new();
    all.extend(lines("one").into_iter().map(|(name, slopes)| (name, vec![POINTS.to_vec()], slopes)));
    all.extend(lines("two").into_iter().map(|(name, slopes)| (name, vec![left.clone(), right.clone()], slopes)));
    all.extend(lines("all").into_iter().map(|(name, mut numbers)| {
        let slopes = numbers.split_off(2);
        (name, vec![numbers], slopes)
    }));
    all.extend(lines("mixed").into_iter().map(|(name, slopes)| (name, vec![vec![-1.0, 0.0, 4.0]], slopes)));
    assert!(all.len() > 100, "{} lines", all.len());
    let mut wrong = Vec::new();
    for mut bench in benches() {
        for unfused in [false, true] {
            bench.tensors.unfused = unfused;
            bench.graph().slopes = Slopes::Limits;
            let two = bench.tensor(&[2.0], &[]);
            let mut slopes = Vec::new();
            for (name, operands, _) in &all {
                let x: Vec<Node> = operands.iter().map(|values| bench.tensor(values, &[values.len() as u32])).collect();
                let made = bench.graph().made(|graph| {
                    let y = if name.contains("x") && name.contains('(') { mixed(graph, name, x[0])? } else { applied(graph, name, &x)? };
                    let loss = doubled(graph, y, two)?;
                    let zero = graph.constant(0.0, &[]);
                    // What has no slope anywhere leads nowhere.
                    let no_way = x.iter().map(|&x| graph.apply("mul", &[x, zero])).collect::<Result<Vec<_>, _>>()?;
                    let anchors = no_way.into_iter().map(|x| graph.operation("sum", &[x], &[0.0])).collect::<Result<Vec<_>, _>>()?;
                    let loss = anchors.into_iter().try_fold(loss, |loss, anchor| graph.apply("add", &[loss, anchor]))?;
                    graph.gradient(loss, &x)
                });
                slopes.push(made.unwrap_or_else(|error| panic!("{name}: {error}")));
            }
            let found = bench.read(&slopes.concat());
            let mut found = found.into_iter();
            for (name, operands, right) in &all {
                let found: Vec<f64> = operands.iter().flat_map(|_| found.next().expect("a slope")).collect();
                for (place, (found, right)) in found.iter().map(|found| found / 2.0).zip(right).enumerate() {
                    if !is_near(found, *right) {
                        wrong.push(format!("{}, unfused {unfused}: {name}: slope {place} is {found} instead of {right}", bench.name));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Finite slopes stay what is given without a word, also beside formulas whose limits were asked for.
#[test]
fn slopes_are_finite_by_default() {
    for mut bench in benches() {
        let x = bench.tensor(&[-1.0, 0.0, 4.0], &[3]);
        let made = bench.graph().made(|graph| {
            let mut all = Vec::new();
            for slopes in [Slopes::Limits, Slopes::Finite] {
                graph.slopes = slopes;
                let root = graph.apply("sqrt", &[x])?;
                let loss = graph.operation("sum", &[root], &[0.0])?;
                all.extend(graph.gradient(loss, &[x])?);
            }
            Ok::<_, Error>(all)
        });
        let found = bench.read(&made.expect("slopes"));
        assert!(found[0][0].is_nan() && found[0][1] == f64::INFINITY && found[0][2] == 0.25, "{}: {:?}", bench.name, found[0]);
        assert_eq!(found[1], [0.0, 0.0, 0.25], "{}", bench.name);
    }
}
