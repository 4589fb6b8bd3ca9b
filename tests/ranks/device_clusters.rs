//! Clusterings by sessions over several devices of one process: the bits of as many ranks that are each given a part of the points.

use super::clusters::{DIM, alone, by_all, device, ended, endless, energy_of, lloyd, points};
use super::devices::{Bits, are_gone, by, found, odd, over, watched};
use super::on_all;
use super::scenes::{Alone, mesh, options};
use super::sessions::fault;
use crate::support::solve;
use leastwise::Error;
use leastwise::anneal::cluster::{Mean, Method, Options, Outcome, Start, Termination, over_ranks};
use leastwise::collective::{DEADLINE, Fault, threads};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, DeviceError, Limits, Precision};
use leastwise::session::{Progress, Session, SolveMode};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The part of a rank, as a session over devices splits points.
fn part(points: &[f32], rank: u32, size: u32) -> Vec<f32> {
    let at = |rank: u32| points.len() / DIM * rank as usize / size as usize;
    points[at(rank) * DIM..at(rank + 1) * DIM].to_vec()
}

/// The outcome that the first of so many ranks has, with the labels of all.
fn by_parts(points: &[f32], options: &Options, size: u32) -> Outcome {
    let mut found = on_all(size, |ranks| over_ranks(&mut device(), ranks.clone(), part(points, ranks.rank(), size), options).unwrap());
    let labels = found.iter().flat_map(|of_rank| of_rank.labels.clone()).collect();
    Outcome { labels, ..found.swap_remove(0) }
}

/// What of an outcome is the same on every run.
fn comparable(of: &Outcome) -> (Vec<u32>, &[u32], &[u32], u64, String) {
    let centroids = of.centroids.iter().map(|value| value.to_bits()).collect();
    let told = format!("{:?} {:?} {} {}", of.iterations, of.termination, of.reason, of.clusters);
    (centroids, &of.labels, &of.counts, of.energy.to_bits(), told)
}

/// Goes on with a task until it tells of progress, which it does once there is a codebook.
fn until_progress(session: &mut Session, task: u32) {
    loop {
        match session.resume(task, 1.0).unwrap() {
            Progress::Partly { .. } => return,
            Progress::Yielded => {}
            _ => panic!("it is over"),
        }
    }
}

#[test]
fn devices_have_the_codebooks_of_ranks_that_are_given_parts() {
    let points = points(3001);
    for size in 1..=4 {
        for options in [lloyd(), Options { mean: Some(Mean::Huber(0.3)), start: Some(Start::Farthest), ..lloyd() }] {
            let expected = by_parts(&points, &options, size);
            assert_eq!((expected.labels.len(), expected.counts.iter().sum::<u32>()), (3001, 3001));
            // Sessions in f64 have another device for clusters.
            for precision in [Precision::F32, Precision::F64] {
                let mut session = over(precision, size).session;
                for time in ["first", "second"] {
                    let outcome = by_all(&mut session, points.clone(), &options).unwrap();
                    assert_eq!(comparable(&outcome), comparable(&expected), "{size} devices, {precision:?}, the {time} time");
                    assert_eq!(session.counters().bytes_live, 0, "memory is left");
                }
                assert!(session.device_mut().join(None).unwrap().is_some(), "the engine's own device is still a rank");
            }
        }
    }
}

#[test]
fn devices_that_stream_their_points_have_the_codebook_of_ranks_that_do() {
    let points = points(3000);
    let streamed = Options { device_bytes: Some((4 * 300 * DIM) as f64), ..lloyd() };
    let expected = by_parts(&points, &streamed, 3);
    let outcome = by_all(&mut over(Precision::F32, 3).session, points, &streamed).unwrap();
    assert_eq!(comparable(&outcome), comparable(&expected));
}

/// Costs and values of two solves, between which there is a clustering or none.
fn solved_twice(of: &mut Alone, between: impl FnOnce(&mut Session)) -> Bits {
    let made = mesh(of);
    let first = solve(&mut of.session, of.problem, &leastwise::solve::Options { max_iterations: Some(2.0), ..options() });
    between(&mut of.session);
    let second = solve(&mut of.session, of.problem, &options());
    found(of, &made, &[first, second])
}

#[test]
fn solves_and_clusterings_of_one_session_take_turns() {
    let (one, two) = (points(600), points(1000));
    let [of_one, of_two] = [&one, &two].map(|points| by_parts(points, &lloyd(), 3));
    for precision in [Precision::F32, Precision::F64] {
        let expected = solved_twice(&mut over(precision, 3), |_| {});
        let clustered = solved_twice(&mut over(precision, 3), |session| {
            let outcome = by_all(session, two.clone(), &lloyd()).unwrap();
            assert_eq!(comparable(&outcome), comparable(&of_two));
        });
        assert_eq!(clustered, expected);
    }
    // Begun together, and resumed by turns.
    let solved_once = |of: &mut Alone| {
        let made = mesh(of);
        let report = solve(&mut of.session, of.problem, &options());
        found(of, &made, &[report])
    };
    let expected = solved_once(&mut over(Precision::F64, 3));
    let mut of = over(Precision::F64, 3);
    let made = mesh(&mut of);
    let first = of.session.cluster_by_ranks(one, None, &lloyd(), "l2").unwrap();
    let solver = of.session.solver(of.problem, &options()).unwrap();
    let solving = of.session.solve(solver, SolveMode::Solve).unwrap();
    let second = of.session.cluster_by_ranks(two, None, &lloyd(), "l2").unwrap();
    let (mut left, mut outcomes, mut reports) = (vec![second, solving, first], Vec::new(), Vec::new());
    while !left.is_empty() {
        left.retain(|task| match of.session.resume(*task, 1.0).unwrap() {
            Progress::Clustering(outcome) => {
                outcomes.push(outcome);
                false
            }
            Progress::Report(report) => {
                reports.push(*report);
                false
            }
            _ => true,
        });
    }
    assert_eq!(found(&mut of, &made, &reports), expected);
    assert_eq!((comparable(&outcomes[0]), comparable(&outcomes[1])), (comparable(&of_one), comparable(&of_two)));
}

#[test]
fn a_clustering_that_is_told_to_stop_stops_on_all_devices() {
    let all = points(3000);
    let mut session = over(Precision::F64, 3).session;
    let task = session.cluster_by_ranks(all.clone(), None, &endless(), "l2").unwrap();
    let stopped = ended(&mut session, task, |session| session.stop(task, "enough")).unwrap();
    assert_eq!((stopped.termination, stopped.reason.as_str(), stopped.labels.len()), (Termination::Stopped, "enough", 3000));
    assert!(stopped.iterations.len() < 50, "{} iterations", stopped.iterations.len());
    let energy = energy_of(&all, &stopped.labels, &stopped.centroids);
    assert!((energy - stopped.energy).abs() < 1e-4 * energy, "{energy} and {}", stopped.energy);
    // Before there is a codebook there is nothing to give: before it began, at a rest, and in the search for a start.
    for resumed in [0, 1, 2, 3] {
        let task = session.cluster_by_ranks(all.clone(), None, &endless(), "l2").unwrap();
        (0..resumed).for_each(|_| assert!(matches!(session.resume(task, 0.0).unwrap(), Progress::Yielded)));
        session.stop(task, "never");
        let error = ended(&mut session, task, |_| {}).unwrap_err();
        assert!(matches!(&error, Error::Stopped(reason) if reason == "never"), "{error}");
        assert_eq!(session.counters().bytes_live, 0, "memory is left");
    }
    let again = by_all(&mut session, all.clone(), &lloyd()).unwrap();
    assert_eq!(comparable(&again), comparable(&by_parts(&all, &lloyd(), 3)));
}

#[test]
fn a_clustering_that_is_given_up_leaves_all_devices_in_order() {
    let all = points(3000);
    let expected = by_parts(&all, &lloyd(), 3);
    let since = Instant::now();
    for precision in [Precision::F32, Precision::F64] {
        let mut session = over(precision, 3).session;
        for resumed in 0..10 {
            let task = session.cluster_by_ranks(all.clone(), None, &endless(), "l2").unwrap();
            (0..resumed).for_each(|_| drop(session.resume(task, 0.0).unwrap()));
            // In its midst followers answer, too.
            assert_eq!(session.counters().bytes_live > 0, resumed > 0, "resumed {resumed} times");
            session.cancel(task);
            assert_eq!(session.counters().bytes_live, 0, "memory is left");
        }
        let task = session.cluster_by_ranks(all.clone(), None, &endless(), "l2").unwrap();
        until_progress(&mut session, task);
        session.cancel(task);
        assert_eq!(session.counters().bytes_live, 0, "memory is left");
        let again = by_all(&mut session, all.clone(), &lloyd()).unwrap();
        assert_eq!(comparable(&again), comparable(&expected));
    }
    // Sessions that end in the midst of it.
    for disposes in [true, false] {
        for resumed in [0, 1, 2, 8] {
            let ranks = threads(3, DEADLINE);
            let ends = watched(&ranks);
            let mut session = by(Precision::F64, ranks).session;
            let task = session.cluster_by_ranks(all.clone(), None, &endless(), "l2").unwrap();
            (0..resumed).for_each(|_| drop(session.resume(task, 0.0).unwrap()));
            if disposes {
                session.dispose();
            }
            drop(session);
            assert!(are_gone(&ends), "a thread is left");
        }
    }
    assert!(since.elapsed() < DEADLINE, "nobody waited for the deadline");
}

#[test]
fn what_is_refused_leaves_all_devices_able_to_cluster() {
    let all = points(600);
    let mut session = over(Precision::F32, 3).session;
    let mut refused = |points: &[f32], start: Option<&[f64]>, options: Options| {
        let error = session.cluster_by_ranks(points.to_vec(), start, &options, "l2").and_then(|task| ended(&mut session, task, |_| {}));
        let error = error.unwrap_err();
        (error.code(), error.to_string())
    };
    for (options, start, message) in [
        (Options { method: None, ..lloyd() }, None, "ranks have method \"lloyd\" alone"),
        (Options { method: Some(Method::Vlc), ..lloyd() }, None, "ranks have method \"lloyd\" alone"),
        (Options { mean: Some(Mean::Trim(0.1)), ..lloyd() }, None, "ranks have no mean: { trim }"),
        (lloyd(), Some(&[0.5; 12 * DIM][..]), "ranks find a start of their own"),
        (Options { dim: 0, ..lloyd() }, None, "dim must be a positive integer"),
    ] {
        let (code, found) = refused(&all, start, options);
        assert!(code == "invalid-option" && found.contains(message), "{code}: {found}");
    }
    assert_eq!(refused(&all[1..], None, lloyd()).0, "data-length");
    assert_eq!(refused(&[], None, lloyd()).0, "data-length");
    // Rows are those of all points, whichever device has them.
    for row in [3, 450] {
        let mut wild = all.clone();
        wild[row * DIM + 2] = f32::NAN;
        let (code, message) = refused(&wild, None, lloyd());
        assert!(code == "non-finite" && message.contains(&format!("component 2 of row {row} is NaN")), "{message}");
    }
    assert_eq!(comparable(&by_all(&mut session, all.clone(), &lloyd()).unwrap()), comparable(&by_parts(&all, &lloyd(), 3)));
    // Fewer points than devices are the first one's, and as many are not.
    let fewer = by_all(&mut session, all[..2 * DIM].to_vec(), &lloyd()).unwrap();
    assert_eq!(comparable(&fewer), comparable(&alone(&all[..2 * DIM], &lloyd())));
    let as_many = by_all(&mut session, all[..3 * DIM].to_vec(), &lloyd()).unwrap();
    assert_eq!(comparable(&as_many), comparable(&by_parts(&all[..3 * DIM], &lloyd(), 3)));
}

#[test]
fn a_device_that_has_no_room_for_its_points_has_its_own_error() {
    let (all, few) = (points(9000), points(20));
    let energy = |outcome: Outcome| outcome.energy.to_bits();
    let (mut refused, mut went_on) = (0, 0);
    for limited in 0..3 {
        for bytes in [4, 32, 128, 1024].map(|kib| kib << 10) {
            let limited_device = |rank: u32| {
                let limits = CpuDevice::default_limits();
                let limits = if rank == limited { Limits { buffer_bytes: bytes, ..limits } } else { limits };
                Device::Cpu(CpuDevice::new(Precision::F32, limits))
            };
            let mut session = Session::over_devices([0, 1, 2].map(limited_device).into(), threads(3, DEADLINE)).unwrap();
            // Points without room, and then few.
            let [many, few] = [&all, &few].map(|points| {
                let expected = on_all(3, |ranks| {
                    let rank = ranks.rank();
                    over_ranks(&mut limited_device(rank), ranks, part(points, rank, 3), &lloyd()).map(energy)
                });
                let found = by_all(&mut session, points.clone(), &lloyd()).map(energy);
                assert_eq!(found, expected[limited as usize], "{bytes} bytes on {limited}");
                assert_eq!(session.counters().bytes_live, 0, "memory is left");
                found
            });
            if let Err(error) = many {
                assert!(!matches!(error, Error::Device(DeviceError::Ranks(_))), "{bytes} bytes: {error}");
                refused += 1;
                went_on += u32::from(few.is_ok());
            }
        }
    }
    assert!((1..12).contains(&refused) && went_on > 0, "{refused} of 12, after which {went_on} went on");
}

#[test]
fn a_follower_that_panics_is_an_error_of_the_clustering() {
    let (all, since) = (points(3000), Instant::now());
    // In the first call, before there is a start, and in the midst.
    for calls in [1, 5, 60] {
        let ranks = odd(1, calls, DEADLINE, || panic!("rank 1 dies"));
        let ends = watched(&ranks);
        let mut session = by(Precision::F64, ranks).session;
        let broken = Fault::Broken { rank: 1, size: 3, message: "rank 1 dies".into() };
        // The second time ranks know of it.
        for _ in 0..2 {
            let error = by_all(&mut session, all.clone(), &endless()).unwrap_err();
            assert_eq!((error.code(), fault(error)), ("device-lost", broken.clone()), "{calls} calls");
        }
        assert_eq!(session.counters().bytes_live, 0, "memory is left");
        drop(session);
        assert!(are_gone(&ends), "a thread is left");
    }
    assert!(since.elapsed() < DEADLINE, "nobody waited for the deadline");
}

#[test]
fn a_session_that_panics_in_a_clustering_leaves_no_thread_waiting() {
    let (all, since) = (points(3000), Instant::now());
    for calls in [1, 60] {
        let ranks = odd(0, calls, DEADLINE, || panic!("rank 0 dies"));
        let ends = watched(&ranks);
        let mut session = by(Precision::F64, ranks).session;
        let task = session.cluster_by_ranks(all.clone(), None, &endless(), "l2").unwrap();
        let died = catch_unwind(AssertUnwindSafe(|| while session.resume(task, 1.0).is_ok() {}));
        assert!(died.is_err());
        drop(session);
        assert!(are_gone(&ends), "a thread is left");
    }
    assert!(since.elapsed() < DEADLINE, "nobody waited for the deadline");
}

#[test]
fn a_follower_that_hangs_or_fails_in_its_midst_is_an_error_of_the_clustering() {
    let all = points(3000);
    let ranks = odd(2, 60, Duration::from_secs(1), || std::thread::sleep(Duration::from_secs(3)));
    let mut session = by(Precision::F32, ranks).session;
    let error = by_all(&mut session, all.clone(), &endless()).unwrap_err();
    assert_eq!(error.code(), "device-lost");
    assert!(matches!(fault(error), Fault::Late { .. }));
    // The session's own device fails: followers end, and it has its own error.
    let mut session = over(Precision::F32, 3).session;
    let task = session.cluster_by_ranks(all, None, &endless(), "l2").unwrap();
    until_progress(&mut session, task);
    let Device::Cpu(device) = session.device_mut() else { panic!("a CPU") };
    device.dispose();
    let since = Instant::now();
    let error = ended(&mut session, task, |_| {}).unwrap_err();
    assert!(!matches!(error, Error::Device(DeviceError::Ranks(_))), "its own error: {error}");
    drop(session);
    assert!(since.elapsed() < DEADLINE, "nobody waited for the deadline");
}
