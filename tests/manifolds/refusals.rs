//! What is no shape, and what lies on none: refused, with the instance, before anything is solved.

use crate::support::{Random, Tape, read};
use leastwise::device::Device;
use leastwise::device::Precision;
use leastwise::device::cpu::CpuDevice;
use leastwise::expr::Opcode::{Add, Component, Exp, Mul, Norm};
use leastwise::problem::{Reals, Shape};
use leastwise::session::{Session, wire};

fn session() -> Session {
    Session::new(Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits())))
}

/// What a table of these says, and where.
fn refused(shapes: Vec<Shape>, values: &[f64]) -> (String, Option<u32>) {
    let mut session = session();
    let problem = session.problem();
    let error = session.table_of(problem, "x", shapes, Reals::F64(values), true).unwrap_err();
    assert_eq!(error.code(), "shape");
    (error.to_string(), error.instance())
}

#[test]
fn shapes_that_no_instance_could_have() {
    let cases = [
        (vec![Shape::Sphere(1)], "\"x\": sphere(1) must have 2 components or more, not 1"),
        (vec![Shape::Euclidean(3), Shape::Euclidean(0)], "\"x\": an instance has 1 to 1024 scalars, not 0"),
        (vec![Shape::Euclidean(1000), Shape::Sim3, Shape::Sphere(17)], "\"x\": an instance has 1 to 1024 scalars, not 1025"),
        (vec![], "\"x\": an instance has 1 to 1024 scalars, not 0"),
        (vec![Shape::Subset { width: 3, constant: vec![3] }], "\"x\": subset(3, …) has 3 components (0 to 2), so 3 can't be constant"),
        (
            vec![Shape::Subset { width: 3, constant: vec![1, 0] }],
            "\"x\": subset(3, …) must name its constant components once each, in ascending order",
        ),
        (
            vec![Shape::Subset { width: 1, constant: vec![0] }],
            "\"x\": subset(1, …) has only constant components: use constants for what never moves",
        ),
    ];
    for (shapes, message) in cases {
        assert_eq!(refused(shapes, &[0.0; 9]), (message.to_string(), None));
    }
}

#[test]
fn values_that_lie_on_no_manifold() {
    let unit = |what: &str, instance: u32, length: &str| {
        (
            format!(
                "\"x\": instance {instance}: its {what} has a length of {length}, but must be of unit length (within 0.001): divide it by its length"
            ),
            Some(instance),
        )
    };
    assert_eq!(refused(vec![Shape::Quaternion], &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]), unit("quaternion", 1, "0"));
    assert_eq!(refused(vec![Shape::Euclidean(1), Shape::Sphere(2)], &[7.0, 0.0, 2.0]), unit("vector on the sphere", 0, "2"));
    assert_eq!(refused(vec![Shape::So2], &[1.0, 0.0, 0.0, 1.0, 3.0, 4.0]), unit("(cos, sin)", 2, "5"));
    let scale = refused(vec![Shape::Sim3], &[0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 0.0]);
    assert_eq!(scale, ("\"x\": instance 0: its scale is 0, but must be positive".to_string(), Some(0)));
    // Writing later is no way around.
    let mut session = session();
    let problem = session.problem();
    let x = session.table_of(problem, "x", vec![Shape::So2], Reals::F64(&[1.0, 0.0, 0.0, 1.0]), true).unwrap();
    let error = session.write_table(problem, x, Reals::F64(&[0.0, 0.5]), Some(&[1])).unwrap_err();
    assert_eq!((error.code(), error.instance()), ("shape", Some(1)));
}

#[test]
fn values_that_are_given_back_as_read_stay_to_the_bit() {
    let mut random = Random::new(7);
    for (shape, unit) in
        [(Shape::So2, 0..2), (Shape::Quaternion, 0..4), (Shape::Sphere(3), 0..3), (Shape::Sphere(300), 0..300), (Shape::Se3, 0..4)]
    {
        let width = if matches!(shape, Shape::Se3) { 7 } else { unit.len() };
        let mut values: Vec<f64> = (0..100 * width).map(|_| random.between(-1.0, 1.0)).collect();
        for x in values.chunks_mut(width) {
            let length = x[unit.clone()].iter().map(|x| x * x).sum::<f64>().sqrt();
            // Not quite of unit length, as numbers of f32 are not.
            x[unit.clone()].iter_mut().for_each(|x| *x = f64::from((*x / length) as f32));
        }
        let mut session = session();
        let problem = session.problem();
        let x = session.table_of(problem, "x", vec![shape.clone()], Reals::F64(&values), true).unwrap();
        let first = read(&mut session, problem, x);
        assert_ne!(first, values, "{shape:?}");
        session.write_table(problem, x, Reals::F64(&first), None).unwrap();
        assert_eq!(read(&mut session, problem, x), first, "{shape:?}");
    }
}

/// A retraction of one's own, with `ambient` scalars of which `outputs` come back.
fn traced(ambient: u32, tangent: u32, write: impl Fn(&mut Tape, u32, u32) -> Vec<u32>) -> Vec<Shape> {
    let mut tape = Tape::default();
    let [x, d] = [0, 1].map(|source| tape.input(source));
    let outputs = write(&mut tape, x, d);
    vec![Shape::Traced { ambient, tangent, tape: tape.words.clone(), outputs }]
}

#[test]
fn retractions_that_are_none() {
    let nothing = traced(2, 2, |tape, x, d| {
        let first = tape.op(Component, &[d, 0]);
        let moved: Vec<u32> = [0, 1].map(|k| tape.op(Component, &[x, k])).into_iter().map(|x| tape.op(Add, &[x, first])).collect();
        moved
    });
    assert_eq!(refused(nothing, &[1.0, 2.0]).0, "\"x\": component 1 of a step moves nothing: leave it out of the tangent");
    let short = traced(3, 1, |tape, x, d| vec![tape.op(Component, &[x, 0]), d]);
    assert_eq!(refused(short, &[1.0, 2.0, 3.0]).0, "\"x\": the retraction returns 2 scalars, but an instance has 3");
    let astray = traced(1, 1, |tape, x, d| {
        let twice = tape.op(Add, &[x, x]);
        vec![tape.op(Add, &[twice, d])]
    });
    let message = "\"x\": instance 1: a step of 0 moves component 0 from 2 to 4: the retraction must give back x where d is 0, and values must lie on the manifold (within 0.001)";
    assert_eq!(refused(astray, &[0.0, 2.0]), (message.to_string(), Some(1)));
    let wide = traced(1, 2, |tape, x, d| {
        let length = tape.op(Norm, &[d]);
        vec![tape.op(Add, &[x, length])]
    });
    assert_eq!(refused(wide, &[1.0]).0, "\"x\": manifold(…) has 1 scalars, so it has 1 to 1 degrees of freedom, not 2");
}

#[test]
fn shapes_cross_in_words() {
    let grown = traced(1, 1, |tape, x, d| {
        let factor = tape.op(Exp, &[d]);
        vec![tape.op(Mul, &[x, factor])]
    });
    let Shape::Traced { tape, outputs, .. } = &grown[0] else { panic!("{grown:?}") };
    let mut words = vec![0, 3, 1, 4, 2, 0, 3, 2, 5, 3, 4, 5, 6, 7, 8, 1, 1, tape.len() as u32];
    words.extend(tape);
    words.extend([&[outputs.len() as u32], &outputs[..]].concat());
    let mut shapes = vec![
        Shape::Euclidean(3),
        Shape::Subset { width: 4, constant: vec![0, 3] },
        Shape::Sphere(5),
        Shape::Quaternion,
        Shape::So2,
        Shape::Se2,
        Shape::Se3,
        Shape::Sim3,
    ];
    shapes.extend(grown);
    assert_eq!(wire::shapes(&words).unwrap(), shapes);
    // Cut anywhere it is refused, or other shapes; nothing panics.
    for end in 0..words.len() {
        if let Ok(shapes) = wire::shapes(&words[..end]) {
            assert!(shapes.len() < 9);
        }
    }
    for words in [&[9][..], &[u32::MAX], &[1, 3, u32::MAX], &[8, 1, 1, 2, 0], &[2]] {
        assert_eq!(wire::shapes(words).unwrap_err().code(), "invalid-option", "{words:?}");
    }
}
