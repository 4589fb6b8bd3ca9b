//! Points that are few, alike, enormous or not finite; devices with little room.

use crate::clusters::support::{Gaussian, cluster, cpu, gpu};
use leastwise::Error;
use leastwise::anneal::cluster::{Clustering, Mean, Method, Options, Outcome, Start};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Limits, Precision};

const METHODS: [Method; 3] = [Method::Anneal, Method::Lloyd, Method::Vlc];

fn options(dim: u32, clusters: u32, method: Method) -> Options {
    Options { method: Some(method), max_iterations: Some(60), ..Options::new(dim, clusters) }
}

#[test]
fn fewer_points_than_clusters_and_points_that_are_all_alike() {
    for method in METHODS {
        let one = cluster(&mut cpu(), &[1.0, 2.0, 3.0], &options(3, 5, method));
        assert_eq!((one.clusters, one.energy, &one.labels[..], &one.centroids[..]), (1, 0.0, &[0][..], &[1.0, 2.0, 3.0][..]), "{method:?}");
        let three = cluster(&mut cpu(), &[0.0, 4.0, 9.0], &options(1, 8, method));
        assert_eq!((three.clusters, three.energy), (3, 0.0), "{method:?}");
        let alike = cluster(&mut cpu(), &[7.5; 200], &options(2, 4, method));
        assert_eq!(alike.energy, 0.0, "{method:?}");
        assert!(alike.centroids.iter().all(|x| *x == 7.5), "{method:?}");
        let twice: Vec<f32> = (0..300).map(|i| [1.0, 5.0, 5.0][i % 3]).collect();
        let twice = cluster(&mut cpu(), &twice, &options(1, 6, method));
        assert!(twice.energy < 1e-9, "{method:?}: {}", twice.energy);
    }
}

#[test]
fn centroids_that_are_given_are_where_it_begins() {
    let points: Vec<f32> = [0.0, 0.2, 1.0, 1.2, 8.0, 8.4].into_iter().flat_map(|x: f32| [x, 3.0 - x]).collect();
    let from = |centroids: &[f64], iterations: u32| Options {
        max_iterations: Some(iterations),
        centroids: centroids.to_vec(),
        ..options(2, centroids.len() as u32 / 2, Method::Lloyd)
    };
    for mut device in [cpu().into(), gpu(Limits::WEBGPU)] {
        // One of the three is so far away that no point comes to it: what is left is no start's choice.
        let given = [0.0, 3.0, 1.1, 1.9, 1000.0, -997.0];
        let found = cluster(&mut device, &points, &from(&given, 50));
        assert_eq!((found.clusters, &found.labels[..]), (2, &[0, 0, 0, 0, 1, 1][..]), "the one far away has no point");
        let best = cluster(&mut device, &points, &from(&[0.1, 2.9, 1.1, 1.9, 8.2, -5.2], 50));
        assert_eq!((best.clusters, &best.labels[..]), (3, &[0, 0, 1, 1, 2, 2][..]));
        assert!((best.energy - (2.0 * 0.02 + 2.0 * 0.02 + 2.0 * 0.08) / 6.0).abs() < 1e-5, "{}", best.energy);
        // Again from where it ended: nothing changes.
        let again: Vec<f64> = best.centroids.iter().map(|x| f64::from(*x)).collect();
        let same = cluster(&mut device, &points, &from(&again, 50));
        assert_eq!((same.labels, same.iterations.len() <= 2), (best.labels, true));
    }
    let refused = |options: Options| match Clustering::new(&mut cpu(), points.clone(), &options) {
        Ok(_) => panic!("it was taken"),
        Err(error) => assert_eq!(error.code(), "invalid-option", "{error}"),
    };
    refused(Options { clusters: 4, ..from(&[0.0; 6], 5) });
    refused(from(&[0.0, f64::NAN], 5));
    refused(from(&[0.0; 14], 5));
    refused(Options { method: Some(Method::Anneal), ..from(&[0.0; 6], 5) });
    refused(Options { start: Some(Start::Farthest), ..from(&[0.0; 6], 5) });
}

#[test]
fn sizes_neither_overflow_nor_vanish() {
    let mut random = Gaussian::new("sizes");
    let points = random.mixture(4, 20, 400, 0.02);
    let usual = cluster(&mut cpu(), &points, &options(20, 4, Method::Anneal)).energy;
    for (scale, offset) in [(1e18, 0.0), (1e-18, 0.0), (1.0, 1e4)] {
        let other: Vec<f32> = points.iter().map(|x| (f64::from(*x) * scale + offset) as f32).collect();
        let outcome = cluster(&mut cpu(), &other, &options(20, 4, Method::Anneal));
        let energy = outcome.energy / scale / scale;
        assert!((energy - usual).abs() < 0.05 * usual, "{scale}, {offset}: {energy}, usually {usual}");
    }
}

#[test]
fn what_cannot_be_clustered_is_refused() {
    let refusal = |points: &[f32], options: &Options| match Clustering::new(&mut cpu(), points.to_vec(), options) {
        Ok(_) => panic!("it was taken"),
        Err(error) => (error.code(), error.to_string()),
    };
    let plain = Options::new(2, 2);
    let (code, text) = refusal(&[0.0, 1.0, 2.0, f32::NAN], &plain);
    assert_eq!((code, &text[..]), ("non-finite", "points: component 1 of row 1 is NaN, but all numbers must be finite"));
    let error = Clustering::new(&mut cpu(), vec![f32::INFINITY; 2], &plain).err().expect("a refusal");
    assert_eq!(error.instance(), Some(0));
    assert_eq!(refusal(&[0.0; 3], &plain).0, "data-length");
    assert_eq!(refusal(&[], &plain).0, "data-length");
    for wrong in [
        Options::new(0, 2),
        Options::new(2, 0),
        Options { cooling: Some(1.0), ..plain.clone() },
        Options { temperature: Some(f64::NAN), ..plain.clone() },
        Options { mean: Some(Mean::Trim(0.6)), method: Some(Method::Lloyd), ..plain.clone() },
        Options { mean: Some(Mean::Huber(-1.0)), method: Some(Method::Lloyd), ..plain.clone() },
        Options { mean: Some(Mean::Trim(0.1)), ..plain.clone() },
        Options { tolerance: Some(-1.0), ..plain.clone() },
        Options { max_iterations: Some(0), ..plain.clone() },
        Options { momentum: Some(1.0), ..plain.clone() },
    ] {
        assert_eq!(refusal(&[0.0; 4], &wrong).0, "invalid-option", "{wrong:?}");
    }
}

/// From where rounding decides nothing: what is picked at random depends on sums of distances.
fn from_the_farthest(options: Options) -> Options {
    Options { start: (options.method != Some(Method::Anneal)).then_some(Start::Farthest), ..options }
}

/// Of the same energies, up to rounding, in the first iterations. A tie that rounding decides may then lead to another local minimum,
/// which is about as deep.
fn alike(name: &str, one: &Outcome, other: &Outcome) {
    for (number, (a, b)) in one.iterations.iter().zip(&other.iterations).take(3).enumerate() {
        assert!((a.energy - b.energy).abs() < 1e-4 * a.energy, "{name}, iteration {number}: {}, {}", a.energy, b.energy);
    }
    assert!((one.energy - other.energy).abs() < 0.03 * one.energy, "{name}: {}, {}", one.energy, other.energy);
}

/// Points in pieces, anchors in pieces, and points that have to be brought again in every iteration.
#[test]
fn little_room_changes_next_to_nothing() {
    let mut random = Gaussian::new("room");
    let (dim, count) = (30, 3000);
    let points = random.mixture(12, dim, count, 0.05);
    for method in METHODS {
        let mean = (method != Method::Anneal).then_some(Mean::Trim(0.1));
        let all = Options { mean, ..from_the_farthest(options(dim as u32, 14, method)) };
        let roomy = cluster(&mut cpu(), &points, &all);
        let streamed = cluster(&mut cpu(), &points, &Options { device_bytes: Some(100_000.0), ..all.clone() });
        let limits = Limits { binding_bytes: 200_000, ..Limits::SMALL };
        let mut small = Device::Cpu(CpuDevice::new(Precision::F32, limits));
        let cramped = cluster(&mut small, &points, &all);
        for (name, other) in [("streamed", &streamed), ("cramped", &cramped)] {
            alike(&format!("{method:?}, {name}"), &roomy, other);
        }
    }
    // Anchors in several pieces.
    let limits = Limits { binding_bytes: 160_000, ..Limits::SMALL };
    let many = from_the_farthest(options(dim as u32, 700, Method::Lloyd));
    let mut small = Device::Cpu(CpuDevice::new(Precision::F32, limits));
    let (pieces, whole) = (cluster(&mut small, &points, &many), cluster(&mut cpu(), &points, &many));
    alike("anchors in pieces", &pieces, &whole);
    for method in [Method::Anneal, Method::Vlc] {
        let refused = Clustering::new(&mut small, points.clone(), &options(dim as u32, 700, method));
        let error = match refused {
            Err(error) => error,
            Ok(mut clustering) => clustering.advance(&mut small, &[]).err().expect("a refusal"),
        };
        assert!(matches!(error, Error::Limits(_)) && error.to_string().contains("lloyd"), "{error}");
    }
}

#[test]
fn a_gpu_reads_back_little() {
    let mut random = Gaussian::new("readbacks");
    let points = random.mixture(6, 17, 600, 0.1);
    let mut device = gpu(Limits::WEBGPU);
    let before = device.counters();
    let outcome = cluster(&mut device, &points, &Options { tolerance: Some(0.0), ..options(17, 8, Method::Lloyd) });
    let did = device.counters().since(&before);
    // One after the first iteration, one for eight more at a time, and at last the codebook and the labels.
    let batches = (outcome.iterations.len() as u64 - 1).div_ceil(8);
    assert!(did.readbacks <= 1 + batches + 2, "{} readbacks, {} iterations", did.readbacks, outcome.iterations.len());
    assert!(did.bytes_read_back <= (batches + 1) * 4 * 256 + 4 * (8 * 17 + 600), "{} bytes", did.bytes_read_back);
}
