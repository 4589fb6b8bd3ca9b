//! `linear: "schur-pcg"`: conjugate gradients on a Schur complement that is never formed. Bundles come to the costs that other linear
//! solvers come to, under every constraint, on every backend, to the same bits, in fewer iterations of no more dispatches.

use super::scene::*;
use crate::support::*;
use leastwise::Error;
use leastwise::device::{Limits, Precision, Reals as Format};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, RaggedSlot, Reals, Slot, SummedSpec, TermSpec, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};

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
