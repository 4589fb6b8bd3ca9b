//! Tensors as data, weights and values of problems: the same bits as arrays, without a trip through the host.

use crate::support::gradients::{backward, of_term};
use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::{BackwardOptions, Meeting, Progress, Session};
use leastwise::solve::Options;

const COUNT: usize = 3000;

/// Names, sessions, and whether tensors of f64 are theirs.
fn sessions() -> [(&'static str, Shared, bool); 4] {
    [
        ("cpu f64", cpu(Precision::F64).into(), true),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into(), true),
        ("cpu f32", cpu(Precision::F32).into(), false),
        ("webgpu", shared_gpu(None), false),
    ]
}

/// Numbers that f32 has.
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| f64::from(random.between(0.5, 2.0) as f32)).collect()
}

/// Points with targets: w/2 ‖gain (x − target)‖² and ½ ‖x − near‖².
struct Scene {
    problem: u32,
    x: u32,
    near: u32,
    term: u32,
}

impl Scene {
    fn new(session: &mut Session, [target, weight, gain, near, start]: [&[f64]; 5]) -> Self {
        let problem = session.problem();
        let x = session.table(problem, "x", 2, Reals::F64(start), true).unwrap();
        let near = session.table(problem, "near", 2, Reals::F64(near), false).unwrap();
        let term = add(session, problem, "drawn", x, [target, weight, gain]);
        let mut tape = Tape::default();
        let [p, q] = [0, 1].map(|source| tape.input(source));
        let outputs = [tape.op(Sub, &[p, q])];
        let indices = vec![(0..COUNT as u32).collect()];
        let slots = vec![Slot { table: x, column: 0 }, Slot { table: near, column: 0 }];
        let spec = TermSpec { indices, slots, tape: &tape.words, outputs: &outputs, ..plain("near", COUNT as u32) };
        session.term(problem, spec).unwrap();
        Self { problem, x, near, term }
    }
}

/// Adds the first term, or another one of its structure.
fn add(session: &mut Session, problem: u32, name: &str, x: u32, [target, weight, gain]: [&[f64]; 3]) -> u32 {
    let mut tape = Tape::default();
    let [p, t, g] = [0, 1, 2].map(|source| tape.input(source));
    let off = tape.op(Sub, &[p, t]);
    let outputs = [tape.op(Mul, &[off, g])];
    let columns = vec![
        Column { name: "target".into(), width: 2, shared: false, values: Reals::F64(target) },
        Column { name: "gain".into(), width: 1, shared: true, values: Reals::F64(gain) },
    ];
    let spec = TermSpec {
        indices: vec![(0..weight.len() as u32).collect()],
        slots: vec![Slot { table: x, column: 0 }],
        columns,
        weight: Weight::Each(Reals::F64(weight)),
        tape: &tape.words,
        outputs: &outputs,
        ..plain(name, weight.len() as u32)
    };
    session.term(problem, spec).unwrap()
}

fn values(session: &mut Session, task: u32) -> Vec<f64> {
    match finish(session, task, |_| {}) {
        Progress::Values(values) => values,
        _ => panic!("values"),
    }
}

fn tensor(session: &mut Session, values: &[f64], shape: &[u32], double: bool) -> u32 {
    session.tensor(Reals::F64(values), shape, double).unwrap()[0]
}

/// Gives a tensor, as the façade does.
fn give(session: &mut Session, problem: u32, what: &[u32], tensor: u32) {
    let copy = session.borrow_tensor(problem, what, tensor).unwrap()[0];
    session.await_tensor(problem, what, copy).unwrap();
    let task = session.evaluate_tensors(&[copy], &[]).unwrap();
    values(session, task);
    session.lend_tensor(problem, what, copy).unwrap();
    session.release_tensors(&[copy]);
}

fn found(session: &mut Session, scene: &Scene) -> Vec<f64> {
    solve(session, scene.problem, &Options { max_iterations: Some(3.0), ..Options::default() });
    read(session, scene.problem, scene.x)
}

#[test]
fn tensors_give_the_bits_of_arrays_and_never_pass_the_host() {
    for (name, mut session, double) in sessions() {
        let [target, near, start, zeros] = [numbers(1, 2 * COUNT), numbers(2, 2 * COUNT), numbers(3, 2 * COUNT), vec![0.0; 2 * COUNT]];
        let (weight, gain) = (numbers(4, COUNT), [1.5]);
        let right = Scene::new(&mut session, [&target, &weight, &gain, &near, &start]);
        let expected = found(&mut session, &right);
        let scene = Scene::new(&mut session, [&zeros, &zeros[..COUNT], &[0.0], &zeros, &zeros]);
        let Scene { problem, x, near: to, term } = scene;
        // Products, so that their elements are the device's alone.
        let two = tensor(&mut session, &[2.0], &[], double);
        let halved = |values: &[f64]| values.iter().map(|value| value / 2.0).collect::<Vec<f64>>();
        let sides: [(&[u32], &[f64], &[u32]); 5] = [
            (&[1, term, 0], &target, &[COUNT as u32, 2]),
            (&[2, term], &weight, &[COUNT as u32]),
            (&[1, term, 1], &gain, &[]),
            (&[0, to], &near, &[2 * COUNT as u32]),
            (&[0, x], &start, &[COUNT as u32, 2]),
        ];
        let mut tensors = Vec::new();
        for (_, values, shape) in sides {
            let half = tensor(&mut session, &halved(values), shape, double);
            let whole = session.tensor_operation("mul", &[half, two], &[], double).unwrap()[0];
            let task = session.evaluate_tensors(&[whole], &[]).unwrap();
            self::values(&mut session, task);
            session.release_tensors(&[half]);
            tensors.push(whole);
        }
        // Laid out before, or when it is solved.
        let before = session.counters();
        for ((what, ..), tensor) in sides.into_iter().zip(&tensors) {
            give(&mut session, problem, what, *tensor);
        }
        let given = session.counters().since(&before);
        // Layout tables, and nothing that grows with the elements.
        assert_eq!((given.readbacks, given.bytes_uploaded < 4096), (0, true), "{name}: {} bytes", given.bytes_uploaded);
        session.release_tensors(&tensors);
        assert!(found(&mut session, &scene) == expected, "{name}: other values than those of arrays");

        // Between solves; and a column that is an array again lets go of its tensor.
        let other = numbers(5, 2 * COUNT);
        let tensor = tensor(&mut session, &other, &[2 * COUNT as u32], double);
        give(&mut session, problem, &[1, term, 0], tensor);
        session.set_column(right.problem, right.term, 0, Reals::F64(&other)).unwrap();
        let expected = found(&mut session, &right);
        assert!(found(&mut session, &scene) == expected, "{name}: after it was set");
        let costs = session.term_costs(problem, term).unwrap();
        let costs = self::values(&mut session, costs);
        session.set_column(problem, term, 0, Reals::F64(&other)).unwrap();
        let again = session.term_costs(problem, term).unwrap();
        assert!(costs == self::values(&mut session, again), "{name}: costs of an array");
        // While something is on its way, lenders wait.
        session.release_tensors(&[tensor, two]);
        let live = |session: &mut Session| {
            session.trim_tensors().unwrap();
            session.tensor_statistics().pool.live
        };
        let lent = live(&mut session);
        assert!(lent > 0, "{name}: the weight and the gain are on loan");
        let reading = session.term_costs(problem, term).unwrap();
        session.set_weight(problem, term, Weight::Each(Reals::F64(&weight))).unwrap();
        session.set_column(problem, term, 1, Reals::F64(&gain)).unwrap();
        assert_eq!(live(&mut session), lent, "{name}: lenders of a problem that is read");
        self::values(&mut session, reading);
        assert_eq!(live(&mut session), 0, "{name}: with nothing on loan, the problem has no copies");
        session.free_problem(problem);
        session.free_problem(right.problem);
    }
}

#[test]
fn batches_that_are_made_anew_are_filled_from_tensors() {
    for (name, mut session, double) in sessions() {
        let [target, near, start, zeros] = [numbers(1, 2 * COUNT), numbers(2, 2 * COUNT), numbers(3, 2 * COUNT), vec![0.0; 2 * COUNT]];
        let (weight, gain) = (numbers(4, COUNT), [1.5]);
        let right = Scene::new(&mut session, [&target, &weight, &gain, &near, &start]);
        let scene = Scene::new(&mut session, [&zeros, &weight, &[0.0], &near, &start]);
        let all = tensor(&mut session, &target, &[COUNT as u32, 2], double);
        let gains = tensor(&mut session, &gain, &[1], double);
        give(&mut session, scene.problem, &[1, scene.term, 0], all);
        give(&mut session, scene.problem, &[1, scene.term, 1], gains);
        session.release_tensors(&[all, gains]);
        assert!(found(&mut session, &scene) == found(&mut session, &right), "{name}: alone");
        // A term of this structure shares its batch: then nothing is shared by all instances any more.
        let mine = [&target[..100], &weight[..50], &[0.5]];
        let others = [&right, &scene].map(|scene| add(&mut session, scene.problem, "other", scene.x, mine));
        assert!(found(&mut session, &scene) == found(&mut session, &right), "{name}: with another");
        for (scene, other) in [&right, &scene].into_iter().zip(others) {
            session.free_term(scene.problem, other).unwrap();
        }
        assert!(found(&mut session, &scene) == found(&mut session, &right), "{name}: alone again");

        // What is computed on the host has to know it.
        let lenders = session.tensor_lenders(scene.problem).unwrap();
        assert_eq!(lenders.len(), 2, "{name}");
        let numbers: Vec<u32> = lenders.iter().map(|(lender, _)| *lender).collect();
        let task = session.evaluate_tensors(&[], &numbers).unwrap();
        let elements = values(&mut session, task);
        assert_eq!(session.learn_tensors(scene.problem, &lenders, &elements[1..]).unwrap_err().code(), "internal", "{name}: too few");
        session.learn_tensors(scene.problem, &lenders, &elements).unwrap();
        assert!(session.tensor_lenders(scene.problem).unwrap().is_empty(), "{name}");
        let cotangent: Vec<f64> = (0..2 * COUNT).map(|k| (k % 7) as f64 - 3.0).collect();
        let [known, expected] = [&scene, &right].map(|scene| {
            let gradients = backward(&mut session, scene.problem, &[(scene.x, &cotangent)], false, BackwardOptions::default()).unwrap();
            [of_term(&gradients, scene.term, Some(0)), of_term(&gradients, scene.term, Some(1)), of_term(&gradients, scene.term, None)]
        });
        assert!(known == expected, "{name}: gradients");
        session.free_problem(scene.problem);
        session.free_problem(right.problem);
        session.trim_tensors().unwrap();
    }
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    for (name, mut session, double) in sessions() {
        let zeros = vec![0.0; 2 * COUNT];
        let scene = Scene::new(&mut session, [&zeros, &zeros[..COUNT], &[1.0], &zeros, &zeros]);
        let short = tensor(&mut session, &zeros[..10], &[5, 2], double);
        let mut refused = |what: &[u32], tensor: u32| session.borrow_tensor(scene.problem, what, tensor).unwrap_err();
        let error = refused(&[1, scene.term, 0], short);
        assert_eq!(error.code(), "shape", "{name}");
        assert!(error.to_string().contains("the tensor is [5, 2], but [3000, 2] is needed (3000 instances of 2)"), "{error}");
        assert_eq!(refused(&[1, scene.term, 1], short).code(), "shape", "{name}");
        assert_eq!(refused(&[2, scene.term], short).code(), "shape", "{name}");
        assert_eq!(refused(&[0, scene.x], short).code(), "shape", "{name}");
        assert_eq!(refused(&[1, scene.term, 2], short).code(), "invalid-option", "{name}");
        session.release_tensors(&[short]);
        assert_eq!(session.borrow_tensor(scene.problem, &[0, scene.x], short).unwrap_err().code(), "disposed", "{name}");
        session.free_problem(scene.problem);
    }
    // An engine in f32 takes no tensor of f64; one in f64 on the CPU takes those of f32, which are exact there.
    let start = [1.0; 2 * COUNT];
    for (precision, double, code) in [(Precision::F32, true, Some("dtype")), (Precision::F64, false, None)] {
        let mut session = cpu(precision);
        let scene = Scene::new(&mut session, [&start, &start[..COUNT], &[1.0], &start, &start]);
        let given = numbers(6, COUNT);
        let tensor = tensor(&mut session, &given, &[COUNT as u32], double);
        let borrowed = session.borrow_tensor(scene.problem, &[2, scene.term], tensor);
        assert_eq!(borrowed.err().map(|error| error.code()), code);
        if code.is_none() {
            give(&mut session, scene.problem, &[2, scene.term], tensor);
            let right = Scene::new(&mut session, [&start, &given, &[1.0], &start, &start]);
            assert!(found(&mut session, &scene) == found(&mut session, &right));
        }
    }
}

#[test]
fn a_refused_write_leaves_the_tensor_that_is_on_its_way() {
    for (name, mut session, double) in sessions() {
        let zeros = vec![0.0; 2 * COUNT];
        let scene = Scene::new(&mut session, [&zeros, &zeros[..COUNT], &[1.0], &zeros, &zeros]);
        let Scene { problem, x, .. } = scene;
        let given = numbers(7, 2 * COUNT);
        let tensor = tensor(&mut session, &given, &[COUNT as u32, 2], double);
        let copy = session.borrow_tensor(problem, &[0, x], tensor).unwrap()[0];
        session.await_tensor(problem, &[0, x], copy).unwrap();
        assert_eq!(session.write_table(problem, x, Reals::F64(&[1.0]), None).unwrap_err().code(), "data-length", "{name}");
        let part = session.write_table(problem, x, Reals::F64(&[1.0, 2.0]), Some(&[0])).unwrap_err();
        assert!(part.to_string().contains("read() it first"), "{name}: {part}");
        let task = session.evaluate_tensors(&[copy], &[]).unwrap();
        values(&mut session, task);
        session.lend_tensor(problem, &[0, x], copy).unwrap();
        session.release_tensors(&[copy, tensor]);
        assert!(read(&mut session, problem, x) == given, "{name}");
        session.free_problem(problem);
        session.trim_tensors().unwrap();
    }
}

#[test]
fn what_could_not_be_lent_is_awaited_still() {
    for (name, mut session, double) in sessions() {
        let zeros = vec![0.0; 2 * COUNT];
        let scene = Scene::new(&mut session, [&zeros, &zeros[..COUNT], &[1.0], &zeros, &zeros]);
        let Scene { problem, x, term, .. } = scene;
        let recipients: [(&[u32], &[u32]); 3] =
            [(&[0, x], &[COUNT as u32, 2]), (&[1, term, 0], &[COUNT as u32, 2]), (&[2, term], &[COUNT as u32])];
        for (what, shape) in recipients {
            let given = numbers(7, shape.iter().product::<u32>() as usize);
            let tensor = tensor(&mut session, &given, shape, double);
            let copy = session.borrow_tensor(problem, what, tensor).unwrap()[0];
            let awaits = |session: &mut Session| session.meet(Meeting::Awaits, problem, &[what, &[copy]].concat(), &[]).unwrap()[0];
            session.await_tensor(problem, what, copy).unwrap();
            // It has no elements yet, as where its device could not give them.
            assert_eq!(session.lend_tensor(problem, what, copy).unwrap_err().code(), "internal", "{name}");
            assert_eq!(awaits(&mut session), 1, "{name}");
            let task = session.evaluate_tensors(&[copy], &[]).unwrap();
            values(&mut session, task);
            session.lend_tensor(problem, what, copy).unwrap();
            assert_eq!(awaits(&mut session), 0, "{name}");
            session.release_tensors(&[copy, tensor]);
        }
        assert!(read(&mut session, problem, x) == numbers(7, 2 * COUNT), "{name}");
        session.free_problem(problem);
        session.trim_tensors().unwrap();
    }
}
