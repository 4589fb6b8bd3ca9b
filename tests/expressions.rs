//! Tapes, expressions and symbolic derivatives, against a plain evaluator and finite differences.

use crate::support::{Random, Tape};
use leastwise::expr::Opcode;
use leastwise::expr::tape::{self, Source, TapeError};
use leastwise::expr::{Expr, Graph, Leaf, Node};

const WIDTHS: [u32; 4] = [3, 3, 1, 9];

fn sources() -> Vec<Source> {
    let slot = |(slot, width): (usize, &u32)| Source { leaf: Leaf::Slot { slot: slot as u32, component: 0 }, width: *width };
    WIDTHS.iter().enumerate().map(slot).collect()
}

/// The value of every node, in order: operands come first.
fn evaluate(graph: &Graph, inputs: &[Vec<f64>]) -> Vec<f64> {
    let mut values: Vec<f64> = Vec::new();
    for index in 0..graph.len() as u32 {
        let at = |expr: Expr| values[expr.0 as usize];
        values.push(match graph.node(Expr(index)) {
            Node::Const(bits) => f64::from_bits(bits),
            Node::Leaf(Leaf::Slot { slot, component }) => inputs[slot as usize][component as usize],
            Node::Leaf(other) => panic!("{other:?} is not an input"),
            Node::Unary(operation, a) => operation.apply(at(a)),
            Node::Binary(operation, a, b) => operation.apply(at(a), at(b)),
            Node::Select { condition, then, otherwise } => {
                if at(condition) != 0.0 {
                    at(then)
                } else {
                    at(otherwise)
                }
            }
        });
    }
    values
}

fn leaves(graph: &mut Graph) -> Vec<(usize, usize, Expr)> {
    let mut all = Vec::new();
    for (slot, width) in WIDTHS.iter().enumerate() {
        for component in 0..*width {
            let leaf = graph.leaf(Leaf::Slot { slot: slot as u32, component });
            all.push((slot, component as usize, leaf));
        }
    }
    all
}

/// Checks ∂output/∂input against central differences at the point; NaN anywhere fails.
fn check(name: &str, tape: &Tape, outputs: &[u32], point: &[Vec<f64>]) {
    let mut graph = Graph::new();
    let results = tape::read(&mut graph, &tape.words, outputs, &sources()).unwrap();
    let inputs = leaves(&mut graph);
    let exprs: Vec<Expr> = inputs.iter().map(|input| input.2).collect();
    let gradients: Vec<Vec<Expr>> = results.iter().map(|&result| graph.gradient(result, &exprs)).collect();
    let here = evaluate(&graph, point);
    for (row, (result, gradient)) in results.iter().zip(&gradients).enumerate() {
        for (&(slot, component, _), entry) in inputs.iter().zip(gradient) {
            let step = 1e-6;
            let moved = |by: f64| {
                let mut other = point.to_vec();
                other[slot][component] += by;
                evaluate(&graph, &other)[result.0 as usize]
            };
            let numeric = (moved(step) - moved(-step)) / (2.0 * step);
            let symbolic = here[entry.0 as usize];
            assert!(
                (symbolic - numeric).abs() <= 1e-7 * (1.0 + numeric.abs()),
                "{name}: row {row}, slot {slot}[{component}]: {symbolic} is not {numeric}"
            );
        }
    }
}

fn random_point(random: &mut Random) -> Vec<Vec<f64>> {
    WIDTHS.iter().map(|&width| (0..width).map(|_| random.between(-1.5, 1.5)).collect()).collect()
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    let mut random = Random::new(7);
    for round in 0..20 {
        let point = random_point(&mut random);
        let build = |ops: &dyn Fn(&mut Tape, [u32; 4]) -> u32| {
            let mut tape = Tape::default();
            let inputs = [0, 1, 2, 3].map(|source| tape.input(source));
            let output = ops(&mut tape, inputs);
            (tape, output)
        };
        let cases: Vec<(&str, (Tape, u32))> = vec![
            ("rotate", build(&|t, [a, b, ..]| t.op(Opcode::RotateXYZ, &[a, b]))),
            ("cross", build(&|t, [a, b, ..]| t.op(Opcode::Cross, &[a, b]))),
            ("normalize", build(&|t, [a, ..]| t.op(Opcode::Normalize, &[a]))),
            (
                "norm",
                build(&|t, [a, b, ..]| {
                    let d = t.op(Opcode::Sub, &[a, b]);
                    t.op(Opcode::Norm, &[d])
                }),
            ),
            (
                "dot over norm",
                build(&|t, [a, b, ..]| {
                    let d = t.op(Opcode::Dot, &[a, b]);
                    let n = t.op(Opcode::Norm, &[b]);
                    t.op(Opcode::Div, &[d, n])
                }),
            ),
            ("matrix", build(&|t, [a, _, _, m]| t.op(Opcode::MatVec, &[m, a]))),
            (
                "scalar with vector",
                build(&|t, [a, _, s, _]| {
                    let p = t.op(Opcode::Mul, &[a, s]);
                    t.op(Opcode::Sub, &[s, p])
                }),
            ),
            (
                "square of sine plus cosine",
                build(&|t, [a, b, ..]| {
                    let s = t.op(Opcode::Sin, &[a]);
                    let c = t.op(Opcode::Cos, &[b]);
                    let q = t.op(Opcode::Square, &[s]);
                    t.op(Opcode::Add, &[q, c])
                }),
            ),
            (
                "select",
                build(&|t, [a, b, s, _]| {
                    let zero = t.literal(0.0);
                    let c = t.op(Opcode::Lt, &[zero, s]);
                    t.op(Opcode::Select, &[c, a, b])
                }),
            ),
            ("sum of three", build(&|t, [a, b, ..]| t.op(Opcode::Sum, &[a, b, a]))),
        ];
        for (name, (tape, output)) in cases {
            check(&format!("round {round}, {name}"), &tape, &[output], &point);
        }
    }
}

#[test]
fn kinks_have_the_documented_derivatives() {
    let mut tape = Tape::default();
    let [a, _, s] = [0, 1, 2].map(|source| tape.input(source));
    let norm = tape.op(Opcode::Norm, &[a]);
    let unit = tape.op(Opcode::Normalize, &[a]);
    let root = tape.op(Opcode::Sqrt, &[s]);
    // Where s ≤ 0 the square root of the other branch is NaN: nothing of it may come through.
    let zero = tape.literal(0.0);
    let positive = tape.op(Opcode::Lt, &[zero, s]);
    let inverse = tape.op(Opcode::Div, &[root, s]);
    let guarded = tape.op(Opcode::Select, &[positive, inverse, s]);
    let mut graph = Graph::new();
    let results = tape::read(&mut graph, &tape.words, &[norm, unit, root, guarded], &sources()).unwrap();
    let inputs = leaves(&mut graph);
    let exprs: Vec<Expr> = inputs.iter().map(|input| input.2).collect();
    let gradients: Vec<Vec<Expr>> = results.iter().map(|&result| graph.gradient(result, &exprs)).collect();
    let point = vec![vec![0.0; 3], vec![1.0; 3], vec![0.0], vec![0.0; 9]];
    let values = evaluate(&graph, &point);
    let at = |expr: &Expr| values[expr.0 as usize];
    assert_eq!(results.iter().map(at).collect::<Vec<_>>(), [0.0; 6]);
    let derivative_of_s = |row: usize| at(&gradients[row][6]);
    assert!(gradients[..5].iter().flatten().all(|entry| at(entry) == 0.0), "‖0‖′, (0/‖0‖)′ and √0′ are 0");
    assert_eq!(derivative_of_s(5), 1.0, "the branch taken is s itself");
}

#[test]
fn constant_entries_are_known_and_shared() {
    let mut tape = Tape::default();
    let [a, b] = [0, 1].map(|source| tape.input(source));
    let difference = tape.op(Opcode::Sub, &[a, b]);
    let mut graph = Graph::new();
    let rows = tape::read(&mut graph, &tape.words, &[difference], &sources()).unwrap();
    let inputs: Vec<Expr> = leaves(&mut graph).into_iter().take(6).map(|input| input.2).collect();
    for (k, row) in rows.into_iter().enumerate() {
        let entries: Vec<Option<f64>> = graph.gradient(row, &inputs).into_iter().map(|entry| graph.value(entry)).collect();
        let mut expected = [Some(0.0); 6];
        (expected[k], expected[k + 3]) = (Some(1.0), Some(-1.0));
        assert_eq!(entries, expected);
    }
}

#[test]
fn a_long_chain_neither_overflows_the_stack_nor_takes_quadratic_time() {
    let mut tape = Tape::default();
    let s = tape.input(2);
    let mut sum = s;
    for _ in 0..200_000 {
        sum = tape.op(Opcode::Add, &[sum, s]);
        sum = tape.op(Opcode::Sin, &[sum]);
    }
    let mut graph = Graph::new();
    let result = tape::read(&mut graph, &tape.words, &[sum], &sources()).unwrap()[0];
    let leaf = graph.leaf(Leaf::Slot { slot: 2, component: 0 });
    assert_eq!(graph.gradient(result, &[leaf]).len(), 1);
    assert!(graph.len() < 2_500_000, "{} nodes", graph.len());
}

#[test]
fn hostile_tapes_are_refused_in_words() {
    let refuse = |words: &[u32], outputs: &[u32]| tape::read(&mut Graph::new(), words, outputs, &sources()).unwrap_err();
    let word = |opcode: Opcode, count: u32| opcode as u32 | count << 16;
    assert_eq!(refuse(&[word(Opcode::Add, 2), 0], &[]).to_string(), "the tape ends within instruction 0");
    assert_eq!(refuse(&[999], &[]).to_string(), "instruction 0 has the unknown opcode 999");
    assert_eq!(refuse(&[word(Opcode::Neg, 1), 0], &[]).to_string(), "instruction 0 refers to value 0, which does not come before it");
    assert_eq!(refuse(&[word(Opcode::Input, 1), 9], &[]).to_string(), "instruction 0 reads input 9, but there are 4");
    assert_eq!(refuse(&[word(Opcode::Sin, 1), 0], &[]), TapeError::Forward { instruction: 0, value: 0 });
    assert_eq!(refuse(&[word(Opcode::Sin, 2), 0, 0], &[]).to_string(), "instruction 0 (Sin) takes one operands, not 2");
    let infinite = f64::INFINITY.to_bits();
    let literal = [word(Opcode::Literal, 2), infinite as u32, (infinite >> 32) as u32];
    assert_eq!(
        refuse(&literal, &[]).to_string(),
        "the literal of instruction 0 is inf: it must be finite, and at most 3.4e38 in magnitude unless the engine computes in f64"
    );
    let vectors = [word(Opcode::Input, 1), 0, word(Opcode::Input, 1), 3, word(Opcode::Add, 2), 0, 1];
    assert_eq!(refuse(&vectors, &[]).to_string(), "instruction 2 (Add) cannot take operands of [3, 9] scalars");
    assert_eq!(refuse(&[word(Opcode::Input, 1), 0], &[5]).to_string(), "the residual refers to value 5, which the tape does not have");
    // Doubling a value's width again and again must not fill the memory.
    let mut doubling = vec![word(Opcode::Input, 1), 3];
    (0..40).for_each(|k| doubling.extend([word(Opcode::Pack, 2), k, k]));
    assert_eq!(refuse(&doubling, &[]), TapeError::TooLarge);
}

#[test]
fn random_words_never_panic() {
    let mut random = Random::new(2026);
    for _ in 0..20_000 {
        let words: Vec<u32> = (0..random.below(24))
            .map(|_| match random.below(4) {
                0 => random.next() as u32,
                1 => random.below(6) as u32,
                _ => random.below(28) as u32 | (random.below(4) as u32) << 16,
            })
            .collect();
        let mut graph = Graph::new();
        if let Ok(results) = tape::read(&mut graph, &words, &[random.below(8) as u32], &sources()) {
            let inputs: Vec<Expr> = leaves(&mut graph).into_iter().map(|input| input.2).collect();
            results.into_iter().for_each(|result| drop(graph.gradient(result, &inputs)));
        }
    }
}
