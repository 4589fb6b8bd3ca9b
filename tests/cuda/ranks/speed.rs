//! Times of one GPU beside two.
//!
//! `cargo test --release --features cuda --test cuda ranks::speed -- --ignored --nocapture`: Lloyd's iterations over 4 million points of
//! 128 components with 2,048 anchors, and steps of a bundle with 5 million views. `LEASTWISE_SPEED_SHARE` takes a part of both.

use super::scenes::{Declare, views};
use super::{Over, on_ranks};
use crate::support::Random;
use leastwise::anneal::cluster::{Method, Options as Clusters, over_ranks};
use leastwise::collective::Kind;
use leastwise::device::Precision;
use leastwise::problem::Shape;
use leastwise::ranks::RankedProblem;
use leastwise::solve::Options;
use std::time::{Duration, Instant};

/// Ranks may be minutes apart where one of them compiles or divides.
const PATIENCE: Duration = Duration::from_secs(300);

fn share() -> f64 {
    std::env::var("LEASTWISE_SPEED_SHARE").map_or(1.0, |text| text.parse().expect("LEASTWISE_SPEED_SHARE is a number"))
}

const DIM: usize = 128;
const ANCHORS: u32 = 2048;

/// Points of a rank: each has its own stream of numbers.
fn points(count: usize, rank: u32) -> Vec<f32> {
    let mut random = Random::new(3 + u64::from(rank));
    let two = |word: u64| [word >> 40, word >> 16 & 0xff_ffff].map(|part| part as f32 / 16_777_216.0);
    (0..count * DIM / 2).flat_map(|_| two(random.next())).collect()
}

/// Milliseconds of one of Lloyd's iterations, from runs of two lengths by turns: what comes before them takes as long in both.
fn lloyd(size: u32, count: usize) -> f64 {
    let [few, many] = [5u32, 205];
    let found = on_ranks(Over::Nccl, (size, Precision::F32, PATIENCE), |mut device, ranks| {
        let own = points(count / size as usize, ranks.rank());
        let mut timed = |iterations: u32| {
            let options = Clusters { method: Some(Method::Lloyd), tolerance: Some(0.0), ..Clusters::new(DIM as u32, ANCHORS) };
            let options = Clusters { max_iterations: Some(iterations), ..options };
            ranks.barrier("begin").unwrap();
            let begun = Instant::now();
            let outcome = over_ranks(&mut device, ranks.clone(), own.clone(), &options).unwrap();
            (begun.elapsed().as_secs_f64() * 1e3, outcome.iterations.len() as f64)
        };
        timed(many);
        let mut runs = Vec::new();
        for _ in 0..3 {
            runs.push([timed(few), timed(many)]);
        }
        let least = |which: usize| runs.iter().map(|run| run[which].0).fold(f64::INFINITY, f64::min);
        let more = runs[0][1].1 - runs[0][0].1;
        println!("rank {}: {more} iterations more, runs of {few} and {many}: {runs:?}", ranks.rank());
        assert!(more > 0.0, "points are at rest after {few} iterations");
        (least(1) - least(0)) / more
    });
    found.into_iter().map(|ms| ms.expect("a rank that lives")).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
#[ignore = "a measurement: needs two GPUs and NCCL"]
fn lloyd_by_one_and_two() {
    let count = (4e6 * share()) as usize;
    let [one, two] = [1, 2].map(|size| lloyd(size, count));
    println!("Lloyd, {count} x {DIM}, {ANCHORS} anchors: {one:.2} ms an iteration on one GPU, {two:.2} ms on two: {:.2} x", one / two);
    assert!(two > 0.0 && one > 0.0);
}

/// What a rank saw of a solve.
#[derive(Debug)]
struct Seen {
    ms: f64,
    inner: u32,
    initial: f64,
    cost: f64,
    setup_ms: f64,
    bytes: u64,
    instances: u32,
    shared: u64,
    /// Of every iteration whether it was accepted, and its inner iterations; and how the solve ended.
    steps: Vec<(bool, u32)>,
    reason: String,
}

fn bundle(size: u32, points: usize, linear: &str) -> Vec<Seen> {
    let options = Options {
        linear: Some(linear.into()),
        preconditioner: None,
        max_iterations: Some(6.0),
        cost_tolerance: Some(0.0),
        step_tolerance: Some(0.0),
        gradient_tolerance: Some(0.0),
        forcing: Some(1e-4),
        ..super::scenes::options()
    };
    // In f32 steps without points' unknowns come to points beside cameras, where derivatives are not finite.
    let precision = if linear == "pcg" { Precision::F32 } else { Precision::F64 };
    let found = on_ranks(Over::Nccl, (size, precision, PATIENCE), |device, ranks| {
        let mut problem = RankedProblem::new(device, ranks.clone()).unwrap();
        let begun = Instant::now();
        path(&mut problem, points);
        // The first solve divides, compiles and makes graphs.
        problem.solve(&Options { max_iterations: Some(2.0), ..options.clone() }).unwrap();
        let setup_ms = begun.elapsed().as_secs_f64() * 1e3;
        let before = ranks.traffic().of(Kind::Reduce).given;
        let report = problem.solve(&options).unwrap();
        let bytes = ranks.traffic().of(Kind::Reduce).given - before;
        let steps = &report.report.iterations[1..];
        Seen {
            ms: steps.iter().map(|step| step.ms).sum(),
            inner: steps.iter().map(|step| step.inner_iterations).sum(),
            initial: report.report.initial_cost,
            cost: report.report.cost,
            setup_ms,
            bytes,
            instances: report.instances,
            shared: report.exchanged.unknowns,
            steps: report.report.iterations.iter().map(|step| (step.accepted, step.inner_iterations)).collect(),
            reason: report.report.reason.clone(),
        }
    });
    found.into_iter().map(|seen| seen.expect("a rank that lives")).collect()
}

/// A bundle along a path: 2,500 cameras, each point seen by five that follow each other.
pub fn path(to: &mut impl Declare, points: usize) {
    const CAMERAS: usize = 2500;
    let mut random = Random::new(7);
    let mut within = |spread: f64| random.between(-spread, spread);
    let step = 0.2;
    let first = |point: usize| (point * (CAMERAS - 4) / points).min(CAMERAS - 5);
    let places: Vec<f64> =
        (0..points).flat_map(|point| [step * (first(point) + 2) as f64 + within(0.9), within(0.9), within(0.9)]).collect();
    let (mut columns, mut pixels) = ([Vec::new(), Vec::new()], Vec::new());
    for (number, point) in places.chunks(3).enumerate() {
        for camera in first(number)..first(number) + 5 {
            let (x, y, z) = (point[0] - step * camera as f64, point[1], point[2] + 4.0);
            pixels.extend([1.1 * x / z + within(0.004), 1.1 * y / z + within(0.004)]);
            columns[0].push(camera as u32);
            columns[1].push(number as u32);
        }
    }
    let poses: Vec<f64> = (0..CAMERAS)
        .flat_map(|camera| [1.0, 0.0, within(0.01), 0.0, -step * camera as f64 + within(0.02), within(0.02), 4.0 + within(0.02)])
        .collect();
    let starts: Vec<f64> = places.iter().map(|place| place + within(0.04)).collect();
    let focal = to.table("focal", vec![Shape::Euclidean(1)], &[1.1], false);
    let pose = to.table("pose", vec![Shape::Quaternion, Shape::Euclidean(3)], &poses, true);
    let point = to.table("point", vec![Shape::Euclidean(3)], &starts, true);
    views(to, [pose, point, focal], columns, &pixels);
    // Along a path that is held at its begin alone, conjugate gradients would need the more iterations.
    to.fix(pose, &(0..CAMERAS as u32).step_by(25).collect::<Vec<_>>());
}

#[test]
#[ignore = "a measurement: needs two GPUs and NCCL"]
fn bundle_by_one_and_two() {
    ["pcg", "schur-pcg"].into_iter().for_each(bundle_by);
}

fn bundle_by(linear: &str) {
    let points = (1e6 * share()) as usize;
    let mut each = Vec::new();
    for size in [1, 2] {
        let found = bundle(size, points, linear);
        let ms = found.iter().map(|seen| seen.ms).fold(0.0, f64::max);
        let first = &found[0];
        each.push((ms, first.inner));
        // No further: inner iterations end by their number, in f32, where rounding decides what they have come to. What ranks add up is
        // compared in f64, before that (`solves.rs`).
        assert!(found.iter().all(|seen| seen.cost < seen.initial && seen.cost.to_bits() == first.cost.to_bits()), "{found:?}");
        println!(
            "bundle by {linear}, {} views, {size} GPU: {ms:.1} ms, {} inner iterations, {:.1} us each; cost {:.6e}; {} shared unknowns, {} bytes given; \
             set-up {:.0} ms; views by rank {:?}; initial cost {:.6e}; {:?}; {}",
            5 * points,
            first.inner,
            1e3 * ms / f64::from(first.inner),
            first.cost,
            first.shared,
            first.bytes,
            first.setup_ms,
            found.iter().map(|seen| seen.instances).collect::<Vec<_>>(),
            first.initial,
            first.steps,
            first.reason
        );
    }
    let rate = |(ms, inner): (f64, u32)| ms / f64::from(inner);
    println!(
        "bundle by {linear}: {:.2} x by two, an inner iteration; {:.2} x a solve",
        rate(each[0]) / rate(each[1]),
        each[0].0 / each[1].0
    );
    assert!(each.iter().all(|(ms, inner)| *ms > 0.0 && *inner > 0));
}
