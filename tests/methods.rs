//! Every method on the classics, on every backend; and what a solve counts and leaves.

use crate::support::classics::{CLASSICS, Classic, Writer};
use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::problem::{Reals, Slot, TermSpec, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};

/// The methods with their names for messages.
fn methods() -> [(&'static str, Options); 4] {
    let with = |method: &str, dogleg: Option<&str>| Options {
        method: Some(method.into()),
        dogleg: dogleg.map(Into::into),
        max_iterations: Some(500.0),
        // The cost of a singular minimum that is 0 falls by the same part for ever.
        gradient_tolerance: Some(1e-10),
        ..Options::default()
    };
    [
        ("lm", with("lm", None)),
        ("gauss-newton", with("gauss-newton", None)),
        ("dogleg", with("dogleg", Some("traditional"))),
        ("subspace dogleg", with("dogleg", Some("subspace"))),
    ]
}

fn assert_solved(classic: &Classic, report: &Report, tolerance: f64, what: &str) {
    let near = classic.minima.iter().any(|minimum| (report.cost - minimum).abs() <= tolerance * (1.0 + minimum));
    assert!(near, "{what}, {}: {:e} ({})", classic.name, report.cost, report.reason);
    let ended = [Termination::Converged, Termination::Precision];
    assert!(ended.contains(&report.termination), "{what}, {}: {:?}, {}", classic.name, report.termination, report.reason);
}

/// Whether a method can solve it: where J loses rank at a minimum that is not 0, as Freudenstein and Roth's does, undamped
/// Gauss–Newton steps do not converge.
fn solvable(classic: &Classic, options: &Options) -> bool {
    classic.minima.len() == 1 || options.method.as_deref() != Some("gauss-newton")
}

#[test]
fn every_method_solves_the_classics() {
    for (name, options) in methods() {
        for nonmonotone in [0.0, 5.0] {
            let options = Options { nonmonotone: Some(nonmonotone), ..options.clone() };
            for (precision, cost_tolerance, tolerance) in [(Precision::F64, 1e-12, 1e-9), (Precision::F32, 1e-7, 1e-5)] {
                let options = Options { cost_tolerance: Some(cost_tolerance), ..options.clone() };
                let mut session = cpu(precision);
                for classic in CLASSICS.iter().filter(|classic| solvable(classic, &options)) {
                    let (problem, _) = classic.make(&mut session);
                    let report = solve(&mut session, problem, &options);
                    assert_eq!(Some(report.method), options.method.as_deref());
                    assert_solved(classic, &report, tolerance, &format!("{name}, {precision:?}, nonmonotone {nonmonotone}"));
                }
            }
        }
    }
}

/// factor·(x − 3) over one unknown, from `start`.
fn pull(session: &mut Session, factor: f64, start: f64) -> (u32, u32) {
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[start]), true).unwrap();
    let mut writer = Writer(Tape::default());
    let value = writer.0.input(0);
    let residual = writer.linear(&[(factor, value)], -3.0 * factor);
    let spec = TermSpec {
        name: "pull".into(),
        count: 1,
        indices: vec![vec![0]],
        slots: vec![Slot { table: x, column: 0 }],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &writer.0.words,
        outputs: &[residual],
    };
    session.term(problem, spec).unwrap();
    (problem, x)
}

#[test]
fn units_are_no_reason_to_stop() {
    for (name, options) in methods() {
        for factor in [1e-12, 1.0, 1e15] {
            let mut session = cpu(Precision::F64);
            let (problem, x) = pull(&mut session, factor, 1.0);
            let report = solve(&mut session, problem, &Options { gradient_tolerance: Some(0.0), ..options.clone() });
            let found = read(&mut session, problem, x)[0];
            assert!((found - 3.0).abs() < 1e-4, "{name}, {factor:e}: {found} ({})", report.reason);
        }
    }
}

#[test]
fn without_a_gradient_there_is_nothing_to_solve() {
    for linear in ["dense", "sparse-cholesky", "assembled-pcg", "pcg"] {
        for (name, options) in methods() {
            let mut session = cpu(Precision::F64);
            let (problem, _) = pull(&mut session, 0.0, 1.0);
            let report = solve(&mut session, problem, &Options { linear: Some(linear.into()), ..options });
            assert_eq!(report.termination, Termination::Converged, "{name}, {linear}: {}", report.reason);
        }
    }
}

#[test]
fn what_is_not_finite_is_told_even_where_no_step_is_made() {
    let mut session = cpu(Precision::F32);
    let (problem, _) = pull(&mut session, 1e20, 1e10);
    let none = Options { max_iterations: Some(0.0), ..Options::default() };
    let solver = session.solver(problem, &none).unwrap();
    let told = |error: Result<Progress, Error>| matches!(error, Err(Error::SquareOverflows { .. }));
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    assert!(told(outcome(&mut session, task)), "no step");
    session.advance(solver, 3, f64::INFINITY).unwrap();
    let task = session.report(solver).unwrap();
    assert!(told(outcome(&mut session, task)), "a report of live steps");
}

fn outcome(session: &mut Session, task: u32) -> Result<Progress, Error> {
    loop {
        match session.resume(task, f64::INFINITY)? {
            Progress::Yielded | Progress::Iteration(_) => {}
            other => return Ok(other),
        }
    }
}
