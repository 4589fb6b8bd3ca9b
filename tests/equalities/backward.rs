//! Gradients through solves with constraints: against central differences of whole solves.

use super::{Net, Numbers, column, sessions, tight};
use crate::support::gradients::{self, of_table, of_term};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Loss, Reals, Relation, Shape, Slot, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::{BackwardOptions, Gradients, Session};

fn backward(session: &mut Session, problem: u32, table: u32, cotangent: &[f64]) -> Result<Gradients, leastwise::Error> {
    gradients::backward(session, problem, &[(table, cotangent)], false, BackwardOptions::default())
}

/// Central differences of several widths, each extrapolated with that of its half (Richardson 1911). Narrow ones have fewer digits, since
/// a solve leaves some of its values open; wide ones may meet another floor, or a curve's bend: one of them has to agree.
fn agrees(what: &str, found: f64, largest: f64, tolerance: f64, mut at: impl FnMut(f64) -> f64) {
    let mut seen = Vec::new();
    for width in [2e-3, 4e-4, 1e-4, 1e-2] {
        let [wide, narrow] = [width, 0.5 * width].map(|width| (at(width) - at(-width)) / (2.0 * width));
        let expected = narrow + (narrow - wide) / 3.0;
        if (found - expected).abs() <= tolerance * largest.max(expected.abs()) {
            return;
        }
        seen.push(expected);
    }
    panic!("{what}: {found}, not {seen:?} (largest {largest})");
}

fn close(what: &str, found: f64, expected: f64, largest: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * largest, "{what}: {found}, not {expected} (largest {largest})");
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |top: f64, value| top.max(value.abs()))
}

/// A linear function of the solution.
fn cotangent(count: usize) -> Vec<f64> {
    let mut random = Random::new(77);
    (0..count).map(|_| random.between(-1.0, 1.0)).collect()
}

/// The function's value at a solution with these numbers.
fn value(session: &mut Session, net: &Net, numbers: &Numbers, fixed: f64, cotangent: &[f64]) -> f64 {
    session.set_column(net.problem, net.near, 0, Reals::F64(&numbers.targets)).unwrap();
    session.set_weight(net.problem, net.near, Weight::Each(Reals::F64(&numbers.weights))).unwrap();
    session.set_column(net.problem, net.curves, 0, Reals::F64(&numbers.radii)).unwrap();
    session.set_column(net.problem, net.curves, 1, Reals::F64(&numbers.ratios)).unwrap();
    session.set_column(net.problem, net.floors, 0, Reals::F64(&numbers.floors)).unwrap();
    session.write_table(net.problem, net.level, Reals::F64(&[numbers.level]), None).unwrap();
    session.write_table(net.problem, net.x, Reals::F64(&[fixed]), Some(&[FIXED])).unwrap();
    solve(session, net.problem, &tight());
    read(session, net.problem, net.x).iter().zip(cotangent).map(|(x, v)| x * v).sum()
}

/// An unknown of a curve that is fixed.
const FIXED: u32 = 7;

type Dial = (&'static str, fn(&mut Numbers) -> &mut [f64], fn(&Gradients, &Net) -> Vec<f64>);

const DIALS: [Dial; 6] = [
    ("targets", |numbers| &mut numbers.targets, |gradients, net| of_term(gradients, net.near, Some(0))),
    ("weights", |numbers| &mut numbers.weights, |gradients, net| of_term(gradients, net.near, None)),
    ("radii", |numbers| &mut numbers.radii, |gradients, net| of_term(gradients, net.curves, Some(0))),
    ("ratios", |numbers| &mut numbers.ratios, |gradients, net| of_term(gradients, net.curves, Some(1))),
    ("floors", |numbers| &mut numbers.floors, |gradients, net| of_term(gradients, net.floors, Some(0))),
    ("the level", |numbers| std::slice::from_mut(&mut numbers.level), |gradients, net| of_table(gradients, net.level)),
];

#[test]
fn gradients_are_differences_of_whole_solves() {
    let mut session = cpu(Precision::F64);
    for (seed, count) in [(3, 12), (4, 12), (5, 12), (6, 48), (7, 210)] {
        for loss in [None, Some(Loss::cauchy(0.7).unwrap()), Some(Loss::huber(0.3).unwrap())] {
            let what = format!("seed {seed}, {count}, {loss:?}");
            let mut numbers = Numbers::new(seed, count);
            let net = Net::new(&mut session, &numbers, loss);
            session.fix_table(net.problem, net.x, Some(&[FIXED]), None).unwrap();
            let fixed = numbers.start[FIXED as usize];
            let v = cotangent(count);
            value(&mut session, &net, &numbers, fixed, &v);
            let multipliers = session.multipliers(net.problem, net.floors).unwrap();
            let holding = multipliers.iter().filter(|value| **value > 1e-4).count();
            assert!(multipliers.iter().all(|value| *value > 1e-4 || *value < 1e-9), "{what}: a floor only touches: {multipliers:?}");
            let gradients = backward(&mut session, net.problem, net.x, &v).unwrap();
            assert!(gradients.stationary && gradients.distance < 1e-6 && gradients.violation < 1e-10, "{what}: {}", gradients.distance);
            let counts = (gradients.equalities as usize, gradients.redundant, gradients.deficiency, gradients.unknowns as usize);
            assert_eq!(counts, (2 * (count / 3) + holding, 0, 0, count - 1), "{what}");
            assert_eq!(gradients.method, if count > 200 { "sparse" } else { "dense" });
            for (name, values, gradient) in DIALS {
                let found = gradient(&gradients, &net);
                let len = values(&mut numbers).len();
                assert_eq!(found.len(), len, "{what}, {name}");
                // Of many unknowns a few are enough: every number takes four solves.
                let stride = (len / if count > 12 { 3 } else { 6 }).max(1);
                for place in (0..len).step_by(stride) {
                    let own = values(&mut numbers)[place];
                    agrees(&format!("{what}, {name} {place}"), found[place], largest(&found), 1e-4, |by| {
                        values(&mut numbers)[place] = own + by;
                        value(&mut session, &net, &numbers, fixed, &v)
                    });
                    values(&mut numbers)[place] = own;
                }
            }
            let found = of_table(&gradients, net.x);
            let at_fixed = found[FIXED as usize];
            agrees(&format!("{what}, what is fixed"), at_fixed, 0.0, 1e-4, |by| value(&mut session, &net, &numbers, fixed + by, &v));
            assert!(found.iter().enumerate().all(|(k, value)| k == FIXED as usize || *value == 0.0), "{what}");
            // Weights of constraints are those of penalties.
            assert_eq!(of_term(&gradients, net.curves, None), [0.0], "{what}");
            session.free_problem(net.problem);
        }
    }
    assert_eq!(session.counters().bytes_live, 0, "buffers are left");
}

#[test]
fn every_backend_finds_the_same() {
    let mut expected: Option<Vec<f64>> = None;
    for (name, mut session, tolerance) in sessions() {
        let numbers = Numbers::new(3, 24);
        let net = Net::new(&mut session, &numbers, Some(Loss::cauchy(0.7).unwrap()));
        let options = if name.contains("f64") { tight() } else { Default::default() };
        solve(&mut session, net.problem, &options);
        let gradients = backward(&mut session, net.problem, net.x, &cotangent(24)).unwrap();
        assert!(gradients.stationary, "{name}: {}", gradients.distance);
        let expected = expected.get_or_insert_with(|| gradients.values.clone());
        assert_eq!(gradients.values.len(), expected.len(), "{name}");
        for (place, (found, known)) in gradients.values.iter().zip(expected.iter()).enumerate() {
            close(&format!("{name}, value {place}"), *found, *known, largest(expected), tolerance);
        }
        session.free_problem(net.problem);
        assert_eq!(session.counters().bytes_live, 0, "{name}: buffers are left");
    }
}

#[test]
fn redundant_constraints_share_what_one_has() {
    for count in [12, 210] {
        let mut session = cpu(Precision::F64);
        let numbers = Numbers::new(6, count);
        let net = Net::new(&mut session, &numbers, None);
        solve(&mut session, net.problem, &tight());
        let v = cotangent(count);
        let alone = backward(&mut session, net.problem, net.x, &v).unwrap();
        let again = net.curve(&mut session, &numbers, "curves again", -3.0);
        solve(&mut session, net.problem, &tight());
        let both = backward(&mut session, net.problem, net.x, &v).unwrap();
        assert_eq!((both.redundant, both.equalities), (2 * (count as u32 / 3), alone.equalities + 2 * (count as u32 / 3)), "{count}");
        for (term, columns) in [(net.near, &[Some(0), None][..]), (net.floors, &[Some(0)])] {
            for &of in columns {
                let (found, known) = (of_term(&both, term, of), of_term(&alone, term, of));
                found.iter().zip(&known).for_each(|(found, expected)| close("the same", *found, *expected, largest(&known), 1e-6));
            }
        }
        // What both constraints have moves both.
        for of in [0, 1] {
            let known = of_term(&alone, net.curves, Some(of));
            let found = of_term(&both, net.curves, Some(of)).into_iter().zip(of_term(&both, again, Some(of))).map(|(a, b)| a + b);
            found.zip(&known).for_each(|(found, expected)| close("together", found, *expected, largest(&known), 1e-6));
        }
        let (found, known) = (of_table(&both, net.level)[0], of_table(&alone, net.level)[0]);
        close("the level", found, known, known.abs(), 1e-6);
    }
}

/// dL/d(height, arm, three of the targets) of the rotation below: central differences of solutions by Newton's method on the conditions
/// of optimality, over a quaternion's four numbers with |q|² = 1, by a program of its own. Differences of our solves have fewer digits.
const ROTATED: [f64; 7] =
    [1.206_881_564_3, -0.367_733_369_6, 4.525_754_815_8, 7.797_474_851_3, -1.230_529_154_6, 1.474_192_718_6, -2.174_309_316_5];

/// A rotation near others that has to bring one direction to a height: on a manifold, and with columns of a constraint.
#[test]
fn rotations_are_constrained() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let q = session.table_of(problem, "turn", vec![Shape::Quaternion], Reals::F64(&[0.1, 0.2, 0.1, 0.97]), true).unwrap();
    let mut tape = Tape::default();
    let [turn, from, to] = [0, 1, 2].map(|source| tape.input(source));
    let turned = tape.op(QuatRotate, &[turn, from]);
    let outputs = [tape.op(Sub, &[turned, to])];
    let mut random = Random::new(5);
    let mut numbers = |len: usize| (0..len).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f64>>();
    let (from, to, v) = (numbers(12), numbers(12), numbers(4));
    let wide = |name: &str, values| leastwise::problem::Column { name: name.into(), width: 3, shared: false, values: Reals::F64(values) };
    let near = TermSpec {
        name: "near".into(),
        count: 4,
        indices: vec![vec![0; 4]],
        slots: vec![Slot { table: q, column: 0 }],
        columns: vec![wide("from", &from), wide("to", &to)],
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Objective::LeastSquares,
        tape: &tape.words,
        outputs: &outputs,
    };
    let near = session.term(problem, near).unwrap();
    let mut tape = Tape::default();
    let [turn, arm, height] = [0, 1, 2].map(|source| tape.input(source));
    let turned = tape.op(QuatRotate, &[turn, arm]);
    let up = tape.op(Component, &[turned, 1]);
    let outputs = [tape.op(Sub, &[up, height])];
    let (arm, height) = (vec![0.6, 0.3, -0.2], [0.35]);
    let level = TermSpec {
        name: "height".into(),
        count: 1,
        indices: vec![vec![0]],
        slots: vec![Slot { table: q, column: 0 }],
        columns: vec![wide("arm", &arm), column("height", &height)],
        weight: Weight::Shared(2.0),
        loss: None,
        objective: Objective::LeastSquares,
        tape: &tape.words,
        outputs: &outputs,
    };
    let level = session.constraint(problem, level, Relation::Zero).unwrap();
    solve(&mut session, problem, &tight());
    let gradients = backward(&mut session, problem, q, &v).unwrap();
    assert!(gradients.stationary && (gradients.equalities, gradients.unknowns) == (1, 3), "{}", gradients.distance);
    let of_targets = of_term(&gradients, near, Some(1));
    let mut found = of_term(&gradients, level, Some(1));
    found.extend(of_term(&gradients, level, Some(0)));
    found.extend([0, 4, 11].map(|place| of_targets[place]));
    for (found, expected) in found.into_iter().zip(ROTATED) {
        close("a rotation", found, expected, f64::abs(expected), 1e-7);
    }
}

#[test]
fn what_was_not_solved_is_not_stationary() {
    let mut session = cpu(Precision::F64);
    let numbers = Numbers::new(3, 12);
    let net = Net::new(&mut session, &numbers, None);
    let gradients = backward(&mut session, net.problem, net.x, &cotangent(12)).unwrap();
    assert!(!gradients.stationary && gradients.violation > 1e-3, "{}, {}", gradients.distance, gradients.violation);
}
