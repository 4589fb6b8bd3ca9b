//! Limits of time over ranks: all end after the same step, by the clock of one of them.

use super::devices::over;
use super::scenes::{Alone, Made, mesh, options, ranked};
use super::sessions::{session, solved, values};
use super::{bits, on_all};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::session::{Answer, Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};
use std::thread::sleep;
use std::time::Duration;

/// Options of solves that no tolerance ends.
fn within(ms: f64) -> Options {
    let endless = Some(0.0);
    Options { time_limit_ms: Some(ms), max_iterations: Some(1e4), cost_tolerance: endless, step_tolerance: endless, ..options() }
}

fn ended(report: &Report) -> (Termination, &str, usize) {
    (report.termination, &report.reason, report.iterations.len())
}

#[test]
fn no_time_is_no_step_as_on_one_device() {
    let run = |of: &mut Alone| {
        let made = mesh(of);
        let before = values(of, &made);
        let report = *solved(of, &within(0.0), |_, _, _| {}).unwrap();
        assert_eq!(bits(&values(of, &made).concat()), bits(&before.concat()));
        report
    };
    let expected = run(&mut Alone::new(Precision::F64));
    assert_eq!(ended(&expected), (Termination::TimeLimit, "timeLimitMs = 0 ms are over", 0));
    for size in [1, 3] {
        let mut found = on_all(size, |ranks| run(&mut session(Precision::F64, ranks)));
        found.push(run(&mut over(Precision::F64, size)));
        found.extend(on_all(size, |ranks| {
            let mut problem = ranked(Precision::F64, ranks);
            mesh(&mut problem);
            problem.solve(&within(0.0)).unwrap().report
        }));
        for report in &found {
            assert_eq!(ended(report), ended(&expected));
            assert_eq!(report.cost.to_bits(), found[0].cost.to_bits());
            assert!((report.cost - expected.cost).abs() < 1e-9 * expected.cost);
        }
    }
}

/// The second rank, or the session over devices itself, takes longer than the limit after its second iteration.
#[test]
fn the_clock_of_one_rank_ends_the_solves_of_all() {
    const LIMIT: u64 = 2_000;
    let late = || sleep(Duration::from_millis(LIMIT + 100));
    let limited = within(LIMIT as f64);
    let run = |of: &mut Alone, sleeps: bool| {
        let made = mesh(of);
        let wait = |_: &mut Session, _: u32, index: u32| {
            if sleeps && index == 1 {
                late();
            }
        };
        let report = *solved(of, &limited, wait).unwrap();
        let reached = values(of, &made).concat();
        // All go on from there.
        let next = solve(&mut of.session, of.problem, &options()).cost;
        assert!(next < report.cost);
        (report, bits(&reached), next.to_bits())
    };
    let mut found = on_all(3, |ranks| {
        let sleeps = ranks.rank() == 1;
        run(&mut session(Precision::F64, ranks), sleeps)
    });
    found.push(run(&mut over(Precision::F64, 3), true));
    for (report, reached, next) in &found {
        assert_eq!(ended(report), (Termination::TimeLimit, "timeLimitMs = 2000 ms are over", 2));
        assert_eq!((reached, next), (&found[0].1, &found[0].2));
    }
    let by_problems = on_all(3, |ranks| {
        let sleeps = ranks.rank() == 1;
        let mut problem = ranked(Precision::F64, ranks);
        let made: Made = mesh(&mut problem);
        let wait = |iteration: &leastwise::solve::Iteration| {
            if sleeps && iteration.index == 1 {
                late();
            }
        };
        let report = problem.solve_with(&limited, wait).unwrap().report;
        (report, bits(&problem.read(made.tables[0]).unwrap()))
    });
    for (report, reached) in &by_problems {
        assert_eq!(ended(report), ended(&found[0].0));
        assert_eq!(reached, &found[0].1);
    }
}

#[test]
fn other_ends_come_before_that_of_time() {
    let found = on_all(2, |ranks| {
        let rank = ranks.rank();
        let mut of = session(Precision::F64, ranks);
        mesh(&mut of);
        let none = Options { max_iterations: Some(0.0), ..within(0.0) };
        let most = *solved(&mut of, &none, |_, _, _| {}).unwrap();
        let solver = of.session.solver(of.problem, &within(0.0)).unwrap();
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        if rank == 1 {
            of.session.stop(task, "enough");
        }
        let Progress::Report(stopped) = finish(&mut of.session, task, |_| {}) else { panic!("no report") };
        (most.termination, stopped.termination)
    });
    assert_eq!(found, vec![(Termination::MaxIterations, Termination::Stopped); 2]);
}

/// The time before a checkpoint counts for the solve that goes on from it.
#[test]
fn time_before_a_checkpoint_counts() {
    let file = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        mesh(&mut of);
        let solver = of.session.solver(of.problem, &within(1e6)).unwrap();
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        assert!(matches!(of.session.resume(task, f64::INFINITY), Ok(Progress::Iteration(_))));
        sleep(Duration::from_millis(1_000));
        let save = of.session.save(solver).unwrap();
        let Progress::Answer(Answer::Bytes(file)) = of.session.resume(save, f64::INFINITY).unwrap() else { panic!("no checkpoint") };
        of.session.stop(task, "enough");
        finish(&mut of.session, task, |_| {});
        file
    })
    .remove(0);
    let go_on = |of: &mut Alone, ms: f64| {
        mesh(of);
        let options = Options { max_iterations: Some(3.0), ..within(ms) };
        let solver = of.session.solver(of.problem, &options).unwrap();
        of.session.restore(solver, &file).unwrap();
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(&mut of.session, task, |_| {}) else { panic!("no report") };
        (report.termination, report.iterations.len())
    };
    for (ms, expected) in [(990.0, (Termination::TimeLimit, 1)), (1e6, (Termination::MaxIterations, 3))] {
        assert_eq!(go_on(&mut Alone::new(Precision::F64), ms), expected);
        let found = on_all(2, |ranks| go_on(&mut session(Precision::F64, ranks), ms));
        assert_eq!(found, vec![expected; 2]);
    }
}
