//! A problem whose gradient the tests know: points in the plane, held together by edges.

use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::Session;
use leastwise::solve::Options;

/// Points in the plane on a random graph, whose edges want their lengths and whose points want to stay near goals.
pub struct Net {
    pub points: Vec<f64>,
    pub edges: [Vec<u32>; 2],
    pub lengths: Vec<f64>,
    pub goals: Vec<f64>,
}

const PULL: f64 = 0.3;

impl Net {
    pub fn new(count: u32, random: &mut Random) -> Self {
        let goals: Vec<f64> = (0..2 * count).map(|_| random.between(-1.0, 1.0)).collect();
        // Exactly what f32 has, so that bits can be compared; and a zero of either sign.
        let mut points: Vec<f64> = goals.iter().map(|goal| f64::from((goal + random.between(-0.2, 0.2)) as f32)).collect();
        (points[0], points[1]) = (-0.0, 0.0);
        let ends = (0..3 * count).map(|_| (random.below(count.into()) as u32, random.below(count.into()) as u32));
        let (a, b): (Vec<u32>, Vec<u32>) = ends.filter(|(a, b)| a != b).unzip();
        // Nearly those of the goals: with small residuals, Gauss and Newton's model is good.
        let apart = |a: u32, b: u32| {
            let at = |i: u32, k: u32| goals[(2 * i + k) as usize];
            (at(a, 0) - at(b, 0)).hypot(at(a, 1) - at(b, 1))
        };
        let lengths = a.iter().zip(&b).map(|(&a, &b)| apart(a, b) * random.between(0.95, 1.05)).collect();
        Self { points, edges: [a, b], lengths, goals }
    }

    pub fn count(&self) -> u32 {
        self.points.len() as u32 / 2
    }

    /// The problem and its table of points.
    pub fn build(&self, session: &mut Session) -> (u32, u32) {
        self.build_edges(session, |tape, between, length| {
            let distance = tape.op(Opcode::Norm, &[between]);
            tape.op(Opcode::Sub, &[distance, length])
        })
    }

    /// The same with springs of no length: a linear problem.
    pub fn build_squares(&self, session: &mut Session) -> (u32, u32) {
        self.build_edges(session, |_, between, _| between)
    }

    fn build_edges(&self, session: &mut Session, residual: impl Fn(&mut Tape, u32, u32) -> u32) -> (u32, u32) {
        let (problem, x) = self.build_goals(session);
        let mut tape = Tape::default();
        let [a, b, length] = [0, 1, 2].map(|source| tape.input(source));
        let between = tape.op(Opcode::Sub, &[a, b]);
        let residual = residual(&mut tape, between, length);
        let spec = TermSpec {
            name: "edges".into(),
            count: self.lengths.len() as u32,
            indices: self.edges.to_vec(),
            slots: vec![Slot { table: x, column: 0 }, Slot { table: x, column: 1 }],
            columns: vec![column("length", 1, &self.lengths)],
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        session.term(problem, spec).unwrap();
        (problem, x)
    }

    /// The problem of the goals alone.
    pub fn build_goals(&self, session: &mut Session) -> (u32, u32) {
        let problem = session.problem();
        let x = session.table(problem, "x", 2, Reals::F64(&self.points), true).unwrap();
        let mut tape = Tape::default();
        let [p, goal] = [0, 1].map(|source| tape.input(source));
        let residual = tape.op(Opcode::Sub, &[p, goal]);
        let spec = TermSpec {
            name: "goals".into(),
            count: self.count(),
            indices: vec![(0..self.count()).collect()],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![column("goal", 2, &self.goals)],
            weight: Weight::Shared(PULL),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        session.term(problem, spec).unwrap();
        (problem, x)
    }

    /// The cost's gradient, term by term.
    pub fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut gradient: Vec<f64> = x.iter().zip(&self.goals).map(|(x, goal)| PULL * (x - goal)).collect();
        for (e, length) in self.lengths.iter().enumerate() {
            let [a, b] = [self.edges[0][e] as usize, self.edges[1][e] as usize];
            let d = [x[2 * a] - x[2 * b], x[2 * a + 1] - x[2 * b + 1]];
            let distance = d[0].hypot(d[1]);
            for k in 0..2 {
                let slope = (distance - length) * d[k] / distance;
                gradient[2 * a + k] += slope;
                gradient[2 * b + k] -= slope;
            }
        }
        gradient
    }
}

fn column<'a>(name: &str, width: u32, values: &'a [f64]) -> Column<'a> {
    Column { name: name.into(), width, shared: false, values: Reals::F64(values) }
}

pub fn sessions() -> Vec<(&'static str, Shared, f64)> {
    let cpus = [
        ("cpu f64", cpu(Precision::F64).into(), 1e-5),
        ("cpu f32", cpu(Precision::F32).into(), 2e-3),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into(), 1e-5),
    ];
    cpus.into_iter().chain(gpus().into_iter().map(|(name, limits)| (name, shared_gpu(limits), 2e-3))).collect()
}

pub fn tight() -> Options {
    Options {
        cost_tolerance: Some(1e-14),
        gradient_tolerance: Some(1e-9),
        step_tolerance: Some(1e-12),
        max_iterations: Some(300.0),
        ..Options::default()
    }
}
