//! Normals of a mesh's vertices on the device: a table that follows the vertices, steps that gather it, and what is refused.

use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::Session;
use leastwise::solve::Options;

/// A pyramid over a square, whose last vertex is in no face.
const POSITIONS: [f64; 18] = [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 3.0, 5.0, 5.0, 5.0];
const FACES: [[u32; 3]; 4] = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]];

fn around() -> Vec<u32> {
    let count = POSITIONS.len() / 3;
    let pairs = (0..count as u32).map(|vertex| {
        let turned = FACES.iter().flat_map(|&[a, b, c]| [[a, b, c], [b, c, a], [c, a, b]]);
        turned.filter(|[v, ..]| *v == vertex).flat_map(|[_, q, r]| [q, r]).collect::<Vec<u32>>()
    });
    let pairs: Vec<Vec<u32>> = pairs.collect();
    let mut words = vec![count as u32 + 1];
    pairs.iter().for_each(|pairs| words.push(words[words.len() - 1] + pairs.len() as u32));
    words.extend(pairs.iter().flatten());
    words
}

/// The same by plain arithmetic.
fn expected(points: &[f64]) -> Vec<f64> {
    let mut normals = vec![0.0; points.len()];
    let at = |vertex: u32| -> [f64; 3] { std::array::from_fn(|axis| points[3 * vertex as usize + axis]) };
    for face in FACES {
        let [p, q, r] = face.map(at);
        let [u, v]: [[f64; 3]; 2] = [q, r].map(|corner| std::array::from_fn(|axis| corner[axis] - p[axis]));
        let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        face.iter().for_each(|vertex| (0..3).for_each(|axis| normals[3 * *vertex as usize + axis] += cross[axis]));
    }
    for normal in normals.chunks_exact_mut(3) {
        let length = normal.iter().map(|one| one * one).sum::<f64>().sqrt();
        normal.iter_mut().for_each(|one| *one /= if length > 0.0 { length } else { 1.0 });
    }
    normals
}

fn tables(session: &mut Session) -> (u32, u32, u32) {
    let problem = session.problem();
    let x = session.table(problem, "x", 3, Reals::F64(&POSITIONS), true).unwrap();
    let normal = session.table(problem, "normal", 3, Reals::F64(&[0.0; 18]), false).unwrap();
    (problem, x, normal)
}

/// Updates, as often as it takes until the kernel is there.
fn update(session: &mut Session, problem: u32, table: u32) {
    for _ in 0..1000 {
        if session.update_normals(problem, table).unwrap() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the kernel is never compiled");
}

#[test]
fn normals_follow_the_vertices() {
    for (name, exactness, mut session) in
        [("cpu f64", 1e-15, cpu(Precision::F64).into()), ("cpu f32", 1e-6, cpu(Precision::F32).into()), ("webgpu", 1e-6, shared_gpu(None))]
            as [(&str, f64, Shared); 3]
    {
        let (problem, x, normal) = tables(&mut session);
        session.normals(problem, normal, x, &around()).unwrap();
        let close = |found: Vec<f64>, points: &[f64], what: &str| {
            for (found, expected) in found.iter().zip(expected(points)) {
                assert!((found - expected).abs() <= 4.0 * exactness, "{name}, {what}: {found} and {expected}");
            }
        };
        update(&mut session, problem, normal);
        close(read(&mut session, problem, normal), &POSITIONS, "at first");
        // A write is seen, and so is a combination of tables.
        let moved = POSITIONS.map(|value| 0.25 * value * value + 1.0);
        session.write_table(problem, x, Reals::F64(&moved), None).unwrap();
        update(&mut session, problem, normal);
        close(read(&mut session, problem, normal), &moved, "written");
        session.combine_tables(problem, x, &[x], &[-2.0]).unwrap();
        update(&mut session, problem, normal);
        close(read(&mut session, problem, normal), &moved.map(|value| -2.0 * value), "combined");
        session.free_problem(problem);
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}: nothing stays behind");
    }
}

#[test]
fn steps_see_them_and_only_where_they_are_gathered_are_they_an_edit() {
    for gathered in [true, false] {
        let mut session = cpu(Precision::F64);
        let (problem, x, normal) = tables(&mut session);
        let place = session.table(problem, "place", 3, Reals::F64(&[0.5; 18]), false).unwrap();
        session.normals(problem, normal, x, &around()).unwrap();
        // Vertices are drawn to their normals, or to a place.
        let mut tape = Tape::default();
        let [p, to] = [0, 1].map(|source| tape.input(source));
        let outputs = [tape.op(Sub, &[p, to])];
        let table = if gathered { normal } else { place };
        let spec = TermSpec {
            name: "drawn".into(),
            count: 6,
            indices: vec![(0..6).collect()],
            slots: vec![Slot { table: x, column: 0 }, Slot { table, column: 0 }],
            columns: Vec::<Column>::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap();
        let solver = session.solver(problem, &Options::default()).unwrap();
        update(&mut session, problem, normal);
        for _ in 0..12 {
            step(&mut session, solver);
        }
        let target = if gathered { expected(&POSITIONS) } else { vec![0.5; 18] };
        let found = read(&mut session, problem, x);
        assert!(found.iter().zip(&target).all(|(found, target)| (found - target).abs() < 1e-6), "{found:?}");
        update(&mut session, problem, normal);
        let next = read(&mut session, problem, normal);
        let there = expected(&found);
        assert!(next.iter().zip(&there).all(|(found, expected)| (found - expected).abs() < 1e-6), "{next:?}");
    }
}

#[test]
fn what_are_no_normals_is_refused() {
    let mut session = cpu(Precision::F64);
    let (problem, x, normal) = tables(&mut session);
    let flat = session.table(problem, "flat", 2, Reals::F64(&[0.0; 12]), false).unwrap();
    let mut refused = |table: u32, of: u32, words: &[u32]| match session.normals(problem, table, of, words) {
        Err(Error::Shape { message, .. }) => message,
        other => panic!("{other:?}"),
    };
    assert!(refused(x, normal, &around()).contains("normals are constants of 3 scalars"));
    assert!(refused(normal, flat, &around()).contains("as many as \"flat\" has"));
    assert!(refused(normal, x, &around()[..3]).contains("begin at 3 places, but 7"));
    let words = around();
    assert!(refused(normal, x, &words[..words.len() - 1]).contains("do not begin and end"));
    let mut far = words.clone();
    *far.last_mut().unwrap() = 6;
    assert!(refused(normal, x, &far).contains("the vertex 6, but there are 6"));
    session.normals(problem, normal, x, &words).unwrap();
    let Err(Error::Shape { message, .. }) = session.normals(problem, normal, x, &words) else { panic!("twice") };
    assert!(message.contains("already"));
    assert!(matches!(session.update_normals(problem, flat), Err(Error::Internal(_))));
}
