//! Ranks that die, that are given other things, or that are asked for what they do not have.

use super::scenes::{Alone, bundle, mesh, options, ranked};
use super::{bits, on_all, on_ranks};
use crate::support::*;
use leastwise::Error;
use leastwise::collective::{DEADLINE, Fault, threads};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, DeviceError, Limits, Precision};
use leastwise::problem::Reals;
use leastwise::ranks::RankedProblem;
use leastwise::solve::Options;
use std::time::{Duration, Instant};

fn fault(error: Error) -> Fault {
    match error {
        Error::Device(DeviceError::Ranks(fault)) => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn a_rank_that_dies_leaves_the_others_the_last_accepted_step() {
    let begun = Instant::now();
    let found = on_ranks(3, |ranks| {
        let dies = ranks.rank() == 1;
        let mut problem = ranked(Precision::F64, ranks);
        let made = mesh(&mut problem);
        let solved = problem.solve_with(&options(), |step| assert!(!(dies && step.index == 1), "rank 1 dies after its second step"));
        let fault = fault(solved.unwrap_err());
        assert!(matches!(problem.read(made.tables[0]), Err(Error::Device(DeviceError::Ranks(_)))));
        let own = problem.read_own(made.tables[0]).unwrap();
        let mut device = problem.close().unwrap();
        assert_eq!(device.counters().bytes_live, 0, "memory is left");
        assert!(device.join(None).unwrap().is_none(), "the device is alone again");
        (fault, own)
    });
    assert!(begun.elapsed() < DEADLINE, "nobody waited for the deadline");
    assert!(found[1].is_none());
    let two = Options { max_iterations: Some(2.0), ..options() };
    let expected = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let made = mesh(&mut problem);
        assert!(problem.solve(&two).unwrap().report.iterations.iter().all(|step| step.accepted));
        problem.read(made.tables[0]).unwrap()
    });
    let mut values = expected[0].clone();
    for rank in [0, 2] {
        let (fault, (rows, own)) = found[rank].as_ref().unwrap();
        assert_eq!(*fault, Fault::Gone { rank: 1, size: 3, panicked: true });
        assert!(rows.len() > 10, "{} rows", rows.len());
        for (row, own) in rows.iter().zip(own.chunks(3)) {
            assert_eq!(bits(own), bits(&expected[0][3 * *row as usize..][..3]), "row {row}");
            values[3 * *row as usize..][..3].copy_from_slice(own);
        }
    }
    // The process goes on alone, with what it has, as a device that never had another.
    let mut problem = ranked(Precision::F64, threads(1, DEADLINE).remove(0));
    let made = mesh(&mut problem);
    problem.write(made.tables[0], &values, None).unwrap();
    let report = problem.solve(&options()).unwrap().report;
    let mut alone = Alone::new(Precision::F64);
    mesh(&mut alone);
    alone.session.write_table(alone.problem, made.tables[0], Reals::F64(&values), None).unwrap();
    let expected = solve(&mut alone.session, alone.problem, &options());
    assert!(report.cost < report.initial_cost);
    assert!((report.cost - expected.cost).abs() < 1e-9 * expected.cost, "{} and {}", report.cost, expected.cost);
}

#[test]
fn a_rank_that_does_not_come_ends_a_solve_after_the_time_that_was_asked_for() {
    let (within, begun) = (Duration::from_millis(150), Instant::now());
    // The second one is there, and makes no call.
    let ranks = threads(2, within);
    let mut problem = ranked(Precision::F64, ranks[0].clone());
    mesh(&mut problem);
    let error = problem.solve(&options()).unwrap_err();
    assert_eq!(error.code(), "device-lost");
    assert!(error.to_string().contains("rank 1 did not come within 0.15 s"), "{error}");
    let expected = Fault::Late { call: "terms, data or options", missing: vec![1], within };
    assert_eq!(fault(error), expected);
    assert!(begun.elapsed() < DEADLINE, "it waited longer");
    assert_eq!(ranks[1].barrier("later"), Err(expected), "whoever comes later learns of it");
}

#[test]
fn other_data_terms_options_or_edits_on_one_rank_are_told_to_all() {
    let differs = |rank| Fault::Differs { what: "terms, data or options", rank };
    let found = on_all(3, |ranks| {
        let rank = ranks.rank();
        let mut problem = ranked(Precision::F64, ranks);
        let made = mesh(&mut problem);
        let mut faults = Vec::new();
        // Other options, which can be said again.
        let few = Options { max_iterations: Some(if rank == 1 { 2.0 } else { 3.0 }), ..options() };
        faults.push(fault(problem.solve(&few).unwrap_err()));
        problem.solve(&Options { max_iterations: Some(2.0), ..options() }).unwrap();
        // Other data after that.
        let mut data = made.data.clone();
        data[5] += if rank == 2 { 1e-9 } else { 0.0 };
        problem.set_column(made.edited, 0, &data).unwrap();
        faults.push(fault(problem.solve(&options()).unwrap_err()));
        faults
    });
    assert_eq!(found, vec![vec![differs(1), differs(2)]; 3]);
    // Another problem.
    let found = on_all(2, |ranks| {
        let rank = ranks.rank();
        let mut problem = ranked(Precision::F64, ranks);
        if rank == 0 {
            mesh(&mut problem)
        } else {
            bundle(&mut problem)
        };
        fault(problem.solve(&options()).unwrap_err())
    });
    assert_eq!(found, vec![differs(1); 2]);
}

#[test]
fn options_that_one_rank_alone_would_refuse_are_told_to_all() {
    let differs = Fault::Differs { what: "terms, data or options", rank: 1 };
    let found = on_all(3, |ranks| {
        let rank = ranks.rank();
        let mut problem = ranked(Precision::F64, ranks);
        mesh(&mut problem);
        let method = (rank == 1).then(|| "dogleg".to_string());
        let found = fault(problem.solve(&Options { method, ..options() }).unwrap_err());
        (found, problem.solve(&options()).unwrap().report.cost.to_bits())
    });
    assert_eq!(found, vec![(differs, found[0].1); 3]);
}

#[test]
fn values_that_are_refused_are_refused_by_all_and_change_nothing() {
    let expected = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        bundle(&mut problem);
        problem.solve(&options()).unwrap();
        problem.solve(&options()).unwrap().report.cost.to_bits()
    });
    let found = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let made = bundle(&mut problem);
        problem.solve(&options()).unwrap();
        // Row 0 of the poses and instance 2 are not on all ranks.
        let mut data = made.data.clone();
        data[5] = f64::INFINITY;
        let errors = [
            problem.write(made.tables[0], &[0.0; 7], Some(&[0])),
            problem.write(made.tables[1], &[1.0, f64::NAN, 1.0], Some(&[3])),
            problem.set_column(made.edited, 0, &data),
        ]
        .map(|refused| refused.unwrap_err().to_string());
        (errors, problem.solve(&options()).unwrap().report.cost.to_bits())
    });
    assert_eq!(found, vec![(found[0].0.clone(), expected[0]); 3]);
    for (error, part) in found[0].0.iter().zip(["pose", "point", "pixel"]) {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_rank_that_can_not_set_up_its_part_keeps_the_reason_and_leaves_the_others_in_order() {
    let mut refused = 0;
    // From where tables do not fit to where all does.
    for bytes in [8, 9, 10, 12, 16, 20, 24, 1024].map(|kib| kib << 10) {
        let found = on_all(3, |ranks| {
            let mut limits = CpuDevice::default_limits();
            if ranks.rank() == 1 {
                limits = Limits { buffer_bytes: bytes, ..limits };
            }
            let mut problem = RankedProblem::new(Device::Cpu(CpuDevice::new(Precision::F64, limits)), ranks.clone()).unwrap();
            mesh(&mut problem);
            let solved = problem.solve(&options()).map(|report| report.report.cost.to_bits());
            (solved, ranks.barrier("after"))
        });
        assert!(found.iter().all(|(_, after)| *after == Ok(())), "{bytes} bytes: ranks go on");
        if found[1].0.is_ok() {
            assert_eq!([&found[0].0, &found[2].0], [&found[1].0; 2]);
            continue;
        }
        refused += 1;
        assert!(!matches!(found[1].0, Err(Error::Device(DeviceError::Ranks(_)))), "{bytes} bytes: {:?}", found[1].0);
        for rank in [0, 2] {
            let told = fault(found[rank].0.clone().unwrap_err());
            assert_eq!(told, Fault::Refused("rank 1 could not set up its part: it has the reason".into()));
        }
    }
    assert!((1..8).contains(&refused), "{refused} of 8");
}

#[test]
fn what_ranks_do_not_have_is_refused_with_its_name() {
    let refused = |options: Options| {
        let mut problem = ranked(Precision::F64, threads(1, DEADLINE).remove(0));
        mesh(&mut problem);
        let error = problem.solve(&options).unwrap_err();
        assert_eq!(error.code(), "invalid-option");
        error.to_string()
    };
    let text = |text: &str| Some(text.to_string());
    assert_eq!(refused(Options { method: text("dogleg"), ..Options::default() }), "method: ranks have \"lm\" alone");
    assert_eq!(refused(Options { linear: text("schur"), ..Options::default() }), "linear: ranks have \"pcg\" and \"schur-pcg\" alone");
    let two_level = Options { preconditioner: text("two-level"), ..Options::default() };
    assert_eq!(refused(two_level), "preconditioner: ranks have \"block-jacobi\" and \"schur-jacobi\" alone");
    // Too few instances, on all ranks; and a table that comes late.
    let found = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let table = problem.table("x", vec![leastwise::problem::Shape::Euclidean(1)], &[1.0, 2.0], true).unwrap();
        let mut tape = Tape::default();
        let outputs = [tape.input(0)];
        let slots = vec![leastwise::problem::Slot { table, column: 0 }];
        let indices = vec![vec![0, 1]];
        problem.term(&leastwise::problem::TermSpec { indices, slots, tape: &tape.words, outputs: &outputs, ..plain("r", 2) }).unwrap();
        problem.solve(&options()).unwrap_err().to_string()
    });
    assert!(found.iter().all(|message| message.starts_with("2 instances can't be divided among 3 ranks: rank ")), "{found:?}");
    let mut problem = ranked(Precision::F64, threads(1, DEADLINE).remove(0));
    mesh(&mut problem);
    problem.solve(&options()).unwrap();
    let late = problem.table("late", vec![leastwise::problem::Shape::Euclidean(1)], &[1.0], true).unwrap_err();
    assert!(late.to_string().contains("declared before the first solve"), "{late}");
    // WebGPU is no rank.
    let gpu = leastwise::device::wgpu::WgpuDevice::open_blocking(None).expect("a WebGPU adapter");
    let refused = RankedProblem::new(Device::Wgpu(Box::new(gpu)), threads(1, DEADLINE).remove(0)).err().expect("a refusal").to_string();
    assert_eq!(refused, "ranks exchange numbers on backends \"cpu\" and \"cuda\", not on \"webgpu\"");
}
