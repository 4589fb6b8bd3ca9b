//! Files that are not to be believed, or are of something else.

use super::support::scene::{Numbers, Scene, With, scene};
use super::support::*;
use super::{all_bits, options, save};
use leastwise::Error;
use leastwise::base::container::{self, Section};
use leastwise::device::Precision;
use leastwise::problem::Reals;
use leastwise::problem::file::{FORMAT, section};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::Options;

const SEED: u64 = 9;
const WITH: With = With { bounds: true, fixed: true, rotations: true, energy: false, sums: false };

fn make(session: &mut Session, options: &Options) -> (Scene, u32) {
    let scene = scene(session, &Numbers::new(SEED), WITH);
    let solver = session.solver(scene.problem, options).unwrap();
    (scene, solver)
}

/// A checkpoint in the midst of a solve, after a rejected step.
fn file(session: &mut Session, options: &Options) -> Vec<u8> {
    let (scene, solver) = make(session, options);
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    let file = loop {
        if let Progress::Iteration(step) = session.resume(task, f64::INFINITY).unwrap()
            && !step.accepted
        {
            break save(session, solver);
        }
    };
    session.free_problem(scene.problem);
    file
}

/// A file of the same sections, after something was done to them, with checksums that are right.
fn rewritten(file: &[u8], edit: impl FnOnce(&mut Vec<Section<'static>>)) -> Vec<u8> {
    let owned = |section: Section| Section { kind: section.kind, bytes: section.bytes.into_owned().into() };
    let mut sections = container::read(&FORMAT, file).unwrap().into_iter().map(owned).collect();
    edit(&mut sections);
    container::write(&FORMAT, &sections)
}

#[test]
fn a_damaged_file_is_refused_and_changes_nothing() {
    let mut session = cpu(Precision::F64);
    let options = options("dogleg traditional", "pcg");
    let file = file(&mut session, &options);
    let (scene, solver) = make(&mut session, &options);
    let before = all_bits(&read(&mut session, scene.problem, scene.points));
    let mut random = Random::new(fresh_seed());
    for cut in (0..file.len()).step_by(97).chain([file.len() - 1]) {
        let error = session.restore(solver, &file[..cut]).unwrap_err();
        assert!(matches!(error.code(), "file-truncated" | "file-format"), "{cut}: {error}");
    }
    for _ in 0..2000 {
        let mut damaged = file.clone();
        let at = random.below(file.len() as u64) as usize;
        damaged[at] ^= 1 << random.below(8);
        let error = session.restore(solver, &damaged).unwrap_err();
        assert!(error.code().starts_with("file-"), "byte {at}: {error}");
    }
    let mut later = file.clone();
    later[8] += 1;
    assert_eq!(session.restore(solver, &later).unwrap_err().code(), "file-version");
    assert_eq!(session.restore(solver, b"LWINDEX\n").unwrap_err().code(), "file-format");
    assert_eq!(all_bits(&read(&mut session, scene.problem, scene.points)), before);
    // It still goes on as if nothing had been.
    session.restore(solver, &file).unwrap();
}

#[test]
fn a_file_that_lies_is_refused_or_harmless() {
    let seed = fresh_seed();
    let mut random = Random::new(seed);
    for (method, linear) in [("lm", "sparse-cholesky"), ("gauss-newton", "pcg")] {
        let mut session = cpu(Precision::F64);
        let options = options(method, linear);
        let file = file(&mut session, &options);
        let (mut refused, mut taken) = (0, 0);
        for round in 0..1500 {
            let what = format!("LEASTWISE_TEST_SEED={seed}, {method}, round {round}");
            let lying = rewritten(&file, |sections| {
                let which = random.below(sections.len() as u64) as usize;
                let bytes = sections[which].bytes.to_mut();
                match random.below(4) {
                    0 => bytes.truncate(random.below(bytes.len() as u64 + 1) as usize),
                    1 => bytes.extend((0..random.below(9)).map(|_| 0xff)),
                    2 => {
                        let at = random.below(bytes.len() as u64) as usize;
                        let end = bytes.len().min(at + 4);
                        bytes[at..end].fill(0xff);
                    }
                    _ => {
                        let at = random.below(bytes.len() as u64) as usize;
                        bytes[at] = random.below(256) as u8;
                    }
                }
                if random.below(40) == 0 {
                    sections.remove(which);
                }
            });
            let (scene, solver) = make(&mut session, &options);
            match session.restore(solver, &lying) {
                Ok(()) => {
                    taken += 1;
                    // Whatever it makes of it: it ends.
                    if let Ok(task) = session.solve(solver, SolveMode::Solve) {
                        while matches!(session.resume(task, f64::INFINITY), Ok(Progress::Yielded | Progress::Iteration(_))) {}
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert!(
                        error.code().starts_with("file-") || matches!(error.code(), "checkpoint-mismatch" | "shape"),
                        "{what}: {error}"
                    );
                }
            }
            session.free_problem(scene.problem);
        }
        assert!(refused > 500 && taken > 100, "{method}: {refused} refused, {taken} taken");
    }
}

/// What is told of a file that doesn't fit.
fn mismatch(session: &mut Session, solver: u32, file: &[u8]) -> String {
    match session.restore(solver, file).unwrap_err() {
        Error::Checkpoint(message) => message,
        other => panic!("{other}"),
    }
}

#[test]
fn a_file_of_something_else_is_told_apart() {
    let mut session = cpu(Precision::F64);
    let usual = options("lm", "pcg");
    let file = file(&mut session, &usual);
    let numbers = Numbers::new(SEED);

    // Other solvers.
    let others = [
        (options("dogleg subspace", "pcg"), "method \"lm\""),
        (options("lm", "sparse-cholesky"), "linear: \"pcg\""),
        (Options { nonmonotone: Some(5.0), ..usual.clone() }, "nonmonotone 0"),
        (Options { max_inner_iterations: Some(7.0), ..usual.clone() }, "maxInnerIterations unset"),
        (Options { forcing: Some(0.5), ..usual.clone() }, "forcing [0.001, 0.1]"),
    ];
    for (options, told) in others {
        let (scene, solver) = make(&mut session, &options);
        let message = mismatch(&mut session, solver, &file);
        assert!(message.contains(told), "{message}");
        session.free_problem(scene.problem);
    }
    // How long it goes on is whoever's who goes on.
    let (of, solver) = make(&mut session, &Options { max_iterations: Some(3.0), cost_tolerance: Some(0.5), ..usual.clone() });
    session.restore(solver, &file).unwrap();
    session.free_problem(of.problem);

    // Other problems.
    let more: [(With, &str); 3] = [
        (With { sums: true, ..WITH }, "3 terms, and this problem 4"),
        (With { rotations: false, ..WITH }, "3 tables of variables and constants, and this problem 2"),
        (With { energy: true, rotations: false, ..WITH }, "3 tables"),
    ];
    for (with, told) in more {
        let of = scene(&mut session, &numbers, with);
        let solver = session.solver(of.problem, &usual).unwrap();
        let message = mismatch(&mut session, solver, &file);
        assert!(message.contains(told), "{message}");
        session.free_problem(of.problem);
    }

    // Another precision.
    let mut single = cpu(Precision::F32);
    let (_, solver) = make(&mut single, &usual);
    assert!(mismatch(&mut single, solver, &file).contains("f64"), "precision");
}

/// Two terms of one scalar each, of which one thing at a time is another.
#[test]
fn what_differs_in_a_term_is_named() {
    use leastwise::expr::Opcode::*;
    use leastwise::problem::{Column, Loss, Slot, TermSpec, Weight};
    #[derive(Clone)]
    struct Is {
        table: &'static str,
        values: Vec<f64>,
        term: &'static str,
        indices: Vec<u32>,
        factor: f64,
        square: bool,
        column: &'static str,
        shared: bool,
        each: bool,
        loss: bool,
    }
    let make = |session: &mut Session, is: &Is| {
        let problem = session.problem();
        let x = session.table(problem, is.table, 1, Reals::F64(&is.values), true).unwrap();
        let mut tape = Tape::default();
        let [value, data] = [0, 1].map(|source| tape.input(source));
        let factor = tape.literal(is.factor);
        let product = tape.op(Mul, &[value, factor]);
        let sum = tape.op(Sub, &[product, data]);
        let outputs = [if is.square { tape.op(Square, &[sum]) } else { sum }];
        let (each, one) = (vec![1.0; is.indices.len()], [1.0]);
        let spec = TermSpec {
            name: is.term.into(),
            count: is.indices.len() as u32,
            indices: vec![is.indices.clone()],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![Column {
                name: is.column.into(),
                width: 1,
                shared: is.shared,
                values: Reals::F64(if is.shared { &one } else { &each }),
            }],
            weight: if is.each { Weight::Each(Reals::F64(&each)) } else { Weight::Shared(1.0) },
            loss: is.loss.then(|| Loss::huber(1.0).unwrap()),
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap();
        session.solver(problem, &options("lm", "pcg")).unwrap()
    };
    let usual = Is {
        table: "x",
        values: vec![3.0, 4.0],
        term: "t",
        indices: vec![0, 1, 1],
        factor: 2.0,
        square: false,
        column: "c",
        shared: false,
        each: false,
        loss: false,
    };
    let mut session = cpu(Precision::F64);
    let solver = make(&mut session, &usual);
    step(&mut session, solver);
    let file = save(&mut session, solver);
    let again = make(&mut session, &usual);
    session.restore(again, &file).unwrap();
    let others: [(Is, &str); 10] = [
        (Is { table: "y", ..usual.clone() }, "variables \"x\" where this problem has variables \"y\""),
        (Is { values: vec![1.0, 2.0, 3.0], ..usual.clone() }, "\"x\" has 2 instances in it, and 3 here"),
        (Is { term: "u", ..usual.clone() }, "a term \"t\" where this problem has \"u\""),
        (Is { indices: vec![0, 1], ..usual.clone() }, "term \"t\" has 3 instances in it, and 2 here"),
        (Is { indices: vec![0, 1, 0], ..usual.clone() }, "its indices differ"),
        (Is { factor: 2.5, ..usual.clone() }, "computes something else"),
        (Is { square: true, ..usual.clone() }, "computes something else"),
        (Is { loss: true, ..usual.clone() }, "computes something else"),
        (Is { shared: true, ..usual.clone() }, "other data columns"),
        (Is { each: true, ..usual.clone() }, "another kind of weight"),
    ];
    for (is, told) in others {
        let solver = make(&mut session, &is);
        let message = mismatch(&mut session, solver, &file);
        assert!(message.contains(told), "{message}");
    }
}

#[test]
fn values_are_checked_as_those_of_a_caller() {
    let mut session = cpu(Precision::F64);
    let options = options("lm", "pcg");
    let file = file(&mut session, &options);
    let (scene, solver) = make(&mut session, &options);
    let with = |value: f64, from_end: usize| {
        rewritten(&file, |sections| {
            let bytes = sections.iter_mut().find(|known| known.kind == section::VALUES).unwrap().bytes.to_mut();
            let at = bytes.len() - 8 * from_end;
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        })
    };
    // The last of a quaternion.
    let error = session.restore(solver, &with(7.0, 1)).unwrap_err();
    assert!(matches!(error, Error::Manifold { .. }), "{error}");
    assert_eq!(session.restore(solver, &with(f64::NAN, 1)).unwrap_err().code(), "file-format");
    session.restore(solver, &file).unwrap();
    session.free_problem(scene.problem);
}

#[test]
fn who_solves_or_is_gone_cannot_be_restored() {
    let mut session = cpu(Precision::F64);
    let options = options("lm", "pcg");
    let file = file(&mut session, &options);
    let (scene, solver) = make(&mut session, &options);
    let other = session.solver(scene.problem, &options).unwrap();
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    session.resume(task, 0.0).unwrap();
    assert_eq!(session.restore(solver, &file), Err(Error::Busy));
    // Another solver's steps are not this one's to be saved between.
    assert_eq!(session.save(other), Err(Error::Busy));
    session.cancel(task);
    session.free_solver(solver);
    assert_eq!(session.restore(solver, &file).unwrap_err().code(), "disposed");
    assert_eq!(session.save(solver).unwrap_err().code(), "disposed");
    session.free_problem(scene.problem);
    assert_eq!(session.device().counters().bytes_live, 0);
}
