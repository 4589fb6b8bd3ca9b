//! Inequalities that only touch: after solves that leave them a λ, covariances and gradients through a solve see the same.

use super::corners::{Body, Unknowns, sum};
use super::covariance::{covariance, joint, known};
use super::{sessions, tight};
use crate::support::gradients::of_term;
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Reals, Relation, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;
use leastwise::solve::Options;

const APART: Body = |tape, x| vec![tape.op(Sub, x)];

/// Rows that count for covariances, those for gradients, the variances of the first unknowns, and dL/dp of L = Σ x.
fn counted(session: &mut Session, unknowns: &Unknowns, of: u32) -> (u32, u32, Vec<f64>, Vec<f64>) {
    let made = covariance(session, unknowns.problem, known()).unwrap();
    let found = joint(session, &made, unknowns.x, 2);
    session.free_covariance(made.handle);
    let gradients = unknowns.backward(session, &vec![1.0; unknowns.count]);
    (made.summary.equalities, gradients.equalities, vec![found[0], found[3]], of_term(&gradients, of, Some(0)))
}

/// x ≤ 1 with targets of 3, then of 1 for the first: it comes to rest at 1 where nothing pushes.
#[test]
fn what_comes_to_touch_does_not_hold() {
    for (name, mut session, _) in sessions() {
        for count in [2usize, 210] {
            if count > 2 && name == "webgpu" {
                continue;
            }
            let choices = if name.contains("f64") { vec![tight(), Options::default()] } else { vec![Options::default()] };
            for options in choices {
                let unknowns = Unknowns::new(&mut session, &vec![0.0; count]);
                let mut targets = vec![0.5; count];
                targets[..2].fill(3.0);
                let near = unknowns.near(&mut session, &targets);
                let below = unknowns.constraint(&mut session, Relation::AtMostZero, 1.0, &[vec![0, 1]], &[("p", &[1.0, 1.0])], APART);
                solve(&mut session, unknowns.problem, &options);
                let (of_covariance, of_gradients, variances, slopes) = counted(&mut session, &unknowns, below);
                assert_eq!((of_covariance, of_gradients, variances), (2, 2, vec![0.0; 2]), "{name}, {count}: both hold");
                assert!(slopes.iter().all(|slope| (slope - 1.0).abs() < 1e-9), "{name}, {count}: {slopes:?}");
                targets[0] = 1.0;
                session.set_column(unknowns.problem, near, 0, Reals::F64(&targets)).unwrap();
                solve(&mut session, unknowns.problem, &options);
                let left = session.multipliers(unknowns.problem, below).unwrap();
                let (of_covariance, of_gradients, variances, slopes) = counted(&mut session, &unknowns, below);
                let what = format!("{name}, {count}, λ = {left:?}");
                assert_eq!((of_covariance, of_gradients), (1, 1), "{what}");
                assert!((variances[0] - 1.0).abs() < 1e-9 && variances[1] == 0.0, "{what}: {variances:?}");
                // What does not hold has a gradient of 0, not of what is next to it.
                assert!(slopes[0] == 0.0 && (slopes[1] - 1.0).abs() < 1e-9, "{what}: {slopes:?}");
                session.free_problem(unknowns.problem);
            }
        }
    }
}

/// Two rows for the same, tied unknowns, and a cost whose JᵀWJ is not its Hessian: ½(x² − 2)² + 4(x − a)², at rest at 1 with a = ¾.
#[test]
fn what_touches_in_company_does_not_hold_either() {
    for (count, options) in [2usize, 210].into_iter().flat_map(|count| [tight(), Options::default()].map(|options| (count, options))) {
        let mut session = cpu(Precision::F64);
        let unknowns = Unknowns::new(&mut session, &vec![0.0; count]);
        unknowns.residual(&mut session, &[vec![0]], &[], |tape, x| {
            let (square, two) = (tape.op(Square, &[x[0]]), tape.literal(2.0));
            vec![tape.op(Sub, &[square, two])]
        });
        let pull = unknowns.cost(&mut session, Objective::LeastSquares, Weight::Shared(8.0), &[vec![0]], &[("a", &[3.0])], APART);
        let rest: Vec<u32> = (1..count as u32).collect();
        let targets = vec![0.5; count - 1];
        unknowns.residual(&mut session, &[rest], &[("t", &targets)], APART);
        let below = unknowns.constraint(&mut session, Relation::AtMostZero, 1.0, &[vec![0]], &[("p", &[1.0])], APART);
        unknowns.constraint(&mut session, Relation::AtMostZero, 1.0, &[vec![0]], &[("p", &[2.0])], |tape, x| {
            let twice = tape.op(Add, &[x[0], x[0]]);
            vec![tape.op(Sub, &[twice, x[1]])]
        });
        // x₀ + x₁ = 1.5 ties the two.
        unknowns.equality(&mut session, &[vec![0], vec![1]], &[("s", &[1.5])], sum);
        solve(&mut session, unknowns.problem, &options);
        let (of_covariance, of_gradients, ..) = counted(&mut session, &unknowns, below);
        assert_eq!((of_covariance, of_gradients), (3, 3), "{count}: all hold");
        session.set_column(unknowns.problem, pull, 0, Reals::F64(&[0.75])).unwrap();
        solve(&mut session, unknowns.problem, &options);
        let left = session.multipliers(unknowns.problem, below).unwrap();
        let (of_covariance, of_gradients, variances, slopes) = counted(&mut session, &unknowns, below);
        assert_eq!((of_covariance, of_gradients), (1, 1), "{count}: λ = {left:?}");
        // JᵀWJ is 4 + 8, and 1 of x₁.
        assert!((variances[0] - 1.0 / 13.0).abs() < 1e-6, "{count}: {variances:?}");
        assert_eq!(slopes, [0.0], "{count}");
    }
}

/// λ next to nothing beside the gradient of others, and above rounding: of one row or of two for the same, of unequal scales and weights.
#[test]
fn what_touches_with_next_to_no_multiplier_does_not_hold() {
    for (count, push) in [5usize, 205].into_iter().flat_map(|count| [3e-11, 1e-11, 4e-12].map(|push| (count, push))) {
        let mut session = cpu(Precision::F64);
        let unknowns = Unknowns::new(&mut session, &vec![0.0; count]);
        let mut targets = vec![0.5; count];
        targets[..3].copy_from_slice(&[1.0 + push, 3.0, 1.0 + push]);
        let mut weights = vec![1.0; count];
        weights[..3].copy_from_slice(&[2.5, 1.5, 1.7]);
        let all = [(0..count as u32).collect::<Vec<u32>>()];
        let each = Weight::Each(Reals::F64(&weights));
        let near = unknowns.cost(&mut session, Objective::LeastSquares, each, &all, &[("t", &targets)], APART);
        let steep: Body = |tape, x| {
            let off = tape.op(Sub, &x[..2]);
            vec![tape.op(Mul, &[off, x[2]])]
        };
        let data: super::corners::Data = &[("p", &[1.0; 4]), ("k", &[1.0, 10.0, 10.0, 100.0])];
        let below = unknowns.constraint(&mut session, Relation::AtMostZero, 1e-2, &[vec![0, 1, 2, 2]], data, steep);
        solve(&mut session, unknowns.problem, &tight());
        targets[0] = 1.0;
        targets[2] = 1.0;
        session.set_column(unknowns.problem, near, 0, Reals::F64(&targets)).unwrap();
        // Where the solve ended, and not again: λ are those of before.
        let mut at = read(&mut session, unknowns.problem, unknowns.x);
        (at[0], at[2]) = (1.0, 1.0);
        session.write_table(unknowns.problem, unknowns.x, Reals::F64(&at), None).unwrap();
        let left = session.multipliers(unknowns.problem, below).unwrap();
        let (of_covariance, of_gradients, _, slopes) = counted(&mut session, &unknowns, below);
        let what = format!("{count}, {push:e}, λ = {left:?}");
        assert_eq!((of_covariance, of_gradients), (1, 1), "{what}");
        assert!([0, 2, 3].iter().all(|&k| slopes[k] == 0.0) && (slopes[1] - 1.0).abs() < 1e-9, "{what}: {slopes:?}");
    }
}

/// A small λ that holds is one, and one of values far from met says how far.
#[test]
fn what_holds_by_little_holds() {
    for (count, push) in [2, 210].into_iter().flat_map(|count| [1e-3, 1e-5].map(|push| (count, push))) {
        let mut session = cpu(Precision::F64);
        let unknowns = Unknowns::new(&mut session, &vec![0.0; count]);
        let mut targets = vec![0.5; count];
        targets[..2].copy_from_slice(&[1.0 + push, 3.0]);
        unknowns.near(&mut session, &targets);
        let below = unknowns.constraint(&mut session, Relation::AtMostZero, 1.0, &[vec![0, 1]], &[("p", &[1.0, 1.0])], APART);
        solve(&mut session, unknowns.problem, &tight());
        let multipliers = session.multipliers(unknowns.problem, below).unwrap();
        let (of_covariance, of_gradients, variances, _) = counted(&mut session, &unknowns, below);
        assert_eq!((of_covariance, of_gradients, variances), (2, 2, vec![0.0; 2]), "{count}: {push:e}, {multipliers:?}");
    }
}

/// An inequality that is violated a little, without a λ, and one far from its limit: neither has a gradient.
#[test]
fn what_does_not_hold_has_no_gradient() {
    for over in [1e-9, 1e-3, 0.0, -0.5] {
        let mut session = cpu(Precision::F64);
        let unknowns = Unknowns::new(&mut session, &[1.0 + over, 0.5]);
        unknowns.near(&mut session, &[1.0 + over, 0.5]);
        let below = unknowns.constraint(&mut session, Relation::AtMostZero, 1.0, &[vec![0, 1]], &[("p", &[1.0, 1.0])], |tape, x| {
            let square = tape.op(Square, &[x[0]]);
            vec![tape.op(Sub, &[square, x[1]])]
        });
        let gradients = unknowns.backward(&mut session, &[1.0, 1.0]);
        assert_eq!((gradients.equalities, of_term(&gradients, below, Some(0))), (0, vec![0.0; 2]), "{over:e}");
    }
}
