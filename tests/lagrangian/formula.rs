//! Formulas written once: as tapes for the engine, and evaluated with their gradients by arithmetic of their own, which is what
//! solutions are checked by.

use crate::support::Tape;
use leastwise::expr::Opcode;
use leastwise::problem::Relation;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A node of the formula that is being written.
#[derive(Clone, Copy)]
pub struct E(usize);

#[derive(Clone, Copy)]
enum Node {
    Input(u32),
    Literal(f64),
    Unary(Opcode, usize),
    Binary(Opcode, usize, usize),
}

thread_local! { static NODES: RefCell<Vec<Node>> = const { RefCell::new(Vec::new()) } }

fn node(node: Node) -> E {
    NODES.with_borrow_mut(|nodes| {
        nodes.push(node);
        E(nodes.len() - 1)
    })
}

macro_rules! operators {
    ($($trait:ident $method:ident)*) => {$(
        impl $trait for E {
            type Output = E;
            fn $method(self, other: E) -> E {
                node(Node::Binary(Opcode::$trait, self.0, other.0))
            }
        }
        impl $trait<f64> for E {
            type Output = E;
            fn $method(self, other: f64) -> E {
                $trait::$method(self, constant(other))
            }
        }
        impl $trait<E> for f64 {
            type Output = E;
            fn $method(self, other: E) -> E {
                $trait::$method(constant(self), other)
            }
        }
    )*};
}

operators! { Add add Sub sub Mul mul Div div }

impl Neg for E {
    type Output = E;
    fn neg(self) -> E {
        node(Node::Unary(Opcode::Neg, self.0))
    }
}

impl std::iter::Sum for E {
    fn sum<I: Iterator<Item = E>>(terms: I) -> E {
        terms.reduce(|sum, term| sum + term).expect("a sum of something")
    }
}

pub fn constant(value: f64) -> E {
    node(Node::Literal(value))
}

pub fn sq(a: E) -> E {
    node(Node::Unary(Opcode::Square, a.0))
}

pub fn cube(a: E) -> E {
    node(Node::Unary(Opcode::Cube, a.0))
}

pub fn sqrt(a: E) -> E {
    node(Node::Unary(Opcode::Sqrt, a.0))
}

pub fn exp(a: E) -> E {
    node(Node::Unary(Opcode::Exp, a.0))
}

pub fn ln(a: E) -> E {
    node(Node::Unary(Opcode::Log, a.0))
}

pub fn sin(a: E) -> E {
    node(Node::Unary(Opcode::Sin, a.0))
}

pub fn cos(a: E) -> E {
    node(Node::Unary(Opcode::Cos, a.0))
}

/// a to a power that is constant.
pub fn pow(a: E, exponent: f64) -> E {
    let exponent = constant(exponent);
    node(Node::Binary(Opcode::Pow, a.0, exponent.0))
}

/// Σ cᵢ xᵢ.
pub fn dot(factors: &[f64], x: &[E]) -> E {
    factors.iter().zip(x).map(|(&factor, &x)| factor * x).sum()
}

/// A problem: Σ r² + E + offset is to be least under constraints and between limits.
#[derive(Default)]
pub struct Model {
    pub squares: Vec<E>,
    pub energy: Option<E>,
    pub offset: f64,
    pub constraints: Vec<(Relation, Vec<E>)>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    nodes: Vec<Node>,
}

impl Model {
    pub fn squares(rows: impl Into<Vec<E>>) -> Self {
        Self { squares: rows.into(), ..Self::default() }
    }

    pub fn energy(energy: E) -> Self {
        Self { energy: Some(energy), ..Self::default() }
    }

    pub fn feasibility() -> Self {
        Self::default()
    }

    pub fn offset(self, offset: f64) -> Self {
        Self { offset, ..self }
    }

    fn constrained(mut self, relation: Relation, rows: Vec<E>) -> Self {
        self.constraints.push((relation, rows));
        self
    }

    pub fn zero(self, rows: impl Into<Vec<E>>) -> Self {
        self.constrained(Relation::Zero, rows.into())
    }

    pub fn positive(self, rows: impl Into<Vec<E>>) -> Self {
        self.constrained(Relation::AtLeastZero, rows.into())
    }

    pub fn negative(self, rows: impl Into<Vec<E>>) -> Self {
        self.constrained(Relation::AtMostZero, rows.into())
    }

    pub fn between(self, lower: impl Into<Vec<f64>>, upper: impl Into<Vec<f64>>) -> Self {
        Self { lower: lower.into(), upper: upper.into(), ..self }
    }

    /// Writes a model over so many unknowns.
    pub fn write(unknowns: usize, model: fn(&[E]) -> Model) -> Self {
        NODES.with_borrow_mut(Vec::clear);
        let x: Vec<E> = (0..unknowns).map(|input| node(Node::Input(input as u32))).collect();
        let mut model = model(&x);
        model.nodes = NODES.take();
        model
    }

    /// The tape of some rows: the nodes that they need.
    pub fn tape(&self, rows: &[E]) -> (Tape, Vec<u32>) {
        let mut needed = vec![false; self.nodes.len()];
        rows.iter().for_each(|row| needed[row.0] = true);
        for (place, node) in self.nodes.iter().enumerate().rev() {
            if needed[place] {
                match *node {
                    Node::Unary(_, a) => needed[a] = true,
                    Node::Binary(_, a, b) => (needed[a], needed[b]) = (true, true),
                    Node::Input(_) | Node::Literal(_) => {}
                }
            }
        }
        let mut tape = Tape::default();
        let mut written = vec![0; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            if needed[place] {
                written[place] = match *node {
                    Node::Input(input) => tape.input(input),
                    Node::Literal(value) => tape.literal(value),
                    Node::Unary(opcode, a) => tape.op(opcode, &[written[a]]),
                    Node::Binary(opcode, a, b) => tape.op(opcode, &[written[a], written[b]]),
                };
            }
        }
        let outputs = rows.iter().map(|row| written[row.0]).collect();
        (tape, outputs)
    }

    /// Values of all nodes, and their derivatives in the direction of one unknown.
    fn evaluate(&self, x: &[f64], along: usize) -> Vec<[f64; 2]> {
        let mut values: Vec<[f64; 2]> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            values.push(match *node {
                Node::Input(input) => [x[input as usize], f64::from(u8::from(input as usize == along))],
                Node::Literal(value) => [value, 0.0],
                Node::Unary(opcode, a) => {
                    let [a, slope] = values[a];
                    let (value, outer) = match opcode {
                        Opcode::Neg => (-a, -1.0),
                        Opcode::Square => (a * a, 2.0 * a),
                        Opcode::Cube => (a * a * a, 3.0 * a * a),
                        Opcode::Sqrt => (a.sqrt(), 0.5 / a.sqrt()),
                        Opcode::Exp => (a.exp(), a.exp()),
                        Opcode::Log => (a.ln(), 1.0 / a),
                        Opcode::Sin => (a.sin(), a.cos()),
                        Opcode::Cos => (a.cos(), -a.sin()),
                        _ => unreachable!("formulas have no other"),
                    };
                    [value, outer * slope]
                }
                Node::Binary(opcode, a, b) => {
                    let ([a, da], [b, db]) = (values[a], values[b]);
                    match opcode {
                        Opcode::Add => [a + b, da + db],
                        Opcode::Sub => [a - b, da - db],
                        Opcode::Mul => [a * b, da * b + a * db],
                        Opcode::Div => [a / b, (da - a / b * db) / b],
                        // The exponent is constant.
                        Opcode::Pow => [a.powf(b), b * a.powf(b - 1.0) * da],
                        _ => unreachable!("formulas have no other"),
                    }
                }
            });
        }
        values
    }

    /// The objective at x, and the largest violation of a constraint or a limit.
    pub fn value(&self, x: &[f64]) -> (f64, f64) {
        let values = self.evaluate(x, usize::MAX);
        let at = |e: &E| values[e.0][0];
        let squares: f64 = self.squares.iter().map(|row| at(row).powi(2)).sum();
        let objective = squares + self.energy.as_ref().map_or(0.0, at) + self.offset;
        let violations = self.constraints.iter().flat_map(|(relation, rows)| {
            rows.iter().map(move |row| match relation {
                Relation::Zero => at(row).abs(),
                Relation::AtMostZero => at(row).max(0.0),
                Relation::AtLeastZero => (-at(row)).max(0.0),
            })
        });
        let below = self.lower.iter().zip(x).map(|(lower, x)| lower - x);
        let above = self.upper.iter().zip(x).map(|(upper, x)| x - upper);
        (objective, violations.chain(below).chain(above).fold(0.0, f64::max))
    }

    /// The largest component of ∇f + Σ λ∇c that no limit of x holds, as a part of the largest |∂f|, |λ ∂c| and 1. λ is row by row, that
    /// of c ≥ 0 is −c's.
    pub fn stationarity(&self, x: &[f64], multipliers: &[f64]) -> f64 {
        let (mut worst, mut scale) = (0f64, 1f64);
        for along in 0..x.len() {
            let values = self.evaluate(x, along);
            let [value, slope] = [|e: &E, values: &[[f64; 2]]| values[e.0][0], |e: &E, values: &[[f64; 2]]| values[e.0][1]];
            let squares: f64 = self.squares.iter().map(|row| 2.0 * value(row, &values) * slope(row, &values)).sum();
            let mut sum = squares + self.energy.as_ref().map_or(0.0, |energy| slope(energy, &values));
            scale = scale.max(sum.abs());
            let rows = self.constraints.iter().flat_map(|(relation, rows)| rows.iter().map(move |row| (relation, row)));
            for ((relation, row), multiplier) in rows.zip(multipliers) {
                let sign = if *relation == Relation::AtLeastZero { -1.0 } else { 1.0 };
                let part = sign * multiplier * slope(row, &values);
                sum += part;
                scale = scale.max(part.abs());
            }
            let near = |limit: Option<&f64>| limit.is_some_and(|limit| (limit - x[along]).abs() <= 1e-9 * limit.abs().max(1.0));
            let held = near(self.lower.get(along)) && sum > 0.0 || near(self.upper.get(along)) && sum < 0.0;
            worst = if held { worst } else { worst.max(sum.abs()) };
        }
        worst / scale
    }
}
