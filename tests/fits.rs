//! Many small fits: against plain f64, on all devices, in every layout; and what becomes of those that can't be fitted.

use crate::support::fits::*;
use crate::support::{Tape, repeated, shared_device};
use leastwise::device::{Command, Device, Dispatch, Kind, Limits, Precision, Recording, Slice, binding};
use leastwise::expr::{Graph, Opcode};
use leastwise::fits::{Candidates, FitData, Fitting, From, Options, Values};
use leastwise::problem::Reals;
use leastwise::program::fit::{fit_parameter, fit_state, fit_variable};
use leastwise::program::{FitArguments, FitLayout, FitModel, FitWeights, Likelihood};
use leastwise::session::{FitSpec, Progress, Session};

const COUNTS: [u32; 5] = [1, 63, 130, 64, 1030];

/// F of plain f64 at what was found, and a little beside it in every direction.
#[test]
fn fits_end_at_minima() {
    for scene in scenes().into_iter().chain(wide_scenes()) {
        let (fitting, layout) = (scene.fitting(), scene.layout());
        let sample = scene.sample(100, &mut Noise::new(7));
        let found = cpu_device(Precision::F64).run_fits(&fitting, &sample);
        let mut at_bounds = 0;
        for fit in 0..sample.count {
            let at = |field: u32| found[(field * sample.count + fit) as usize];
            let values: Vec<f64> = (0..layout.parameters).map(at).collect();
            let points = &sample.each[fit as usize];
            let cost = scene.cost(points, &values);
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
                    let mut beside = values.clone();
                    beside[number as usize] += sign * step;
                    assert!(scene.cost(points, &beside) >= cost - 1e-9, "{}, fit {fit}: F falls along parameter {number}", scene.name);
                }
            }
        }
        assert!(at_bounds == 0 || scene.bounds > 0, "{}", scene.name);
        assert!(at_bounds > 0 || scene.bounds < 2, "{}: no fit ended at a bound", scene.name);
    }
}

#[test]
fn the_cpu_in_f32_agrees_with_f64() {
    agree(&mut cpu_device(Precision::F32), &mut cpu_device(Precision::F64), &scenes(), &COUNTS, 0.02);
}

#[test]
fn webgpu_agrees_with_the_cpu_in_f64() {
    // An adapter in software takes seconds to compile each of them.
    let mut scenes = scenes();
    scenes.rotate_left(2);
    agree(&mut shared_device(None), &mut cpu_device(Precision::F64), repeated(&scenes, 2), repeated(&COUNTS, 3), 0.02);
}

#[test]
fn webgpu_of_small_limits_agrees_with_the_cpu_in_f64() {
    agree(&mut shared_device(Some(Limits::SMALL)), &mut cpu_device(Precision::F64), &scenes()[..1], &[130], 0.02);
}

#[test]
fn bits_are_the_same_however_the_work_is_cut() {
    bits_are_those_of_one_thread(&scenes()[2], 7000);
}

/// Data that stay on the device: what is uploaded, launched and read back, and that another run finds the same.
#[test]
fn sets_stay_on_the_device() {
    let scene = &scenes()[4];
    let (fitting, sample, other) = (scene.fitting(), scene.sample(600, &mut Noise::new(5)), scene.sample(600, &mut Noise::new(6)));
    for (name, mut device) in [("cpu", cpu_device(Precision::F32).into()), ("webgpu", shared_device(None))] {
        let (alone, changed) = (
            device.run_fits(&fitting, &sample),
            device.run_fits(&fitting, &Sample { data: other.data.clone(), ..scene.sample(600, &mut Noise::new(5)) }),
        );
        let before = device.counters();
        let mut set = fitting.set(&mut device, &sample.data()).unwrap();
        set.upload(&mut device).unwrap();
        assert!(finished(&mut device, &mut set).is_empty());
        let uploaded = device.counters().since(&before);
        // Grid, data, starts of all fits, and bounds.
        assert_eq!((uploaded.bytes_uploaded, uploaded.dispatches, uploaded.readbacks), (4 * (24 + 24 * 600 + 4 * 600 + 8), 0, 0), "{name}");
        for _ in 0..2 {
            let before = device.counters();
            set.begin(&mut device, From::Start, &Candidates::NONE, &Options::default()).unwrap();
            finished(&mut device, &mut set);
            let run = device.counters().since(&before);
            // Tolerances go there; of each launch one number comes back, of how many fits run on.
            let launches = run.readbacks;
            assert_eq!((run.bytes_uploaded, run.bytes_read_back, run.submissions), (16, 4 * launches, launches), "{name}");
            assert_eq!(run.dispatches, 1 + 4 * launches, "{name}");
            assert!(launches <= 7, "{name}: {launches} launches");
            let found = fields(&mut device, &mut set);
            assert!(found.iter().zip(&alone).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        }
        // From where they are, fits end at once.
        let again = run(&mut device, &mut set, From::Values, &Candidates::NONE, &Options::default());
        let iterations = |fields: &[f64]| -> f64 { fields[(scene.layout().iterations() * 600) as usize..][..600].iter().sum() };
        assert!(iterations(&again) < 0.6 * iterations(&alone), "{name}: {} iterations, then {}", iterations(&alone), iterations(&again));
        set.write(Values::Doubles(&other.data[24..])).unwrap();
        assert_eq!(set.write(Values::Doubles(&other.data)).unwrap_err().code(), "data-length");
        let found = run(&mut device, &mut set, From::Start, &Candidates::NONE, &Options::default());
        assert!(found.iter().zip(&changed).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}: other data");
        set.free(&mut device);
    }
}

/// Two peaks, and fits of one: whichever a start is nearer to is found, and the best of several starts is the higher one.
#[test]
fn the_best_of_several_starts_is_kept() {
    let scene = &scenes()[0];
    let (fitting, layout, count) = (scene.fitting(), scene.layout(), 90u32);
    let grid: Vec<f64> = (0..24).map(|k| f64::from(k) / 2.0).collect();
    let mut noise = Noise::new(8);
    let heights: Vec<[f64; 2]> = (0..count).map(|k| if k % 2 == 0 { [50.0, 30.0] } else { [30.0, 50.0] }).collect();
    let two = |[a, b]: [f64; 2], x: f64| bell_at([a, 2.5, 0.6, 1.0], x) + bell_at([b, 9.0, 0.6, 0.0], x);
    let rows = heights
        .iter()
        .flat_map(|heights| grid.iter().map(|x| f64::from((two(*heights, *x) + 0.1 * noise.normal()) as f32)).collect::<Vec<_>>());
    let data: Vec<f64> = grid.iter().copied().chain(rows).collect();
    let sample =
        Sample { count, points: 24, data, start: vec![20.0, 6.0, 0.8, 1.0], bounds: Vec::new(), offsets: Vec::new(), each: Vec::new() };
    // Two centres, each with the heights that fits begin at.
    let rows = [0.0, 2.0, 0.0, 0.0, 0.0, 9.5, 0.0, 0.0];
    for (name, mut device) in
        [("cpu f64", cpu_device(Precision::F64).into()), ("cpu f32", cpu_device(Precision::F32).into()), ("webgpu", shared_device(None))]
    {
        let mut set = fitting.set(&mut device, &sample.data()).unwrap();
        let live = device.counters().bytes_live;
        let mut each = Vec::new();
        for row in rows.chunks(4) {
            let candidates = Candidates { rows: row, given: 0b10, fitted: true };
            each.push(run(&mut device, &mut set, From::Start, &candidates, &Options::default()));
        }
        for fitted in [true, false] {
            let before = device.counters();
            let candidates = Candidates { rows: &rows, given: 0b10, fitted };
            let best = run(&mut device, &mut set, From::Start, &candidates, &Options::default());
            let dispatches = device.counters().since(&before).dispatches;
            for fit in 0..count {
                let at = |values: &[f64], field: u32| values[(field * count + fit) as usize];
                let costs = [0, 1].map(|start: usize| at(&each[start], layout.cost()));
                let better = usize::from(costs[1] < costs[0]);
                assert_eq!(better, (fit % 2) as usize, "{name}: {costs:?}");
                for field in 0..layout.damping() {
                    assert_eq!(at(&best, field), at(&each[better], field), "{name}, {fitted}: field {field} of fit {fit}");
                }
                assert_eq!(at(&best, layout.state()) as u32, fit_state::CONVERGED, "{name}");
            }
            assert_eq!(device.counters().bytes_live, live, "{name}: what candidates need is freed");
            // A start by its objective alone is one evaluation; the best one of all is fitted.
            assert!(fitted || dispatches <= 2 * 2 + 1 + 4 * 2, "{name}: {dispatches} dispatches");
        }
        assert_eq!(
            set.begin(&mut device, From::Start, &Candidates { rows: &rows[1..], given: 2, fitted: true }, &Options::default())
                .unwrap_err()
                .code(),
            "invalid-option"
        );
        set.free(&mut device);
    }
}

/// One launch over a part of the fits: the others, and whatever lies between and behind, stay as they are.
#[test]
fn a_launch_writes_the_fits_of_its_list_and_nothing_else() {
    launch_alone(&scenes()[1]);
}

#[test]
fn a_launch_of_workgroups_writes_the_fits_of_its_list_and_nothing_else() {
    launch_alone(&wide_scenes()[1]);
}

fn launch_alone(scene: &Scene) {
    let (fitting, layout) = (scene.fitting(), scene.layout());
    let sample = scene.sample(150, &mut Noise::new(11));
    let list: Vec<u32> = (0..150).filter(|fit| fit % 3 != 1).rev().collect();
    let (count, fields) = (sample.count, layout.fields());
    let poison = |i: usize| if i.is_multiple_of(2) { f64::NAN } else { f64::from(1e30f32) };
    let mut outcomes = Vec::new();
    let devices =
        [("cpu f64", cpu_device(Precision::F64).into()), ("cpu f32", cpu_device(Precision::F32).into()), ("webgpu", shared_device(None))];
    for (name, mut device) in devices {
        let mut state: Vec<f64> = (0..fields * count + 64).map(|i| poison(i as usize)).collect();
        state[..sample.start.len()].copy_from_slice(&sample.start);
        // Of a fit that was not begun, damping and iterations are 0.
        for field in [layout.damping(), layout.iterations()] {
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
        let lanes = if layout.is_wide() { device.limits().group_size } else { 1 };
        let args = FitArguments { fits: count, points: sample.points, total: sample.offsets[150], rounds: 60, most: 50, each: 0, lanes };
        let dispatch = Dispatch { kernel, bindings, count: list.len() as u32 * lanes, single_group: false, words: args.words() };
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
            for j in 0..layout.parameters {
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
        [("cpu f64", cpu_device(Precision::F64).into()), ("cpu f32", cpu_device(Precision::F32).into()), ("webgpu", shared_device(None))]
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
    let mut device = cpu_device(Precision::F64);
    let mut set = fitting.set(&mut device, &data).unwrap();
    let found = run(&mut device, &mut set, From::Start, &Candidates::NONE, &Options::default());
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
        common: &[],
        shared: &[1],
        weights: FitWeights::None,
        ragged: false,
        bounded: false,
        poisson: false,
        loss: None,
        tape: &tape.words,
        output,
    };
    let mut session = Session::new(cpu_device(Precision::F64));
    let fit = session.add_fit(&spec).unwrap();
    assert!(session.fit_capacity(fit, 3).unwrap() > 1000);
    let data = Reals::F64(&[0.0, 1.0, 2.0, 1.0, 3.0, 5.0, 4.0, 3.0, 2.0]);
    let set = session.new_fits(fit, 2, 3, data, &[0.0; 2], &[], &[]).unwrap();
    let values = |session: &mut Session, task: u32| loop {
        if let Progress::Values(values) = session.resume(task, f64::INFINITY).unwrap() {
            break values;
        }
    };
    let task = session.run_fits(set, false, &[], 0, false, &Options::default()).unwrap();
    assert_eq!(session.read_fits(set, 0, 2).unwrap_err().code(), "invalid-option", "it is at work");
    values(&mut session, task);
    let task = session.read_fits(set, 0, 2).unwrap();
    let values = values(&mut session, task);
    for (value, right) in values.iter().zip([1.0, 4.0, 2.0, -1.0]) {
        assert!((value - right).abs() < 1e-9, "{values:?}");
    }
    session.free_fits(set);
    assert_eq!(session.read_fits(set, 0, 2).unwrap_err().code(), "disposed");
    session.free_fit(fit);
    assert_eq!(session.fit_capacity(fit, 3).unwrap_err().code(), "disposed");
    let refused = |spec: FitSpec| cpu_session().add_fit(&spec).unwrap_err().code();
    assert_eq!(refused(FitSpec { free: &[1, 0], ..spec }), "invalid-option");
}

fn cpu_session() -> Session {
    Session::new(cpu_device(Precision::F64))
}

#[test]
fn too_many_parameters_and_wrong_sizes_are_refused() {
    let mut graph = Graph::new();
    let leaves: Vec<_> = (0..33).map(|number| graph.leaf(fit_parameter(number))).collect();
    let value = leaves.into_iter().reduce(|sum, leaf| graph.add(sum, leaf)).unwrap();
    let (likelihood, weights) = (Likelihood::LeastSquares(None), FitWeights::None);
    let model = FitModel { graph: &graph, value, likelihood: &likelihood };
    let layout =
        |free: u32| FitLayout { parameters: 33, free: (0..free).collect(), variables: vec![], weights, ragged: false, bounded: false };
    let code = |free: u32| Fitting::new(&model, layout(free)).err().map(|error| error.code());
    assert_eq!((code(33), code(0), code(32)), (Some("limits"), Some("invalid-option"), None));
    let fitting = Fitting::new(&model, layout(1)).unwrap();
    let mut device = cpu_device(Precision::F32);
    let start = [0.0; 66];
    let mut code = |data: &[f64], start: &[f64], bounds: &[f64], options: Options| {
        let data = FitData { count: 2, points: 3, data: Values::Doubles(data), start, bounds, offsets: &[] };
        let mut set = match fitting.set(&mut device, &data) {
            Ok(set) => set,
            Err(error) => return Some(error.code()),
        };
        let begun = set.begin(&mut device, From::Start, &Candidates::NONE, &options);
        set.free(&mut device);
        begun.err().map(|error| error.code())
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
