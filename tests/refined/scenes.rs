//! Limits, parts that are fixed, manifolds, losses, linear solvers and graduated weights.

use super::*;

const SOMETHING_OF_EVERYTHING: With = With { bounds: true, fixed: true, rotations: true, energy: false, sums: false };

/// Whether f64 has next to nothing to add to what was found, and limits and what is fixed were kept.
fn assert_minimum(session: &mut Session, numbers: &Numbers, found: &Scene, report: &Report, start: &[Vec<f64>]) {
    let mut exact = cpu(Precision::F64);
    let twin = scene(&mut exact, numbers, SOMETHING_OF_EVERYTHING);
    for (table, start) in found.tables.iter().zip(start) {
        let values = read(session, found.problem, *table);
        assert_ne!(&values, start, "it moved");
        exact.write_table(twin.problem, *table, Reals::F64(&values), None).unwrap();
        if *table == found.points {
            assert!([4, 5, 34, 35, 11].iter().all(|&fixed| values[fixed] == f64::from(start[fixed] as f32)));
            let is_free = |k: usize| ![4, 5, 34, 35, 11].contains(&k);
            let most = |k: usize| if k.is_multiple_of(2) { 0.9 } else { 2.0 };
            assert!(values.iter().enumerate().all(|(k, x)| !is_free(k) || x.abs() <= most(k)), "{values:?}");
        }
    }
    let best = solve(&mut exact, twin.problem, &Options { cost_tolerance: Some(1e-14), ..Options::default() });
    println!("{} of {}: {} for {} ({})", report.linear, report.precision, report.cost, best.cost, report.reason);
    // Costs are of values that are not rounded yet; f32 by itself ends some 10⁻⁷ above.
    assert!((report.cost - best.cost).abs() <= 2e-9 * best.cost, "{}: {} for {}; {}", report.linear, report.cost, best.cost, report.reason);
}

#[test]
fn bounds_parts_that_are_fixed_rotations_and_losses_go_along_with_every_linear_solver() {
    on_gpu(|session| {
        let numbers = Numbers::new(9);
        for &linear in repeated(&["pcg", "sparse-cholesky", "dense"], 2) {
            let scene = scene(session, &numbers, SOMETHING_OF_EVERYTHING);
            let [turns, _] = scene.turns.unwrap();
            session.fix_table(scene.problem, turns, Some(&[3]), None).unwrap();
            session.unfix_table(scene.problem, turns, Some(&[3])).unwrap();
            let start: Vec<Vec<f64>> = scene.tables.iter().map(|table| read(session, scene.problem, *table)).collect();
            let options = Options {
                linear: Some(linear.into()),
                max_iterations: Some(1000.0),
                cost_tolerance: Some(1e-12),
                step_tolerance: Some(1e-13),
                gradient_tolerance: Some(1e-12),
                ..Options::default()
            };
            let report = solve(session, scene.problem, &options);
            assert_eq!((report.refinement.state, report.precision), (RefinementState::Done, "mixed"), "{linear}: {}", report.reason);
            assert_numbered(&report);
            assert_minimum(session, &numbers, &scene, &report, &start);
            if linear == "pcg" {
                // The snapshot's products are computed as the tuning table has it, also one that came later.
                for schedule in [Schedule::Recompute, Schedule::TwoPass] {
                    session.set_tuning(Tuning { products: [(Tuning::ANY.to_string(), schedule)].into(), ..Tuning::default() }).unwrap();
                    let report = solve(session, scene.problem, &Options { max_iterations: Some(1020.0), ..options.clone() });
                    let known = report.products.iter().filter(|product| product.reason.contains("tuning")).count();
                    println!("{schedule:?}: {:?}", report.products.iter().map(|p| (p.schedule, &p.reason)).collect::<Vec<_>>());
                    assert!(report.precision == "mixed" && known > 0);
                }
                session.set_tuning(Tuning::default()).unwrap();
            }
            session.free_problem(scene.problem);
        }
    });
}

#[test]
fn a_rotation_that_is_fixed_keeps_its_bits() {
    on_gpu(|session| {
        let numbers = Numbers::new(9);
        let scene = scene(session, &numbers, SOMETHING_OF_EVERYTHING);
        let [turns, _] = scene.turns.unwrap();
        // Of length 1 as f32 has it, but other numbers of f32 are nearer to it.
        let mut random = Random::new(7);
        let of_length_1 = |q: &[f64]| {
            let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
            q.iter().map(|c| c / length).collect::<Vec<f64>>()
        };
        let rounded = |q: &[f64]| q.iter().map(|c| f64::from(*c as f32)).collect::<Vec<f64>>();
        let unsettled = std::iter::repeat_with(|| of_length_1(&[0.0; 4].map(|_| random.between(0.3, 0.7))))
            .find(|q| rounded(&of_length_1(&rounded(q))) != rounded(q))
            .expect("some are");
        session.write_table(scene.problem, turns, Reals::F64(&unsettled), Some(&[0])).unwrap();
        session.fix_table(scene.problem, turns, Some(&[0, 3]), None).unwrap();
        let before = read(session, scene.problem, turns);
        let report = solve(session, scene.problem, &Options::default());
        assert_eq!(report.precision, "mixed", "{}", report.reason);
        let after = read(session, scene.problem, turns);
        for fixed in [0, 3] {
            assert_eq!(after[4 * fixed..][..4], before[4 * fixed..][..4]);
        }
        assert_ne!(after[4..8], before[4..8]);
    });
}

#[test]
fn the_last_solve_of_graduated_weights_goes_on() {
    on_gpu(|session| {
        let (t, mut y) = (times(0.0), heights(2.25));
        [3, 11, 12, 20].into_iter().for_each(|k| y[k] += 4.0);
        let run = |session: &mut Session, fit: &Fit| {
            let suspect = Suspect { term: fit.term, threshold: 0.02, known: Vec::new() };
            let task = session.graduated(fit.problem, &[suspect], Rounds::default(), &Options::default()).unwrap();
            let mut indices = Vec::new();
            let Progress::Graduated(outcome) = finish(session, task, |step| indices.push(step.index)) else { panic!("no outcome") };
            assert_eq!(indices, (0..outcome.steps).collect::<Vec<_>>());
            (*outcome, read(session, fit.problem, fit.b))
        };
        let mut double = cpu(Precision::F64);
        let twin = fit(&mut double, &t, &y);
        let (expected, right) = run(&mut double, &twin);
        let fit = fit(session, &t, &y);
        let (outcome, found) = run(session, &fit);
        assert_done(&outcome.report);
        assert_eq!((outcome.ending, outcome.weights), (expected.ending, expected.weights));
        assert_same(&found, &right, "graduated");
        // The weights are the user's again.
        let plain = solve(session, fit.problem, &Options::default());
        assert!(plain.cost > 10.0 * outcome.report.cost, "{} and {}", plain.cost, outcome.report.cost);
    });
}
