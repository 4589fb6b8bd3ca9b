//! Solves that are saved after every one of their steps, and go on from each.

use super::support::scene::{Numbers, Scene, With, scene};
use super::support::*;
use super::{all_bits, bits, options, save};
use leastwise::device::{Limits, Precision};
use leastwise::problem::{Loss, Reals, Weight};
use leastwise::session::{Answer, Progress, Session, SolveMode};
use leastwise::solve::{Iteration, Options, Report};

const SEED: u64 = 4;

/// A name, and what makes a session.
type Backend = (&'static str, fn() -> Shared);

/// Everything of a scene that moves.
fn values(session: &mut Session, scene: &Scene) -> Vec<u64> {
    scene.tables.iter().flat_map(|&table| all_bits(&read(session, scene.problem, table))).collect()
}

/// A whole solve, with a checkpoint after every step of it; and where it ended.
struct Whole {
    files: Vec<Vec<u8>>,
    report: Report,
    values: Vec<u64>,
}

fn run(session: &mut Session, scene: &Scene, options: &Options) -> Whole {
    let solver = session.solver(scene.problem, options).unwrap();
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    let (mut files, mut saves) = (Vec::new(), Vec::new());
    let report = loop {
        match session.resume(task, f64::INFINITY).unwrap() {
            Progress::Yielded => {}
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Iteration(_) => saves.push(session.save(solver).unwrap()),
            Progress::Report(report) => break *report,
            _ => panic!("no report"),
        }
    };
    // A page waits for them when it likes.
    for save in saves {
        let Progress::Answer(Answer::Bytes(bytes)) = finish(session, save, |_| {}) else { panic!("no checkpoint") };
        files.push(bytes);
    }
    let values = values(session, scene);
    session.free_solver(solver);
    Whole { files, report, values }
}

/// Goes on from a file, in a session that never saw it.
fn resume(session: &mut Session, with: With, options: &Options, file: &[u8], what: &str) -> (Report, Vec<u64>) {
    let scene = scene(session, &Numbers::new(SEED), with);
    let solver = session.solver(scene.problem, options).unwrap();
    session.restore(solver, file).unwrap_or_else(|error| panic!("{what}: {error}"));
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    let Progress::Report(report) = finish(session, task, |_| {}) else { panic!("{what}: no report") };
    let values = values(session, &scene);
    session.free_problem(scene.problem);
    (*report, values)
}

fn same(a: &[Iteration], b: &[Iteration], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (a, b) in a.iter().zip(b) {
        assert_eq!(bits(a), bits(b), "{what}: {a:?} and {b:?}");
    }
}

/// Saves a solve after every step and resumes it from each; gives how many of the steps were rejected.
fn check(fresh: &mut dyn FnMut() -> Shared, with: With, options: &Options, what: &str) -> usize {
    let mut session = fresh();
    let own = scene(&mut session, &Numbers::new(SEED), with);
    let whole = run(&mut session, &own, options);
    // Nobody who saves changes what he saves.
    let other = scene(&mut session, &Numbers::new(SEED), with);
    let plain = solve(&mut session, other.problem, options);
    same(&whole.report.iterations, &plain.iterations, &format!("{what}, without a checkpoint"));
    session.free_problem(own.problem);
    session.free_problem(other.problem);
    assert_eq!(whole.files.len(), whole.report.iterations.len(), "{what}");
    drop(session);
    let mut session = fresh();
    for (step, file) in whole.files.iter().enumerate() {
        let what = format!("{what}, after step {step}");
        let (report, values) = resume(&mut session, with, options, file, &what);
        same(&report.iterations, &whole.report.iterations, &what);
        assert_eq!((report.termination, &report.reason), (whole.report.termination, &whole.report.reason), "{what}");
        assert_eq!(report.cost.to_bits(), whole.report.cost.to_bits(), "{what}");
        assert_eq!(report.initial_cost.to_bits(), whole.report.initial_cost.to_bits(), "{what}");
        assert_eq!(report.moved_into_bounds, whole.report.moved_into_bounds, "{what}");
        assert_eq!(values, whole.values, "{what}");
    }
    whole.report.iterations.iter().filter(|step| !step.accepted).count()
}

const METHODS: [&str; 4] = ["lm", "gauss-newton", "dogleg traditional", "dogleg subspace"];

#[test]
fn every_method_and_linear_solver_goes_on_to_the_bit() {
    let with = With { fixed: true, rotations: true, ..With::default() };
    for precision in [Precision::F64, Precision::F32] {
        let mut rejected = 0;
        for method in METHODS {
            for linear in ["dense", "pcg", "sparse-cholesky", "assembled-pcg", "schur", "schur-pcg"] {
                for nonmonotone in [0.0, 3.0] {
                    let mut options = Options { nonmonotone: Some(nonmonotone), ..options(method, linear) };
                    // Of the rotations no residual touches two.
                    options.eliminate = linear.starts_with("schur").then(|| vec![2]);
                    let what = format!("{precision:?}, {method}, {linear}, nonmonotone {nonmonotone}");
                    rejected += check(&mut || cpu(precision).into(), with, &options, &what);
                }
            }
        }
        assert!(rejected > 40, "{rejected}");
    }
}

#[test]
fn everything_that_a_problem_may_have_goes_on_to_the_bit() {
    let scenes = [
        With { bounds: true, ..With::default() },
        With { energy: true, rotations: true, ..With::default() },
        With { sums: true, fixed: true, ..With::default() },
        With { bounds: true, fixed: true, rotations: true, energy: true, sums: true },
    ];
    for (name, limits) in [("cpu", None), ("cpu, small limits", Some(Limits::SMALL))] {
        let mut rejected = 0;
        for with in scenes {
            for method in METHODS {
                for linear in ["pcg", "sparse-cholesky"].into_iter().filter(|linear| !with.sums || *linear == "pcg") {
                    let mut fresh = || limits.map_or_else(|| cpu(Precision::F64), |limits| cpu_with(Precision::F64, limits)).into();
                    rejected += check(&mut fresh, with, &options(method, linear), &format!("{name}, {with:?}, {method}, {linear}"));
                }
            }
        }
        assert!(rejected > 40, "{name}: {rejected}");
    }
}

#[test]
fn a_gpu_goes_on_to_the_bit() {
    let with = With { bounds: true, fixed: true, rotations: true, energy: true, ..With::default() };
    let mut rejected = 0;
    for (method, linear) in [("lm", "pcg"), ("lm", "sparse-cholesky"), ("dogleg traditional", "pcg"), ("gauss-newton", "pcg")] {
        rejected += check(&mut || shared_gpu(None), with, &options(method, linear), &format!("webgpu, {method}, {linear}"));
    }
    // A Schur complement that is formed for each λ anew.
    let eliminating = Options { eliminate: Some(vec![2]), ..options("lm", "schur") };
    rejected += check(&mut || shared_gpu(None), with, &eliminating, "webgpu, lm, schur");
    let options = Options { nonmonotone: Some(2.0), ..options("lm", "pcg") };
    check(&mut || shared_gpu(Some(Limits::SMALL)), with, &options, "webgpu, small limits, nonmonotone");
    assert!(rejected > 8, "{rejected}");
}

/// k steps, a file, m steps; against k + m.
#[test]
fn steps_by_hand_go_on_to_the_bit() {
    let with = With { bounds: true, rotations: true, ..With::default() };
    let backends: [Backend; 3] =
        [("cpu f64", || cpu(Precision::F64).into()), ("cpu f32", || cpu(Precision::F32).into()), ("webgpu", || shared_gpu(None))];
    for (name, fresh) in backends {
        for method in METHODS {
            let options = options(method, "pcg");
            let what = format!("{name}, {method}");
            let mut session = fresh();
            let own = scene(&mut session, &Numbers::new(SEED), with);
            let solver = session.solver(own.problem, &options).unwrap();
            let (mut files, mut steps) = (vec![save(&mut session, solver)], Vec::new());
            for _ in 0..6 {
                steps.push(step(&mut session, solver));
                files.push(save(&mut session, solver));
            }
            let ended = values(&mut session, &own);
            session.free_problem(own.problem);
            for (made, file) in files.iter().enumerate() {
                let own = scene(&mut session, &Numbers::new(SEED), with);
                let solver = session.solver(own.problem, &options).unwrap();
                // What was done with it before is forgotten.
                if made % 2 == 1 {
                    step(&mut session, solver);
                }
                session.restore(solver, file).unwrap();
                let rest: Vec<Iteration> = (made..6).map(|_| step(&mut session, solver)).collect();
                same(&rest, &steps[made..], &format!("{what}, after {made}"));
                assert_eq!(values(&mut session, &own), ended, "{what}, after {made}");
                session.free_problem(own.problem);
            }
        }
    }
}

#[test]
fn live_steps_go_on_to_the_bit() {
    let with = With { bounds: true, ..With::default() };
    let backends: [Backend; 2] = [("cpu", || cpu(Precision::F64).into()), ("webgpu", || shared_gpu(None))];
    for (name, fresh) in backends {
        let mut session = fresh();
        let options = Options::default();
        let live = |session: &mut Session, solver: u32, steps: u32| {
            while session.compile_live(solver).unwrap().is_some() {
                std::thread::yield_now();
            }
            session.advance(solver, steps, f64::INFINITY).unwrap();
        };
        let own = scene(&mut session, &Numbers::new(SEED), with);
        let solver = session.solver(own.problem, &options).unwrap();
        live(&mut session, solver, 3);
        let file = save(&mut session, solver);
        live(&mut session, solver, 2);
        let last = step(&mut session, solver);
        let ended = values(&mut session, &own);
        session.free_problem(own.problem);

        let own = scene(&mut session, &Numbers::new(SEED), with);
        let solver = session.solver(own.problem, &options).unwrap();
        session.restore(solver, &file).unwrap();
        live(&mut session, solver, 2);
        same(&[step(&mut session, solver)], &[last], name);
        assert_eq!(values(&mut session, &own), ended, "{name}");
        session.free_problem(own.problem);
    }
}

/// Two levels are made anew for every λ; a factor of an earlier step is not in a file.
#[test]
fn preconditioners_go_on_to_the_bit_or_say_that_they_cannot() {
    let with = With { fixed: true, ..With::default() };
    let wanted = |preconditioner: &str, linear: &str| Options { preconditioner: Some(preconditioner.into()), ..options("lm", linear) };
    let rejected = check(&mut || cpu(Precision::F64).into(), with, &wanted("two-level", "pcg"), "two levels");
    assert!(rejected > 0);
    let mut session = cpu(Precision::F64);
    let own = scene(&mut session, &Numbers::new(SEED), with);
    let solver = session.solver(own.problem, &wanted("frozen-factor", "assembled-pcg")).unwrap();
    step(&mut session, solver);
    match session.save(solver) {
        Err(leastwise::Error::InvalidOption(said)) => assert!(said.contains("a factor of an earlier step"), "{said}"),
        _ => panic!("saved"),
    }
}

/// Methods by the gradient alone.
const DESCENTS: [&str; 4] = ["lbfgs", "nonlinear-cg", "gradient-descent", "adam"];

fn descent(method: &str) -> Options {
    let memory = (method == "lbfgs").then_some(3.0);
    Options { method: Some(method.into()), memory, max_iterations: Some(9.0), ..Options::default() }
}

#[test]
fn methods_by_the_gradient_go_on_to_the_bit() {
    let scenes = [
        With { fixed: true, rotations: true, energy: true, ..With::default() },
        With { bounds: true, fixed: true, rotations: true, sums: true, ..With::default() },
    ];
    let backends: [Backend; 4] = [
        ("cpu f64", || cpu(Precision::F64).into()),
        ("cpu f32", || cpu(Precision::F32).into()),
        ("cpu, small limits", || cpu_with(Precision::F64, Limits::SMALL).into()),
        ("webgpu", || shared_gpu(None)),
    ];
    for (name, fresh) in backends {
        for method in DESCENTS {
            for with in scenes {
                check(&mut { fresh }, with, &descent(method), &format!("{name}, {method}, {with:?}"));
            }
        }
    }
}

/// In the midst of a search, too.
#[test]
fn live_searches_go_on_to_the_bit() {
    let with = With { bounds: true, rotations: true, ..With::default() };
    let mut session = cpu(Precision::F64);
    for method in DESCENTS {
        let options = Options { max_iterations: Some(50.0), ..descent(method) };
        for before in 1..8 {
            let own = scene(&mut session, &Numbers::new(SEED), with);
            let solver = session.solver(own.problem, &options).unwrap();
            session.advance(solver, before, f64::INFINITY).unwrap();
            let file = save(&mut session, solver);
            session.advance(solver, 6, f64::INFINITY).unwrap();
            let last = step(&mut session, solver);
            let ended = values(&mut session, &own);
            session.free_problem(own.problem);
            let own = scene(&mut session, &Numbers::new(SEED), with);
            let solver = session.solver(own.problem, &options).unwrap();
            session.restore(solver, &file).unwrap();
            session.advance(solver, 6, f64::INFINITY).unwrap();
            same(&[step(&mut session, solver)], &[last], &format!("{method}, after {before}"));
            assert_eq!(values(&mut session, &own), ended, "{method}, after {before}");
            session.free_problem(own.problem);
        }
    }
}

/// Data, weights, losses, what is fixed, bounded and disabled: as they were when the file was made, also where an edit had
/// not been felt by a step yet.
#[test]
fn edits_are_in_the_file() {
    let with = With { fixed: true, sums: true, ..With::default() };
    let numbers = Numbers::new(SEED);
    let backends: [Backend; 3] =
        [("cpu", || cpu(Precision::F64).into()), ("cpu f32", || cpu(Precision::F32).into()), ("webgpu", || shared_gpu(None))];
    for (name, fresh) in backends {
        let mut session = fresh();
        let options = options("lm", "pcg");
        let own = scene(&mut session, &numbers, with);
        let solver = session.solver(own.problem, &options).unwrap();
        step(&mut session, solver);
        let rest: Vec<f64> = numbers.rest.iter().map(|rest| 1.5 * rest).collect();
        session.set_column(own.problem, own.springs, 0, Reals::F64(&rest)).unwrap();
        session.set_loss(own.problem, own.springs, &Loss::cauchy(0.75).unwrap()).unwrap();
        step(&mut session, solver);
        session.unfix_table(own.problem, own.points, Some(&[2])).unwrap();
        session.bound_table(own.problem, own.points, Some(Reals::F64(&[-1.0])), None).unwrap();
        session.set_weight(own.problem, own.pulls, Weight::Shared(0.7)).unwrap();
        session.write_table(own.problem, own.points, Reals::F64(&[0.5, 0.25]), Some(&[9])).unwrap();
        session.set_enabled(own.problem, own.springs, false).unwrap();
        let file = save(&mut session, solver);
        let mut steps: Vec<Iteration> = (0..2).map(|_| step(&mut session, solver)).collect();
        session.set_enabled(own.problem, own.springs, true).unwrap();
        steps.push(step(&mut session, solver));
        let ended = values(&mut session, &own);
        session.free_problem(own.problem);

        let own = scene(&mut session, &numbers, with);
        let solver = session.solver(own.problem, &options).unwrap();
        session.restore(solver, &file).unwrap();
        let mut rest: Vec<Iteration> = (0..2).map(|_| step(&mut session, solver)).collect();
        session.set_enabled(own.problem, own.springs, true).unwrap();
        rest.push(step(&mut session, solver));
        same(&rest, &steps, name);
        assert_eq!(values(&mut session, &own), ended, "{name}");
        session.free_problem(own.problem);
    }
}
