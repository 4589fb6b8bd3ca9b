//! Sessions as ranks: the calls of one device, and the bits of ranks.

use super::scenes::{Alone, Declare, Made, bundle, limited_bundle, mesh, net, options, ranked};
use super::{bits, on_all, on_ranks};
use crate::support::*;
use leastwise::Error;
use leastwise::collective::{Communicator, DEADLINE, Fault};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, DeviceError, Precision};
use leastwise::problem::{Reals, Weight};
use leastwise::ranks::RankedProblem;
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report};
use std::sync::Arc;
use std::time::Instant;

/// A scene by a session and by a ranked problem, and a linear solver.
pub(super) type Scene = (fn(&mut Alone) -> Made, fn(&mut RankedProblem) -> Made, &'static str);

pub(super) const SCENES: [Scene; 6] = [
    (mesh, mesh, "pcg"),
    (bundle, bundle, "pcg"),
    (net, net, "pcg"),
    (limited_bundle, limited_bundle, "pcg"),
    (bundle, bundle, "schur-pcg"),
    (limited_bundle, limited_bundle, "schur-pcg"),
];

pub(super) fn session(precision: Precision, ranks: Arc<dyn Communicator>) -> Alone {
    let device = Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()));
    let mut session = Session::over_ranks(device, ranks).unwrap();
    let problem = session.problem();
    Alone { session, problem }
}

pub(super) fn values(of: &mut Alone, made: &Made) -> Vec<Vec<f64>> {
    made.tables.iter().map(|table| read(&mut of.session, of.problem, *table)).collect()
}

/// Solves; `each` is told every iteration and may have the task stopped.
pub(super) fn solved(of: &mut Alone, options: &Options, mut each: impl FnMut(&mut Session, u32, u32)) -> Result<Box<Report>, Error> {
    let solver = of.session.solver(of.problem, options)?;
    let task = of.session.solve(solver, SolveMode::Solve)?;
    let report = loop {
        match of.session.resume(task, 8.0) {
            Ok(Progress::Iteration(iteration)) => each(&mut of.session, task, iteration.index),
            Ok(Progress::Report(report)) => break Ok(report),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    of.session.free_solver(solver);
    report
}

pub(super) fn fault(error: Error) -> Fault {
    match error {
        Error::Device(DeviceError::Ranks(fault)) => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn sessions_have_the_bits_of_ranked_problems() {
    for size in 1..=3 {
        for precision in [Precision::F64, Precision::F32] {
            for make in SCENES {
                let options = Options { linear: Some(make.2.into()), preconditioner: None, ..options() };
                let expected = on_all(size, |ranks| {
                    let mut problem = ranked(precision, ranks);
                    let made = make.1(&mut problem);
                    let cost = problem.solve(&options).unwrap().report.cost;
                    (cost.to_bits(), made.tables.iter().map(|table| problem.read(*table).unwrap()).collect::<Vec<_>>())
                });
                let found = on_all(size, |ranks| {
                    let rank = ranks.rank();
                    let mut of = session(precision, ranks);
                    let made = make.0(&mut of);
                    let report = solve(&mut of.session, of.problem, &options);
                    assert_eq!(report.linear, make.2);
                    // Reads ask nobody: only one rank makes them.
                    let values = if rank == 0 { values(&mut of, &made) } else { Vec::new() };
                    of.session.free_problem(of.problem);
                    assert_eq!(of.session.counters().bytes_live, 0, "memory is left");
                    (report.cost.to_bits(), values)
                });
                assert!(found.iter().all(|(cost, _)| *cost == expected[0].0), "{size} ranks, {precision:?}");
                let [found, expected] = [&found[0].1, &expected[0].1].map(|tables| tables.concat());
                // What f32 has of a point on a manifold is brought onto it in f64.
                let limit = if precision == Precision::F64 { 0.0 } else { 1e-6 };
                assert_eq!(found.len(), expected.len());
                assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= limit), "{size} ranks, {precision:?}");
            }
        }
    }
}

#[test]
fn edits_of_values_data_weights_and_losses_are_solved_with() {
    let run = |of: &mut Alone| {
        let made = mesh(of);
        let mut costs = vec![solve(&mut of.session, of.problem, &options()).cost];
        let data: Vec<f64> = made.data.iter().map(|value| 0.9 * value + 0.01).collect();
        of.session.set_column(of.problem, made.edited, 0, Reals::F64(&data)).unwrap();
        costs.push(solve(&mut of.session, of.problem, &options()).cost);
        of.session.write_table(of.problem, made.tables[0], Reals::F64(&[0.5, 0.9, 0.1, 0.2, 0.8, 0.3]), Some(&[140, 3])).unwrap();
        of.session.set_weight(of.problem, 0, Weight::Shared(2.5)).unwrap();
        costs.push(solve(&mut of.session, of.problem, &options()).cost);
        (costs, values(of, &made))
    };
    let (costs, expected) = run(&mut Alone::new(Precision::F64));
    let found = on_all(3, |ranks| run(&mut session(Precision::F64, ranks)));
    for (of_rank, values) in &found {
        assert_eq!(bits(of_rank), bits(&found[0].0));
        assert_eq!(bits(&values.concat()), bits(&found[0].1.concat()));
        for (cost, expected) in of_rank.iter().zip(&costs) {
            assert!((cost - expected).abs() < 1e-8 * expected, "{cost} and {expected}");
        }
        assert!(values.concat().iter().zip(expected.concat()).all(|(value, expected)| (value - expected).abs() < 1e-4));
    }
    // Another number of weights is refused by all, and changes nothing.
    let found = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        mesh(&mut of);
        let refused = of.session.set_weight(of.problem, 0, Weight::Each(Reals::F64(&[1.0]))).is_err();
        (refused, solve(&mut of.session, of.problem, &options()).cost)
    });
    assert!(found.iter().all(|(refused, cost)| *refused && (cost - costs[0]).abs() < 1e-8 * costs[0]), "{found:?}");
}

/// Edits between two steps of a solve are those of all ranks, also where a rank has none of the rows: all move the point into its limits
/// again, by a message.
#[test]
fn values_are_edited_in_the_midst_of_a_solve() {
    let run = |of: &mut Alone| {
        let made = net(of);
        let (problem, table) = (of.problem, made.tables[0]);
        let edit = |session: &mut Session, _: u32, index: u32| {
            if index == 1 {
                session.write_table(problem, table, Reals::F64(&[2.5, -3.0]), Some(&[76])).unwrap();
            }
        };
        let report = solved(of, &options(), edit).unwrap();
        (report.cost, report.moved_into_bounds, values(of, &made).concat())
    };
    let (cost, moved, expected) = run(&mut Alone::new(Precision::F64));
    let found = on_all(3, |ranks| run(&mut session(Precision::F64, ranks)));
    for (of_rank, moved_here, values) in &found {
        assert_eq!((of_rank.to_bits(), bits(values)), (found[0].0.to_bits(), bits(&found[0].2)));
        assert_eq!(*moved_here, moved);
        assert!((of_rank - cost).abs() < 1e-8 * cost, "{of_rank} and {cost}");
        assert!(values.iter().zip(&expected).all(|(value, expected)| (value - expected).abs() < 1e-4));
    }
}

#[test]
fn one_rank_that_is_told_to_stop_stops_all_after_the_same_iteration() {
    let found = on_all(3, |ranks| {
        let rank = ranks.rank();
        let mut of = session(Precision::F64, ranks);
        let made = mesh(&mut of);
        let stop = |session: &mut Session, task: u32, index: u32| {
            if rank == 1 && index == 1 {
                session.stop(task, "enough");
            }
        };
        let report = solved(&mut of, &options(), stop).unwrap();
        let values = values(&mut of, &made);
        // All go on from there.
        let cost = solve(&mut of.session, of.problem, &options()).cost;
        (report.iterations.len(), report.reason.clone(), bits(&values.concat()), cost.to_bits())
    });
    for (count, reason, values, cost) in &found {
        assert_eq!((*count, values, cost), (found[0].0, &found[0].2, &found[0].3));
        assert!(*count <= 3, "{count} iterations");
        assert!(reason.contains("enough") || reason.contains("another rank was told to stop"), "{reason}");
    }
    assert!(found[1].1.contains("enough"), "{}", found[1].1);
}

/// The first rank gives its solve up, or its device fails, in the midst of a solve.
#[test]
fn a_rank_that_can_not_go_on_tells_the_others_why() {
    for fails in [false, true] {
        let begun = Instant::now();
        let found = on_all(3, |ranks| {
            let rank = ranks.rank();
            let mut of = session(Precision::F64, ranks);
            let made = mesh(&mut of);
            let before = values(&mut of, &made);
            let solver = of.session.solver(of.problem, &options()).unwrap();
            let task = of.session.solve(solver, SolveMode::Solve).unwrap();
            for _ in 0..2 {
                assert!(matches!(of.session.resume(task, 8.0).unwrap(), Progress::Iteration(_)));
            }
            if rank == 0 {
                if !fails {
                    of.session.cancel(task);
                    return None;
                }
                let Device::Cpu(device) = of.session.device_mut() else { panic!("a CPU") };
                device.dispose();
            }
            let error = loop {
                match of.session.resume(task, 8.0) {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            if rank == 0 {
                assert!(!matches!(error, Error::Device(DeviceError::Ranks(_))), "its own error: {error}");
                return None;
            }
            assert_eq!(Error::from(fault(error.clone())).code(), "device-lost");
            // What this rank knows is that of a later step.
            let after = of.session.known_table(of.problem, made.tables[0]).unwrap();
            assert_ne!(bits(&after), bits(&before[0]));
            assert!(after.iter().all(|value| value.is_finite()));
            Some(fault(error))
        });
        assert!(begun.elapsed() < DEADLINE, "nobody waited for the deadline");
        assert_eq!(found[1], found[2]);
        let Some(Fault::Broken { rank: 0, size: 3, message }) = &found[1] else { panic!("{:?}", found[1]) };
        assert_eq!(message == "its solve was given up", !fails, "{message}");
    }
}

#[test]
fn a_session_that_dies_in_a_solve_is_told_to_the_others() {
    let found = on_ranks(2, |ranks| {
        let dies = ranks.rank() == 1;
        let mut of = session(Precision::F64, ranks);
        mesh(&mut of);
        fault(solved(&mut of, &options(), |_, _, index| assert!(!(dies && index == 1), "rank 1 dies")).unwrap_err())
    });
    assert_eq!(found[0], Some(Fault::Gone { rank: 1, size: 2, panicked: true }));
}

#[test]
fn what_ranks_do_not_have_is_refused_and_says_what_they_have() {
    let found = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        let made = mesh(&mut of);
        let (session, problem, table) = (&mut of.session, of.problem, made.tables[0]);
        let solver = session.solver(problem, &options()).unwrap();
        let mut refused = vec![
            session.combine_tables(problem, table, &[table], &[2.0]).unwrap_err(),
            session.set_enabled(problem, 0, false).unwrap_err(),
            session.free_term(problem, 0).unwrap_err(),
            session.describe_term(problem, 0).map(drop).unwrap_err(),
            session.solve(solver, SolveMode::Step).unwrap_err(),
            session.report(solver).unwrap_err(),
            session.advance(solver, 1, 1.0).map(drop).unwrap_err(),
            session.term_costs(problem, 0).unwrap_err(),
            session.tune(problem).unwrap_err(),
            session.normals(problem, table, &[0, 1, 2]).unwrap_err(),
        ];
        // What was refused has left the problem as it was; tables are declared before the first solve.
        let cost = solve(session, problem, &options()).cost;
        refused.push(session.table(problem, "late", 1, Reals::F64(&[1.0]), true).map(drop).unwrap_err());
        // Methods are refused where all can be told.
        let other = solved(&mut of, &Options { method: Some("dogleg".into()), ..options() }, |_, _, _| {}).unwrap_err();
        assert_eq!(other.code(), "invalid-option");
        assert!(refused.iter().all(|error| error.code() == "invalid-option"), "{refused:?}");
        let again = solve(&mut of.session, of.problem, &options()).cost;
        (refused.iter().map(ToString::to_string).collect::<Vec<_>>(), cost.to_bits(), again <= cost)
    });
    assert_eq!(found[0], found[1]);
    let (refused, cost, improves) = &found[0];
    assert!(*improves);
    assert!(refused[0].contains("tables that are combined: not with several ranks"), "{}", refused[0]);
    let mut alone = on_all(2, |ranks| {
        let mut of = session(Precision::F64, ranks);
        mesh(&mut of);
        solve(&mut of.session, of.problem, &options()).cost
    });
    assert_eq!(alone.remove(0).to_bits(), *cost);
}

#[test]
fn a_session_of_one_rank_is_one_device() {
    let mut alone = Alone::new(Precision::F64);
    mesh(&mut alone);
    let expected = solve(&mut alone.session, alone.problem, &options()).cost;
    let found = on_all(1, |ranks| {
        let mut of = session(Precision::F64, ranks);
        let constant = of.table("unused", vec![leastwise::problem::Shape::Euclidean(2)], &[1.0, 2.0], false);
        mesh(&mut of);
        assert_eq!(read(&mut of.session, of.problem, constant), [1.0, 2.0]);
        solve(&mut of.session, of.problem, &options()).cost
    });
    assert!((found[0] - expected).abs() < 1e-9 * expected, "{} and {expected}", found[0]);
}
