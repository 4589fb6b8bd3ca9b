//! Parts of an instance that are held, on manifolds where scalars move together.

use crate::manifolds::reference::{moved, point, step};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::Sub;
use leastwise::problem::{Column, Reals, Shape, Slot, TermSpec, Weight};
use leastwise::solve::Options;

const COUNT: u32 = 33;

fn on_cpu() -> Vec<(&'static str, f64, Shared)> {
    vec![("cpu f64", 1e-9, cpu(Precision::F64).into()), ("cpu f32", 1e-4, cpu(Precision::F32).into())]
}

fn everywhere() -> Vec<(&'static str, f64, Shared)> {
    [on_cpu(), vec![("webgpu", 1e-4, shared_gpu(None))]].into_iter().flatten().collect()
}

/// Instances chase others; the components in `held` keep their bits, and the others arrive.
fn chase(shapes: &[Shape], held: &[u32], sessions: Vec<(&str, f64, Shared)>) {
    let mut random = Random::new(u64::from(held[0]) + 5);
    let mut draw = |make: &mut dyn FnMut(&Shape, &mut Random) -> Vec<f64>| -> Vec<f64> {
        shapes.iter().flat_map(|shape| make(shape, &mut random)).collect()
    };
    let (mut start, mut goal) = (Vec::new(), Vec::new());
    for _ in 0..COUNT {
        let mut off = Vec::new();
        let x = draw(&mut |shape, random| {
            let x = point(shape, random);
            off.extend(moved(shape, &x, &step(shape, 0.7, random)));
            x
        });
        start.extend(x);
        goal.extend(off);
    }
    for (name, bound, mut session) in sessions {
        let problem = session.problem();
        let x = session.table_of(problem, "x", shapes.to_vec(), Reals::F64(&start), true).unwrap();
        session.fix_table(problem, x, None, Some(held)).unwrap();
        let mut tape = Tape::default();
        let [a, b] = [0, 1].map(|source| tape.input(source));
        let residual = tape.op(Sub, &[a, b]);
        let width: u32 = shapes.iter().map(Shape::ambient).sum();
        let spec = TermSpec {
            name: "chase".into(),
            count: COUNT,
            columns: vec![Column { name: "goal".into(), width, shared: false, values: Reals::F64(&goal) }],
            indices: vec![(0..COUNT).collect()],
            slots: vec![Slot { table: x, column: 0 }],
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        session.term(problem, spec).unwrap();
        let before = read(&mut session, problem, x);
        let tiny = Some(1e-14);
        let options = Options {
            cost_tolerance: tiny,
            gradient_tolerance: tiny,
            step_tolerance: tiny,
            max_iterations: Some(100.0),
            ..Options::default()
        };
        solve(&mut session, problem, &options);
        let after = read(&mut session, problem, x);
        for (k, ((before, after), goal)) in before.iter().zip(&after).zip(&goal).enumerate() {
            let component = k as u32 % width;
            if held.contains(&component) {
                assert_eq!(before.to_bits(), after.to_bits(), "{name}, {shapes:?}, {held:?}: component {component}");
            } else {
                assert!((after - goal).abs() < bound, "{name}, {shapes:?}, {held:?}: component {component} is {after}, not {goal}");
            }
        }
    }
}

#[test]
fn the_rotation_of_a_pose_or_its_translation() {
    let record = [Shape::Quaternion, Shape::Euclidean(3)];
    chase(&record, &[0, 1, 2, 3], everywhere());
    chase(&record, &[4, 5, 6], on_cpu());
    chase(&[Shape::Se3], &[0, 1, 2, 3], on_cpu());
    chase(&[Shape::Se3], &[4, 5, 6], everywhere());
    chase(&[Shape::Se2], &[3, 2], on_cpu());
    chase(&[Shape::Sim3], &[4, 5, 6], on_cpu());
    chase(&[Shape::Sim3], &[7], on_cpu());
}

#[test]
fn a_component_of_a_free_part() {
    chase(&[Shape::Quaternion, Shape::Euclidean(3)], &[5], on_cpu());
    chase(&[Shape::Sphere(3), Shape::Subset { width: 3, constant: vec![] }], &[0, 1, 2, 4], on_cpu());
}

#[test]
fn what_moves_with_others_is_refused() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let values = [0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0];
    let x = session.table_of(problem, "x", vec![Shape::Se3], Reals::F64(&values), true).unwrap();
    for (held, component) in [(&[2][..], 2), (&[0, 1, 2], 0), (&[4, 5], 4), (&[6, 0, 1, 2, 3], 6)] {
        let error = session.fix_table(problem, x, None, Some(held)).unwrap_err();
        let message = format!(
            "\"x\": component {component} moves together with others on its manifold, so it can't be fixed without them: name all of them, or leave the components out to fix the whole instance"
        );
        assert_eq!((error.code(), error.to_string()), ("shape", message));
    }
    session.fix_table(problem, x, None, Some(&[])).unwrap();
    session.fix_table(problem, x, None, Some(&[0, 1, 2, 3, 4, 5, 6])).unwrap();
}
