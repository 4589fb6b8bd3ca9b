//! Linear combinations of tables on the device, resets of solvers, and what edits leave of the damping.

use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Shape, Slot, TermSpec, Weight};
use leastwise::session::{Progress, Session};
use leastwise::solve::{Iteration, Options};

fn sessions() -> [(&'static str, f64, Shared); 3] {
    [("cpu f64", 1e-15, cpu(Precision::F64).into()), ("cpu f32", 1e-6, cpu(Precision::F32).into()), ("webgpu", 1e-6, shared_gpu(None))]
}

const COUNT: usize = 50;

fn close(what: &str, found: &[f64], expected: impl Iterator<Item = f64>, bound: f64) {
    let expected: Vec<f64> = expected.collect();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 8.0 * bound * expected.abs().max(1.0), "{what}: {found} and {expected}");
    }
}

/// Points that are drawn to places of a table of constants, by ‖x‖(x − place).
struct Scene {
    problem: u32,
    x: u32,
    last: u32,
    ahead: u32,
    started: Vec<f64>,
}

impl Scene {
    fn new(session: &mut Session) -> Self {
        let problem = session.problem();
        let mut random = Random::new(5);
        let mut values = || (0..2 * COUNT).map(|_| f64::from(random.between(1.0, 2.0) as f32)).collect::<Vec<f64>>();
        let (started, before) = (values(), values());
        let x = session.table(problem, "x", 2, Reals::F64(&started), true).unwrap();
        let last = session.table(problem, "last", 2, Reals::F64(&before), false).unwrap();
        let ahead = session.table(problem, "ahead", 2, Reals::F64(&before), false).unwrap();
        let mut tape = Tape::default();
        let [p, place] = [0, 1].map(|source| tape.input(source));
        let (off, size) = (tape.op(Sub, &[p, place]), tape.op(Norm, &[p]));
        let outputs = [tape.op(Mul, &[off, size])];
        let spec = TermSpec {
            name: "drawn".into(),
            count: COUNT as u32,
            indices: vec![(0..COUNT as u32).collect()],
            slots: vec![Slot { table: x, column: 0 }, Slot { table: ahead, column: 0 }],
            columns: Vec::<Column>::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap();
        Self { problem, x, last, ahead, started }
    }

    fn values(&self, session: &mut Session) -> [Vec<f64>; 3] {
        [self.x, self.last, self.ahead].map(|table| read(session, self.problem, table))
    }
}

#[test]
fn tables_are_combined_in_the_order_of_the_calls() {
    for (name, exactness, mut session) in sessions() {
        let scene = Scene::new(&mut session);
        let Scene { problem, x, last, ahead, .. } = scene;
        let [p, q, _] = scene.values(&mut session);
        session.combine_tables(problem, ahead, &[x, last], &[2.0, -1.0]).unwrap();
        session.combine_tables(problem, last, &[x], &[1.0]).unwrap();
        session.combine_tables(problem, x, &[x, last, ahead], &[0.5, 0.25, -1.0]).unwrap();
        let [of_x, of_last, of_ahead] = scene.values(&mut session);
        assert_eq!(of_last, p, "{name}: a copy is one to the bit");
        close(name, &of_ahead, p.iter().zip(&q).map(|(p, q)| 2.0 * p - q), exactness);
        close(name, &of_x, p.iter().zip(&q).map(|(p, q)| 0.75 * p - (2.0 * p - q)), 4.0 * exactness);
        // Writes and combinations take their turns.
        session.write_table(problem, last, Reals::F64(&vec![3.0; 2 * COUNT]), None).unwrap();
        session.combine_tables(problem, ahead, &[last], &[2.0]).unwrap();
        session.write_table(problem, last, Reals::F64(&vec![4.0; 2 * COUNT]), None).unwrap();
        session.combine_tables(problem, x, &[last], &[-1.0]).unwrap();
        let [of_x, of_last, of_ahead] = scene.values(&mut session);
        assert!(of_ahead.iter().all(|value| *value == 6.0) && of_last.iter().all(|value| *value == 4.0), "{name}");
        assert!(of_x.iter().all(|value| *value == -4.0), "{name}");
        session.free_problem(problem);
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}: nothing stays behind");
    }
}

#[test]
fn steps_see_combined_constants() {
    for (name, exactness, mut session) in sessions() {
        let scene = Scene::new(&mut session);
        let Scene { problem, x, last, ahead, .. } = scene;
        let options = Options { linear: Some("pcg".into()), ..Options::default() };
        let solver = session.solver(problem, &options).unwrap();
        let [_, q, _] = scene.values(&mut session);
        step(&mut session, solver);
        session.combine_tables(problem, ahead, &[last], &[0.5]).unwrap();
        if session.device().is_queue() {
            // The kernel of combinations is compiled before live steps name it.
            let task = session.report(solver).unwrap();
            finish(&mut session, task, |_| {});
        }
        session.advance(solver, 30, f64::INFINITY).unwrap();
        let [of_x, ..] = scene.values(&mut session);
        close(name, &of_x, q.iter().map(|q| 0.5 * q), 1e3 * exactness);
        let _ = x;
    }
}

#[test]
fn checkpoints_have_combined_values() {
    let mut session = cpu(Precision::F64);
    let scene = Scene::new(&mut session);
    let solver = session.solver(scene.problem, &Options::default()).unwrap();
    let frame = |session: &mut Session, scene: &Scene, solver: u32| {
        session.combine_tables(scene.problem, scene.ahead, &[scene.x, scene.last], &[1.5, -0.5]).unwrap();
        session.combine_tables(scene.problem, scene.last, &[scene.x], &[1.0]).unwrap();
        session.advance(solver, 2, f64::INFINITY).unwrap();
    };
    (0..3).for_each(|_| frame(&mut session, &scene, solver));
    let task = session.save(solver).unwrap();
    let Progress::Answer(leastwise::session::Answer::Bytes(file)) = finish(&mut session, task, |_| {}) else { panic!("no file") };
    let mut other = cpu(Precision::F64);
    let copy = Scene::new(&mut other);
    let again = other.solver(copy.problem, &Options::default()).unwrap();
    other.restore(again, &file).unwrap();
    (0..3).for_each(|_| frame(&mut session, &scene, solver));
    (0..3).for_each(|_| frame(&mut other, &copy, again));
    assert_eq!(scene.values(&mut session), copy.values(&mut other), "to the bit");
}

#[test]
fn what_cannot_be_combined_is_refused() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 2, Reals::F64(&[1.0, 2.0, 3.0, 4.0]), true).unwrap();
    let few = session.table(problem, "few", 2, Reals::F64(&[1.0, 2.0]), false).unwrap();
    let [p, q] = [0.0, 1.0].map(|first| {
        let values = [first, 0.0, 0.0, 1.0 - first];
        session.table_of(problem, "turn", vec![Shape::Quaternion], Reals::F64(&values), true).unwrap()
    });
    let mut refused = |to: u32, from: &[u32], factors: &[f64]| match session.combine_tables(problem, to, from, factors) {
        Err(Error::Shape { message, .. }) => message,
        other => panic!("{other:?}"),
    };
    assert!(refused(x, &[few], &[1.0]).contains("\"few\", which has 1 of 2"));
    assert!(refused(x, &[], &[]).contains("1 to 16 tables"));
    assert!(refused(x, &[x], &[f64::NAN]).contains("a factor is NaN"));
    assert!(refused(p, &[q], &[2.0]).contains("a manifold"));
    session.combine_tables(problem, p, &[q], &[1.0]).unwrap();
    assert_eq!(read(&mut session, problem, p), [1.0, 0.0, 0.0, 0.0]);
}

fn steps(session: &mut Session, solver: u32, count: usize) -> Vec<Iteration> {
    (0..count).map(|_| step(session, solver)).collect()
}

#[test]
fn a_solver_that_was_reset_makes_the_steps_of_a_new_one() {
    for (name, _, mut session) in sessions() {
        for method in ["lm", "newton", "dogleg", "lbfgs"] {
            let scene = Scene::new(&mut session);
            let options = Options { method: Some(method.into()), ..Options::default() };
            let solver = session.solver(scene.problem, &options).unwrap();
            let numbers = |steps: &[Iteration]| steps.iter().map(|step| (step.cost, step.damping, step.radius)).collect::<Vec<_>>();
            let first = numbers(&steps(&mut session, solver, 3));
            session.write_table(scene.problem, scene.x, Reals::F64(&scene.started), None).unwrap();
            let edited = numbers(&steps(&mut session, solver, 3));
            session.write_table(scene.problem, scene.x, Reals::F64(&scene.started), None).unwrap();
            session.reset_solver(solver).unwrap();
            assert_eq!(numbers(&steps(&mut session, solver, 3)), first, "{name}, {method}");
            if ["lm", "newton"].contains(&method) {
                assert_ne!(edited, first, "{name}, {method}: an edit alone keeps what was learnt");
            }
            session.free_problem(scene.problem);
        }
    }
}
