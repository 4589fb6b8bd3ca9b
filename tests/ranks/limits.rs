//! Limits of variables and fixed components over ranks, against one device: values, active sets, bits, bytes, edits.

use super::scenes::{Alone, Declare, IDLE, Made, boxes, free_net, limited_bundle, net, options, ranked};
use super::solves::{Scene, alone, by_ranks, check, farthest, follows_the_model};
use super::{bits, on_all};
use crate::support::*;
use leastwise::Error;
use leastwise::collective::Fault;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, DeviceError, Limits, Precision};
use leastwise::problem::{Reals, Shape};
use leastwise::ranks::RankedProblem;

#[test]
fn a_net_in_boxes_comes_to_the_same_by_one_to_four_ranks() {
    check("net", (net, net), Precision::F64, [1e-9, 1e-5, 1.35]);
    check("net in f32", (net, net), Precision::F32, [1e-4, 1e-2, 1.35]);
}

#[test]
fn a_bundle_in_boxes_with_a_focal_length_that_all_share_comes_to_the_same() {
    check("bundle", (limited_bundle, limited_bundle), Precision::F64, [1e-8, 1e-4, 1.35]);
}

/// Components of the net that are at a limit.
fn active(values: &[f64], lower: &[f64], upper: &[f64]) -> Vec<usize> {
    (0..values.len()).filter(|at| values[*at] == lower[*at] || values[*at] == upper[*at]).collect()
}

#[test]
fn every_rank_has_the_active_set_of_one_device_with_the_bits_of_the_limits() {
    let (lower, upper) = boxes();
    for precision in [Precision::F64, Precision::F32] {
        let (report, values) = alone(net, precision, &options());
        let expected = active(&values[0], &lower, &upper);
        assert!(expected.len() > values[0].len() / 10, "only {} limits bind", expected.len());
        assert!(report.moved_into_bounds > 2 * IDLE, "{} begin outside of their limits", report.moved_into_bounds);
        for size in 1..=4 {
            let found = on_all(size, |ranks| {
                let mut problem = ranked(precision, ranks);
                let made = net(&mut problem);
                let report = problem.solve(&options()).unwrap();
                let present = problem.read_present(made.tables[0]).unwrap();
                (report, present, problem.read(made.tables[0]).unwrap())
            });
            let mut copies = 0;
            for (of_rank, (rows, present), all) in &found {
                // Fixed components keep their values, inside or not.
                for (at, value) in all.iter().enumerate().filter(|(at, _)| ![15, 151, 299].contains(at)) {
                    assert!(lower[at] <= *value && *value <= upper[at], "component {at} is {value}, by {size} ranks");
                }
                assert_eq!(active(all, &lower, &upper), expected, "{size} ranks, {precision:?}");
                for (row, values) in rows.iter().zip(present.chunks(2)) {
                    assert_eq!(bits(values), bits(&all[2 * *row as usize..][..2]), "row {row} by {size} ranks");
                }
                copies += rows.len();
                let found = &of_rank.report;
                assert_eq!(found.moved_into_bounds, report.moved_into_bounds, "{size} ranks, {precision:?}");
                // The first steps, before rounding has come far, promise and gain what those of one device do.
                for (found, step) in found.iterations.iter().zip(&report.iterations).take(2) {
                    let near = |found: f64, step: f64, by: f64| (found - step).abs() <= by * step.abs();
                    let by = if precision == Precision::F64 { 1e-9 } else { 1e-3 };
                    assert!(near(found.gradient_norm, step.gradient_norm, by), "{found:?} and {step:?}");
                    assert!(near(found.gain_ratio, step.gain_ratio, 10.0 * by), "{found:?} and {step:?}");
                    assert!(near(found.step_norm, step.step_norm, 10.0 * by), "{found:?} and {step:?}");
                }
            }
            assert_eq!(copies > values[0].len() / 2, size > 1, "{copies} rows by {size} ranks");
        }
    }
}

/// Ranks with a partial sum for few elements: those of copies lie behind several that count.
#[test]
fn partial_sums_of_copies_are_left_out_where_there_are_many() {
    let (report, values) = alone(net, Precision::F64, &options());
    let limits = Limits { elements_per_lane: 1, ..Limits::SMALL };
    for size in [2, 3] {
        let found = on_all(size, |ranks| {
            let mut problem = RankedProblem::new(Device::Cpu(CpuDevice::new(Precision::F64, limits)), ranks).unwrap();
            let made = net(&mut problem);
            let found = problem.solve(&options()).unwrap();
            (found, problem.read(made.tables[0]).unwrap())
        });
        for (found, of_rank) in &found {
            assert!(found.exchanged.partials > 4, "{:?}", found.exchanged);
            assert_eq!(found.report.moved_into_bounds, report.moved_into_bounds);
            assert!((found.report.cost - report.cost).abs() < 1e-9 * report.cost, "{} and {}", found.report.cost, report.cost);
            assert!(farthest(std::slice::from_ref(of_rank), &values) < 1e-5);
            let [step, expected] = [&found.report, &report].map(|report| report.iterations[1]);
            assert!((step.gain_ratio - expected.gain_ratio).abs() < 1e-7, "{step:?} and {expected:?}");
        }
    }
}

/// The bytes of a solve with limits are those of the model in docs/internals/RANKS.md, to the byte.
#[test]
fn what_a_step_with_limits_exchanges_is_the_model() {
    for exchanged in follows_the_model(net, 3, &options()).into_iter().chain(follows_the_model(limited_bundle, 2, &options())) {
        assert!(exchanged.limited && exchanged.start() == exchanged.partials, "{exchanged:?}");
    }
}

/// Solves without limits, within boxes, with one side of them lifted, and with none again.
fn change_limits<P: Declare>(of: &mut P, mut solve: impl FnMut(&mut P, &Made) -> (f64, u32, Vec<f64>)) -> Vec<(f64, u32, Vec<f64>)> {
    let made = free_net(of);
    let (lower, upper) = boxes();
    let mut found = vec![solve(of, &made)];
    of.bound(made.tables[0], Some(&lower), Some(&upper));
    found.push(solve(of, &made));
    of.bound(made.tables[0], None, Some(&[f64::INFINITY]));
    found.push(solve(of, &made));
    of.bound(made.tables[0], Some(&[f64::NEG_INFINITY, 0.25]), None);
    found.push(solve(of, &made));
    found
}

#[test]
fn limits_change_between_solves_as_on_one_device() {
    let expected = change_limits(&mut Alone::new(Precision::F64), |of, made| {
        let report = solve(&mut of.session, of.problem, &options());
        (report.cost, report.moved_into_bounds, read(&mut of.session, of.problem, made.tables[0]))
    });
    assert!(expected[1].1 > 0 && expected[1].0 > 1.1 * expected[0].0 && expected[2].0 < expected[1].0, "boxes bind, and let go");
    for size in [1, 3] {
        let found = on_all(size, |ranks| {
            change_limits(&mut ranked(Precision::F64, ranks), |problem, made| {
                let report = problem.solve(&options()).unwrap().report;
                (report.cost, report.moved_into_bounds, problem.read(made.tables[0]).unwrap())
            })
        });
        for of_rank in &found {
            for ((round, (cost, moved, values)), expected) in (0..).zip(of_rank).zip(&expected) {
                assert_eq!(bits(values), bits(&found[0][round].2), "solve {round} by {size} ranks");
                assert_eq!(*moved, expected.1, "solve {round} by {size} ranks");
                assert!((cost - expected.0).abs() < 1e-8 * expected.0, "solve {round} by {size} ranks: {cost} and {}", expected.0);
                let apart = farthest(std::slice::from_ref(values), std::slice::from_ref(&expected.2));
                assert!(apart < 1e-4, "solve {round} by {size} ranks: {apart}");
            }
        }
    }
}

#[test]
fn other_limits_or_fixed_components_on_one_rank_are_told_to_all() {
    let differs = |rank| Error::Device(DeviceError::Ranks(Fault::Differs { what: "terms, data or options", rank }));
    type Edit = fn(&mut RankedProblem, bool);
    let edits: [Edit; 4] = [
        |problem, is_other| problem.bound(0, Some(&[if is_other { -9.0 } else { -10.0 }]), None).unwrap(),
        |problem, is_other| if is_other { problem.bound(0, None, Some(&[9.0])) } else { problem.bound(0, Some(&[9.0]), None) }.unwrap(),
        |problem, is_other| problem.fix(0, Some(&[4]), Some(&[u32::from(is_other)])).unwrap(),
        |problem, is_other| problem.fix(0, Some(&[4]), is_other.then_some(&[0][..])).unwrap(),
    ];
    for edit in edits {
        let found = on_all(3, |ranks| {
            let is_other = ranks.rank() == 2;
            let mut problem = ranked(Precision::F64, ranks);
            free_net(&mut problem);
            edit(&mut problem, is_other);
            problem.solve(&options()).unwrap_err().to_string()
        });
        assert_eq!(found, vec![differs(2).to_string(); 3]);
    }
}

/// Limits and components are checked as on one device, by all ranks alike, before and after the problem is divided.
#[test]
fn limits_that_make_no_sense_are_refused_by_all_and_change_nothing() {
    let expected = by_ranks(limited_bundle as Scene<RankedProblem>, Precision::F64, &options(), 2)[0].0.report.cost;
    let mut one = Alone::new(Precision::F64);
    let made = limited_bundle(&mut one);
    let constant = one.table("constant", vec![Shape::Euclidean(1)], &[1.0], false);
    let [pose, point, _] = made.tables[..] else { panic!("three tables") };
    let none: Option<&[f64]> = None;
    let mut seven = vec![0.0; 270];
    seven[7] = f64::NAN;
    let limits = [
        (point, Some(&seven[..]), none),
        (point, Some(&[f64::INFINITY]), none),
        (point, Some(&[2.0]), Some(&[1.0][..])),
        (point, none, Some(&[-0.7])),
        (point, Some(&[0.0; 2]), none),
        (pose, Some(&[0.0]), none),
        (constant, Some(&[0.0]), none),
    ];
    type Fixed<'a> = (u32, Option<&'a [u32]>, Option<&'a [u32]>);
    let fixed: [Fixed; 4] = [(point, Some(&[90]), Some(&[0])), (point, None, Some(&[3])), (pose, None, Some(&[1])), (constant, None, None)];
    let Alone { session, problem } = &mut one;
    let mut of_one: Vec<String> = Vec::new();
    for &(table, lower, upper) in &limits {
        let refused = session.bound_table(*problem, table, lower.map(Reals::F64), upper.map(Reals::F64));
        of_one.push(refused.unwrap_err().to_string());
    }
    of_one.extend(fixed.iter().map(|&(table, at, parts)| session.fix_table(*problem, table, at, parts).unwrap_err().to_string()));
    let found = on_all(2, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        limited_bundle(&mut problem);
        Declare::table(&mut problem, "constant", vec![Shape::Euclidean(1)], &[1.0], false);
        let refuse_limits = |problem: &mut RankedProblem| {
            limits.iter().map(|&(table, lower, upper)| problem.bound(table, lower, upper).unwrap_err().to_string()).collect::<Vec<_>>()
        };
        let mut refused = refuse_limits(&mut problem);
        refused.extend(fixed.iter().map(|&(table, at, parts)| problem.fix(table, at, parts).unwrap_err().to_string()));
        let cost = problem.solve(&options()).unwrap().report.cost;
        let again = refuse_limits(&mut problem);
        assert_eq!(again, refused[..again.len()]);
        let late: Vec<String> = fixed.iter().map(|&(table, at, parts)| problem.fix(table, at, parts).unwrap_err().to_string()).collect();
        assert_eq!(late, refused[limits.len()..]);
        for (table, at) in [(point, Some(&[90][..])), (constant, None)] {
            assert_eq!(problem.unfix(table, at).unwrap_err().to_string(), problem.fix(table, at, None).unwrap_err().to_string());
        }
        (refused, cost.to_bits())
    });
    for (refused, cost) in &found {
        assert_eq!(*refused, of_one);
        assert_eq!(*cost, expected.to_bits());
    }
}
