//! Methods by the gradient alone, on every backend.

use crate::support::classics::{CLASSICS, Classic};
use crate::support::*;
use leastwise::Error;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::{Progress, Session};
use leastwise::solve::{Options, Report, Termination};

/// With how exact they are.
fn sessions() -> Vec<(&'static str, Precision, Shared)> {
    let small = Limits { binding_bytes: 1 << 16, buffer_bytes: 1 << 16, ..Limits::SMALL };
    vec![
        ("cpu in f64", Precision::F64, cpu(Precision::F64).into()),
        ("cpu in f32", Precision::F32, cpu(Precision::F32).into()),
        ("cpu, small limits", Precision::F64, cpu_with(Precision::F64, small).into()),
        ("webgpu, small limits", Precision::F32, shared_gpu(Some(small))),
    ]
}

fn with(method: &str) -> Options {
    Options { method: Some(method.into()), ..Options::default() }
}

fn is_at_a_minimum(classic: &Classic, report: &Report, bound: f64) -> bool {
    classic.minima.iter().any(|minimum| (report.cost - minimum).abs() <= bound * (1.0 + minimum))
}

#[test]
fn the_classics_have_their_minima() {
    for (name, precision, mut session) in sessions() {
        for method in ["lbfgs", "nonlinear-cg"] {
            for objective in [Objective::LeastSquares, Objective::Energy] {
                for classic in repeated(&CLASSICS, if name.starts_with("webgpu") { 2 } else { CLASSICS.len() }) {
                    let (problem, _) = classic.make_as(&mut session, objective);
                    let report = solve(&mut session, problem, &with(method));
                    let bound = match (precision, objective) {
                        (Precision::F64, _) => 1e-8,
                        (_, Objective::LeastSquares | Objective::FullCurvature) => 1e-5,
                        (_, Objective::Energy) => 1e-3,
                    };
                    assert!(
                        is_at_a_minimum(classic, &report, bound),
                        "{name}, {method}, {objective:?}, {}: {:e} ({})",
                        classic.name,
                        report.cost,
                        report.reason
                    );
                    let ended = [Termination::Converged, Termination::Precision];
                    assert!(ended.contains(&report.termination), "{name}, {method}, {}: {}", classic.name, report.reason);
                    session.free_problem(problem);
                }
            }
        }
    }
}

/// A quadratic bowl over so many unknowns, of stiffness 1 to `spread`, whose least point is 1, 2, … by thirds.
fn bowl(session: &mut Session, unknowns: usize, spread: f64, start: f64) -> (u32, u32) {
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&vec![start; unknowns]), true).unwrap();
    let mut tape = Tape::default();
    let [value, target, stiffness] = [0, 1, 2].map(|source| tape.input(source));
    let off = tape.op(Sub, &[value, target]);
    let outputs = [tape.op(Mul, &[off, stiffness])];
    let targets: Vec<f64> = (0..unknowns).map(|i| (i + 1) as f64 / 3.0).collect();
    let stiffnesses: Vec<f64> = (0..unknowns).map(|i| spread.powf(i as f64 / (2.0 * unknowns as f64))).collect();
    let column = |name: &str, values| Column { name: name.into(), width: 1, shared: false, values };
    let spec = TermSpec {
        name: "bowl".into(),
        count: unknowns as u32,
        indices: vec![(0..unknowns as u32).collect()],
        slots: vec![Slot { table: x, column: 0 }],
        columns: vec![column("target", Reals::F64(&targets)), column("stiffness", Reals::F64(&stiffnesses))],
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Objective::LeastSquares,
        tape: &tape.words,
        outputs: &outputs,
    };
    session.term(problem, spec).unwrap();
    (problem, x)
}

const METHODS: [&str; 4] = ["lbfgs", "nonlinear-cg", "gradient-descent", "adam"];

#[test]
fn every_method_finds_the_bottom_of_a_bowl() {
    for (name, precision, mut session) in sessions() {
        for method in METHODS {
            let (problem, x) = bowl(&mut session, 37, 50.0, 5.0);
            let mut options = with(method);
            if method == "adam" {
                options.learning_rate = Some(0.1);
                options.max_iterations = Some(if is_full() { 2000.0 } else { 700.0 });
            }
            let report = solve(&mut session, problem, &options);
            let what = format!("{name}, {method}: {:e} after {} ({})", report.cost, report.iterations.len(), report.reason);
            let bound = if precision == Precision::F64 && method != "adam" { 1e-6 } else { 1e-3 };
            for (i, value) in read(&mut session, problem, x).into_iter().enumerate() {
                assert!((value - (i + 1) as f64 / 3.0).abs() < bound * 13.0, "{what}: x{i} = {value}");
            }
            assert_eq!((report.method, report.linear), (method, "none"), "{what}");
            // Searches take what lies lower; Adam does not look.
            let climbs = report.iterations.iter().any(|step| step.accepted && step.cost_change > 1e-5 * step.cost.abs());
            assert!(method == "adam" || !climbs, "{what}");
            session.free_problem(problem);
        }
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}: nothing stays behind");
    }
}

/// A trial is one recording and one readback, whose size does not depend on the problem's.
#[test]
fn a_trial_reads_back_once() {
    for mut session in [cpu(Precision::F64).into(), shared_gpu(None)] {
        for method in METHODS {
            let (problem, _) = bowl(&mut session, 500, 50.0, 5.0);
            let options = Options { max_iterations: Some(9.0), ..with(method) };
            let report = solve(&mut session, problem, &options);
            let trials: u64 = report.iterations.iter().map(|step| u64::from(step.inner_iterations)).sum();
            assert!(trials >= 9, "{method}");
            // The report is the one besides.
            assert_eq!(report.counters.readbacks, trials + 1, "{method}");
            session.free_problem(problem);
        }
    }
}

#[test]
fn limits_are_held_and_what_is_fixed_stays() {
    for (name, precision, mut session) in sessions() {
        for method in METHODS {
            let (problem, x) = bowl(&mut session, 30, 10.0, 5.0);
            session.bound_table(problem, x, Some(Reals::F64(&[2.0])), Some(Reals::F64(&[6.0]))).unwrap();
            session.fix_table(problem, x, Some(&[3, 17]), None).unwrap();
            let options = Options {
                learning_rate: (method == "adam").then_some(0.1),
                max_iterations: Some(if is_full() { 2000.0 } else { 700.0 }),
                ..with(method)
            };
            let report = solve(&mut session, problem, &options);
            let bound = if precision == Precision::F64 && method != "adam" { 1e-5 } else { 2e-2 };
            for (i, value) in read(&mut session, problem, x).into_iter().enumerate() {
                let target = ((i + 1) as f64 / 3.0).clamp(2.0, 6.0);
                let expected = if [3, 17].contains(&i) { 5.0 } else { target };
                let what =
                    format!("{name}, {method}, x{i} = {value} instead of {expected} after {}: {}", report.iterations.len(), report.reason);
                assert!((value - expected).abs() < bound, "{what}");
                assert!((2.0..=6.0).contains(&value), "{what}");
            }
            session.free_problem(problem);
        }
    }
}

#[test]
fn threads_and_runs_change_no_bit() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut session = cpu(Precision::F64);
            let (problem, x) = bowl(&mut session, 60_000, 100.0, 5.0);
            let report = solve(&mut session, problem, &Options { max_iterations: Some(12.0), ..with("lbfgs") });
            let values: Vec<u64> = read(&mut session, problem, x).iter().map(|value| value.to_bits()).collect();
            let costs: Vec<u64> = report.iterations.iter().map(|step| step.cost.to_bits()).collect();
            (values, costs)
        })
    };
    let once = run(1);
    assert!(run(1) == once && run(3) == once);
}

/// Live steps follow an edit without a readback, as do steps that a report or an edit of values comes between.
#[test]
fn live_steps_and_reports_in_between() {
    for (name, _, mut session) in sessions() {
        for method in ["lbfgs", "nonlinear-cg", "gradient-descent"] {
            let (problem, x) = bowl(&mut session, 20, 20.0, 5.0);
            let solver = session.solver(problem, &with(method)).unwrap();
            let mut last = f64::INFINITY;
            for round in 0..40 {
                session.advance(solver, 3, f64::INFINITY).unwrap();
                let task = session.report(solver).unwrap();
                let Progress::Report(report) = finish(&mut session, task, |_| {}) else { panic!("no report") };
                assert!(report.cost <= last * (1.0 + 1e-5) + 1e-9, "{name}, {method}, round {round}: {} after {last}", report.cost);
                last = report.cost;
            }
            assert!(last < 1e-6, "{name}, {method}: {last}");
            session.write_table(problem, x, Reals::F64(&[9.0; 20]), None).unwrap();
            session.advance(solver, 120, f64::INFINITY).unwrap();
            let task = session.report(solver).unwrap();
            let Progress::Report(report) = finish(&mut session, task, |_| {}) else { panic!("no report") };
            assert!(report.cost < 1e-5, "{name}, {method}: {} after an edit", report.cost);
            session.free_problem(problem);
        }
    }
}

/// ln x has no value left of 0, where the first trial of −g leads.
#[test]
fn trials_that_are_not_finite_are_shortened_and_told() {
    for (name, _, mut session) in sessions() {
        let mut told = 0;
        for method in METHODS {
            let problem = session.problem();
            let x = session.table(problem, "x", 1, Reals::F64(&[8.0]), true).unwrap();
            let mut tape = Tape::default();
            let value = tape.input(0);
            let logarithm = tape.op(Log, &[value]);
            let outputs = [tape.op(Sub, &[value, logarithm])];
            let spec = TermSpec {
                name: "barrier".into(),
                count: 1,
                indices: vec![vec![0]],
                slots: vec![Slot { table: x, column: 0 }],
                columns: Vec::new(),
                weight: Weight::Shared(1.0),
                loss: None,
                objective: Objective::Energy,
                tape: &tape.words,
                outputs: &outputs,
            };
            session.term(problem, spec).unwrap();
            let learning_rate = (method == "adam").then_some(0.01);
            let report = solve(&mut session, problem, &Options { learning_rate, max_iterations: Some(1500.0), ..with(method) });
            let found = read(&mut session, problem, x)[0];
            assert!((found - 1.0).abs() < 2e-2, "{name}, {method}: {found} ({})", report.reason);
            assert!(report.first_non_finite.is_none() == (report.non_finite == 0), "{name}, {method}");
            told += report.non_finite;
            session.free_problem(problem);
        }
        assert!(told > 0, "{name}: no trial led where there is no logarithm");
    }
}

#[test]
fn options_of_other_methods_are_refused() {
    let mut session = cpu(Precision::F64);
    let (problem, _) = bowl(&mut session, 3, 2.0, 0.0);
    let text = |value: &str| Some(value.to_string());
    let wrong = [
        (Options { linear: text("pcg"), ..with("lbfgs") }, "linear: method \"lbfgs\" solves no linear system"),
        (Options { forcing: Some(0.1), ..with("adam") }, "forcing: method \"adam\" solves no linear system"),
        (Options { nonmonotone: Some(5.0), ..with("nonlinear-cg") }, "nonmonotone: method \"nonlinear-cg\" solves no linear system"),
        (Options { memory: Some(4.0), ..with("lm") }, "memory: the method is \"lm\"; say method: \"lbfgs\""),
        (Options { memory: Some(0.0), ..with("lbfgs") }, "memory must be a whole number from 1 to 20, not 0"),
        (Options { memory: Some(2.5), ..with("lbfgs") }, "memory must be a whole number from 1 to 20, not 2.5"),
        (Options { learning_rate: Some(-1.0), ..with("adam") }, "learningRate must be a positive number, not -1"),
        (Options { learning_rate: Some(0.1), ..with("lbfgs") }, "learningRate: the method is \"lbfgs\"; say method: \"adam\""),
        (Options { decays: Some([0.9, 1.0]), ..with("adam") }, "decays must be two numbers from 0 to less than 1, not 1"),
        (Options { dogleg: text("subspace"), ..with("lbfgs") }, "dogleg: the method is \"lbfgs\"; say method: \"dogleg\""),
    ];
    for (options, message) in wrong {
        match session.solver(problem, &options) {
            Err(Error::InvalidOption(said)) => assert!(said.starts_with(message), "{said}"),
            Err(other) => panic!("{message}: {other}"),
            Ok(_) => panic!("{message}: accepted"),
        }
    }
    session.solver(problem, &Options { linear: text("auto"), memory: Some(20.0), ..with("lbfgs") }).unwrap();
}

/// Where a binding holds few vectors, the history is shorter, and the report says so; where it holds none, that is refused.
#[test]
fn a_history_is_as_long_as_a_binding_holds() {
    let limits = Limits { binding_bytes: 1 << 18, buffer_bytes: 1 << 20, ..Limits::SMALL };
    let mut session = cpu_with(Precision::F64, limits);
    let (problem, _) = bowl(&mut session, 4000, 10.0, 5.0);
    let report = solve(&mut session, problem, &with("lbfgs"));
    assert!(report.linear_reason.contains("memory 4 instead of 10"), "{}", report.linear_reason);
    assert!(report.converged, "{}", report.reason);
    let (problem, _) = bowl(&mut session, 20_000, 10.0, 5.0);
    match session.solver(problem, &with("lbfgs")) {
        Err(Error::InvalidOption(said)) => assert!(said.contains("one binding of this device holds"), "{said}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    }
}
