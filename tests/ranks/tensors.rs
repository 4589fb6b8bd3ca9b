//! Sums of tensors over ranks, against sums that are added by hand.

use super::scenes::{mesh, options};
use super::sessions::{fault, session as alone_of_ranks};
use super::{bits, on_all, on_ranks};
use crate::support::*;
use leastwise::Error;
use leastwise::collective::{Communicator, DEADLINE, Fault, Kind, threads};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Precision};
use leastwise::problem::Reals;
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::tensor::ranked::MESSAGE;
use std::sync::Arc;

/// Shapes of one call: no element, one, an axis that is empty, and more than a message has.
const SHAPES: [&[u32]; 7] = [&[], &[0], &[1], &[3, 5], &[4, 0, 2], &[257, 1031], &[1 << 20, 1]];

pub(super) fn session(precision: Precision, ranks: Arc<dyn Communicator>) -> Session {
    let mut of = alone_of_ranks(precision, ranks);
    of.session.free_problem(of.problem);
    of.session
}

pub(super) fn len(shape: &[u32]) -> usize {
    shape.iter().product::<u32>() as usize
}

/// Elements of a rank's tensor, as its precision has them.
pub(super) fn elements(rank: u32, tensor: usize, shape: &[u32], double: bool) -> Vec<f64> {
    let mut random = Random::new(1 + 31 * u64::from(rank) + tensor as u64);
    let round = |value: f64| if double { value } else { f64::from(value as f32) };
    (0..len(shape)).map(|_| round(random.between(-1.0, 1.0))).collect()
}

pub(super) fn stored(session: &mut Session, values: &[f64], shape: &[u32], double: bool) -> u32 {
    session.tensor(Reals::F64(values), shape, double).unwrap()[0]
}

/// Runs a task to its end or to its error.
pub(super) fn ended(session: &mut Session, task: u32) -> Result<Vec<f64>, Error> {
    loop {
        if let Progress::Values(values) = session.resume(task, 8.0)? {
            return Ok(values);
        }
    }
}

/// Ids and shapes of packed tensors.
pub(super) fn unpacked(packed: &[f64]) -> Vec<(u32, Vec<u32>)> {
    let (mut at, mut made) = (0, Vec::new());
    while at < packed.len() {
        let axes = packed[at + 1] as usize;
        made.push((packed[at] as u32, packed[at + 2..at + 2 + axes].iter().map(|size| *size as u32).collect()));
        at += 2 + axes;
    }
    made
}

pub(super) fn read(session: &mut Session, tensor: u32) -> Vec<f64> {
    let task = session.evaluate_tensors(&[], &[tensor]).unwrap();
    ended(session, task).unwrap()
}

/// Shape and elements of a tensor.
type Elements = (Vec<u32>, Vec<f64>);

/// Sums of tensors, or means, which are read and let go of, with their shapes.
fn summed(session: &mut Session, tensors: &[u32], mean: bool) -> Result<Vec<Elements>, Error> {
    let task = session.sum_over_ranks(Some(tensors), mean)?;
    let made = unpacked(&ended(session, task)?);
    let values = made.iter().map(|(id, shape)| (shape.clone(), read(session, *id))).collect();
    session.release_tensors(&made.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    Ok(values)
}

#[test]
fn sums_are_added_in_the_order_of_ranks_and_have_the_same_bits_on_all() {
    assert!(SHAPES.iter().map(|shape| len(shape)).sum::<usize>() > MESSAGE as usize);
    // Tensors in the engine's precision and, by threads, in the other one.
    for (size, precision, double) in [
        (1, Precision::F64, true),
        (2, Precision::F32, false),
        (3, Precision::F64, true),
        (4, Precision::F64, false),
        (2, Precision::F32, true),
    ] {
        let of = |rank: u32| SHAPES.iter().enumerate().map(|(tensor, shape)| elements(rank, tensor, shape, double)).collect::<Vec<_>>();
        let all: Vec<_> = (0..size).map(of).collect();
        let found = on_all(size, |ranks| {
            let (rank, mut session) = (ranks.rank(), session(precision, ranks.clone()));
            let tensors: Vec<u32> =
                all[rank as usize].iter().zip(SHAPES).map(|(values, shape)| stored(&mut session, values, shape, double)).collect();
            let before = ranks.traffic().of(Kind::Reduce).given;
            let sums = summed(&mut session, &tensors, false).unwrap();
            let given = ranks.traffic().of(Kind::Reduce).given - before;
            let means = summed(&mut session, &tensors, true).unwrap();
            // The tensors themselves are as they were.
            assert_eq!(read(&mut session, tensors[3]), all[rank as usize][3]);
            session.release_tensors(&tensors);
            session.trim_tensors().unwrap();
            assert_eq!(session.tensor_statistics().pool.live, 0, "buffers are left");
            (sums, means, given)
        });
        for (sums, means, given) in &found {
            let reals = SHAPES.iter().map(|shape| len(shape) as u64).sum::<u64>();
            assert_eq!(*given, reals * if double { 8 } else { 4 }, "one real an element");
            for (tensor, shape) in SHAPES.iter().enumerate() {
                assert_eq!((&sums[tensor].0[..], &means[tensor].0[..]), (*shape, *shape));
                assert_eq!(bits(&means[tensor].1), bits(&found[0].1[tensor].1), "means on all ranks");
                for place in 0..len(shape) {
                    let sum = all.iter().skip(1).fold(all[0][tensor][place], |sum, of_rank| sum + of_rank[tensor][place]);
                    let expected = if double { sum } else { f64::from(sum as f32) };
                    assert_eq!(sums[tensor].1[place].to_bits(), expected.to_bits(), "{size} ranks, tensor {tensor}, element {place}");
                    let (mean, epsilon) = (means[tensor].1[place], if double { f64::EPSILON } else { f32::EPSILON.into() });
                    assert!((mean - expected / f64::from(size)).abs() <= epsilon * mean.abs(), "{mean}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_computed_yet_is_computed_first_and_no_gradient_goes_through() {
    let found = on_all(2, |ranks| {
        let (rank, mut session) = (f64::from(ranks.rank()), session(Precision::F64, ranks));
        let x = stored(&mut session, &[1.0 + rank, 2.0, -3.0 - rank], &[3], true);
        let square = session.tensor_operation("mul", &[x, x], &[], true).unwrap()[0];
        let product = session.tensor_operation("mul", &[square, x], &[], true).unwrap()[0];
        // One is there already, and two are the same.
        ended_evaluation(&mut session, square);
        let task = session.sum_over_ranks(Some(&[square, product, product]), false).unwrap();
        // Handles may go as soon as it was begun.
        session.release_tensors(&[square, product]);
        let sums = unpacked(&ended(&mut session, task).unwrap());
        let total = session.tensor_operation("sum", &[sums[0].0], &[0.0], true).unwrap()[0];
        let refused = session.tensor_gradient(total, &[x]).unwrap_err().code();
        (sums.iter().map(|(id, _)| read(&mut session, *id)).collect::<Vec<_>>(), refused)
    });
    let cubes = vec![1.0 + 8.0, 16.0, -27.0 - 64.0];
    for (sums, refused) in found {
        assert_eq!(sums, [vec![1.0 + 4.0, 8.0, 9.0 + 16.0], cubes.clone(), cubes.clone()]);
        assert_eq!(refused, "shape");
    }
}

fn ended_evaluation(session: &mut Session, tensor: u32) {
    let task = session.evaluate_tensors(&[tensor], &[]).unwrap();
    ended(session, task).unwrap();
}

#[test]
fn ranks_with_other_tensors_are_told_and_all_can_go_on() {
    let found = on_all(3, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F32, ranks));
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let fine = stored(&mut session, &values, &[3, 4], false);
        let turned = stored(&mut session, &values, &[4, 3], false);
        let whole = session.tensor_integers(&[1, 2], &[2], false).unwrap()[0];
        let half = session.tensor_halves(Reals::F64(&values), &[3, 4]).unwrap()[0];
        let gone = stored(&mut session, &values, &[3, 4], false);
        session.release_tensors(&[gone]);
        let mut refusals = Vec::new();
        let mut refused = |session: &mut Session, tensors: Option<&[u32]>, mean: bool| {
            let task = session.sum_over_ranks(tensors, mean).unwrap();
            let error = ended(session, task).unwrap_err();
            refusals.push((error.code(), error.to_string()));
        };
        let by = |odd: u32, tensor: u32| if rank == odd { [tensor] } else { [fine] };
        refused(&mut session, Some(&by(1, turned)), false);
        refused(&mut session, Some(&[fine, fine][..if rank == 2 { 2 } else { 1 }]), false);
        refused(&mut session, Some(&[fine]), rank == 1);
        refused(&mut session, Some(&by(1, whole)), false);
        refused(&mut session, Some(&[half]), true);
        refused(&mut session, Some(&by(0, gone)), true);
        refused(&mut session, Some(&[fine][..]).filter(|_| rank != 2), true);
        let sums = summed(&mut session, &[fine], false).unwrap();
        assert_eq!(sums[0].1, values.iter().map(|value| 3.0 * value).collect::<Vec<_>>());
        refusals
    });
    let differs = |rank| format!("rank {rank} has other shapes of tensors than rank 0: all ranks must declare the same");
    let none = |rank| format!("rank {rank} could not set up its part: it has the reason");
    for (rank, found) in found.iter().enumerate() {
        assert_eq!(found[0], ("invalid-option", differs(1)));
        assert_eq!(found[1], ("invalid-option", differs(2)));
        assert_eq!(found[2], ("invalid-option", differs(1)));
        for (call, odd, code) in [(3, 1, "dtype"), (5, 0, "disposed"), (6, 2, "invalid-option")] {
            let (own, message) = &found[call];
            assert_eq!(*own, if rank == odd { code } else { "invalid-option" }, "call {call}");
            assert_eq!(*message == none(odd), rank != odd, "call {call}: {message}");
        }
        assert_eq!(found[4].0, "dtype");
    }
}

/// Ranks go on with two sums and a solve, each in an order of its own.
#[test]
fn sums_and_solves_take_turns_in_the_order_in_which_they_were_begun() {
    let run = |ranks: Arc<dyn Communicator>, in_turn: bool| {
        let (rank, mut of) = (ranks.rank(), alone_of_ranks(Precision::F64, ranks));
        let made = mesh(&mut of);
        let solver = of.session.solver(of.problem, &options()).unwrap();
        let tensors = [0, 1].map(|tensor| stored(&mut of.session, &elements(rank, tensor, &[1000], true), &[1000], true));
        let first = of.session.sum_over_ranks(Some(&tensors[..1]), false).unwrap();
        let solve = of.session.solve(solver, SolveMode::Solve).unwrap();
        let second = of.session.sum_over_ranks(Some(&tensors[1..]), true).unwrap();
        let (tasks, mut sums, mut cost) = ([first, solve, second], [None, None], None);
        for turn in rank as usize.. {
            let left = tasks.iter().position(|task| of.session.has_task(*task));
            let Some(next) = left else { break };
            let which = if in_turn { next } else { turn % 3 };
            if of.session.has_task(tasks[which]) {
                match of.session.resume(tasks[which], 1.0).unwrap() {
                    Progress::Values(packed) => sums[which / 2] = Some(unpacked(&packed)[0].0),
                    Progress::Report(report) => cost = Some(report.cost),
                    _ => {}
                }
            }
        }
        let sums = sums.map(|sum| read(&mut of.session, sum.unwrap()));
        (bits(&sums.concat()), cost.unwrap().to_bits(), crate::support::read(&mut of.session, of.problem, made.tables[0]))
    };
    let expected = on_all(3, |ranks| run(ranks, true));
    let found = on_all(3, |ranks| run(ranks, false));
    for of_rank in &found {
        assert_eq!(*of_rank, expected[0]);
    }
}

#[test]
fn a_session_that_is_no_rank_has_its_own_tensors() {
    let devices = [0, 1].map(|_| Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits())));
    let over_devices = Session::over_devices(devices.into(), threads(2, DEADLINE)).unwrap();
    for mut session in [cpu(Precision::F64), over_devices] {
        let values = elements(0, 0, &[5, 7], true);
        let tensor = stored(&mut session, &values, &[5, 7], true);
        for mean in [false, true] {
            assert_eq!(summed(&mut session, &[tensor], mean).unwrap(), [(vec![5, 7], values.clone())]);
        }
        assert_eq!(session.sum_over_ranks(None, true).unwrap_err().code(), "invalid-option");
        session.release_tensors(&[tensor]);
        assert_eq!(session.sum_over_ranks(Some(&[tensor]), true).unwrap_err().code(), "disposed");
    }
}

#[test]
fn a_rank_that_gives_a_sum_up_or_is_gone_ends_those_of_all() {
    let given_up = on_ranks(2, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks));
        let tensor = stored(&mut session, &[1.0], &[1], true);
        let task = session.sum_over_ranks(Some(&[tensor]), false).unwrap();
        if rank == 1 {
            session.cancel(task);
            return None;
        }
        Some(fault(ended(&mut session, task).unwrap_err()))
    });
    let expected = Fault::Broken { rank: 1, size: 2, message: "its sum of tensors was given up".into() };
    assert_eq!(given_up[0], Some(Some(expected)));
    let gone = on_ranks(2, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks));
        let tensor = stored(&mut session, &[1.0], &[1], true);
        (rank == 0).then(|| fault(summed(&mut session, &[tensor], false).unwrap_err()))
    });
    assert_eq!(gone[0], Some(Some(Fault::Gone { rank: 1, size: 2, panicked: false })));
}
