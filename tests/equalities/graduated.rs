//! Graduated solves with constraints: outliers are told apart, and every round's solve meets constraints.

use super::{column, sessions};
use crate::support::scan::{Scan, THRESHOLD, rotate};
use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Reals, Relation, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::{Graduated, Progress, Session, Suspect};
use leastwise::solve::graduated::{Ending, Schedule, Surrogate};
use leastwise::solve::{Options, Report};

/// Known things of the motion: the distance that it shifts, and where its turn brings the x axis in y.
trait Known {
    fn square(&self) -> f64;
    fn height(&self) -> f64;
    fn constrained(&self, session: &mut Session) -> Made;
    fn errors(&self, session: &mut Session, made: &Made) -> [f64; 2];
}

/// Problem, tables, suspects, constraints.
struct Made {
    problem: u32,
    tables: [u32; 2],
    pairs: u32,
    known: [u32; 2],
}

impl Known for Scan {
    fn square(&self) -> f64 {
        self.shift.iter().map(|c| c * c).sum()
    }

    fn height(&self) -> f64 {
        rotate(self.turn, &[1.0, 0.0, 0.0])[1]
    }

    fn constrained(&self, session: &mut Session) -> Made {
        // At 0 the distance has no gradient.
        let (problem, [q, t], pairs) = self.make(session, [0.1; 3], Weight::Shared(1.0), None);
        let constrain = |session: &mut Session, name: &str, table: u32, values: &[f64], tape: &Tape, output: u32| {
            let spec = TermSpec {
                name: name.into(),
                count: 1,
                indices: vec![vec![0]],
                slots: vec![Slot { table, column: 0 }],
                columns: vec![column("known", values)],
                weight: Weight::Shared(1.0),
                loss: None,
                objective: Objective::LeastSquares,
                tape: &tape.words,
                outputs: &[output],
            };
            session.constraint(problem, spec, Relation::Zero).unwrap()
        };
        let mut tape = Tape::default();
        let [shift, known] = [0, 1].map(|source| tape.input(source));
        let square = tape.op(Dot, &[shift, shift]);
        let output = tape.op(Sub, &[square, known]);
        let far = constrain(session, "far", t, &[self.square()], &tape, output);
        let mut tape = Tape::default();
        let [turn, known] = [0, 1].map(|source| tape.input(source));
        // The x axis, turned: 2(xy + wz) in y.
        let [x, y, z, w] = [0, 1, 2, 3].map(|component| tape.op(Component, &[turn, component]));
        let [a, b] = [[x, y], [w, z]].map(|pair| tape.op(Mul, &pair));
        let half = tape.op(Add, &[a, b]);
        let up = tape.op(Add, &[half, half]);
        let output = tape.op(Sub, &[up, known]);
        let high = constrain(session, "high", q, &[self.height()], &tape, output);
        Made { problem, tables: [q, t], pairs, known: [far, high] }
    }

    /// Error of the motion, in radians or lengths; and of what is known.
    fn errors(&self, session: &mut Session, made: &Made) -> [f64; 2] {
        let [q, t] = made.tables.map(|table| read(session, made.problem, table));
        let far = t.iter().map(|c| c * c).sum::<f64>() - self.square();
        let high = rotate([q[0], q[1], q[2], q[3]], &[1.0, 0.0, 0.0])[1] - self.height();
        [self.error(session, made.problem, made.tables), far.abs().max(high.abs())]
    }
}

fn graduated(session: &mut Session, made: &Made, schedule: Schedule) -> Result<Graduated, Error> {
    let suspects = [Suspect { term: made.pairs, threshold: THRESHOLD, known: Vec::new() }];
    let task = session.graduated(made.problem, &suspects, schedule, &Options::default())?;
    let mut steps = 0;
    let Progress::Graduated(found) = finish(session, task, |_| steps += 1) else { panic!("no outcome") };
    assert_eq!(found.steps, steps, "every step is told");
    Ok(*found)
}

fn violation(report: &Report) -> f64 {
    report.feasibility.as_ref().expect("a solve with constraints").violation
}

#[test]
fn outliers_are_rejected_while_constraints_hold() {
    for (name, mut session, exactness) in sessions() {
        let feasible = if exactness < 1e-6 { 1e-8 } else { 1e-5 };
        let cases =
            [(Surrogate::TruncatedLeastSquares, 0.5, 1), (Surrogate::TruncatedLeastSquares, 0.7, 2), (Surrogate::GemanMcClure, 0.5, 3)];
        for (surrogate, wrong, seed) in cases.into_iter().take(if name == "webgpu" { 1 } else { 3 }) {
            let what = format!("{name}, {surrogate:?}, {wrong} wrong");
            let scan = Scan::new(seed, 120, wrong);
            let plain = scan.constrained(&mut session);
            solve(&mut session, plain.problem, &Options::default());
            let [error, _] = scan.errors(&mut session, &plain);
            assert!(error > 0.1, "{what}: least squares are off by {error} only");
            session.free_problem(plain.problem);

            let made = scan.constrained(&mut session);
            let found = graduated(&mut session, &made, Schedule { surrogate, ..Schedule::default() }).unwrap();
            let [error, unmet] = scan.errors(&mut session, &made);
            assert!(error < 0.01, "{what}: {error} ({:?} after {} rounds)", found.ending, found.rounds);
            assert!(violation(&found.report) <= feasible && unmet <= 4.0 * feasible, "{what}: {unmet}, {}", violation(&found.report));
            assert!(
                found.rounds > 3 && found.ending != Ending::Stopped && found.ending != Ending::Infeasible,
                "{what}: {:?}",
                found.ending
            );
            for (k, (&weight, &wrong)) in found.weights.iter().zip(&scan.outlier).enumerate() {
                assert!(wrong && weight < 0.5 || !wrong && weight > 0.5, "{what}: instance {k} has {weight}");
            }
            // Multipliers are of the last solve, and the next has them.
            assert!(made.known.iter().any(|&term| session.multipliers(made.problem, term).unwrap()[0] != 0.0), "{what}");
            session.free_problem(made.problem);
        }
        assert_eq!(session.counters().bytes_live, 0, "{name}: buffers are left");
    }
}

/// Every round's solve meets them: a schedule that ends after each round shows all of them.
#[test]
fn constraints_hold_at_every_stage() {
    for rounds in [0u32, 1, 2, 4] {
        let mut session = cpu(Precision::F64);
        let scan = Scan::new(4, 80, 0.5);
        let made = scan.constrained(&mut session);
        let found = graduated(&mut session, &made, Schedule { max_rounds: rounds, ..Schedule::default() }).unwrap();
        let [_, unmet] = scan.errors(&mut session, &made);
        assert!(violation(&found.report) <= 1e-8 && unmet <= 4e-8, "{rounds} rounds: {unmet}");
        assert_eq!((found.ending, found.rounds), (Ending::MaxRounds, rounds));
    }
}

#[test]
fn what_cannot_be_met_ends_it() {
    let mut session = cpu(Precision::F64);
    let scan = Scan::new(5, 40, 0.3);
    let made = scan.constrained(&mut session);
    // A turn has no height above 1.
    session.set_column(made.problem, made.known[1], 0, Reals::F64(&[1.5])).unwrap();
    let found = graduated(&mut session, &made, Schedule::default()).unwrap();
    assert_eq!((found.ending, found.report.converged), (Ending::Infeasible, false), "{}", found.report.reason);
    // Nor is a constraint a suspect.
    let suspects = [Suspect { term: made.known[0], threshold: 1.0, known: Vec::new() }];
    match session.graduated(made.problem, &suspects, Schedule::default(), &Options::default()) {
        Err(Error::InvalidOption(said)) => {
            assert!(said.contains("\"far\" is a constraint, which holds whatever the weights are"), "{said}")
        }
        _ => panic!("a constraint was a suspect"),
    }
}

/// A graduated solve that is left in its midst leaves constraints and weights as they were.
#[test]
fn a_graduated_solve_that_is_left_leaves_constraints() {
    let mut session = cpu(Precision::F64);
    let scan = Scan::new(6, 60, 0.5);
    for resumes in [1, 3, 10, 60] {
        let made = scan.constrained(&mut session);
        let suspects = [Suspect { term: made.pairs, threshold: THRESHOLD, known: Vec::new() }];
        let task = session.graduated(made.problem, &suspects, Schedule::default(), &Options::default()).unwrap();
        for _ in 0..resumes {
            match session.resume(task, 0.0).unwrap() {
                Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
                Progress::Graduated(_) => break,
                _ => {}
            }
        }
        session.cancel(task);
        let report = solve(&mut session, made.problem, &Options::default());
        let [_, unmet] = scan.errors(&mut session, &made);
        assert!(violation(&report) <= 1e-8 && unmet <= 4e-8, "after {resumes} calls: {unmet}, {}", report.reason);
        session.free_problem(made.problem);
    }
    assert_eq!(session.counters().bytes_live, 0, "buffers are left");
}
