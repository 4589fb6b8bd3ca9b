//! Sums over ranks that are exchanged within the evaluation of their tensors, against those that are exchanged after it; and what is
//! evaluated of sums in the same task.

use super::sessions::fault;
use super::tensors::{elements, ended, len, read, session, stored, unpacked};
use super::{bits, on_all};
use leastwise::Error;
use leastwise::collective::{Communicator, DEADLINE, Fault, Kind, threads};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Command, Device, Limits, Precision};
use leastwise::program::fused::Fold;
use leastwise::session::Session;
use leastwise::tensor::graph::{Data, Node};
use leastwise::tensor::ranked::{LEAST, MESSAGE, Message, messages};
use leastwise::tensor::runtime::{Devices, Next, Tensors};
use std::sync::Arc;

/// Shapes of a network's weights: the gradients of the first two are a message each, that of the last one is too short for one.
const WEIGHTS: [[u32; 2]; 3] = [[300, 301], [301, 300], [300, 7]];
const BATCH: u32 = 3;

/// Calls of all ranks so far: those that compare or tell, and messages of sums.
fn calls(ranks: &dyn Communicator) -> [u64; 2] {
    [Kind::Gather, Kind::Reduce].map(|kind| ranks.traffic().of(kind).calls)
}

/// Calls that something made.
fn since(ranks: &dyn Communicator, before: [u64; 2]) -> [u64; 2] {
    let now = calls(ranks);
    [now[0] - before[0], now[1] - before[1]]
}

/// Weights that all ranks have alike, smaller the more of them are added up.
fn weights(session: &mut Session, double: bool) -> Vec<u32> {
    let weight = |(layer, shape): (usize, &[u32; 2])| {
        let values: Vec<f64> = elements(9, layer, shape, double).iter().map(|value| value / 16.0).collect();
        stored(session, &values, shape, double)
    };
    WEIGHTS.iter().enumerate().map(weight).collect()
}

/// Loss of a rank's own batch, and its gradients with respect to the weights.
fn losses(session: &mut Session, rank: u32, weights: &[u32], double: bool) -> Vec<u32> {
    let shape = [BATCH, WEIGHTS[0][0]];
    let mut x = stored(session, &elements(rank, 50, &shape, double), &shape, double);
    let mut made = vec![x];
    for weight in weights {
        let product = session.tensor_operation("matmul", &[x, *weight], &[], double).unwrap()[0];
        x = session.tensor_operation("tanh", &[product], &[], double).unwrap()[0];
        made.extend([product, x]);
    }
    let square = session.tensor_operation("mul", &[x, x], &[], double).unwrap()[0];
    let loss = session.tensor_operation("sum", &[square], &[0.0], double).unwrap()[0];
    let packed = session.tensor_gradient(loss, weights).unwrap();
    session.release_tensors(&made);
    session.release_tensors(&[square]);
    [loss].into_iter().chain(ids(packed)).collect()
}

/// Ids of packed tensors.
fn ids(packed: Vec<u32>) -> Vec<u32> {
    unpacked(&packed.into_iter().map(f64::from).collect::<Vec<_>>()).into_iter().map(|(id, _)| id).collect()
}

fn computed(session: &mut Session, tensors: &[u32]) {
    let task = session.evaluate_tensors(tensors, &[]).unwrap();
    ended(session, task).unwrap();
}

/// Bits of sums, which are let go of.
fn summed(session: &mut Session, tensors: &[u32]) -> Vec<Vec<u64>> {
    let task = session.sum_over_ranks(Some(tensors), false).unwrap();
    let made: Vec<u32> = unpacked(&ended(session, task).unwrap()).iter().map(|(id, _)| *id).collect();
    let values = made.iter().map(|id| bits(&read(session, *id))).collect();
    session.release_tensors(&made);
    values
}

fn nothing_is_left(session: &mut Session) {
    session.trim_tensors().unwrap();
    assert_eq!(session.tensor_statistics().pool.live, 0, "buffers are left");
}

#[test]
fn messages_go_as_soon_as_they_are_worth_it_and_have_every_element_once() {
    let long = MESSAGE + 5;
    let tensors = [(4, 1), (1, LEAST - 1), (2, 0), (2, 3), (7, long), (7, 2), (9, 10)];
    let found = messages(&tensors);
    // The second and the fourth together are enough; one of a message's length goes at once, and the rest with what is left.
    assert_eq!(found.iter().map(|message| message.step).collect::<Vec<_>>(), [2, 7, 9]);
    assert_eq!(found.iter().map(Message::len).collect::<Vec<_>>(), [LEAST + 2, MESSAGE, 18]);
    let mut next = [0; 7];
    for message in &found {
        let mut at = 0;
        for part in &message.parts {
            assert_eq!((part.at, part.first), (at, next[part.tensor as usize]));
            (at, next[part.tensor as usize]) = (at + part.len, part.first + part.len);
        }
    }
    assert_eq!(next, tensors.map(|(_, len)| len));
    assert_eq!(messages(&[(0, 0), (3, 0)]), []);
    // What is completed by one step goes together.
    assert_eq!(messages(&[(1, LEAST), (1, LEAST)]).len(), 1);
    // Steps may be others on other ranks, parts may not.
    let moved = messages(&[(5, LEAST), (6, LEAST)]);
    assert_eq!(Message::fingerprint(&moved), Message::fingerprint(&messages(&[(1, LEAST), (9, LEAST)])));
    assert_ne!(Message::fingerprint(&moved), Message::fingerprint(&messages(&[(6, LEAST), (5, LEAST)])));
    assert_ne!(Message::fingerprint(&moved), Message::fingerprint(&messages(&[(1, LEAST), (1, LEAST)])));
}

/// A recording has each exchange behind what it sends, and before kernels that are still to come.
#[test]
fn exchanges_stand_between_the_kernels_of_a_recording() {
    let mut device = Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits()));
    device.join(Some(threads(1, DEADLINE).remove(0))).unwrap();
    let mut tensors = Tensors::new(4);
    let graph = &mut tensors.graph;
    let mut leaf = |layer: usize, shape: &[u32]| {
        let node = graph.stored(Data::Doubles(elements(0, layer, shape, false)), shape.to_vec());
        graph.hold(node)
    };
    let (input, weights) = (leaf(50, &[BATCH, WEIGHTS[0][0]]), [0, 1, 2].map(|layer| leaf(layer, &WEIGHTS[layer])));
    let made = graph.made(|graph| {
        let mut x = input;
        for weight in weights {
            let product = graph.matmul(x, weight)?;
            x = graph.apply("tanh", &[product])?;
        }
        let square = graph.apply("mul", &[x, x])?;
        let loss = graph.reduce("sum", Fold::Sum, square, &[0.0, 1.0], false)?;
        let mut all = vec![loss];
        all.extend(graph.gradient(loss, &weights)?);
        Ok::<_, Error>(all)
    });
    let made: Vec<Node> = made.unwrap();
    let mut devices = Devices { main: &mut device, cpu: None };
    let mut evaluation = tensors.evaluate(&mut devices, &made, &[]).unwrap();
    let (sums, _) = tensors.exchange_within(&mut devices, &mut evaluation, &made).unwrap().expect("all of them are computed on the device");
    let Next::Run(_, mut recording) = tensors.advance(&mut devices, &mut evaluation, Vec::new()).unwrap() else {
        panic!("nothing to play")
    };
    let places = |is: &dyn Fn(&Command) -> bool| -> Vec<usize> {
        recording.commands.iter().enumerate().filter(|(_, command)| is(command)).map(|(place, _)| place).collect()
    };
    let kernels = places(&|command| matches!(command, Command::Dispatch(_)));
    let sent = places(&|command| matches!(command, Command::Collective(collective) if collective.in_background));
    let awaited = places(&|command| matches!(command, Command::Await(_)));
    assert_eq!((sent.len(), awaited.len()), (2, 2), "the loss with the last two gradients, and the first one");
    assert!(sent[0] < *kernels.last().unwrap(), "kernels are left when the first message goes");
    assert!(sent[0] > kernels[WEIGHTS.len()], "its tensors are computed before");
    assert!(sent[1] > *kernels.last().unwrap());
    assert!(awaited.iter().zip(&sent).all(|(awaited, sent)| awaited > sent && awaited > kernels.last().unwrap()));
    // Without exchanges it is the evaluation alone.
    let kept = recording.commands.iter().filter(|command| matches!(command, Command::Dispatch(_) | Command::UploadReals { .. }));
    let kept = kept.count() + recording.commands.iter().filter(|command| matches!(command, Command::UploadIndices { .. })).count();
    tensors.leave_out(&mut recording, sums);
    assert_eq!(recording.commands.len(), kept);
}

#[test]
fn sums_within_the_evaluation_have_the_bits_of_those_after_it() {
    for (size, precision) in [(1, Precision::F64), (2, Precision::F32), (3, Precision::F64), (4, Precision::F32), (4, Precision::F64)] {
        let double = precision == Precision::F64;
        let found = on_all(size, |ranks| {
            let (rank, mut session) = (ranks.rank(), session(precision, ranks.clone()));
            let weights = weights(&mut session, double);
            let given = losses(&mut session, rank, &weights, double);
            let before = calls(&*ranks);
            let within = summed(&mut session, &given);
            assert_eq!(since(&*ranks, before), [1, 2], "one call, and two messages between the kernels");
            // What is computed already has nothing to be exchanged between.
            let before = calls(&*ranks);
            let after = summed(&mut session, &given);
            assert_eq!(since(&*ranks, before), [2, 1], "{size} ranks");
            // The tensors themselves are those of this rank.
            let own: Vec<_> = given.iter().map(|id| bits(&read(&mut session, *id))).collect();
            session.release_tensors(&given);
            session.release_tensors(&weights);
            nothing_is_left(&mut session);
            (within, after, own)
        });
        let value = |word: u64| f64::from_bits(word);
        for (within, after, _) in &found {
            assert!(within == after && *within == found[0].0, "{size} ranks, {precision:?}");
            for (tensor, sums) in within.iter().enumerate() {
                assert!(sums.len() == if tensor == 0 { 1 } else { len(&WEIGHTS[tensor - 1]) } && sums.iter().any(|sum| value(*sum) != 0.0));
                for (place, sum) in sums.iter().enumerate() {
                    let own = found.iter().map(|(_, _, own)| value(own[tensor][place]));
                    let expected = own.reduce(|sum, own| sum + own).unwrap();
                    let expected = if double { expected } else { f64::from(expected as f32) };
                    assert_eq!(expected.to_bits(), *sum, "{size} ranks, tensor {tensor}, element {place}");
                }
            }
        }
    }
}

/// Tensors that some or all ranks have computed before, from none to all of them.
#[test]
fn ranks_that_have_computed_others_before_exchange_after_the_evaluation() {
    // By rank, what is computed before: the loss is 0, gradients are from 1 on. Then the calls that follow.
    let cases: [([&[usize]; 3], [u64; 2]); 5] = [
        ([&[0], &[0], &[0]], [1, 2]),
        // The last gradient comes first anyway, and so do all messages.
        ([&[0, 3], &[], &[0]], [1, 2]),
        ([&[1], &[], &[]], [2, 1]),
        ([&[0, 1, 2, 3], &[], &[2]], [2, 1]),
        ([&[0, 1, 2, 3], &[0, 1, 2, 3], &[0, 1, 2, 3]], [2, 1]),
    ];
    let found = on_all(3, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks.clone()));
        let weights = weights(&mut session, true);
        let mut all = Vec::new();
        for (of_ranks, expected) in cases {
            let given = losses(&mut session, rank, &weights, true);
            let some: Vec<u32> = of_ranks[rank as usize].iter().map(|tensor| given[*tensor]).collect();
            if !some.is_empty() {
                computed(&mut session, &some);
            }
            let before = calls(&*ranks);
            all.push(summed(&mut session, &given));
            assert_eq!(since(&*ranks, before), expected, "{of_ranks:?}");
            session.release_tensors(&given);
        }
        session.release_tensors(&weights);
        nothing_is_left(&mut session);
        all
    });
    for of_rank in &found {
        // Values of what is computed apart may be rounded otherwise: each case is compared among ranks, those by one plan also with each other.
        assert!(*of_rank == found[0]);
    }
}

/// Steps of gradient descent by means over ranks, each one task of all, and by sums that are asked for one after the other.
#[test]
fn a_training_step_is_one_task_with_the_bits_of_its_parts() {
    for (size, precision) in [(1, Precision::F32), (2, Precision::F64), (3, Precision::F32)] {
        let double = precision == Precision::F64;
        let found = on_all(size, |ranks| {
            let (rank, mut session) = (ranks.rank(), session(precision, ranks.clone()));
            let runs = [true, false].map(|is_one| {
                let rate = stored(&mut session, &[1.0 / 256.0], &[], double);
                let mut weights = weights(&mut session, double);
                let mut seen = Vec::new();
                for _ in 0..3 {
                    let given = losses(&mut session, rank, &weights, double);
                    let before = calls(&*ranks);
                    let means = if is_one {
                        ids(session.means_over_ranks(&given, 0).unwrap())
                    } else {
                        let task = session.sum_over_ranks(Some(&given), true).unwrap();
                        unpacked(&ended(&mut session, task).unwrap()).into_iter().map(|(id, _)| id).collect()
                    };
                    session.release_tensors(&given);
                    let next: Vec<u32> = weights
                        .iter()
                        .zip(&means[1..])
                        .map(|(weight, mean)| {
                            let step = session.tensor_operation("mul", &[rate, *mean], &[], double).unwrap()[0];
                            let next = session.tensor_operation("sub", &[*weight, step], &[], double).unwrap()[0];
                            session.release_tensors(&[step]);
                            next
                        })
                        .collect();
                    let task = session.evaluate_tensors(&next, &means[..1]).unwrap();
                    session.release_tensors(&means[1..]);
                    let loss = ended(&mut session, task).unwrap();
                    assert_eq!(since(&*ranks, before), [1, 2]);
                    assert_eq!(loss.len(), 1);
                    session.release_tensors(&means[..1]);
                    session.release_tensors(&weights);
                    weights = next;
                    seen.push(loss[0].to_bits());
                    seen.extend(weights.iter().flat_map(|weight| bits(&read(&mut session, *weight))));
                }
                session.release_tensors(&weights);
                session.release_tensors(&[rate]);
                seen
            });
            nothing_is_left(&mut session);
            assert!(runs[0] == runs[1], "{size} ranks");
            runs
        });
        let loss = |step: usize| f64::from_bits(found[0][0][step * found[0][0].len() / 3]);
        assert!(loss(1) < loss(0) && loss(2) < loss(1), "{} {} {}", loss(0), loss(1), loss(2));
        assert!(found.iter().all(|runs| runs[0] == found[0][0]));
    }
}

#[test]
fn means_of_functions_of_means_are_computed_in_turn_and_no_gradient_goes_through() {
    let found = on_all(2, |ranks| {
        let (rank, mut session) = (f64::from(ranks.rank()), session(Precision::F64, ranks.clone()));
        let x = stored(&mut session, &[1.0 + rank, 4.0, -2.0 * rank], &[3], true);
        let mean_of = |session: &mut Session, tensor: u32| session.means_over_ranks(&[tensor], 0).unwrap()[0];
        let first = mean_of(&mut session, x);
        let scaled = session.tensor_operation("mul", &[first, x], &[], true).unwrap()[0];
        let second = mean_of(&mut session, scaled);
        let total = session.tensor_operation("sum", &[second], &[0.0], true).unwrap()[0];
        let refused = session.tensor_gradient(total, &[x]).unwrap_err().code();
        let before = calls(&*ranks);
        let found = read(&mut session, second);
        assert_eq!(since(&*ranks, before)[1], 2);
        // What is there needs no other rank.
        if rank == 0.0 {
            assert_eq!(read(&mut session, first), [1.5, 4.0, -1.0]);
        }
        session.release_tensors(&[x, first, scaled, second, total]);
        nothing_is_left(&mut session);
        (found, refused)
    });
    for (found, refused) in found {
        assert_eq!((found, refused), (vec![1.5 * 1.5, 16.0, 1.0], "shape"));
    }
}

#[test]
fn a_rank_that_fails_before_the_exchange_is_told_to_all_and_all_can_go_on() {
    let none = |rank: u32| Fault::Refused(format!("rank {rank} could not set up its part: it has the reason"));
    // One has no room for what it computes, or for its sums.
    for quarters in [8, 14] {
        let found = on_all(3, |ranks| {
            let rank = ranks.rank();
            let whole = WEIGHTS.iter().map(|shape| 8 * len(shape) as u64).sum::<u64>();
            let memory_bytes = if rank == 1 { whole * quarters / 4 } else { u64::MAX };
            let device = CpuDevice::new(Precision::F64, Limits { memory_bytes, ..CpuDevice::default_limits() });
            let mut session = Session::over_ranks(Device::Cpu(device), ranks.clone()).unwrap();
            let weights = weights(&mut session, true);
            let given = losses(&mut session, rank, &weights, true);
            let before = calls(&*ranks);
            let task = session.sum_over_ranks(Some(&given), false).unwrap();
            let error = ended(&mut session, task).unwrap_err();
            assert_eq!(since(&*ranks, before), [1, 0], "nothing is exchanged");
            session.release_tensors(&given);
            session.release_tensors(&weights);
            let one = stored(&mut session, &[1.0], &[1], true);
            assert_eq!(summed(&mut session, &[one]), [bits(&[3.0])]);
            session.release_tensors(&[one]);
            nothing_is_left(&mut session);
            (rank, error)
        });
        for (rank, error) in found {
            if rank == 1 {
                assert_eq!(error.code(), "out-of-memory");
            } else {
                assert_eq!(fault(error), none(1));
            }
        }
    }
    // One has nothing to give, where others evaluate a step.
    let found = on_all(2, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks));
        let x = stored(&mut session, &[1.0 + f64::from(rank)], &[1], true);
        let step = |session: &mut Session| {
            let mean = session.means_over_ranks(&[x], 0).unwrap()[0];
            let task = session.evaluate_tensors(&[], &[mean]).unwrap();
            session.release_tensors(&[mean]);
            ended(session, task)
        };
        let refused = match rank {
            1 => {
                let task = session.sum_over_ranks(None, true).unwrap();
                ended(&mut session, task).map(drop).unwrap_err()
            }
            _ => step(&mut session).unwrap_err(),
        };
        let fine = step(&mut session).unwrap();
        session.release_tensors(&[x]);
        nothing_is_left(&mut session);
        (refused, fine)
    });
    let (refused, fine): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    assert_eq!(fine, [[1.5], [1.5]]);
    assert_eq!(refused.iter().map(Error::code).collect::<Vec<_>>(), ["invalid-option"; 2]);
    assert!(refused[1].to_string().contains("no tensors to give"), "{}", refused[1]);
}

#[test]
fn a_rank_that_is_gone_in_the_midst_of_an_evaluation_ends_it_for_all() {
    let found = super::on_ranks(2, |ranks: Arc<dyn Communicator>| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks.clone()));
        let weights = weights(&mut session, true);
        let given = losses(&mut session, rank, &weights, true);
        if rank == 1 {
            // It has agreed, and is gone before its first message.
            let word = ranks.traffic().of(Kind::Gather).calls;
            let task = session.sum_over_ranks(Some(&given), false).unwrap();
            while ranks.traffic().of(Kind::Gather).calls == word {
                session.resume(task, 0.0).unwrap();
            }
            session.cancel(task);
            return None;
        }
        let task = session.sum_over_ranks(Some(&given), false).unwrap();
        Some(fault(ended(&mut session, task).unwrap_err()))
    });
    let expected = Fault::Broken { rank: 1, size: 2, message: "its sum of tensors was given up".into() };
    assert_eq!(found[0], Some(Some(expected)));
}

#[test]
fn a_rank_that_is_behind_is_told_to_all_before_anything_is_exchanged() {
    let found = on_all(3, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks.clone()));
        let x = stored(&mut session, &[f64::from(rank), 3.0], &[2], true);
        let step = |session: &mut Session, number: u32| {
            let mean = session.means_over_ranks(&[x], number).unwrap()[0];
            let task = session.evaluate_tensors(&[], &[mean]).unwrap();
            session.release_tensors(&[mean]);
            ended(session, task)
        };
        let before = calls(&*ranks);
        let refused = step(&mut session, if rank == 2 { 6 } else { 7 }).unwrap_err();
        assert_eq!(since(&*ranks, before), [1, 0]);
        let fine = step(&mut session, 8).unwrap();
        session.release_tensors(&[x]);
        nothing_is_left(&mut session);
        (fault(refused), fine)
    });
    assert_eq!(found, vec![(Fault::Differs { what: "numbers of steps", rank: 2 }, vec![1.0, 3.0]); 3]);
}
