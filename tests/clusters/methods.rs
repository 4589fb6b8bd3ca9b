//! Energies that methods come to, against restarts of k-means++; and what must not change them.

use crate::clusters::published::rows;
use crate::clusters::support::{Gaussian, cluster, cpu, gpu};
use crate::support::repeated;
use leastwise::Error;
use leastwise::anneal::cluster::{Clustering, Mean, Method, Next, Options, Outcome, Start, Termination};
use leastwise::device::Limits;

fn options(dim: usize, clusters: u32, method: Method, seed: u32) -> Options {
    Options { method: Some(method), seed: Some(seed), ..Options::new(dim as u32, clusters) }
}

/// The mean of squared distances, worked out anew.
fn energy_of(points: &[f32], outcome: &Outcome, dim: usize) -> f64 {
    let distance = |(point, label): (&[f32], &u32)| {
        let anchor = &outcome.centroids[*label as usize * dim..][..dim];
        point.iter().zip(anchor).map(|(x, a)| (f64::from(*x) - f64::from(*a)).powi(2)).sum::<f64>()
    };
    points.chunks(dim).zip(&outcome.labels).map(distance).sum::<f64>() / outcome.labels.len() as f64
}

/// What is said of an outcome is so: energy, counts, and every point at its nearest anchor.
fn holds(points: &[f32], outcome: &Outcome, dim: usize) {
    let energy = energy_of(points, outcome, dim);
    assert!((energy - outcome.energy).abs() <= 2e-4 * energy + 1e-12, "{energy}, and it says {}", outcome.energy);
    let mut counts = vec![0; outcome.clusters as usize];
    outcome.labels.iter().for_each(|label| counts[*label as usize] += 1);
    assert_eq!(counts, outcome.counts);
    assert!(counts.iter().all(|count| *count > 0), "an empty cluster");
    assert_eq!(outcome.centroids.len(), outcome.clusters as usize * dim);
    for (point, label) in points.chunks(dim).zip(&outcome.labels).step_by(7) {
        let distance = |anchor: &[f32]| point.iter().zip(anchor).map(|(x, a)| f64::from(x - a).powi(2)).sum::<f64>();
        let mine = distance(&outcome.centroids[*label as usize * dim..][..dim]);
        let least = outcome.centroids.chunks(dim).map(distance).fold(f64::INFINITY, f64::min);
        assert!(mine <= least + 1e-4 * outcome.energy.max(1e-9), "{mine}, and the nearest is at {least}");
    }
}

fn best_of_ten(points: &[f32], dim: usize, clusters: u32) -> f64 {
    let energy = |seed| cluster(&mut cpu(), points, &options(dim, clusters, Method::Lloyd, seed)).energy;
    (100..110).map(energy).fold(f64::INFINITY, f64::min)
}

#[test]
fn annealing_is_at_or_below_the_best_of_ten_restarts() {
    let mut random = Gaussian::new("mixtures");
    let mut gaussians = |components: usize, dim, count| {
        (format!("{components} Gaussians"), random.mixture(components, dim, count, 0.15), dim, components as u32)
    };
    let mut cases: Vec<(String, Vec<f32>, usize, u32)> =
        [(2, 3, 500), (7, 5, 700), (16, 2, 1600), (50, 8, 3000)].map(|(components, dim, count)| gaussians(components, dim, count)).into();
    let many = gaussians(256, 4, 6000);
    cases.push(("without structure".into(), random.mixture(1, 12, 3000, 1.0), 12, 40));
    cases.push(("published, 300".into(), rows(300, 64), 64, 10));
    cases.push(("published, 1000".into(), rows(1000, 64), 64, 32));
    cases.push(many);
    let mut ratios = Vec::new();
    for (name, points, dim, clusters) in repeated(&cases, 6) {
        let (dim, clusters) = (*dim, *clusters);
        let best = best_of_ten(points, dim, clusters);
        for seed in [1, 2] {
            let outcome = cluster(&mut cpu(), points, &options(dim, clusters, Method::Anneal, seed));
            println!("{name}: {:.6}, restarts {best:.6}, {} clusters", outcome.energy, outcome.clusters);
            holds(points, &outcome, dim);
            // Data are new in every run: of one in many, ten restarts are a little luckier.
            assert!(outcome.energy <= best * 1.01, "{name}, seed {seed}: {}, and restarts come to {best}", outcome.energy);
            ratios.push(outcome.energy / best);
        }
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!(mean <= 1.0, "{mean} of what restarts come to: {ratios:?}");
}

#[test]
fn every_method_does_as_it_says() {
    let mut random = Gaussian::new("methods");
    let points = random.mixture(9, 6, 900, 0.3);
    for method in [Method::Anneal, Method::Lloyd] {
        for start in [Start::PlusPlus, Start::Farthest] {
            let outcome = cluster(&mut cpu(), &points, &Options { start: Some(start), ..options(6, 12, method, 3) });
            assert_eq!(outcome.termination, Termination::Converged);
            assert_eq!(outcome.clusters, 12);
            holds(&points, &outcome, 6);
        }
    }
    let few = cluster(&mut cpu(), &points, &Options { max_iterations: Some(3), tolerance: Some(0.0), ..options(6, 12, Method::Lloyd, 3) });
    assert_eq!((few.termination, few.iterations.len()), (Termination::MaxIterations, 3));
    holds(&points, &few, 6);
}

#[test]
fn robust_means_are_not_drawn_by_outliers() {
    let mut random = Gaussian::new("outliers");
    let (dim, centres) = (3, [[-5.0f32, 0.0, 0.0], [5.0, 0.0, 0.0]]);
    let mut points: Vec<f32> = (0..400).flat_map(|i| centres[i % 2].map(|c| c + 0.1 * random.next() as f32)).collect();
    (0..20).for_each(|_| points.extend([5.0, 3.0, 0.0]));
    let off = |mean: Mean| {
        let outcome =
            cluster(&mut cpu(), &points, &Options { mean: Some(mean), start: Some(Start::Farthest), ..options(dim, 2, Method::Lloyd, 0) });
        // The cluster that has the outliers.
        let y = outcome.centroids.chunks(dim).map(|a| a[1].abs()).fold(0.0, f32::max);
        (y, outcome)
    };
    let ((plain, _), (trimmed, _), (huber, _)) = (off(Mean::Plain), off(Mean::Trim(0.1)), off(Mean::Huber(0.5)));
    assert!(trimmed < 0.2 * plain && huber < 0.5 * plain, "plain {plain}, trimmed {trimmed}, Huber {huber}");
}

#[test]
fn neither_threads_nor_time_slices_change_a_bit() {
    let mut random = Gaussian::new("bits");
    let points = random.mixture(20, 24, 4000, 0.4);
    for method in [Method::Anneal, Method::Lloyd, Method::Vlc] {
        let options = Options { max_iterations: Some(30), ..options(24, 25, method, 5) };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| cluster(&mut cpu(), &points, &options))
        };
        let bits = |outcome: &Outcome| outcome.centroids.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let one = on(1);
        for other in [on(2), on(3), crate::clusters::support::cluster_in_slices(&mut cpu(), &points, &options)] {
            assert!(bits(&one) == bits(&other) && one.labels == other.labels, "{method:?}");
        }
    }
}

#[test]
fn webgpu_comes_to_the_same_energies() {
    let mut random = Gaussian::new("webgpu");
    for &limits in repeated(&[Limits::SMALL, Limits::WEBGPU], 1) {
        let mut gpu = gpu(limits);
        for (dim, count, clusters) in [(3, 700, 9), (40, 500, 11)] {
            let points = random.mixture(clusters as usize, dim, count, 0.05);
            for method in [Method::Anneal, Method::Lloyd] {
                let outcome = cluster(&mut gpu, &points, &options(dim, clusters, method, 1));
                holds(&points, &outcome, dim);
                let mine = cluster(&mut cpu(), &points, &options(dim, clusters, method, 1)).energy;
                // Near-ties may go the other way, and lead elsewhere.
                assert!(outcome.energy <= 1.3 * mine && mine <= 1.3 * outcome.energy, "{method:?}, {dim}: {}, {mine}", outcome.energy);
                if method == Method::Anneal {
                    assert!((outcome.energy - mine).abs() <= 1e-3 * mine, "{dim}: {}, {mine}", outcome.energy);
                }
            }
        }
    }
}

/// How far a clustering had come when it was stopped.
fn stopped_after(points: &[f32], options: &Options, recordings: usize) -> (Result<Outcome, Error>, usize) {
    let device = &mut cpu();
    let mut clustering = Clustering::new(device, points.to_vec(), options).expect("a clustering");
    let (mut readback, mut played) = (Vec::new(), 0);
    let outcome = loop {
        if played == recordings {
            clustering.stop("enough");
        }
        match clustering.advance(device, &readback) {
            Ok(Next::Run(recording)) => readback = device.run(recording).expect("a recording"),
            Ok(Next::Done(outcome)) => break Ok(*outcome),
            Err(error) => break Err(error),
        }
        played += 1;
    };
    clustering.dispose(device);
    assert_eq!(device.counters().bytes_live, 0, "buffers are left");
    (outcome, played)
}

#[test]
fn a_stop_is_heeded_wherever_a_clustering_is() {
    let mut random = Gaussian::new("stops");
    let points = random.mixture(20, 5, 2000, 0.2);
    let of =
        |method: Method| Options { max_iterations: Some(60), tolerance: Some(0.0), device_bytes: Some(2e4), ..options(5, 24, method, 1) };
    let resident = |method: Method| Options { device_bytes: None, ..of(method) };
    for options in [Method::Anneal, Method::Lloyd, Method::Vlc].into_iter().flat_map(|method| [of(method), resident(method)]) {
        let (whole, all) = stopped_after(&points, &options, usize::MAX);
        assert_ne!(whole.expect("an outcome").termination, Termination::Stopped);
        let (mut voids, mut books) = (0, 0);
        for recordings in [0, 1, 2, 3, all / 4, all / 2, 3 * all / 4].into_iter().filter(|recordings| recordings + 3 < all) {
            let what = format!("{:?}, stopped after {recordings} of {all}", options.method);
            match stopped_after(&points, &options, recordings) {
                (Ok(outcome), played) => {
                    assert_eq!((outcome.termination, &outcome.reason[..]), (Termination::Stopped, "enough"), "{what}");
                    // Points are brought once more, two recordings a chunk, after annealing for eight iterations; and a codebook
                    // comes back in a few.
                    let few = if options.device_bytes.is_some() { 10 * 2 * 3 + 40 } else { 12 };
                    assert!(played <= recordings + few, "{what}: {played}");
                    if options.method != Some(Method::Vlc) {
                        holds(&points, &outcome, 5);
                    }
                    books += 1;
                }
                (Err(Error::Stopped(reason)), played) => {
                    assert_eq!((&reason[..], played), ("enough", recordings), "{what}");
                    voids += 1;
                }
                (Err(error), _) => panic!("{what}: {error}"),
            }
        }
        assert!(
            voids > 0 && (books > 0 || options.method != Some(Method::Anneal)),
            "{:?}: {voids} voids, {books} codebooks",
            options.method
        );
    }
}

#[test]
fn there_are_no_more_iterations_than_asked_for() {
    let mut random = Gaussian::new("iterations");
    let points = random.mixture(30, 4, 3000, 0.3);
    for method in [Method::Anneal, Method::Lloyd, Method::Vlc] {
        for most in [1, 2, 7, 20, 50] {
            let outcome =
                cluster(&mut cpu(), &points, &Options { max_iterations: Some(most), tolerance: Some(0.0), ..options(4, 30, method, 2) });
            assert!(outcome.iterations.len() <= most as usize, "{method:?}, {most}: {}", outcome.iterations.len());
            if outcome.termination == Termination::MaxIterations {
                assert_eq!(outcome.iterations.len(), most as usize, "{method:?}: {}", outcome.reason);
            }
        }
    }
}

#[test]
fn points_beyond_half_precision_are_refused_by_the_method_that_has_no_more() {
    let mut points = Gaussian::new("large").mixture(3, 4, 50, 0.3);
    points[4 * 17 + 2] = -65536.0;
    let refused = Clustering::new(&mut cpu(), points.clone(), &options(4, 3, Method::Vlc, 1)).err();
    assert!(matches!(refused, Some(Error::LargePoint { row: 17, component: 2, .. })), "{refused:?}");
    for method in [Method::Anneal, Method::Lloyd] {
        let far: Vec<f32> = points.iter().map(|x| x * 1e30).collect();
        let outcome = cluster(&mut cpu(), &far, &options(4, 3, method, 1));
        assert!(outcome.energy.is_finite(), "{method:?}");
    }
}
