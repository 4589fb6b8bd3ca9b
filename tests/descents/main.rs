//! Methods by the gradient alone, on every backend.

#[path = "../support/mod.rs"]
mod support;

use leastwise::device::{Limits, Precision};
use leastwise::kernel::Objective;
use leastwise::session::Session;
use leastwise::solve::{Options, Report, Termination};
use support::classics::{CLASSICS, Classic};
use support::*;

/// With how exact they are.
fn sessions() -> Vec<(&'static str, Precision, Session)> {
    let small = Limits { binding_bytes: 1 << 16, buffer_bytes: 1 << 16, ..Limits::SMALL };
    vec![
        ("cpu in f64", Precision::F64, cpu(Precision::F64)),
        ("cpu in f32", Precision::F32, cpu(Precision::F32)),
        ("cpu, small limits", Precision::F64, cpu_with(Precision::F64, small)),
        ("webgpu, small limits", Precision::F32, gpu(Some(small))),
    ]
}

fn with(method: &str) -> Options {
    Options { method: Some(method.into()), ..Options::default() }
}

fn is_at_a_minimum(classic: &Classic, report: &Report, bound: f64) -> bool {
    classic.minima.iter().any(|minimum| (report.cost - minimum).abs() <= bound * (1.0 + minimum))
}

#[test]
fn the_classics_have_their_minima() {
    for (name, precision, mut session) in sessions() {
        for method in ["lbfgs", "nonlinear-cg"] {
            for objective in [Objective::LeastSquares, Objective::Energy] {
                for classic in &CLASSICS {
                    let (problem, _) = classic.make_as(&mut session, objective);
                    let report = solve(&mut session, problem, &with(method));
                    let bound = match (precision, objective) {
                        (Precision::F64, _) => 1e-8,
                        (_, Objective::LeastSquares) => 1e-5,
                        (_, Objective::Energy) => 1e-3,
                    };
                    let trials: u32 = report.iterations.iter().map(|step| step.inner_iterations).sum();
                    eprintln!(
                        "{name}, {method}, {objective:?}, {}: {:e} after {} steps, {trials} trials ({})",
                        classic.name,
                        report.cost,
                        report.iterations.len(),
                        report.reason
                    );
                    assert!(
                        is_at_a_minimum(classic, &report, bound),
                        "{name}, {method}, {objective:?}, {}: {:e} ({})",
                        classic.name,
                        report.cost,
                        report.reason
                    );
                    let ended = [Termination::Converged, Termination::Precision];
                    assert!(ended.contains(&report.termination), "{name}, {method}, {}: {}", classic.name, report.reason);
                    session.free_problem(problem);
                }
            }
        }
    }
}
