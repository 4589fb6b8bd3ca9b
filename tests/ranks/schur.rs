//! Conjugate gradients on a Schur complement over ranks: bits, costs against one device, parts that keep points whole, refusals.

use super::scenes::{Declare, bundle, bundle_by_cameras, limited_bundle, mesh, options, ranked};
use super::solves::{alone, by_ranks, check_with, farthest, follows_the_model};
use super::{bits, on_all};
use crate::support::*;
use leastwise::device::Precision;
use leastwise::problem::Shape;
use leastwise::ranks::RankedProblem;
use leastwise::solve::Options;

const POSE: u32 = 1;
const POINT: u32 = 2;

fn by(preconditioner: &str) -> Options {
    Options { linear: Some("schur-pcg".into()), preconditioner: Some(preconditioner.into()), ..options() }
}

#[test]
fn a_bundle_without_its_points_comes_to_the_same_by_one_to_four_ranks() {
    for preconditioner in ["block-jacobi", "schur-jacobi"] {
        let options = by(preconditioner);
        let name = |scene: &str| format!("{scene} by {preconditioner}");
        check_with(&name("bundle"), (bundle, bundle), (Precision::F64, &options), [1e-8, 1e-4, 1.35]);
        check_with(&name("bundle in f32"), (bundle, bundle), (Precision::F32, &options), [1e-3, 2e-2, 1.35]);
    }
}

/// Views in the order of cameras have no tiles of points; drifts between cameras link what is kept.
#[test]
fn products_in_two_passes_come_to_the_same() {
    for preconditioner in ["block-jacobi", "schur-jacobi"] {
        let options = by(preconditioner);
        check_with(preconditioner, (bundle_by_cameras, bundle_by_cameras), (Precision::F64, &options), [1e-8, 1e-4, 1.35]);
    }
}

#[test]
fn limits_and_a_focal_length_that_all_share_are_kept_beside_a_schur_complement() {
    for preconditioner in ["block-jacobi", "schur-jacobi"] {
        let options = by(preconditioner);
        check_with(preconditioner, (limited_bundle, limited_bundle), (Precision::F64, &options), [1e-8, 1e-4, 1.35]);
    }
}

/// By its product with the whole matrix the solver comes to the same minimum, in more inner iterations.
#[test]
fn fewer_inner_iterations_are_taken_than_without_elimination() {
    let inner = |options: &Options| {
        let found = by_ranks(bundle, Precision::F64, options, 3);
        let report = &found[0].0.report;
        (report.iterations.iter().map(|step| step.inner_iterations).sum::<u32>(), report.cost)
    };
    let [(whole, of_whole), (reduced, of_reduced)] = [inner(&options()), inner(&by("schur-jacobi"))];
    assert!(2 * reduced < whole, "{reduced} and {whole} inner iterations");
    assert!((of_whole - of_reduced).abs() < 1e-8 * of_whole, "{of_whole} and {of_reduced}");
}

#[test]
fn what_a_step_on_a_schur_complement_exchanges_is_the_model() {
    for preconditioner in ["block-jacobi", "schur-jacobi"] {
        for exchanged in follows_the_model(limited_bundle, 2, &by(preconditioner)) {
            assert!(exchanged.reduced && exchanged.limited);
            assert_eq!(exchanged.reduced_blocks, preconditioner == "schur-jacobi");
            // No point is shared: six of a pose, of which there are six, and the focal length.
            assert!(exchanged.unknowns > 1 && exchanged.unknowns <= 37, "{exchanged:?}");
        }
    }
}

/// Rows of points and of poses that this rank has besides its own.
fn copies(problem: &mut RankedProblem) -> [usize; 2] {
    [POINT, POSE].map(|table| problem.read_present(table).unwrap().0.len() - problem.read_own(table).unwrap().0.len())
}

#[test]
fn poses_that_were_cut_are_made_whole_and_keep_their_values() {
    let found = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let made = bundle(&mut problem);
        let few = problem.solve(&Options { max_iterations: Some(2.0), ..options() }).unwrap().report;
        let cut = copies(&mut problem);
        let poses = Options { eliminate: Some(vec![POSE]), ..by("block-jacobi") };
        let then = problem.solve(&poses).unwrap().report;
        let whole = copies(&mut problem);
        let values: Vec<Vec<f64>> = made.tables.iter().map(|table| problem.read(*table).unwrap()).collect();
        // What is whole stays so.
        let again = problem.solve(&options()).unwrap().report;
        (few.cost, then.initial_cost, then.cost, values, [cut, whole, copies(&mut problem)], again.initial_cost)
    });
    let (report, expected) = alone(bundle, Precision::F64, &options());
    for (few, initial, cost, values, [_, whole, after], again) in &found {
        assert!((initial - few).abs() < 1e-12 * few, "{initial} and {few}");
        assert!((cost - report.cost).abs() < 1e-8 * report.cost, "{cost} and {}", report.cost);
        assert!(farthest(values, &expected) < 1e-4);
        assert_eq!((whole[1], after), (0, whole), "copies of poses");
        assert!((again - cost).abs() < 1e-12 * cost);
        assert_eq!(bits(&values.concat()), bits(&found[0].3.concat()));
    }
    let [cut, whole] = [0, 1].map(|at| found.iter().map(|rank| rank.4[at]).collect::<Vec<_>>());
    assert!(cut.iter().any(|copies| copies[1] > 0) && cut.iter().all(|copies| copies[0] == 0), "poses are cut, points are not: {cut:?}");
    assert!(whole.iter().any(|copies| copies[0] > 0), "points are shared: {whole:?}");
}

#[test]
fn tables_to_eliminate_are_those_that_are_named() {
    let named = Options { eliminate: Some(vec![POINT]), linear: None, preconditioner: None, ..options() };
    let poses = Options { eliminate: Some(vec![POSE]), ..by("block-jacobi") };
    let found = on_all(2, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        bundle(&mut problem);
        let of_points = problem.solve(&named).unwrap().report;
        let of_poses = problem.solve(&poses).unwrap().report;
        (of_points.linear, of_points.cost, of_poses.cost, copies(&mut problem))
    });
    let (report, _) = alone(bundle, Precision::F64, &options());
    for (linear, of_points, of_poses, [_, poses]) in found {
        assert_eq!((linear, poses), ("schur-pcg", 0));
        assert!((of_points - report.cost).abs() < 1e-8 * report.cost && (of_poses - report.cost).abs() < 1e-8 * report.cost);
    }
}

/// A rank without a row of the table that is eliminated has a place for it all the same.
#[test]
fn a_rank_may_lack_what_is_eliminated() {
    // Two islands: one pair of a kept and an eliminated variable, and springs between kept ones.
    let declare = |to: &mut RankedProblem| {
        let kept = Declare::table(to, "kept", vec![Shape::Euclidean(2)], &[0.0, 0.0, 1.0, 0.5, 2.0, 1.0, 4.0, 4.0], true);
        let gone = Declare::table(to, "gone", vec![Shape::Euclidean(2)], &[3.0, 1.0], true);
        let mut tape = Tape::default();
        let [a, b] = [0, 1].map(|source| tape.input(source));
        let difference = tape.op(leastwise::expr::Opcode::Sub, &[b, a]);
        let length = tape.literal(1.5);
        let distance = tape.op(leastwise::expr::Opcode::Norm, &[difference]);
        let outputs = [tape.op(leastwise::expr::Opcode::Sub, &[distance, length])];
        for (name, tables, columns) in [("springs", [kept; 2], [vec![0, 1], vec![1, 2]]), ("links", [kept, gone], [vec![3, 3], vec![0, 0]])]
        {
            let slot = |place: u32| leastwise::problem::Slot { table: tables[place as usize], column: place };
            to.term(&leastwise::problem::TermSpec {
                indices: columns.to_vec(),
                slots: vec![slot(0), slot(1)],
                tape: &tape.words,
                outputs: &outputs,
                ..plain(name, 2)
            })
            .unwrap();
        }
        [kept, gone]
    };
    for preconditioner in ["block-jacobi", "schur-jacobi"] {
        let found = on_all(2, |ranks| {
            let mut problem = ranked(Precision::F64, ranks);
            let tables = declare(&mut problem);
            let report = problem.solve(&Options { eliminate: Some(vec![tables[1]]), ..by(preconditioner) }).unwrap();
            assert_eq!((report.cut_variables, report.instances), (0, 2));
            tables.map(|table| problem.read(table).unwrap())
        });
        assert_eq!(found[0], found[1]);
        let [kept, gone] = &found[0];
        for (a, b) in [(&kept[..2], &kept[2..4]), (&kept[2..4], &kept[4..6]), (&kept[6..], &gone[..])] {
            let length = (a[0] - b[0]).hypot(a[1] - b[1]);
            assert!((length - 1.5).abs() < 1e-6, "{a:?} and {b:?} are {length} apart");
        }
    }
}

#[test]
fn what_can_not_be_eliminated_is_refused_by_all_and_all_can_go_on() {
    let refusals = |problem: &mut RankedProblem, tries: &[Options]| -> Vec<String> {
        tries.iter().map(|options| problem.solve(options).unwrap_err().to_string()).collect()
    };
    let found = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        bundle(&mut problem);
        let tries = [
            Options { eliminate: Some(vec![POSE, POINT]), ..by("schur-jacobi") },
            Options { eliminate: Some(vec![0]), ..by("schur-jacobi") },
            Options { eliminate: Some(vec![POINT]), ..options() },
            Options { linear: Some("schur".into()), preconditioner: None, ..options() },
            Options { preconditioner: Some("schur-jacobi".into()), ..options() },
        ];
        let told = refusals(&mut problem, &tries);
        (told, problem.solve(&by("schur-jacobi")).unwrap().report.cost)
    });
    let (report, _) = alone(bundle, Precision::F64, &options());
    for (told, cost) in found {
        assert_eq!(told[0], "eliminate: name some of the problem's variables, but not all");
        assert_eq!(told[1], told[0]);
        assert!(told[2].starts_with("eliminate: only linear \"schur\" and \"schur-pcg\" eliminate variables"), "{}", told[2]);
        assert_eq!(told[3], "linear: ranks have \"pcg\" and \"schur-pcg\" alone");
        assert!(told[4].contains("\"schur-jacobi\" is one of linear \"schur-pcg\""), "{}", told[4]);
        assert!((cost - report.cost).abs() < 1e-8 * report.cost);
    }
    let found = on_all(2, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        mesh(&mut problem);
        let told = refusals(&mut problem, &[by("block-jacobi")]);
        (told, problem.solve(&options()).unwrap().report.iterations.len())
    });
    for (told, steps) in found {
        assert!(told[0].starts_with("linear \"schur-pcg\": nothing would be left: fewer than two variables move"), "{}", told[0]);
        assert!(steps > 3);
    }
}
