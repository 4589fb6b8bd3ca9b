//! Rows that are fixed and released after the first solve, over ranks and over devices, against one device.

use super::devices::over;
use super::scenes::{Alone, Made, boxes, loose_net, options};
use super::sessions::{session, solved};
use super::{bits, on_all};
use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::problem::Reals;
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{Options, Report};

/// Rows with goals on all ranks, and one that no term touches.
const HELD: [u32; 5] = [3, 40, 76, 149, 151];

/// One solve of several.
struct Round {
    cost: f64,
    /// Damping of the first step.
    damping: f64,
    moved: u32,
    values: Vec<f64>,
    /// Its number of steps, and the reason of its end.
    end: (usize, String),
}

fn next(of: &mut Alone, made: &Made, solver: u32) -> Round {
    let task = of.session.solve(solver, SolveMode::Solve).unwrap();
    let Progress::Report(report) = finish(&mut of.session, task, |_| {}) else { panic!("no report") };
    let Report { cost, moved_into_bounds: moved, .. } = *report;
    let end = (report.iterations.len(), report.reason.clone());
    let values = read(&mut of.session, of.problem, made.tables[0]);
    Round { cost, damping: report.iterations[0].damping, moved, values, end }
}

/// Solves by one solver of points that move, that are held elsewhere, of which components are held besides, of which some are released,
/// within limits, and with all released.
fn fix_and_release(of: &mut Alone, options: &Options) -> Vec<Round> {
    let made = loose_net(of);
    let (problem, x) = (of.problem, made.tables[0]);
    let solver = of.session.solver(problem, options).unwrap();
    let mut rounds = vec![next(of, &made, solver)];

    let places: Vec<f64> = HELD.iter().flat_map(|row| [0.5 * f64::from(row % 4), 1.75]).collect();
    of.session.write_table(problem, x, Reals::F64(&places), Some(&HELD)).unwrap();
    of.session.fix_table(problem, x, Some(&HELD), None).unwrap();
    rounds.push(next(of, &made, solver));
    let held = |round: &Round| HELD.iter().flat_map(|row| round.values[2 * *row as usize..][..2].to_vec()).collect::<Vec<_>>();
    assert_eq!(bits(&held(&rounds[1])), bits(&places), "rows that are fixed keep their values");

    of.session.fix_table(problem, x, Some(&[60, 100]), Some(&[1])).unwrap();
    of.session.write_table(problem, x, Reals::F64(&[1.5, -1.25]), Some(&[60])).unwrap();
    rounds.push(next(of, &made, solver));
    assert_eq!(rounds[2].values[121].to_bits(), (-1.25f64).to_bits());
    assert_ne!(rounds[2].values[120].to_bits(), 1.5f64.to_bits());

    of.session.unfix_table(problem, x, Some(&[40, 60])).unwrap();
    rounds.push(next(of, &made, solver));
    assert_eq!(bits(&held(&rounds[3])[4..]), bits(&places[4..]), "only the second one was released");
    assert!((rounds[3].values[80] - places[2]).abs() > 0.1, "a row that is released moves");

    let (lower, upper) = boxes();
    of.session.bound_table(problem, x, Some(Reals::F64(&lower)), Some(Reals::F64(&upper))).unwrap();
    rounds.push(next(of, &made, solver));
    assert_eq!(bits(&held(&rounds[4])[4..]), bits(&places[4..]), "limits do not move what is fixed");

    of.session.unfix_table(problem, x, None).unwrap();
    rounds.push(next(of, &made, solver));
    of.session.free_solver(solver);
    rounds
}

/// Rounds of all ranks, and of as many devices, the same to the bit.
fn by_all(size: u32, precision: Precision, options: &Options) -> Vec<Round> {
    let mut found = on_all(size, |ranks| fix_and_release(&mut session(precision, ranks), options));
    found.push(fix_and_release(&mut over(precision, size), options));
    for rounds in &found {
        for (round, expected) in rounds.iter().zip(&found[0]) {
            assert_eq!([round.cost, round.damping].map(f64::to_bits), [expected.cost, expected.damping].map(f64::to_bits));
            assert_eq!((round.moved, bits(&round.values)), (expected.moved, bits(&expected.values)), "{size} ranks, {precision:?}");
        }
    }
    found.remove(0)
}

#[test]
fn rows_are_fixed_and_released_between_solves_as_on_one_device() {
    // Few steps: the net hangs loosely, and in many of them rounding would grow.
    let options = Options { max_iterations: Some(8.0), forcing: Some(1e-6), ..options() };
    for (precision, [cost, apart]) in [(Precision::F64, [1e-8, 1e-4]), (Precision::F32, [1e-3, 5e-2])] {
        let expected = fix_and_release(&mut Alone::new(precision), &options);
        assert!(expected[1].cost > expected[0].cost, "what is held costs something");
        assert!(expected[3].cost < expected[2].cost && expected[4].moved > 0 && expected[5].cost < expected[4].cost);
        for size in 1..=4 {
            for (round, (found, expected)) in by_all(size, precision, &options).iter().zip(&expected).enumerate() {
                let what = format!("solve {round} by {size} ranks, {precision:?}");
                assert!(
                    (found.cost - expected.cost).abs() < cost * expected.cost,
                    "{what}: {} and {}; {:?} and {:?}",
                    found.cost,
                    expected.cost,
                    found.end,
                    expected.end
                );
                // In f32 points may end on either side of a limit that is given later.
                assert!(precision == Precision::F32 || found.moved == expected.moved, "{what}: {} and {}", found.moved, expected.moved);
                let farthest = found.values.iter().zip(&expected.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(farthest < apart, "{what}: {farthest} apart");
            }
        }
    }
}

/// The first row that is ever fixed, and the first limit, set solvers up anew; later edits leave them their damping. So it is on ranks that
/// have none of the rows.
#[test]
fn solvers_forget_and_keep_their_damping_as_on_one_device() {
    let few = Options { max_iterations: Some(4.0), ..options() };
    let dampings = |rounds: &[Round]| rounds.iter().map(|round| round.damping).collect::<Vec<_>>();
    let expected = dampings(&fix_and_release(&mut Alone::new(Precision::F64), &few));
    let first = expected[0];
    assert!([1, 4].into_iter().all(|round| expected[round] == first), "{expected:?}");
    assert!([2, 3, 5].into_iter().all(|round| expected[round] != first), "{expected:?}");
    for size in 1..=4 {
        let found = dampings(&by_all(size, Precision::F64, &few));
        for (round, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 1e-2 * expected, "solve {round} by {size} ranks: {found} and {expected}");
        }
    }
}

/// Between two iterations rows may be fixed once all have begun with fixed ones: also where a rank has none of them.
#[test]
fn rows_are_fixed_and_released_in_the_midst_of_a_solve() {
    let run = |of: &mut Alone| {
        let made = loose_net(of);
        let (problem, x) = (of.problem, made.tables[0]);
        let starts = read(&mut of.session, problem, x);
        let mut refused = None;
        let first = |session: &mut Session, _: u32, index: u32| {
            if index == 0 {
                refused = session.fix_table(problem, x, Some(&[76]), None).err();
            }
        };
        let all = *solved(of, &options(), first).unwrap();
        assert!(matches!(refused, Some(Error::Busy)), "{refused:?}");
        of.session.fix_table(problem, x, Some(&[3]), None).unwrap();
        of.session.write_table(problem, x, Reals::F64(&starts), None).unwrap();
        let edit = |session: &mut Session, _: u32, index: u32| match index {
            0 => {
                session.write_table(problem, x, Reals::F64(&[2.5, -3.0]), Some(&[76])).unwrap();
                session.fix_table(problem, x, Some(&[76]), None).unwrap();
            }
            1 => session.unfix_table(problem, x, Some(&[3])).unwrap(),
            _ => {}
        };
        let held = *solved(of, &options(), edit).unwrap();
        let values = read(&mut of.session, problem, x);
        assert_eq!(bits(&values[152..154]), bits(&[2.5, -3.0]));
        assert_ne!(bits(&values[6..8]), bits(&starts[6..8]), "a row that is released moves");
        (all.cost, held.cost, values)
    };
    let (free, held, expected) = run(&mut Alone::new(Precision::F64));
    assert!(held > free, "{held} and {free}");
    for size in [2, 4] {
        let mut found = on_all(size, |ranks| run(&mut session(Precision::F64, ranks)));
        found.push(run(&mut over(Precision::F64, size)));
        for (_, cost, values) in &found {
            assert_eq!((cost.to_bits(), bits(values)), (found[0].1.to_bits(), bits(&found[0].2)), "{size} ranks");
            assert!((cost - held).abs() < 1e-8 * held, "{cost} and {held}");
            assert!(values.iter().zip(&expected).all(|(value, expected)| (value - expected).abs() < 1e-4));
        }
    }
}

#[test]
fn rows_that_one_rank_alone_fixes_or_releases_are_told_to_all() {
    for releases in [true, false] {
        let found = on_all(3, |ranks| {
            let is_other = ranks.rank() == 2;
            let mut of = session(Precision::F64, ranks);
            let made = loose_net(&mut of);
            of.session.fix_table(of.problem, made.tables[0], Some(&HELD), None).unwrap();
            solve(&mut of.session, of.problem, &options());
            let (problem, x) = (of.problem, made.tables[0]);
            if is_other && releases {
                of.session.unfix_table(problem, x, Some(&[40])).unwrap();
            } else if is_other {
                of.session.fix_table(problem, x, Some(&[41]), None).unwrap();
            }
            let differs = solved(&mut of, &options(), |_, _, _| {}).unwrap_err().to_string();
            // All can go on, once all have done the same.
            if !is_other && releases {
                of.session.unfix_table(problem, x, Some(&[40])).unwrap();
            } else if !is_other {
                of.session.fix_table(problem, x, Some(&[41]), None).unwrap();
            }
            (differs, solve(&mut of.session, problem, &options()).cost.to_bits())
        });
        for (differs, cost) in &found {
            assert!(differs.contains("rank 2 has other terms, data or options than rank 0"), "{differs}");
            assert_eq!(*cost, found[0].1);
        }
    }
}
