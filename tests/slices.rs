//! Long work of a session in time slices: how many there are, and that they change nothing.

use crate::support::*;
use leastwise::device::{Device, Limits, Precision, cpu::CpuDevice};
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Problem, Reals, Registry, Slot, TermSpec, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::Options;
use leastwise::work::UNIT;

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
