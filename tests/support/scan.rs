//! Registrations of points, of which many are taken somewhere else.

use super::{Random, Tape, read};
use leastwise::expr::Opcode::{Add, QuatRotate, Sub};
use leastwise::problem::{Column, Loss, Reals, Shape, Slot, TermSpec, Weight};
use leastwise::session::Session;

pub const NOISE: f64 = 0.01;
/// Of χ² with three degrees of freedom, 99.9 % are within 4.03².
pub const THRESHOLD: f64 = 4.03 * NOISE;

/// Points, and where a motion takes them; of some, somewhere else.
pub struct Scan {
    pub from: Vec<f64>,
    pub to: Vec<f64>,
    pub turn: [f64; 4],
    pub shift: [f64; 3],
    pub outlier: Vec<bool>,
}

/// A vector, turned by a quaternion (x, y, z, w).
pub fn rotate([x, y, z, w]: [f64; 4], v: &[f64]) -> [f64; 3] {
    let cross = |a: [f64; 3], b: &[f64]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let t = cross([x, y, z], v).map(|c| 2.0 * c);
    let u = cross([x, y, z], &t);
    [0, 1, 2].map(|k| v[k] + w * t[k] + u[k])
}

impl Scan {
    pub fn new(seed: u64, count: usize, wrong: f64) -> Self {
        let mut random = Random::new(seed);
        let mut vector = |len: usize| (0..len).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f64>>();
        let q = vector(4);
        let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
        let turn = [0, 1, 2, 3].map(|k| q[k] / length);
        let shift = [0, 1, 2].map(|_| 2.0 * vector(1)[0]);
        let from = vector(3 * count);
        let outlier: Vec<bool> = (0..count).map(|k| (k as f64 + 0.5) / (count as f64) < wrong).collect();
        let to = from.chunks(3).zip(&outlier).flat_map(|(p, &wrong)| {
            let (turned, noise, anywhere) = (rotate(turn, p), vector(3), vector(3));
            [0, 1, 2].map(|k| if wrong { 3.0 * anywhere[k] } else { turned[k] + shift[k] + NOISE * noise[k] })
        });
        Self { to: to.collect(), from, turn, shift, outlier }
    }

    /// r = q·p + t − p′, over one rotation and one translation, which begins at `shift`: the problem, its tables and its term.
    pub fn make(&self, session: &mut Session, shift: [f64; 3], weight: Weight, loss: Option<Loss>) -> (u32, [u32; 2], u32) {
        let problem = session.problem();
        let q = session.table_of(problem, "turn", vec![Shape::Quaternion], Reals::F64(&[0.0, 0.0, 0.0, 1.0]), true).unwrap();
        let t = session.table(problem, "shift", 3, Reals::F64(&shift), true).unwrap();
        let mut tape = Tape::default();
        let [turn, shift, from, to] = [0, 1, 2, 3].map(|source| tape.input(source));
        let turned = tape.op(QuatRotate, &[turn, from]);
        let moved = tape.op(Add, &[turned, shift]);
        let outputs = [tape.op(Sub, &[moved, to])];
        let count = self.outlier.len();
        let column = |name: &str, values| Column { name: String::from(name), width: 3, shared: false, values: Reals::F64(values) };
        let spec = TermSpec {
            name: "pairs".into(),
            count: count as u32,
            indices: vec![vec![0; count]],
            slots: vec![Slot { table: q, column: 0 }, Slot { table: t, column: 0 }],
            columns: vec![column("from", &self.from), column("to", &self.to)],
            weight,
            loss,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        let term = session.term(problem, spec).unwrap();
        (problem, [q, t], term)
    }

    /// Error of the motion, in radians or lengths.
    pub fn error(&self, session: &mut Session, problem: u32, [q, t]: [u32; 2]) -> f64 {
        let (q, t) = (read(session, problem, q), read(session, problem, t));
        let along: f64 = q.iter().zip(self.turn).map(|(a, b)| a * b).sum();
        let turn = 2.0 * along.abs().min(1.0).acos();
        let shift = t.iter().zip(self.shift).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        turn.max(shift)
    }
}
