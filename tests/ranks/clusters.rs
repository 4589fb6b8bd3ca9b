//! Lloyd's iterations over ranks.

use super::on_all;
use crate::support::Random;
use leastwise::Error;
use leastwise::anneal::cluster::{Clustering, Mean, Method, Next, Options, Outcome, Termination, over_ranks};
use leastwise::collective::{Fault, Kind};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, DeviceError, Precision};

const DIM: usize = 6;

fn points(count: usize) -> Vec<f32> {
    let mut random = Random::new(11);
    let centres: Vec<f64> = (0..12 * DIM).map(|_| random.between(-1.0, 1.0)).collect();
    let near = |place: usize| centres[place / DIM * 7 % 12 * DIM + place % DIM];
    (0..count * DIM).map(|place| (5.0 + near(place) + random.between(-0.2, 0.2)) as f32).collect()
}

fn lloyd() -> Options {
    Options { method: Some(Method::Lloyd), tolerance: Some(1e-7), ..Options::new(DIM as u32, 12) }
}

fn device() -> Device {
    Device::Cpu(CpuDevice::new(Precision::F32, CpuDevice::default_limits()))
}

fn alone(points: &[f32], options: &Options) -> Outcome {
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
    assert_eq!(ranks_found, vec!["cluster(): rank 1 has no points"; 3]);
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
