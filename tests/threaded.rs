//! A session with a thread of its own: what it computes, and what it does when it is stopped, abandoned or broken.

use crate::support::*;
use leastwise::Error;
use leastwise::anneal::index::{self, Coarse, Index};
use leastwise::device::Precision;
use leastwise::problem::Reals;
use leastwise::session::{Answer, Failure, Outcome, Progress, SolveMode, Threaded};
use leastwise::solve::{Options, Report, Termination};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const SLICE_MS: f64 = 8.0;
const PATIENCE: Duration = Duration::from_secs(60);

fn threaded() -> Threaded {
    Threaded::new(cpu(Precision::F64)).unwrap()
}

/// Resumes a task once and waits for what comes of it, as an event loop would.
fn next(session: &Threaded, task: u32) -> Outcome {
    let (sender, receiver) = channel();
    session.resume(task, SLICE_MS, move || {
        let _ = sender.send(());
    });
    receiver.recv_timeout(PATIENCE).expect("an outcome");
    session.outcome(task).expect("what it was woken for")
}

fn finish(session: &Threaded, task: u32) -> (Progress, u32) {
    let mut iterations = 0;
    loop {
        match next(session, task).unwrap() {
            Progress::Iteration(_) => iterations += 1,
            done => return (done, iterations),
        }
    }
}

fn begin(session: &Threaded, mesh: &Mesh, options: &Options) -> (u32, u32, u32) {
    let begun = session.call(|session| {
        let (problem, x) = arap(session, mesh);
        let solver = session.solver(problem, options)?;
        Ok((problem, x, session.solve(solver, SolveMode::Solve)?))
    });
    begun.unwrap()
}

fn solved(session: &Threaded, mesh: &Mesh, options: &Options) -> (Report, Vec<f64>) {
    let (problem, x, task) = begin(session, mesh, options);
    let (Progress::Report(report), iterations) = finish(session, task) else { panic!("no report") };
    assert_eq!(report.iterations.len() as u32, iterations);
    let task = session.call(|session| session.read_table(problem, x)).unwrap();
    let (Progress::Values(values), 0) = finish(session, task) else { panic!("no values") };
    (*report, values)
}

fn long() -> Options {
    Options {
        cost_tolerance: Some(0.0),
        gradient_tolerance: Some(0.0),
        step_tolerance: Some(0.0),
        max_iterations: Some(1e6),
        ..Options::default()
    }
}

#[test]
fn it_computes_what_a_session_does() {
    let mesh = Mesh::icosphere(3).normalized();
    let mut plain = cpu(Precision::F64);
    let (problem, x) = arap(&mut plain, &mesh);
    let expected = solve(&mut plain, problem, &Options::default());
    let positions = read(&mut plain, problem, x);
    let session = threaded();
    let (report, found) = solved(&session, &mesh, &Options::default());
    assert_eq!(report.cost.to_bits(), expected.cost.to_bits());
    assert_eq!(report.iterations.len(), expected.iterations.len());
    assert!(found.iter().zip(&positions).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn two_at_once_are_as_each_alone() {
    let meshes = [2, 3].map(|level| Mesh::icosphere(level).normalized());
    let alone = [0, 1].map(|k| solved(&threaded(), &meshes[k], &Options::default()).1);
    // On one session, their slices in turn.
    let session = threaded();
    let begun = [0, 1].map(|k| begin(&session, &meshes[k], &Options::default()));
    let (sender, receiver) = channel();
    let go_on = |k: usize| {
        let sender = sender.clone();
        session.resume(begun[k].2, SLICE_MS, move || {
            let _ = sender.send(k);
        });
    };
    [0, 1].into_iter().for_each(go_on);
    let mut left = 2;
    while left > 0 {
        let k = receiver.recv_timeout(PATIENCE).expect("an outcome");
        match session.outcome(begun[k].2).unwrap().unwrap() {
            Progress::Report(_) => left -= 1,
            _ => go_on(k),
        }
    }
    for k in [0, 1] {
        let task = session.call(|session| session.read_table(begun[k].0, begun[k].1)).unwrap();
        let (Progress::Values(values), _) = finish(&session, task) else { panic!("no values") };
        assert_eq!(values, alone[k]);
    }
}

/// An add that is aborted is either told as done, with all vectors added, or as gone, with none.
#[test]
fn an_aborted_add_adds_all_or_nothing() {
    let (dim, count) = (8, 64);
    let points: Vec<f32> = (0..count * dim).map(|k| ((k * 37) % 101) as f32 / 101.0).collect();
    let coarse = Coarse { centroids: points[..dim].to_vec(), labels: vec![0; count] };
    let file = Index::build(&points, dim, coarse, &index::Options::default()).unwrap().save();
    let session = threaded();
    let opened = session.call(|session| session.open_index(&file)).unwrap();
    let add = || session.call(|session| session.add_to_index(opened, points.clone())).unwrap();
    let held = || session.call(|session| session.index_sizes(opened)).unwrap()[1] as usize;
    // The work is done, and nobody has asked for what came of it: too late.
    let task = add();
    let (sender, receiver) = channel();
    session.resume(task, SLICE_MS, move || {
        let _ = sender.send(());
    });
    receiver.recv_timeout(PATIENCE).expect("an outcome");
    assert_eq!(held(), 2 * count);
    session.abort(task);
    let Progress::Answer(Answer::Ids(ids)) = next(&session, task).unwrap() else { panic!("no ids") };
    assert_eq!(ids, (count as u32..2 * count as u32).collect::<Vec<_>>());
    // Before it has begun.
    let task = add();
    session.abort(task);
    assert!(matches!(next(&session, task), Err(Failure::Refused(Error::Disposed(_)))));
    assert_eq!(held(), 2 * count);
    // At any moment.
    for _ in 0..50 {
        let (task, before) = (add(), held());
        let (sender, receiver) = channel();
        session.resume(task, SLICE_MS, move || {
            let _ = sender.send(());
        });
        session.abort(task);
        receiver.recv_timeout(PATIENCE).expect("an outcome");
        let is_added = match session.outcome(task).unwrap_or_else(|| next(&session, task)) {
            Ok(Progress::Answer(Answer::Ids(ids))) => ids.len() == count,
            Err(Failure::Refused(Error::Disposed(_))) => false,
            _ => panic!("neither added nor gone"),
        };
        assert_eq!(held(), before + if is_added { count } else { 0 });
    }
}

#[test]
fn calls_and_stops_come_through_while_it_solves() {
    let mesh = Mesh::icosphere(4).normalized();
    let session = threaded();
    let (problem, _, task) = begin(&session, &mesh, &long());
    let (sender, receiver) = channel();
    session.resume(task, 1.0, move || {
        let _ = sender.send(());
    });
    // Calls are answered between slices, whatever else is to be done.
    for _ in 0..100 {
        assert_eq!(session.call(|session| session.solver(problem, &long())), Err(Failure::Refused(Error::Busy)));
    }
    receiver.recv_timeout(PATIENCE).unwrap();
    let Some(Ok(Progress::Iteration(first))) = session.outcome(task) else { panic!("no iteration") };
    assert_eq!(first.index, 0);
    session.post(move |session| session.stop(task, "enough"));
    let (Progress::Report(report), iterations) = finish(&session, task) else { panic!("no report") };
    assert_eq!((report.termination, report.reason.as_str()), (Termination::Stopped, "enough"));
    assert!(iterations <= 1, "{iterations} more");
}

#[test]
fn what_is_gone_wakes_whoever_waits_for_it() {
    let mesh = Mesh::icosphere(3).normalized();
    let gone = |result: Outcome, what: &'static str| {
        assert_eq!(result.err(), Some(Failure::Refused(Error::Disposed(what))));
    };
    // Cancelled, freed, and never there.
    let session = threaded();
    let (problem, _, task) = begin(&session, &mesh, &long());
    assert!(matches!(next(&session, task), Ok(Progress::Iteration(_))));
    session.cancel(task);
    gone(next(&session, task), "problem or solver");
    let again =
        session.call(|session| session.solver(problem, &long()).and_then(|solver| session.solve(solver, SolveMode::Solve))).unwrap();
    let (sender, receiver) = channel();
    session.resume(again, SLICE_MS, move || {
        let _ = sender.send(());
    });
    receiver.recv_timeout(PATIENCE).unwrap();
    // Its first iteration is there, but nobody's any more.
    session.post(move |session| session.free_problem(problem));
    assert!(session.outcome(again).is_none());
    gone(next(&session, again), "problem or solver");
    gone(next(&session, 12_345), "problem or solver");
    // Disposed in the midst of a solve, with somebody waiting.
    let (_, _, task) = begin(&session, &mesh, &long());
    let (sender, receiver) = channel();
    session.resume(task, SLICE_MS, move || {
        let _ = sender.send(());
    });
    session.dispose();
    receiver.recv_timeout(PATIENCE).unwrap();
    assert!(session.outcome(task).is_some_and(|outcome| outcome.is_err()));
    assert_eq!(session.call(|session| Ok(session.problem())), Err(Failure::Refused(Error::Disposed("engine"))));
    session.dispose();
}

#[test]
fn dropping_it_does_not_wait_for_a_solve() {
    let mesh = Mesh::icosphere(5).normalized();
    let session = threaded();
    let (_, _, task) = begin(&session, &mesh, &long());
    let (sender, receiver) = channel();
    // A slice that ends with the first iteration at the earliest.
    session.resume(task, f64::INFINITY, move || {
        let _ = sender.send(());
    });
    std::thread::sleep(Duration::from_millis(20));
    let started = Instant::now();
    drop(session);
    receiver.recv_timeout(PATIENCE).expect("who waits is woken");
    assert!(started.elapsed() < PATIENCE);
}

#[test]
fn a_panic_ends_the_session_and_nothing_else() {
    let (broken, other) = (threaded(), threaded());
    let mesh = Mesh::icosphere(2).normalized();
    let (_, _, task) = begin(&broken, &mesh, &long());
    let dead = Failure::Dead("on purpose: 7".into());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let failure = broken.call(|_| -> Result<(), Error> { panic!("on purpose: {}", 3 + 4) });
    std::panic::set_hook(hook);
    assert_eq!(failure, Err(dead.clone()));
    assert_eq!(broken.call(|session| Ok(session.problem())), Err(dead.clone()));
    assert_eq!(next(&broken, task).err(), Some(dead));
    broken.dispose();
    let x = other.call(|session| {
        let problem = session.problem();
        session.table(problem, "x", 1, Reals::F64(&[1.0]), true)
    });
    assert_eq!(x, Ok(0));
}
