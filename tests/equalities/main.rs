//! Equality constraints in covariances, gradients through a solve, and graduated solves.

mod backward;
mod corners;
mod covariance;
mod digits;
mod graduated;
mod touching;

use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, Reals, Relation, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;
use leastwise::solve::Options;

/// Names, sessions, and how far values may be from those in f64.
fn sessions() -> Vec<(&'static str, Shared, f64)> {
    vec![
        ("cpu f64", cpu(Precision::F64).into(), 1e-8),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into(), 1e-8),
        ("cpu f32", cpu(Precision::F32).into(), 2e-4),
        ("webgpu", shared_gpu(None), 2e-4),
    ]
}

/// As far as f64 goes.
fn tight() -> Options {
    Options {
        cost_tolerance: Some(0.0),
        gradient_tolerance: Some(1e-12),
        step_tolerance: Some(1e-15),
        feasibility_tolerance: Some(1e-12),
        penalty: Some(100.0),
        max_iterations: Some(1000.0),
        ..Options::default()
    }
}

/// Numbers that a net is made of.
struct Numbers {
    /// Unknowns, a multiple of three.
    count: usize,
    start: Vec<f64>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    radii: Vec<f64>,
    ratios: Vec<f64>,
    floors: Vec<f64>,
    level: f64,
}

impl Numbers {
    fn new(seed: u64, count: usize) -> Self {
        let mut random = Random::new(seed);
        let mut around = |len: usize, middle: f64, by: f64| (0..len).map(|_| middle + random.between(-by, by)).collect::<Vec<f64>>();
        Self {
            count,
            start: around(count, 1.0, 0.1),
            targets: around(count, 1.1, 0.6),
            weights: around(count, 1.0, 0.5),
            radii: around(count / 3, 2.2, 0.3),
            ratios: around(count / 3, 1.0, 0.2),
            // Some hold, and some do not; of three of which one is fixed, curves leave nothing to a floor.
            floors: around(count / 3, 1.0, 0.3).into_iter().enumerate().map(|(k, floor)| if k == 2 { 0.3 } else { floor }).collect(),
            level: 1.15,
        }
    }
}

/// Unknowns in a ring. Each is pulled to a number, and to its neighbour; every three of them are on a curve.
struct Net {
    problem: u32,
    x: u32,
    level: u32,
    near: u32,
    curves: u32,
    floors: u32,
}

/// Rows of c: x² + y² + ½yz = b·g, y = hz.
fn curves(tape: &mut Tape, again: f64) -> Vec<u32> {
    let [x, y, z, level, radius, ratio] = [0, 1, 2, 3, 4, 5].map(|source| tape.input(source));
    let squares = [x, y].map(|of| tape.op(Square, &[of]));
    let product = tape.op(Mul, &[y, z]);
    let half = tape.literal(0.5);
    let half = tape.op(Mul, &[half, product]);
    let around = tape.op(Mul, &[radius, level]);
    let sum = tape.op(Add, &squares);
    let sum = tape.op(Add, &[sum, half]);
    let scaled = tape.op(Mul, &[ratio, z]);
    let rows = [tape.op(Sub, &[sum, around]), tape.op(Sub, &[y, scaled])];
    let again = tape.literal(again);
    rows.map(|row| tape.op(Mul, &[again, row])).to_vec()
}

impl Net {
    fn new(session: &mut Session, numbers: &Numbers, loss: Option<Loss>) -> Self {
        let problem = session.problem();
        let count = numbers.count as u32;
        let x = session.table(problem, "x", 1, Reals::F64(&numbers.start), true).unwrap();
        let level = session.table(problem, "level", 1, Reals::F64(&[numbers.level]), false).unwrap();
        let mut tape = Tape::default();
        let [a, b, target] = [0, 1, 2].map(|source| tape.input(source));
        let product = tape.op(Mul, &[a, b]);
        let fifth = tape.literal(0.2);
        let bent = tape.op(Mul, &[fifth, product]);
        let off = tape.op(Sub, &[a, target]);
        let apart = tape.op(Sub, &[b, a]);
        let half = tape.literal(0.5);
        let outputs = [tape.op(Add, &[off, bent]), tape.op(Mul, &[half, apart])];
        let spec = TermSpec {
            name: "near".into(),
            count,
            indices: vec![(0..count).collect(), (0..count).map(|k| (k + 1) % count).collect()],
            slots: vec![Slot { table: x, column: 0 }, Slot { table: x, column: 1 }],
            columns: vec![column("target", &numbers.targets)],
            weight: Weight::Each(Reals::F64(&numbers.weights)),
            loss,
            objective: Objective::LeastSquares,
            tape: &tape.words,
            outputs: &outputs,
        };
        let near = session.term(problem, spec).unwrap();
        let mut net = Self { problem, x, level, near, curves: 0, floors: 0 };
        net.curves = net.curve(session, numbers, "curves", 1.0);
        let mut tape = Tape::default();
        let [a, floor] = [0, 1].map(|source| tape.input(source));
        let outputs = [tape.op(Sub, &[a, floor])];
        let spec = TermSpec {
            name: "floors".into(),
            count: count / 3,
            indices: vec![(0..count / 3).map(|k| 3 * k).collect()],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![column("floor", &numbers.floors)],
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Objective::LeastSquares,
            tape: &tape.words,
            outputs: &outputs,
        };
        net.floors = session.constraint(problem, spec, Relation::AtLeastZero).unwrap();
        net
    }

    /// Another constraint of the curves, `times` as steep.
    fn curve(&self, session: &mut Session, numbers: &Numbers, name: &str, times: f64) -> u32 {
        let mut tape = Tape::default();
        let outputs = curves(&mut tape, times);
        let threes = numbers.count as u32 / 3;
        let every = |first: u32| (0..threes).map(|k| 3 * k + first).collect::<Vec<u32>>();
        let spec = TermSpec {
            name: name.into(),
            count: threes,
            indices: vec![every(0), every(1), every(2), vec![0; threes as usize]],
            slots: vec![
                Slot { table: self.x, column: 0 },
                Slot { table: self.x, column: 1 },
                Slot { table: self.x, column: 2 },
                Slot { table: self.level, column: 3 },
            ],
            columns: vec![column("radius", &numbers.radii), column("ratio", &numbers.ratios)],
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Objective::LeastSquares,
            tape: &tape.words,
            outputs: &outputs,
        };
        session.constraint(self.problem, spec, Relation::Zero).unwrap()
    }
}

fn column<'a>(name: &str, values: &'a [f64]) -> Column<'a> {
    Column { name: name.into(), width: 1, shared: false, values: Reals::F64(values) }
}
