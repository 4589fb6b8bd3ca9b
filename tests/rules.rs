//! The table of operations: every kink, tie and edge in it, on every backend.

use crate::support::*;
use leastwise::device::Precision;
use leastwise::expr::Opcode;
use leastwise::expr::rules::{Edge, Outcome, Rule, rules};
use leastwise::problem::{Column, Reals, Slot, TermSpec, Weight};
use leastwise::session::{Progress, Session};

/// Values at edges of a rule, and their slopes, edge after edge.
fn evaluate(session: &mut Session, opcode: Opcode, rule: &Rule, edges: &[Edge]) -> (Vec<f64>, Vec<f64>) {
    let problem = session.problem();
    let count = edges.len();
    let mut first = 0;
    let mut tape = Tape::default();
    let mut tables = Vec::new();
    for (number, &width) in rule.widths.iter().enumerate() {
        let range = first..first + width as usize;
        let values: Vec<f64> = edges.iter().flat_map(|edge| edge.at[range.clone()].iter().copied()).collect();
        tables.push(session.table(problem, &format!("operand {number}"), width, Reals::F64(&values), true).unwrap());
        first = range.end;
    }
    let mut operands: Vec<u32> = (0..tables.len() as u32).map(|source| tape.input(source)).collect();
    // The exponent stands on the tape.
    operands.extend(edges[0].at[first..].iter().map(|&word| word as i32 as u32));
    let output = tape.op(opcode, &operands);
    let spec = TermSpec {
        name: rule.usage.into(),
        count: count as u32,
        indices: vec![(0..count as u32).collect()],
        slots: tables.iter().map(|&table| Slot { table, column: 0 }).collect(),
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[output],
    };
    let term = session.term(problem, spec).unwrap();
    let task = session.evaluate_term(problem, term, None).unwrap();
    let Progress::Values(mut values) = finish(session, task, |_| {}) else { panic!("no values") };
    let slopes = values.split_off(values.len() / (1 + first));
    (values, slopes)
}

fn close(got: f64, expected: f64, tolerance: f64) -> bool {
    (got - expected).abs() <= tolerance * expected.abs().max(1.0)
}

#[test]
fn every_edge_of_the_table_is_what_happens() {
    let mut checked = 0;
    for (name, mut session, tolerance) in
        [("cpu f64", cpu(Precision::F64).into(), 1e-13), ("cpu f32", cpu(Precision::F32).into(), 2e-6), ("webgpu", shared_gpu(None), 2e-6)]
    {
        for (opcode, rule) in rules().into_iter().filter(|(_, rule)| !rule.edges.is_empty()) {
            let columns = rule.widths.iter().sum::<u32>() as usize;
            // What stands on the tape is the same for all of its instances.
            let together = if opcode == Opcode::PowInt { 1 } else { rule.edges.len() };
            for edges in rule.edges.chunks(together) {
                let (values, slopes) = evaluate(&mut session, opcode, &rule, edges);
                let rows = values.len() / edges.len();
                for (place, edge) in edges.iter().enumerate() {
                    let where_ = format!("{name}: {} at {:?}", rule.usage, edge.at);
                    let values = &values[place * rows..][..rows];
                    let slopes = &slopes[place * rows * columns..][..rows * columns];
                    let expected = match &edge.value {
                        Outcome::Undefined => {
                            assert!(values.iter().all(|value| !value.is_finite()), "{where_} is {values:?}, not undefined");
                            checked += 1;
                            continue;
                        }
                        Outcome::Value(value) => std::slice::from_ref(value),
                        Outcome::Values(values) => values,
                    };
                    let agree = |got: &[f64], expected: &[f64]| {
                        got.len() == expected.len() && got.iter().zip(expected).all(|(got, expected)| close(*got, *expected, tolerance))
                    };
                    assert!(agree(values, expected), "{where_} is {values:?}, not {expected:?}");
                    assert!(edge.slopes.is_empty() || agree(slopes, edge.slopes), "{where_} has slopes {slopes:?}, not {:?}", edge.slopes);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 300, "{checked}");
}

/// Of exponents that are data, negative bases have powers: those of whole numbers.
#[test]
fn negative_bases_have_powers_where_the_exponent_is_whole_and_does_not_move() {
    let cases = [
        (-2.0, 2.0, Some((4.0, -4.0))),
        (-2.0, 3.0, Some((-8.0, 12.0))),
        (-0.5, -1.0, Some((-2.0, -4.0))),
        (-1.5, 4.0, Some((5.0625, -13.5))),
        (-3.0, 0.0, Some((1.0, 0.0))),
        (-3.0, 1.0, Some((-3.0, 1.0))),
        (-2.0, 0.5, None),
        (-2.0, -1.5, None),
    ];
    let (bases, exponents): (Vec<f64>, Vec<f64>) = cases.iter().map(|case| (case.0, case.1)).unzip();
    for (name, mut session, tolerance) in
        [("cpu f64", cpu(Precision::F64).into(), 1e-13), ("cpu f32", cpu(Precision::F32).into(), 2e-6), ("webgpu", shared_gpu(None), 2e-6)]
    {
        let problem = session.problem();
        let a = session.table(problem, "a", 1, Reals::F64(&bases), true).unwrap();
        let mut tape = Tape::default();
        let operands = [tape.input(0), tape.input(1)];
        let power = tape.op(Opcode::Pow, &operands);
        let spec = TermSpec {
            name: "power".into(),
            count: cases.len() as u32,
            indices: vec![(0..cases.len() as u32).collect()],
            slots: vec![Slot { table: a, column: 0 }],
            columns: vec![Column { name: "b".into(), width: 1, shared: false, values: Reals::F64(&exponents) }],
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[power],
        };
        let term = session.term(problem, spec).unwrap();
        let task = session.evaluate_term(problem, term, None).unwrap();
        let Progress::Values(values) = finish(&mut session, task, |_| {}) else { panic!("no values") };
        let (values, slopes) = values.split_at(cases.len());
        for ((base, exponent, expected), (value, slope)) in cases.iter().zip(values.iter().zip(slopes)) {
            let right = match expected {
                None => !value.is_finite(),
                Some((power, by_base)) => close(*value, *power, tolerance) && close(*slope, *by_base, tolerance),
            };
            assert!(right, "{name}: {base} to the power {exponent} is {value} with the slope {slope}, not {expected:?}");
        }
    }
}

/// Slopes at points away from every edge are covered by the fuzzer; here, that no operation is missing from the table.
#[test]
fn the_table_has_every_operation() {
    use Opcode::*;
    for &(opcode, name, _) in Opcode::TABLE {
        let listed = opcode.rule().is_some();
        let structural = matches!(opcode, Literal | Input | Component);
        assert!(listed || structural, "{name} is not in the table of rules");
    }
}
