//! `linear: "schur-pcg"`: conjugate gradients on a Schur complement that is never formed. Bundles come to the costs that other linear
//! solvers come to, under every constraint, on every backend, to the same bits, in fewer iterations of no more dispatches.

use crate::support::*;
use leastwise::Error;
use leastwise::device::{Limits, Precision, Reals as Format};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, RaggedSlot, Reals, Slot, SummedSpec, TermSpec, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};

/// A bundle. Cameras stand on a ring around a cloud of points, each seen by some of them, or along a corridor, where a camera sees
/// what is near.
#[derive(Clone)]
struct Scene {
    cameras: usize,
    points: usize,
    is_corridor: bool,
    /// A focal length that all cameras share; else it is known.
    shares_focal: bool,
    /// Weak priors of points, without which nothing is held but the scale of the steps.
    has_priors: bool,
    /// Views in no order of points.
    is_shuffled: bool,
    /// The table of points is made before that of cameras.
    points_first: bool,
    loss: Option<Loss>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            cameras: 5,
            points: 80,
            is_corridor: false,
            shares_focal: false,
            has_priors: false,
            is_shuffled: false,
            points_first: false,
            loss: None,
        }
    }
}

/// The problem and its tables.
struct Bundle {
    problem: u32,
    camera: u32,
    point: u32,
}

impl Scene {
    fn view(&self, camera: usize, point: &[f64]) -> Option<[f64; 6]> {
        let count = self.cameras as f64;
        if self.is_corridor {
            let at = camera as f64 * 0.8;
            return ((point[0] - at).abs() < 1.5).then_some([0.0, 0.0, 0.0, -at, 0.0, 0.0]);
        }
        Some([0.0, std::f64::consts::TAU * camera as f64 / count, 0.0, 0.0, 0.0, 0.0])
    }

    fn add(&self, session: &mut Session, seed: u64) -> Bundle {
        let mut random = Random::new(seed);
        let mut within = |spread: f64| random.between(-spread, spread);
        let length = if self.is_corridor { 0.8 * (self.cameras - 1) as f64 } else { 0.0 };
        let points: Vec<f64> = (0..self.points)
            .flat_map(|number| {
                let along = if self.is_corridor { length * (number as f64 + 0.5) / self.points as f64 } else { within(0.8) };
                [along, within(0.8), within(0.8)]
            })
            .collect();
        let (mut views, mut pixels, mut poses) = (Vec::new(), Vec::new(), vec![0.0; 6 * self.cameras]);
        for (number, point) in points.chunks(3).enumerate() {
            for camera in 0..self.cameras {
                // On the ring a point is seen by four fifths of the cameras.
                let Some(pose) = self.view(camera, point).filter(|_| self.is_corridor || (7 * number + 3 * camera) % 5 != 0) else {
                    continue;
                };
                poses[6 * camera..][..6].copy_from_slice(&pose);
                let (sin, cos) = pose[1].sin_cos();
                let turned = [cos * point[0] + sin * point[2] + pose[3], point[1] + pose[4], cos * point[2] - sin * point[0] + pose[5]];
                // A few are far off.
                let off = if self.loss.is_some() && (number + camera) % 17 == 0 { 0.4 } else { 0.0 };
                let depth = turned[2] + 4.0;
                pixels.push([turned[0] / depth + within(0.005) + off, turned[1] / depth + within(0.005)]);
                views.push([camera as u32, number as u32]);
            }
        }
        if self.is_shuffled {
            for k in (1..views.len()).rev() {
                let other = (within(0.5) * 1e6).abs() as usize % (k + 1);
                views.swap(k, other);
                pixels.swap(k, other);
            }
        }
        let mut moved = |values: &[f64], by: f64| -> Vec<f64> { values.iter().map(|value| value + within(by)).collect() };
        let (poses, places) = (moved(&poses, 0.02), moved(&points, 0.05));
        let problem = session.problem();
        let mut table = |name: &str, width: u32, values: &[f64]| session.table(problem, name, width, Reals::F64(values), true).unwrap();
        let first = self.points_first.then(|| table("point", 3, &places));
        let camera = table("camera", 6, &poses);
        let point = first.unwrap_or_else(|| table("point", 3, &places));
        let focal = self.shares_focal.then(|| table("focal", 1, &[1.05]));
        let mut tape = Tape::default();
        let [pose, at] = [0, 1].map(|source| tape.input(source));
        let length = focal.map(|_| tape.input(2));
        let pixel = tape.input(2 + u32::from(focal.is_some()));
        let part = |tape: &mut Tape, of: u32, first: u32| {
            let parts: Vec<u32> = (first..first + 3).map(|component| tape.op(Component, &[of, component])).collect();
            tape.op(Pack, &parts)
        };
        let [angles, shift] = [0, 3].map(|first| part(&mut tape, pose, first));
        let turned = tape.op(RotateXYZ, &[angles, at]);
        let there = tape.op(Add, &[turned, shift]);
        let [x, y, z] = [0, 1, 2].map(|component| tape.op(Component, &[there, component]));
        let four = tape.literal(4.0);
        let depth = tape.op(Add, &[z, four]);
        let rows = [x, y].into_iter().zip(0..).map(|(side, component)| {
            let ratio = tape.op(Div, &[side, depth]);
            let scaled = length.map_or(ratio, |length| tape.op(Mul, &[ratio, length]));
            let wanted = tape.op(Component, &[pixel, component]);
            tape.op(Sub, &[scaled, wanted])
        });
        let outputs: Vec<u32> = rows.collect();
        let pixels = pixels.concat();
        let slot = |table, column| Slot { table, column };
        let column = |k: usize| views.iter().map(|view| view[k]).collect::<Vec<u32>>();
        let spec = TermSpec {
            name: "views".into(),
            count: views.len() as u32,
            indices: [column(0), column(1)].into_iter().chain(focal.map(|_| vec![0; views.len()])).collect(),
            slots: [slot(camera, 0), slot(point, 1)].into_iter().chain(focal.map(|focal| slot(focal, 2))).collect(),
            columns: vec![Column { name: "pixel".into(), width: 2, shared: false, values: Reals::F64(&pixels) }],
            weight: Weight::Shared(2.0),
            tape: &tape.words,
            outputs: &outputs,
            loss: self.loss.clone(),
            objective: Default::default(),
        };
        session.term(problem, spec).unwrap();
        if self.has_priors {
            prior(session, problem, (point, 3), &places);
            prior(session, problem, (camera, 6), &poses);
        }
        Bundle { problem, camera, point }
    }
}

fn prior(session: &mut Session, problem: u32, (table, width): (u32, u32), values: &[f64]) {
    let mut tape = Tape::default();
    let [x, start] = [0, 1].map(|source| tape.input(source));
    let apart = tape.op(Sub, &[x, start]);
    let count = values.len() as u32 / width;
    let spec = TermSpec {
        name: format!("prior of {table}"),
        count,
        indices: vec![(0..count).collect()],
        slots: vec![Slot { table, column: 0 }],
        columns: vec![Column { name: "start".into(), width, shared: false, values: Reals::F64(values) }],
        weight: Weight::Shared(0.02),
        tape: &tape.words,
        outputs: &[apart],
        loss: None,
        objective: Default::default(),
    };
    session.term(problem, spec).unwrap();
}

fn options(linear: &str) -> Options {
    Options {
        linear: Some(linear.into()),
        cost_tolerance: Some(1e-13),
        gradient_tolerance: Some(1e-13),
        step_tolerance: Some(1e-13),
        max_iterations: Some(200.0),
        forcing: linear.ends_with("pcg").then_some(1e-8),
        max_inner_iterations: linear.ends_with("pcg").then_some(3000.0),
        ..Options::default()
    }
}

fn scenes() -> Vec<(&'static str, Scene)> {
    let usual = Scene::default();
    vec![
        ("few cameras, a free gauge", Scene { cameras: 3, points: 150, ..usual.clone() }),
        ("a corridor", Scene { cameras: 16, points: 240, is_corridor: true, ..usual.clone() }),
        ("a loss", Scene { loss: Some(Loss::cauchy(0.02).unwrap()), ..usual.clone() }),
        ("a focal length that all share, and priors", Scene { shares_focal: true, has_priors: true, ..usual.clone() }),
        ("tables in another order", Scene { shares_focal: true, points_first: true, ..usual.clone() }),
        ("views in no order", Scene { is_shuffled: true, shares_focal: true, ..usual }),
    ]
}

/// What each scene is solved with besides: nothing, fixed cameras, bounds.
fn held(session: &mut Session, bundle: &Bundle, how: usize) {
    match how {
        1 => {
            session.fix_table(bundle.problem, bundle.camera, Some(&[0, 1]), None).unwrap();
            session.fix_table(bundle.problem, bundle.point, Some(&[3, 10]), None).unwrap();
        }
        2 => {
            session.bound_table(bundle.problem, bundle.point, Some(Reals::F64(&[-0.6])), Some(Reals::F64(&[0.6]))).unwrap();
            session.fix_table(bundle.problem, bundle.camera, None, Some(&[4])).unwrap();
        }
        _ => {}
    }
}

fn solved(session: &mut Session, scene: &Scene, how: usize, options: &Options) -> Report {
    let bundle = scene.add(session, 3);
    held(session, &bundle, how);
    solve(session, bundle.problem, options)
}

fn agree(costs: &[(&str, f64)], tolerance: f64, what: &str) {
    let (_, first) = costs[0];
    assert!(costs.iter().all(|(_, cost)| (cost - first).abs() <= tolerance * first), "{what}: {costs:?}");
}

#[test]
fn bundles_come_to_the_costs_of_other_linear_solvers() {
    for (what, scene) in scenes() {
        for how in 0..3 {
            // Bounds of a corridor would hold all of it.
            if how == 2 && scene.is_corridor {
                continue;
            }
            let costs: Vec<(&str, f64)> = ["schur", "sparse-cholesky", "pcg", "schur-pcg"]
                .into_iter()
                .map(|linear| {
                    let mut session = cpu(Precision::F64);
                    let report = solved(&mut session, &scene, how, &options(linear));
                    assert_eq!(report.linear, linear);
                    assert!(report.converged || report.termination == Termination::Precision, "{what}, {how}, {linear}: {}", report.reason);
                    if linear == "schur-pcg" {
                        assert_eq!(report.preconditioner, Some("schur-jacobi"), "{what}");
                        // Nothing comes back but the state.
                        assert_eq!(report.counters.readbacks, report.iterations.len() as u64 + 1, "{what}");
                        assert_eq!(report.counters.matrix_readbacks, 0);
                    }
                    (linear, report.cost)
                })
                .collect();
            agree(&costs, 1e-8, &format!("{what}, {how}"));
        }
    }
}

#[test]
fn every_backend_comes_to_the_same_cost() {
    let (scene, what) =
        (Scene { shares_focal: true, loss: Some(Loss::huber(0.01).unwrap()), has_priors: true, ..Scene::default() }, "a bundle");
    let right = solved(&mut cpu(Precision::F64), &scene, 1, &options("schur")).cost;
    let cpus: [(&str, Shared, f64); 3] = [
        ("cpu f64", cpu(Precision::F64).into(), 1e-8),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into(), 1e-8),
        ("cpu f32", cpu(Precision::F32).into(), 1e-4),
    ];
    let backends = cpus.into_iter().chain(gpus().into_iter().map(|(name, limits)| (name, shared_gpu(limits), 1e-4)));
    for (name, mut session, tolerance) in backends {
        for preconditioner in repeated(&["schur-jacobi", "block-jacobi"], if tolerance < 1e-6 { 2 } else { 1 }) {
            let near = Options { cost_tolerance: Some(1e-7), forcing: Some(1e-3), ..options("schur-pcg") };
            let wanted = if tolerance < 1e-6 { options("schur-pcg") } else { near };
            let report = solved(&mut session, &scene, 1, &Options { preconditioner: Some((*preconditioner).into()), ..wanted });
            assert_eq!((report.linear, report.preconditioner), ("schur-pcg", Some(*preconditioner)), "{name}");
            agree(&[("schur", right), (name, report.cost)], tolerance, what);
        }
    }
}

#[test]
fn double_floats_come_to_the_minimum_of_f64() {
    let scene = Scene { cameras: 3, points: 20, has_priors: true, ..Scene::default() };
    let wanted = Options { max_iterations: Some(40.0), ..options("schur-pcg") };
    let right = solved(&mut cpu(Precision::F64), &scene, 0, &wanted).cost;
    for &format in repeated(&[Format::Double, Format::Mixed], 1) {
        let cost = solved(&mut gpu_in(format, None), &scene, 0, &wanted).cost;
        assert!((cost - right).abs() <= 1e-10 * right, "{format:?}: {cost} for {right}");
    }
}

fn inner(report: &Report) -> u32 {
    report.iterations.iter().map(|step| step.inner_iterations).sum()
}

/// Iterations of the first steps, each of which leaves the same part of its system.
fn first_steps(linear: &str, preconditioner: &str, scene: &Scene) -> u32 {
    let wanted = Options {
        preconditioner: Some(preconditioner.into()),
        forcing: Some(1e-3),
        max_iterations: Some(6.0),
        cost_tolerance: Some(0.0),
        ..options(linear)
    };
    inner(&solved(&mut cpu(Precision::F64), scene, 0, &wanted))
}

#[test]
fn it_takes_far_fewer_iterations_with_the_blocks_of_either() {
    for scene in
        [Scene { cameras: 12, points: 400, ..Scene::default() }, Scene { cameras: 24, points: 300, is_corridor: true, ..Scene::default() }]
    {
        let pcg = first_steps("pcg", "block-jacobi", &scene);
        let [of_b, of_s] = ["block-jacobi", "schur-jacobi"].map(|preconditioner| first_steps("schur-pcg", preconditioner, &scene));
        println!("{pcg} iterations with block Jacobi, {of_b} and {of_s} on the Schur complement");
        assert!(10 * of_b < 8 * pcg, "{of_b} of {pcg}");
        assert!(10 * of_s < 8 * pcg, "{of_s} of {pcg}");
    }
}

/// Dispatches of an inner iteration.
fn dispatches(linear: &str, scene: &Scene) -> u64 {
    let report = solved(&mut cpu(Precision::F64), scene, 0, &Options { max_iterations: Some(3.0), ..options(linear) });
    let counters = report.counters;
    assert_eq!(counters.round_dispatches % counters.rounds, 0, "{counters:?}");
    counters.round_dispatches / counters.rounds
}

#[test]
fn an_iteration_has_no_more_dispatches_than_one_of_block_jacobi() {
    let scene = Scene { cameras: 4, points: 15, ..Scene::default() };
    // p, S p, what cameras gather, pᵀq, the update and β.
    assert_eq!(dispatches("schur-pcg", &scene), 6);
    assert!(dispatches("pcg", &scene) >= 6);
    // Without an order of points: p, twice JᵀWJ p, w, pᵀq, the update and β.
    let shuffled = Scene { is_shuffled: true, ..scene };
    let product = dispatches("pcg", &shuffled) - 4;
    assert_eq!(dispatches("schur-pcg", &shuffled), 5 + 2 * product);
}

fn bits(threads: usize, scene: &Scene) -> Vec<u64> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
        let mut session = cpu(Precision::F64);
        let bundle = scene.add(&mut session, 9);
        let report = solve(&mut session, bundle.problem, &Options { max_iterations: Some(5.0), ..options("schur-pcg") });
        let values = read(&mut session, bundle.problem, bundle.point);
        report.iterations.iter().map(|step| step.cost).chain(values).map(f64::to_bits).collect()
    })
}

#[test]
fn the_same_bits_come_again_and_of_any_number_of_threads() {
    for is_shuffled in [false, true] {
        let scene = Scene { cameras: 20, points: 2000, is_shuffled, shares_focal: true, ..Scene::default() };
        let once = bits(1, &scene);
        for threads in [1, 2, 3] {
            assert!(bits(threads, &scene) == once, "{threads} threads, shuffled {is_shuffled}");
        }
    }
}

#[test]
fn small_limits_cut_bundles_into_chunks_that_take_the_same_steps() {
    let scene = Scene { cameras: 20, points: 3000, ..Scene::default() };
    let steps = [cpu(Precision::F64), cpu_with(Precision::F64, Limits::SMALL)].map(|mut session| {
        let bundle = scene.add(&mut session, 5);
        let solver = session.solver(bundle.problem, &options("schur-pcg")).unwrap();
        [(); 3].map(|()| step(&mut session, solver))
    });
    for (whole, cut) in steps[0].iter().zip(&steps[1]) {
        assert!((whole.cost - cut.cost).abs() < 1e-8 * whole.cost, "{whole:?}, {cut:?}");
    }
}

#[test]
fn what_is_fixed_stays_where_it_is() {
    let mut session = cpu(Precision::F64);
    let scene = Scene::default();
    let bundle = scene.add(&mut session, 2);
    let before = [bundle.camera, bundle.point].map(|table| read(&mut session, bundle.problem, table));
    session.fix_table(bundle.problem, bundle.camera, Some(&[0]), None).unwrap();
    session.fix_table(bundle.problem, bundle.point, Some(&[7]), None).unwrap();
    session.fix_table(bundle.problem, bundle.point, None, Some(&[2])).unwrap();
    let report = solve(&mut session, bundle.problem, &options("schur-pcg"));
    assert!(report.converged || report.termination == Termination::Precision, "{}", report.reason);
    let after = [bundle.camera, bundle.point].map(|table| read(&mut session, bundle.problem, table));
    for (k, (before, after)) in before[0].iter().zip(&after[0]).enumerate() {
        assert_eq!(before == after, k < 6, "component {k} of the cameras");
    }
    for (k, (before, after)) in before[1].iter().zip(&after[1]).enumerate() {
        assert_eq!(before == after, k / 3 == 7 || k % 3 == 2, "component {k} of the points");
    }
}

#[test]
fn edits_between_steps_and_live_steps_go_on() {
    let mut session = cpu(Precision::F64);
    let scene = Scene { has_priors: true, ..Scene::default() };
    let bundle = scene.add(&mut session, 4);
    let solver = session.solver(bundle.problem, &options("schur-pcg")).unwrap();
    let mut costs = Vec::new();
    for edit in 0..3 {
        match edit {
            1 => session.set_enabled(bundle.problem, 1, false).unwrap(),
            2 => session.set_weight(bundle.problem, 0, Weight::Shared(1.0)).unwrap(),
            _ => {}
        }
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(&mut session, task, |_| {}) else { panic!("no report") };
        costs.push(report.cost);
    }
    let mut other = cpu(Precision::F64);
    let same = scene.add(&mut other, 4);
    other.set_enabled(same.problem, 1, false).unwrap();
    other.set_weight(same.problem, 0, Weight::Shared(1.0)).unwrap();
    let right = solve(&mut other, same.problem, &options("schur"));
    agree(&[("schur", right.cost), ("edited", costs[2])], 1e-7, "after edits");
}

#[test]
fn every_method_solves_with_it() {
    let scene = Scene { has_priors: true, ..Scene::default() };
    let right = solved(&mut cpu(Precision::F64), &scene, 0, &options("schur")).cost;
    for (method, dogleg) in [("lm", None), ("dogleg", Some("traditional")), ("dogleg", Some("subspace")), ("gauss-newton", None)] {
        let wanted = Options { method: Some(method.into()), dogleg: dogleg.map(String::from), ..options("schur-pcg") };
        let cost = solved(&mut cpu(Precision::F64), &scene, 0, &wanted).cost;
        agree(&[("schur", right), (method, cost)], 1e-8, "a method");
    }
}

#[test]
fn points_that_nothing_determines_stay_and_those_of_one_view_are_damped() {
    for linear in ["schur-pcg", "schur"] {
        let mut session = cpu(Precision::F64);
        // In a corridor the last points are seen by one camera.
        let scene = Scene { cameras: 3, points: 40, is_corridor: true, ..Scene::default() };
        let bundle = scene.add(&mut session, 6);
        let before = read(&mut session, bundle.problem, bundle.point);
        let report = solve(&mut session, bundle.problem, &options(linear));
        assert!(
            report.cost.is_finite() && report.cost < 0.05 * report.initial_cost,
            "{linear}: {} of {}, {}",
            report.cost,
            report.initial_cost,
            report.reason
        );
        let after = read(&mut session, bundle.problem, bundle.point);
        // Depths that one view alone would not hold move no further than the steps of the others.
        let farthest = before.iter().zip(&after).map(|(from, to)| (to - from).abs()).fold(0.0, f64::max);
        assert!(farthest > 0.0 && farthest < 4.0, "{linear}: a point went {farthest} away");
    }
}

/// Lines, each with a slope and an offset of its own, seen far from the origin: their columns are parallel but for 10⁻⁶. All share one
/// vector, by which what they are measured with is off.
fn far_lines(session: &mut Session) -> u32 {
    let (problem, lines, samples, far) = (session.problem(), 30, 8, 1e6);
    let mut random = Random::new(9);
    let shared = session.table(problem, "shared", 2, Reals::F64(&[0.0; 2]), true).unwrap();
    let line = session.table(problem, "line", 2, Reals::F64(&vec![0.0; 2 * lines]), true).unwrap();
    let mut tape = Tape::default();
    let [common, own, sample] = [0, 1, 2].map(|source| tape.input(source));
    let mut at = |of: u32, component: u32| tape.op(Component, &[of, component]);
    let ([slope, offset], [first, second], [x, u, v, y]) =
        ([0, 1].map(|k| at(own, k)), [0, 1].map(|k| at(common, k)), [0, 1, 2, 3].map(|k| at(sample, k)));
    let terms = [(slope, x), (first, u), (second, v)].map(|(factor, by)| tape.op(Mul, &[factor, by]));
    let sum = terms.into_iter().fold(offset, |sum, term| tape.op(Add, &[sum, term]));
    let residual = tape.op(Sub, &[sum, y]);
    let mut values = Vec::new();
    for _ in 0..lines {
        let (slope, offset) = (random.between(-1.0, 1.0), random.between(-1.0, 1.0));
        for _ in 0..samples {
            let [x, u, v] = [far + random.between(0.0, 1.0), random.between(-1.0, 1.0), random.between(-1.0, 1.0)];
            values.extend([x, u, v, slope * (x - far) + offset + 0.3 * u - 0.2 * v + random.between(-0.01, 0.01)]);
        }
    }
    let count = (lines * samples) as u32;
    let spec = TermSpec {
        name: "samples".into(),
        count,
        indices: vec![vec![0; count as usize], (0..count).map(|k| k / samples as u32).collect()],
        slots: vec![Slot { table: shared, column: 0 }, Slot { table: line, column: 1 }],
        columns: vec![Column { name: "sample".into(), width: 4, shared: false, values: Reals::F64(&values) }],
        weight: Weight::Shared(1.0),
        tape: &tape.words,
        outputs: &[residual],
        loss: None,
        objective: Default::default(),
    };
    session.term(problem, spec).unwrap();
    problem
}

#[test]
fn columns_that_are_nearly_parallel_take_no_more_steps_than_with_a_factor() {
    let reports: Vec<(&str, Report)> = ["schur", "schur-pcg"]
        .into_iter()
        .map(|linear| {
            let mut session = cpu(Precision::F64);
            let problem = far_lines(&mut session);
            let wanted = Options { eliminate: Some(vec![1]), ..options(linear) };
            (linear, solve(&mut session, problem, &wanted))
        })
        .collect();
    let costs: Vec<(&str, f64)> = reports.iter().map(|(linear, report)| (*linear, report.cost)).collect();
    let steps: Vec<usize> = reports.iter().map(|(_, report)| report.iterations.len()).collect();
    agree(&costs, 1e-6, "lines");
    assert!(steps[1] <= steps[0] + 2, "{steps:?} steps");
}

fn refused(session: &mut Session, problem: u32, wanted: &Options, words: &str) {
    let made = session.solver(problem, wanted).and_then(|solver| {
        let task = session.solve(solver, SolveMode::Step)?;
        loop {
            match session.resume(task, f64::INFINITY)? {
                Progress::Yielded => {}
                Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
                _ => return Ok(()),
            }
        }
    });
    match made {
        Err(Error::InvalidOption(message)) => assert!(message.contains(words), "{message}"),
        other => panic!("{other:?}, where \"{words}\" was expected"),
    }
}

#[test]
fn what_can_not_be_eliminated_is_refused_with_the_reason() {
    let mut session = cpu(Precision::F64);
    let (mesh, _) = arap(&mut session, &Mesh::icosphere(1));
    let eliminating = |tables: Vec<u32>| Options { eliminate: Some(tables), ..options("schur-pcg") };
    refused(&mut session, mesh, &eliminating(vec![0]), "\"position\" can't be eliminated: a residual touches two instances of it");
    let bundle = Scene::default().add(&mut session, 1);
    refused(&mut session, bundle.problem, &eliminating(vec![0, 1]), "but not all");
    // Cameras may go, too: then points are what is left.
    let report = solve(&mut session, bundle.problem, &Options { max_iterations: Some(3.0), ..eliminating(vec![bundle.camera]) });
    assert_eq!(report.linear, "schur-pcg");
    let wrong = Options { preconditioner: Some("schur-jacobi".into()), ..options("pcg") };
    refused(&mut session, bundle.problem, &wrong, "\"schur-jacobi\" is one of linear \"schur-pcg\"");
    let lone = session.problem();
    let table = session.table(lone, "x", 2, Reals::F64(&[0.5; 6]), true).unwrap();
    prior(&mut session, lone, (table, 2), &[0.1; 6]);
    refused(&mut session, lone, &options("schur-pcg"), "nothing would be left");
    let sums = summed(&mut session);
    refused(&mut session, sums, &options("schur-pcg"), "a term sums over entries");
}

/// A row that sums over entries.
fn summed(session: &mut Session) -> u32 {
    let problem = session.problem();
    let x = session.table(problem, "x", 2, Reals::F64(&[0.5; 6]), true).unwrap();
    let mut tape = Tape::default();
    let entry = tape.input(1);
    let sum = tape.op(SumOver, &[entry]);
    let own = tape.input(0);
    let residual = tape.op(Sub, &[sum, own]);
    let plain = TermSpec {
        name: "sum".into(),
        count: 1,
        indices: vec![vec![0]],
        slots: vec![Slot { table: x, column: 0 }],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[residual],
    };
    let slots = vec![RaggedSlot { table: x, indices: vec![0, 1, 2] }];
    session.summed_term(problem, SummedSpec { plain, offsets: vec![0, 3], slots, columns: Vec::new() }).unwrap();
    problem
}
