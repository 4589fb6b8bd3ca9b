//! Whole solves through the session, on every backend.

use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::solve::{Options, Termination};

fn tight() -> Options {
    Options { cost_tolerance: Some(1e-7), max_iterations: Some(200.0), ..Options::default() }
}

#[test]
fn arap_on_an_icosphere_agrees_between_backends_and_limits() {
    let mesh = Mesh::icosphere(3).normalized();
    let mut costs = Vec::new();
    let sessions = [
        ("cpu f64", cpu(Precision::F64)),
        ("cpu f32", cpu(Precision::F32)),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL)),
        ("webgpu", gpu(None)),
        ("webgpu, small limits", gpu(Some(Limits::SMALL))),
    ];
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
