//! Fits of more parameters than a thread has registers for: against a dense Levenberg–Marquardt in plain f64, on all devices, in every
//! layout; and what becomes of those that can't be fitted.

use crate::support::fits::*;
use crate::support::shared_device;
use leastwise::device::{Limits, Precision};
use leastwise::fits::{Candidates, From, Options};
use leastwise::program::fit::fit_state;

const COUNTS: [u32; 3] = [1, 65, 200];

#[test]
fn the_cpu_in_f32_agrees_with_f64() {
    agree(&mut cpu_device(Precision::F32), &mut cpu_device(Precision::F64), &wide_scenes(), &COUNTS, 0.05);
}

#[test]
fn webgpu_agrees_with_the_cpu_in_f64() {
    // An adapter in software takes long to compile larger models.
    agree(&mut shared_device(None), &mut cpu_device(Precision::F64), &wide_scenes()[..2], &[1, 30], 0.05);
}

#[test]
fn webgpu_of_small_limits_agrees_with_the_cpu_in_f64() {
    agree(&mut shared_device(Some(Limits::SMALL)), &mut cpu_device(Precision::F64), &wide_scenes()[..1], &[30], 0.05);
}

#[test]
fn bits_are_the_same_however_the_work_is_cut() {
    bits_are_those_of_one_thread(&wide_scenes()[2], 700);
}

/// On a device in f32, another run finds the same bits.
#[test]
fn webgpu_finds_the_same_bits_again() {
    let scene = &wide_scenes()[0];
    let (fitting, sample) = (scene.fitting(), scene.sample(20, &mut Noise::new(9)));
    let mut device = shared_device(None);
    let [once, again] = [0, 1].map(|_| device.run_fits(&fitting, &sample));
    assert!(once.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()));
    // Lanes that are fewer have more entries each: the sums of an entry are the same.
    let few = shared_device(Some(Limits::SMALL)).run_fits(&fitting, &sample);
    assert!(once.iter().zip(&few).all(|(a, b)| a.to_bits() == b.to_bits()), "lanes");
}

/// Values and standard errors, by an own Levenberg–Marquardt on dense matrices.
#[test]
fn a_dense_solver_finds_the_same() {
    for (scene, free) in [(&wide_scenes()[0], 13), (&wide_scenes()[5], 32)] {
        let (fitting, layout, count) = (scene.fitting(), scene.layout(), 10);
        assert_eq!((layout.free_count(), layout.is_wide()), (free, true));
        let sample = scene.sample(count, &mut Noise::new(21));
        let found = cpu_device(Precision::F64).run_fits(&fitting, &sample);
        for fit in 0..count {
            let at = |field: u32| found[(field * count + fit) as usize];
            let start = (0..layout.parameters).map(|number| sample.start[(number * count + fit) as usize]).collect();
            let (values, errors) = dense(&sample.each[fit as usize], start, &layout.free);
            assert_eq!(at(layout.state()) as u32, fit_state::CONVERGED);
            for (j, &number) in (0..).zip(&layout.free) {
                let error = errors[j as usize];
                assert!((at(number) - values[number as usize]).abs() < 1e-5 * error, "{}: parameter {number} of fit {fit}", scene.name);
                let own = at(layout.errors() + j);
                assert!((own - error).abs() < 1e-5 * error, "{}: error {own} of parameter {number}, not {error}", scene.name);
            }
        }
    }
}

/// Least squares of peaks without weights: parameters, and √ of the diagonal of (JᵀJ)⁻¹.
fn dense(points: &[[f64; 3]], mut values: Vec<f64>, free: &[u32]) -> (Vec<f64>, Vec<f64>) {
    let n = free.len();
    let cost = |values: &[f64]| points.iter().map(|[x, y, _]| (bells_at(values, *x) - y).powi(2)).sum::<f64>();
    let system = |values: &[f64]| {
        let (mut matrix, mut gradient) = (vec![vec![0.0; n]; n], vec![0.0; n]);
        for [x, y, _] in points {
            let all: Vec<f64> = (0..values.len())
                .map(|number| {
                    let peak = 3 * (number / 3);
                    if peak + 3 > values.len() {
                        return 1.0;
                    }
                    let [a, mu, sigma] = [values[peak], values[peak + 1], values[peak + 2]];
                    let (u, e) = ((x - mu) / sigma, bell_at([1.0, mu, sigma, 0.0], *x));
                    [e, a * e * u / sigma, a * e * u * u / sigma][number % 3]
                })
                .collect();
            let row: Vec<f64> = free.iter().map(|number| all[*number as usize]).collect();
            let r = bells_at(values, *x) - y;
            for i in 0..n {
                gradient[i] += row[i] * r;
                (0..n).for_each(|j| matrix[i][j] += row[i] * row[j]);
            }
        }
        (matrix, gradient)
    };
    let mut damping = 1e-3;
    for _ in 0..60 {
        let (mut matrix, gradient) = system(&values);
        (0..n).for_each(|i| matrix[i][i] *= 1.0 + damping);
        let step = &inverse(matrix);
        let mut next = values.clone();
        for i in 0..n {
            next[free[i] as usize] -= (0..n).map(|j| step[i][j] * gradient[j]).sum::<f64>();
        }
        if cost(&next) <= cost(&values) {
            (values, damping) = (next, damping / 5.0);
        } else {
            damping *= 3.0;
        }
    }
    let covariance = inverse(system(&values).0);
    (values, (0..n).map(|i| covariance[i][i].sqrt()).collect())
}

/// Zeros, few points, no points, NaN, and a start where the model is not defined, beside a fit that can be made.
#[test]
fn what_cannot_be_fitted_ends_in_a_state() {
    let scene = &Scene { ragged: true, ..wide_scenes().remove(0) };
    let (fitting, layout) = (scene.fitting(), scene.layout());
    let truth: Vec<f64> = (0..4).flat_map(|peak| [40.0, 12.0 * f64::from(peak) + 6.0, 1.5]).chain([3.0]).collect();
    let mut undefined = truth.clone();
    undefined[2] = 0.0;
    let grid: Vec<f64> = (0..96).map(|k| f64::from(k) / 2.0).collect();
    let exact: Vec<f64> = grid.iter().map(|x| bells_at(&truth, *x)).collect();
    let with_nan: Vec<f64> = exact.iter().enumerate().map(|(k, y)| if k == 70 { f64::NAN } else { *y }).collect();
    let near: Vec<f64> = truth.iter().map(|value| value + 0.1).collect();
    let rows: Vec<(Vec<f64>, &Vec<f64>, &[u32])> = vec![
        (vec![0.0; 96], &near, &[fit_state::SINGULAR, fit_state::CONVERGED, fit_state::LIMIT]),
        (exact[..5].to_vec(), &near, &[fit_state::SINGULAR]),
        (Vec::new(), &near, &[fit_state::SINGULAR]),
        (with_nan, &near, &[fit_state::NON_FINITE]),
        (exact.clone(), &undefined, &[fit_state::NON_FINITE]),
        (exact.clone(), &near, &[fit_state::CONVERGED]),
    ];
    let count = rows.len() as u32;
    let mut offsets = vec![0];
    rows.iter().for_each(|(row, ..)| offsets.push(offsets[offsets.len() - 1] + row.len() as u32));
    let data: Vec<f64> = grid.iter().copied().chain(rows.iter().flat_map(|(row, ..)| row.clone())).collect();
    let start = (0..13).flat_map(|number| rows.iter().map(move |(_, start, _)| start[number])).collect();
    let sample = Sample { count, points: 96, data, start, bounds: Vec::new(), offsets, each: Vec::new() };
    for (name, mut device) in
        [("cpu f64", cpu_device(Precision::F64).into()), ("cpu f32", cpu_device(Precision::F32).into()), ("webgpu", shared_device(None))]
    {
        let found = device.run_fits(&fitting, &sample);
        let at = |field: u32, fit: u32| found[(field * count + fit) as usize];
        for (fit, (_, start, states)) in (0..).zip(&rows) {
            let state = at(layout.state(), fit) as u32;
            assert!(states.contains(&state), "{name}, fit {fit}: state {state}");
            assert!(at(layout.iterations(), fit) <= 100.0, "{name}, fit {fit}");
            let errors: Vec<f64> = (0..13).map(|j| at(layout.errors() + j, fit)).collect();
            match state {
                fit_state::CONVERGED => assert!(errors.iter().all(|error| *error > 0.0), "{name}, fit {fit} has no errors"),
                fit_state::SINGULAR | fit_state::NON_FINITE => assert_eq!(errors, [0.0; 13], "{name}, fit {fit} has errors"),
                _ => {}
            }
            for (number, right) in (0..).zip(if state == fit_state::NON_FINITE { &start[..] } else { &[][..] }) {
                assert!((at(number, fit) - right).abs() <= 1e-6 * right, "{name}, fit {fit} stays where it was");
            }
        }
        assert!((0..13).all(|number| (at(number, 5) - truth[number as usize]).abs() < 1e-3), "{name}");
    }
}

/// The best of several starts, and the start of the lowest objective.
#[test]
fn the_best_of_several_starts_is_kept() {
    let scene = &wide_scenes()[0];
    let (fitting, layout, count) = (scene.fitting(), scene.layout(), 20u32);
    let sample = scene.sample(count, &mut Noise::new(8));
    // Widths of the first peak, of which one is far from all.
    let rows: Vec<f64> = [30.0, 1.4, 0.02].into_iter().flat_map(|width| (0..13).map(move |k| if k == 2 { width } else { 0.0 })).collect();
    for (name, mut device) in [("cpu f64", cpu_device(Precision::F64).into()), ("webgpu", shared_device(None))] {
        let mut set = fitting.set(&mut device, &sample.data()).unwrap();
        let plain = run(&mut device, &mut set, From::Start, &Candidates::NONE, &Options::default());
        for fitted in [true, false] {
            let candidates = Candidates { rows: &rows, given: 0b100, fitted };
            let best = run(&mut device, &mut set, From::Start, &candidates, &Options::default());
            for fit in 0..count {
                let [cost, right] = [&best, &plain].map(|values| values[(layout.cost() * count + fit) as usize]);
                assert!(cost <= right * (1.0 + 1e-4), "{name}, {fitted}: F of fit {fit} is {cost}, but {right} from its own start");
            }
        }
        set.free(&mut device);
    }
}
