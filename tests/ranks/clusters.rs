//! Lloyd's iterations over ranks.

use super::on_all;
use crate::support::Random;
use leastwise::Error;
use leastwise::anneal::cluster::{Clustering, Mean, Method, Next, Options, Outcome, Termination, over_ranks};
use leastwise::collective::{Communicator, DEADLINE, Fault, Kind};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, DeviceError, Precision};
use leastwise::session::{Progress, Session};
use std::sync::Arc;
use std::time::Instant;

pub const DIM: usize = 6;

pub fn points(count: usize) -> Vec<f32> {
    let mut random = Random::new(11);
    let centres: Vec<f64> = (0..12 * DIM).map(|_| random.between(-1.0, 1.0)).collect();
    let near = |place: usize| centres[place / DIM * 7 % 12 * DIM + place % DIM];
    (0..count * DIM).map(|place| (5.0 + near(place) + random.between(-0.2, 0.2)) as f32).collect()
}

pub fn lloyd() -> Options {
    Options { method: Some(Method::Lloyd), tolerance: Some(1e-7), ..Options::new(DIM as u32, 12) }
}

pub fn device() -> Device {
    Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits()))
}

pub fn alone(points: &[f32], options: &Options) -> Outcome {
    let mut device = device();
    let mut clustering = Clustering::new(&mut device, points.to_vec(), options).unwrap();
    let mut readback = Vec::new();
    loop {
        match clustering.advance(&mut device, &readback).unwrap() {
            Next::Run(recording) => readback = device.run(recording).unwrap(),
            Next::Done(outcome) => return *outcome,
        }
    }
}

/// The part of a rank: an uneven one.
fn part(points: &[f32], rank: u32, size: u32) -> Vec<f32> {
    let count = points.len() / DIM;
    let at = |rank: u32| if rank == size { count } else { count * rank as usize / size as usize + 13 * rank as usize };
    points[at(rank) * DIM..at(rank + 1) * DIM].to_vec()
}

fn by_ranks(points: &[f32], options: &Options, size: u32) -> Vec<(Outcome, u64)> {
    on_all(size, |ranks| {
        let mut device = device();
        let own = part(points, ranks.rank(), size);
        let outcome = over_ranks(&mut device, ranks.clone(), own, options).unwrap();
        assert_eq!(device.counters().bytes_live, 0, "buffers are left");
        assert!(device.join(None).unwrap().is_none(), "the device is alone again");
        (outcome, ranks.traffic().of(Kind::Reduce).given)
    })
}

#[test]
fn codebooks_come_to_the_same_by_one_to_four_ranks() {
    for (count, mean) in [(3000, None), (3000, Some(Mean::Huber(0.3))), (9000, None)] {
        let (points, options) = (points(count), Options { mean, ..lloyd() });
        let expected = alone(&points, &options);
        let mut of_one = None;
        for size in 1..=4 {
            let found = by_ranks(&points, &options, size);
            let again = by_ranks(&points, &options, size);
            let (first, _) = &found[0];
            for ((own, _), (other, _)) in found.iter().zip(&again) {
                assert_eq!((&own.centroids, &own.counts, own.energy), (&first.centroids, &first.counts, first.energy));
                assert_eq!((&own.centroids, &own.labels), (&other.centroids, &other.labels), "two runs");
            }
            let labels: Vec<u32> = found.iter().flat_map(|(own, _)| own.labels.clone()).collect();
            assert_eq!((labels.len(), first.counts.iter().sum::<u32>()), (count, count as u32));
            assert_eq!(first.termination, Termination::Converged);
            if size == 1 && count <= 4096 {
                // All points are in the sample: it is the clustering of one device, to the bit.
                assert_eq!((&first.centroids, &labels, first.energy), (&expected.centroids, &expected.labels, expected.energy));
            }
            let of_one: &Outcome = of_one.get_or_insert_with(|| found[0].0.clone());
            assert!((first.energy - of_one.energy).abs() < 1e-5 * of_one.energy, "{} and {}", first.energy, of_one.energy);
            let moved = first.centroids.iter().zip(&of_one.centroids).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(moved < 1e-3, "{size} ranks: anchors are {moved} apart");
            assert!(first.energy < 1.2 * expected.energy, "{} and {}", first.energy, expected.energy);
        }
    }
}

/// The bytes of an iteration are those of docs/internals/RANKS.md, whatever the number of points.
#[test]
fn an_iteration_exchanges_sums_of_clusters_and_a_few_more_numbers() {
    for count in [2000, 4000] {
        for (outcome, given) in by_ranks(&points(count), &lloyd(), 2) {
            let iterations = outcome.iterations.len() as u64;
            let sums = 4 * 12 * (DIM as u64 + 1);
            // Before it, f64: the mean, the variance, the scale, four numbers of partial sums, and counts of clusters after it.
            let before = 8 * (DIM as u64 + 1 + 1 + 4 + 12);
            let each = (given - before) as f64 / iterations as f64 - sums as f64;
            // Of the energy two, and one of the changed labels, a tile of at most 128 points each.
            assert!(each > 0.0 && each < 4.0 * count as f64 / 16.0, "{count} points: {each} bytes besides {sums}");
            assert_eq!((given - before) % iterations, 0);
        }
    }
}

#[test]
fn faults_of_a_rank_are_told_to_all() {
    let all = points(300);
    let message = |error: Error| error.to_string();
    let ranks_found = on_all(3, |ranks| {
        let own = if ranks.rank() == 1 { Vec::new() } else { all.clone() };
        let mut device = device();
        let error = over_ranks(&mut device, ranks, own, &lloyd()).unwrap_err();
        assert!(device.join(None).unwrap().is_none(), "the device is alone again");
        message(error)
    });
    assert_eq!(ranks_found, vec!["cluster(): rank 1 has no points that can be clustered"; 3]);
    let found = on_all(2, |ranks| {
        let options = Options { clusters: 12 + ranks.rank(), ..lloyd() };
        over_ranks(&mut device(), ranks, all.clone(), &options).unwrap_err()
    });
    let differs = Error::Device(DeviceError::Ranks(Fault::Differs { what: "options", rank: 1 }));
    assert_eq!(found, vec![differs.clone(); 2]);
    // Options that one rank alone would refuse.
    let found = on_all(2, |ranks| {
        let options = Options { method: if ranks.rank() == 1 { Some(Method::Anneal) } else { lloyd().method }, ..lloyd() };
        over_ranks(&mut device(), ranks, all.clone(), &options).unwrap_err()
    });
    assert_eq!(found, vec![differs; 2]);
    let found = on_all(2, |ranks| {
        let own = if ranks.rank() == 1 { all[1..].to_vec() } else { all.clone() };
        message(over_ranks(&mut device(), ranks, own, &lloyd()).unwrap_err())
    });
    assert_eq!(found[0], "cluster(): rank 1 has points that are not whole rows");
    assert!(found[1].contains("a multiple of dim = 6"), "{}", found[1]);
    // A device without room for what iterations have.
    let found = on_all(2, |ranks| {
        let mut limits = CpuDevice::default_limits();
        limits.buffer_bytes = if ranks.rank() == 1 { 4096 } else { limits.buffer_bytes };
        let mut device = Device::Cpu(CpuDevice::new(Precision::F32, limits));
        let error = over_ranks(&mut device, ranks.clone(), all.clone(), &lloyd()).unwrap_err();
        assert_eq!((device.counters().bytes_live, ranks.barrier("after")), (0, Ok(())));
        message(error)
    });
    assert_eq!(found[0], "rank 1 could not set up its part: it has the reason");
    assert!(!found[1].contains("it has the reason"), "{}", found[1]);
    let found = on_all(2, |ranks| {
        let mut own = all.clone();
        own[8] = if ranks.rank() == 1 { f32::NAN } else { own[8] };
        message(over_ranks(&mut device(), ranks, own, &lloyd()).unwrap_err())
    });
    assert_eq!(found[0], "points of another rank are not finite: it has the row");
    assert!(found[1].contains("component 2 of row 1 is NaN"), "{}", found[1]);
    for (options, name) in
        [(Options::new(DIM as u32, 4), "method \"lloyd\" alone"), (Options { mean: Some(Mean::Trim(0.1)), ..lloyd() }, "mean: { trim }")]
    {
        let found = on_all(1, |ranks| message(over_ranks(&mut device(), ranks, all.clone(), &options).unwrap_err()));
        assert!(found[0].contains(name), "{}", found[0]);
    }
}

fn session(precision: Precision, ranks: Arc<dyn Communicator>) -> Session {
    Session::over_ranks(Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits())), ranks).unwrap()
}

/// Goes on with a task to its end, in slices of a millisecond; `each` is called whenever it tells of progress, which it does once there is
/// a codebook.
pub fn ended(session: &mut Session, task: u32, mut each: impl FnMut(&mut Session)) -> Result<Outcome, Error> {
    loop {
        match session.resume(task, 1.0)? {
            Progress::Clustering(outcome) => return Ok(*outcome),
            Progress::Partly { .. } => each(session),
            Progress::Yielded => {}
            _ => panic!("it is no clustering"),
        }
    }
}

pub fn by_all(session: &mut Session, points: Vec<f32>, options: &Options) -> Result<Outcome, Error> {
    let task = session.cluster_by_ranks(points, None, options, "l2")?;
    ended(session, task, |_| {})
}

/// Mean squared distance of points to the centroids that their labels name.
pub fn energy_of(points: &[f32], labels: &[u32], centroids: &[f32]) -> f64 {
    let square = |(label, row): (&u32, &[f32])| {
        let centroid = &centroids[*label as usize * DIM..][..DIM];
        row.iter().zip(centroid).map(|(x, c)| f64::from(x - c).powi(2)).sum::<f64>()
    };
    labels.iter().zip(points.chunks(DIM)).map(square).sum::<f64>() / labels.len() as f64
}

/// Iterations that do not converge; they tell of progress once in 24.
pub fn endless() -> Options {
    Options { tolerance: Some(0.0), min_changes: Some(0), max_iterations: Some(2000), ..lloyd() }
}

fn fault(error: Error) -> Fault {
    match error {
        Error::Device(DeviceError::Ranks(fault)) => fault,
        other => panic!("{other}"),
    }
}

/// Sessions in f64 have another device for clusters.
#[test]
fn sessions_have_the_codebooks_of_ranks() {
    let (points, options) = (points(3000), lloyd());
    for size in 1..=4 {
        let expected = by_ranks(&points, &options, size);
        for precision in [Precision::F32, Precision::F64] {
            let found = on_all(size, |ranks| {
                let (rank, mut session) = (ranks.rank(), session(precision, ranks));
                let own = part(&points, rank, size);
                let outcome = by_all(&mut session, own.clone(), &options).unwrap();
                assert_eq!(session.counters().bytes_live, 0, "memory is left");
                let is_rank = session.device_mut().join(None).unwrap().is_some();
                assert!(is_rank, "the engine's own device is still a rank");
                // By itself it asks nobody: only the first rank makes this one.
                if rank == 0 {
                    let task = session.cluster(own.clone(), None, &options).unwrap();
                    let by_itself = ended(&mut session, task, |_| {}).unwrap();
                    assert_eq!(by_itself.centroids, alone(&own, &options).centroids);
                }
                outcome
            });
            for (found, (expected, _)) in found.iter().zip(&expected) {
                assert_eq!((&found.centroids, &found.labels, &found.counts), (&expected.centroids, &expected.labels, &expected.counts));
                assert_eq!((found.energy, &found.iterations), (expected.energy, &expected.iterations));
            }
        }
    }
    // A session that is no rank has its own points alone.
    let mut alone_session = Session::new(device());
    assert_eq!(by_all(&mut alone_session, points.clone(), &options).unwrap().centroids, alone(&points, &options).centroids);
}

/// A rank whose points all fit, and one that brings them in five chunks, in every iteration.
#[test]
fn ranks_that_stream_points_end_and_stop_together() {
    let points = points(3000);
    let expected = alone(&points, &lloyd());
    let part = |rank: u32| if rank == 0 { points[..500 * DIM].to_vec() } else { points[500 * DIM..].to_vec() };
    let streamed = Options { device_bytes: Some((4 * 700 * DIM) as f64), ..lloyd() };
    let found = on_all(2, |ranks| by_all(&mut session(Precision::F32, ranks.clone()), part(ranks.rank()), &streamed).unwrap());
    assert_eq!((&found[0].centroids, found[0].energy), (&found[1].centroids, found[1].energy));
    assert!((found[0].energy - expected.energy).abs() < 1e-3 * expected.energy, "{} and {}", found[0].energy, expected.energy);
    assert_eq!([found[0].labels.len(), found[1].labels.len()], [500, 2500]);
    let endless = Options { device_bytes: streamed.device_bytes, ..endless() };
    let found = on_all(2, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F32, ranks));
        let task = session.cluster_by_ranks(part(rank), None, &endless, "l2").unwrap();
        ended(&mut session, task, |session| session.stop(task, "enough")).unwrap()
    });
    assert!(found.iter().all(|of_rank| of_rank.termination == Termination::Stopped && of_rank.reason == "enough"));
    assert_eq!((&found[0].centroids, &found[0].iterations), (&found[1].centroids, &found[1].iterations));
}

#[test]
fn one_rank_that_is_told_to_stop_ends_the_clustering_of_all() {
    let all = points(3000);
    let found = on_all(3, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks));
        let own = part(&all, rank, 3);
        let task = session.cluster_by_ranks(own.clone(), None, &endless(), "l2").unwrap();
        let stopped = ended(&mut session, task, |session| {
            if rank == 1 {
                session.stop(task, "enough");
            }
        });
        // All go on from there; before there is a codebook there is nothing to give.
        let never = session.cluster_by_ranks(own.clone(), None, &endless(), "l2").unwrap();
        if rank == 2 {
            session.stop(never, "never");
        }
        let never = ended(&mut session, never, |_| {}).unwrap_err();
        let again = by_all(&mut session, own, &lloyd()).unwrap();
        assert_eq!(session.counters().bytes_live, 0, "memory is left");
        (stopped, never, again)
    });
    let expected = by_ranks(&all, &lloyd(), 3);
    let outcomes: Vec<&Outcome> = found.iter().map(|(stopped, ..)| stopped.as_ref().unwrap()).collect();
    let first = outcomes[0];
    for (rank, (outcome, (_, never, again))) in outcomes.iter().zip(&found).enumerate() {
        assert_eq!(
            (outcome.termination, &outcome.iterations, &outcome.centroids),
            (Termination::Stopped, &first.iterations, &first.centroids)
        );
        assert_eq!(outcome.reason, if rank == 1 { "enough" } else { "another rank was told to stop" });
        let reason = if rank == 2 { "never" } else { "another rank was told to stop" };
        assert!(matches!(never, Error::Stopped(given) if given == reason), "{never}");
        assert_eq!(again.centroids, expected[rank].0.centroids);
    }
    assert!(first.iterations.len() < 50, "{} iterations", first.iterations.len());
    // Labels are those of the centroids.
    let labels: Vec<u32> = outcomes.iter().flat_map(|outcome| outcome.labels.clone()).collect();
    let energy = energy_of(&all, &labels, &first.centroids);
    assert!((energy - first.energy).abs() < 1e-4 * energy, "{energy} and {}", first.energy);
}

/// The first rank gives its clustering up, before it began and in its midst, or its device fails.
#[test]
fn a_rank_that_does_not_go_on_tells_the_others_why() {
    let all = points(3000);
    for (begins, fails) in [(false, false), (true, false), (true, true)] {
        let begun = Instant::now();
        let found = on_all(3, |ranks| {
            let (rank, mut session) = (ranks.rank(), session(Precision::F32, ranks));
            let task = session.cluster_by_ranks(part(&all, rank, 3), None, &endless(), "l2").unwrap();
            if rank == 0 {
                while begins && !matches!(session.resume(task, 1.0).unwrap(), Progress::Partly { .. }) {}
                if !fails {
                    session.cancel(task);
                    assert_eq!(session.counters().bytes_live, 0, "memory is left");
                    return None;
                }
                let Device::Cpu(device) = session.device_mut() else { panic!("a CPU") };
                device.dispose();
            }
            let error = ended(&mut session, task, |_| {}).unwrap_err();
            if rank == 0 {
                assert!(!matches!(error, Error::Device(DeviceError::Ranks(_))), "its own error: {error}");
                return None;
            }
            assert_eq!(error.code(), "device-lost");
            assert_eq!(session.counters().bytes_live, 0, "memory is left");
            Some(fault(error))
        });
        assert!(begun.elapsed() < DEADLINE, "nobody waited for the deadline");
        assert_eq!(found[1], found[2]);
        let Some(Fault::Broken { rank: 0, size: 3, message }) = &found[1] else { panic!("{:?}", found[1]) };
        assert_eq!(message == "its clustering was given up", !fails, "{message}");
    }
}

#[test]
fn what_ranks_do_not_agree_on_or_do_not_have_is_refused_and_all_go_on() {
    let all = points(600);
    let expected = by_ranks(&all, &lloyd(), 2);
    let found = on_all(2, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks));
        let own = part(&all, rank, 2);
        let mut refused = |points: &[f32], start: Option<&[f64]>, options: Options, metric: &str| {
            let task = session.cluster_by_ranks(points.to_vec(), start, &options, metric).unwrap();
            let error = ended(&mut session, task, |_| {}).unwrap_err();
            (error.code(), error.to_string())
        };
        let found = [
            refused(&own, None, Options { seed: Some(rank), ..lloyd() }, "l2"),
            refused(&own, None, lloyd(), if rank == 1 { "cosine" } else { "l2" }),
            refused(if rank == 1 { &[] } else { &own[..] }, None, lloyd(), "l2"),
            refused(&own, None, Options { method: None, ..lloyd() }, "l2"),
            refused(&own, None, Options { method: Some(Method::Vlc), ..lloyd() }, "l2"),
            refused(&own, None, Options { mean: Some(Mean::Trim(0.1)), ..lloyd() }, "l2"),
            refused(&own, Some(&[0.5; 12 * DIM]), lloyd(), "l2"),
        ];
        (found, by_all(&mut session, own, &lloyd()).unwrap().centroids)
    });
    assert_eq!(found[0], found[1]);
    let (refused, centroids) = &found[0];
    assert_eq!(*centroids, expected[0].0.centroids);
    let differs = "rank 1 has other options than rank 0: all ranks must declare the same";
    for ((code, message), expected) in refused.iter().zip([
        differs,
        differs,
        "cluster(): rank 1 has no points that can be clustered",
        "cluster(): ranks have method \"lloyd\" alone",
        "cluster(): ranks have method \"lloyd\" alone",
        "cluster(): ranks have no mean: { trim }, which sorts the points of all: use { huber }",
        "cluster(): ranks find a start of their own: leave out the centroids of `start`",
    ]) {
        assert_eq!((*code, message.as_str()), ("invalid-option", expected));
    }
}

/// Ranks go on with two clusterings, each in an order of its own.
#[test]
fn tasks_of_all_ranks_take_turns_in_the_order_in_which_they_were_begun() {
    let (one, two) = (points(600), points(1000));
    let expected = [&one, &two].map(|points| by_ranks(points, &lloyd(), 3));
    let found = on_all(3, |ranks| {
        let (rank, mut session) = (ranks.rank(), session(Precision::F64, ranks));
        let tasks = [&one, &two].map(|points| session.cluster_by_ranks(part(points, rank, 3), None, &lloyd(), "l2").unwrap());
        let mut outcomes = [None, None];
        for turn in rank as usize.. {
            let which = turn % 2;
            if outcomes[which].is_none()
                && let Progress::Clustering(outcome) = session.resume(tasks[which], 1.0).unwrap()
            {
                outcomes[which] = Some(outcome.centroids);
            }
            if outcomes.iter().all(Option::is_some) {
                break;
            }
        }
        outcomes.map(Option::unwrap)
    });
    for (rank, found) in found.iter().enumerate() {
        assert_eq!(*found, [0, 1].map(|which: usize| expected[which][rank].0.centroids.clone()));
    }
}
