//! How constrained solves end, and what is left of multipliers.

use super::{Scene, with};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::Relation;
use leastwise::solve::Termination;

#[test]
fn curvature_may_be_that_of_constraints_alone_and_multipliers_stay() {
    for method in ["lm", "newton", "dogleg", "lbfgs"] {
        let mut session = cpu(Precision::F64);
        let scene = Scene::new(&mut session, &[0.5, 0.7]);
        scene.energy(&mut session, "left", |w, x| vec![w.op(Neg, &[x[0]])]);
        let bow = scene.constrain(&mut session, "bow", Relation::Zero, |w, x| {
            let square = w.op(Square, &[x[1]]);
            vec![w.linear(&[(1.0, x[0]), (1.0, square)], -1.0)]
        });
        let report = solve(&mut session, scene.problem, &with(method));
        assert!(report.converged, "{method}: {}", report.reason);
        let values = read(&mut session, scene.problem, scene.x);
        assert!((values[0] - 1.0).abs() < 1e-8 && values[1].abs() < 1e-4, "{method}: {values:?}");
        let multiplier = session.multipliers(scene.problem, bow).unwrap()[0];
        assert!((multiplier - 1.0).abs() < 1e-6, "{method}: λ = {multiplier}");
    }
}

#[test]
fn feasibility_without_a_cost_ends_converged() {
    for method in ["lm", "gauss-newton", "newton", "dogleg", "lbfgs"] {
        let mut session = cpu(Precision::F64);
        let scene = Scene::new(&mut session, &[2.0, 0.3]);
        scene.constrain(&mut session, "circle", Relation::Zero, |w, x| {
            let squares = [w.op(Square, &[x[0]]), w.op(Square, &[x[1]])];
            vec![w.linear(&[(1.0, squares[0]), (1.0, squares[1])], -1.0)]
        });
        scene.constrain(&mut session, "diagonal", Relation::Zero, |w, x| vec![w.linear(&[(1.0, x[0]), (-1.0, x[1])], 0.0)]);
        let report = solve(&mut session, scene.problem, &with(method));
        assert_eq!(report.termination, Termination::Converged, "{method}: {}", report.reason);
        let values = read(&mut session, scene.problem, scene.x);
        assert!(values.iter().all(|value| (value.abs() - 0.5f64.sqrt()).abs() < 1e-7), "{method}: {values:?}");
    }
}

#[test]
fn a_flat_violation_is_hinted_at_and_one_that_others_hold_is_not() {
    let mut session = cpu(Precision::F64);
    let scene = Scene::new(&mut session, &[0.0, 0.0]);
    scene.residuals(&mut session, "small", |_, x| x.to_vec());
    let outside = scene.constrain(&mut session, "outside", Relation::AtLeastZero, |w, x| {
        let squares = [w.op(Square, &[x[0]]), w.op(Square, &[x[1]])];
        vec![w.linear(&[(1.0, squares[0]), (1.0, squares[1])], -1.0)]
    });
    let report = solve(&mut session, scene.problem, &with("lm"));
    assert_eq!(report.termination, Termination::Infeasible, "{}", report.reason);
    assert!(report.reason.ends_with("the constraint's gradient is 0 here, so no direction is known that leads to it: begin elsewhere"));
    assert_eq!(session.multipliers(scene.problem, outside).unwrap(), [0.0]);
    let scene = Scene::new(&mut session, &[0.5]);
    scene.constrain(&mut session, "low", Relation::AtMostZero, |w, x| vec![w.linear(&[(1.0, x[0])], 1.0)]);
    scene.constrain(&mut session, "high", Relation::AtLeastZero, |w, x| vec![w.linear(&[(1.0, x[0])], -1.0)]);
    let report = solve(&mut session, scene.problem, &with("lm"));
    assert_eq!(report.termination, Termination::Infeasible, "{}", report.reason);
    assert!(!report.reason.contains("gradient"), "{}", report.reason);
}

#[test]
fn a_penalty_that_is_too_small_is_made_larger_from_the_start() {
    // −x³ falls faster than a penalty of 10 rises.
    for method in ["lm", "lbfgs"] {
        let mut session = cpu(Precision::F64);
        let scene = Scene::new(&mut session, &[1.0]);
        scene.energy(&mut session, "down", |w, x| {
            let cube = w.op(Cube, &[x[0]]);
            vec![w.op(Neg, &[cube])]
        });
        let ten = scene.constrain(&mut session, "ten", Relation::AtMostZero, |w, x| vec![w.linear(&[(1.0, x[0])], -10.0)]);
        let report = solve(&mut session, scene.problem, &with(method));
        assert!(report.converged, "{method}: {}", report.reason);
        assert!(report.feasibility.is_some_and(|found| found.penalty >= 1e4), "{method}");
        assert!((read(&mut session, scene.problem, scene.x)[0] - 10.0).abs() < 1e-7, "{method}");
        assert!((session.multipliers(scene.problem, ten).unwrap()[0] - 300.0).abs() < 1e-2, "{method}");
    }
}

/// At a cusp and in the example of Kuhn & Tucker there are no multipliers: λ grows, and the solution is met all the same.
#[test]
fn a_solution_without_multipliers_is_found() {
    for method in ["lm", "newton"] {
        let mut session = cpu(Precision::F64);
        let cusp = Scene::new(&mut session, &[1.0, 1.0]);
        cusp.energy(&mut session, "low", |w, x| {
            let square = w.op(Square, &[x[0]]);
            vec![w.linear(&[(1.0, x[1]), (0.5, square)], 0.0)]
        });
        cusp.constrain(&mut session, "cusp", Relation::AtLeastZero, |w, x| {
            let (cube, square) = (w.op(Cube, &[x[1]]), w.op(Square, &[x[0]]));
            vec![w.linear(&[(1.0, cube), (-1.0, square)], 0.0)]
        });
        let corner = Scene::new(&mut session, &[-1.0, 0.5]);
        corner.residuals(&mut session, "left", |w, x| vec![w.linear(&[(1.0, x[0])], 2.0), x[1]]);
        corner.constrain(&mut session, "corner", Relation::AtLeastZero, |w, x| {
            let cube = w.op(Cube, &[x[0]]);
            vec![w.linear(&[(1.0, cube), (-1.0, x[1])], 0.0), x[1]]
        });
        for (scene, name) in [(cusp, "cusp"), (corner, "corner")] {
            let report = solve(&mut session, scene.problem, &with(method));
            assert!(report.converged, "{method}, {name}: {}", report.reason);
            let values = read(&mut session, scene.problem, scene.x);
            assert!(values.iter().all(|value| value.abs() < 1e-2), "{method}, {name}: {values:?}");
        }
    }
}
