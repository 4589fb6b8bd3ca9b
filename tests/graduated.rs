//! Graduated non-convexity: registrations and chains of poses most of whose measurements are wrong.

use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, Loss, Reals, Shape, Slot, TermSpec, Weight};
use leastwise::session::{Graduated, Progress, Session, Suspect};
use leastwise::solve::Options;
use leastwise::solve::graduated::{Ending, Schedule, Surrogate};

const NOISE: f64 = 0.01;
/// Of χ² with three degrees of freedom, 99.9 % are within 4.03².
const THRESHOLD: f64 = 4.03 * NOISE;

/// Points, and where a motion takes them; of some, somewhere else.
struct Scan {
    from: Vec<f64>,
    to: Vec<f64>,
    turn: [f64; 4],
    shift: [f64; 3],
    outlier: Vec<bool>,
}

fn rotate([x, y, z, w]: [f64; 4], v: &[f64]) -> [f64; 3] {
    let cross = |a: [f64; 3], b: &[f64]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let t = cross([x, y, z], v).map(|c| 2.0 * c);
    let u = cross([x, y, z], &t);
    [0, 1, 2].map(|k| v[k] + w * t[k] + u[k])
}

impl Scan {
    fn new(seed: u64, count: usize, wrong: f64) -> Self {
        let mut random = Random::new(seed);
        let mut vector = |len: usize| (0..len).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f64>>();
        let q = vector(4);
        let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
        let turn = [0, 1, 2, 3].map(|k| q[k] / length);
        let shift = [0, 1, 2].map(|_| 2.0 * vector(1)[0]);
        let from = vector(3 * count);
        let outlier: Vec<bool> = (0..count).map(|k| (k as f64 + 0.5) / (count as f64) < wrong).collect();
        let to = from.chunks(3).zip(&outlier).flat_map(|(p, &wrong)| {
            let (turned, noise, anywhere) = (rotate(turn, p), vector(3), vector(3));
            [0, 1, 2].map(|k| if wrong { 3.0 * anywhere[k] } else { turned[k] + shift[k] + NOISE * noise[k] })
        });
        Self { to: to.collect(), from, turn, shift, outlier }
    }

    /// r = q·p + t − p′, over one rotation and one translation.
    fn make(&self, session: &mut Session, weight: Weight, loss: Option<Loss>) -> (u32, [u32; 2], u32) {
        let problem = session.problem();
        let q = session.table_of(problem, "turn", vec![Shape::Quaternion], Reals::F64(&[0.0, 0.0, 0.0, 1.0]), true).unwrap();
        let t = session.table(problem, "shift", 3, Reals::F64(&[0.0; 3]), true).unwrap();
        let mut tape = Tape::default();
        let [turn, shift, from, to] = [0, 1, 2, 3].map(|source| tape.input(source));
        let turned = tape.op(QuatRotate, &[turn, from]);
        let moved = tape.op(Add, &[turned, shift]);
        let outputs = [tape.op(Sub, &[moved, to])];
        let count = self.outlier.len();
        let column = |name: &str, values| Column { name: String::from(name), width: 3, shared: false, values: Reals::F64(values) };
        let spec = TermSpec {
            name: "pairs".into(),
            count: count as u32,
            indices: vec![vec![0; count]],
            slots: vec![Slot { table: q, column: 0 }, Slot { table: t, column: 0 }],
            columns: vec![column("from", &self.from), column("to", &self.to)],
            weight,
            loss,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        let term = session.term(problem, spec).unwrap();
        (problem, [q, t], term)
    }

    /// How far the motion is off, in radians or lengths.
    fn error(&self, session: &mut Session, problem: u32, [q, t]: [u32; 2]) -> f64 {
        let (q, t) = (read(session, problem, q), read(session, problem, t));
        let along: f64 = q.iter().zip(self.turn).map(|(a, b)| a * b).sum();
        let turn = 2.0 * along.abs().min(1.0).acos();
        let shift = t.iter().zip(self.shift).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        turn.max(shift)
    }
}

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
                let (problem, tables, _) = scan.make(&mut session, Weight::Shared(1.0), None);
                solve(&mut session, problem, &Options::default());
                let plain = scan.error(&mut session, problem, tables);
                session.free_problem(problem);
                let (problem, tables, _) = scan.make(&mut session, Weight::Shared(1.0), Some(Loss::huber(THRESHOLD).unwrap()));
                solve(&mut session, problem, &Options::default());
                let huber = scan.error(&mut session, problem, tables);
                session.free_problem(problem);
                assert!(plain > 0.3 && (huber > 0.1 || wrong < 0.7), "{what}: {plain} and {huber}, where they are to fail");

                let (problem, tables, term) = scan.make(&mut session, Weight::Shared(1.0), None);
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
        let (problem, tables, term) = scan.make(&mut session, weight, None);
        let (fresh, ..) = scan.make(&mut session, weight, None);
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
    let (problem, tables, term) = scan.make(&mut session, Weight::Shared(1.0), None);
    let made = graduated(&mut session, problem, &[suspect(term, 1.0)], Schedule::default());
    assert_eq!((made.ending, made.rounds, made.mu), (Ending::AllInliers, 0, None));
    assert!(made.weights.iter().all(|weight| *weight == 1.0) && scan.error(&mut session, problem, tables) < 0.01);
}

#[test]
fn two_runs_have_the_same_bits() {
    let scan = Scan::new(3, 80, 0.7);
    let run = || {
        let mut session = cpu(Precision::F64);
        let (problem, tables, term) = scan.make(&mut session, Weight::Shared(1.0), None);
        let made = graduated(&mut session, problem, &[suspect(term, THRESHOLD)], Schedule::default());
        (made.weights, tables.map(|table| read(&mut session, problem, table)), made.steps)
    };
    assert_eq!(run(), run());
}

#[test]
fn what_has_no_threshold_is_refused() {
    let scan = Scan::new(1, 10, 0.0);
    let mut session = cpu(Precision::F64);
    let (problem, _, term) = scan.make(&mut session, Weight::Shared(1.0), None);
    let (robust, _, bent) = scan.make(&mut session, Weight::Shared(1.0), Some(Loss::huber(1.0).unwrap()));
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
