//! Graduated non-convexity: registrations and chains of poses most of whose measurements are wrong.

use crate::support::scan::{Scan, THRESHOLD};
use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::problem::{Loss, Reals, Weight};
use leastwise::session::{Graduated, Progress, Session, Suspect};
use leastwise::solve::Options;
use leastwise::solve::graduated::{Ending, Schedule, Surrogate};

fn graduated(session: &mut Session, problem: u32, suspects: &[Suspect], schedule: Schedule) -> Graduated {
    let task = session.graduated(problem, suspects, schedule, &Options::default()).unwrap();
    let mut steps = 0;
    let Progress::Graduated(made) = finish(session, task, |_| steps += 1) else { panic!("no outcome") };
    assert_eq!(made.steps, steps, "every step is told");
    *made
}

fn suspect(term: u32, threshold: f64) -> Suspect {
    Suspect { term, threshold, known: Vec::new() }
}

fn sessions() -> Vec<(&'static str, Shared)> {
    vec![("cpu f64", cpu(Precision::F64).into()), ("cpu f32", cpu(Precision::F32).into()), ("webgpu", shared_gpu(None))]
}

#[test]
fn registrations_with_mostly_outliers_are_found() {
    for (name, mut session) in sessions() {
        for (surrogate, wrong) in
            [(Surrogate::TruncatedLeastSquares, 0.5), (Surrogate::TruncatedLeastSquares, 0.8), (Surrogate::GemanMcClure, 0.6)]
        {
            for &seed in repeated(&[1, 2, 3], if name == "webgpu" { 1 } else { 3 }) {
                let scan = Scan::new(seed, 150, wrong);
                let what = format!("{name}, {surrogate:?}, {wrong} wrong, seed {seed}");
                let (problem, tables, _) = scan.make(&mut session, [0.0; 3], Weight::Shared(1.0), None);
                solve(&mut session, problem, &Options::default());
                let plain = scan.error(&mut session, problem, tables);
                session.free_problem(problem);
                let (problem, tables, _) = scan.make(&mut session, [0.0; 3], Weight::Shared(1.0), Some(Loss::huber(THRESHOLD).unwrap()));
                solve(&mut session, problem, &Options::default());
                let huber = scan.error(&mut session, problem, tables);
                session.free_problem(problem);
                assert!(plain > 0.3 && (huber > 0.1 || wrong < 0.7), "{what}: {plain} and {huber}, where they are to fail");

                let (problem, tables, term) = scan.make(&mut session, [0.0; 3], Weight::Shared(1.0), None);
                let made = graduated(&mut session, problem, &[suspect(term, THRESHOLD)], Schedule { surrogate, ..Schedule::default() });
                let error = scan.error(&mut session, problem, tables);
                assert!(error < 0.01, "{what}: {error} ({:?} after {} rounds)", made.ending, made.rounds);
                let ended = if surrogate == Surrogate::GemanMcClure { [Ending::Schedule; 2] } else { [Ending::Binary, Ending::Settled] };
                assert!(ended.contains(&made.ending) && made.rounds > 3, "{what}: {:?}, {}", made.ending, made.rounds);
                // An outlier may be right by chance; an inlier's noise is within the threshold.
                for (k, (&weight, &wrong)) in made.weights.iter().zip(&scan.outlier).enumerate() {
                    assert!(wrong && weight < 0.5 || !wrong && weight > 0.5, "{what}: instance {k} has {weight}");
                }
                session.free_problem(problem);
            }
        }
        assert_eq!(session.counters().bytes_live, 0, "{name}: buffers are left");
    }
}

#[test]
fn weights_are_the_users_again() {
    let scan = Scan::new(5, 60, 0.5);
    let own: Vec<f64> = (0..60).map(|k| 0.5 + f64::from(k % 3)).collect();
    let mut session = cpu(Precision::F64);
    let costs = |session: &mut Session, problem: u32, term: u32| {
        let task = session.term_costs(problem, term).unwrap();
        let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no costs") };
        values
    };
    for (name, weight) in [("shared", Weight::Shared(2.0)), ("each", Weight::Each(Reals::F64(&own)))] {
        let (problem, tables, term) = scan.make(&mut session, [0.0; 3], weight, None);
        let (fresh, ..) = scan.make(&mut session, [0.0; 3], weight, None);
        let known: Vec<u32> = (30..34).collect();
        let suspects = [Suspect { known: known.clone(), ..suspect(term, 1.5 * THRESHOLD) }];
        let made = graduated(&mut session, problem, &suspects, Schedule::default());
        assert!(known.iter().all(|&k| made.weights[k as usize] == 1.0));
        assert!(scan.error(&mut session, problem, tables) < 0.01, "{name}");
        // The same costs as in a problem that never was graduated, at the same values.
        for table in tables {
            let values = read(&mut session, problem, table);
            session.write_table(fresh, table, Reals::F64(&values), None).unwrap();
        }
        assert_eq!(costs(&mut session, problem, term), costs(&mut session, fresh, term), "{name}");
        let [again, other] = [problem, fresh].map(|problem| solve(&mut session, problem, &Options::default()));
        assert_eq!(again.cost, other.cost, "{name}");
        // One weight for all can be set as before.
        if name == "shared" {
            session.set_weight(problem, term, Weight::Shared(3.0)).unwrap();
            assert!(session.set_weight(problem, term, Weight::Each(Reals::F64(&own))).is_err());
        }
        // Whoever ends it early has his weights back as well.
        let task = session.graduated(problem, &suspects, Schedule::default(), &Options::default()).unwrap();
        for _ in 0..20 {
            session.resume(task, 0.0).unwrap();
        }
        session.cancel(task);
        let at: Vec<Vec<f64>> = tables.iter().map(|&table| read(&mut session, problem, table)).collect();
        for (&table, values) in tables.iter().zip(&at) {
            session.write_table(fresh, table, Reals::F64(values), None).unwrap();
        }
        if name == "shared" {
            session.set_weight(fresh, term, Weight::Shared(3.0)).unwrap();
        }
        assert_eq!(costs(&mut session, problem, term), costs(&mut session, fresh, term), "{name}");
        // And whoever stops it gets what there is.
        let task = session.graduated(problem, &suspects, Schedule::default(), &Options::default()).unwrap();
        session.resume(task, 0.0).unwrap();
        session.stop(task, "enough");
        let Progress::Graduated(made) = finish(&mut session, task, |_| {}) else { panic!("no outcome") };
        assert_eq!(made.ending, Ending::Stopped, "{name}");
        session.free_problem(problem);
        session.free_problem(fresh);
    }
    assert_eq!(session.device().counters().bytes_live, 0, "buffers are left");
}

#[test]
fn inliers_alone_are_solved_once() {
    let scan = Scan::new(8, 40, 0.0);
    let mut session = cpu(Precision::F64);
    let (problem, tables, term) = scan.make(&mut session, [0.0; 3], Weight::Shared(1.0), None);
    let made = graduated(&mut session, problem, &[suspect(term, 1.0)], Schedule::default());
    assert_eq!((made.ending, made.rounds, made.mu), (Ending::AllInliers, 0, None));
    assert!(made.weights.iter().all(|weight| *weight == 1.0) && scan.error(&mut session, problem, tables) < 0.01);
}

#[test]
fn two_runs_have_the_same_bits() {
    let scan = Scan::new(3, 80, 0.7);
    let run = || {
        let mut session = cpu(Precision::F64);
        let (problem, tables, term) = scan.make(&mut session, [0.0; 3], Weight::Shared(1.0), None);
        let made = graduated(&mut session, problem, &[suspect(term, THRESHOLD)], Schedule::default());
        (made.weights, tables.map(|table| read(&mut session, problem, table)), made.steps)
    };
    assert_eq!(run(), run());
}

#[test]
fn what_has_no_threshold_is_refused() {
    let scan = Scan::new(1, 10, 0.0);
    let mut session = cpu(Precision::F64);
    let (problem, _, term) = scan.make(&mut session, [0.0; 3], Weight::Shared(1.0), None);
    let (robust, _, bent) = scan.make(&mut session, [0.0; 3], Weight::Shared(1.0), Some(Loss::huber(1.0).unwrap()));
    let mut refused = |problem: u32, suspects: &[Suspect], schedule: Schedule, told: &str| {
        let error = session.graduated(problem, suspects, schedule, &Options::default()).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
        error
    };
    let usual = Schedule::default();
    refused(problem, &[], usual, "name at least one term");
    refused(problem, &[suspect(term, 0.0)], usual, "threshold of 0");
    refused(problem, &[suspect(term, f64::NAN)], usual, "positive number");
    refused(problem, &[suspect(term, 1.0), suspect(term, 1.0)], usual, "named twice");
    refused(problem, &[suspect(term, 1.0)], Schedule { step: 1.0, ..usual }, "muStep must be more than 1");
    refused(robust, &[suspect(bent, 1.0)], usual, "has a robust loss");
    let error = refused(problem, &[Suspect { known: vec![10], ..suspect(term, 1.0) }], usual, "out of range");
    assert!(matches!(error, Error::RowOutOfRange { .. }));
    session.set_enabled(problem, term, false).unwrap();
    assert!(session.graduated(problem, &[suspect(term, 1.0)], usual, &Options::default()).is_err());
}
