//! Normals of vertices on the device.

use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::problem::{Reals, Shape};
use leastwise::session::{Progress, Session};

fn sessions() -> [(&'static str, f64, Shared); 3] {
    [("cpu f64", 1e-14, cpu(Precision::F64).into()), ("cpu f32", 2e-6, cpu(Precision::F32).into()), ("webgpu", 2e-6, shared_gpu(None))]
}

/// Normals as a task computes and reads them.
fn computed(session: &mut Session, normals: u32, read: bool) -> Vec<f64> {
    let task = session.compute_normals(normals, read).unwrap();
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

/// The sum of the cross products of the faces, face by face, divided by its length.
fn expected(positions: &[f64], triangles: &[u32]) -> Vec<f64> {
    let at = |vertex: u32| -> [f64; 3] { std::array::from_fn(|k| positions[3 * vertex as usize + k]) };
    let mut normals = vec![0.0; positions.len()];
    for face in triangles.chunks(3) {
        let [p, q, r] = [0, 1, 2].map(|k| at(face[k]));
        let [u, v]: [[f64; 3]; 2] = [q, r].map(|other| std::array::from_fn(|k| other[k] - p[k]));
        for vertex in face {
            for (k, [i, j]) in [[1, 2], [2, 0], [0, 1]].into_iter().enumerate() {
                normals[3 * *vertex as usize + k] += u[i] * v[j] - u[j] * v[i];
            }
        }
    }
    for normal in normals.chunks_mut(3) {
        let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
        normal.iter_mut().for_each(|x| *x /= if length > 0.0 { length } else { 1.0 });
    }
    normals
}

fn close(what: &str, found: &[f64], expected: &[f64], bound: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= bound, "{what}: component {i} is {found}, not {expected}");
    }
}

/// A sphere that is no longer round, in f32; behind another table, so that it does not begin the arena.
fn dented(session: &mut Session) -> (u32, u32, Mesh) {
    let mut mesh = Mesh::icosphere(2);
    let mut random = Random::new(3);
    mesh.positions.iter_mut().for_each(|x| *x = f64::from((*x * random.between(0.8, 1.2)) as f32));
    let problem = session.problem();
    session.table(problem, "first", 1, Reals::F64(&[1.0; 5]), true).unwrap();
    let x = session.table(problem, "x", 3, Reals::F64(&mesh.positions), true).unwrap();
    (problem, x, mesh)
}

#[test]
fn normals_are_sums_of_cross_products() {
    for (name, bound, mut session) in sessions() {
        let (problem, x, mesh) = dented(&mut session);
        let normals = session.normals(problem, x, &mesh.triangles).unwrap();
        let first = computed(&mut session, normals, true);
        close(name, &first, &expected(&mesh.positions, &mesh.triangles), bound);
        assert_eq!(computed(&mut session, normals, true), first, "{name}: the same bits");
        // Values that were written come first.
        let flipped: Vec<f64> = mesh.positions.iter().enumerate().map(|(i, x)| if i % 3 == 1 { -2.0 * x } else { *x }).collect();
        session.write_table(problem, x, Reals::F64(&flipped), None).unwrap();
        close(name, &computed(&mut session, normals, true), &expected(&flipped, &mesh.triangles), bound);
        session.free_problem(problem);
        assert!(matches!(session.update_normals(normals), Err(Error::Disposed("normals"))), "{name}: they are gone with their problem");
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}: nothing stays behind");
    }
}

#[test]
fn updates_read_nothing_back() {
    for (name, _, mut session) in sessions() {
        let (problem, x, mesh) = dented(&mut session);
        let normals = session.normals(problem, x, &mesh.triangles).unwrap();
        computed(&mut session, normals, false);
        let before = session.device().counters();
        for frame in 1..=5 {
            let grown: Vec<f64> =
                mesh.positions.iter().enumerate().map(|(i, x)| if i % 3 == 0 { x * f64::from(frame) } else { *x }).collect();
            session.write_table(problem, x, Reals::F64(&grown), None).unwrap();
            session.update_normals(normals).unwrap();
        }
        let after = session.device().counters();
        assert_eq!((after.readbacks, after.dispatches), (before.readbacks, before.dispatches + 5), "{name}");
        assert_eq!((after.kernels_created, after.buffers_created), (before.kernels_created, before.buffers_created), "{name}");
        let updated = session.view_normals(normals).unwrap();
        let mut recording = leastwise::device::Recording::new();
        recording.push(leastwise::device::Command::Read { slice: updated });
        let found = session.device_mut().run(recording).unwrap();
        assert_eq!(found, computed(&mut session, normals, true), "{name}: an update is the same as a task");
        session.free_normals(normals);
        session.free_normals(normals);
        session.free_problem(problem);
    }
}

#[test]
fn tables_that_move_in_the_arena_are_found() {
    for (name, bound, mut session) in sessions() {
        let (problem, x, mesh) = dented(&mut session);
        let normals = session.normals(problem, x, &mesh.triangles).unwrap();
        let first = computed(&mut session, normals, true);
        session.table(problem, "later", 4, Reals::F64(&[1.0; 4000]), true).unwrap();
        session.update_normals(normals).unwrap();
        assert_eq!(computed(&mut session, normals, true), first, "{name}");
        close(name, &first, &expected(&mesh.positions, &mesh.triangles), bound);
        session.free_problem(problem);
    }
}

#[test]
fn faces_without_area_count_nothing() {
    // A face, one that names a vertex twice, one whose corners coincide, and one whose corners are in line; the last vertex has no face.
    let positions =
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0, 7.0, 7.0, 7.0, 1.0, 2.0, 3.0];
    let triangles = [0, 1, 2, 0, 5, 5, 3, 4, 6, 4, 5, 6];
    for (name, _, mut session) in sessions() {
        let problem = session.problem();
        let x = session.table(problem, "x", 3, Reals::F64(&positions), false).unwrap();
        let normals = session.normals(problem, x, &triangles).unwrap();
        let up = [[0.0, 0.0, 1.0]; 3].concat();
        assert_eq!(computed(&mut session, normals, true), [up, vec![0.0; 15]].concat(), "{name}");
        // Sums that overflow, and that are too small for a direction.
        for scale in [1e30, 1e-30] {
            let scaled: Vec<f64> = positions.iter().map(|x| x * scale).collect();
            session.write_table(problem, x, Reals::F64(&scaled), None).unwrap();
            let found = computed(&mut session, normals, true);
            let overflows = scale > 1.0 && name != "cpu f64" || scale < 1.0;
            assert_eq!(found[2], if overflows { 0.0 } else { 1.0 }, "{name}, scale {scale}");
            assert!(found.iter().all(|x| x.is_finite()), "{name}, scale {scale}");
        }
        let none = session.normals(problem, x, &[]).unwrap();
        assert_eq!(computed(&mut session, none, true), [0.0; 24], "{name}: no faces");
        session.free_problem(problem);
    }
}

#[test]
fn meshes_that_do_not_fit_are_refused() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 3, Reals::F64(&[0.0; 9]), true).unwrap();
    let flat = session.table(problem, "flat", 2, Reals::F64(&[0.0; 6]), true).unwrap();
    let turn = session.table_of(problem, "turn", vec![Shape::Quaternion], Reals::F64(&[0.0, 0.0, 0.0, 1.0]), true).unwrap();
    let words = |error: Error| error.to_string();
    for table in [flat, turn] {
        let refused = words(session.normals(problem, table, &[0, 0, 0]).unwrap_err());
        assert!(refused.contains("but a vertex has 3"), "{refused}");
    }
    assert!(matches!(session.normals(problem, x, &[0, 1]), Err(Error::DataLength { got: 2, .. })));
    assert!(matches!(session.normals(problem, x, &[0, 1, 3]), Err(Error::RowOutOfRange { index: 3, count: 3, .. })));
    assert!(matches!(session.normals(problem, x, &[0, u32::MAX, 1]), Err(Error::RowOutOfRange { .. })));
    assert!(session.normals(problem, 77, &[]).is_err() && session.normals(77, x, &[]).is_err());
    assert!(matches!(session.compute_normals(5, true), Err(Error::Disposed("normals"))));
    assert!(matches!(session.view_normals(5), Err(Error::Disposed("normals"))));
    session.free_problem(problem);
}

#[test]
fn tasks_of_normals_that_are_freed_end() {
    for (name, _, mut session) in sessions() {
        let (problem, x, mesh) = dented(&mut session);
        let normals = session.normals(problem, x, &mesh.triangles).unwrap();
        let task = session.compute_normals(normals, true).unwrap();
        session.free_normals(normals);
        assert!(matches!(session.resume(task, f64::INFINITY), Err(Error::Disposed("normals"))), "{name}");
        // Another read of the same problem is not held up.
        close(name, &read(&mut session, problem, x), &mesh.positions, 0.0);
        session.free_problem(problem);
    }
}
