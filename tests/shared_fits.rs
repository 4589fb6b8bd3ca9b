//! Parameters that many small fits share: the reduced equations and standard errors against the whole normal matrix in plain f64, and
//! trials that are kept and restored, on all devices.

use crate::support::fits::*;
use crate::support::{SharedDevice, shared_device};
use leastwise::device::{Device, Precision};
use leastwise::expr::Graph;
use leastwise::fits::{Candidates, FitSet, Fitting, From, Options};
use leastwise::program::fit::fit_state;
use leastwise::program::{FitModel, FitWeights};

fn devices() -> [(&'static str, SharedDevice, f64); 3] {
    let cpu = |precision: Precision| cpu_device(precision).into();
    [("cpu f64", cpu(Precision::F64), 1e-9), ("cpu f32", cpu(Precision::F32), 1e-3), ("webgpu", shared_device(None), 1e-3)]
}

/// Peaks, of which some parameters are shared and not among a scene's free ones.
fn sharing(scene: &Scene, shared: &[u32]) -> Fitting {
    let mut graph = Graph::new();
    let value = bells(&mut graph, scene.peaks);
    Fitting::with_shared(&FitModel { graph: &graph, value, likelihood: &scene.likelihood }, scene.layout(), shared).unwrap()
}

/// Scenes with their shared parameters: width and background; width, of any number of points with weights; widths of two peaks.
fn scenes_that_share() -> Vec<(Scene, Vec<u32>)> {
    let [plain, weights, bounds, ..] = <[Scene; 7]>::try_from(scenes()).ok().unwrap();
    vec![
        (Scene { free: vec![0, 1], ..plain }, vec![2, 3]),
        (Scene { free: vec![0, 1, 3], bounds: 0, ..weights }, vec![2]),
        (Scene { peaks: 2, free: vec![0, 1, 3, 4, 6], bounds: 0, ..bounds }, vec![2, 5]),
    ]
}

/// Sums over fits, whose parts are together.
fn reduced(device: &mut Device, set: &mut FitSet) -> Vec<f64> {
    set.reduce(device).unwrap();
    finished(device, set).chunks(2).map(|parts| parts[0] + parts[1]).collect()
}

/// The normal matrix of all fits with own parameters first, and the gradient, both of weighted least squares.
fn joint(sample: &Sample, scene: &Scene, shared: &[u32], at: impl Fn(u32, u32) -> f64) -> (Vec<Vec<f64>>, Vec<f64>, f64) {
    let (own, count) = (scene.free.len(), sample.count as usize);
    let n = own * count + shared.len();
    let (mut matrix, mut gradient, mut cost) = (vec![vec![0.0; n]; n], vec![0.0; n], 0.0);
    for (fit, points) in sample.each.iter().enumerate() {
        let values: Vec<f64> = (0..=3 * scene.peaks).map(|number| at(number, fit as u32)).collect();
        let places: Vec<(usize, u32)> = scene
            .free
            .iter()
            .enumerate()
            .map(|(j, number)| (fit * own + j, *number))
            .chain(shared.iter().enumerate().map(|(k, number)| (own * count + k, *number)))
            .collect();
        for &[x, y, w] in points {
            let r = bells_at(&values, x) - y;
            cost += 0.5 * w * r * r;
            let row: Vec<f64> = places.iter().map(|(_, number)| slope(&values, *number, x)).collect();
            for (a, (i, _)) in row.iter().zip(&places) {
                gradient[*i] += w * a * r;
                row.iter().zip(&places).for_each(|(b, (j, _))| matrix[*i][*j] += w * a * b);
            }
        }
    }
    (matrix, gradient, cost)
}

/// Derivative of peaks with respect to a parameter.
fn slope(values: &[f64], number: u32, x: f64) -> f64 {
    let peak = 3 * (number as usize / 3);
    let [a, mu, sigma] = match values.get(peak..peak + 3) {
        Some(peak) => [peak[0], peak[1], peak[2]],
        None => return 1.0,
    };
    let (u, e) = ((x - mu) / sigma, bell_at([1.0, mu, sigma, 0.0], x));
    [e, a * e * u / sigma, a * e * u * u / sigma][number as usize % 3]
}

#[test]
fn reduced_equations_and_errors_are_those_of_the_whole_matrix() {
    for (scene, shared) in scenes_that_share() {
        let (fitting, layout, count) = (sharing(&scene, &shared), scene.layout(), 6u32);
        let sample = scene.sample(count, &mut Noise::new(31));
        let (own, m) = (scene.free.len(), shared.len());
        for (name, mut device, part) in devices() {
            let mut set = fitting.set(&mut device, &sample.data()).unwrap();
            let found = run(&mut device, &mut set, From::Start, &Candidates::NONE, &Options::default());
            let (matrix, gradient, cost) = joint(&sample, &scene, &shared, |number, fit| found[(number * count + fit) as usize]);
            // S⁻¹ is the block of the inverse.
            let inverted = inverse(matrix.clone());
            let place = own * count as usize;
            let covariance: Vec<Vec<f64>> = inverted[place..].iter().map(|row| row[place..].to_vec()).collect();
            let right = inverse(covariance.clone());
            let sums = reduced(&mut device, &mut set);
            assert_eq!(sums.len(), m * (m + 3) / 2 + 3);
            for k in 0..m {
                for l in 0..=k {
                    let (entry, size) = (sums[k * (k + 1) / 2 + l], (matrix[place + k][place + k] * matrix[place + l][place + l]).sqrt());
                    assert!(
                        (entry - right[k][l]).abs() <= part * size,
                        "{name}, {}: entry {k}, {l} is {entry}, not {}",
                        scene.name,
                        right[k][l]
                    );
                }
                // c − Bᵀ A⁻¹ a is S times the shared part of the whole step.
                let step: Vec<f64> = (0..m).map(|l| (0..gradient.len()).map(|i| inverted[place + l][i] * gradient[i]).sum()).collect();
                let expected: f64 = (0..m).map(|l| right[k][l] * step[l]).sum();
                let (found, size) = (sums[m * (m + 1) / 2 + k], (2.0 * cost * matrix[place + k][place + k]).sqrt());
                assert!((found - expected).abs() <= part * size, "{name}, {}: gradient {k} is {found}, not {expected}", scene.name);
            }
            let found_cost = sums[m * (m + 3) / 2];
            assert!((found_cost - cost).abs() <= part * cost, "{name}: F is {found_cost}, not {cost}");
            let points: usize = sample.each.iter().map(Vec::len).sum();
            assert_eq!(sums[m * (m + 3) / 2 + 1..], [(points - own * count as usize) as f64, 0.0], "{name}, {}", scene.name);
            set.spread(&mut device, &covariance.concat(), false).unwrap();
            assert!(finished(&mut device, &mut set).is_empty());
            let after = fields(&mut device, &mut set);
            for fit in 0..count {
                for j in 0..own {
                    let error = after[((layout.errors() + j as u32) * count + fit) as usize];
                    let i = fit as usize * own + j;
                    let right = inverted[i][i].sqrt();
                    assert!((error - right).abs() <= 5.0 * part * right, "{name}, {}: error {error}, not {right}", scene.name);
                }
            }
            set.free(&mut device);
            assert_eq!(device.counters().bytes_live, 0, "{name}");
        }
    }
}

/// Neither the number of threads nor time slices change a bit of the sums over fits, or of the standard errors that follow.
#[test]
fn bits_of_sums_and_errors_are_the_same_however_the_work_is_cut() {
    let (scene, shared) = scenes_that_share().remove(2);
    let (fitting, m) = (sharing(&scene, &shared), shared.len());
    let sample = scene.sample(3000, &mut Noise::new(23));
    let covariance: Vec<f64> = (0..m * m).map(|k| if k % (m + 1) == 0 { 0.02 } else { 0.003 }).collect();
    for precision in [Precision::F32, Precision::F64] {
        let found = |threads: usize, sliced: bool| {
            on_threads(threads, || {
                let mut device = cpu_device(precision);
                let mut set = fitting.set(&mut device, &sample.data()).unwrap();
                run(&mut device, &mut set, From::Start, &Candidates::NONE, &Options::default());
                let go_on = |device: &mut Device, set: &mut FitSet| {
                    let (values, slices) = if sliced { finished_in_slices(device, set) } else { (finished(device, set), usize::MAX) };
                    assert!(slices > 3, "{slices} slices");
                    values
                };
                set.reduce(&mut device).unwrap();
                let sums = go_on(&mut device, &mut set);
                set.spread(&mut device, &covariance, false).unwrap();
                go_on(&mut device, &mut set);
                let after = fields(&mut device, &mut set);
                set.free(&mut device);
                (sums, after)
            })
        };
        let (sums, after) = found(1, false);
        assert_eq!(sums.len(), 2 * (m * (m + 3) / 2 + 3));
        for (what, threads, sliced) in [("threads", 3, false), ("slices", 1, true), ("threads and slices", 3, true)] {
            let (others, later) = found(threads, sliced);
            assert_same_bits(&sums, &others, &format!("{precision:?}, {what}: sums"));
            assert_same_bits(&after, &later, &format!("{precision:?}, {what}: errors"));
        }
    }
}

/// Trials set shared parameters of all fits, keep what was accepted, and bring it back.
#[test]
fn trials_are_kept_and_restored() {
    let (scene, shared) = scenes_that_share().remove(0);
    let (fitting, layout, count) = (sharing(&scene, &shared), scene.layout(), 50u32);
    let sample = scene.sample(count, &mut Noise::new(5));
    for (name, mut device, _) in devices() {
        let mut set = fitting.set(&mut device, &sample.data()).unwrap();
        let first = run(&mut device, &mut set, From::Start, &Candidates::NONE, &Options::default());
        let trial = |device: &mut Device, set: &mut FitSet, values: [f64; 2], keeps: bool, restores: bool| {
            set.begin_trial(device, &[0.0, 0.0, values[0], values[1]], keeps, restores, &Options::default()).unwrap();
            finished(device, set);
            fields(device, set)
        };
        let there = trial(&mut device, &mut set, [1.5, 4.0], true, false);
        for fit in 0..count as usize {
            let at = |field: u32| there[field as usize * count as usize + fit];
            assert_eq!((at(2), at(3)), (1.5, 4.0), "{name}");
            assert_eq!(at(layout.state()) as u32, fit_state::CONVERGED, "{name}");
        }
        // From what was kept, the same values come to what they came to then.
        trial(&mut device, &mut set, [3.0, 1.0], false, true);
        let again = trial(&mut device, &mut set, [1.5, 4.0], false, true);
        assert!(there.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        set.spread(&mut device, &[0.0; 4], true).unwrap();
        finished(&mut device, &mut set);
        let restored = fields(&mut device, &mut set);
        let values = 4 * count as usize;
        assert!(first[..values].iter().zip(&restored).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        assert_eq!(set.spread(&mut device, &[0.0; 3], true).unwrap_err().code(), "data-length");
        set.free(&mut device);
    }
}

/// Fits that are not finite give nothing but their number.
#[test]
fn fits_that_cannot_be_made_leave_the_sums_finite() {
    let (scene, shared) = scenes_that_share().remove(0);
    let (fitting, count) = (sharing(&scene, &shared), 8u32);
    let mut sample = scene.sample(count, &mut Noise::new(15));
    for (name, mut device, part) in devices() {
        let mut without = Vec::new();
        for broken in [false, true] {
            // Fit 3 has no number at a point.
            let first = 24 + 3 * 24 + 7;
            let kept = sample.data[first];
            if broken {
                sample.data[first] = f64::NAN;
            }
            let mut set = fitting.set(&mut device, &sample.data()).unwrap();
            run(&mut device, &mut set, From::Start, &Candidates::NONE, &Options::default());
            without.push(reduced(&mut device, &mut set));
            set.free(&mut device);
            sample.data[first] = kept;
        }
        let [whole, broken] = [&without[0], &without[1]];
        assert_eq!(
            (&whole[6..], &broken[6..]),
            (&[8.0 * 22.0, 0.0][..], &[7.0 * 22.0, 1.0][..]),
            "{name}: degrees of freedom, and fits left out"
        );
        assert!(broken.iter().all(|sum| sum.is_finite()), "{name}: {broken:?}");
        assert!(broken[0] < whole[0] * (1.0 - part) && broken[5] < whole[5], "{name}: a fit less");
    }
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let scene = &scenes()[3];
    let mut graph = Graph::new();
    let value = bells(&mut graph, 1);
    let model = FitModel { graph: &graph, value, likelihood: &scene.likelihood };
    let code = |free: &[u32], shared: &[u32]| {
        let layout = Scene { free: free.to_vec(), weights: FitWeights::None, ..scenes().remove(3) }.layout();
        Fitting::with_shared(&model, layout, shared).err().map(|error| error.code())
    };
    assert_eq!(code(&[0, 1], &[2, 3]), None);
    assert_eq!(code(&[0, 1], &[1]), Some("invalid-option"));
    assert_eq!(code(&[0, 1], &[4]), Some("invalid-option"));
    assert_eq!(code(&[], &[0, 1]), Some("invalid-option"));
    let fitting = scene.fitting();
    let sample = scene.sample(3, &mut Noise::new(1));
    let mut device = cpu_device(Precision::F64);
    let mut set = fitting.set(&mut device, &sample.data()).unwrap();
    assert_eq!(set.reduce(&mut device).unwrap_err().code(), "invalid-option");
    assert_eq!(set.spread(&mut device, &[], false).unwrap_err().code(), "invalid-option");
    assert_eq!(set.begin_trial(&mut device, &[0.0; 4], false, false, &Options::default()).unwrap_err().code(), "invalid-option");
    set.free(&mut device);
}
