//! Where all is held: (JᵀWJ)⁻¹ by either method.

use crate::covariance::net::{Net, inverse};
use crate::covariance::{all, blocks, close, covariance, known, sessions};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::problem::Reals;
use leastwise::session::Session;
use leastwise::solve::covariance::CovarianceOptions;

/// Few unknowns, and many.
const SMALL: [(u32, usize); 2] = [(9, 2), (5, 3)];
const LARGE: [(u32, usize); 3] = [(60, 2), (45, 3), (20, 1)];

fn check(name: &str, session: &mut Session, net: &Net, kept: &[bool], method: &str, tolerance: f64) {
    let expected = inverse(&net.matrix, kept);
    let made = covariance(session, net.problem, &known()).unwrap();
    let summary = &made.summary;
    assert_eq!((summary.method, summary.deficiency, summary.estimated), (method, 0, false), "{name}");
    assert_eq!((summary.residuals, summary.unknowns as usize), (net.rows, kept.iter().filter(|kept| **kept).count()), "{name}");
    close(name, &[2.0 * summary.cost], &[net.squares], tolerance);
    let tables: Vec<(u32, u32)> = net.tables.iter().map(|&(table, count, _)| (table, count)).collect();
    let everything = all(&tables);
    let place = |&(table, instance): &(u32, u32)| (net.tables.iter().position(|known| known.0 == table).unwrap(), instance);
    let diagonal = |of: &[(u32, u32)]| of.iter().flat_map(|one| net.block(&expected, place(one), place(one))).collect::<Vec<f64>>();
    // Some columns are solved for, all are taken of the factor's places.
    for which in [&everything[3..5], &everything[everything.len() - 1..], &everything, &everything[3..5]] {
        close(name, &blocks(session, &made, which, None, "covariance"), &diagonal(which), tolerance);
    }
    let errors = blocks(session, &made, &everything, None, "errors");
    let roots: Vec<f64> = (0..net.values.len()).map(|k| expected[k][k].sqrt()).collect();
    close(name, &errors, &roots, tolerance);
    let some: Vec<(u32, u32)> = everything.iter().copied().step_by(7).collect();
    let joint = blocks(session, &made, &some, None, "joint");
    let scalars: Vec<usize> = some
        .iter()
        .map(place)
        .flat_map(|(table, instance)| net.first(table, instance)..net.first(table, instance) + net.tables[table].2)
        .collect();
    let whole: Vec<f64> = scalars.iter().flat_map(|&r| scalars.iter().map(|&c| expected[r][c]).collect::<Vec<f64>>()).collect();
    close(name, &joint, &whole, tolerance);
    let correlation = |r: usize, c: usize| {
        let size = roots[r] * roots[c];
        if r == c {
            1.0
        } else if size > 0.0 {
            expected[r][c] / size
        } else {
            0.0
        }
    };
    let ratios: Vec<f64> = scalars.iter().flat_map(|&r| scalars.iter().map(|&c| correlation(r, c)).collect::<Vec<f64>>()).collect();
    close(name, &blocks(session, &made, &some, None, "joint-correlation"), &ratios, 10.0 * tolerance);
    let others: Vec<(u32, u32)> = some.iter().rev().copied().collect();
    let crossed: Vec<f64> = some.iter().zip(&others).flat_map(|(row, column)| net.block(&expected, place(row), place(column))).collect();
    close(name, &blocks(session, &made, &some, Some(&others), "covariance"), &crossed, tolerance);
    session.free_covariance(made.handle);
}

#[test]
fn blocks_are_those_of_the_whole_inverse() {
    let seed = fresh_seed();
    for (name, mut session, tolerance) in sessions() {
        for (tables, method, residuals) in [(&SMALL[..], "dense", 30), (&LARGE, "sparse", 90)] {
            for robust in [false, true] {
                let net = Net::new(&mut session, &mut Random::new(seed), tables, residuals, robust);
                let what = format!("{name}, {method}, robust: {robust}, seed {seed}");
                check(&what, &mut session, &net, &vec![true; net.values.len()], method, 10.0 * tolerance);
            }
        }
    }
}

#[test]
fn what_is_fixed_or_held_by_a_limit_does_not_vary() {
    for (name, mut session, tolerance) in sessions() {
        for (tables, method, residuals) in [(&SMALL[..], "dense", 30), (&LARGE, "sparse", 90)] {
            let net = Net::new(&mut session, &mut Random::new(11), tables, residuals, false);
            let mut kept = vec![true; net.values.len()];
            session.fix_table(net.problem, net.tables[1].0, Some(&[2, 3]), None).unwrap();
            session.fix_table(net.problem, net.tables[0].0, Some(&[1]), Some(&[1])).unwrap();
            (net.first(1, 2)..net.first(1, 4)).for_each(|unknown| kept[unknown] = false);
            kept[net.first(0, 1) + 1] = false;
            check(name, &mut session, &net, &kept, method, 10.0 * tolerance);
            let made = covariance(&mut session, net.problem, &known()).unwrap();
            assert_eq!((made.summary.fixed, made.summary.at_limits), (7, 0), "{name}");

            // A limit where a component is holds it if the cost falls beyond.
            let (table, count, width) = net.tables[0];
            let unknowns = count as usize * width;
            let mut moved = |by: f64| {
                let mut values = net.values[..unknowns].to_vec();
                values[4] += by;
                session.write_table(net.problem, table, Reals::F64(&values), None).unwrap();
                covariance(&mut session, net.problem, &known()).unwrap().summary.cost
            };
            let is_uphill = moved(1e-2) > moved(-1e-2);
            moved(0.0);
            let only = |limit: f64, none: f64| (0..unknowns).map(|k| if k == 4 { limit } else { none }).collect::<Vec<f64>>();
            let at = net.values[4];
            let (lower, upper) = (only(if is_uphill { at } else { -9.0 }, -99.0), only(if is_uphill { 9.0 } else { at }, 99.0));
            session.bound_table(net.problem, table, Some(Reals::F64(&lower)), Some(Reals::F64(&upper))).unwrap();
            kept[4] = false;
            check(name, &mut session, &net, &kept, method, 10.0 * tolerance);
            let made = covariance(&mut session, net.problem, &known()).unwrap();
            assert_eq!((made.summary.fixed, made.summary.at_limits), (7, 1), "{name}");
        }
    }
}

#[test]
fn the_variance_is_estimated_from_what_is_left_over() {
    let mut session = cpu(Precision::F64);
    let net = Net::new(&mut session, &mut Random::new(3), &SMALL, 30, false);
    let [one, estimated, four] = [Some(1.0), None, Some(4.0)].map(|variance| {
        let made = covariance(&mut session, net.problem, &CovarianceOptions { variance, ..CovarianceOptions::default() }).unwrap();
        let values = blocks(&mut session, &made, &all(&[(net.tables[0].0, 9)]), None, "covariance");
        (made.summary, values)
    });
    let expected = net.squares / (net.rows as f64 - net.values.len() as f64);
    close("variance", &[estimated.0.variance], &[expected], 1e-12);
    assert!(estimated.0.estimated && !four.0.estimated);
    close("estimated", &estimated.1, &one.1.iter().map(|value| expected * value).collect::<Vec<f64>>(), 1e-12);
    close("given", &four.1, &one.1.iter().map(|value| 4.0 * value).collect::<Vec<f64>>(), 1e-12);
}

#[test]
fn the_same_bits_come_again_and_no_buffer_is_left() {
    for (name, mut session, _) in sessions() {
        let net = Net::new(&mut session, &mut Random::new(5), &LARGE, 90, true);
        let everything = all(&[(net.tables[0].0, 60), (net.tables[1].0, 45)]);
        let mut run = || {
            let made = covariance(&mut session, net.problem, &known()).unwrap();
            let values = blocks(&mut session, &made, &everything, None, "covariance");
            (values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>(), session.counters().bytes_live)
        };
        let first = run();
        assert_eq!(first, run(), "{name}");
        session.free_problem(net.problem);
        assert_eq!(session.counters().bytes_live, 0, "{name}");
    }
}

#[test]
fn a_solver_goes_on_as_if_nothing_had_been_asked() {
    let run = |asked: bool| {
        let mut session = cpu(Precision::F64);
        let net = Net::new(&mut session, &mut Random::new(6), &LARGE, 90, true);
        let solver = session.solver(net.problem, &leastwise::solve::Options::default()).unwrap();
        let mut costs = Vec::new();
        for _ in 0..4 {
            costs.push(step(&mut session, solver).cost.to_bits());
            if asked {
                covariance(&mut session, net.problem, &known()).unwrap();
            }
        }
        costs
    };
    assert_eq!(run(true), run(false));
}
