//! Many small fits: against plain f64, on all devices, in every layout; and what becomes of those that can't be fitted.

use crate::support::fits::*;
use crate::support::{Tape, repeated, shared_device};
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Command, Device, Dispatch, Kind, Limits, Playing, Precision, Recording, Slice, binding};
use leastwise::expr::{Graph, Opcode};
use leastwise::fits::{FitData, Fitting, Options, Values};
use leastwise::problem::Reals;
use leastwise::program::fit::{fit_parameter, fit_state, fit_variable};
use leastwise::program::{FitArguments, FitLayout, FitModel, FitWeights, Likelihood};
use leastwise::session::{FitSpec, Progress, Session};

const COUNTS: [u32; 5] = [1, 63, 130, 64, 1030];

fn cpu(precision: Precision) -> Device {
    Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()))
}

/// F of plain f64 at what was found, and a little beside it in every direction.
#[test]
fn fits_end_at_minima() {
    for scene in scenes() {
        let (fitting, layout) = (scene.fitting(), scene.layout());
        let sample = scene.sample(100, &mut Noise::new(7));
        let found = cpu(Precision::F64).run_fits(&fitting, &sample);
        let mut at_bounds = 0;
        for fit in 0..sample.count {
            let at = |field: u32| found[(field * sample.count + fit) as usize];
            let values: [f64; 4] = std::array::from_fn(|number| at(number as u32));
            let points = &sample.each[fit as usize];
            let cost = scene.cost(points, values);
            assert!((at(layout.cost()) - cost).abs() <= 1e-10 * (1.0 + cost), "{}: F is {}, not {cost}", scene.name, at(layout.cost()));
            let state = at(layout.state()) as u32;
            at_bounds += u32::from(state == fit_state::AT_BOUND);
            if state == fit_state::AT_BOUND {
                continue;
            }
            assert_eq!(state, fit_state::CONVERGED, "{}, fit {fit}", scene.name);
            for (j, &number) in layout.free.iter().enumerate() {
                // A step of a part of the error raises F by about half of its square.
                let step = 1e-3 * at(layout.errors() + j as u32);
                for sign in [-1.0, 1.0] {
                    let mut beside = values;
                    beside[number as usize] += sign * step;
                    assert!(scene.cost(points, beside) >= cost - 1e-9, "{}, fit {fit}: F falls along parameter {number}", scene.name);
                }
            }
        }
        assert!(at_bounds == 0 || scene.bounds > 0, "{}", scene.name);
        assert!(at_bounds > 0 || scene.bounds < 2, "{}: no fit ended at a bound", scene.name);
    }
}

#[test]
fn the_cpu_in_f32_agrees_with_f64() {
    agree(&mut cpu(Precision::F32), &mut cpu(Precision::F64), &scenes(), &COUNTS, 0.02);
}

#[test]
fn webgpu_agrees_with_the_cpu_in_f64() {
    // An adapter in software takes seconds to compile each of them.
    let mut scenes = scenes();
    scenes.rotate_left(2);
    agree(&mut shared_device(None), &mut cpu(Precision::F64), repeated(&scenes, 2), repeated(&COUNTS, 3), 0.02);
}

#[test]
fn webgpu_of_small_limits_agrees_with_the_cpu_in_f64() {
    agree(&mut shared_device(Some(Limits::SMALL)), &mut cpu(Precision::F64), &scenes()[..1], &[130], 0.02);
}

/// Neither the numbers of threads nor time slices change a bit.
#[test]
fn bits_are_the_same_however_the_work_is_cut() {
    let scene = &scenes()[2];
    let (fitting, sample) = (scene.fitting(), scene.sample(700, &mut Noise::new(3)));
    let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for precision in [Precision::F32, Precision::F64] {
        let whole = pool(1).install(|| cpu(precision).run_fits(&fitting, &sample));
        let threaded = pool(3).install(|| cpu(precision).run_fits(&fitting, &sample));
        assert!(whole.iter().zip(&threaded).all(|(a, b)| a.to_bits() == b.to_bits()), "threads");
        // One fit alone is what it is among others.
        let mut device = Device::Cpu(CpuDevice::new(precision, Limits { group_size: 16, ..CpuDevice::default_limits() }));
        let data = FitData {
            count: sample.count,
            points: sample.points,
            data: Values::Doubles(&sample.data),
            start: &sample.start,
            bounds: &sample.bounds,
            offsets: &sample.offsets,
        };
        let mut run = fitting.start(&mut device, &data, &Options::default()).unwrap();
        let mut slices = 0;
        let sliced = loop {
            if let Some(Playing::Finished(values)) = run.resume(&mut device, 0.0).unwrap() {
                break values;
            }
            slices += 1;
        };
        run.free(&mut device);
        assert!(slices > 20 && device.counters().bytes_live == 0, "{slices} slices");
        assert!(whole.iter().zip(&sliced).all(|(a, b)| a.to_bits() == b.to_bits()), "slices");
    }
}

/// One launch over a part of the fits: the others, and whatever lies between and behind, stay as they are.
#[test]
fn a_launch_writes_the_fits_of_its_list_and_nothing_else() {
    let scene = &scenes()[1];
    let (fitting, layout) = (scene.fitting(), scene.layout());
    let sample = scene.sample(150, &mut Noise::new(11));
    let list: Vec<u32> = (0..150).filter(|fit| fit % 3 != 1).rev().collect();
    let (count, fields) = (sample.count, layout.fields());
    let poison = |i: usize| if i.is_multiple_of(2) { f64::NAN } else { f64::from(1e30f32) };
    let mut outcomes = Vec::new();
    let devices = [("cpu f64", cpu(Precision::F64).into()), ("cpu f32", cpu(Precision::F32).into()), ("webgpu", shared_device(None))];
    for (name, mut device) in devices {
        let mut state: Vec<f64> = (0..fields * count + 64).map(|i| poison(i as usize)).collect();
        state[..sample.start.len()].copy_from_slice(&sample.start);
        // Of a fit that was not begun, damping and iterations are 0.
        for field in [layout.cost() + 1, layout.iterations()] {
            state[(field * count) as usize..((field + 1) * count) as usize].fill(0.0);
        }
        let kernel = device.kernels(&[fitting.source()]).unwrap()[0];
        let mut recording = Recording::new();
        let buffer = |device: &mut Device, kind: Kind, len: usize| Slice {
            buffer: device.allocate(kind, len as u32, "of a launch").unwrap(),
            offset: 0,
            len: len as u32,
        };
        let mut bindings = [None; binding::COUNT];
        let data = [&[1e-7, 1e-6, 1e-5, 2e-6][..], &sample.data].concat();
        for (slot, values) in [(binding::DATA, &data), (binding::VECTOR_IN, &sample.bounds), (binding::VECTOR_OUT, &state)] {
            let slice = buffer(&mut device, Kind::Single, values.len());
            recording.push(Command::UploadReals { buffer: slice.buffer, offset: 0, data: values.clone() });
            bindings[slot] = Some(slice);
        }
        for (slot, words) in [(binding::ARENA, &sample.offsets), (binding::INDEX, &list)] {
            let slice = buffer(&mut device, Kind::Index, words.len());
            recording.push(Command::UploadIndices { buffer: slice.buffer, offset: 0, data: words.clone() });
            bindings[slot] = Some(slice);
        }
        let args = FitArguments { fits: count, points: sample.points, total: sample.offsets[150], rounds: 60, most: 50, each: 0 };
        let dispatch = Dispatch { kernel, bindings, count: list.len() as u32, single_group: false, words: args.words() };
        recording.push(Command::Dispatch(dispatch));
        recording.push(Command::Read { slice: bindings[binding::VECTOR_OUT].unwrap() });
        let after = device.run(recording).unwrap();
        bindings.iter().flatten().for_each(|slice| device.free(slice.buffer));
        let same = |i: usize| after[i] == state[i] || after[i].is_nan() && state[i].is_nan();
        for i in 0..state.len() {
            let (field, fit) = (i as u32 / count, i as u32 % count);
            let is_listed = field < fields && fit % 3 != 1;
            assert!(is_listed || same(i), "{name}: field {field} of fit {fit} was {}, became {}", state[i], after[i]);
            assert!(!is_listed || after[i].is_finite() && after[i] != poison(1), "{name}: field {field} of fit {fit} is {}", after[i]);
        }
        outcomes.push((name, after));
    }
    let (_, right) = &outcomes[0];
    for (name, found) in &outcomes {
        for fit in list.iter().map(|fit| *fit as usize) {
            let at = |values: &[f64], field: u32| values[field as usize * count as usize + fit];
            assert_eq!(at(found, layout.state()), at(right, layout.state()), "{name}, fit {fit}");
            for j in 0..4 {
                let error = at(right, layout.errors() + j).max(1e-3);
                assert!((at(found, j) - at(right, j)).abs() < 0.02 * error, "{name}, fit {fit}, parameter {j}");
            }
        }
    }
}

/// Zeros, one point, NaN, saturated, no points, and a start where the model is not defined.
#[test]
fn what_cannot_be_fitted_ends_in_a_state() {
    let scene = &Scene { ragged: true, ..scenes().remove(0) };
    let (fitting, layout) = (scene.fitting(), scene.layout());
    let grid: Vec<f64> = (0..24).map(|k| f64::from(k) / 2.0).collect();
    let saturated = |x: f64| bell_at([900.0, 6.0, 2.0, 0.0], x).min(100.0);
    let rows: Vec<(Vec<f64>, [f64; 4], &[u32])> = vec![
        (vec![0.0; 24], [1.0, 6.0, 1.0, 0.0], &[fit_state::SINGULAR, fit_state::CONVERGED, fit_state::LIMIT]),
        (vec![3.0], [1.0, 6.0, 1.0, 0.0], &[fit_state::SINGULAR]),
        (Vec::new(), [1.0, 6.0, 1.0, 0.0], &[fit_state::SINGULAR]),
        ((0..24).map(|k| if k == 5 { f64::NAN } else { 1.0 }).collect(), [1.0, 6.0, 1.0, 0.0], &[fit_state::NON_FINITE]),
        ((0..24).map(|k| if k == 5 { f64::INFINITY } else { 1.0 }).collect(), [1.0, 6.0, 1.0, 0.0], &[fit_state::NON_FINITE]),
        (grid.iter().map(|x| saturated(*x)).collect(), [80.0, 6.0, 1.0, 0.0], &[fit_state::CONVERGED, fit_state::LIMIT]),
        (grid.iter().map(|x| bell_at([50.0, 6.0, 1.5, 3.0], *x)).collect(), [40.0, 6.0, 0.0, 0.0], &[fit_state::NON_FINITE]),
        (grid.iter().map(|x| bell_at([50.0, 6.0, 1.5, 3.0], *x)).collect(), [45.0, 6.2, 1.4, 2.0], &[fit_state::CONVERGED]),
    ];
    let count = rows.len() as u32;
    let mut offsets = vec![0];
    rows.iter().for_each(|(row, ..)| offsets.push(offsets[offsets.len() - 1] + row.len() as u32));
    let data: Vec<f64> = grid.iter().copied().chain(rows.iter().flat_map(|(row, ..)| row.clone())).collect();
    let start = (0..4).flat_map(|number| rows.iter().map(move |(_, start, _)| start[number])).collect();
    let sample = Sample { count, points: 24, data, start, bounds: Vec::new(), offsets, each: Vec::new() };
    for (name, mut device) in
        [("cpu f64", cpu(Precision::F64).into()), ("cpu f32", cpu(Precision::F32).into()), ("webgpu", shared_device(None))]
    {
        let found = device.run_fits(&fitting, &sample);
        let at = |field: u32, fit: u32| found[(field * count + fit) as usize];
        for (fit, (_, start, states)) in (0..).zip(&rows) {
            let state = at(layout.state(), fit) as u32;
            assert!(states.contains(&state), "{name}, fit {fit}: state {state}");
            assert!(at(layout.iterations(), fit) <= 100.0, "{name}, fit {fit}");
            if state == fit_state::NON_FINITE {
                let values: [f64; 4] = std::array::from_fn(|number| at(number as u32, fit));
                assert_eq!(values, *start, "{name}, fit {fit} stays where it was");
            }
            if [fit_state::SINGULAR, fit_state::NON_FINITE].contains(&state) {
                assert!((0..4).all(|j| at(layout.errors() + j, fit) == 0.0), "{name}, fit {fit} has errors");
            }
        }
    }
}

/// σ² (JᵀJ)⁻¹ of a line, which is known.
#[test]
fn standard_errors_of_a_line_are_the_known_ones() {
    let mut graph = Graph::new();
    let [a, b] = [0, 1].map(|number| graph.leaf(fit_parameter(number)));
    let x = graph.leaf(fit_variable(0));
    let slope = graph.mul(b, x);
    let value = graph.add(a, slope);
    let likelihood = Likelihood::LeastSquares(None);
    let weights = FitWeights::None;
    let layout = FitLayout { parameters: 2, free: vec![0, 1], variables: vec![true], weights, ragged: false, bounded: false };
    let fitting = Fitting::new(&FitModel { graph: &graph, value, likelihood: &likelihood }, layout).unwrap();
    let xs = [0.0, 1.0, 2.0, 3.0, 4.0];
    let data: Vec<f64> = xs.iter().copied().chain([1.0, 3.1, 4.9, 7.0, 9.0]).collect();
    let data = FitData { count: 1, points: 5, data: Values::Doubles(&data), start: &[0.0, 0.0], bounds: &[], offsets: &[] };
    let mut device = cpu(Precision::F64);
    let mut run = fitting.start(&mut device, &data, &Options::default()).unwrap();
    let found = loop {
        if let Some(Playing::Finished(values)) = run.resume(&mut device, f64::INFINITY).unwrap() {
            break values;
        }
    };
    // Σ (x − x̄)² is 10, and x̄ is 2.
    let right = [1.02, 1.99, (1.0f64 / 5.0 + 4.0 / 10.0).sqrt(), (1.0f64 / 10.0).sqrt()];
    for (k, right) in right.into_iter().enumerate() {
        assert!((found[k] - right).abs() < 1e-9, "number {k} is {}, not {right}", found[k]);
    }
}

/// A line through a session, whose model is a tape: parameters and variables are its sources, in their order.
#[test]
fn a_traced_line_is_fitted() {
    let mut tape = Tape::default();
    let [a, b, x] = [0, 1, 2].map(|source| tape.input(source));
    let slope = tape.op(Opcode::Mul, &[b, x]);
    let output = tape.op(Opcode::Add, &[a, slope]);
    let spec = FitSpec {
        parameters: 2,
        free: &[0, 1],
        shared: &[1],
        weights: FitWeights::None,
        ragged: false,
        bounded: false,
        poisson: false,
        loss: None,
        tape: &tape.words,
        output,
    };
    let mut session = Session::new(cpu(Precision::F64));
    let fit = session.add_fit(&spec).unwrap();
    assert!(session.fit_capacity(fit, 3).unwrap() > 1000);
    let data = Reals::F64(&[0.0, 1.0, 2.0, 1.0, 3.0, 5.0, 4.0, 3.0, 2.0]);
    let task = session.run_fit(fit, 2, 3, data, &[0.0; 4], &[], &[], &Options::default()).unwrap();
    let values = loop {
        if let Progress::Values(values) = session.resume(task, f64::INFINITY).unwrap() {
            break values;
        }
    };
    for (value, right) in values.iter().zip([1.0, 4.0, 2.0, -1.0]) {
        assert!((value - right).abs() < 1e-9, "{values:?}");
    }
    session.free_fit(fit);
    assert_eq!(session.fit_capacity(fit, 3).unwrap_err().code(), "disposed");
    let refused = |spec: FitSpec| cpu_session().add_fit(&spec).unwrap_err().code();
    assert_eq!(refused(FitSpec { free: &[1, 0], ..spec }), "invalid-option");
}

fn cpu_session() -> Session {
    Session::new(cpu(Precision::F64))
}

#[test]
fn too_many_parameters_and_wrong_sizes_are_refused() {
    let mut graph = Graph::new();
    let leaves: Vec<_> = (0..13).map(|number| graph.leaf(fit_parameter(number))).collect();
    let value = leaves.into_iter().reduce(|sum, leaf| graph.add(sum, leaf)).unwrap();
    let (likelihood, weights) = (Likelihood::LeastSquares(None), FitWeights::None);
    let model = FitModel { graph: &graph, value, likelihood: &likelihood };
    let layout =
        |free: u32| FitLayout { parameters: 13, free: (0..free).collect(), variables: vec![], weights, ragged: false, bounded: false };
    let code = |free: u32| Fitting::new(&model, layout(free)).err().map(|error| error.code());
    assert_eq!((code(13), code(0), code(12)), (Some("limits"), Some("invalid-option"), None));
    let fitting = Fitting::new(&model, layout(1)).unwrap();
    let mut device = cpu(Precision::F32);
    let start = [0.0; 26];
    let mut code = |data: &[f64], start: &[f64], bounds: &[f64], options: Options| {
        let data = FitData { count: 2, points: 3, data: Values::Doubles(data), start, bounds, offsets: &[] };
        match fitting.start(&mut device, &data, &options) {
            Ok(run) => {
                run.free(&mut device);
                None
            }
            Err(error) => Some(error.code()),
        }
    };
    let usual = Options::default();
    assert_eq!(code(&[0.0; 6], &start, &[], usual), None);
    assert_eq!(code(&[0.0; 5], &start, &[], usual), Some("data-length"));
    assert_eq!(code(&[0.0; 6], &start[1..], &[], usual), Some("data-length"));
    assert_eq!(code(&[0.0; 6], &start, &[1.0], usual), Some("data-length"));
    for options in [
        Options { max_iterations: Some(0.0), ..usual },
        Options { max_iterations: Some(2.5), ..usual },
        Options { cost_tolerance: Some(-1.0), ..usual },
        Options { step_tolerance: Some(f64::NAN), ..usual },
    ] {
        assert_eq!(code(&[0.0; 6], &start, &[], options), Some("invalid-option"), "{options:?}");
    }
    assert_eq!(device.counters().bytes_live, 0);
}
