//! Programs larger than one shader: the same numbers from their pieces, and chains of a million operations.

use crate::support::*;
use leastwise::device::{Access, Precision, binding};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Reals, Slot, TermSpec, Weight};
use leastwise::program::{ResidualPrograms, wgsl};
use leastwise::session::{Progress, Session};
use leastwise::solve::Options;

/// A residual of `links` links over three scalars: each link uses what came long before, too, so that many values
/// cross every cut.
fn web(links: u32) -> (Tape, u32) {
    let mut tape = Tape::default();
    let inputs = [0, 1, 2].map(|source| tape.input(source));
    let mut made = inputs.to_vec();
    for k in 0..links as usize {
        let early = made[k * 7 % made.len().min(40)];
        let late = made[made.len() - 1];
        let product = tape.op(Mul, &[late, early]);
        let value = match k % 3 {
            0 => tape.op(Sin, &[product]),
            1 => {
                let sum = tape.op(Add, &[product, inputs[k % 2]]);
                tape.op(Tanh, &[sum])
            }
            _ => tape.op(Sub, &[product, inputs[2]]),
        };
        made.push(value);
    }
    (tape, made[made.len() - 1])
}

fn term(session: &mut Session, tape: &Tape, outputs: &[u32], tables: &[u32], count: u32) -> (u32, u32) {
    let spec = TermSpec {
        name: "web".into(),
        count,
        indices: vec![(0..count).collect()],
        slots: tables.iter().map(|&table| Slot { table, column: 0 }).collect(),
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs,
    };
    let term = session.term(0, spec).unwrap();
    (0, term)
}

fn values(session: &mut Session, problem: u32, term: u32) -> Vec<f64> {
    let task = session.evaluate_term(problem, term, None).unwrap();
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

#[test]
fn pieces_compute_what_the_whole_does() {
    let (tape, output) = web(160);
    assert!(wgsl::modules(&programs(&tape, output).linearize, wgsl::Format::Single).unwrap().len() > 1, "linearize is in pieces");
    let mut results = Vec::new();
    let backends = std::iter::once(cpu(Precision::F64).into()).chain(gpus().into_iter().map(|(_, limits)| shared_gpu(limits)));
    for mut session in backends {
        let problem = session.problem();
        let mut random = Random::new(5);
        let count = 77;
        let tables = [0, 1, 2].map(|k| {
            let values: Vec<f64> = (0..count).map(|_| f64::from(random.between(-0.9, 0.9) as f32)).collect();
            session.table(problem, &format!("x{k}"), 1, Reals::F64(&values), true).unwrap()
        });
        let (problem, term) = term(&mut session, &tape, &[output], &tables, count);
        results.push(values(&mut session, problem, term));
        let report = solve(&mut session, problem, &Options { max_iterations: Some(3.0), ..Options::default() });
        assert!(report.cost < report.initial_cost, "{report:?}");
    }
    for other in &results[1..] {
        for (place, (a, b)) in results[0].iter().zip(other).enumerate() {
            assert!((a - b).abs() <= 2e-4 * (1.0 + a.abs()), "element {place}: {a} and {b}");
        }
    }
}

/// The programs of a web.
fn programs(tape: &Tape, output: u32) -> ResidualPrograms {
    let mut graph = leastwise::expr::Graph::new();
    let source = |slot| leastwise::expr::tape::Source { leaf: leastwise::expr::Leaf::Slot { slot, component: 0 }, width: 1 };
    let roots = leastwise::expr::tape::read(&mut graph, &tape.words, &[output], &[0, 1, 2].map(source)).unwrap();
    let slots = [0, 1, 2].map(|base| {
        let arena = leastwise::program::Address { base, column: 0, stride: 1 };
        leastwise::program::SlotShape { arena, vector: Some(leastwise::program::Address { base: base + 3, ..arena }), manifold: None }
    });
    let signature =
        leastwise::program::Signature { slots: slots.to_vec(), columns: Vec::new(), weight_shared: true, shared: 1, header: 6, loss: None };
    ResidualPrograms::new("web", graph, &roots, &signature, leastwise::problem::GUARDS)
}

/// Pieces bind no more than a shader may, and stay within the size they are cut to.
#[test]
fn no_piece_is_too_large() {
    let (tape, output) = web(3000);
    let programs = programs(&tape, output);
    let modules = wgsl::modules(&programs.linearize, wgsl::Format::Single).unwrap();
    assert!(modules.len() > 3, "{} modules", modules.len());
    for module in &modules {
        // Besides its own instructions it may have to load all that they work on.
        assert!(module.wgsl.matches("    let v").count() < 3 * wgsl::Cut::Coarse.most(), "{}", module.wgsl.len());
        assert!(module.access.iter().filter(|access| **access != Access::Unused).count() < binding::COUNT);
    }
    // The reverse sweep needs what the forward one made: not more than that is ever stored.
    assert!((100..3 * 3000).contains(&programs.scratch(Some(wgsl::Cut::Coarse))), "{} columns", programs.scratch(Some(wgsl::Cut::Coarse)));
}

/// No recursion and nothing quadratic, from the tape to the solve.
#[test]
fn a_million_additions_are_traced_differentiated_and_run() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0]), true).unwrap();
    let mut tape = Tape::default();
    let a = tape.input(0);
    let mut sum = a;
    for _ in 0..1_000_000 {
        sum = tape.op(Add, &[sum, a]);
    }
    let one = tape.literal(3_000_003.0);
    let residual = tape.op(Sub, &[sum, one]);
    let (problem, term) = term(&mut session, &tape, &[residual], &[x], 2);
    assert_eq!(values(&mut session, problem, term), [-2_000_002.0, -1_000_001.0, 1_000_001.0, 1_000_001.0]);
    let report = solve(&mut session, problem, &Options::default());
    assert!(report.cost < 1e-6, "{}", report.cost);
    assert!(read(&mut session, problem, x).iter().all(|x| (x - 3.0).abs() < 1e-9));
}
