//! Covariances on Ax = 0: against the first block of the whole inverse of [H Aᵀ; A 0].

use super::{Net, Numbers, sessions, tight};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Reals, Relation, Slot, TermSpec};
use leastwise::session::{Covaried, Progress, Session};
use leastwise::solve::covariance::CovarianceOptions;

pub fn covariance(session: &mut Session, problem: u32, options: CovarianceOptions) -> Result<Covaried, leastwise::Error> {
    let task = session.covariance(problem, options)?;
    loop {
        match session.resume(task, 0.0)? {
            Progress::Yielded | Progress::Partly { .. } => {}
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Covariance(made) => return Ok(*made),
            _ => panic!("no covariance"),
        }
    }
}

pub fn known() -> CovarianceOptions {
    CovarianceOptions { variance: Some(1.0), ..CovarianceOptions::default() }
}

/// Σ of all unknowns of a table, row by row.
pub fn joint(session: &mut Session, of: &Covaried, table: u32, count: usize) -> Vec<f64> {
    let words: Vec<u32> = (0..count as u32).flat_map(|instance| [table, instance]).collect();
    let task = session.covariance_blocks(of.handle, &words, None, "joint", false).unwrap();
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

/// Σ of each unknown alone, which a sparse factor makes together.
pub fn variances(session: &mut Session, of: &Covaried, table: u32, count: usize) -> Vec<f64> {
    let words: Vec<u32> = (0..count as u32).flat_map(|instance| [table, instance]).collect();
    let task = session.covariance_blocks(of.handle, &words, None, "covariance", false).unwrap();
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

/// The inverse of a matrix, by Gauss and Jordan's elimination with pivoting.
pub fn inverse(mut a: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    a.iter_mut().enumerate().for_each(|(k, row)| row.extend((0..n).map(|c| f64::from(u8::from(c == k)))));
    for k in 0..n {
        let pivot = (k..n).max_by(|&r, &s| a[r][k].abs().total_cmp(&a[s][k].abs())).unwrap();
        a.swap(k, pivot);
        let own = std::mem::take(&mut a[k]);
        let own: Vec<f64> = own.iter().map(|value| value / own[k]).collect();
        for row in a.iter_mut().filter(|row| !row.is_empty()) {
            let by = row[k];
            row.iter_mut().zip(&own).for_each(|(value, own)| *value -= by * own);
        }
        a[k] = own;
    }
    a.into_iter().map(|row| row[n..].to_vec()).collect()
}

/// A of the net at x, row by row: of both rows of every curve, and of these floors.
fn rows(numbers: &Numbers, x: &[f64], floors: &[usize]) -> Vec<Vec<f64>> {
    let n = numbers.count;
    let mut all = Vec::new();
    for k in 0..n / 3 {
        let (mut circle, mut line) = (vec![0.0; n], vec![0.0; n]);
        circle[3 * k] = 2.0 * x[3 * k];
        circle[3 * k + 1] = 2.0 * x[3 * k + 1] + 0.5 * x[3 * k + 2];
        circle[3 * k + 2] = 0.5 * x[3 * k + 1];
        line[3 * k + 1] = 1.0;
        line[3 * k + 2] = -numbers.ratios[k];
        all.extend([circle, line]);
    }
    all.extend(floors.iter().map(|&k| (0..n).map(|c| f64::from(u8::from(c == 3 * k))).collect()));
    all
}

/// JᵀWJ of the net at x.
fn model(numbers: &Numbers, x: &[f64]) -> Vec<Vec<f64>> {
    let n = numbers.count;
    let mut h = vec![vec![0.0; n]; n];
    for k in 0..n {
        let next = (k + 1) % n;
        for slopes in [[1.0 + 0.2 * x[next], 0.2 * x[k]], [-0.5, 0.5]] {
            for (a, &of_a) in [k, next].into_iter().zip(&slopes) {
                for (b, &of_b) in [k, next].into_iter().zip(&slopes) {
                    h[a][b] += numbers.weights[k] * of_a * of_b;
                }
            }
        }
    }
    h
}

fn expected(numbers: &Numbers, x: &[f64], floors: &[usize]) -> Vec<f64> {
    let (n, a) = (numbers.count, rows(numbers, x, floors));
    let mut kkt = model(numbers, x);
    kkt.iter_mut().enumerate().for_each(|(k, row)| row.extend(a.iter().map(|of| of[k])));
    kkt.extend(a.iter().map(|of| of.iter().copied().chain(vec![0.0; a.len()]).collect::<Vec<f64>>()));
    inverse(kkt).into_iter().take(n).flat_map(|row| row[..n].to_vec()).collect()
}

pub fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0, |top: f64, value| top.max(value.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance * largest, "{what}: value {place} is {found}, not {expected}");
    }
}

/// Floors that hold with equality.
fn holding(session: &mut Session, net: &Net) -> Vec<usize> {
    let multipliers = session.multipliers(net.problem, net.floors).unwrap();
    multipliers.iter().enumerate().filter(|(_, value)| **value > 1e-4).map(|(k, _)| k).collect()
}

#[test]
fn covariances_are_the_first_block_of_the_inverse() {
    for (name, mut session, tolerance) in sessions() {
        for (seed, count) in [(3, 12), (4, 48), (5, 210)] {
            // A software adapter has seen enough.
            if count > 48 && name == "webgpu" {
                continue;
            }
            let numbers = Numbers::new(seed, count);
            let net = Net::new(&mut session, &numbers, None);
            let options = if name.contains("f64") { tight() } else { Default::default() };
            let report = solve(&mut session, net.problem, &options);
            let what = format!("{name}, {count}");
            assert!(report.feasibility.as_ref().unwrap().violation < 1e-4, "{what}: {}", report.reason);
            let x = read(&mut session, net.problem, net.x);
            let floors = holding(&mut session, &net);
            assert!(!floors.is_empty() && floors.len() < count / 3, "{what}: {floors:?}");
            let expected = expected(&numbers, &x, &floors);
            let made = covariance(&mut session, net.problem, known()).unwrap();
            let summary = &made.summary;
            assert_eq!(summary.method, if count > 200 { "sparse" } else { "dense" }, "{what}");
            let counts = (summary.equalities as usize, summary.redundant, summary.deficiency, summary.residuals as usize);
            assert_eq!(counts, (2 * (count / 3) + floors.len(), 0, 0, 2 * count), "{what}");
            assert!(summary.violation < 1e-4 && summary.violation >= 0.0, "{what}: {}", summary.violation);
            close(&what, &joint(&mut session, &made, net.x, count), &expected, tolerance);
            let own: Vec<f64> = expected.iter().step_by(count + 1).copied().collect();
            close(&what, &variances(&mut session, &made, net.x, count), &own, tolerance);
            session.free_covariance(made.handle);
            session.free_problem(net.problem);
        }
    }
}

#[test]
fn the_variance_is_estimated_with_fewer_unknowns() {
    let mut session = cpu(Precision::F64);
    let numbers = Numbers::new(8, 12);
    let net = Net::new(&mut session, &numbers, None);
    solve(&mut session, net.problem, &tight());
    let rank = (8 + holding(&mut session, &net).len()) as f64;
    let made = covariance(&mut session, net.problem, CovarianceOptions::default()).unwrap();
    let expected = 2.0 * made.summary.cost / (24.0 - (12.0 - rank));
    assert!((made.summary.variance - expected).abs() < 1e-12 * expected, "{}, not {expected}", made.summary.variance);
    // The cost is that of residuals, not of constraints.
    let x = read(&mut session, net.problem, net.x);
    let square = |k: usize| {
        let next = x[(k + 1) % 12];
        numbers.weights[k] * ((x[k] - numbers.targets[k] + 0.2 * x[k] * next).powi(2) + 0.25 * (next - x[k]).powi(2))
    };
    let cost = 0.5 * (0..12).map(square).sum::<f64>();
    assert!((made.summary.cost - cost).abs() < 1e-12 * cost, "{}, not {cost}", made.summary.cost);
}

#[test]
fn redundant_constraints_change_nothing() {
    for count in [12, 210] {
        let mut session = cpu(Precision::F64);
        let numbers = Numbers::new(6, count);
        let net = Net::new(&mut session, &numbers, None);
        let again = net.curve(&mut session, &numbers, "curves again", -3.0);
        solve(&mut session, net.problem, &tight());
        let x = read(&mut session, net.problem, net.x);
        let floors = holding(&mut session, &net);
        let made = covariance(&mut session, net.problem, known()).unwrap();
        let threes = count as u32 / 3;
        assert_eq!((made.summary.equalities, made.summary.redundant), (4 * threes + floors.len() as u32, 2 * threes), "{count}");
        close(&format!("{count}"), &joint(&mut session, &made, net.x, count), &expected(&numbers, &x, &floors), 1e-8);
        // One that is lifted is none.
        session.set_enabled(net.problem, again, false).unwrap();
        let made = covariance(&mut session, net.problem, known()).unwrap();
        assert_eq!((made.summary.equalities, made.summary.redundant), (2 * threes + floors.len() as u32, 0), "{count}");
    }
}

/// Unknowns a, b, … with residuals a − tₐ of these, and one linear equality.
fn line(session: &mut Session, targets: &[(u32, f64)], start: &[f64], slopes: &[f64], constant: f64) -> (u32, u32, u32) {
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(start), true).unwrap();
    let mut tape = Tape::default();
    let [a, target] = [0, 1].map(|source| tape.input(source));
    let outputs = [tape.op(Sub, &[a, target])];
    let values: Vec<f64> = targets.iter().map(|target| target.1).collect();
    let spec = TermSpec {
        indices: vec![targets.iter().map(|target| target.0).collect()],
        slots: vec![Slot { table: x, column: 0 }],
        columns: vec![super::column("target", &values)],
        tape: &tape.words,
        outputs: &outputs,
        ..plain("near", targets.len() as u32)
    };
    session.term(problem, spec).unwrap();
    let mut tape = Tape::default();
    let mut sum = tape.literal(-constant);
    for (k, &slope) in (0..).zip(slopes) {
        let (value, slope) = (tape.input(k), tape.literal(slope));
        let product = tape.op(Mul, &[value, slope]);
        sum = tape.op(Add, &[sum, product]);
    }
    let outputs = [sum];
    let spec = TermSpec {
        indices: (0..slopes.len() as u32).map(|k| vec![k]).collect(),
        slots: (0..slopes.len() as u32).map(|column| Slot { table: x, column }).collect(),
        tape: &tape.words,
        outputs: &outputs,
        ..plain("line", 1)
    };
    let line = session.constraint(problem, spec, Relation::Zero).unwrap();
    (problem, x, line)
}

#[test]
fn what_no_residual_touches_is_known_through_a_constraint() {
    let mut session = cpu(Precision::F64);
    // b = 3 − 2a, of which nothing else is known.
    let (problem, x, _) = line(&mut session, &[(0, 1.0)], &[0.0, 0.0], &[2.0, 1.0], 3.0);
    solve(&mut session, problem, &tight());
    let made = covariance(&mut session, problem, known()).unwrap();
    close("b = 3 − 2a", &joint(&mut session, &made, x, 2), &[1.0, -2.0, -2.0, 4.0], 1e-12);
    // A third unknown that the sum is of as well leaves a direction that nothing tells.
    let (problem, x, _) = line(&mut session, &[(0, 1.0)], &[0.0; 3], &[2.0, 1.0, 1.0], 3.0);
    solve(&mut session, problem, &tight());
    match covariance(&mut session, problem, known()) {
        Err(leastwise::Error::RankDeficient(said)) => {
            assert!(said.contains("1 direction") && said.contains("\"x\" (2 instances: 1, 2)"), "{said}")
        }
        _ => panic!("it has a covariance"),
    }
    let made = covariance(&mut session, problem, CovarianceOptions { pseudo_inverse: true, ..known() }).unwrap();
    // Of all that agree on what is told, the least: b and c share what a leaves.
    assert_eq!(made.summary.deficiency, 1);
    let found = variances(&mut session, &made, x, 3);
    close("shared", &found, &[1.0, 1.0, 1.0], 1e-10);
}

#[test]
fn limits_hold_by_the_gradient_of_the_lagrangian() {
    let mut session = cpu(Precision::F64);
    // Alone, a residual pulls a down from its limit; with a + b = 4, it is pushed against it.
    let (problem, x, _) = line(&mut session, &[(0, 1.0), (1, 1.0)], &[0.0, 0.0], &[1.0, 1.0], 4.0);
    session.bound_table(problem, x, None, Some(Reals::F64(&[1.5, f64::INFINITY]))).unwrap();
    solve(&mut session, problem, &tight());
    let values = read(&mut session, problem, x);
    assert!((values[0] - 1.5).abs() < 1e-9 && (values[1] - 2.5).abs() < 1e-9, "{values:?}");
    let made = covariance(&mut session, problem, known()).unwrap();
    assert_eq!((made.summary.at_limits, made.summary.fixed, made.summary.unknowns), (1, 0, 1));
    close("held", &joint(&mut session, &made, x, 2), &[0.0; 4], 1e-12);
    session.fix_table(problem, x, Some(&[1]), None).unwrap();
    let made = covariance(&mut session, problem, known()).unwrap();
    // A row of what may not move at all is no row of its own.
    assert_eq!((made.summary.fixed, made.summary.equalities, made.summary.redundant), (1, 1, 1));
}

#[test]
fn constraints_alone_have_no_covariance() {
    let mut session = cpu(Precision::F64);
    let (problem, _, line) = line(&mut session, &[(0, 1.0)], &[0.0, 0.0], &[2.0, 1.0], 3.0);
    session.set_enabled(problem, line - 1, false).unwrap();
    assert!(matches!(session.covariance(problem, known()), Err(leastwise::Error::EmptyProblem(_))));
}
