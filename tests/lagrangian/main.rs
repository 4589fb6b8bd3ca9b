//! Constraints by the augmented Lagrangian, on every backend.

mod collections;
mod cutest;
mod endings;
mod formula;
mod hock_schittkowski;
mod hock_schittkowski_large;
mod midst;
mod rows;

use crate::support::classics::Writer;
use crate::support::*;
use leastwise::Error;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, Reals, Relation, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::{Answer, Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};

/// With how exact they are.
fn sessions() -> Vec<(&'static str, f64, Shared)> {
    let small = Limits { binding_bytes: 1 << 16, buffer_bytes: 1 << 16, ..Limits::SMALL };
    vec![
        ("cpu in f64", 1e-6, cpu(Precision::F64).into()),
        ("cpu in f32", 2e-3, cpu(Precision::F32).into()),
        ("cpu, small limits", 1e-6, cpu_with(Precision::F64, small).into()),
        ("webgpu, small limits", 2e-3, shared_gpu(Some(small))),
    ]
}

/// Residuals or a constraint over scalars x₀, x₁, … of one table.
fn spec<'a>(name: &str, x: u32, unknowns: u32, tape: &'a Tape, outputs: &'a [u32]) -> TermSpec<'a> {
    TermSpec {
        name: name.into(),
        count: 1,
        indices: (0..unknowns).map(|i| vec![i]).collect(),
        slots: (0..unknowns).map(|column| Slot { table: x, column }).collect(),
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Objective::LeastSquares,
        tape: &tape.words,
        outputs,
    }
}

struct Scene {
    problem: u32,
    x: u32,
    unknowns: u32,
}

type Rows = fn(&mut Writer, &[u32]) -> Vec<u32>;

impl Scene {
    fn new(session: &mut Session, start: &[f64]) -> Self {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(start), true).unwrap();
        Self { problem, x, unknowns: start.len() as u32 }
    }

    fn write(&self, rows: Rows) -> (Tape, Vec<u32>) {
        let mut writer = Writer(Tape::default());
        let inputs: Vec<u32> = (0..self.unknowns).map(|source| writer.0.input(source)).collect();
        let outputs = rows(&mut writer, &inputs);
        (writer.0, outputs)
    }

    fn residuals(&self, session: &mut Session, name: &str, rows: Rows) -> u32 {
        let (tape, outputs) = self.write(rows);
        session.term(self.problem, spec(name, self.x, self.unknowns, &tape, &outputs)).unwrap()
    }

    fn energy(&self, session: &mut Session, name: &str, rows: Rows) -> u32 {
        let (tape, outputs) = self.write(rows);
        let spec = TermSpec { objective: Objective::Energy, ..spec(name, self.x, self.unknowns, &tape, &outputs) };
        session.term(self.problem, spec).unwrap()
    }

    fn constrain(&self, session: &mut Session, name: &str, relation: Relation, rows: Rows) -> u32 {
        let (tape, outputs) = self.write(rows);
        session.constraint(self.problem, spec(name, self.x, self.unknowns, &tape, &outputs), relation).unwrap()
    }
}

fn assert_feasible(report: &Report, exactness: f64, what: &str) {
    let ended = [Termination::Converged, Termination::Precision];
    assert!(ended.contains(&report.termination), "{what}: {:?}, {}", report.termination, report.reason);
    let feasibility = report.feasibility.as_ref().expect("a problem with constraints");
    assert!(feasibility.violation <= if exactness < 1e-4 { 1e-8 } else { 1e-5 }, "{what}: {feasibility:?}");
}

const METHODS: [&str; 4] = ["lm", "gauss-newton", "dogleg", "lbfgs"];

fn with(method: &str) -> Options {
    Options { method: Some(method.into()), max_iterations: Some(500.0), ..Options::default() }
}

/// The point of the circle x² + y² = 2 nearest to (3, 4)/5·2 has the multiplier that the conditions of optimality ask for.
#[test]
fn the_nearest_point_of_a_circle() {
    for (name, exactness, mut session) in sessions() {
        for method in METHODS {
            let scene = Scene::new(&mut session, &[1.5, 0.3]);
            scene.residuals(&mut session, "near", |w, x| vec![w.linear(&[(1.0, x[0])], -3.0), w.linear(&[(1.0, x[1])], -4.0)]);
            let circle = scene.constrain(&mut session, "circle", Relation::Zero, |w, x| {
                let squares = [w.op(Square, &[x[0]]), w.op(Square, &[x[1]])];
                vec![w.linear(&[(1.0, squares[0]), (1.0, squares[1])], -2.0)]
            });
            let report = solve(&mut session, scene.problem, &with(method));
            let what = format!("{name}, {method}");
            assert_feasible(&report, exactness, &what);
            let radius = 2f64.sqrt();
            let values = read(&mut session, scene.problem, scene.x);
            for (value, expected) in values.iter().zip([0.6 * radius, 0.8 * radius]) {
                assert!((value - expected).abs() < exactness, "{what}: {value} instead of {expected}");
            }
            // ∇f + λ∇c = 0: x − 3 + 2λx = 0.
            let multiplier = session.multipliers(scene.problem, circle).unwrap()[0];
            let expected = (3.0 - 0.6 * radius) / (2.0 * 0.6 * radius);
            assert!((multiplier - expected).abs() < 30.0 * exactness, "{what}: λ = {multiplier} instead of {expected}");
            // The cost is that of the residuals.
            assert!((report.cost - 0.5 * (5.0 - radius).powi(2)).abs() < 30.0 * exactness, "{what}: {}", report.cost);
            assert_eq!(report.cost_by_term.len(), 1, "{what}");
            session.free_problem(scene.problem);
        }
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}: nothing stays behind");
    }
}

/// Problems of Hock & Schittkowski, *Test Examples for Nonlinear Programming Codes* (1981), with their solutions.
#[test]
fn hock_and_schittkowski() {
    struct Example {
        name: &'static str,
        start: &'static [f64],
        objective: Rows,
        constraints: &'static [(Relation, Rows)],
        solution: &'static [f64],
        /// Twice our cost.
        value: f64,
    }
    let examples = [
        Example {
            name: "6",
            start: &[-1.2, 1.0],
            objective: |w, x| vec![w.linear(&[(-1.0, x[0])], 1.0)],
            constraints: &[(Relation::Zero, |w, x| {
                let square = w.op(Square, &[x[0]]);
                vec![w.linear(&[(10.0, x[1]), (-10.0, square)], 0.0)]
            })],
            solution: &[1.0, 1.0],
            value: 0.0,
        },
        Example {
            name: "14",
            start: &[2.0, 2.0],
            objective: |w, x| vec![w.linear(&[(1.0, x[0])], -2.0), w.linear(&[(1.0, x[1])], -1.0)],
            constraints: &[
                (Relation::AtLeastZero, |w, x| {
                    let squares = [w.op(Square, &[x[0]]), w.op(Square, &[x[1]])];
                    vec![w.linear(&[(-0.25, squares[0]), (-1.0, squares[1])], 1.0)]
                }),
                (Relation::Zero, |w, x| vec![w.linear(&[(1.0, x[0]), (-2.0, x[1])], 1.0)]),
            ],
            solution: &[0.822_875_655_5, 0.911_437_827_8],
            value: 1.393_464_980_7,
        },
        Example {
            name: "22",
            start: &[2.0, 2.0],
            objective: |w, x| vec![w.linear(&[(1.0, x[0])], -2.0), w.linear(&[(1.0, x[1])], -1.0)],
            constraints: &[(Relation::AtLeastZero, |w, x| {
                let square = w.op(Square, &[x[0]]);
                vec![w.linear(&[(-1.0, x[0]), (-1.0, x[1])], 2.0), w.linear(&[(-1.0, square), (1.0, x[1])], 0.0)]
            })],
            solution: &[1.0, 1.0],
            value: 1.0,
        },
        Example {
            name: "27, with its objective's parts",
            start: &[2.0, 2.0, 2.0],
            objective: |w, x| {
                let square = w.op(Square, &[x[0]]);
                vec![w.linear(&[(0.1, x[0])], -0.1), w.linear(&[(1.0, x[1]), (-1.0, square)], 0.0)]
            },
            constraints: &[(Relation::Zero, |w, x| {
                let square = w.op(Square, &[x[2]]);
                vec![w.linear(&[(1.0, x[0]), (1.0, square)], 1.0)]
            })],
            solution: &[-1.0, 1.0],
            value: 0.04,
        },
        Example {
            name: "42",
            start: &[1.0, 1.0, 1.0, 1.0],
            objective: |w, x| [1.0, 2.0, 3.0, 4.0].iter().zip(x).map(|(target, value)| w.linear(&[(1.0, *value)], -target)).collect(),
            constraints: &[(Relation::Zero, |w, x| {
                let squares = [w.op(Square, &[x[2]]), w.op(Square, &[x[3]])];
                vec![w.linear(&[(1.0, x[0])], -2.0), w.linear(&[(1.0, squares[0]), (1.0, squares[1])], -2.0)]
            })],
            solution: &[2.0, 2.0, 0.848_528_137_4, 1.131_370_849_9],
            value: 13.857_864_376_3,
        },
    ];
    for (name, exactness, mut session) in sessions() {
        for method in ["lm", "lbfgs"] {
            // At the solution of 27 the constraint has no slope in x₃: f32 does not come near.
            for example in examples.iter().filter(|example| exactness < 1e-4 || !example.name.starts_with("27")) {
                let scene = Scene::new(&mut session, example.start);
                scene.residuals(&mut session, "objective", example.objective);
                for (number, (relation, rows)) in example.constraints.iter().enumerate() {
                    scene.constrain(&mut session, &format!("constraint {number}"), *relation, *rows);
                }
                let report = solve(&mut session, scene.problem, &with(method));
                let what = format!("{name}, {method}, Hock & Schittkowski {}", example.name);
                assert_feasible(&report, exactness, &what);
                let values = read(&mut session, scene.problem, scene.x);
                for (value, expected) in values.iter().zip(example.solution) {
                    assert!((value - expected).abs() < 100.0 * exactness.min(5e-4), "{what}: {values:?}: {}", report.reason);
                }
                assert!((2.0 * report.cost - example.value).abs() < 100.0 * exactness.min(5e-4), "{what}: {}", report.cost);
                session.free_problem(scene.problem);
            }
        }
    }
}

/// What does not hold the solution has the multiplier 0; what holds it has a positive one.
#[test]
fn inequalities_hold_only_where_they_must() {
    for (name, exactness, mut session) in sessions() {
        // Rows of one vector constraint over many instances: 0.5 ≤ xᵢ, as a term and not as a bound.
        let problem = session.problem();
        let count = 50;
        let x = session.table(problem, "x", 1, Reals::F64(&vec![2.0; count]), true).unwrap();
        let targets: Vec<f64> = (0..count).map(|i| -1.0 + 3.0 * i as f64 / count as f64).collect();
        let mut tape = Tape::default();
        let inputs = [tape.input(0), tape.input(1)];
        let outputs = [tape.op(Sub, &inputs)];
        let term = |name: &str, values: &'static str| (name.to_string(), values);
        let (near, _) = term("near", "");
        let made = |name: String, values, tape, outputs| TermSpec {
            name,
            count: count as u32,
            indices: vec![(0..count as u32).collect()],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![Column { name: "value".into(), width: 1, shared: false, values: Reals::F64(values) }],
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Objective::LeastSquares,
            tape,
            outputs,
        };
        session.term(problem, made(near, &targets, &tape.words, &outputs)).unwrap();
        let halves = vec![0.5; count];
        let weights: Vec<f64> = (0..count).map(|i| if i == 3 { 0.0 } else { 1.0 + i as f64 / 10.0 }).collect();
        let spec = made("above".into(), &halves, &tape.words, &outputs);
        let above =
            session.constraint(problem, TermSpec { weight: Weight::Each(Reals::F64(&weights)), ..spec }, Relation::AtLeastZero).unwrap();
        let report = solve(&mut session, problem, &with("lm"));
        assert_feasible(&report, exactness, name);
        let multipliers = session.multipliers(problem, above).unwrap();
        for (i, value) in read(&mut session, problem, x).into_iter().enumerate() {
            // Of weight 0, a constraint is none.
            let expected = if i == 3 { targets[i] } else { targets[i].max(0.5) };
            assert!((value - expected).abs() < exactness, "{name}: x{i} = {value} instead of {expected}");
            assert!((multipliers[i] - (expected - targets[i])).abs() < 10.0 * exactness, "{name}: λ{i} = {}", multipliers[i]);
        }
        // The next solve begins with what this one found.
        let again = solve(&mut session, problem, &with("lm"));
        assert!(again.iterations.len() <= report.iterations.len(), "{name}");
        assert_feasible(&again, exactness, name);
    }
}

#[test]
fn what_cannot_be_met_is_told() {
    for (name, _, mut session) in sessions() {
        let scene = Scene::new(&mut session, &[0.5, 0.5]);
        scene.residuals(&mut session, "near", |_, x| x.to_vec());
        scene.constrain(&mut session, "far left", Relation::AtMostZero, |w, x| vec![w.linear(&[(1.0, x[0])], 1.0)]);
        scene.constrain(&mut session, "far right", Relation::AtLeastZero, |w, x| vec![w.linear(&[(1.0, x[0])], -1.0)]);
        let report = solve(&mut session, scene.problem, &with("lm"));
        assert_eq!(report.termination, Termination::Infeasible, "{name}: {}", report.reason);
        assert!(!report.converged, "{name}");
        let feasibility = report.feasibility.expect("constraints");
        assert!((feasibility.violation - 1.0).abs() < 1e-2, "{name}: {feasibility:?}");
        assert!(report.reason.contains("far "), "{name}: {}", report.reason);
        assert_eq!(feasibility.constraints.len(), 2, "{name}");
        session.free_problem(scene.problem);
    }
}

#[test]
fn what_is_no_constraint_is_refused() {
    let mut session = cpu(Precision::F64);
    let scene = Scene::new(&mut session, &[0.5]);
    let (tape, outputs) = scene.write(|_, x| x.to_vec());
    let plain = || spec("c", scene.x, 1, &tape, &outputs);
    let loss = Some(Loss::cauchy(1.0).unwrap());
    match session.constraint(scene.problem, TermSpec { loss, ..plain() }, Relation::Zero) {
        Err(Error::Shape { message, .. }) => assert_eq!(message, "a constraint has no loss: it is met, or it is not"),
        _ => panic!("a loss was accepted"),
    }
    let wrong = session.constraint(scene.problem, TermSpec { outputs: &[99], ..plain() }, Relation::Zero);
    assert!(matches!(wrong, Err(Error::Tape { .. })));
    let term = session.constraint(scene.problem, plain(), Relation::Zero).unwrap();
    // Alone, a constraint is a problem as well.
    let report = solve(&mut session, scene.problem, &with("lm"));
    assert!(report.converged && read(&mut session, scene.problem, scene.x)[0].abs() < 1e-8, "{}", report.reason);
    for (options, message) in [
        (Options { penalty: Some(0.0), ..Options::default() }, "penalty must be a positive number, not 0"),
        (Options { max_outer_iterations: Some(1.5), ..Options::default() }, "maxOuterIterations must be a whole number, not 1.5"),
    ] {
        match session.solver(scene.problem, &options) {
            Err(Error::InvalidOption(said)) => assert_eq!(said, message),
            _ => panic!("{message}"),
        }
    }
    session.free_term(scene.problem, term).unwrap();
    assert!(session.multipliers(scene.problem, term).is_err());
}

/// A file has multipliers and penalties: what a solve found is where the next begins, in another session as well.
#[test]
fn checkpoints_have_multipliers() {
    let make = |session: &mut Session| {
        let scene = Scene::new(session, &[1.5, 0.3]);
        scene.residuals(session, "near", |w, x| vec![w.linear(&[(1.0, x[0])], -3.0), w.linear(&[(1.0, x[1])], -4.0)]);
        let circle = scene.constrain(session, "circle", Relation::Zero, |w, x| {
            let squares = [w.op(Square, &[x[0]]), w.op(Square, &[x[1]])];
            vec![w.linear(&[(1.0, squares[0]), (1.0, squares[1])], -2.0)]
        });
        (scene, circle)
    };
    let mut session = cpu(Precision::F64);
    let (scene, circle) = make(&mut session);
    let solver = session.solver(scene.problem, &with("lm")).unwrap();
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    finish(&mut session, task, |_| {});
    let task = session.save(solver).unwrap();
    let Progress::Answer(Answer::Bytes(file)) = finish(&mut session, task, |_| {}) else { panic!("no file") };
    let found = session.multipliers(scene.problem, circle).unwrap();
    let mut other = cpu(Precision::F64);
    let (twin, restored) = make(&mut other);
    let solver = other.solver(twin.problem, &with("lm")).unwrap();
    other.restore(solver, &file).unwrap();
    assert_eq!(other.multipliers(twin.problem, restored).unwrap(), found);
    let again = solve(&mut other, twin.problem, &with("lm"));
    assert_feasible(&again, 1e-6, "resumed");
    // Another kind of constraint is another problem.
    let mut third = cpu(Precision::F64);
    let unlike = Scene::new(&mut third, &[1.5, 0.3]);
    unlike.residuals(&mut third, "near", |w, x| vec![w.linear(&[(1.0, x[0])], -3.0), w.linear(&[(1.0, x[1])], -4.0)]);
    unlike.constrain(&mut third, "circle", Relation::AtMostZero, |w, x| {
        let squares = [w.op(Square, &[x[0]]), w.op(Square, &[x[1]])];
        vec![w.linear(&[(1.0, squares[0]), (1.0, squares[1])], -2.0)]
    });
    let solver = third.solver(unlike.problem, &with("lm")).unwrap();
    assert!(matches!(third.restore(solver, &file), Err(Error::Checkpoint(_))));
}
