//! Whole solves through the session, on every backend.

use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::session::{Progress, SolveMode};
use leastwise::solve::{Options, Termination};

fn tight() -> Options {
    Options { cost_tolerance: Some(1e-7), max_iterations: Some(200.0), ..Options::default() }
}

#[test]
fn arap_on_an_icosphere_agrees_between_backends_and_limits() {
    let mesh = Mesh::icosphere(3).normalized();
    let mut costs = Vec::new();
    let cpus = [
        ("cpu f64", cpu(Precision::F64).into()),
        ("cpu f32", cpu(Precision::F32).into()),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into()),
    ];
    let sessions = cpus.into_iter().chain(gpus().into_iter().map(|(name, limits)| (name, shared_gpu(limits))));
    for (name, mut session) in sessions {
        let (problem, _) = arap(&mut session, &mesh);
        let report = solve(&mut session, problem, &tight());
        assert_eq!(report.termination, Termination::Converged, "{name}: {}", report.reason);
        // One small readback a step, and one for the report: nothing inside the inner solver comes back.
        assert_eq!(report.counters.readbacks, report.iterations.len() as u64 + 1, "{name}");
        costs.push(report.cost);
    }
    for cost in &costs {
        assert!((cost - costs[0]).abs() < 1e-6 * costs[0], "{costs:?}");
    }
}

/// Of the static kernels a solver may need, a plain solve by conjugate gradients compiles those that its recordings name: all at once, before
/// its first step.
#[test]
fn a_solve_compiles_its_own_kernels_alone() {
    let mesh = Mesh::icosphere(2).normalized();
    let mut session = gpu(None);
    let (problem, _) = arap(&mut session, &mesh);
    let options = Options { linear: Some("pcg".into()), preconditioner: Some("block-jacobi".into()), ..tight() };
    let solver = session.solver(problem, &options).unwrap();
    assert_eq!(session.device().counters().kernels_created, 0);
    let task = session.solve(solver, SolveMode::Solve).unwrap();
    let mut after_steps = Vec::new();
    loop {
        match session.resume(task, f64::INFINITY).unwrap() {
            Progress::Iteration(_) => after_steps.push(session.device().counters().kernels_created),
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Report(_) => break,
            _ => {}
        }
    }
    let all = session.device().counters().kernels_created;
    assert!(after_steps.iter().all(|count| *count == after_steps[0]), "{after_steps:?}");
    // Two terms have five kernels each: r and J, the change, the gradient, the diagonal blocks, the product.
    let fixed = after_steps[0] - 10;
    assert!(fixed <= 22 && all - after_steps[0] <= 4, "{fixed} static kernels for steps, {} for the report", all - after_steps[0]);
}

/// Buffers of a solver for a selection of terms go before those for another one are made.
#[test]
fn a_solver_that_is_made_anew_takes_the_place_of_the_old_one() {
    let mesh = Mesh::icosphere(4).normalized();
    for (linear, preconditioner) in [("pcg", Some("two-level")), ("sparse-cholesky", None)] {
        let mut session = cpu(Precision::F64);
        let (problem, _) = arap(&mut session, &mesh);
        let options = Options {
            linear: Some(linear.into()),
            preconditioner: preconditioner.map(String::from),
            max_iterations: Some(1.0),
            ..Options::default()
        };
        let solver = session.solver(problem, &options).unwrap();
        step(&mut session, solver);
        let first = session.device().counters();
        assert_eq!(first.bytes_peak, first.bytes_live, "{linear}: whatever is beside these is above the peak");
        session.set_enabled(problem, 1, false).unwrap();
        step(&mut session, solver);
        let second = session.device().counters();
        let made = second.buffers_created - first.buffers_created;
        assert!(made > 0 && second.buffers_destroyed - first.buffers_destroyed >= made, "{linear}: {made} buffers are made anew");
        assert!(second.bytes_peak <= first.bytes_peak, "{linear}: {} bytes instead of {}", second.bytes_peak, first.bytes_peak);
    }
}
