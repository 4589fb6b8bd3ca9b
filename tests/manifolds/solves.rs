//! Whole solves over manifolds, on every backend.

use crate::manifolds::reference::{element, generator, moved, point, step, unit};
use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Shape, Slot, TermSpec, Weight};
use leastwise::session::Session;
use leastwise::solve::{Options, Report};

/// Names, what is resolved of a value of 1, and sessions.
fn sessions() -> Vec<(&'static str, f64, Shared)> {
    vec![
        ("cpu f64", 1e-12, cpu(Precision::F64).into()),
        ("cpu f32", 1e-5, cpu(Precision::F32).into()),
        ("cpu f64, small limits", 1e-12, cpu_with(Precision::F64, Limits::SMALL).into()),
        ("webgpu", 1e-5, shared_gpu(None)),
    ]
}

fn tight() -> Options {
    let tiny = Some(1e-15);
    Options { cost_tolerance: tiny, gradient_tolerance: tiny, step_tolerance: tiny, max_iterations: Some(60.0), ..Options::default() }
}

struct Term<'a> {
    indices: Vec<Vec<u32>>,
    slots: Vec<Slot>,
    data: &'a [(u32, Vec<f64>)],
}

fn add(session: &mut Session, problem: u32, term: Term, tape: &Tape, outputs: &[u32]) -> u32 {
    let columns =
        term.data.iter().map(|(width, values)| Column { name: "data".into(), width: *width, shared: false, values: Reals::F64(values) });
    let spec = TermSpec {
        name: "term".into(),
        count: term.indices[0].len() as u32,
        columns: columns.collect(),
        indices: term.indices,
        slots: term.slots,
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs,
    };
    session.term(problem, spec).unwrap()
}

/// The unit vector nearest to many in the sense of Σ‖x − aᵢ‖² is their sum, normalised: a hundred means at once.
#[test]
fn means_on_a_sphere_are_normalised_sums() {
    let mut random = Random::new(1);
    let (means, each) = (100u32, 7u32);
    let around: Vec<Vec<f64>> = (0..means).map(|_| point(&Shape::Sphere(3), &mut random)).collect();
    let mut near = |x: &[f64], by: f64| moved(&Shape::Sphere(3), x, &step(&Shape::Sphere(3), by, &mut random));
    let start: Vec<f64> = around.iter().flat_map(|x| near(x, 1.5)).collect();
    let given: Vec<f64> = (0..means * each).flat_map(|k| near(&around[(k / each) as usize], 0.6)).collect();
    for (name, bound, mut session) in sessions() {
        let problem = session.problem();
        let x = session.table_of(problem, "x", vec![Shape::Sphere(3)], Reals::F64(&start), true).unwrap();
        let mut tape = Tape::default();
        let [a, b] = [0, 1].map(|source| tape.input(source));
        let residual = tape.op(Sub, &[a, b]);
        let indices = vec![(0..means * each).map(|k| k / each).collect()];
        add(
            &mut session,
            problem,
            Term { indices, slots: vec![Slot { table: x, column: 0 }], data: &[(3, given.clone())] },
            &tape,
            &[residual],
        );
        solve(&mut session, problem, &tight());
        let found = read(&mut session, problem, x);
        for (mean, given) in found.chunks(3).zip(given.chunks(3 * each as usize)) {
            let sum = unit((0..3).map(|k| given.iter().skip(k).step_by(3).sum()).collect());
            for (found, expected) in mean.iter().zip(sum) {
                // A residual that stays: the cost says no more than the root of what it resolves.
                assert!((found - expected).abs() < bound.sqrt(), "{name}: {found}, not {expected}");
            }
        }
    }
}

/// Rotations relative to each other on a ring with chords, all consistent: found again but for one that is held.
#[test]
fn rotations_are_averaged() {
    let mut random = Random::new(2);
    let count = 40u32;
    let truth: Vec<Vec<f64>> = (0..count).map(|_| point(&Shape::Quaternion, &mut random)).collect();
    let start: Vec<f64> = truth
        .iter()
        .enumerate()
        .flat_map(|(k, q)| moved(&Shape::Quaternion, q, &step(&Shape::Quaternion, if k == 0 { 0.0 } else { 0.4 }, &mut random)))
        .collect();
    let from: Vec<u32> = (0..count).chain(0..count).collect();
    let to: Vec<u32> = (0..count).map(|k| (k + 1) % count).chain((0..count).map(|k| (k + 7) % count)).collect();
    for (name, bound, mut session) in sessions() {
        let problem = session.problem();
        let q = session.table_of(problem, "q", vec![Shape::Quaternion], Reals::F64(&start), true).unwrap();
        session.fix_table(problem, q, Some(&[0]), None).unwrap();
        // log(m⁻¹ · a⁻¹ · b)
        let mut tape = Tape::default();
        let [a, b, m] = [0, 1, 2].map(|source| tape.input(source));
        let back = tape.op(QuatConjugate, &[a]);
        let relative = tape.op(QuatMul, &[back, b]);
        let inverse = tape.op(QuatConjugate, &[m]);
        let error = tape.op(QuatMul, &[inverse, relative]);
        let residual = tape.op(QuatToAngleAxis, &[error]);
        let measured = from.iter().zip(&to).flat_map(|(&a, &b)| {
            let [a, b] = [a, b].map(|k| &truth[k as usize]);
            product(&[-a[0], -a[1], -a[2], a[3]], b)
        });
        let slots = vec![Slot { table: q, column: 0 }, Slot { table: q, column: 1 }];
        let term = Term { indices: vec![from.clone(), to.clone()], slots, data: &[(4, measured.collect())] };
        add(&mut session, problem, term, &tape, &[residual]);
        let report = solve(&mut session, problem, &tight());
        assert!(report.cost < 100.0 * bound * bound * f64::from(count), "{name}: {}", report.cost);
        let found = read(&mut session, problem, q);
        for (found, truth) in found.chunks(4).zip(&truth) {
            let along: f64 = found.iter().zip(truth).map(|(a, b)| a * b).sum();
            assert!(
                found.iter().zip(truth).all(|(a, b)| (along.signum() * a - b).abs() < 200.0 * bound),
                "{name}: {found:?}, not {truth:?}"
            );
        }
    }
}

/// p · q
fn product(p: &[f64], q: &[f64]) -> Vec<f64> {
    let [x, y, z, w] = [p[0], p[1], p[2], p[3]];
    vec![
        w * q[0] + x * q[3] + y * q[2] - z * q[1],
        w * q[1] - x * q[2] + y * q[3] + z * q[0],
        w * q[2] + x * q[1] - y * q[0] + z * q[3],
        w * q[3] - x * q[0] - y * q[1] - z * q[2],
    ]
}

/// Poses along a helix, with measured steps from each to the next two: solved to nothing from a start that is well off.
fn pose_graph(session: &mut Session, shapes: Vec<Shape>, truth: &[Vec<f64>], start: &[f64]) -> (Report, Vec<f64>) {
    let problem = session.problem();
    let pose = session.table_of(problem, "pose", shapes, Reals::F64(start), true).unwrap();
    session.fix_table(problem, pose, Some(&[0]), None).unwrap();
    let count = truth.len() as u32;
    let pairs: Vec<(u32, u32)> = (1..=2).flat_map(|by| (0..count - by).map(move |k| (k, k + by))).collect();
    // Of T = A⁻¹ B: the rotation's vector part against what was measured, and the translation.
    let mut tape = Tape::default();
    let [a, b, q, t] = [0, 1, 2, 3].map(|source| tape.input(source));
    let parts = |tape: &mut Tape, pose: u32, range: std::ops::Range<u32>| {
        let components: Vec<u32> = range.map(|k| tape.op(Component, &[pose, k])).collect();
        tape.op(Pack, &components)
    };
    let [aq, at, bq, bt] = [(a, 0..4), (a, 4..7), (b, 0..4), (b, 4..7)].map(|(pose, range)| parts(&mut tape, pose, range));
    let back = tape.op(QuatConjugate, &[aq]);
    let turn = tape.op(QuatMul, &[back, bq]);
    let inverse = tape.op(QuatConjugate, &[q]);
    let error = tape.op(QuatMul, &[inverse, turn]);
    let turned = tape.op(QuatToAngleAxis, &[error]);
    let way = tape.op(Sub, &[bt, at]);
    let way = tape.op(QuatRotate, &[back, way]);
    let way = tape.op(Sub, &[way, t]);
    let relative = |&(a, b): &(u32, u32)| {
        let [a, b] = [a, b].map(|k| &truth[k as usize]);
        let back = [-a[0], -a[1], -a[2], a[3]];
        let way: Vec<f64> = (4..7).map(|k| b[k] - a[k]).collect();
        let rotation = element(&Shape::Quaternion, &back);
        (product(&back, &b[..4]), (0..3).map(|r| (0..3).map(|c| rotation.at(r, c) * way[c]).sum()).collect::<Vec<f64>>())
    };
    let (q, t): (Vec<Vec<f64>>, Vec<Vec<f64>>) = pairs.iter().map(relative).unzip();
    let slots = vec![Slot { table: pose, column: 0 }, Slot { table: pose, column: 1 }];
    let (from, to) = pairs.into_iter().unzip();
    add(session, problem, Term { indices: vec![from, to], slots, data: &[(4, q.concat()), (3, t.concat())] }, &tape, &[turned, way]);
    let report = solve(session, problem, &tight());
    (report, read(session, problem, pose))
}

#[test]
fn a_pose_graph_without_noise_comes_to_nothing() {
    let mut random = Random::new(3);
    let mut truth = vec![vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]];
    for k in 1..30 {
        let next = moved(&Shape::Se3, &truth[k - 1], &[0.1, 0.2, 0.15, 1.0, 0.1, 0.0]);
        truth.push(next);
    }
    let off = |(k, pose): (usize, &Vec<f64>)| moved(&Shape::Se3, pose, &step(&Shape::Se3, if k == 0 { 0.0 } else { 0.3 }, &mut random));
    let start: Vec<f64> = truth.iter().enumerate().flat_map(off).collect();
    for (name, bound, mut session) in sessions() {
        for shapes in [vec![Shape::Se3], vec![Shape::Quaternion, Shape::Euclidean(3)]] {
            let what = format!("{name}, {shapes:?}");
            let (report, found) = pose_graph(&mut session, shapes, &truth, &start);
            assert!(report.cost < 1e3 * bound * bound, "{what}: {} after {}", report.cost, report.iterations.len());
            for (found, truth) in found.chunks(7).zip(&truth) {
                let sign = if found[3] * truth[3] < 0.0 { -1.0 } else { 1.0 };
                for (k, (found, truth)) in found.iter().zip(truth).enumerate() {
                    let found = if k < 4 { sign * found } else { *found };
                    assert!((found - truth).abs() < 1e3 * bound, "{what}: {found}, not {truth}");
                }
            }
            // What is fixed keeps its bits.
            assert_eq!(found[..7], truth[0][..]);
        }
    }
}

/// A unit quaternion chases another one for a thousand steps: rounding does not add up.
#[test]
fn lengths_stay_one_over_a_thousand_steps() {
    for (name, epsilon, mut session) in
        [("cpu f32", f64::from(f32::EPSILON), cpu(Precision::F32)), ("cpu f64", f64::EPSILON, cpu(Precision::F64))]
    {
        let problem = session.problem();
        let start = [0.0, 0.0, 0.0, 1.0, 0.0, 0.6, 0.8, 1.0, 0.0];
        let shapes = vec![Shape::Quaternion, Shape::Sphere(3), Shape::So2];
        let x = session.table_of(problem, "x", shapes, Reals::F64(&start), true).unwrap();
        let mut tape = Tape::default();
        let [a, b] = [0, 1].map(|source| tape.input(source));
        let residual = tape.op(Sub, &[a, b]);
        let mut random = Random::new(9);
        let mut goal = start.to_vec();
        let term = Term { indices: vec![vec![0]], slots: vec![Slot { table: x, column: 0 }], data: &[(9, goal.clone())] };
        let term = add(&mut session, problem, term, &tape, &[residual]);
        let once = Options { max_iterations: Some(1.0), ..tight() };
        let mut way = 0.0;
        for _ in 0..1000 {
            let q = moved(&Shape::Quaternion, &goal[..4], &step(&Shape::Quaternion, 0.1, &mut random));
            let n = moved(&Shape::Sphere(3), &goal[4..7], &step(&Shape::Sphere(3), 0.1, &mut random));
            goal = [q, n, moved(&Shape::So2, &goal[7..], &[0.1])].concat();
            session.set_column(problem, term, 0, Reals::F64(&goal)).unwrap();
            way += solve(&mut session, problem, &once).iterations[0].step_norm;
        }
        assert!(way > 100.0, "{name}: it moved by {way}");
        let found = read(&mut session, problem, x);
        for range in [0..4, 4..7, 7..9] {
            let length = found[range].iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((length - 1.0).abs() < 2.0 * epsilon, "{name}: a length of {length}");
        }
        assert!(
            generator(&Shape::So2, &[0.1]).at(1, 0) == 0.1 && found.iter().zip(&goal).all(|(x, goal)| (x - goal).abs() < 0.2),
            "{name}: {found:?} at {goal:?}"
        );
    }
}
