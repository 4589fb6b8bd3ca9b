//! Sums of tensors over ranks: their bits are those of the CPU's.

use super::{Over, bits, on_all};
use crate::support::{Random, finish};
use leastwise::collective::{Communicator, Kind};
use leastwise::device::{Device, Precision};
use leastwise::problem::Reals;
use leastwise::session::{Progress, Session};
use std::sync::Arc;

/// Elements of tensors; all together they are more than a message has.
const LENGTHS: [u32; 5] = [1, 0, 300, 700_001, 500_000];

fn values(session: &mut Session, task: u32) -> Vec<f64> {
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

/// Bits of sums, and of means, of tensors that are stored and of one that is computed.
fn summed(device: Device, ranks: Arc<dyn Communicator>, double: bool) -> [Vec<u64>; 2] {
    let mut random = Random::new(3 + u64::from(ranks.rank()));
    let mut session = Session::over_ranks(device, ranks).unwrap();
    let mut tensors = Vec::new();
    for len in LENGTHS {
        let elements: Vec<f64> = (0..len).map(|_| random.between(-1.0, 1.0)).collect();
        tensors.push(session.tensor(Reals::F64(&elements), &[len], double).unwrap()[0]);
    }
    tensors.push(session.tensor_operation("mul", &[tensors[3], tensors[3]], &[], double).unwrap()[0]);
    let mut found = [false, true].map(|mean| {
        // Twice: the second time what is kept of the exchange is used again.
        [0, 1].map(|_| {
            let task = session.sum_over_ranks(Some(&tensors), mean).unwrap();
            // An id, one axis and its size of each.
            let made: Vec<u32> = values(&mut session, task).chunks_exact(3).map(|packed| packed[0] as u32).collect();
            let task = session.evaluate_tensors(&[], &made).unwrap();
            let read = bits(&values(&mut session, task));
            session.release_tensors(&made);
            read
        })
    });
    assert!(found.iter().all(|[first, second]| first == second));
    found.each_mut().map(|[first, _]| std::mem::take(first))
}

fn sums_agree(over: Over, sizes: &[u32]) {
    for (precision, double) in [(Precision::F64, true), (Precision::F32, false)] {
        for &size in sizes {
            let run = |over| on_all(over, size, precision, |device, ranks| summed(device, ranks, double));
            let [expected, found] = [Over::Cpu, over].map(run);
            for [sums, means] in &found {
                assert!(*sums == expected[0][0], "{over:?}, {precision:?}, {size} ranks");
                assert!(*means == found[0][1], "{over:?}, {precision:?}, {size} ranks: means");
            }
        }
    }
}

#[test]
fn sums_of_tensors_of_ranks_on_one_gpu_have_the_bits_of_the_cpu() {
    sums_agree(Over::Host, &[1, 2, 3]);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn sums_of_tensors_over_nccl_have_the_bits_of_the_cpu() {
    sums_agree(Over::Nccl, &[2]);
}

/// Bits of parameters and losses of steps whose gradients are of one operation each, which the CPU rounds alike: two messages go while
/// kernels are still to come.
fn trained(device: Device, ranks: Arc<dyn Communicator>, double: bool) -> Vec<u64> {
    const LENGTHS: [u32; 4] = [70_001, 1, 300, 80_003];
    let mut random = Random::new(30 + u64::from(ranks.rank()));
    let mut session = Session::over_ranks(device, ranks.clone()).unwrap();
    let mut parameters: Vec<u32> =
        LENGTHS.map(|len| session.tensor(Reals::F64(&vec![0.5; len as usize]), &[len], double).unwrap()[0]).into();
    let mut found = Vec::new();
    // From the third step on what is played is a graph.
    for _ in 0..6 {
        let mut gradients = Vec::new();
        for (len, parameter) in LENGTHS.iter().zip(&parameters) {
            let batch: Vec<f64> = (0..*len).map(|_| random.between(-1.0, 1.0)).collect();
            let batch = session.tensor(Reals::F64(&batch), &[*len], double).unwrap()[0];
            gradients.push(session.tensor_operation("mul", &[batch, *parameter], &[], double).unwrap()[0]);
            session.release_tensors(&[batch]);
        }
        let before = [Kind::Gather, Kind::Reduce].map(|kind| ranks.traffic().of(kind).calls);
        let packed = session.means_over_ranks(&gradients, 0).unwrap();
        let means: Vec<u32> = packed.chunks_exact(3).map(|packed| packed[0]).collect();
        let next: Vec<u32> = (parameters.iter().zip(&means))
            .map(|(parameter, mean)| session.tensor_operation("sub", &[*parameter, *mean], &[], double).unwrap()[0])
            .collect();
        let task = session.evaluate_tensors(&next, &means[3..]).unwrap();
        for gone in [&gradients, &means, &parameters] {
            session.release_tensors(gone);
        }
        found.extend(bits(&values(&mut session, task)));
        let calls = [Kind::Gather, Kind::Reduce].map(|kind| ranks.traffic().of(kind).calls);
        assert_eq!([calls[0] - before[0], calls[1] - before[1]], [1, 2], "one call, and two messages within the evaluation");
        parameters = next;
    }
    let task = session.evaluate_tensors(&[], &parameters).unwrap();
    found.extend(bits(&values(&mut session, task)));
    found
}

fn training_agrees(over: Over, sizes: &[u32]) {
    for (precision, double) in [(Precision::F64, true), (Precision::F32, false)] {
        for &size in sizes {
            let [expected, found] =
                [Over::Cpu, over].map(|over| on_all(over, size, precision, |device, ranks| trained(device, ranks, double)));
            assert!(expected == found, "{over:?}, {precision:?}, {size} ranks");
        }
    }
}

#[test]
fn steps_by_ranks_on_one_gpu_have_the_bits_of_the_cpu() {
    training_agrees(Over::Host, &[1, 2]);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn steps_over_nccl_have_the_bits_of_the_cpu() {
    training_agrees(Over::Nccl, &[2]);
}

/// An engine in f64 sums tensors of f32 on its second device, and one in f32 those of f64.
#[test]
#[ignore = "needs two GPUs and NCCL"]
fn sums_of_tensors_in_the_other_precision_over_nccl_have_the_bits_of_the_cpu() {
    for (precision, double) in [(Precision::F64, false), (Precision::F32, true)] {
        let run = |over| on_all(over, 2, precision, |device, ranks| summed(device, ranks, double));
        let [expected, found] = [Over::Cpu, Over::Nccl].map(run);
        for [sums, means] in &found {
            assert!(*sums == expected[0][0], "an engine in {precision:?}");
            assert!(*means == expected[0][1], "an engine in {precision:?}: means");
        }
    }
}

/// Sums in both precisions by turns, between which a rank has none to give: all others hear of it, and all can go on.
#[test]
#[ignore = "needs two GPUs and NCCL"]
fn sums_over_nccl_in_both_precisions_take_turns() {
    let found = on_all(Over::Nccl, 2, Precision::F64, |device, ranks| {
        let rank = ranks.rank();
        let mut session = Session::over_ranks(device, ranks.clone()).unwrap();
        let own = f64::from(rank);
        let [single, double] = [false, true].map(|double| session.tensor(Reals::F64(&[1.0 + own, 2.0 - own]), &[2], double).unwrap()[0]);
        let mut seen = Vec::new();
        for tensor in [single, double, single, double] {
            let task = session.sum_over_ranks(Some(&[tensor]), false).unwrap();
            let made = values(&mut session, task)[0] as u32;
            let task = session.evaluate_tensors(&[], &[made]).unwrap();
            seen.push(values(&mut session, task));
            let task = session.sum_over_ranks((rank == 0).then_some(&[tensor][..]), false).unwrap();
            let error = loop {
                if let Err(error) = session.resume(task, 8.0) {
                    break error;
                }
            };
            assert_eq!(error.code(), "invalid-option", "{error}");
        }
        (seen, ranks.traffic().of(Kind::Reduce).given)
    });
    for (seen, given) in found {
        assert_eq!(seen, vec![vec![3.0; 2]; 4]);
        // Two sums of two reals of 4 bytes and of 8: those of the second device count, too.
        assert!(given >= 2 * (2 * 4 + 2 * 8), "{given} bytes");
    }
}
