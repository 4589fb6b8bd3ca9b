//! Problems with published optima, by the methods that solve linear systems and L-BFGS.

use super::formula::{E, Model};
use super::cutest::CUTEST;
use super::hock_schittkowski::{Example, LARGE, MIDDLE, SMALL};
use super::spec;
use crate::support::*;
use leastwise::device::Precision;
use leastwise::problem::{Reals, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;
use leastwise::solve::{Options, Report};

struct Outcome {
    report: Report,
    objective: f64,
    violation: f64,
    stationarity: f64,
    x: Vec<f64>,
}

fn run(session: &mut Session, example: &Example, options: &Options) -> Outcome {
    let count = example.start.len();
    let model = Model::write(count, example.model);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(example.start), true).unwrap();
    if !model.lower.is_empty() {
        session.bound_table(problem, x, Some(Reals::F64(&model.lower)), Some(Reals::F64(&model.upper))).unwrap();
    }
    let write = |rows: &[E]| model.tape(rows);
    if !model.squares.is_empty() {
        let (tape, outputs) = write(&model.squares);
        // The cost has halves of squares.
        let spec = spec("squares", x, count as u32, &tape, &outputs);
        session.term(problem, leastwise::problem::TermSpec { weight: Weight::Shared(2.0), ..spec }).unwrap();
    }
    if let Some(energy) = model.energy {
        let (tape, outputs) = write(&[energy]);
        let spec = spec("energy", x, count as u32, &tape, &outputs);
        session.term(problem, leastwise::problem::TermSpec { objective: Objective::Energy, ..spec }).unwrap();
    }
    let mut constraints = Vec::new();
    for (number, (relation, rows)) in model.constraints.iter().enumerate() {
        let (tape, outputs) = write(rows);
        let spec = spec(["c0", "c1", "c2"][number], x, count as u32, &tape, &outputs);
        constraints.push(session.constraint(problem, spec, *relation).unwrap());
    }
    let report = solve(session, problem, options);
    let values = read(session, problem, x);
    let multipliers: Vec<f64> = constraints.iter().flat_map(|&term| session.multipliers(problem, term).unwrap()).collect();
    let (objective, violation) = model.value(&values);
    let stationarity = model.stationarity(&values, &multipliers);
    session.free_problem(problem);
    Outcome { report, objective, violation, stationarity, x: values }
}

#[test]
fn survey() {
    let only = std::env::var("HS").ok();
    let methods = std::env::var("METHODS").unwrap_or("lm newton dogleg lbfgs".into());
    for method in methods.split(' ') {
        let mut session = cpu(Precision::F64);
        let mut good = 0;
        let mut all = 0;
        for example in SMALL.iter().chain(MIDDLE).chain(LARGE).chain(CUTEST).filter(|e| only.as_ref().is_none_or(|only| only == e.name)) {
            let start = std::time::Instant::now();
            let o = run(&mut session, example, &Options { method: Some(method.into()), ..Options::default() });
            let off = |known: f64| (o.objective - known) / known.abs().max(1.0);
            let df = example.others.iter().copied().map(off).fold(off(example.optimum), |a, b| if b.abs() < a.abs() { b } else { a });
            let ok = df.abs() < 1e-5 && o.violation <= 2e-8 * 1f64.max(1.0) && o.report.converged && o.stationarity < 1e-4;
            good += u32::from(ok);
            all += 1;
            let f = o.report.feasibility.as_ref().unwrap();
            if !ok || only.is_some() || std::env::var("ALL").is_ok() {
                println!(
                    "{method} {:4} {} {:?} f {:.9} ({}) df {df:.1e} viol {:.1e} kkt {:.1e} outer {} it {} mu {:.0e} {}ms {}",
                    example.name,
                    if ok { "ok" } else { "BAD" },
                    o.report.termination,
                    o.objective,
                    example.optimum,
                    o.violation,
                    o.stationarity,
                    f.outer_iterations,
                    o.report.iterations.len(),
                    f.penalty,
                    start.elapsed().as_millis(),
                    o.report.reason
                );
                if only.is_some() { println!("{:?}", o.x); }
            }
        }
        println!("{method}: {good} of {all}");
    }
}
