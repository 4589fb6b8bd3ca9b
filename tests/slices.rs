//! Long work of a session in time slices: how many there are, and that they change nothing.

use crate::support::*;
use leastwise::base::task::UNIT;
use leastwise::device::{Device, Limits, Precision, cpu::CpuDevice};
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Problem, Reals, Registry, Slot, TermSpec, Weight};
use leastwise::session::{BackwardOptions, Progress, Session, SolveMode};
use leastwise::solve::Options;
use leastwise::solve::covariance::CovarianceOptions;

/// Scalars of the problems here.
const COUNT: u32 = 60_000;

/// r = (a − b)·stiffness between neighbours, each instance with a weight of its own.
fn links(table: u32, name: &str, stiffness: &[f64], weights: &[f64], add: impl FnOnce(TermSpec)) {
    let mut tape = Tape::default();
    let [a, b, k] = [0, 1, 2].map(|source| tape.input(source));
    let difference = tape.op(Opcode::Sub, &[a, b]);
    let residual = tape.op(Opcode::Mul, &[difference, k]);
    add(TermSpec {
        name: name.into(),
        count: COUNT - 1,
        indices: vec![(0..COUNT - 1).collect(), (1..COUNT).collect()],
        slots: [0, 1].map(|column| Slot { table, column }).to_vec(),
        columns: vec![Column { name: "k".into(), width: 1, shared: false, values: Reals::F64(stiffness) }],
        weight: Weight::Each(Reals::F64(weights)),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    });
}

fn varied(count: u32, seed: u32) -> Vec<f64> {
    (0..count).map(|i| 1.0 + f64::from((i.wrapping_mul(2_654_435_761) ^ seed) % 1000) / 1000.0).collect()
}

/// A chain of scalars, every other of whose links is in a term of its own; a scalar that all share.
fn chain(session: &mut Session) -> (u32, u32, u32) {
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&varied(COUNT, 7)), true).unwrap();
    let [one, _] = ["one", "two"].map(|name| {
        let mut term = 0;
        links(x, name, &varied(COUNT - 1, 3), &varied(COUNT - 1, 5), |spec| term = session.term(problem, spec).unwrap());
        term
    });
    (problem, x, one)
}

fn solved(session: &mut Session, problem: u32, x: u32) -> Vec<f64> {
    let options = Options { max_iterations: Some(2.0), ..Options::default() };
    let solver = session.solver(problem, &options).unwrap();
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    finish(session, task, |_| {});
    read(session, problem, x)
}

#[test]
fn one_batch_is_laid_out_over_several_slices() {
    for limits in [CpuDevice::default_limits(), Limits { binding_bytes: 1 << 20, ..CpuDevice::default_limits() }] {
        let mut session = cpu_with(Precision::F64, limits);
        let (problem, x, one) = chain(&mut session);
        let aborted = session.lay_out(problem).unwrap().expect("a task");
        let buffers = session.counters().buffers_created;
        for _ in 0..3 {
            assert!(matches!(session.resume(aborted, 0.0).unwrap(), Progress::Yielded));
        }
        // The arenas are there, and of the batch nothing.
        assert_eq!(session.counters().buffers_created, buffers + 2);
        session.cancel(aborted);
        // Edits while nobody lays out count, and so do those within.
        let edited = varied(COUNT - 1, 11);
        session.set_column(problem, one, 0, Reals::F64(&edited)).unwrap();
        let task = session.lay_out(problem).unwrap().expect("a task for what is left");
        let mut seen = 0;
        let weights = varied(COUNT - 1, 13);
        while let Progress::Yielded = session.resume(task, 0.0).unwrap() {
            assert_eq!(session.lay_out(problem), Err(leastwise::Error::Busy));
            seen += 1;
            session.set_weight(problem, one, Weight::Each(Reals::F64(&weights))).unwrap();
        }
        assert!(seen >= 3, "{seen} slices");
        assert_eq!(session.lay_out(problem), Ok(None));
        assert_eq!(session.describe_term(problem, one).unwrap().neighbours, 1, "both terms are one batch");
        let found = solved(&mut session, problem, x);

        let mut whole = cpu_with(Precision::F64, limits);
        let (problem, x, one) = chain(&mut whole);
        whole.set_column(problem, one, 0, Reals::F64(&edited)).unwrap();
        whole.set_weight(problem, one, Weight::Each(Reals::F64(&weights))).unwrap();
        assert_eq!(found, solved(&mut whole, problem, x));
    }
}

#[test]
fn a_layout_that_is_given_up_leaves_nothing_behind() {
    let mut session = cpu(Precision::F64);
    let (problem, x, one) = chain(&mut session);
    let task = session.lay_out(problem).unwrap().expect("a task");
    for _ in 0..3 {
        assert!(matches!(session.resume(task, 0.0).unwrap(), Progress::Yielded));
    }
    session.cancel(task);
    // What was drafted was of both terms.
    session.free_term(problem, one).unwrap();
    let found = solved(&mut session, problem, x);
    session.free_problem(problem);
    assert_eq!(session.counters().bytes_live, 0);

    let mut whole = cpu(Precision::F64);
    let (problem, x, one) = chain(&mut whole);
    whole.free_term(problem, one).unwrap();
    assert_eq!(found, solved(&mut whole, problem, x));

    let (problem, ..) = chain(&mut session);
    let task = session.lay_out(problem).unwrap().expect("a task");
    for _ in 0..3 {
        assert!(matches!(session.resume(task, 0.0).unwrap(), Progress::Yielded));
    }
    session.free_problem(problem);
    assert_eq!(session.counters().bytes_live, 0);
}

#[test]
fn no_unit_of_a_layout_is_long() {
    let mut device = Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits()));
    let (mut problem, mut registry) = (Problem::new(), Registry::default());
    let x =
        problem.add_table(&device, &mut registry, "x", vec![leastwise::problem::Shape::Euclidean(1)], Reals::F64(&varied(COUNT, 1)), true);
    let x = x.unwrap();
    for name in ["one", "two"] {
        links(x, name, &varied(COUNT - 1, 3), &varied(COUNT - 1, 5), |spec| {
            problem.add_term(&device, &mut registry, spec).unwrap();
        });
    }
    let mut calls = 1;
    while !problem.lay_out_until(&mut device, &mut registry, 0.0).unwrap() {
        calls += 1;
    }
    assert!(calls >= 4, "{calls} calls");
    assert!(problem.largest_unit < 3 * UNIT / 2, "{} operations", problem.largest_unit);
    problem.dispose(&mut device);
}

/// A chain that is laid out, and a solver of it.
fn solver(session: &mut Session, options: &Options) -> (u32, u32, u32) {
    let (problem, x, _) = chain(session);
    let task = session.lay_out(problem).unwrap().expect("a task");
    finish(session, task, |_| {});
    let buffers = session.counters().buffers_created;
    let solver = session.solver(problem, options).unwrap();
    assert_eq!(session.counters().buffers_created, buffers, "a solver takes nothing before its first task");
    (problem, x, solver)
}

fn options(linear: Option<&str>, preconditioner: Option<&str>, method: &str) -> Options {
    let [linear, preconditioner] = [linear, preconditioner].map(|name| name.map(str::to_string));
    Options { linear, preconditioner, method: Some(method.into()), max_iterations: Some(1.0), ..Options::default() }
}

#[test]
fn solvers_are_set_up_in_slices() {
    let ways = [
        (options(None, None, "lm"), 8),
        (options(Some("sparse-cholesky"), None, "lm"), 4),
        (options(Some("assembled-pcg"), None, "dogleg"), 4),
        (options(Some("pcg"), Some("two-level"), "lm"), 12),
        (options(Some("pcg"), Some("block-jacobi"), "newton"), 1),
        (options(None, None, "lbfgs"), 1),
    ];
    // A page has one thread, and slices for all of its work.
    let page = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    page.install(|| {
        for (options, least) in ways {
            let mut session = cpu(Precision::F64);
            let (problem, x, solver) = self::solver(&mut session, &options);
            let task = session.solve(solver, SolveMode::Solve).unwrap();
            let (buffers, mut slices) = (session.counters().buffers_created, 0);
            // Buffers are made at the end of the set-up, all at once.
            while session.counters().buffers_created == buffers {
                assert!(matches!(session.resume(task, 0.0).unwrap(), Progress::Yielded));
                slices += 1;
            }
            assert!(slices >= least, "{options:?}: {slices} slices");
            while !matches!(session.resume(task, 0.0).unwrap(), Progress::Report(_)) {}
            let found = read(&mut session, problem, x);

            let mut whole = cpu(Precision::F64);
            let (problem, x, solver) = self::solver(&mut whole, &options);
            let task = whole.solve(solver, SolveMode::Solve).unwrap();
            finish(&mut whole, task, |_| {});
            assert_eq!(found, read(&mut whole, problem, x), "{options:?}");
        }
    });
}

#[test]
fn a_set_up_that_is_stopped_makes_no_step_and_can_begin_again() {
    let mut session = cpu(Precision::F64);
    let (problem, x, solver) = self::solver(&mut session, &options(Some("sparse-cholesky"), None, "lm"));
    let live = session.counters().bytes_live;
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    for _ in 0..2 {
        assert!(matches!(session.resume(task, 0.0).unwrap(), Progress::Yielded));
    }
    session.stop(task, "aborted");
    let stopped = session.resume(task, 0.0).map(|_| ()).unwrap_err();
    assert_eq!(stopped.code(), "stopped");
    assert!(stopped.to_string().starts_with("aborted before the problem was laid out"), "{stopped}");
    let task = session.solve(solver, SolveMode::Step).unwrap();
    assert!(matches!(session.resume(task, 0.0).unwrap(), Progress::Yielded));
    session.cancel(task);
    assert_eq!(session.counters().bytes_live, live);
    // Terms that come meanwhile are the next set-up's.
    links(x, "three", &varied(COUNT - 1, 17), &varied(COUNT - 1, 19), |spec| {
        session.term(problem, spec).unwrap();
    });
    let task = session.solve(solver, SolveMode::Step).unwrap();
    finish(&mut session, task, |_| {});
    let found = read(&mut session, problem, x);
    session.free_problem(problem);
    assert_eq!(session.counters().bytes_live, 0);

    let mut whole = cpu(Precision::F64);
    let (problem, x, _) = chain(&mut whole);
    links(x, "three", &varied(COUNT - 1, 17), &varied(COUNT - 1, 19), |spec| {
        whole.term(problem, spec).unwrap();
    });
    let solver = whole.solver(problem, &options(Some("sparse-cholesky"), None, "lm")).unwrap();
    let task = whole.solve(solver, SolveMode::Step).unwrap();
    finish(&mut whole, task, |_| {});
    assert_eq!(found, read(&mut whole, problem, x));
}

#[test]
fn frames_go_on_while_a_solver_is_set_up() {
    let mut session = cpu(Precision::F64);
    let (problem, x, solver) = self::solver(&mut session, &options(None, None, "lm"));
    let mut frames = 0;
    while session.advance(solver, 1, 0.0).unwrap().is_none() {
        frames += 1;
        assert!(frames < 1000);
    }
    assert!(frames >= 8, "{frames} frames");
    let before = read(&mut session, problem, x);
    session.advance(solver, 1, 1e6).unwrap();
    assert_ne!(before, read(&mut session, problem, x));
}

/// Finishes a task with a budget of nothing; gives the number of slices as well.
fn sliced(session: &mut Session, task: u32) -> (Progress, usize) {
    let mut slices = 1;
    loop {
        match session.resume(task, 0.0).unwrap() {
            Progress::Yielded | Progress::Partly { .. } => slices += 1,
            done => return (done, slices),
        }
    }
}

/// A covariance's blocks, or the gradient of a sum.
fn question(session: &mut Session, problem: u32, x: u32, name: &str) -> u32 {
    match name {
        "covariance" => session.covariance(problem, CovarianceOptions { variance: Some(1.0), ..CovarianceOptions::default() }).unwrap(),
        _ => session.backward(problem, &[x, COUNT], &varied(COUNT, 23), false, BackwardOptions::default()).unwrap(),
    }
}

fn answer(session: &mut Session, x: u32, progress: Progress) -> Vec<f64> {
    match progress {
        Progress::Covariance(found) => {
            let task = session.covariance_blocks(found.handle, &[x, 5, x, COUNT - 1], None, "covariance", false).unwrap();
            let Progress::Values(values) = finish_partly(session, task) else { panic!("no blocks") };
            values
        }
        Progress::Gradients(found) => found.values,
        _ => panic!("no answer"),
    }
}

fn finish_partly(session: &mut Session, task: u32) -> Progress {
    loop {
        match session.resume(task, f64::INFINITY).unwrap() {
            Progress::Yielded | Progress::Partly { .. } => {}
            done => return done,
        }
    }
}

/// A chain of which one end is held, so that all of it is known.
fn held_chain(session: &mut Session) -> (u32, u32) {
    let (problem, x, _) = chain(session);
    session.fix_table(problem, x, Some(&[0]), None).unwrap();
    (problem, x)
}

#[test]
fn what_is_asked_of_a_large_problem_is_laid_out_and_copied_in_slices() {
    for name in ["covariance", "backward"] {
        let mut session = cpu(Precision::F64);
        let (problem, x) = held_chain(&mut session);
        let task = question(&mut session, problem, x, name);
        let (found, slices) = sliced(&mut session, task);
        assert!(slices > 40, "{name}: {slices} slices");
        let found = answer(&mut session, x, found);

        let mut whole = cpu(Precision::F64);
        let (problem, x) = held_chain(&mut whole);
        let task = question(&mut whole, problem, x, name);
        let known = finish_partly(&mut whole, task);
        assert_eq!(found, answer(&mut whole, x, known), "{name}");
        assert!(found.len() > 1 && found.iter().all(|value| value.is_finite()));
    }
}

#[test]
fn what_is_given_up_on_its_way_leaves_nothing_behind() {
    let mut session = cpu(Precision::F64);
    for name in ["covariance", "backward"] {
        for slices in [3, 8, 15, 24, 35] {
            let (problem, x) = held_chain(&mut session);
            let task = question(&mut session, problem, x, name);
            for _ in 0..slices {
                session.resume(task, 0.0).unwrap();
            }
            session.cancel(task);
            let task = session.term_costs(problem, 0).unwrap();
            let Progress::Values(costs) = finish_partly(&mut session, task) else { panic!("no costs") };
            assert_eq!(costs.len() as u32, COUNT - 1);
            session.free_problem(problem);
            assert_eq!(session.counters().bytes_live, 0, "{name} after {slices} slices");
        }
    }
}

#[test]
fn values_are_read_before_terms_are_laid_out() {
    let mut session = cpu(Precision::F64);
    let (problem, x, _) = chain(&mut session);
    let tasks = [0; 2].map(|_| session.read_table(problem, x).unwrap());
    for task in tasks {
        let Progress::Values(values) = finish_partly(&mut session, task) else { panic!("no values") };
        assert_eq!(values, varied(COUNT, 7));
    }
    assert!(session.lay_out(problem).unwrap().is_some());
}
