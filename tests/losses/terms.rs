//! Robust terms through a session: outliers, live parameters, batches, ragged and summed terms.

use crate::losses::samples::traced;
use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, RaggedSlot, RaggedSpec, Reals, Slot, SummedSpec, TermSpec, Trace, Weight};
use leastwise::session::{Progress, Session};
use leastwise::solve::Options;

fn sessions() -> Vec<(&'static str, Shared)> {
    vec![("cpu in f64", cpu(Precision::F64).into()), ("cpu in f32", cpu(Precision::F32).into()), ("webgpu", shared_gpu(None))]
}

/// Points of y = 1.5 − 0.75x with a little noise, and every third one somewhere above.
struct Line {
    x: Vec<f64>,
    y: Vec<f64>,
}

const TRUTH: [f64; 2] = [1.5, -0.75];

impl Line {
    fn new() -> Self {
        let mut random = Random::new(11);
        let x: Vec<f64> = (0..60).map(|k| f64::from(k) * 0.1 - 3.0).collect();
        let outlier = |k: usize, random: &mut Random| if k % 3 == 1 { random.between(3.0, 9.0) } else { random.between(-0.05, 0.05) };
        let y = x.iter().enumerate().map(|(k, x)| TRUTH[0] + TRUTH[1] * x + outlier(k, &mut random)).collect();
        Self { x, y }
    }

    /// The problem, its line and its term.
    fn pose(&self, session: &mut Session, loss: Option<Loss>) -> (u32, u32, u32) {
        let problem = session.problem();
        let line = session.table(problem, "line", 2, Reals::F64(&[0.0, 0.0]), true).unwrap();
        let mut tape = Tape::default();
        let [line_of, x, y] = [0, 1, 2].map(|source| tape.input(source));
        let [a, b] = [0, 1].map(|k| tape.op(Component, &[line_of, k]));
        let slope = tape.op(Mul, &[b, x]);
        let at = tape.op(Add, &[a, slope]);
        let residual = tape.op(Sub, &[at, y]);
        let column = |name: &str, values| Column { name: name.into(), width: 1, shared: false, values: Reals::F64(values) };
        let spec = TermSpec {
            name: "points".into(),
            count: self.x.len() as u32,
            indices: vec![vec![0; self.x.len()]],
            slots: vec![Slot { table: line, column: 0 }],
            columns: vec![column("x", &self.x), column("y", &self.y)],
            weight: Weight::Shared(2.0),
            loss,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        (problem, line, session.term(problem, spec).unwrap())
    }
}

fn tight() -> Options {
    Options { cost_tolerance: Some(1e-12), max_iterations: Some(300.0), ..Options::default() }
}

fn off(line: &[f64]) -> f64 {
    (line[0] - TRUTH[0]).abs().max((line[1] - TRUTH[1]).abs())
}

#[test]
fn outliers_do_not_move_a_robust_line() {
    let points = Line::new();
    for (name, mut session) in sessions() {
        let (problem, line, _) = points.pose(&mut session, None);
        solve(&mut session, problem, &tight());
        assert!(off(&read(&mut session, problem, line)) > 1.0, "{name}: squares follow the outliers");
        let losses = [
            (Loss::huber(0.05).unwrap(), 0.2),
            (Loss::soft_l1(0.05).unwrap(), 0.2),
            (Loss::cauchy(0.1).unwrap(), 0.05),
            (Loss::arctan(1.0).unwrap(), 0.05),
            (Loss::barron(0.0, 0.1).unwrap(), 0.05),
            (Loss::scaled(&Loss::cauchy(0.1).unwrap(), 3.0).unwrap(), 0.05),
            (Loss::composed(&Loss::huber(0.1).unwrap(), &Loss::cauchy(0.3).unwrap()), 0.1),
        ];
        for (loss, bound) in losses {
            let kind = loss.kind.clone();
            let (problem, line, term) = points.pose(&mut session, Some(loss));
            let report = solve(&mut session, problem, &tight());
            let found = read(&mut session, problem, line);
            assert!(off(&found) < bound, "{name}, {kind:?}: {found:?} after {}", report.iterations.len());
            let costs = costs(&mut session, problem, term);
            let sum: f64 = costs.iter().sum();
            assert!((report.cost - sum).abs() < 1e-5 * sum, "{name}, {kind:?}: {} and {sum}", report.cost);
            assert!((report.cost_by_term[0].1 - sum).abs() < 1e-5 * sum, "{name}, {kind:?}: by term");
            session.free_problem(problem);
        }
    }
}

/// From a start that is near enough, losses without any pull from far away agree with the truth, too.
#[test]
fn losses_that_let_go_of_outliers_refine_a_line() {
    let points = Line::new();
    for (name, mut session) in sessions() {
        for loss in
            [Loss::tukey(0.5), Loss::geman_mc_clure(0.2), Loss::welsch(0.3), Loss::barron(-2.0, 0.2), Loss::barron(f64::NEG_INFINITY, 0.2)]
        {
            let loss = loss.unwrap();
            let kind = loss.kind.clone();
            let (problem, line, _) = points.pose(&mut session, Some(loss));
            session.write_table(problem, line, Reals::F64(&[1.4, -0.7]), None).unwrap();
            let report = solve(&mut session, problem, &tight());
            let found = read(&mut session, problem, line);
            assert!(off(&found) < 0.02, "{name}, {kind:?}: {found:?}: {}", report.reason);
            session.free_problem(problem);
        }
    }
}

fn costs(session: &mut Session, problem: u32, term: u32) -> Vec<f64> {
    let task = session.term_costs(problem, term).unwrap();
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

#[test]
fn parameters_are_edited_live_and_kinds_are_not() {
    let points = Line::new();
    let huber = |s: f64, delta: f64| if s <= delta * delta { s } else { 2.0 * delta * s.sqrt() - delta * delta };
    for (name, mut session) in sessions() {
        let (problem, line, term) = points.pose(&mut session, Some(Loss::huber(0.5).unwrap()));
        let squares: Vec<f64> = points.y.iter().map(|y| y * y).collect();
        let judge = |session: &mut Session, delta: f64| {
            for (cost, &s) in costs(session, problem, term).iter().zip(&squares) {
                assert!((cost - huber(s, delta)).abs() < 1e-5 * (1.0 + s), "{name}: {cost} at {s} with {delta}");
            }
        };
        judge(&mut session, 0.5);
        solve(&mut session, problem, &tight());
        let first = read(&mut session, problem, line);
        let kernels = session.device().counters().kernels_created;
        session.set_loss(problem, term, &Loss::huber(5.0).unwrap()).unwrap();
        session.write_table(problem, line, Reals::F64(&[0.0, 0.0]), None).unwrap();
        judge(&mut session, 5.0);
        solve(&mut session, problem, &tight());
        assert!(off(&read(&mut session, problem, line)) > 3.0 * off(&first), "{name}: outliers within δ count in full");
        assert_eq!(session.device().counters().kernels_created, kernels, "{name}: nothing is compiled");
        for other in [Loss::cauchy(1.0).unwrap(), Loss::trivial(), Loss::scaled(&Loss::huber(1.0).unwrap(), 1.0).unwrap()] {
            let error = session.set_loss(problem, term, &other).unwrap_err();
            assert!(matches!(&error, Error::InvalidOption(message) if message.contains("term \"points\"")), "{error}");
        }
        let plain = points.pose(&mut session, None);
        assert!(session.set_loss(plain.0, plain.2, &Loss::huber(1.0).unwrap()).is_err());
        session.set_loss(plain.0, plain.2, &Loss::trivial()).unwrap();
    }
}

#[test]
fn barrons_alpha_goes_from_squares_to_welsch_without_compiling() {
    let points = Line::new();
    for (name, mut session) in sessions() {
        let (problem, line, term) = points.pose(&mut session, Some(Loss::barron(2.0, 0.2).unwrap()));
        let squares = points.pose(&mut session, None);
        let [a, b] = [problem, squares.0].map(|problem| solve(&mut session, problem, &tight()).cost);
        assert!((a - b).abs() < 1e-5 * b, "{name}: α = 2 is squares: {a} and {b}");
        let kernels = session.device().counters().kernels_created;
        for alpha in [1.0, 0.0, -2.0, -10.0, f64::NEG_INFINITY] {
            session.set_loss(problem, term, &Loss::barron(alpha, 0.2).unwrap()).unwrap();
            let report = solve(&mut session, problem, &tight());
            assert!(report.cost.is_finite(), "{name}: {alpha}");
        }
        let found = read(&mut session, problem, line);
        assert!(off(&found) < 0.02, "{name}: graduated, it ends at the truth: {found:?}");
        assert_eq!(session.device().counters().kernels_created, kernels, "{name}");
    }
}

/// Terms of one residual and one kind of loss are one batch, whatever their parameters; other kinds are others.
#[test]
fn terms_of_one_kind_share_their_kernels() {
    for (name, mut session) in sessions() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&[3.0, 3.0, 3.0, 3.0]), true).unwrap();
        let mut tape = Tape::default();
        let a = tape.input(0);
        let add = |session: &mut Session, k: u32, loss: Option<Loss>| {
            let spec = TermSpec {
                name: format!("pull {k}"),
                count: 1,
                indices: vec![vec![k]],
                slots: vec![Slot { table: x, column: 0 }],
                columns: Vec::new(),
                weight: Weight::Shared(2.0),
                loss,
                objective: Default::default(),
                tape: &tape.words,
                outputs: &[a],
            };
            session.term(problem, spec).unwrap()
        };
        let one = add(&mut session, 0, Some(Loss::huber(1.0).unwrap()));
        let two = add(&mut session, 1, Some(Loss::huber(2.0).unwrap()));
        let cauchy = add(&mut session, 2, Some(Loss::cauchy(1.0).unwrap()));
        let plain = add(&mut session, 3, None);
        let neighbours = [one, two, cauchy, plain].map(|term| session.describe_term(problem, term).unwrap().neighbours);
        assert_eq!(neighbours, [1, 1, 0, 0], "{name}");
        let all = |session: &mut Session| [one, two, cauchy, plain].map(|term| costs(session, problem, term)[0]);
        let near = |got: [f64; 4], expected: [f64; 4]| {
            assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{name}: {got:?}, not {expected:?}");
        };
        near(all(&mut session), [5.0, 8.0, 10f64.ln(), 9.0]);
        session.set_loss(problem, two, &Loss::huber(0.5).unwrap()).unwrap();
        near(all(&mut session), [5.0, 2.75, 10f64.ln(), 9.0]);
        // It keeps its parameters when it moves to another batch.
        session.set_enabled(problem, one, false).unwrap();
        assert_eq!(session.describe_term(problem, two).unwrap().neighbours, 0, "{name}");
        near(all(&mut session), [5.0, 2.75, 10f64.ln(), 9.0]);
    }
}

/// Rows of points that pull on their centre: r = Σ (q − c)/4 − goal, traced entry by entry or summed on the device.
fn rows(session: &mut Session, summed: bool, loss: Option<Loss>) -> (u32, u32, u32) {
    let lengths = [1u32, 2, 3, 5, 2, 3, 1, 5];
    let count = lengths.len() as u32;
    let mut offsets = vec![0];
    lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
    let mut random = Random::new(3);
    let indices: Vec<u32> = (0..offsets[lengths.len()]).map(|_| random.below(4) as u32).collect();
    let points: Vec<f64> = (0..8).map(|_| random.between(-2.0, 2.0)).collect();
    let centres: Vec<f64> = (0..2 * count).map(|_| random.between(-1.0, 1.0)).collect();
    let goals: Vec<f64> = (0..2 * count).map(|k| if k == 5 { 40.0 } else { random.between(-0.1, 0.1) }).collect();
    let problem = session.problem();
    let centre = session.table(problem, "centre", 2, Reals::F64(&centres), false).unwrap();
    let point = session.table(problem, "point", 2, Reals::F64(&points), true).unwrap();
    let trace = |length: u32| {
        let mut tape = Tape::default();
        let [c, goal] = [0, 1].map(|source| tape.input(source));
        let entries: Vec<u32> = (0..length)
            .map(|entry| {
                let q = tape.input(2 + entry);
                tape.op(Sub, &[q, c])
            })
            .collect();
        let sum = tape.op(if summed { SumOver } else { Sum }, &entries);
        let quarter = tape.literal(0.25);
        let mean = tape.op(Mul, &[sum, quarter]);
        let output = tape.op(Sub, &[mean, goal]);
        (tape.words, [output])
    };
    let traced: Vec<_> = if summed { vec![(1, trace(1))] } else { [1, 2, 3, 5].map(|n| (n, trace(n))).to_vec() };
    let plain = TermSpec {
        name: "rows".into(),
        count,
        indices: vec![(0..count).collect()],
        slots: vec![Slot { table: centre, column: 0 }],
        columns: vec![Column { name: "goal".into(), width: 2, shared: false, values: Reals::F64(&goals) }],
        weight: Weight::Shared(1.5),
        loss,
        objective: Default::default(),
        tape: &traced[0].1.0,
        outputs: &traced[0].1.1,
    };
    let slots = vec![RaggedSlot { table: point, indices }];
    let term = if summed {
        session.summed_term(problem, SummedSpec { plain, offsets, slots, columns: Vec::new() }).unwrap()
    } else {
        let traces = traced.iter().map(|(length, (tape, outputs))| Trace { length: *length, tape, outputs }).collect();
        session.ragged_term(problem, RaggedSpec { plain, offsets, slots, columns: Vec::new(), traces }).unwrap()
    };
    (problem, point, term)
}

#[test]
fn ragged_and_summed_terms_take_losses() {
    let own = |c: f64| {
        traced(&[c], |tape| {
            let x = tape.op(Div, &[0, 1]);
            let y = tape.op(Log1p, &[x]);
            tape.op(Mul, &[y, 1])
        })
    };
    for (name, mut session) in sessions() {
        let (problem, _, term) = rows(&mut session, false, None);
        let squares: Vec<f64> = costs(&mut session, problem, term).iter().map(|cost| cost * 2.0 / 1.5).collect();
        let cauchy = |c: f64| squares.iter().map(|s| 0.75 * c * (s / c).ln_1p()).collect::<Vec<f64>>();
        for (of, loss, again) in [("cauchy", Loss::cauchy(0.5).unwrap(), Loss::cauchy(3.0).unwrap()), ("traced", own(0.25), own(9.0))] {
            let mut ends = Vec::new();
            for summed in [false, true] {
                let what = format!("{name}, {of}, summed: {summed}");
                let (problem, point, term) = rows(&mut session, summed, Some(loss.clone()));
                let judge = |session: &mut Session, expected: Vec<f64>| {
                    for (cost, expected) in costs(session, problem, term).iter().zip(expected) {
                        assert!((cost - expected).abs() < 1e-5 * (1e-2 + expected), "{what}: {cost}, not {expected}");
                    }
                };
                judge(&mut session, cauchy(0.25));
                session.set_loss(problem, term, &again).unwrap();
                judge(&mut session, cauchy(9.0));
                session.set_loss(problem, term, &loss).unwrap();
                let report = solve(&mut session, problem, &tight());
                ends.push((report.cost, read(&mut session, problem, point)));
            }
            let bound = if name == "cpu in f64" { 1e-7 } else { 1e-3 };
            assert!((ends[0].0 - ends[1].0).abs() < bound * ends[0].0, "{name}, {of}: {} and {}", ends[0].0, ends[1].0);
        }
    }
}

/// A loss that is not defined somewhere is the residual's fault to its user.
#[test]
fn undefined_losses_are_blamed() {
    let loss = traced(&[], |tape| {
        let one = tape.literal(1.0);
        let rest = tape.op(Sub, &[one, 0]);
        let logarithm = tape.op(Log, &[rest]);
        tape.op(Neg, &[logarithm])
    });
    for (name, mut session) in sessions() {
        let (problem, _, _) = Line { x: vec![0.0, 0.0, 0.0], y: vec![0.1, 2.0, 0.3] }.pose(&mut session, Some(loss.clone()));
        let solver = session.solver(problem, &tight()).unwrap();
        let task = session.solve(solver, leastwise::session::SolveMode::Solve).unwrap();
        let error = loop {
            match session.resume(task, f64::INFINITY) {
                Ok(Progress::Waiting(signal)) => session.device_mut().block_on(&signal).unwrap(),
                Ok(Progress::Yielded | Progress::Iteration(_)) => {}
                Ok(_) => panic!("{name}: it ended"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, Error::NonFiniteResidual { term: "points".into(), instance: 1 }, "{name}");
    }
}
