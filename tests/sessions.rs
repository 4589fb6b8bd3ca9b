//! What a session answers for: several solvers on one problem, problems that change, refusals that leave nothing behind.

use crate::support::*;
use leastwise::Error;
use leastwise::anneal::index::Index;
use leastwise::device::Precision;
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::{Answer, CompressOptions, Progress, Session, SolveMode};
use leastwise::solve::covariance::CovarianceOptions;
use leastwise::solve::{Options, Termination};
use serde_json::{Value, json};

fn backends() -> [(&'static str, Session); 2] {
    [("cpu", cpu(Precision::F64)), ("webgpu", gpu(None))]
}

/// r = x − target for every instance of a table of scalars.
fn pull(session: &mut Session, problem: u32, table: u32, targets: &[f64]) -> Result<u32, Error> {
    let mut tape = Tape::default();
    let [x, target] = [0, 1].map(|source| tape.input(source));
    let residual = tape.op(Opcode::Sub, &[x, target]);
    let spec = TermSpec {
        name: "pull".into(),
        count: 3,
        indices: vec![vec![0, 1, 2]],
        slots: vec![Slot { table, column: 0 }],
        columns: vec![Column { name: "target".into(), width: 1, shared: false, values: Reals::F64(targets) }],
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    };
    session.term(problem, spec)
}

fn step(session: &mut Session, solver: u32) -> leastwise::solve::Iteration {
    let task = session.solve(solver, SolveMode::Step).unwrap();
    let mut last = None;
    finish(session, task, |iteration| last = Some(iteration));
    last.expect("a step")
}

#[test]
fn a_solver_follows_a_problem_that_grows() {
    for (name, mut session) in backends() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, 3.0]), true).unwrap();
        pull(&mut session, problem, x, &[2.0, 2.0, 2.0]).unwrap();
        let solver = session.solver(problem, &Options::default()).unwrap();
        step(&mut session, solver);
        let y = session.table(problem, "y", 1, Reals::F64(&[60.0, 70.0, 80.0]), true).unwrap();
        pull(&mut session, problem, y, &[0.0, 0.0, 0.0]).unwrap();
        let grown = step(&mut session, solver);
        let before = grown.cost - grown.cost_change;
        assert!((before - 7450.0).abs() < 0.1, "{name}: {before}");
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(&mut session, task, |_| {}) else { panic!("{name}: no report") };
        assert!(report.converged && report.cost < 1e-6, "{name}: {} {}", report.cost, report.reason);
        assert!(read(&mut session, problem, y).iter().all(|y| y.abs() < 1e-3), "{name}");
    }
}

#[test]
fn two_solvers_of_one_problem_do_not_mistake_each_others_linearisation() {
    for (name, mut session) in backends() {
        let mesh = Mesh::icosphere(1).normalized();
        let (problem, _) = arap(&mut session, &mesh);
        let [a, b] = [0, 1].map(|_| session.solver(problem, &Options::default()).unwrap());
        let mut cost = f64::NAN;
        for round in 0..12 {
            let iteration = step(&mut session, if round % 3 == 0 { a } else { b });
            let before = if iteration.accepted { iteration.cost - iteration.cost_change } else { iteration.cost };
            assert!(round == 0 || (before - cost).abs() <= 1e-5 * cost, "{name}, step {round}: {before} is not {cost}");
            cost = iteration.cost;
        }
    }
}

#[test]
fn steps_are_not_counted_against_the_limit_of_a_solve() {
    let mut session = cpu(Precision::F64);
    let mesh = Mesh::icosphere(1).normalized();
    let (problem, _) = arap(&mut session, &mesh);
    let options = Options { max_iterations: Some(5.0), ..Options::default() };
    let solver = session.solver(problem, &options).unwrap();
    for _ in 0..8 {
        step(&mut session, solver);
    }
}

#[test]
fn a_disposed_solver_leaves_the_values_whole() {
    let mut session = cpu(Precision::F64);
    let mesh = Mesh::icosphere(2).normalized();
    let (problem, x) = arap(&mut session, &mesh);
    let solver = session.solver(problem, &Options::default()).unwrap();
    session.advance(solver, 1, 0.0).unwrap();
    session.free_solver(solver);
    let values = read(&mut session, problem, x);
    assert!(values.iter().zip(&mesh.positions).all(|(value, start)| (value - start).abs() < 0.5));
    assert!(values.iter().any(|value| *value != 0.0));
}

#[test]
fn a_solver_whose_step_was_cancelled_solves_afterwards() {
    for (name, mut session) in backends() {
        let mesh = Mesh::icosphere(2).normalized();
        let (problem, _) = arap(&mut session, &mesh);
        let solver = session.solver(problem, &Options::default()).unwrap();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        while let Progress::Waiting(signal) = session.resume(task, 0.0).unwrap() {
            session.device_mut().block_on(&signal).unwrap();
        }
        session.cancel(task);
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(&mut session, task, |_| {}) else { panic!("{name}: no report") };
        assert!(report.converged, "{name}: {}", report.reason);
    }
}

#[test]
fn reads_take_turns_whoever_is_asked_first() {
    for (name, mut session) in backends() {
        let problem = session.problem();
        let [x, y] = [1.0, 2.0].map(|value| session.table(problem, "x", 1, Reals::F64(&[value; 3]), true).unwrap());
        for table in [x, y] {
            pull(&mut session, problem, table, &[0.0; 3]).unwrap();
        }
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            session.write_table(problem, x, Reals::F64(&[1.0; 3]), None).unwrap();
            let first = session.read_table(problem, x).unwrap();
            session.write_table(problem, x, Reals::F64(&[3.0; 3]), None).unwrap();
            let tasks = [first, session.read_table(problem, y).unwrap(), session.read_table(problem, x).unwrap()];
            assert_eq!(session.solver(problem, &Options::default()).unwrap_err(), Error::Busy, "{name}");
            for number in order {
                let Progress::Values(values) = finish(&mut session, tasks[number], |_| {}) else { panic!("{name}: no values") };
                assert_eq!(values, [[1.0, 2.0, 3.0][number]; 3], "{name}, {order:?}");
            }
        }
        assert!(solve(&mut session, problem, &Options::default()).converged, "{name}");
        // What is not read any more is in nobody's way.
        let [a, b] = [0, 1].map(|_| session.read_table(problem, x).unwrap());
        session.cancel(a);
        assert!(matches!(finish(&mut session, b, |_| {}), Progress::Values(_)), "{name}");
        let left = session.read_table(problem, x).unwrap();
        session.free_problem(problem);
        assert!(session.resume(left, 1.0).is_err(), "{name}");
    }
}

#[test]
fn a_refused_term_leaves_nothing_behind() {
    for (name, mut session) in backends() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, 3.0]), true).unwrap();
        let before = session.device().counters();
        for targets in [&[1.0, 2.0][..], &[1.0, f64::NAN, 3.0]] {
            assert!(pull(&mut session, problem, x, targets).is_err(), "{name}");
        }
        assert_eq!(session.device().counters().bytes_live, before.bytes_live, "{name}");
        pull(&mut session, problem, x, &[0.0; 3]).unwrap();
        assert!(solve(&mut session, problem, &Options::default()).converged, "{name}");
    }
}

/// r = x / (z² + 1) + 1 with z = 10⁶⁰x: in f32 z is infinite, r is 1, and its derivative 0·∞.
#[test]
fn a_derivative_that_is_not_finite_is_never_convergence() {
    for (name, mut session) in [("cpu f32", cpu(Precision::F32)), ("webgpu", gpu(None))] {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&[1.0]), true).unwrap();
        let mut tape = Tape::default();
        let a = tape.input(0);
        let large = tape.literal(1e30);
        let once = tape.op(Opcode::Mul, &[a, large]);
        let twice = tape.op(Opcode::Mul, &[once, large]);
        let squared = tape.op(Opcode::Square, &[twice]);
        let one = tape.literal(1.0);
        let below = tape.op(Opcode::Add, &[squared, one]);
        let inverse = tape.op(Opcode::Div, &[a, below]);
        let residual = tape.op(Opcode::Add, &[inverse, one]);
        let spec = TermSpec {
            name: "odd".into(),
            count: 1,
            indices: vec![vec![0]],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![],
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        session.term(problem, spec).unwrap();
        let report = solve(&mut session, problem, &Options::default());
        assert_eq!(report.termination, Termination::NoProgress, "{name}: {}", report.reason);
    }
}

/// r = x² − 3 + x / (e² + 1) with e = exp(23x): in f32 e² is infinite from x = 1.93 on, what is divided by it 0, and its
/// derivative 0·∞. The first step goes from 1 to 2; the minimum is at √3.
#[test]
fn a_step_to_where_the_derivative_is_not_finite_is_rejected() {
    for method in ["lm", "gauss-newton", "dogleg"] {
        for linear in ["dense", "pcg"] {
            let mut session = cpu(Precision::F32);
            let problem = session.problem();
            let x = session.table(problem, "x", 1, Reals::F64(&[1.0]), true).unwrap();
            let mut tape = Tape::default();
            let a = tape.input(0);
            let [rate, one, target] = [23.0, 1.0, 3.0].map(|value| tape.literal(value));
            let exponent = tape.op(Opcode::Mul, &[a, rate]);
            let large = tape.op(Opcode::Exp, &[exponent]);
            let squared = tape.op(Opcode::Square, &[large]);
            let below = tape.op(Opcode::Add, &[squared, one]);
            let quotient = tape.op(Opcode::Div, &[a, below]);
            let square = tape.op(Opcode::Square, &[a]);
            let apart = tape.op(Opcode::Sub, &[square, target]);
            let residual = tape.op(Opcode::Add, &[apart, quotient]);
            let spec = TermSpec {
                name: "odd".into(),
                count: 1,
                indices: vec![vec![0]],
                slots: vec![Slot { table: x, column: 0 }],
                columns: vec![],
                weight: Weight::Shared(1.0),
                loss: None,
                objective: Default::default(),
                tape: &tape.words,
                outputs: &[residual],
            };
            session.term(problem, spec).unwrap();
            let options = Options { method: Some(method.into()), linear: Some(linear.into()), ..Options::default() };
            let report = solve(&mut session, problem, &options);
            for it in &report.iterations {
                eprintln!("{it:?}");
            }
            eprintln!("{method} {linear} {:?} {} {:?}", report.termination, report.reason, read(&mut session, problem, x));
        }
    }
}

#[test]
fn at_rest_live_steps_leave_the_damping_alone_and_edits_are_followed() {
    for (name, mut session) in backends() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, 3.0]), true).unwrap();
        let term = pull(&mut session, problem, x, &[2.0, 2.0, 2.0]).unwrap();
        let solver = session.solver(problem, &Options::default()).unwrap();
        step(&mut session, solver);
        (0..300).for_each(|_| {
            session.advance(solver, 1, 1e6).unwrap();
        });
        session.set_column(problem, term, 0, Reals::F64(&[7.0, 8.0, 9.0])).unwrap();
        (0..5).for_each(|_| {
            session.advance(solver, 1, 1e6).unwrap();
        });
        let values = read(&mut session, problem, x);
        assert!(values.iter().zip([7.0, 8.0, 9.0]).all(|(x, target)| (x - target).abs() < 1e-2), "{name}: {values:?}");
    }
}

#[test]
fn compressing_goes_in_slices_and_can_be_dropped() {
    let points: Vec<f32> = (0..900 * 24).map(|k| (k as f32 * 0.37).sin() * (1 + k % 24) as f32).collect();
    let options = CompressOptions {
        dim: 24,
        clusters: Some(6),
        method: None,
        seed: 1,
        code: "bits".into(),
        bits: Some(3.0),
        ratio: None,
        sample: None,
        train_for: None,
    };
    for (_, mut session) in backends() {
        let whole = compressed(&mut session, &points, &options);
        for share in [0.1, 0.3, 0.5, 0.9] {
            let task = session.compress(points.to_vec(), &options).unwrap();
            let mut done = 0.0;
            while done < share {
                match session.resume(task, 0.0).unwrap() {
                    Progress::Partly { done: now, total } => {
                        assert!(now / total >= done && now <= total, "{now} of {total} after {done}");
                        done = now / total;
                    }
                    Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
                    Progress::Yielded => {}
                    _ => panic!("done before {share}"),
                }
            }
            session.cancel(task);
            assert!(!session.has_task(task));
            assert_eq!(session.resume(task, 0.0).err().unwrap().code(), "disposed");
        }
        assert_eq!(compressed(&mut session, &points, &options), whole, "nothing of what was dropped is left");
    }
}

#[test]
fn an_index_says_what_it_was_asked_to_be() {
    let points: Vec<f32> = (0..300 * 8).map(|k| (k as f32 * 0.37).sin()).collect();
    let asked = |given: Value| -> CompressOptions { serde_json::from_value(given).unwrap() };
    let (_, mut session) = backends().into_iter().next().unwrap();
    for (given, expected) in [
        (
            json!({ "dim": 8, "code": "bits", "ratio": 0.4, "seed": 5 }),
            json!({ "method": "lloyd", "maxIterations": 10, "seed": 5, "ratio": 0.4 }),
        ),
        (
            json!({ "dim": 8, "code": "bits", "bits": 1.5, "method": "anneal", "clusters": 3 }),
            json!({ "method": "anneal", "seed": 0, "bits": 1.5, "clusters": 3 }),
        ),
        (json!({ "dim": 8, "code": "none", "method": "vlc" }), json!({ "method": "vlc", "seed": 0 })),
    ] {
        let mut about = Index::open(&compressed(&mut session, &points, &asked(given))).unwrap().about();
        let clustering = about.remove("clustering").unwrap();
        assert!(clustering["energy"].as_f64().is_some_and(|energy| energy > 0.0));
        assert_eq!(about.remove("trainedOn"), Some(json!(300)));
        assert_eq!(Value::Object(about), expected);
    }
}

/// The file of an index of these points.
fn compressed(session: &mut Session, points: &[f32], options: &CompressOptions) -> Vec<u8> {
    let task = session.compress(points.to_vec(), options).unwrap();
    let Progress::Answer(Answer::Index(index)) = ended(session, task) else { panic!("no index") };
    let task = session.save_index(index, false).unwrap();
    let Progress::Answer(Answer::Bytes(file)) = ended(session, task) else { panic!("no file") };
    file
}

fn ended(session: &mut Session, task: u32) -> Progress {
    loop {
        match session.resume(task, f64::INFINITY).unwrap() {
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Yielded | Progress::Partly { .. } => {}
            end => return end,
        }
    }
}

#[test]
fn slots_are_used_again_and_handles_of_what_is_gone_are_refused() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, 3.0]), true).unwrap();
    pull(&mut session, problem, x, &[2.0, 2.0, 2.0]).unwrap();
    let gone = session.solver(problem, &Options::default()).unwrap();
    let buffers = session.counters().buffers_created - session.counters().buffers_destroyed;
    session.free_solver(gone);
    for _ in 0..100 {
        let solver = session.solver(problem, &Options::default()).unwrap();
        assert_ne!(solver, gone);
        assert_eq!(session.counters().buffers_created - session.counters().buffers_destroyed, buffers);
        assert_eq!(session.solve(gone, SolveMode::Solve), Err(Error::Disposed("solver")));
        // Nothing is freed by a stale handle.
        session.free_solver(gone);
        step(&mut session, solver);
        session.free_solver(solver);
    }
    let other = session.problem();
    session.free_problem(other);
    let again = session.problem();
    assert_ne!(again, other);
    session.free_problem(other);
    assert_eq!(session.read_table(other, 0), Err(Error::Disposed("problem")));
    session.table(again, "y", 1, Reals::F64(&[1.0]), true).unwrap();
}

#[test]
fn what_is_saved_of_a_problem_without_terms_is_refused_as_that() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, 3.0]), true).unwrap();
    let term = pull(&mut session, problem, x, &[2.0, 2.0, 2.0]).unwrap();
    let solver = session.solver(problem, &Options::default()).unwrap();
    session.set_enabled(problem, term, false).unwrap();
    let refused = session.save(solver).unwrap_err();
    assert_eq!((refused.code(), &refused.to_string()[..7]), ("invalid-option", "save():"));
    session.set_enabled(problem, term, true).unwrap();
    let task = session.save(solver).unwrap();
    assert!(matches!(finish(&mut session, task, |_| {}), Progress::Answer(Answer::Bytes(_))));
}

/// Links of a long chain of scalars, each to the next: r = a − b.
fn chain(session: &mut Session, problem: u32, table: u32, name: &str, count: u32) {
    let mut tape = Tape::default();
    let [a, b] = [0, 1].map(|source| tape.input(source));
    let residual = tape.op(Opcode::Sub, &[a, b]);
    let spec = TermSpec {
        name: name.into(),
        count,
        indices: vec![(0..count).collect(), (1..=count).collect()],
        slots: [0, 1].map(|column| Slot { table, column }).to_vec(),
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    };
    session.term(problem, spec).unwrap();
}

#[test]
fn large_problems_are_laid_out_in_slices() {
    // A page has one thread, and slices for all of its work.
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(laid_out_in_slices);
}

fn laid_out_in_slices() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&vec![1.0; 70_001]), true).unwrap();
    let terms = ["one", "two", "three"];
    // Too many instances for a batch with others.
    terms.iter().for_each(|name| chain(&mut session, problem, x, name, 70_000));
    let aborted = session.lay_out(problem).unwrap().expect("a task");
    for _ in 0..2 {
        assert!(matches!(session.resume(aborted, 0.0).unwrap(), Progress::Yielded));
    }
    session.cancel(aborted);
    let task = session.lay_out(problem).unwrap().expect("a task for what is left");
    let mut slices = 1;
    while let Progress::Yielded = session.resume(task, 0.0).unwrap() {
        assert_eq!(session.lay_out(problem), Err(Error::Busy));
        slices += 1;
    }
    assert!(slices > 3 * terms.len(), "{slices} slices");
    let buffers = session.counters().buffers_created;
    assert_eq!(session.lay_out(problem), Ok(None));
    session.describe_term(problem, 0).unwrap();
    assert_eq!(session.counters().buffers_created, buffers, "it is laid out already");

    // Buffers become zeros in slices as well, before anything is played.
    let task = session.read_table(problem, x).unwrap();
    let mut slices = 0;
    while let Progress::Yielded = session.resume(task, 0.0).unwrap() {
        slices += 1;
    }
    let large = terms.len() * 2;
    assert!(slices >= large, "{slices} slices");
    session.free_problem(problem);
    assert_eq!(session.counters().bytes_live, 0);

    // What is freed before it is filled counts with what it was to be.
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&vec![1.0; 150_000]), true).unwrap();
    chain(&mut session, problem, x, "one", 149_999);
    session.describe_term(problem, 0).unwrap();
    assert!(session.counters().bytes_live > 150_000 * 8);
    session.free_problem(problem);
    assert_eq!(session.counters().bytes_live, 0);

    let small = session.problem();
    let x = session.table(small, "x", 1, Reals::F64(&[1.0; 11]), true).unwrap();
    chain(&mut session, small, x, "one", 10);
    assert_eq!(session.lay_out(small), Ok(None));
}

#[test]
fn what_is_cancelled_before_it_began_takes_no_values_along() {
    for (name, mut session) in backends() {
        for begin in ["read", "solve", "step", "covariance"] {
            let problem = session.problem();
            let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, 4.0]), true).unwrap();
            chain(&mut session, problem, x, "one", 2);
            let task = match begin {
                "read" => session.read_table(problem, x).unwrap(),
                "covariance" => session.covariance(problem, CovarianceOptions::default()).unwrap(),
                mode => {
                    let solver = session.solver(problem, &Options::default()).unwrap();
                    session.solve(solver, if mode == "solve" { SolveMode::Solve } else { SolveMode::Step }).unwrap()
                }
            };
            session.cancel(task);
            assert_eq!(read(&mut session, problem, x), [1.0, 2.0, 4.0], "{name}, {begin}");
            let report = solve(&mut session, problem, &Options::default());
            assert!(report.initial_cost > 0.0 && report.cost < 1e-9 * report.initial_cost, "{name}, {begin}: {}", report.reason);
            session.free_problem(problem);
        }
        assert_eq!(session.counters().bytes_live, 0, "{name}");
    }
}
