//! Problems with published optima. What is found is checked by formulas of the tests' own: its objective, its violation, and that
//! ∇f + Σ λ∇c vanishes, so that an optimum that is remembered wrongly shows as well.

use super::cutest::CUTEST;
use super::formula::Model;
use super::hock_schittkowski::{Example, MIDDLE, SMALL};
use super::hock_schittkowski_large::LARGE;
use super::spec;
use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::problem::{Reals, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;
use leastwise::solve::{Options, Report};

/// Outcome of a solve.
struct Outcome {
    report: Report,
    objective: f64,
    violation: f64,
    stationarity: f64,
}

/// Tolerances of objectives, violations, and the Lagrangian's gradient.
struct Nearness {
    objective: f64,
    violation: f64,
    stationarity: f64,
}

const IN_F64: Nearness = Nearness { objective: 1e-6, violation: 1.1e-8, stationarity: 1e-4 };

fn run(session: &mut Session, example: &Example, method: &str) -> Outcome {
    let count = example.start.len();
    let model = Model::write(count, example.model);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(example.start), true).unwrap();
    if !model.lower.is_empty() {
        session.bound_table(problem, x, Some(Reals::F64(&model.lower)), Some(Reals::F64(&model.upper))).unwrap();
    }
    if !model.squares.is_empty() {
        let (tape, outputs) = model.tape(&model.squares);
        let spec = spec("squares", x, count as u32, &tape, &outputs);
        // The cost has halves of squares.
        session.term(problem, TermSpec { weight: Weight::Shared(2.0), ..spec }).unwrap();
    }
    if let Some(energy) = model.energy {
        let (tape, outputs) = model.tape(&[energy]);
        let spec = spec("energy", x, count as u32, &tape, &outputs);
        session.term(problem, TermSpec { objective: Objective::Energy, ..spec }).unwrap();
    }
    let mut constraints = Vec::new();
    for (number, (relation, rows)) in model.constraints.iter().enumerate() {
        let (tape, outputs) = model.tape(rows);
        let name = format!("constraint {number}");
        constraints.push(session.constraint(problem, spec(&name, x, count as u32, &tape, &outputs), *relation).unwrap());
    }
    let report = solve(session, problem, &Options { method: Some(method.into()), ..Options::default() });
    let values = read(session, problem, x);
    let multipliers: Vec<f64> = constraints.iter().flat_map(|&term| session.multipliers(problem, term).unwrap()).collect();
    let (objective, violation) = model.value(&values);
    let stationarity = model.stationarity(&values, &multipliers);
    session.free_problem(problem);
    Outcome { report, objective, violation, stationarity }
}

/// Fault of an outcome, if it has one.
fn fault(example: &Example, method: &str, outcome: &Outcome, near: &Nearness) -> Option<String> {
    let Outcome { report, objective, violation, stationarity } = outcome;
    let off = |known: &f64| (objective - known).abs() / known.abs().max(1.0);
    let away = example.others.iter().chain([&example.optimum]).map(off).fold(f64::INFINITY, f64::min);
    let is_good = report.converged && away <= near.objective && *violation <= near.violation && *stationarity <= near.stationarity;
    let [steps, outer] = [report.iterations.len() as u32, report.feasibility.as_ref().map_or(0, |found| found.outer_iterations)];
    (!is_good).then(|| {
        format!(
            "{method}, {}: {objective} instead of {}, off by {away:.1e}, violated by {violation:.1e}, gradient {stationarity:.1e}, after {outer} minimisations with {steps} steps: {}",
            example.name, example.optimum, report.reason
        )
    })
}

/// Names of the problems that a method does not solve, in f64 on the CPU; it says how, too.
fn unsolved<'a>(method: &str, examples: impl Iterator<Item = &'a Example>, near: &Nearness) -> Vec<&'static str> {
    let mut session = cpu(Precision::F64);
    let mut names = Vec::new();
    for example in examples {
        let outcome = run(&mut session, example, method);
        if let Some(fault) = fault(example, method, &outcome, near) {
            println!("{fault}");
            names.push(example.name);
        }
    }
    names
}

/// A list of 24 that an outside check of this package was made with.
const LIST: [&str; 24] = [
    "6", "7", "10", "11", "12", "14", "22", "26", "27", "28", "39", "40", "42", "43", "48", "50", "61", "65", "71", "77", "78", "79", "80",
    "100",
];

fn hock_schittkowski() -> impl Iterator<Item = &'static Example> {
    SMALL.iter().chain(MIDDLE).chain(LARGE)
}

/// Methods with second derivatives, and problems that they may fail at.
const METHODS: [(&str, &[&str]); 3] = [("lm", &[]), ("newton", &[]), ("dogleg", &["106", "116", "BT8"])];

#[test]
fn methods_with_second_derivatives_solve_what_hock_and_schittkowski_published() {
    assert_eq!(hock_schittkowski().filter(|example| LIST.contains(&example.name)).count(), LIST.len());
    assert!(hock_schittkowski().count() >= 80);
    for (method, hard) in METHODS {
        assert_eq!(unsolved(method, hock_schittkowski().filter(|example| !hard.contains(&example.name)), &IN_F64), [""; 0]);
    }
}

#[test]
fn methods_with_second_derivatives_solve_problems_of_cutest() {
    assert!(CUTEST.len() >= 26);
    for (method, hard) in METHODS {
        assert_eq!(unsolved(method, CUTEST.iter().filter(|example| !hard.contains(&example.name)), &IN_F64), [""; 0]);
    }
}

/// By the gradient alone the Lagrangian's is not made as small.
#[test]
fn the_gradient_alone_solves_the_list() {
    let near = Nearness { stationarity: 1e-2, ..IN_F64 };
    let failed = unsolved("lbfgs", hock_schittkowski().filter(|example| LIST.contains(&example.name)), &near);
    assert_eq!(failed, [""; 0]);
}

#[test]
fn f32_solves_some_of_them() {
    let near = Nearness { objective: 1e-3, violation: 3e-5, stationarity: 2e-2 };
    let small = Limits { binding_bytes: 1 << 16, buffer_bytes: 1 << 16, ..Limits::SMALL };
    let sessions: [(&str, Shared); 2] = [("cpu", cpu(Precision::F32).into()), ("webgpu", shared_gpu(Some(small)))];
    for (name, mut session) in sessions {
        for example in hock_schittkowski().filter(|example| ["10", "14", "39", "43", "71"].contains(&example.name)) {
            let mut outcome = run(&mut session, example, "lm");
            // Where f32 resolves no more, it says so.
            outcome.report.converged |= outcome.report.termination == leastwise::solve::Termination::Precision;
            let fault = fault(example, "lm", &outcome, &near);
            assert_eq!(fault, None, "{name}");
        }
    }
}
