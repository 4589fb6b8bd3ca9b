//! Exchanges: their bits are those of the CPU's.

use super::{Over, bits, on_all};
use crate::support::Random;
use leastwise::collective::{Communicator, Fault, Kind as Call};
use leastwise::device::cuda::{CudaDevice, nccl_version};
use leastwise::device::{ABSENT, Collective, Command, Device, DeviceError, Exchange, Fold, Kind, Precision, Recording, Slice};
use std::sync::Arc;

const FOLDS: &[Fold] = &[Fold::Sum, Fold::Exact, Fold::Largest, Fold::Exact];

/// Numbers of many sizes and signs, few of them alike on two ranks.
fn numbers(rank: u32, len: u32) -> Vec<f64> {
    let mut random = Random::new(77 + u64::from(rank));
    let number = |_| random.between(-1.0, 1.0) * 2f64.powi(random.below(60) as i32 - 30);
    (0..len).map(number).collect()
}

/// Elements of a buffer that ranks share, those that are not here, and partial sums of every fold; then the same again in a `Repeat`.
fn exchanged(mut device: Device, ranks: Arc<dyn Communicator>, each: u32) -> Vec<u64> {
    let (rank, len) = (ranks.rank(), 100 + 7 * each);
    let mut random = Random::new(5);
    let shared = each / 2 + 3;
    let places: Vec<u32> =
        (0..shared).map(|number| if random.below(4) == u64::from(rank) { ABSENT } else { (number + 11 * rank) % shared }).collect();
    let buffer = device.allocate(Kind::Real, len, "values").unwrap();
    let flag = device.allocate(Kind::Real, 1, "flag").unwrap();
    let first = 64 + shared;
    let partials = Exchange::Partials { buffer, first, distance: each, folds: FOLDS, count: each - rank.min(each / 2), each };
    let parts = vec![Exchange::Elements { buffer, places: Arc::new(places) }, partials];
    let collective = Arc::new(Collective::new("test", parts));
    device.join(Some(ranks)).unwrap();
    let body = vec![Command::Collective(collective.clone())];
    let commands = vec![
        Command::UploadReals { buffer, offset: 0, data: numbers(rank, len) },
        Command::Collective(collective),
        Command::Repeat { body, max: 5, until: (flag, 0) },
        Command::Read { slice: Slice { buffer, offset: 0, len } },
    ];
    let found = bits(&device.run(Recording { commands }).unwrap());
    device.free(buffer);
    device.free(flag);
    assert!(device.join(None).unwrap().is_some(), "it was a rank");
    assert_eq!(device.counters().bytes_live, 0);
    found
}

pub fn exchanges_agree(over: Over, sizes: &[u32]) {
    for precision in [Precision::F64, Precision::F32] {
        // The last one is longer than a message.
        for each in [1, 300, 250_000] {
            for &size in sizes {
                let [expected, found] =
                    [Over::Cpu, over].map(|over| on_all(over, size, precision, |device, ranks| exchanged(device, ranks, each)));
                for (rank, (expected, found)) in expected.iter().zip(&found).enumerate() {
                    let apart = expected.iter().zip(found).position(|(a, b)| a != b);
                    assert_eq!(apart, None, "{over:?}, {precision:?}, {each} partial sums, rank {rank} of {size}: the first that differs");
                }
            }
        }
    }
}

#[test]
fn exchanges_of_ranks_on_one_gpu_have_the_bits_of_the_cpu() {
    exchanges_agree(Over::Host, &[1, 2, 3]);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn exchanges_over_nccl_have_the_bits_of_the_cpu() {
    exchanges_agree(Over::Nccl, &[2]);
}

/// Two messages in the background, beside copies, and one of a buffer of theirs after it; several times, as recordings are played.
fn exchanged_in_background(mut device: Device, ranks: Arc<dyn Communicator>, len: u32) -> Vec<u64> {
    let rank = ranks.rank();
    let [first, second, other, kept] = ["first", "second", "other", "kept"].map(|label| device.allocate(Kind::Real, len, label).unwrap());
    let whole = |buffer| Slice { buffer, offset: 0, len };
    let collective = |buffer| Arc::new(Collective::in_background("test", vec![Exchange::total(whole(buffer))]));
    device.join(Some(ranks)).unwrap();
    let mut found = Vec::new();
    for _ in 0..4 {
        let [one, two] = [first, second].map(collective);
        let commands = vec![
            Command::UploadReals { buffer: first, offset: 0, data: numbers(rank, len) },
            Command::Collective(one.clone()),
            Command::UploadReals { buffer: other, offset: 0, data: numbers(rank + 7, len) },
            Command::Copy { from: whole(other), to: whole(second) },
            Command::Collective(two.clone()),
            Command::Clear { slice: whole(other) },
            Command::Await(one),
            Command::Copy { from: whole(first), to: whole(kept) },
            Command::Await(two),
            Command::Copy { from: whole(second), to: whole(other) },
            Command::Collective(Arc::new(Collective::new("test", vec![Exchange::total(whole(first))]))),
            Command::Copy { from: Slice { len: 1, ..whole(first) }, to: Slice { len: 1, ..whole(kept) } },
            Command::Read { slice: whole(kept) },
        ];
        found.extend(bits(&device.run(Recording { commands }).unwrap()));
        let commands = vec![Command::Read { slice: whole(other) }];
        found.extend(bits(&device.run(Recording { commands }).unwrap()));
    }
    // Freed with an exchange under way, which nobody awaits.
    let commands = vec![Command::Collective(collective(first))];
    device.run(Recording { commands }).unwrap();
    for buffer in [first, second, other, kept] {
        device.free(buffer);
    }
    assert!(device.join(None).unwrap().is_some(), "it was a rank");
    assert_eq!(device.counters().bytes_live, 0);
    found
}

fn background_agrees(over: Over, sizes: &[u32]) {
    for precision in [Precision::F64, Precision::F32] {
        for len in [1, 70_000, 1_200_000] {
            for &size in sizes {
                let run = |over| on_all(over, size, precision, |device, ranks| exchanged_in_background(device, ranks, len));
                let [expected, found] = [Over::Cpu, over].map(run);
                assert!(expected == found, "{over:?}, {precision:?}, {len} elements, {size} ranks");
            }
        }
    }
}

#[test]
fn exchanges_in_the_background_of_ranks_on_one_gpu_have_the_bits_of_the_cpu() {
    background_agrees(Over::Host, &[1, 2]);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn exchanges_in_the_background_over_nccl_have_the_bits_of_the_cpu() {
    background_agrees(Over::Nccl, &[2]);
}

/// Calls of the host, of every kind, some longer than a message.
fn called(ranks: &dyn Communicator) -> (Vec<f64>, Vec<Vec<f64>>, Vec<u64>) {
    let own = f64::from(ranks.rank());
    let long: Vec<f64> = (0..1_200_000 + 500_000 * ranks.rank()).map(|k| f64::from(k) + 0.5 * own).collect();
    let rows = ranks.gather_varying("rows", &long).unwrap();
    let mut seen = ranks.sum("terms", &[1e16 * (1.0 - 2.0 * own), 1.0]).unwrap();
    seen.extend(ranks.broadcast("first", &[7.0 + own]).unwrap());
    seen.extend(ranks.largest("most", &[own, -own]).unwrap());
    seen.extend(ranks.gather("all", &[own]).unwrap().concat());
    ranks.barrier("end").unwrap();
    ranks.agree("numbers", 5).unwrap();
    let counts = Call::ALL.map(|kind| ranks.traffic().of(kind)).map(|count| [count.calls, count.given, count.received]);
    (seen, rows, counts.concat())
}

fn calls_agree(size: u32) {
    let [expected, found] = [Over::Cpu, Over::Nccl].map(|over| on_all(over, size, Precision::F64, |_, ranks| called(&*ranks)));
    assert!(expected == found, "{:?} and {:?}", (&expected[0].0, &expected[0].2), (&found[0].0, &found[0].2));
}

#[test]
fn a_group_of_one_gpu_works_over_nccl_or_says_why_not() {
    match nccl_version() {
        Ok(version) => {
            println!("NCCL {version}");
            calls_agree(1);
            exchanges_agree(Over::Nccl, &[1]);
            background_agrees(Over::Nccl, &[1]);
        }
        Err(why) => {
            assert!(why.contains("libnccl.so.2") || why.contains("2.18"), "{why}");
            println!("not run, but refused: {why}");
            let device = CudaDevice::open(0, Precision::F64).unwrap_or_else(|error| panic!("{error}"));
            let id = leastwise::device::cuda::WorldId::from_bytes([1; 128]);
            let refused = device.over_nccl(&id, 0, 1, leastwise::collective::DEADLINE).err();
            assert_eq!(refused, Some(DeviceError::Ranks(Fault::Refused(why.clone()))));
            let refused = leastwise::device::cuda::WorldId::new().err();
            assert_eq!(refused, Some(DeviceError::Ranks(Fault::Refused(why))));
        }
    }
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn calls_over_nccl_give_every_rank_the_same_and_are_counted() {
    calls_agree(2);
}
