//! Residuals, and their derivatives in plain f64.

use crate::support::{Random, Tape};
use leastwise::expr::tape::{self, Source};
use leastwise::expr::{Expr, Graph, Leaf, Node, Opcode, Opcode::*};

/// A residual over slots of these widths, and where it is looked at.
pub struct Sample {
    pub name: &'static str,
    pub widths: &'static [u32],
    pub tape: Tape,
    pub outputs: Vec<u32>,
    pub points: Vec<Vec<f64>>,
}

pub const COUNT: usize = 5;

fn sample(name: &'static str, widths: &'static [u32], around: &[f64], build: impl Fn(&mut Tape) -> Vec<u32>) -> Sample {
    let mut tape = Tape::default();
    let outputs = build(&mut tape);
    let mut random = Random::new(name.len() as u64);
    let mut moved = |x: &f64| f64::from((x + random.between(-0.2, 0.2)) as f32);
    let points = (0..COUNT).map(|_| around.iter().map(&mut moved).collect()).collect();
    Sample { name, widths, tape, outputs, points }
}

fn inputs<const N: usize>(tape: &mut Tape) -> [u32; N] {
    std::array::from_fn(|source| tape.input(source as u32))
}

pub fn samples() -> Vec<Sample> {
    let unary = |tape: &mut Tape, a: u32, opcodes: &[Opcode]| -> Vec<u32> { opcodes.iter().map(|&opcode| tape.op(opcode, &[a])).collect() };
    let triangles = [0.1, 0.9, 0.2, -0.8, 0.0, 0.1, 0.7, -0.1, 0.0, 0.0, -0.6, 0.8];
    let matrix = [1.1, 0.2, -0.3, 0.4, 2.3, 0.1, -0.2, 0.3, 3.9];
    vec![
        sample("linear", &[3, 3], &[0.0, 1.0, 2.0, 1.0, 0.0, 0.5], |tape| {
            let [a, b] = inputs(tape);
            vec![tape.op(Sub, &[a, b])]
        }),
        sample("spring", &[3, 3], &[0.0, 0.1, 0.2, 1.0, 0.5, 0.5], |tape| {
            let [a, b] = inputs(tape);
            let (edge, rest) = (tape.op(Sub, &[a, b]), tape.literal(1.25));
            let length = tape.op(Norm, &[edge]);
            vec![tape.op(Sub, &[length, rest])]
        }),
        sample("arap", &[3, 3, 3], &[0.0, 0.1, 0.2, 1.0, 0.5, 0.5, 0.4, -0.3, 0.7], |tape| {
            let [a, b, angles] = inputs(tape);
            let rest = [0.5, -0.75, 1.0].map(|x| tape.literal(x));
            let (edge, rest) = (tape.op(Sub, &[a, b]), tape.op(Pack, &rest));
            let turned = tape.op(RotateXYZ, &[angles, rest]);
            vec![tape.op(Sub, &[edge, turned])]
        }),
        sample("hinge", &[3, 3, 3, 3], &triangles, |tape| {
            let corners: [u32; 4] = inputs(tape);
            let (angle, rest) = (tape.op(DihedralAngle, &corners), tape.literal(0.4));
            vec![tape.op(Sub, &[angle, rest])]
        }),
        sample("eigenvalues", &[9], &matrix, |tape| {
            let [m] = inputs(tape);
            let all = tape.op(EigenSymmetric, &[m]);
            (0..3).map(|k| tape.op(Component, &[all, k])).collect()
        }),
        sample("polar", &[9], &matrix, |tape| {
            let [m] = inputs(tape);
            let rotation = tape.op(ClosestRotation, &[m]);
            vec![tape.op(Sub, &[m, rotation])]
        }),
        sample("functions", &[1, 1], &[0.5, 1.5], |tape| {
            let [x, y] = inputs(tape);
            let mut all = unary(tape, x, &[Exp, Log, Sin, Cos, Tanh, Sqrt, Erf, Asin, Atan, Sigmoid]);
            all.extend([tape.op(Pow, &[x, y]), tape.op(Div, &[x, y]), tape.op(Atan2, &[x, y])]);
            all
        }),
        sample("a branch", &[1, 1], &[0.7, -0.7], |tape| {
            let [x, y] = inputs(tape);
            let condition = tape.op(Lt, &[y, x]);
            let (logarithm, product) = (tape.op(Log, &[x]), tape.op(Mul, &[y, y]));
            let chosen = tape.op(Select, &[condition, product, logarithm]);
            vec![tape.op(Mul, &[chosen, y])]
        }),
    ]
}

impl Sample {
    pub fn unknowns(&self) -> usize {
        self.widths.iter().sum::<u32>() as usize
    }

    pub fn graph(&self) -> (Graph, Vec<Expr>) {
        let leaf = |slot: usize| Leaf::Slot { slot: slot as u32, component: 0 };
        let sources: Vec<Source> = self.widths.iter().enumerate().map(|(slot, &width)| Source { leaf: leaf(slot), width }).collect();
        let mut graph = Graph::new();
        let residual = tape::read(&mut graph, &self.tape.words, &self.outputs, &sources).unwrap();
        (graph, residual)
    }

    /// The place of a slot's component among all unknowns.
    pub fn place(&self, slot: u32, component: u32) -> usize {
        (self.widths[..slot as usize].iter().sum::<u32>() + component) as usize
    }
}

/// E, ∇E and ∇²E at a point, of ½ ‖r‖² in plain f64: the Hessian by differences of the gradient.
pub struct Plain<'a> {
    sample: &'a Sample,
    graph: Graph,
    roots: Vec<Expr>,
}

impl<'a> Plain<'a> {
    pub fn new(sample: &'a Sample) -> Self {
        let (mut graph, residual) = sample.graph();
        let half = graph.constant(0.5);
        let squared = graph.dot(&residual, &residual);
        let energy = graph.mul(half, squared);
        let slots = (0..).zip(sample.widths).flat_map(|(slot, &width)| (0..width).map(move |component| (slot, component)));
        let leaves: Vec<Expr> = slots.map(|(slot, component)| graph.leaf(Leaf::Slot { slot, component })).collect();
        let mut roots = vec![energy];
        roots.extend(graph.gradient(energy, &leaves));
        Self { sample, graph, roots }
    }

    /// E, then ∇E.
    pub fn at(&self, point: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::new();
        for index in 0..self.graph.len() as u32 {
            let at = |expr: Expr| values[expr.0 as usize];
            values.push(match self.graph.node(Expr(index)) {
                Node::Const(bits) => f64::from_bits(bits),
                Node::Leaf(Leaf::Slot { slot, component }) => point[self.sample.place(slot, component)],
                Node::Leaf(other) => panic!("{other:?} is no unknown"),
                Node::Unary(operation, a) => operation.apply(at(a)),
                Node::Binary(operation, a, b) => operation.apply(at(a), at(b)),
                Node::Select { condition, then, otherwise } => at(if at(condition) != 0.0 { then } else { otherwise }),
            });
        }
        self.roots.iter().map(|root| values[root.0 as usize]).collect()
    }

    /// Row by row, by central differences of two widths (Richardson).
    pub fn hessian(&self, point: &[f64]) -> Vec<f64> {
        let n = point.len();
        let central = |column: usize, width: f64| -> Vec<f64> {
            let moved = |by: f64| {
                let mut point = point.to_vec();
                point[column] += by;
                self.at(&point)
            };
            let (above, below) = (moved(width), moved(-width));
            (1..=n).map(|row| (above[row] - below[row]) / (2.0 * width)).collect()
        };
        let mut all = vec![0.0; n * n];
        for column in 0..n {
            let (wide, narrow) = (central(column, 2e-3), central(column, 1e-3));
            for row in 0..n {
                all[row * n + column] = narrow[row] + (narrow[row] - wide[row]) / 3.0;
            }
        }
        all
    }
}

pub fn close(what: &str, found: &[f64], expected: &[f64], bound: f64) {
    let size = expected.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / size;
        assert!(error <= bound, "{what}: value {k} is {found:e} instead of {expected:e}, {error:e} off");
    }
}
