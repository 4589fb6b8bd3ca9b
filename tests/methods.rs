//! Every method on the classics, on every backend; and what a solve counts and leaves.

mod support;

use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Reals, Slot, TermSpec, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};
use support::*;

/// A residual over scalars x₀, x₁, …, written as in the books.
struct Writer(Tape);

impl Writer {
    fn op(&mut self, opcode: Opcode, operands: &[u32]) -> u32 {
        self.0.op(opcode, operands)
    }

    /// Σ cᵢ·vᵢ + constant.
    fn linear(&mut self, terms: &[(f64, u32)], constant: f64) -> u32 {
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
struct Classic {
    name: &'static str,
    start: &'static [f64],
    minima: &'static [f64],
    residual: fn(&mut Writer, &[u32]) -> Vec<u32>,
}

const CLASSICS: [Classic; 6] = [
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
    fn make(&self, session: &mut Session) -> (u32, u32) {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(self.start), true).unwrap();
        let mut writer = Writer(Tape::default());
        let unknowns: Vec<u32> = (0..self.start.len() as u32).map(|source| writer.0.input(source)).collect();
        let outputs = (self.residual)(&mut writer, &unknowns);
        let spec = TermSpec {
            name: self.name.into(),
            count: 1,
            indices: (0..self.start.len() as u32).map(|i| vec![i]).collect(),
            slots: (0..self.start.len() as u32).map(|column| Slot { table: x, column }).collect(),
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            tape: &writer.0.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap();
        (problem, x)
    }
}

/// The methods with their names for messages.
fn methods() -> [(&'static str, Options); 4] {
    let with = |method: &str, dogleg: Option<&str>| Options {
        method: Some(method.into()),
        dogleg: dogleg.map(Into::into),
        max_iterations: Some(500.0),
        // The cost of a singular minimum that is 0 falls by the same part for ever.
        gradient_tolerance: Some(1e-10),
        ..Options::default()
    };
    [
        ("lm", with("lm", None)),
        ("gauss-newton", with("gauss-newton", None)),
        ("dogleg", with("dogleg", Some("traditional"))),
        ("subspace dogleg", with("dogleg", Some("subspace"))),
    ]
}

fn assert_solved(classic: &Classic, report: &Report, tolerance: f64, what: &str) {
    let near = classic.minima.iter().any(|minimum| (report.cost - minimum).abs() <= tolerance * (1.0 + minimum));
    assert!(near, "{what}, {}: {:e} ({})", classic.name, report.cost, report.reason);
    let ended = [Termination::Converged, Termination::Precision];
    assert!(ended.contains(&report.termination), "{what}, {}: {:?}, {}", classic.name, report.termination, report.reason);
}

/// Whether a method can solve it: where J loses rank at a minimum that is not 0, as Freudenstein and Roth's does, undamped
/// Gauss–Newton steps do not converge.
fn solvable(classic: &Classic, options: &Options) -> bool {
    classic.minima.len() == 1 || options.method.as_deref() != Some("gauss-newton")
}

#[test]
fn every_method_solves_the_classics() {
    for (name, options) in methods() {
        for nonmonotone in [0.0, 5.0] {
            let options = Options { nonmonotone: Some(nonmonotone), ..options.clone() };
            for (precision, cost_tolerance, tolerance) in [(Precision::F64, 1e-12, 1e-9), (Precision::F32, 1e-7, 1e-5)] {
                let options = Options { cost_tolerance: Some(cost_tolerance), ..options.clone() };
                let mut session = cpu(precision);
                for classic in CLASSICS.iter().filter(|classic| solvable(classic, &options)) {
                    let (problem, _) = classic.make(&mut session);
                    let report = solve(&mut session, problem, &options);
                    assert_eq!(Some(report.method), options.method.as_deref());
                    assert_solved(classic, &report, tolerance, &format!("{name}, {precision:?}, nonmonotone {nonmonotone}"));
                }
            }
        }
    }
}

/// factor·(x − 3) over one unknown, from `start`.
fn pull(session: &mut Session, factor: f64, start: f64) -> (u32, u32) {
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[start]), true).unwrap();
    let mut writer = Writer(Tape::default());
    let value = writer.0.input(0);
    let residual = writer.linear(&[(factor, value)], -3.0 * factor);
    let spec = TermSpec {
        name: "pull".into(),
        count: 1,
        indices: vec![vec![0]],
        slots: vec![Slot { table: x, column: 0 }],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        tape: &writer.0.words,
        outputs: &[residual],
    };
    session.term(problem, spec).unwrap();
    (problem, x)
}

#[test]
fn units_are_no_reason_to_stop() {
    for (name, options) in methods() {
        for factor in [1e-12, 1.0, 1e15] {
            let mut session = cpu(Precision::F64);
            let (problem, x) = pull(&mut session, factor, 1.0);
            let report = solve(&mut session, problem, &Options { gradient_tolerance: Some(0.0), ..options.clone() });
            let found = read(&mut session, problem, x)[0];
            assert!((found - 3.0).abs() < 1e-4, "{name}, {factor:e}: {found} ({})", report.reason);
        }
    }
}

#[test]
fn without_a_gradient_there_is_nothing_to_solve() {
    for linear in ["dense", "sparse-cholesky", "assembled-pcg", "pcg"] {
        for (name, options) in methods() {
            let mut session = cpu(Precision::F64);
            let (problem, _) = pull(&mut session, 0.0, 1.0);
            let report = solve(&mut session, problem, &Options { linear: Some(linear.into()), ..options });
            assert_eq!(report.termination, Termination::Converged, "{name}, {linear}: {}", report.reason);
        }
    }
}

#[test]
fn what_is_not_finite_is_told_even_where_no_step_is_made() {
    let mut session = cpu(Precision::F32);
    let (problem, _) = pull(&mut session, 1e20, 1e10);
    let none = Options { max_iterations: Some(0.0), ..Options::default() };
    let solver = session.solver(problem, &none).unwrap();
    let told = |error: Result<Progress, Error>| matches!(error, Err(Error::NonFiniteResidual { .. }));
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    assert!(told(outcome(&mut session, task)), "no step");
    session.advance(solver, 3, f64::INFINITY).unwrap();
    let task = session.report(solver).unwrap();
    assert!(told(outcome(&mut session, task)), "a report of live steps");
}

fn outcome(session: &mut Session, task: u32) -> Result<Progress, Error> {
    loop {
        match session.resume(task, f64::INFINITY)? {
            Progress::Yielded | Progress::Iteration(_) => {}
            other => return Ok(other),
        }
    }
}
