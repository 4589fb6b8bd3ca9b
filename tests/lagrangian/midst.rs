//! Checkpoints in the midst of constrained solves: a solve that goes on from any of them comes to the same bits.

use super::{Scene, with};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::Relation;
use leastwise::session::{Answer, Progress, Session, SolveMode};
use leastwise::solve::Report;

/// A linear cost on a curved set, of which one inequality holds; or one whose first penalty is too small.
fn scene(session: &mut Session, falls: bool) -> (Scene, u32) {
    let scene = Scene::new(session, &[2.0, 0.5]);
    if falls {
        scene.energy(session, "down", |w, x| {
            let (cube, square) = (w.op(Cube, &[x[0]]), w.op(Square, &[x[1]]));
            vec![w.linear(&[(-1.0, cube), (1.0, square)], 0.0)]
        });
    } else {
        scene.energy(session, "down", |w, x| vec![w.linear(&[(-1.0, x[0]), (-2.0, x[1])], 0.0)]);
    }
    let disc = scene.constrain(session, "disc", Relation::AtMostZero, |w, x| {
        let squares = [w.op(Square, &[x[0]]), w.op(Square, &[x[1]])];
        vec![w.linear(&[(1.0, squares[0]), (3.0, squares[1])], -50.0), w.linear(&[(1.0, x[0])], -6.0)]
    });
    (scene, disc)
}

fn ending(session: &mut Session, scene: &Scene, disc: u32, report: &Report) -> (Vec<u64>, String, u32) {
    let mut values = read(session, scene.problem, scene.x);
    values.extend(session.multipliers(scene.problem, disc).unwrap());
    values.extend([report.cost, report.initial_cost]);
    values.extend(report.iterations.iter().flat_map(|step| [step.cost, step.damping, step.gradient_norm]));
    let outer = report.feasibility.as_ref().map_or(0, |found| found.outer_iterations);
    (values.iter().map(|value| value.to_bits()).collect(), report.reason.clone(), outer)
}

#[test]
fn a_constrained_solve_goes_on_from_any_step_to_the_bit() {
    for (method, falls) in [("lm", false), ("lm", true), ("newton", false), ("dogleg", false), ("lbfgs", false), ("lbfgs", true)] {
        let mut session = cpu(Precision::F64);
        let (whole, disc) = scene(&mut session, falls);
        let solver = session.solver(whole.problem, &with(method)).unwrap();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let mut saves = Vec::new();
        let report = loop {
            match session.resume(task, f64::INFINITY).unwrap() {
                Progress::Iteration(_) => saves.push(session.save(solver).unwrap()),
                Progress::Report(report) => break *report,
                _ => {}
            }
        };
        let expected = ending(&mut session, &whole, disc, &report);
        assert!(report.converged && expected.2 >= 3, "{method}: {}", report.reason);
        assert_eq!(saves.len(), report.iterations.len(), "{method}");
        for (step, save) in saves.into_iter().enumerate() {
            let Progress::Answer(Answer::Bytes(file)) = finish(&mut session, save, |_| {}) else { panic!("no file") };
            let mut other = cpu(Precision::F64);
            let (twin, disc) = scene(&mut other, falls);
            let solver = other.solver(twin.problem, &with(method)).unwrap();
            other.restore(solver, &file).unwrap();
            let task = other.solve(solver, SolveMode::Solve).unwrap();
            let Progress::Report(report) = finish(&mut other, task, |_| {}) else { panic!("no report") };
            let found = ending(&mut other, &twin, disc, &report);
            assert_eq!(found, expected, "{method}, falls: {falls}, after step {step}");
        }
    }
}
