//! Digits of covariances and gradients beside constraints whose numbers are far apart, against answers in closed form.

use super::corners::{Body, Unknowns, numbers};
use super::covariance::{covariance, inverse, joint, known, variances};
use super::tight;
use crate::support::gradients::{backward, of_term};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Reals, Relation};
use leastwise::session::{BackwardOptions, Progress};
use leastwise::solve::covariance::{Equalities, EqualityRow};

fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{what}: {found}, not {expected}");
}

/// k(qx₀ + x₁ − s)
fn steep(tape: &mut Tape, x: &[u32]) -> Vec<u32> {
    let turned = tape.op(Mul, &[x[0], x[3]]);
    let sum = tape.op(Add, &[turned, x[1]]);
    let off = tape.op(Sub, &[sum, x[4]]);
    vec![tape.op(Mul, &[x[2], off])]
}

/// ½‖x − t‖² with k(x₀ + x₁ − s) = 0 and x₀ + x₂ = b, which share x₀: with A = (1 1 0; 1 0 1), dx/d(s, b) = Aᵀ(AAᵀ)⁻¹ = ⅓(1 1; 2 −1; −1 2).
#[test]
fn a_row_of_gentle_slopes_keeps_its_digits_and_others_theirs() {
    let v = [0.3, -0.2, 0.7];
    for (count, k) in [3, 210].into_iter().flat_map(|count| [1.0, 1e-3, 1e-6, 1e-8, 1e-12, 1e6].map(|k| (count, k))) {
        let mut session = cpu(Precision::F64);
        let targets = [0.4, 0.9, -0.3];
        let b = 0.5;
        // x = t + Aᵀ(AAᵀ)⁻¹((s, b) − At)
        let [off, other] = [1.0 - (targets[0] + targets[1]), b - (targets[0] + targets[2])];
        let x = [targets[0] + (off + other) / 3.0, targets[1] + (2.0 * off - other) / 3.0, targets[2] + (2.0 * other - off) / 3.0];
        let rest = numbers(20, count - 3, -1.0, 1.0);
        let [start, targets] = [&x[..], &targets].map(|first| [first, &rest].concat());
        let unknowns = Unknowns::new(&mut session, &start);
        let seen = unknowns.near(&mut session, &targets);
        let of = [vec![0], vec![1]];
        let gentle = unknowns.equality(&mut session, &of, &[("k", &[k]), ("q", &[1.0]), ("s", &[1.0])], steep);
        let plain: Body = |tape, x| {
            let sum = tape.op(Add, &x[..2]);
            vec![tape.op(Sub, &[sum, x[2]])]
        };
        let plain = unknowns.equality(&mut session, &[vec![0], vec![2]], &[("b", &[b])], plain);
        let cotangent = [&v[..], &vec![0.0; count - 3]].concat();
        let gradients = unknowns.backward(&mut session, &cotangent);
        let what = format!("{count}, k = {k:e}");
        assert_eq!(gradients.method, if count > 200 { "sparse" } else { "dense" });
        assert!(gradients.stationary && (gradients.equalities, gradients.redundant) == (2, 0), "{what}: {}", gradients.distance);
        near(&format!("{what}, dL/db"), of_term(&gradients, plain, Some(0))[0], (v[0] - v[1] + 2.0 * v[2]) / 3.0, 1e-12);
        near(&format!("{what}, dL/ds"), of_term(&gradients, gentle, Some(2))[0], (v[0] + 2.0 * v[1] - v[2]) / 3.0, 1e-12);
        // x = t + A⁺((s, b) − At), and qx₀ in the first row: Δq is x₀Δs, besides what turning A does to t − x.
        let pull: Vec<f64> = (0..3).map(|k| targets[k] - x[k]).collect();
        let projected = (v[0] - v[1] - v[2]) / 3.0;
        let multiplier = pull[1];
        let of_q = -x[0] * (v[0] + 2.0 * v[1] - v[2]) / 3.0 - projected * multiplier;
        near(&format!("{what}, dL/dq"), of_term(&gradients, gentle, Some(1))[0], of_q, 1e-12);
        let of_targets = of_term(&gradients, seen, Some(0));
        (0..3).for_each(|k| near(&format!("{what}, dL/dt"), of_targets[k], [1.0, -1.0, -1.0][k] * projected, 1e-12));
    }
}

/// The same of an inequality that holds: x = t − a (a·t − s)/(a·a) of a = (q, 1).
#[test]
fn inequalities_of_gentle_slopes_keep_their_digits() {
    let (t, v, q, s) = ([1.4, 0.9], [0.3, -0.2], 1.3, 1.0);
    let (square, over, along) = (q * q + 1.0, q * t[0] + t[1] - s, q * v[0] + v[1]);
    let of_s = along / square;
    let of_q = -(v[0] * over + along * t[0]) / square + 2.0 * q * along * over / (square * square);
    for (count, k) in [2, 210].into_iter().flat_map(|count| [1.0, 1e-4, 1e-8].map(|k| (count, k))) {
        let mut session = cpu(Precision::F64);
        let rest = numbers(21, count - 2, -1.0, 1.0);
        let [start, targets] = [[0.0, 0.0], t].map(|first| [&first[..], &rest].concat());
        let unknowns = Unknowns::new(&mut session, &start);
        unknowns.near(&mut session, &targets);
        let data: super::corners::Data = &[("k", &[k]), ("q", &[q]), ("s", &[s])];
        let below = unknowns.constraint(&mut session, Relation::AtMostZero, 1.0 / (k * k), &[vec![0], vec![1]], data, steep);
        solve(&mut session, unknowns.problem, &tight());
        let gradients = unknowns.backward(&mut session, &[&v[..], &vec![0.0; count - 2]].concat());
        let what = format!("{count}, k = {k:e}");
        assert!(gradients.stationary && gradients.equalities == 1, "{what}: {}, {}", gradients.equalities, gradients.distance);
        near(&format!("{what}, dL/ds"), of_term(&gradients, below, Some(2))[0], of_s, 1e-12);
        near(&format!("{what}, dL/dq"), of_term(&gradients, below, Some(1))[0], of_q, 1e-12);
        // c has the digits of its own size.
        assert!(gradients.violation <= 1e-15 * k, "{what}: {}", gradients.violation);
    }
}

/// x₃ₖ = εₖx₃ₖ₊₁ in a chain of the latter: what varies little varies as the other does.
#[test]
fn small_variances_are_not_rounding() {
    let chains = [1e-4, -1e-6, 1e-8, 3e-8, 1e-10, -1e-11];
    for count in [18usize, 210] {
        let mut session = cpu(Precision::F64);
        let start = vec![0.0; count];
        let unknowns = Unknowns::new(&mut session, &start);
        unknowns.near(&mut session, &start);
        let every = |first: u32, len: u32| (0..len).map(|k| 3 * k + first).collect::<Vec<u32>>();
        unknowns.residual(&mut session, &[every(1, 5), every(4, 5)], &[], |tape, x| vec![tape.op(Sub, x)]);
        unknowns.equality(&mut session, &[every(0, 6), every(1, 6)], &[("k", &chains)], |tape, x| {
            let part = tape.op(Mul, &[x[1], x[2]]);
            vec![tape.op(Sub, &[x[0], part])]
        });
        // JᵀWJ of x₃ₖ₊₁ alone.
        let ends = |k: usize| if k == 0 || k == 5 { 1.0 } else { 2.0 };
        let entry = |r: usize, c: usize| match r.abs_diff(c) {
            0 => 1.0 + chains[r] * chains[r] + ends(r),
            1 => -1.0,
            _ => 0.0,
        };
        let of_chain = inverse((0..6).map(|r| (0..6).map(|c| entry(r, c)).collect()).collect());
        let made = covariance(&mut session, unknowns.problem, known()).unwrap();
        assert_eq!(made.summary.method, if count > 200 { "sparse" } else { "dense" });
        let whole = joint(&mut session, &made, unknowns.x, count);
        let alone = variances(&mut session, &made, unknowns.x, count);
        let slope = |k: usize, of: usize| if of == 0 { chains[k] } else { 1.0 };
        for (r, c) in (0..18).flat_map(|r| (0..18).map(move |c| (r, c))).filter(|(r, c)| r % 3 < 2 && c % 3 < 2) {
            let by = slope(r / 3, r % 3) * slope(c / 3, c % 3);
            near(&format!("{count}: {r}, {c}"), whole[r * count + c], by * of_chain[r / 3][c / 3], 1e-4);
        }
        for k in 0..18 {
            let expected = if k % 3 == 2 { 1.0 } else { slope(k / 3, k % 3).powi(2) * of_chain[k / 3][k / 3] };
            near(&format!("{count}: {k}"), alone[k], expected, 1e-4);
        }
    }
}

/// The limit: a deviation of less than 10⁻¹³ of what it would be is none.
#[test]
fn what_varies_next_to_nothing_is_held() {
    let mut session = cpu(Precision::F64);
    let unknowns = Unknowns::new(&mut session, &[0.0; 210]);
    unknowns.near(&mut session, &[0.0; 210]);
    unknowns.equality(&mut session, &[vec![0], vec![1]], &[("k", &[1e-15])], |tape, x| {
        let part = tape.op(Mul, &[x[1], x[2]]);
        vec![tape.op(Sub, &[x[0], part])]
    });
    let made = covariance(&mut session, unknowns.problem, known()).unwrap();
    assert_eq!(joint(&mut session, &made, unknowns.x, 1), [0.0]);
}

/// What structure alone tells: one row for one unknown, then one for what is left; as many rows as unknowns; and nothing of others.
#[test]
fn rows_hold_by_their_structure() {
    let row = |entries: &[(u32, f64)]| EqualityRow {
        term: 0,
        place: 0,
        entries: entries.to_vec(),
        value: 0.0,
        scale: 1.0,
        stiffness: 1.0,
        multiplier: 0.0,
        is_inequality: false,
    };
    let rows = [
        row(&[(0, 1.0), (1, 2.0)]),
        row(&[(1, -1e-9)]),
        row(&[(2, 1.0), (3, 1.0)]),
        row(&[(0, 1.0), (2, 1.0), (3, -1.0)]),
        row(&[(4, 1.0), (5, 1.0), (0, 3.0)]),
        row(&[(6, 1.0)]),
        row(&[(6, 1.0), (7, 1e-15)]),
        row(&[]),
    ];
    let all = Equalities { rows: rows.to_vec(), ..Equalities::default() };
    let held = |pivots: &[usize]| {
        let held = all.held(pivots, 9);
        (0..9).filter(|&unknown| held[unknown]).collect::<Vec<usize>>()
    };
    assert_eq!(held(&[6, 4, 3, 2, 1, 0]), [0, 1, 2, 3]);
    assert_eq!(held(&[0, 2, 3, 5]), [6]);
    // Rows that depend on others hold nothing more.
    assert_eq!(held(&[0, 1, 5]), [0, 1, 6]);
    assert_eq!(held(&[5, 6]), [6, 7]);
    assert_eq!(held(&[]), [0usize; 0]);
}

/// Slices of work that all variances take beside a sparse factor: no more where unknowns are held than where they aren't.
#[test]
fn what_is_held_takes_no_work() {
    let (count, held) = (1200u32, 400u32);
    let slices = |rows: [Vec<u32>; 2], body: Body| {
        let mut session = cpu(Precision::F64);
        let start = vec![1.0; count as usize];
        let unknowns = Unknowns::new(&mut session, &start);
        unknowns.near(&mut session, &start);
        unknowns.residual(&mut session, &[(0..count - 1).collect(), (1..count).collect()], &[], |tape, x| vec![tape.op(Sub, x)]);
        unknowns.equality(&mut session, &rows, &[], body);
        let made = covariance(&mut session, unknowns.problem, known()).unwrap();
        assert_eq!((made.summary.method, made.summary.equalities), ("sparse", held));
        let words: Vec<u32> = (0..count).flat_map(|instance| [unknowns.x, instance]).collect();
        let task = session.covariance_blocks(made.handle, &words, None, "covariance", false).unwrap();
        let mut slices = 0;
        loop {
            match session.resume(task, 0.0).unwrap() {
                Progress::Values(values) => return (slices, values),
                _ => slices += 1,
            }
        }
    };
    let (first, second) = ((0..held).map(|k| 3 * k).collect::<Vec<u32>>(), (0..held).map(|k| 3 * k + 1).collect::<Vec<u32>>());
    // x₃ₖ = 1, and x₃ₖ = x₃ₖ₊₁, which holds nothing.
    let (free, variances) = slices([first.clone(), second.clone()], |tape, x| vec![tape.op(Sub, x)]);
    assert!(variances.iter().all(|variance| *variance > 0.0));
    let (of_held, variances) = slices([first, second], |tape, x| {
        let one = tape.literal(1.0);
        vec![tape.op(Sub, &[x[0], one])]
    });
    assert!(variances.iter().enumerate().all(|(k, variance)| (*variance == 0.0) == (k % 3 == 0)));
    assert!(of_held <= free + 1, "{of_held} slices, not {free}");
}

/// c that overflows to −∞ where its slope is 1, and ln x below 0, with λ of a solve before.
#[test]
fn constraints_that_are_infinite_are_named() {
    let overflow: Body = |tape, x| {
        let (one, factors) = (tape.literal(1.0), tape.op(Mul, &[x[1], x[2]]));
        let off = tape.op(Sub, &[x[0], one]);
        let large = tape.op(Mul, &[off, x[3]]);
        let small = tape.op(Mul, &[large, x[4]]);
        vec![tape.op(Mul, &[small, factors])]
    };
    let logarithm: Body = |tape, x| {
        let (value, factors) = (tape.op(Log, &[x[0]]), tape.op(Mul, &[x[1], x[2]]));
        vec![tape.op(Mul, &[value, factors])]
    };
    let cases = [(overflow, -1e20, "-inf"), (logarithm, -1.0, "")];
    for (relation, (body, place, value)) in
        [Relation::AtMostZero, Relation::AtLeastZero].into_iter().flat_map(|of| cases.map(|case| (of, case)))
    {
        let mut session = cpu(Precision::F64);
        let unknowns = Unknowns::new(&mut session, &[0.5, 0.5]);
        unknowns.near(&mut session, &[0.5, 3.0]);
        let sign = if relation == Relation::AtMostZero { 1.0 } else { -1.0 };
        let data: super::corners::Data =
            &[("sign", &[sign, sign]), ("one", &[1.0, 1.0]), ("large", &[1e300, 1e300]), ("small", &[1e-300, 1e-300])];
        let of = unknowns.constraint(&mut session, relation, 1.0, &[vec![0, 1]], data, body);
        solve(&mut session, unknowns.problem, &tight());
        let multipliers = session.multipliers(unknowns.problem, of).unwrap();
        assert!(multipliers[0] == 0.0 && multipliers[1] > 1.0, "{multipliers:?}");
        session.write_table(unknowns.problem, unknowns.x, Reals::F64(&[0.5, place]), None).unwrap();
        let of_gradients = backward(&mut session, unknowns.problem, &[(unknowns.x, &[1.0, 1.0])], false, BackwardOptions::default());
        let of_covariance = covariance(&mut session, unknowns.problem, known());
        for error in [of_gradients.err(), of_covariance.err()] {
            let error = error.unwrap_or_else(|| panic!("{relation:?} at {place} is no error"));
            let said = error.to_string();
            assert!(error.code() == "non-finite" && error.term() == Some("constraint") && said.contains("instance 1"), "{said}");
            let value = if sign < 0.0 { value.trim_start_matches('-') } else { value };
            assert!(!said.contains("column") && said.ends_with(value) || value.is_empty(), "{said}");
        }
    }
}
