//! Rows of entries, what all instances share, small terms that share a batch, and variables that meet themselves.

use super::support::*;
use super::{backward, of_term, slope, tight};
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, EntryColumn, Loss, RaggedSlot, RaggedSpec, Reals, Slot, TermSpec, Trace, Weight};
use leastwise::session::{BackwardOptions, Session};

struct Made {
    problem: u32,
    x: u32,
    rows: u32,
    priors: Vec<u32>,
}

const COUNT: usize = 9;

fn make(session: &mut Session, random: &mut Random, lengths: &[u32]) -> Made {
    let mut vector = |len: usize| (0..len).map(|_| random.between(0.3, 1.5)).collect::<Vec<f64>>();
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&vector(COUNT)), true).unwrap();
    let offsets: Vec<u32> = std::iter::once(0)
        .chain(lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        }))
        .collect();
    let entries = offsets[lengths.len()] as usize;
    let (each, gain, offset) = (vector(entries), vector(1), vector(lengths.len()));
    // gain · Σ w q³ − c·offset, where c is the row's own.
    let traces: Vec<(u32, Tape, [u32; 1])> = lengths
        .iter()
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|&length| {
            let mut tape = Tape::default();
            let [c, gain, offset] = [0, 1, 2].map(|source| tape.input(source));
            let pairs: Vec<(u32, u32)> = (0..length).map(|entry| (tape.input(3 + 2 * entry), tape.input(4 + 2 * entry))).collect();
            let parts: Vec<u32> = pairs
                .into_iter()
                .map(|(q, w)| {
                    let cube = tape.op(Cube, &[q]);
                    tape.op(Mul, &[cube, w])
                })
                .collect();
            let sum = tape.op(Sum, &parts);
            let gained = tape.op(Mul, &[gain, sum]);
            let own = tape.op(Mul, &[c, offset]);
            let outputs = [tape.op(Sub, &[gained, own])];
            (length, tape, outputs)
        })
        .collect();
    let spec = RaggedSpec {
        plain: TermSpec {
            name: "rows".into(),
            count: lengths.len() as u32,
            // A row's own variable is among its entries, too.
            indices: vec![(0..lengths.len() as u32).map(|row| row % COUNT as u32).collect()],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![
                Column { name: "gain".into(), width: 1, shared: true, values: Reals::F64(&gain) },
                Column { name: "offset".into(), width: 1, shared: false, values: Reals::F64(&offset) },
            ],
            weight: Weight::Shared(0.4),
            loss: Some(Loss::cauchy(0.8).unwrap()),
            objective: Default::default(),
            tape: &[],
            outputs: &[],
        },
        slots: vec![RaggedSlot { table: x, indices: (0..entries as u32).map(|k| (2 * k + 1) % COUNT as u32).collect() }],
        columns: vec![EntryColumn { name: "w".into(), values: Reals::F64(&each) }],
        offsets,
        traces: traces.iter().map(|(length, tape, outputs)| Trace { length: *length, tape: &tape.words, outputs }).collect(),
    };
    let rows = session.ragged_term(problem, spec).unwrap();
    // Small terms, which share a batch.
    let goals = vector(COUNT);
    let priors = (0..COUNT as u32).map(|k| {
        let mut tape = Tape::default();
        let [value, goal] = [0, 1].map(|source| tape.input(source));
        let outputs = [tape.op(Sub, &[value, goal])];
        let spec = TermSpec {
            name: format!("prior {k}"),
            count: 1,
            indices: vec![vec![k]],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![Column { name: "goal".into(), width: 1, shared: k % 2 == 0, values: Reals::F64(&goals[k as usize..][..1]) }],
            weight: Weight::Shared(1.0 + f64::from(k)),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap()
    });
    let priors = priors.collect();
    Made { problem, x, rows, priors }
}

/// Within what differences are good for; gradients here are tenths.
fn near(what: &str, found: &[f64], expected: &[f64]) {
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-4, "{what}: value {place} is {found}, not {expected}");
    }
}

#[test]
fn rows_and_small_terms() {
    let seed = fresh_seed();
    // Few lengths, each with its kernel; and many, which share masked ones.
    for lengths in [vec![1, 3, 2, 3, 1, 5], (1..=20).collect::<Vec<u32>>()] {
        let what = format!("LEASTWISE_TEST_SEED={seed}, {} lengths", lengths.len());
        let mut session = cpu(Precision::F64);
        let made = make(&mut session, &mut Random::new(seed), &lengths);
        let mut random = Random::new(seed + 1);
        let v: Vec<f64> = (0..COUNT).map(|_| random.between(-1.0, 1.0)).collect();
        let value = |session: &mut Session| {
            solve(session, made.problem, &tight());
            read(session, made.problem, made.x).iter().zip(&v).map(|(x, v)| x * v).sum::<f64>()
        };
        value(&mut session);
        let gradients = backward(&mut session, made.problem, &[(made.x, &v)], false, BackwardOptions::default()).unwrap();
        assert!(gradients.stationary, "{what}: {}", gradients.distance);
        // The numbers once more, in the order in which they were drawn.
        let mut random = Random::new(seed);
        let mut vector = |len: usize| (0..len).map(|_| random.between(0.3, 1.5)).collect::<Vec<f64>>();
        let entries = lengths.iter().sum::<u32>() as usize;
        let [_, each, gain, offset, goals] = [COUNT, entries, 1, lengths.len(), COUNT].map(&mut vector);
        for (column, values) in [(0, gain), (1, offset), (2, each)] {
            let found = of_term(&gradients, made.rows, Some(column));
            assert_eq!(found.len(), values.len(), "{what}");
            let tried: Vec<usize> = (0..values.len()).step_by((values.len() / 9).max(1)).collect();
            let differences: Vec<f64> = tried
                .iter()
                .map(|&place| {
                    slope(|by| {
                        let mut moved = values.clone();
                        moved[place] += by;
                        session.set_column(made.problem, made.rows, column as u32, Reals::F64(&moved)).unwrap();
                        value(&mut session)
                    })
                })
                .collect();
            session.set_column(made.problem, made.rows, column as u32, Reals::F64(&values)).unwrap();
            let found: Vec<f64> = tried.iter().map(|&place| found[place]).collect();
            near(&format!("{what}, column {column}"), &found, &differences);
        }
        for (k, &prior) in made.priors.iter().enumerate() {
            let by_goal = slope(|by| {
                session.set_column(made.problem, prior, 0, Reals::F64(&[goals[k] + by])).unwrap();
                value(&mut session)
            });
            session.set_column(made.problem, prior, 0, Reals::F64(&goals[k..k + 1])).unwrap();
            let by_weight = slope(|by| {
                session.set_weight(made.problem, prior, Weight::Shared(1.0 + k as f64 + by)).unwrap();
                value(&mut session)
            });
            session.set_weight(made.problem, prior, Weight::Shared(1.0 + k as f64)).unwrap();
            let found = [of_term(&gradients, prior, Some(0))[0], of_term(&gradients, prior, None)[0]];
            near(&format!("{what}, prior {k}"), &found, &[by_goal, by_weight]);
        }
    }
}
