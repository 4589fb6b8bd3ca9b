//! Terms of one structure are one batch: kernels, costs, edits, removal and blame of a hundred small terms that the
//! device sees as one.

use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::kernels::{bounds, pcg, step, system, trust_region};
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::{Progress, Session};
use leastwise::solve::Options;
use leastwise::{Error, device::Limits};

fn sessions() -> Vec<(&'static str, Session)> {
    vec![
        ("cpu", cpu(Precision::F64)),
        ("cpu, small limits", cpu_with(Precision::F64, Limits { binding_bytes: 1 << 16, buffer_bytes: 1 << 16, ..Limits::SMALL })),
        ("webgpu", gpu(None)),
    ]
}

/// Points on a line of which each knows its distance to the next: n − 1 springs of one instance each, written in four
/// ways that mean the same.
fn chain(session: &mut Session, n: u32) -> (u32, u32, Vec<u32>) {
    let problem = session.problem();
    let start: Vec<f64> = (0..2 * n).map(|k| f64::from(k) * 0.4 + if k % 3 == 0 { 0.3 } else { 0.0 }).collect();
    let x = session.table(problem, "x", 2, Reals::F64(&start), true).unwrap();
    let terms = (0..n - 1).map(|k| {
        let mut tape = Tape::default();
        let [a, b] = [0, 1].map(|source| tape.input(source));
        let rest = tape.literal(2.0 + 0.01 * f64::from(k));
        let edge = if k % 2 == 0 { tape.op(Sub, &[a, b]) } else { tape.op(Sub, &[b, a]) };
        let length = if k % 4 < 2 {
            tape.op(Norm, &[edge])
        } else {
            let squares = tape.op(Dot, &[edge, edge]);
            tape.op(Sqrt, &[squares])
        };
        let residual = tape.op(Sub, &[length, rest]);
        let ends = if k % 3 == 0 { [k + 1, k] } else { [k, k + 1] };
        let spec = TermSpec {
            name: format!("spring {k}"),
            count: 1,
            indices: vec![vec![ends[0]], vec![ends[1]]],
            slots: [0, 1].map(|column| Slot { table: x, column }).to_vec(),
            columns: Vec::new(),
            weight: Weight::Shared(1.0 + f64::from(k % 5)),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        session.term(problem, spec).unwrap()
    });
    let terms = terms.collect();
    (problem, x, terms)
}

fn costs(session: &mut Session, problem: u32, term: u32) -> Vec<f64> {
    let task = session.term_costs(problem, term).unwrap();
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

#[test]
fn a_hundred_springs_are_one_batch_of_one_structure() {
    for (name, mut session) in sessions() {
        let (problem, x, terms) = chain(&mut session, 120);
        let described = session.describe_term(problem, terms[7]).unwrap();
        assert_eq!((described.batches, described.neighbours), (1, 118), "{name}");
        let stats = session.stats();
        assert_eq!((stats.terms, stats.structures, stats.hits), (119, 1, 118), "{name}: {stats:?}");
        let before = session.device().counters();
        let report = solve(&mut session, problem, &Options { linear: Some("pcg".into()), ..Options::default() });
        assert!(report.cost < 1e-8, "{name}: {} {}", report.cost, report.reason);
        assert_eq!(report.cost_by_term.len(), 119);
        assert_eq!(report.cost_by_term[5].0, "spring 5");
        let of_solvers: usize = [system::ALL, bounds::ALL, pcg::ALL, step::ALL, trust_region::ALL].iter().map(|set| set.len()).sum();
        assert!(
            session.device().counters().since(&before).kernels_created <= 6 + of_solvers as u64,
            "{name}: six kernels besides the static ones"
        );
        let points = read(&mut session, problem, x);
        for k in 0..119 {
            let length = (points[2 * k] - points[2 * k + 2]).hypot(points[2 * k + 1] - points[2 * k + 3]);
            assert!((length - 2.0 - 0.01 * k as f64).abs() < 1e-3, "{name}: spring {k} is {length} long");
        }
    }
}

#[test]
fn terms_of_a_batch_are_edited_switched_and_removed_alone() {
    for (name, mut session) in sessions() {
        let (problem, _, terms) = chain(&mut session, 40);
        let alone: Vec<f64> = terms.iter().map(|&term| costs(&mut session, problem, term)[0]).collect();
        session.set_weight(problem, terms[3], Weight::Shared(40.0)).unwrap();
        assert!((costs(&mut session, problem, terms[3])[0] - 10.0 * alone[3]).abs() < 1e-5 * alone[3], "{name}: weight");
        session.set_enabled(problem, terms[4], false).unwrap();
        assert_eq!(session.describe_term(problem, terms[0]).unwrap().neighbours, 37, "{name}");
        assert!((costs(&mut session, problem, terms[4])[0] - alone[4]).abs() <= 1e-6 * alone[4], "{name}: a term that is off has its cost");
        session.free_term(problem, terms[5]).unwrap();
        assert_eq!(session.describe_term(problem, terms[0]).unwrap().neighbours, 36, "{name}");
        for k in [0, 6, 20, 38] {
            let cost = costs(&mut session, problem, terms[k])[0];
            assert!((cost - alone[k]).abs() <= 1e-6 * alone[k], "{name}: spring {k} costs {cost}, not {}", alone[k]);
        }
        assert_eq!(session.term_costs(problem, terms[5]), Err(Error::Disposed("term")));
        let report = solve(&mut session, problem, &Options::default());
        assert!(report.cost < 1e-8 && report.cost_by_term.len() == 37, "{name}");
        session.set_enabled(problem, terms[4], true).unwrap();
        // It stays where it was put when it was switched off, so that switching on and off again is cheap.
        assert_eq!(session.describe_term(problem, terms[4]).unwrap().neighbours, 0, "{name}");
        assert_eq!(solve(&mut session, problem, &Options::default()).cost_by_term.len(), 38, "{name}");
        let before = session.device().counters();
        session.free_problem(problem);
        let after = session.device().counters();
        assert_eq!(after.buffers_created, after.buffers_destroyed, "{name}: {before:?} {after:?}");
    }
}

#[test]
fn an_undefined_residual_of_a_batch_is_blamed_on_its_term() {
    for (name, mut session) in sessions() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, -3.0, 4.0]), true).unwrap();
        for k in 0..4 {
            let mut tape = Tape::default();
            let a = tape.input(0);
            let root = tape.op(Sqrt, &[a]);
            let spec = TermSpec {
                name: format!("root {k}"),
                count: 1,
                indices: vec![vec![k]],
                slots: vec![Slot { table: x, column: 0 }],
                columns: Vec::new(),
                weight: Weight::Shared(1.0),
                loss: None,
                objective: Default::default(),
                tape: &tape.words,
                outputs: &[root],
            };
            session.term(problem, spec).unwrap();
        }
        let solver = session.solver(problem, &Options::default()).unwrap();
        let task = session.solve(solver, leastwise::session::SolveMode::Solve).unwrap();
        let error = loop {
            match session.resume(task, f64::INFINITY) {
                Ok(Progress::Waiting(signal)) => session.device_mut().block_on(&signal).unwrap(),
                Ok(Progress::Yielded | Progress::Iteration(_)) => {}
                Ok(_) => panic!("{name}: it ended"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, Error::NonFiniteResidual { term: "root 2".into(), instance: 0 }, "{name}");
    }
}

/// The uniform Laplacian of a vertex, its neighbours added in any order, before or after the centre among the slots.
#[test]
fn stars_in_any_order_are_one_structure_a_valence() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let values: Vec<f64> = (0..60).map(|k| f64::from(k).sin()).collect();
    let x = session.table(problem, "x", 1, Reals::F64(&values), true).unwrap();
    let mut random = Random::new(3);
    for round in 0..60u64 {
        let valence = 3 + (round % 4) as u32;
        let centre = random.below(u64::from(valence) + 1) as u32;
        let mut neighbours: Vec<u32> = (0..=valence).filter(|slot| *slot != centre).collect();
        (0..neighbours.len()).for_each(|k| neighbours.swap(k, random.below(valence.into()) as usize));
        let mut tape = Tape::default();
        let inputs: Vec<u32> = (0..=valence).map(|source| tape.input(source)).collect();
        let differences: Vec<u32> =
            neighbours.iter().map(|&slot| tape.op(Sub, &[inputs[slot as usize], inputs[centre as usize]])).collect();
        let total = tape.op(Sum, &differences);
        let share = tape.literal(1.0 / f64::from(valence));
        let mean = if round % 2 == 0 { tape.op(Mul, &[total, share]) } else { tape.op(Mul, &[share, total]) };
        let spec = TermSpec {
            name: format!("star {round}"),
            count: 1,
            indices: (0..=valence).map(|_| vec![random.below(60) as u32]).collect(),
            slots: (0..=valence).map(|column| Slot { table: x, column }).collect(),
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[mean],
        };
        session.term(problem, spec).unwrap();
    }
    let stats = session.stats();
    assert_eq!((stats.terms, stats.structures), (60, 4), "{stats:?}");
}

#[test]
fn equal_structures_of_two_problems_are_compiled_once() {
    let mut session = cpu(Precision::F64);
    let (first, _, terms) = chain(&mut session, 4);
    session.describe_term(first, terms[0]).unwrap();
    let before = (session.stats().compiled, session.device().counters().kernels_created);
    let (second, _, terms) = chain(&mut session, 9);
    session.describe_term(second, terms[0]).unwrap();
    assert_eq!((session.stats().compiled, session.device().counters().kernels_created), before);
}

/// A number, a shared column and a column an instance are one structure; 0 and ±1 are not numbers like others.
#[test]
fn numbers_are_data() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0]), true).unwrap();
    let add = |session: &mut Session, scale: Option<f64>, column: Option<bool>| {
        let mut tape = Tape::default();
        let a = tape.input(0);
        let factor = match scale {
            Some(value) => tape.literal(value),
            None => tape.input(1),
        };
        let residual = tape.op(Mul, &[a, factor]);
        let values = [3.0, 4.0];
        let columns = column.map(|shared| Column {
            name: "k".into(),
            width: 1,
            shared,
            values: Reals::F64(if shared { &values[..1] } else { &values }),
        });
        let spec = TermSpec {
            name: "scaled".into(),
            count: 2,
            indices: vec![vec![0, 1]],
            slots: vec![Slot { table: x, column: 0 }],
            columns: columns.into_iter().collect(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        let term = session.term(problem, spec).unwrap();
        (term, costs(session, problem, term))
    };
    let (_, five) = add(&mut session, Some(5.0), None);
    let (_, six) = add(&mut session, Some(6.0), None);
    let (_, shared) = add(&mut session, None, Some(true));
    let (last, each) = add(&mut session, None, Some(false));
    assert_eq!([five, six, shared, each], [[12.5, 50.0], [18.0, 72.0], [4.5, 18.0], [4.5, 32.0]].map(|costs| costs.to_vec()));
    assert_eq!(session.stats().structures, 1);
    assert_eq!(session.describe_term(problem, last).unwrap().neighbours, 3);
    add(&mut session, Some(1.0), None);
    assert_eq!(session.stats().structures, 2);
}
