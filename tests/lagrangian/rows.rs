//! Constraints on rows of entries: every instance has as many as it likes.

use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode::*;
use leastwise::problem::{EntryColumn, RaggedSlot, RaggedSpec, Reals, Relation, Slot, TermSpec, Trace};
use leastwise::solve::Options;

/// Groups of 1, 2, 3, … unknowns near targets, of which Σ a x² = 1 is asked, with an a for each entry.
#[test]
fn rows_of_entries_are_constrained() {
    for groups in [4u32, 24] {
        let mut session = cpu(Precision::F64);
        let problem = session.problem();
        let offsets: Vec<u32> = (0..=groups).map(|k| k * (k + 1) / 2).collect();
        let count = offsets[groups as usize];
        let targets: Vec<f64> = (0..count).map(|i| 1.0 + 0.5 * f64::from(i).sin()).collect();
        let x = session.table(problem, "x", 1, Reals::F64(&targets), true).unwrap();
        let mut tape = Tape::default();
        let inputs = [tape.input(0), tape.input(1)];
        let outputs = [tape.op(Sub, &inputs)];
        let column = leastwise::problem::Column { name: "t".into(), width: 1, shared: false, values: Reals::F64(&targets) };
        let near = TermSpec {
            indices: vec![(0..count).collect()],
            slots: vec![Slot { table: x, column: 0 }],
            columns: vec![column],
            tape: &tape.words,
            outputs: &outputs,
            ..plain("near", count)
        };
        session.term(problem, near).unwrap();
        let tapes: Vec<(u32, Tape, Vec<u32>)> = (1..=groups)
            .map(|length| {
                let mut tape = Tape::default();
                let parts: Vec<u32> = (0..length)
                    .map(|entry| {
                        let [x, a] = [tape.input(2 * entry), tape.input(2 * entry + 1)];
                        let square = tape.op(Square, &[x]);
                        tape.op(Mul, &[a, square])
                    })
                    .collect();
                let sum = tape.op(Sum, &parts);
                let one = tape.literal(1.0);
                let output = tape.op(Sub, &[sum, one]);
                (length, tape, vec![output])
            })
            .collect();
        let factors: Vec<f64> = (0..count).map(|i| 1.0 + 0.1 * f64::from(i % 7)).collect();
        let spec = RaggedSpec {
            plain: plain("ellipsoids", groups),
            offsets: offsets.clone(),
            slots: vec![RaggedSlot { table: x, indices: (0..count).collect() }],
            columns: vec![EntryColumn { name: "a".into(), values: Reals::F64(&factors) }],
            traces: tapes.iter().map(|(length, tape, outputs)| Trace { length: *length, tape: &tape.words, outputs }).collect(),
        };
        let term = session.ragged_constraint(problem, spec, Relation::Zero).unwrap();
        for scale in [1.0, 2.0] {
            // A column of entries can be edited: hidden ones are not counted.
            let factors: Vec<f64> = factors.iter().map(|factor| scale * factor).collect();
            session.set_column(problem, term, 0, Reals::F64(&factors)).unwrap();
            let report = solve(&mut session, problem, &Options::default());
            assert!(report.converged, "{groups}: {}", report.reason);
            let values = read(&mut session, problem, x);
            let multipliers = session.multipliers(problem, term).unwrap();
            assert_eq!(multipliers.len(), groups as usize);
            for (group, multiplier) in multipliers.into_iter().enumerate() {
                let of = offsets[group] as usize..offsets[group + 1] as usize;
                let c: f64 = of.clone().map(|i| factors[i] * values[i] * values[i]).sum::<f64>() - 1.0;
                assert!(c.abs() <= 1e-8, "{groups}, group {group}: {c}");
                for i in of {
                    let slope = values[i] - targets[i] + 2.0 * multiplier * factors[i] * values[i];
                    assert!(slope.abs() < 1e-6, "{groups}, group {group}, unknown {i}: {slope}");
                }
            }
        }
    }
}
