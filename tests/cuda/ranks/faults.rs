//! Ranks on GPUs that die, are late, or are given other things.

use super::scenes::{bundle, mesh, options};
use super::{Over, bits, on_all, on_ranks};
use leastwise::Error;
use leastwise::collective::{DEADLINE, Fault, threads};
use leastwise::device::cuda::{CudaDevice, WorldId, nccl_version};
use leastwise::device::{Collective, Command, Device, DeviceError, Exchange, Kind, Precision, Recording, Slice};
use leastwise::ranks::RankedProblem;
use leastwise::solve::Options;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn fault(error: Error) -> Fault {
    match error {
        Error::Device(DeviceError::Ranks(fault)) => fault,
        other => panic!("{other}"),
    }
}

/// The rank that is left has the values of the last accepted step, can go on alone, and frees its memory.
fn a_rank_dies(over: Over) {
    let begun = Instant::now();
    let found = on_ranks(over, (2, Precision::F64, DEADLINE), |device, ranks| {
        let dies = ranks.rank() == 1;
        let mut problem = RankedProblem::new(device, ranks).unwrap();
        let made = mesh(&mut problem);
        let solved = problem.solve_with(&options(), |step| assert!(!(dies && step.index == 1), "rank 1 dies after its second step"));
        let fault = fault(solved.unwrap_err());
        assert!(matches!(problem.read(made.tables[0]), Err(Error::Device(DeviceError::Ranks(_)))), "a fault stays");
        let own = problem.read_own(made.tables[0]).unwrap();
        let mut device = problem.close().unwrap();
        assert_eq!(device.counters().bytes_live, 0, "memory is left");
        // The device goes on alone.
        let buffer = device.allocate(Kind::Real, 3, "values").unwrap();
        let commands = vec![
            Command::UploadReals { buffer, offset: 0, data: vec![1.0, 2.0, 3.0] },
            Command::Read { slice: Slice { buffer, offset: 0, len: 3 } },
        ];
        assert_eq!(device.run(Recording { commands }).unwrap(), [1.0, 2.0, 3.0]);
        (fault, own)
    });
    assert!(begun.elapsed() < DEADLINE, "nobody waited for the deadline: {:?}", begun.elapsed());
    assert!(found[1].is_none());
    let two = Options { max_iterations: Some(2.0), ..options() };
    let expected = on_all(over, 2, Precision::F64, |device, ranks| {
        let mut problem = RankedProblem::new(device, ranks).unwrap();
        let made = mesh(&mut problem);
        assert!(problem.solve(&two).unwrap().report.iterations.iter().all(|step| step.accepted));
        problem.read(made.tables[0]).unwrap()
    });
    let (fault, (rows, own)) = found[0].as_ref().unwrap();
    assert_eq!(*fault, Fault::Gone { rank: 1, size: 2, panicked: true });
    assert!(rows.len() > 10, "{} rows", rows.len());
    for (row, own) in rows.iter().zip(own.chunks(3)) {
        assert_eq!(bits(own), bits(&expected[0][3 * *row as usize..][..3]), "row {row}");
    }
    let alone = on_all(Over::Host, 1, Precision::F64, |device, ranks| {
        let mut problem = RankedProblem::new(device, ranks).unwrap();
        mesh(&mut problem);
        problem.solve(&options()).unwrap().report
    });
    assert!(alone[0].cost < alone[0].initial_cost);
}

#[test]
fn a_rank_on_a_gpu_that_dies_leaves_the_other_the_last_accepted_step() {
    a_rank_dies(Over::Host);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn a_rank_that_dies_over_nccl_leaves_the_other_the_last_accepted_step() {
    a_rank_dies(Over::Nccl);
}

fn others_are_told(over: Over) {
    let differs = Fault::Differs { what: "terms, data or options", rank: 1 };
    let found = on_all(over, 2, Precision::F64, |device, ranks| {
        let rank = ranks.rank();
        let mut problem = RankedProblem::new(device, ranks).unwrap();
        let made = mesh(&mut problem);
        let few = Options { max_iterations: Some(if rank == 1 { 2.0 } else { 3.0 }), ..options() };
        let mut faults = vec![fault(problem.solve(&few).unwrap_err())];
        // Options can be said again; other data after that.
        problem.solve(&Options { max_iterations: Some(2.0), ..options() }).unwrap();
        let mut data = made.data.clone();
        data[5] += f64::from(rank) * 1e-9;
        problem.set_column(made.edited, 0, &data).unwrap();
        faults.push(fault(problem.solve(&options()).unwrap_err()));
        faults
    });
    assert_eq!(found, vec![vec![differs.clone(); 2]; 2]);
    // Another problem.
    let found = on_all(over, 2, Precision::F64, |device, ranks| {
        let rank = ranks.rank();
        let mut problem = RankedProblem::new(device, ranks).unwrap();
        if rank == 0 {
            mesh(&mut problem)
        } else {
            bundle(&mut problem)
        };
        fault(problem.solve(&options()).unwrap_err())
    });
    assert_eq!(found, vec![differs; 2]);
    // Another call.
    let found = on_all(over, 2, Precision::F64, |_, ranks| match ranks.rank() {
        1 => ranks.sum("energies", &[1.0, 2.0]).map(drop),
        _ => ranks.sum("energies", &[1.0]).map(drop),
    });
    assert!(found.iter().all(|found| matches!(found, Err(Fault::Mismatch { rank: 1, .. }))), "{found:?}");
}

#[test]
fn other_data_or_options_on_one_rank_on_a_gpu_are_told_to_all() {
    others_are_told(Over::Host);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn other_data_or_options_on_one_rank_over_nccl_are_told_to_all() {
    others_are_told(Over::Nccl);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn a_rank_that_hangs_is_a_fault_after_the_deadline() {
    // Long enough for one rank to compile what another found in the cache.
    let deadline = Duration::from_secs(10);
    let gate = std::sync::Barrier::new(2);
    // In a call of the host, and in the midst of a solve.
    for in_solve in [false, true] {
        let found = on_ranks(Over::Nccl, (2, Precision::F64, deadline), |device, ranks| {
            let rank = ranks.rank();
            let mut problem = RankedProblem::new(device, ranks.clone()).unwrap();
            let made = mesh(&mut problem);
            problem.solve(&Options { max_iterations: Some(1.0), ..options() }).unwrap();
            if !in_solve {
                let begun = Instant::now();
                let fault = if rank == 1 { None } else { Some(ranks.barrier("costs").unwrap_err()) };
                let waited = begun.elapsed();
                gate.wait();
                return (fault, waited, problem.read_own(made.tables[0]).unwrap().1.len());
            }
            let mut begun = Instant::now();
            let solved = problem.solve_with(&options(), |step| {
                begun = Instant::now();
                if rank == 1 && step.index == 1 {
                    gate.wait();
                }
            });
            let (fault, waited) = (fault(solved.unwrap_err()), begun.elapsed());
            if rank == 0 {
                gate.wait();
            }
            (Some(fault), waited, problem.read_own(made.tables[0]).unwrap().1.len())
        });
        let (fault, waited, rows) = found[0].as_ref().unwrap();
        assert!(matches!(fault, Some(Fault::Stalled { size: 2, within, .. }) if *within == deadline), "{fault:?}");
        assert!(*waited >= deadline && *waited < deadline + Duration::from_secs(5), "{waited:?}");
        assert!(*rows > 30);
        // Whoever hung has the same fault, if it asked.
        let (fault, ..) = found[1].as_ref().unwrap();
        assert!(!in_solve || matches!(fault, Some(Fault::Stalled { .. })), "{fault:?}");
    }
}

#[test]
fn two_ranks_on_one_gpu_are_refused_over_nccl() {
    let Ok(version) = nccl_version() else { return println!("not run: no NCCL") };
    println!("NCCL {version}");
    let id = WorldId::new().unwrap();
    let begun = Instant::now();
    let refused = std::thread::scope(|scope| {
        let run = |rank| {
            scope.spawn(move || {
                let device = CudaDevice::open(0, Precision::F64).unwrap_or_else(|error| panic!("{error}"));
                device.over_nccl(&id, rank, 2, DEADLINE).err()
            })
        };
        [0, 1].map(run).map(|thread| thread.join().unwrap())
    });
    for refused in refused {
        let Some(DeviceError::Ranks(Fault::Refused(message))) = refused else { panic!("{refused:?}") };
        assert!(message.contains("are both on GPU 0: NCCL needs a GPU for each rank"), "{message}");
    }
    assert!(begun.elapsed() < DEADLINE);
    // A communicator belongs to its device.
    let [one, mut other] = [0, 0].map(|gpu| CudaDevice::open(gpu, Precision::F64).unwrap_or_else(|error| panic!("{error}")));
    let ranks = one.over_nccl(&WorldId::new().unwrap(), 0, 1, DEADLINE).unwrap();
    let Err(DeviceError::Ranks(Fault::Refused(message))) = other.join(Some(ranks)) else { panic!("it joined") };
    assert!(message.contains("belongs to the device that made it"), "{message}");
    assert!(other.join(Some(threads(1, DEADLINE).remove(0))).unwrap().is_none());
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn engines_of_other_precisions_are_refused_over_nccl_and_all_can_go_on() {
    let found = on_all(Over::Nccl, 2, Precision::F64, |device, ranks| {
        let mut other = CudaDevice::open(ranks.rank(), Precision::F32).unwrap_or_else(|error| panic!("{error}"));
        // One rank comes with the device that made the communicator, the other one with a second device.
        let Device::Cuda(own) = &device else { panic!("it is a GPU") };
        let met = if ranks.rank() == 0 { own.meet(&ranks) } else { other.meet(&ranks) };
        let Err(DeviceError::Ranks(Fault::Refused(message))) = met else { panic!("{met:?}") };
        // Then both come with their second one, twice.
        for _ in 0..2 {
            other.meet(&ranks).unwrap();
            assert!(other.join(Some(ranks.clone())).unwrap().is_none());
            assert!(other.join(None).unwrap().is_some());
        }
        (message, ranks.sum("ranks", &[1.0]).unwrap())
    });
    for (message, sum) in found {
        assert!(message.contains("different precisions"), "{message}");
        assert_eq!(sum, [2.0]);
    }
}

/// A fault of one communicator is a fault of both, on the rank that gives up and on the other.
#[test]
#[ignore = "needs two GPUs and NCCL"]
fn a_rank_that_gives_up_ends_messages_of_both_devices_over_nccl() {
    let begun = Instant::now();
    let found = on_all(Over::Nccl, 2, Precision::F64, |device, ranks| {
        let (rank, size) = (ranks.rank(), ranks.size());
        let other = CudaDevice::open(rank, Precision::F32).unwrap_or_else(|error| panic!("{error}"));
        other.meet(&ranks).unwrap();
        let mut other = Device::Cuda(Box::new(other));
        other.join(Some(ranks.clone())).unwrap();
        ranks.barrier("begin").unwrap();
        let buffer = other.allocate(Kind::Real, 4, "values").unwrap();
        let parts = vec![Exchange::total(Slice { buffer, offset: 0, len: 4 })];
        let collective = Command::Collective(Arc::new(Collective::new("values", parts)));
        let fault = if rank == 1 {
            ranks.give_up(Fault::Broken { rank, size, message: "out of patience".into() });
            ranks.barrier("later").unwrap_err()
        } else {
            // It waits on its second device for a rank that has given up the first one's communicator.
            match other.run(Recording { commands: vec![collective] }).unwrap_err() {
                DeviceError::Ranks(fault) => fault,
                error => panic!("{error}"),
            }
        };
        let later = ranks.barrier("end").unwrap_err();
        other.free(buffer);
        drop(device);
        (fault, later)
    });
    assert!(begun.elapsed() < DEADLINE, "nobody waited for the deadline: {:?}", begun.elapsed());
    let broken = Fault::Broken { rank: 1, size: 2, message: "out of patience".into() };
    assert_eq!(found, vec![(broken.clone(), broken); 2]);
}
