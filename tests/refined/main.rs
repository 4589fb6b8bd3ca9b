//! Going on in mixed precision where f32 stops a solve: what is found, and what may be asked and done on the way.

mod edits;
mod report;
mod scenes;

use crate::support::scene::{Numbers, Scene, With, scene};
use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Relation, Schedule, Slot, TermSpec, Tuning, Weight};
use leastwise::session::{Answer, Progress, Session, SolveMode, Suspect};
use leastwise::solve::graduated::Schedule as Rounds;
use leastwise::solve::{Iteration, Options, RefinementState, Report};
use std::sync::{Mutex, PoisonError};

/// Runs on the GPU that all these tests share, whose kernels take longest; nothing may be left on it.
fn on_gpu(test: impl FnOnce(&mut Session)) {
    static GPU: Mutex<Option<Session>> = Mutex::new(None);
    let mut gpu = GPU.lock().unwrap_or_else(PoisonError::into_inner);
    let session = gpu.get_or_insert_with(|| refining_gpu(None));
    test(session);
    session.problems().into_iter().for_each(|problem| session.free_problem(problem));
    assert_eq!(session.counters().bytes_live, 0, "buffers are left");
}

/// b₀ + b₁² t − y, for times far from 0: f32 has neither the times nor the sums.
struct Fit {
    problem: u32,
    b: u32,
    t: u32,
    term: u32,
}

const TIMES: u32 = 24;

fn times(shift: f64) -> Vec<f64> {
    (0..TIMES).map(|k| 10.0 + shift + 0.07 * f64::from(k)).collect()
}

fn heights(factor: f64) -> Vec<f64> {
    times(0.0).iter().enumerate().map(|(k, t)| 2.0 + factor * t + 0.001 * (37.0 * k as f64).sin()).collect()
}

fn weights() -> Vec<f64> {
    (0..TIMES).map(|k| 0.5 + f64::from(k % 5)).collect()
}

fn fit(session: &mut Session, t: &[f64], y: &[f64]) -> Fit {
    let problem = session.problem();
    let b = session.table(problem, "b", 1, Reals::F64(&[0.0, 1.0]), true).unwrap();
    let t = session.table(problem, "t", 1, Reals::F64(t), false).unwrap();
    let mut tape = Tape::default();
    let [first, second, time, height] = [0, 1, 2, 3].map(|source| tape.input(source));
    let slope = tape.op(Square, &[second]);
    let product = tape.op(Mul, &[slope, time]);
    let sum = tape.op(Add, &[first, product]);
    let outputs = [tape.op(Sub, &[sum, height])];
    let spec = TermSpec {
        name: "fit".into(),
        count: TIMES,
        indices: vec![vec![0; TIMES as usize], vec![1; TIMES as usize], (0..TIMES).collect()],
        slots: vec![Slot { table: b, column: 0 }, Slot { table: b, column: 1 }, Slot { table: t, column: 2 }],
        columns: vec![Column { name: "y".into(), width: 1, shared: false, values: Reals::F64(y) }],
        weight: Weight::Each(Reals::F64(&vec![1.0; TIMES as usize])),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &outputs,
    };
    let term = session.term(problem, spec).unwrap();
    Fit { problem, b, t, term }
}

/// What f64 finds, after an edit.
fn exact(t: &[f64], y: &[f64], edit: impl FnOnce(&mut Session, &Fit)) -> Vec<f64> {
    let mut session = cpu(Precision::F64);
    let fit = fit(&mut session, t, y);
    edit(&mut session, &fit);
    solve(&mut session, fit.problem, &Options::default());
    read(&mut session, fit.problem, fit.b)
}

/// As f32 has it, give or take its last digits. (f32 itself comes to five of them.)
fn assert_same(found: &[f64], expected: &[f64], what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 4.0 * f64::from(f32::EPSILON) * expected.abs(), "{what}: {found} for {expected}");
    }
}

fn assert_done(report: &Report) {
    assert_eq!((report.refinement.state, report.precision, report.converged), (RefinementState::Done, "mixed", true), "{}", report.reason);
}

fn assert_numbered(report: &Report) {
    let numbers: Vec<u32> = report.iterations.iter().map(|step| step.index).collect();
    assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>(), "{}", report.reason);
}

/// Begins a solve and leaves it where f32 has ended.
fn begin(session: &mut Session, solver: u32) -> u32 {
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    loop {
        match session.resume(task, f64::INFINITY).unwrap() {
            // A GPU never yields but to begin with something else.
            Progress::Yielded => return task,
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Iteration(_) => {}
            _ => panic!("f32 was not what ended it"),
        }
    }
}

/// Goes on up to the next step, or the end.
fn next_step(session: &mut Session, task: u32) -> Result<Iteration, Box<Report>> {
    loop {
        match session.resume(task, f64::INFINITY).unwrap() {
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Iteration(step) => return Ok(step),
            Progress::Report(report) => return Err(report),
            _ => {}
        }
    }
}

fn end(session: &mut Session, task: u32) -> Report {
    loop {
        if let Err(report) = next_step(session, task) {
            return *report;
        }
    }
}

#[test]
fn what_is_found_is_f64s_and_every_call_counts_its_own_steps() {
    on_gpu(|session| {
        let (t, y) = (times(0.0), heights(2.25));
        let fit = fit(session, &t, &y);
        let solver = session.solver(fit.problem, &Options::default()).unwrap();
        for (k, factor) in [2.25, 3.0, 1.0].into_iter().enumerate() {
            let y = heights(factor);
            session.set_column(fit.problem, fit.term, 0, Reals::F64(&y)).unwrap();
            let task = begin(session, solver);
            let report = end(session, task);
            assert_done(&report);
            assert_numbered(&report);
            assert_same(&read(session, fit.problem, fit.b), &exact(&t, &y, |_, _| {}), &format!("solve {k}"));
            assert!(report.cost < report.initial_cost);
        }
    });
}

#[test]
fn constants_of_a_checkpoint_take_the_place_of_those_in_f64() {
    on_gpu(|session| {
        let (t, y) = (times(0.0), heights(2.25));
        let fit = fit(session, &t, &y);
        let solver = session.solver(fit.problem, &Options::default()).unwrap();
        let save = |session: &mut Session| {
            let task = session.save(solver).unwrap();
            let Progress::Answer(Answer::Bytes(bytes)) = finish(session, task, |_| {}) else { panic!("no checkpoint") };
            bytes
        };
        let found = |session: &mut Session| {
            let task = begin(session, solver);
            assert_done(&end(session, task));
            read(session, fit.problem, fit.b)
        };
        let file = save(session);
        // What f32 cannot tell from what is in the file stays as exact as it was.
        session.restore(solver, &file).unwrap();
        assert_same(&found(session), &exact(&t, &y, |_, _| {}), "the same times");
        let later = times(0.02);
        session.write_table(fit.problem, fit.t, Reals::F64(&later), None).unwrap();
        assert_same(&found(session), &exact(&later, &y, |_, _| {}), "later times");
        session.restore(solver, &file).unwrap();
        let rounded: Vec<f64> = t.iter().map(|t| f64::from(*t as f32)).collect();
        assert_same(&found(session), &exact(&rounded, &y, |_, _| {}), "times of the file");
    });
}

#[test]
fn values_are_read_and_saved_between_its_steps() {
    on_gpu(|session| {
        let (t, y) = (times(0.0), heights(2.25));
        let fit = fit(session, &t, &y);
        let solver = session.solver(fit.problem, &Options::default()).unwrap();
        let task = begin(session, solver);
        let mut seen = Vec::new();
        let mut file = Vec::new();
        let report = loop {
            if let Err(report) = next_step(session, task) {
                break report;
            }
            let reading = session.read_table(fit.problem, fit.b).unwrap();
            let saving = session.save(solver).unwrap();
            let constants = session.read_table(fit.problem, fit.t).unwrap();
            let Progress::Values(values) = finish(session, reading, |_| {}) else { panic!("no values") };
            let Progress::Answer(Answer::Bytes(bytes)) = finish(session, saving, |_| {}) else { panic!("no checkpoint") };
            let Progress::Values(read) = finish(session, constants, |_| {}) else { panic!("no constants") };
            assert_eq!(read, t.iter().map(|t| f64::from(*t as f32)).collect::<Vec<_>>());
            seen.push(values);
            file = bytes;
        };
        assert_done(&report);
        let found = read(session, fit.problem, fit.b);
        assert_eq!(seen.last(), Some(&found), "the last step's values are those of the end");
        let steps = report.iterations.len() as u32;

        // A file of the last step: whoever goes on has all steps, and the same minimum.
        let other = self::fit(session, &t, &y);
        let solver = session.solver(other.problem, &Options::default()).unwrap();
        session.restore(solver, &file).unwrap();
        assert_eq!(read(session, other.problem, other.b), found);
        let task = begin(session, solver);
        let resumed = end(session, task);
        assert_done(&resumed);
        assert_numbered(&resumed);
        assert!(resumed.iterations.len() as u32 >= steps && resumed.initial_cost == report.initial_cost);
        let mixed = seen.len();
        assert!(resumed.reason.contains(&format!("{mixed} steps in mixed precision followed")), "{}", resumed.reason);
        assert_same(&read(session, other.problem, other.b), &exact(&t, &y, |_, _| {}), "after it was restored");

        // What was written, and not yet felt, is read.
        session.write_table(other.problem, other.b, Reals::F64(&[0.0, 1.0]), None).unwrap();
        let task = begin(session, solver);
        next_step(session, task).expect("a step in mixed precision");
        session.write_table(other.problem, other.b, Reals::F64(&[5.5]), Some(&[1])).unwrap();
        let reading = session.read_table(other.problem, other.b).unwrap();
        let Progress::Values(values) = finish(session, reading, |_| {}) else { panic!("no values") };
        assert!(values[1] == 5.5 && values[0] != 0.0, "{values:?}");
        end(session, task);
        assert_same(&read(session, other.problem, other.b), &exact(&t, &y, |_, _| {}), "after it was read");
    });
}

#[test]
fn it_can_be_stopped_cancelled_and_disposed_of() {
    on_gpu(|session| {
        let fit = fit(session, &times(0.0), &heights(2.25));
        let solver = session.solver(fit.problem, &Options::default()).unwrap();
        let again_by = |session: &mut Session, solver: u32| {
            session.write_table(fit.problem, fit.b, Reals::F64(&[0.0, 1.0]), None).unwrap();
            begin(session, solver)
        };
        let again = |session: &mut Session| again_by(session, solver);
        let task = again(session);
        end(session, task);
        let live = session.counters().bytes_live;

        let task = again(session);
        session.stop(task, "enough");
        let buffers = session.counters().buffers_created;
        let report = end(session, task);
        assert_eq!((report.termination.name(), report.converged), ("stopped", false));
        assert_eq!((report.refinement.state, report.refinement.code), (RefinementState::Ended, Some("stopped")));
        assert!(report.reason.starts_with("enough (in f32 it had ended: "), "{}", report.reason);
        assert_eq!((session.counters().buffers_created, report.precision), (buffers, "f32"), "no snapshot was made");

        let task = again(session);
        let before = next_step(session, task).expect("a step in mixed precision").index;
        session.stop(task, "enough");
        let report = end(session, task);
        assert_eq!((report.termination.name(), report.refinement.code, report.precision), ("stopped", Some("stopped"), "mixed"));
        assert_eq!(report.iterations.last().map(|step| step.index), Some(before));

        // The time of the whole solve counts: f32 takes next to none of it, now that its kernels are there.
        let limited = session.solver(fit.problem, &Options { time_limit_ms: Some(6000.0), ..Options::default() }).unwrap();
        let task = again_by(session, limited);
        std::thread::sleep(std::time::Duration::from_millis(6100));
        let report = end(session, task);
        assert_eq!((report.refinement.state, report.refinement.code), (RefinementState::Ended, Some("time-limit")), "{}", report.reason);
        assert_eq!(report.precision, "f32");
        session.free_solver(limited);

        let task = again(session);
        next_step(session, task).expect("a step in mixed precision");
        session.cancel(task);
        assert_eq!(session.counters().bytes_live, live, "the snapshot is gone");
        let task = again(session);
        next_step(session, task).expect("a step in mixed precision");
        session.free_problem(fit.problem);
        assert!(!session.has_task(task));
    });
}

#[test]
fn what_f32_called_converged_stays_so() {
    on_gpu(|session| {
        // A fit that leaves next to nothing, by which f32 comes to an end of its own.
        let t: Vec<f64> = times(-10.0);
        let y: Vec<f64> = t.iter().map(|t| 2.0 + 2.25 * t).collect();
        let fit = fit(session, &t, &y);
        let whole = solve(session, fit.problem, &Options::default());
        assert_done(&whole);
        println!("{}", whole.reason);
        let before = whole.reason.split("in f32 it ended after ").nth(1).and_then(|text| text.split(' ').next()?.parse::<u32>().ok());
        let before = before.unwrap_or_else(|| panic!("how many steps f32 made: {}", whole.reason));
        // One step more than f32 makes.
        session.write_table(fit.problem, fit.b, Reals::F64(&[0.0, 1.0]), None).unwrap();
        let options = Options { max_iterations: Some(f64::from(before + 1)), ..Options::default() };
        let cut = solve(session, fit.problem, &options);
        assert_eq!((cut.refinement.state, cut.refinement.code), (RefinementState::Ended, Some("max-iterations")), "{}", cut.reason);
        assert_eq!((cut.termination.name(), cut.converged, cut.precision), ("converged", true, "mixed"), "{}", cut.reason);
        assert_eq!(cut.iterations.len() as u32, before + 1);
        assert!(cut.reason.contains("then it went on in mixed precision, where it ended: maxIterations = "), "{}", cut.reason);
    });
}
