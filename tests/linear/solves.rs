//! Whole solves with every linear solver: they come to the same, on every backend, and say what they read back.

use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, Reals, Slot, TermSpec, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report, Termination};

fn options(linear: &str) -> Options {
    Options {
        linear: Some(linear.into()),
        cost_tolerance: Some(1e-9),
        max_iterations: Some(100.0),
        forcing: linear.ends_with("pcg").then_some(1e-6),
        ..Options::default()
    }
}

fn backends() -> Vec<(&'static str, Shared, f64)> {
    let cpus = [
        ("cpu f64", cpu(Precision::F64).into(), 1e-7),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into(), 1e-7),
        ("cpu f32", cpu(Precision::F32).into(), 1e-4),
    ];
    cpus.into_iter().chain(gpus().into_iter().map(|(name, limits)| (name, shared_gpu(limits), 1e-4))).collect()
}

/// Cameras that look at points: three angles and a position, a focal length that all share, and a weak prior on all. The
/// pixels are those of cameras that are not turned, but for some noise.
fn bundle(session: &mut Session, random: &mut Random, loss: Option<Loss>) -> u32 {
    let (cameras, points) = (6, 60);
    let problem = session.problem();
    let mut vector = |len: usize, spread: f64| -> Vec<f64> { (0..len).map(|_| random.between(-spread, spread)).collect() };
    let sum = |a: &[f64], b: Vec<f64>| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
    let (mut poses, places) = (vector(6 * cameras, 0.5), vector(3 * points, 1.0));
    poses.chunks_mut(6).for_each(|pose| pose[..3].fill(0.0));
    let seen: Vec<(u32, u32)> = (0..points as u32)
        .flat_map(|point| (0..cameras as u32).map(move |camera| (camera, point)))
        .filter(|(a, b)| (a * 7 + b * 3) % 4 != 0)
        .collect();
    let exact: Vec<f64> = seen
        .iter()
        .flat_map(|&(camera, point)| {
            let there = |k: usize| poses[6 * camera as usize + 3 + k] + places[3 * point as usize + k];
            [there(0) / (there(2) + 4.0), there(1) / (there(2) + 4.0)]
        })
        .collect();
    let pixels = sum(&exact, vector(exact.len(), 0.02));
    let (first_poses, first_places) = (sum(&poses, vector(poses.len(), 0.1)), sum(&places, vector(places.len(), 0.2)));
    let camera = session.table(problem, "camera", 6, Reals::F64(&first_poses), true).unwrap();
    let focal = session.table(problem, "focal", 1, Reals::F64(&[1.1]), true).unwrap();
    let point = session.table(problem, "point", 3, Reals::F64(&first_places), true).unwrap();
    let mut tape = Tape::default();
    let [pose, at, length, pixel] = [0, 1, 2, 3].map(|source| tape.input(source));
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
    let outputs: Vec<u32> = [x, y]
        .into_iter()
        .zip(0..)
        .map(|(side, component)| {
            let ratio = tape.op(Div, &[side, depth]);
            let scaled = tape.op(Mul, &[ratio, length]);
            let wanted = tape.op(Component, &[pixel, component]);
            tape.op(Sub, &[scaled, wanted])
        })
        .collect();
    let slot = |table, column| Slot { table, column };
    let spec = TermSpec {
        name: "reprojection".into(),
        count: seen.len() as u32,
        indices: vec![seen.iter().map(|pair| pair.0).collect(), seen.iter().map(|pair| pair.1).collect(), vec![0; seen.len()]],
        slots: vec![slot(camera, 0), slot(point, 1), slot(focal, 2)],
        columns: vec![Column { name: "pixel".into(), width: 2, shared: false, values: Reals::F64(&pixels) }],
        weight: Weight::Shared(3.0),
        tape: &tape.words,
        outputs: &outputs,
        loss,
        objective: Default::default(),
    };
    session.term(problem, spec).unwrap();
    for (table, name, width, first) in [(camera, "prior of cameras", 6, &first_poses), (point, "prior of points", 3, &first_places)] {
        let count = first.len() / width as usize;
        let mut tape = Tape::default();
        let [x, start] = [0, 1].map(|source| tape.input(source));
        let apart = tape.op(Sub, &[x, start]);
        let weights: Vec<f64> = (0..count).map(|k| 0.1 + 0.01 * k as f64).collect();
        let spec = TermSpec {
            name: name.into(),
            count: count as u32,
            indices: vec![(0..count as u32).collect()],
            slots: vec![slot(table, 0)],
            columns: vec![Column { name: "start".into(), width, shared: false, values: Reals::F64(first) }],
            weight: Weight::Each(Reals::F64(&weights)),
            tape: &tape.words,
            outputs: &[apart],
            loss: None,
            objective: Default::default(),
        };
        session.term(problem, spec).unwrap();
    }
    problem
}

/// Springs between points of a grid, each a term of one instance; some begin and end at the same point.
fn springs(session: &mut Session) -> u32 {
    let problem = session.problem();
    let start: Vec<f64> = (0..40).map(|k| f64::from(k % 7) * 0.3 + f64::from(k) * 0.11).collect();
    let x = session.table(problem, "x", 2, Reals::F64(&start), true).unwrap();
    for k in 0..60u32 {
        let mut tape = Tape::default();
        let [a, b] = [0, 1].map(|source| tape.input(source));
        // Not a function of a − b alone, so that a = b is not free.
        let [two, rest] = [2.0, 0.5 + 0.1 * f64::from(k)].map(|value| tape.literal(value));
        let twice = tape.op(Mul, &[a, two]);
        let edge = tape.op(Sub, &[twice, b]);
        let squared = tape.op(Dot, &[edge, edge]);
        let length = tape.op(Sub, &[squared, rest]);
        let spec = TermSpec {
            name: format!("spring {k}"),
            count: 1,
            indices: vec![vec![k * 7 % 20], vec![if k % 5 == 0 { k * 7 % 20 } else { k * 11 % 20 }]],
            slots: [0, 1].map(|column| Slot { table: x, column }).to_vec(),
            columns: Vec::new(),
            weight: Weight::Shared(1.0 + f64::from(k % 3)),
            tape: &tape.words,
            outputs: &[edge, length],
            loss: None,
            objective: Default::default(),
        };
        session.term(problem, spec).unwrap();
    }
    problem
}

fn check(name: &str, report: &Report, linear: &str) {
    // The tolerance is below what f32 resolves of a cost.
    let ended = report.converged || report.termination == Termination::Precision && report.precision == "f32";
    assert!(ended, "{name}, {linear}: {:?}: {}", report.termination, report.reason);
    assert_eq!(report.linear, linear, "{name}: {}", report.linear_reason);
    assert_eq!(report.counters.readbacks, report.iterations.len() as u64 + 1, "{name}, {linear}");
    let steps = report.iterations.len() as u64;
    let rejected = report.iterations.iter().rev().skip(1).filter(|step| !step.accepted).count() as u64;
    // A system comes back once a linearisation: after a rejected step it is there already, unless a device forms it for one λ.
    let expected = match linear {
        "pcg" | "schur-pcg" => 0,
        "schur" if report.linear_reason.ends_with("formed on the device") => steps,
        _ => steps - rejected,
    };
    assert_eq!(report.counters.matrix_readbacks, expected, "{name}, {linear}: {steps} steps, {rejected} rejected");
}

fn agree(name: &str, linears: &[&str], tolerance: f64, mut solved: impl FnMut(&str) -> Report) {
    let mut costs = Vec::new();
    for linear in linears {
        let report = solved(linear);
        check(name, &report, linear);
        costs.push(report.cost);
    }
    for (cost, linear) in costs.iter().zip(linears) {
        assert!((cost - costs[0]).abs() <= tolerance * costs[0], "{name}: {linear}: {costs:?}");
    }
}

#[test]
fn bundles_come_to_the_same_cost_with_every_solver() {
    for (name, mut session, tolerance) in backends() {
        agree(name, &["dense", "sparse-cholesky", "schur", "assembled-pcg", "pcg", "schur-pcg"], tolerance, |linear| {
            let problem = bundle(&mut session, &mut Random::new(5), None);
            solve(&mut session, problem, &options(linear))
        });
    }
}

#[test]
fn outliers_are_weighed_down_with_every_solver() {
    for (name, mut session, tolerance) in backends() {
        let mut losses = [Loss::huber(0.005), Loss::cauchy(0.01)].map(Result::unwrap);
        if name.ends_with("limits") {
            losses.reverse();
        }
        for loss in repeated(&losses, if name.starts_with("webgpu") { 1 } else { 2 }) {
            agree(name, &["dense", "sparse-cholesky", "schur", "assembled-pcg", "pcg", "schur-pcg"], tolerance, |linear| {
                let problem = bundle(&mut session, &mut Random::new(7), Some(loss.clone()));
                solve(&mut session, problem, &options(linear))
            });
        }
    }
}

#[test]
fn meshes_come_to_the_same_cost_with_every_solver() {
    let mesh = Mesh::icosphere(2).normalized();
    for (name, mut session, tolerance) in backends() {
        agree(name, &["sparse-cholesky", "schur", "dense", "assembled-pcg", "pcg", "schur-pcg"], 10.0 * tolerance, |linear| {
            let (problem, _) = arap(&mut session, &mesh);
            solve(&mut session, problem, &options(linear))
        });
    }
}

#[test]
fn merged_terms_whose_instances_name_a_variable_twice_come_to_the_same_cost() {
    for (name, mut session, tolerance) in backends() {
        // 40 unknowns: "dense" is QR of J.
        agree(name, &["dense", "sparse-cholesky", "assembled-pcg", "pcg"], tolerance, |linear| {
            let problem = springs(&mut session);
            solve(&mut session, problem, &options(linear))
        });
    }
}

#[test]
fn the_same_bits_come_of_any_number_of_threads() {
    let run = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let mut session = cpu(Precision::F64);
            let problem = bundle(&mut session, &mut Random::new(6), None);
            solve(&mut session, problem, &options("schur")).cost.to_bits()
        })
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn what_is_fixed_stays_where_it_is() {
    for linear in ["dense", "sparse-cholesky", "schur", "assembled-pcg", "schur-pcg"] {
        let mut session = cpu(Precision::F64);
        let problem = bundle(&mut session, &mut Random::new(8), None);
        let before = read(&mut session, problem, 0);
        session.fix_table(problem, 0, Some(&[2]), None).unwrap();
        session.fix_table(problem, 0, None, Some(&[4])).unwrap();
        let report = solve(&mut session, problem, &options(linear));
        assert!(report.converged, "{linear}: {}", report.reason);
        let after = read(&mut session, problem, 0);
        for k in 0..before.len() {
            assert_eq!(before[k] == after[k], k / 6 == 2 || k % 6 == 4, "{linear}: component {k}");
        }
    }
}

#[test]
fn terms_may_be_switched_off_and_data_edited_between_solves() {
    let mut session = cpu(Precision::F64);
    let problem = bundle(&mut session, &mut Random::new(9), None);
    let solver = session.solver(problem, &options("schur")).unwrap();
    let mut costs = Vec::new();
    for step in 0..4 {
        match step {
            1 => session.set_enabled(problem, 1, false).unwrap(),
            2 => session.set_weight(problem, 0, Weight::Shared(1.0)).unwrap(),
            3 => session.set_enabled(problem, 1, true).unwrap(),
            _ => {}
        }
        let task = session.solve(solver, leastwise::session::SolveMode::Solve).unwrap();
        let leastwise::session::Progress::Report(report) = finish(&mut session, task, |_| {}) else { panic!("no report") };
        assert!(report.converged, "{}", report.reason);
        costs.push(report.cost);
    }
    assert!(costs[1] < costs[0] && costs[2] < costs[1] && costs[3] > costs[2], "{costs:?}");
}

#[test]
fn auto_says_what_it_takes_and_why() {
    let mut session = cpu(Precision::F64);
    let problem = springs(&mut session);
    let report = solve(&mut session, problem, &Options::default());
    assert_eq!((report.linear, &report.linear_reason[..]), ("dense", "40 unknowns"));
    let problem = bundle(&mut session, &mut Random::new(5), None);
    let report = solve(&mut session, problem, &Options::default());
    assert_eq!((report.linear, &report.linear_reason[..]), ("schur", "\"point\" (180 of 217 unknowns) is block-diagonal"));
    let (problem, _) = arap(&mut session, &Mesh::icosphere(3).normalized());
    let report = solve(&mut session, problem, &Options::default());
    assert_eq!(report.linear, "sparse-cholesky", "{}", report.linear_reason);
    assert!(report.linear_reason.ends_with("entries in the factor"), "{}", report.linear_reason);
}

#[test]
fn what_cannot_be_eliminated_is_refused_by_name() {
    let mut session = cpu(Precision::F64);
    let (problem, _) = arap(&mut session, &Mesh::icosphere(1).normalized());
    let mut refused = |eliminate: Option<Vec<u32>>, linear: &str| {
        let options = Options { linear: Some(linear.into()), eliminate, ..Options::default() };
        session.solver(problem, &options).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(refused(Some(vec![1]), "schur"), Ok(()));
    assert!(refused(Some(vec![0]), "schur").unwrap_err().contains("\"position\" can't be eliminated"));
    assert!(refused(Some(vec![0, 1]), "schur").unwrap_err().contains("but not all"));
    assert!(refused(Some(vec![2]), "schur").unwrap_err().contains("not constants"));
    assert!(refused(Some(vec![1]), "pcg").unwrap_err().contains("only linear \"schur\""));
    assert!(refused(None, "cholesky").unwrap_err().contains("\"sparse-cholesky\""));
}

/// An unknown that no residual touches: its row of JᵀWJ is 0, and damping alone holds it.
#[test]
fn unknowns_that_nothing_touches_do_not_move() {
    for linear in ["dense", "sparse-cholesky", "assembled-pcg"] {
        let mut session = cpu(Precision::F64);
        let problem = springs(&mut session);
        let free = session.table(problem, "free", 3, Reals::F64(&[1.0, 2.0, 3.0]), true).unwrap();
        let report = solve(&mut session, problem, &options(linear));
        assert_eq!(report.termination, Termination::Converged, "{linear}: {}", report.reason);
        assert_eq!(read(&mut session, problem, free), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn a_chain_that_leaves_most_of_itself_free_is_solved_by_orthogonal_transformations() {
    // Thirty points in the plane, held at both ends and at springs' length from each other: of 60 columns 33 at most are
    // independent, and what rounding leaves of the others must not be taken for a pivot.
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut session = cpu(Precision::F64);
        let problem = session.problem();
        let places: Vec<f64> = (0..60).map(|_| random.between(-1.0, 1.0)).collect();
        let x = session.table(problem, "x", 2, Reals::F64(&places), true).unwrap();
        let mut add = |name: &str, indices: Vec<Vec<u32>>, residual: &dyn Fn(&mut Tape) -> u32| {
            let mut tape = Tape::default();
            let output = residual(&mut tape);
            let spec = TermSpec {
                name: name.into(),
                count: indices[0].len() as u32,
                slots: (0..indices.len() as u32).map(|column| Slot { table: x, column }).collect(),
                indices,
                columns: Vec::new(),
                weight: Weight::Shared(1.0),
                loss: None,
                objective: Default::default(),
                tape: &tape.words,
                outputs: &[output],
            };
            session.term(problem, spec).unwrap();
        };
        add("springs", vec![(0..29).collect(), (1..30).collect()], &|tape| {
            let [a, b] = [0, 1].map(|source| tape.input(source));
            let between = tape.op(Sub, &[a, b]);
            let (length, rest) = (tape.op(Norm, &[between]), tape.literal(0.1));
            tape.op(Sub, &[length, rest])
        });
        add("ends", vec![vec![0, 29]], &|tape| tape.input(0));
        let report = solve(&mut session, problem, &Options { linear: Some("dense".into()), ..Options::default() });
        assert!(report.termination != Termination::Singular, "seed {seed}: {}", report.reason);
        // The ends meet: a loop of 29 springs closes.
        assert!(report.cost < 1e-12, "seed {seed}: {:e}, {}", report.cost, report.reason);
    }
}

#[test]
fn a_frozen_factor_follows_edits() {
    for (name, mut session, tolerance) in backends() {
        let mesh = Mesh::icosphere(2).normalized();
        let (problem, _) = arap(&mut session, &mesh);
        let frozen = Options { preconditioner: Some("frozen-factor".into()), linear: None, ..options("assembled-pcg") };
        let solver = session.solver(problem, &frozen).unwrap();
        let run = |session: &mut Session| {
            let task = session.solve(solver, leastwise::session::SolveMode::Solve).unwrap();
            let leastwise::session::Progress::Report(report) = finish(session, task, |_| {}) else { panic!("no report") };
            *report
        };
        let first = run(&mut session);
        assert_eq!((first.linear, first.preconditioner), ("assembled-pcg", Some("frozen-factor")), "{name}");
        let made = first.factorizations.unwrap();
        assert!((1..first.iterations.len() as u64).contains(&made), "{name}: {made} factors in {} steps", first.iterations.len());
        // A little heavier handles: the factor stays.
        session.set_weight(problem, 1, Weight::Shared(5.01)).unwrap();
        let second = run(&mut session);
        assert!(second.factorizations.unwrap() <= made + 1, "{name}: {:?} factors after {made}", second.factorizations);
        let expected = solve(&mut session, problem, &options("sparse-cholesky"));
        assert!((second.cost - expected.cost).abs() <= 10.0 * tolerance * expected.cost, "{name}: {} and {}", second.cost, expected.cost);
    }
}

/// A step whose system is solved on the host gives way, may be given up within, and is then made as if nothing had been.
#[test]
fn systems_are_solved_in_slices_and_can_be_given_up() {
    let mesh = Mesh::icosphere(2).normalized();
    for (linear, least) in [("dense", 40), ("sparse-cholesky", 6), ("schur", 6), ("assembled-pcg", 20)] {
        let solving = |session: &mut Session| {
            let (problem, x) = arap(session, &mesh);
            let wanted = Options { max_iterations: Some(3.0), ..options(linear) };
            let solver = session.solver(problem, &wanted).unwrap();
            (x, problem, solver)
        };
        let bits = |report: &Report| report.iterations.iter().map(|step| step.cost.to_bits()).collect::<Vec<u64>>();
        let mut session = cpu(Precision::F64);
        let (_, _, solver) = solving(&mut session);
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(whole) = finish(&mut session, task, |_| {}) else { panic!("{linear}: no report") };

        let mut session = cpu(Precision::F64);
        let (x, problem, solver) = solving(&mut session);
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let mut slices = 0;
        let sliced = loop {
            match session.resume(task, 0.0).unwrap() {
                Progress::Report(report) => break report,
                Progress::Yielded => slices += 1,
                _ => {}
            }
        };
        assert_eq!(bits(&sliced), bits(&whole), "{linear}");
        // Those of commands are as many as there are without a system to solve.
        assert!(slices >= 3 * least, "{linear}: {slices} slices");
        let at_end = read(&mut session, problem, x);

        // Stopped in any slice, it ends at an iterate, and goes on from there to the same.
        for slice in [2, slices / 6, slices / 4, slices / 2] {
            let mut session = cpu(Precision::F64);
            let (x, problem, solver) = solving(&mut session);
            let task = session.solve(solver, SolveMode::Solve).unwrap();
            let (seen, report) = stop_at(&mut session, task, slice);
            assert_eq!(report.termination, Termination::Stopped, "{linear}, slice {slice}");
            assert_eq!(bits(&report), bits(&whole)[..seen.len()], "{linear}, slice {slice}");
            let task = session.solve(solver, SolveMode::Solve).unwrap();
            // Nobody resumes this one: the solver is as good as before.
            (0..slices / 5).for_each(|_| drop(session.resume(task, 0.0).unwrap()));
            session.cancel(task);
            let task = session.solve(solver, SolveMode::Solve).unwrap();
            let Progress::Report(_) = finish(&mut session, task, |_| {}) else { panic!("{linear}: no report") };
            let values = read(&mut session, problem, x);
            let far = values.iter().zip(&at_end).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(far < 0.5, "{linear}, slice {slice}: {far}");
            session.free_problem(problem);
            assert_eq!(session.counters().bytes_live, 0, "{linear}, slice {slice}");
        }
    }
}
