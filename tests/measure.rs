//! Measuring: it counts the bytes that a person counts, and leaves a solver as it was.

use crate::support::*;
use leastwise::device::Precision;
use leastwise::problem::{Schedule, Tuning};
use leastwise::session::{Measured, Progress, Session, SolveMode};
use leastwise::solve::Options;

fn every_session() -> [(&'static str, Shared); 2] {
    [("cpu f64", cpu(Precision::F64).into()), ("webgpu", shared_gpu(None))]
}

fn milliseconds(session: &mut Session, task: u32) -> f64 {
    match finish(session, task, |_| {}) {
        Progress::Values(values) => values[0],
        _ => panic!("no values"),
    }
}

#[test]
fn the_bytes_are_those_of_the_buffers() {
    let (mesh, real) = (Mesh::icosphere(2).normalized(), 8.0);
    for schedule in [Schedule::TwoPass, Schedule::OwnerComputes] {
        let mut session = cpu(Precision::F64);
        session.set_tuning(Tuning { products: [(Tuning::ANY.to_string(), schedule)].into(), ..Tuning::default() }).unwrap();
        let (problem, _) = arap(&mut session, &mesh);
        let solver = session.solver(problem, &Options::default()).unwrap();
        let traffic = session.traffic(solver).unwrap();
        let vertices = (mesh.positions.len() / 3) as f64;
        let edges = mesh.directed_edges()[0].len() as f64;
        let described = session.describe_term(problem, 0).unwrap();
        let handles = traffic.jacobian / (3.0 * real) - edges * f64::from(described.residuals + described.jacobian_columns) / 3.0;
        assert!(handles > 0.0 && handles < vertices && handles.fract() == 0.0, "{handles} handles, which have no stored J");

        // Per edge: J, two indices, what is handed on both ways, and an entry for each slot that gathers. To the owner, nothing.
        let stored = f64::from(described.jacobian_columns);
        let (handed, gathering) = match schedule {
            Schedule::OwnerComputes => (3.0, 1.0),
            _ => (f64::from(described.contribution_columns), 3.0),
        };
        let edge = stored * real + 2.0 * 4.0 + 2.0 * handed * real + gathering * 4.0;
        // Per handle: one index and, unless it is its own owner, three columns both ways and one entry. Per vertex: six vectors of six.
        let handle = if schedule == Schedule::OwnerComputes { 4.0 } else { 4.0 + 6.0 * real + 4.0 };
        let least = edges * edge + handles * handle + vertices * 36.0 * real;
        // The lists' row starts and ids, those of tiles, and alignment.
        let rest = traffic.product - least;
        assert!(
            rest > 0.0 && rest < vertices * 24.0 + 12_000.0,
            "{schedule:?}: {} bytes, of which {rest} are not accounted for",
            traffic.product
        );
    }
}

#[test]
fn a_measured_solver_goes_on_as_if_nothing_had_been() {
    let mesh = Mesh::icosphere(2).normalized();
    for ((name, mut session), (_, mut other)) in every_session().into_iter().zip(every_session()) {
        let run = |session: &mut Session, measured: bool| {
            let (problem, _) = arap(session, &mesh);
            let solver = session.solver(problem, &Options::default()).unwrap();
            let mut costs = Vec::new();
            for _ in 0..4 {
                let task = session.solve(solver, SolveMode::Step).unwrap();
                finish(session, task, |iteration| costs.push(iteration.cost.to_bits()));
                for what in [Measured::Evaluation, Measured::Product].into_iter().filter(|_| measured) {
                    let task = session.measure(solver, what, 3).unwrap();
                    let ms = milliseconds(session, task);
                    assert!(ms.is_finite() && ms >= 0.0, "{name}: {what:?} takes {ms} ms");
                }
            }
            costs
        };
        assert_eq!(run(&mut session, true), run(&mut other, false), "{name}");
    }
}

#[test]
fn a_copy_leaves_no_buffer() {
    for (name, mut session) in every_session() {
        let task = session.measure_copy(1e6, 2).unwrap();
        assert!(milliseconds(&mut session, task) >= 0.0, "{name}");
        let counters = session.device().counters();
        assert_eq!((counters.bytes_live, counters.buffers_created - counters.buffers_destroyed), (0, 0), "{name}");
    }
}
