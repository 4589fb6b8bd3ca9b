//! Fixed variables and components: they keep their bits, and the rest is at a minimum of what is left.

use crate::constraints::net::*;
use crate::support::*;
use leastwise::device::Precision;
use leastwise::problem::{Reals, Slot, TermSpec, Weight};
use leastwise::session::{Session, SolveMode};
use leastwise::solve::{Options, Termination};

/// Fixed components have their bits; the gradient of the others is within `tolerance` of 0.
fn check(name: &str, net: &Net, before: &[f64], after: &[f64], free: &[bool], tolerance: f64) {
    let gradient = net.gradient(after);
    for (i, &free) in free.iter().enumerate() {
        if free {
            assert!(gradient[i].abs() <= tolerance, "{name}: a slope of {:e} at component {i}", gradient[i]);
        } else {
            assert_eq!(before[i].to_bits(), after[i].to_bits(), "{name}: component {i} moved from {:e} to {:e}", before[i], after[i]);
        }
    }
}

#[test]
fn random_masks_hold_what_they_fix_and_nothing_else() {
    let seed = fresh_seed();
    let mut random = Random::new(seed);
    let net = Net::new(157, &mut random);
    let count = net.count();
    // Whole instances, x of some, y of others.
    let whole: Vec<u32> = (0..count).filter(|_| random.below(6) == 0).chain([0]).collect();
    let [first, second]: [Vec<u32>; 2] = [(); 2].map(|()| (0..count).filter(|_| random.below(5) == 0).collect());
    let mut free = vec![true; net.points.len()];
    whole.iter().for_each(|&i| free[2 * i as usize..][..2].fill(false));
    first.iter().for_each(|&i| free[2 * i as usize] = false);
    second.iter().for_each(|&i| free[2 * i as usize + 1] = false);
    for (name, mut session, tolerance) in sessions() {
        let name = format!("{name}, seed {seed}");
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, Some(&whole), None).unwrap();
        session.fix_table(problem, x, Some(&first), Some(&[0])).unwrap();
        session.fix_table(problem, x, Some(&second), Some(&[1])).unwrap();
        let report = solve(&mut session, problem, &tight());
        assert!(report.cost < 0.9 * report.initial_cost, "{name}: {report:?}");
        let after = read(&mut session, problem, x);
        check(&name, &net, &net.points, &after, &free, tolerance);
        // Everything is let go again.
        session.unfix_table(problem, x, None).unwrap();
        let last = solve(&mut session, problem, &tight());
        assert!(last.cost < report.cost, "{name}: {} is not below {}", last.cost, report.cost);
        check(&name, &net, &[], &read(&mut session, problem, x), &vec![true; free.len()], tolerance);
    }
}

#[test]
fn a_problem_without_anything_that_may_move_has_converged() {
    let net = Net::new(40, &mut Random::new(3));
    for (name, mut session, _) in sessions() {
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, None, None).unwrap();
        let report = solve(&mut session, problem, &Options { gradient_tolerance: Some(0.0), ..Options::default() });
        assert_eq!(report.termination, Termination::Converged, "{name}: {}", report.reason);
        assert_eq!((report.iterations.len(), report.iterations[0].gradient_norm), (1, 0.0), "{name}");
        check(name, &net, &net.points, &read(&mut session, problem, x), &vec![false; net.points.len()], 0.0);
    }
}

#[test]
fn pins_change_between_live_steps_by_one_upload() {
    let net = Net::new(60, &mut Random::new(5));
    for (name, mut session, tolerance) in sessions() {
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, Some(&[4, 7]), None).unwrap();
        let solver = session.solver(problem, &tight()).unwrap();
        let steps = |session: &mut Session| {
            for _ in 0..40 {
                let task = session.solve(solver, SolveMode::Step).unwrap();
                finish(session, task, |_| {});
            }
        };
        steps(&mut session);
        let before = read(&mut session, problem, x);
        let made = session.device().counters();
        session.unfix_table(problem, x, Some(&[7])).unwrap();
        session.fix_table(problem, x, Some(&[11, 9, 13]), Some(&[1])).unwrap();
        steps(&mut session);
        let now = session.device().counters().since(&made);
        assert_eq!((now.kernels_created, now.buffers_created), (0, 0), "{name}");
        let mut free = vec![true; net.points.len()];
        [8, 9, 2 * 9 + 1, 2 * 11 + 1, 2 * 13 + 1].into_iter().for_each(|i| free[i] = false);
        check(name, &net, &before, &read(&mut session, problem, x), &free, tolerance);
        session.free_solver(solver);
    }
}

#[test]
fn tables_made_after_a_pin_can_move() {
    let net = Net::new(30, &mut Random::new(8));
    for (name, mut session, tolerance) in sessions() {
        let (problem, x) = net.build(&mut session);
        session.fix_table(problem, x, Some(&[2]), None).unwrap();
        solve(&mut session, problem, &tight());
        let before = read(&mut session, problem, x);
        let y = session.table(problem, "y", 1, Reals::F64(&[4.0, -3.0, 2.0]), true).unwrap();
        let mut tape = Tape::default();
        let value = tape.input(0);
        let spec = TermSpec {
            name: "y".into(),
            count: 3,
            indices: vec![vec![0, 1, 2]],
            slots: vec![Slot { table: y, column: 0 }],
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[value],
        };
        session.term(problem, spec).unwrap();
        session.fix_table(problem, y, Some(&[1]), None).unwrap();
        solve(&mut session, problem, &tight());
        let now = read(&mut session, problem, y);
        assert!(now[0].abs() < tolerance && now[1] == -3.0 && now[2].abs() < tolerance, "{name}: {now:?}");
        let mut free = vec![true; net.points.len()];
        free[4..6].fill(false);
        check(name, &net, &before, &read(&mut session, problem, x), &free, tolerance);
    }
}

#[test]
fn what_cannot_be_fixed_is_refused() {
    let net = Net::new(10, &mut Random::new(9));
    let mut session = cpu(Precision::F64);
    let (problem, x) = net.build(&mut session);
    let constant = session.table(problem, "c", 2, Reals::F64(&[1.0, 2.0]), false).unwrap();
    let range = session.fix_table(problem, x, Some(&[3, 10]), None).unwrap_err();
    assert_eq!(range.code(), "index-out-of-range");
    assert!(range.to_string().contains("\"x\": index 10"), "{range}");
    for (table, components) in [(x, Some(&[0, 2][..])), (constant, None)] {
        let error = session.fix_table(problem, table, None, components).unwrap_err();
        assert_eq!(error.code(), "shape", "{error}");
    }
}
