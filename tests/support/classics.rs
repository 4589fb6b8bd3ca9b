//! Test problems of Moré, Garbow & Hillstrom (1981), as residuals or as energies.

use super::Tape;
use leastwise::expr::Opcode::{self, *};
use leastwise::problem::{Reals, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;

/// A residual over scalars x₀, x₁, …, written as in the books.
pub struct Writer(pub Tape);

impl Writer {
    pub fn op(&mut self, opcode: Opcode, operands: &[u32]) -> u32 {
        self.0.op(opcode, operands)
    }

    /// Σ cᵢ·vᵢ + constant.
    pub fn linear(&mut self, terms: &[(f64, u32)], constant: f64) -> u32 {
        let mut sum = self.0.literal(constant);
        for &(factor, value) in terms {
            let factor = self.0.literal(factor);
            let product = self.op(Mul, &[factor, value]);
            sum = self.op(Add, &[sum, product]);
        }
        sum
    }
}

/// A test problem of Moré, Garbow & Hillstrom (1981): the standard start, and the costs ½Σr² of its minima.
pub struct Classic {
    pub name: &'static str,
    pub start: &'static [f64],
    pub minima: &'static [f64],
    residual: fn(&mut Writer, &[u32]) -> Vec<u32>,
}

pub const CLASSICS: [Classic; 6] = [
    Classic {
        name: "Rosenbrock",
        start: &[-1.2, 1.0],
        minima: &[0.0],
        residual: |w, x| {
            let square = w.op(Square, &[x[0]]);
            vec![w.linear(&[(10.0, x[1]), (-10.0, square)], 0.0), w.linear(&[(-1.0, x[0])], 1.0)]
        },
    },
    Classic {
        name: "Freudenstein and Roth",
        start: &[0.5, -2.0],
        minima: &[0.0, 24.492_126_839_62],
        residual: |w, x| {
            let (square, cube) = (w.op(Square, &[x[1]]), w.op(Cube, &[x[1]]));
            vec![
                w.linear(&[(1.0, x[0]), (-1.0, cube), (5.0, square), (-2.0, x[1])], -13.0),
                w.linear(&[(1.0, x[0]), (1.0, cube), (1.0, square), (-14.0, x[1])], -29.0),
            ]
        },
    },
    Classic {
        name: "Beale",
        start: &[1.0, 1.0],
        minima: &[0.0],
        residual: |w, x| {
            let powers = [x[1], w.op(Square, &[x[1]]), w.op(Cube, &[x[1]])];
            let rows = powers.into_iter().zip([1.5, 2.25, 2.625]);
            rows.map(|(power, y)| {
                let product = w.op(Mul, &[x[0], power]);
                w.linear(&[(-1.0, x[0]), (1.0, product)], y)
            })
            .collect()
        },
    },
    Classic {
        name: "helical valley",
        start: &[-1.0, 0.0, 0.0],
        minima: &[0.0],
        residual: |w, x| {
            let (angle, radius) = (w.op(Atan2, &[x[1], x[0]]), w.op(Hypot, &[x[0], x[1]]));
            let turns = -100.0 / std::f64::consts::TAU;
            vec![w.linear(&[(10.0, x[2]), (turns, angle)], 0.0), w.linear(&[(10.0, radius)], -10.0), x[2]]
        },
    },
    Classic {
        name: "Powell's singular function",
        start: &[3.0, -1.0, 0.0, 1.0],
        minima: &[0.0],
        residual: |w, x| {
            let (b, d) = (w.linear(&[(1.0, x[1]), (-2.0, x[2])], 0.0), w.op(Sub, &[x[0], x[3]]));
            let (b, d) = (w.op(Square, &[b]), w.op(Square, &[d]));
            let (five, ten) = (5f64.sqrt(), 10f64.sqrt());
            vec![w.linear(&[(1.0, x[0]), (10.0, x[1])], 0.0), w.linear(&[(five, x[2]), (-five, x[3])], 0.0), b, w.linear(&[(ten, d)], 0.0)]
        },
    },
    Classic {
        name: "Wood",
        // Not the usual start, which is symmetric: exact steps are so, too, and end at the saddle between the minima.
        start: &[-3.0, -1.0, -2.0, -1.0],
        minima: &[0.0],
        residual: |w, x| {
            let (a, c) = (w.op(Square, &[x[0]]), w.op(Square, &[x[2]]));
            let (ninety, ten) = (90f64.sqrt(), 10f64.sqrt());
            vec![
                w.linear(&[(10.0, x[1]), (-10.0, a)], 0.0),
                w.linear(&[(-1.0, x[0])], 1.0),
                w.linear(&[(ninety, x[3]), (-ninety, c)], 0.0),
                w.linear(&[(-1.0, x[2])], 1.0),
                w.linear(&[(ten, x[1]), (ten, x[3])], -2.0 * ten),
                w.linear(&[(1.0 / ten, x[1]), (-1.0 / ten, x[3])], 0.0),
            ]
        },
    },
];

impl Classic {
    /// The problem and its unknowns.
    pub fn make(&self, session: &mut Session) -> (u32, u32) {
        self.make_as(session, Objective::LeastSquares)
    }

    /// The same, its rows squared by the method or by its own tape.
    pub fn make_as(&self, session: &mut Session, objective: Objective) -> (u32, u32) {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(self.start), true).unwrap();
        let mut writer = Writer(Tape::default());
        let unknowns: Vec<u32> = (0..self.start.len() as u32).map(|source| writer.0.input(source)).collect();
        let mut outputs = (self.residual)(&mut writer, &unknowns);
        if objective == Objective::Energy {
            let squares: Vec<(f64, u32)> = outputs.iter().map(|&row| (0.5, writer.op(Square, &[row]))).collect();
            outputs = vec![writer.linear(&squares, 0.0)];
        }
        let spec = TermSpec {
            name: self.name.into(),
            count: 1,
            indices: (0..self.start.len() as u32).map(|i| vec![i]).collect(),
            slots: (0..self.start.len() as u32).map(|column| Slot { table: x, column }).collect(),
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective,
            tape: &writer.0.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap();
        (problem, x)
    }
}
