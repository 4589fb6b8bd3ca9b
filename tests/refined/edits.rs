//! Edits on the way.

use super::*;

type Edit = fn(&mut Session, &Fit);

#[test]
fn edits_on_the_way_are_felt() {
    on_gpu(|session| {
        let (t, y) = (times(0.0), heights(2.25));
        let edits: [(&str, Edit); 5] = [
            ("data", |session, fit| session.set_column(fit.problem, fit.term, 0, Reals::F64(&heights(3.0))).unwrap()),
            ("weights", |session, fit| session.set_weight(fit.problem, fit.term, Weight::Each(Reals::F64(&weights()))).unwrap()),
            ("constants", |session, fit| session.write_table(fit.problem, fit.t, Reals::F64(&times(0.02)), None).unwrap()),
            ("values", |session, fit| session.write_table(fit.problem, fit.b, Reals::F64(&[-7.0, 4.0]), None).unwrap()),
            ("what is fixed", |session, fit| {
                session.write_table(fit.problem, fit.b, Reals::F64(&[2.1]), Some(&[0])).unwrap();
                session.fix_table(fit.problem, fit.b, Some(&[0]), None).unwrap();
            }),
        ];
        for (what, edit) in edits {
            // Before there is a snapshot, and between two of its steps.
            for within in [false, true] {
                let fit = fit(session, &t, &y);
                // The vectors of what is fixed are there before.
                session.fix_table(fit.problem, fit.b, Some(&[0]), None).unwrap();
                session.unfix_table(fit.problem, fit.b, None).unwrap();
                let solver = session.solver(fit.problem, &Options::default()).unwrap();
                let task = begin(session, solver);
                if within {
                    next_step(session, task).expect("a step in mixed precision");
                }
                edit(session, &fit);
                let report = end(session, task);
                assert_done(&report);
                assert_numbered(&report);
                assert_eq!(report.reason.contains("anew after it was edited"), within, "{what}: {}", report.reason);
                let found = read(session, fit.problem, fit.b);
                // What is fixed is what f32 has.
                let fixed = f64::from(2.1f32);
                let expected = exact(&t, &y, |session, fit| {
                    edit(session, fit);
                    if what == "what is fixed" {
                        session.write_table(fit.problem, fit.b, Reals::F64(&[fixed]), Some(&[0])).unwrap();
                    }
                });
                assert_same(&found, &expected, &format!("{what}, {within}"));
                assert!(what != "what is fixed" || found[0] == fixed, "{found:?}");
                session.free_problem(fit.problem);
            }
        }
    });
}

#[test]
fn an_edit_that_makes_no_sense_is_told() {
    on_gpu(|session| {
        for within in [false, true] {
            let fit = fit(session, &times(0.0), &heights(2.25));
            let solver = session.solver(fit.problem, &Options::default()).unwrap();
            let task = begin(session, solver);
            if within {
                next_step(session, task).expect("a step in mixed precision");
            }
            // Its square is more than f32 has numbers for.
            session.write_table(fit.problem, fit.b, Reals::F64(&[1e30]), Some(&[1])).unwrap();
            let report = end(session, task);
            assert_eq!((report.refinement.state, report.refinement.code), (RefinementState::Failed, Some("non-finite")));
            assert!(report.reason.contains("the residual is not finite in double-floats"), "{}", report.reason);
            // What f32 came to before the edit stands where nothing else was done.
            assert!(!(within && report.converged), "{}", report.reason);
            assert_eq!(
                (report.reason.starts_with("after it was edited"), report.precision == "mixed"),
                (within, within),
                "{}",
                report.reason
            );
            let values = read(session, fit.problem, fit.b);
            assert!(values[1] == f64::from(1e30f32) && values[0] != 0.0, "{values:?}");
            session.free_problem(fit.problem);
        }
    });
}

#[test]
fn an_edit_at_every_step_ends_with_the_steps_that_are_allowed() {
    on_gpu(|session| {
        let fit = fit(session, &times(0.0), &heights(2.25));
        let steps = {
            let solver = session.solver(fit.problem, &Options::default()).unwrap();
            let task = begin(session, solver);
            end(session, task).iterations.len() as u32
        };
        session.write_table(fit.problem, fit.b, Reals::F64(&[0.0, 1.0]), None).unwrap();
        let most = steps + 6;
        let options = Options { max_iterations: Some(f64::from(most)), ..Options::default() };
        let solver = session.solver(fit.problem, &options).unwrap();
        let task = begin(session, solver);
        let mut factor = 3.0;
        let report = loop {
            if let Err(report) = next_step(session, task) {
                break report;
            }
            factor += 0.5;
            session.set_column(fit.problem, fit.term, 0, Reals::F64(&heights(factor))).unwrap();
        };
        assert_eq!(report.refinement.code, Some("max-iterations"), "{}", report.reason);
        assert_eq!(report.iterations.len() as u32, most);
        assert_numbered(&report);
        // The account is of the last edit.
        let cost: f64 = {
            let task = session.term_costs(fit.problem, fit.term).unwrap();
            let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no costs") };
            values.iter().sum()
        };
        assert!((report.cost - cost).abs() <= 1e-4 * cost, "{} and {cost}", report.cost);
    });
}
