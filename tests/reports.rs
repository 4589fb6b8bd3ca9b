//! Reports: idle dispatches, what was not finite, gauge freedom; and tuning tables.

use crate::support::*;
use leastwise::Error;
use leastwise::device::Precision;
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Freedom, Reals, Schedule, Slot, TermSpec, Tuning, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::{NonFiniteResidual, Options, Report};

fn sessions() -> [(&'static str, Session); 3] {
    [("cpu f64", cpu(Precision::F64)), ("cpu f32", cpu(Precision::F32)), ("webgpu", gpu(None))]
}

/// A term whose residual is that of one column of `slots`, one a column of `indices`, and of `data`, one value an instance.
fn term(
    session: &mut Session,
    problem: u32,
    name: &str,
    slots: &[(u32, u32)],
    indices: Vec<Vec<u32>>,
    data: &[f64],
    residual: impl FnOnce(&mut Tape, &[u32]) -> u32,
) -> u32 {
    let mut tape = Tape::default();
    let inputs: Vec<u32> = (0..slots.len() as u32 + 1).map(|source| tape.input(source)).collect();
    let output = residual(&mut tape, &inputs);
    let spec = TermSpec {
        name: name.into(),
        count: indices[0].len() as u32,
        indices,
        slots: slots.iter().map(|&(table, column)| Slot { table, column }).collect(),
        columns: vec![Column { name: "data".into(), width: 1, shared: false, values: Reals::F64(data) }],
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[output],
    };
    session.term(problem, spec).unwrap()
}

/// A hanging chain: links of length 1 (|a − b| − 1) between points that sag, both ends held.
fn chain(session: &mut Session, links: u32) -> (u32, u32) {
    let problem = session.problem();
    let points: Vec<f64> = (0..=links).flat_map(|i| [f64::from(i) * 0.9, (f64::from(i) * 0.37).sin()]).collect();
    let x = session.table(problem, "x", 2, Reals::F64(&points), true).unwrap();
    let ends = vec![(0..links).collect(), (1..=links).collect()];
    term(session, problem, "links", &[(x, 0), (x, 1)], ends, &vec![1.0; links as usize], |tape, inputs| {
        let between = tape.op(Opcode::Sub, &[inputs[0], inputs[1]]);
        let length = tape.op(Opcode::Norm, &[between]);
        tape.op(Opcode::Sub, &[length, inputs[2]])
    });
    session.fix_table(problem, x, Some(&[0, links]), None).unwrap();
    (problem, x)
}

/// Of all dispatches at most a tenth finds the system solved; one readback a step, and one for the report.
#[test]
fn little_is_dispatched_in_vain() {
    for (name, mut session) in sessions() {
        let mesh = Mesh::icosphere(3).normalized();
        let problems = [("arap", arap(&mut session, &mesh).0), ("chain", chain(&mut session, 1000).0)];
        for (what, problem) in problems {
            let options =
                Options { linear: Some("pcg".into()), max_iterations: Some(12.0), cost_tolerance: Some(1e-9), ..Options::default() };
            let report = solve(&mut session, problem, &options);
            let (idle, all) = (report.idle_dispatches, report.counters.dispatches);
            let inner: u32 = report.iterations.iter().map(|step| step.inner_iterations).sum();
            assert!(inner > 20, "{name}, {what}: {inner} inner iterations are no test");
            println!("{name}, {what}: {idle} of {all} dispatches idle, {inner} inner iterations");
            // A slow way to the host is worth many rounds (`RepeatPacing`, whose own tests hold it to a tenth by a clock of theirs): here
            // two submissions of at most 32 rounds a step, of three dispatches each.
            let steps = report.iterations.len() as u64;
            assert!(idle <= steps * 2 * 32 * 3, "{name}, {what}: {idle} of {all} dispatches were idle in {steps} steps");
            assert_eq!(report.counters.readbacks, steps + 1, "{name}, {what}");
            assert!(name == "webgpu" || idle == 0, "{name}, {what}: the CPU looks before every round");
        }
    }
}

/// log x is not defined where a full step leads.
#[test]
fn steps_to_where_nothing_is_defined_are_rejected_counted_and_named() {
    for (name, mut session) in sessions() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&[1.0; 7]), true).unwrap();
        let indices = || vec![(0..7).collect::<Vec<u32>>()];
        let log = |tape: &mut Tape, inputs: &[u32]| {
            let log = tape.op(Opcode::Log, &inputs[..1]);
            tape.op(Opcode::Add, &[log, inputs[1]])
        };
        term(&mut session, problem, "tame", &[(x, 0)], indices(), &[0.1; 7], log);
        term(&mut session, problem, "wild", &[(x, 0)], indices(), &[0.1, 0.1, 0.1, 0.1, 9.0, 9.0, 0.1], log);
        let report = solve(&mut session, problem, &Options { max_iterations: Some(60.0), ..Options::default() });
        let rejected = report.iterations.iter().filter(|step| !step.cost_change.is_finite()).count();
        assert!(rejected > 0 && report.non_finite == rejected as u32, "{name}: {rejected}, {report:?}");
        assert!(report.iterations.iter().all(|step| step.cost_change.is_finite() || !step.accepted), "{name}");
        // Both terms take x₄ there, and "tame" comes first.
        let first = report.first_non_finite.clone().expect("an offender");
        let at = report.iterations.iter().position(|step| !step.cost_change.is_finite()).expect("a step");
        assert_eq!(first, NonFiniteResidual { iteration: at as u32, term: "tame".into(), instance: 4 }, "{name}");
        // Minima of ½(log x + 0.1)² + ½(log x + 9)².
        let solved = read(&mut session, problem, x);
        assert!(report.converged && (solved[4].ln() + 4.55).abs() < 1e-2, "{name}: {} {}", solved[4].ln(), report.reason);
        // A second report has nothing of it.
        let again = solve(&mut session, problem, &Options::default());
        assert_eq!((again.non_finite, again.first_non_finite), (0, None), "{name}");
    }
}

#[test]
fn a_residual_that_is_not_defined_at_the_start_is_an_error_with_its_instance() {
    for (name, mut session) in sessions() {
        let problem = session.problem();
        let values: Vec<f64> = (0..700).map(|i| if i == 613 { -1.0 } else { 2.0 }).collect();
        let x = session.table(problem, "x", 1, Reals::F64(&values), true).unwrap();
        term(&mut session, problem, "logs", &[(x, 0)], vec![(0..700).collect()], &[0.0; 700], |tape, inputs| {
            let log = tape.op(Opcode::Log, &inputs[..1]);
            tape.op(Opcode::Sub, &[log, inputs[1]])
        });
        let solver = session.solver(problem, &Options::default()).unwrap();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let error = loop {
            match session.resume(task, f64::INFINITY) {
                Ok(Progress::Waiting(signal)) => session.device_mut().block_on(&signal).unwrap(),
                Ok(Progress::Report(report)) => panic!("{name}: {report:?}"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error, Error::NonFiniteResidual { term: "logs".into(), instance: 613 }, "{name}");
    }
}

#[test]
fn what_nothing_holds_is_reported() {
    let mut session = cpu(Precision::F64);
    let (problem, x) = chain(&mut session, 20);
    let held = |session: &mut Session| -> Report { solve(session, problem, &Options::default()) };
    assert_eq!(held(&mut session).gauge, []);
    session.unfix_table(problem, x, None).unwrap();
    let translation = |components: &[u32]| Freedom::Translation { variable: "x".into(), components: components.to_vec() };
    let free = held(&mut session);
    assert_eq!(free.gauge, [translation(&[0, 1])]);
    assert!(free.converged && free.cost < 1e-9, "damping holds it: {} {}", free.cost, free.reason);
    session.fix_table(problem, x, Some(&[3]), Some(&[1])).unwrap();
    assert_eq!(held(&mut session).gauge, [translation(&[0])]);
    let y = session.table(problem, "y", 1, Reals::F64(&[1.0, 2.0, 3.0, 4.0]), true).unwrap();
    let pull = term(&mut session, problem, "pull", &[(y, 0)], vec![vec![1]], &[0.5], |tape, inputs| tape.op(Opcode::Sub, inputs));
    let untouched = |instances| Freedom::Untouched { variable: "y".into(), instances, first: 0 };
    assert_eq!(held(&mut session).gauge, [translation(&[0]), untouched(3)]);
    session.fix_table(problem, y, Some(&[2, 3]), None).unwrap();
    assert_eq!(held(&mut session).gauge, [translation(&[0]), untouched(1)]);
    session.set_enabled(problem, pull, false).unwrap();
    assert_eq!(held(&mut session).gauge, [translation(&[0]), untouched(2)]);
    assert_eq!(read(&mut session, problem, y)[0], 1.0, "what nothing holds stays where it is");
}

fn tuned(session: &mut Session, problem: u32) -> Tuning {
    let task = session.tune(problem).unwrap();
    assert!(matches!(finish(session, task, |_| {}), Progress::Values(values) if values.is_empty()));
    session.tuning().clone()
}

#[test]
fn a_tuned_table_decides_and_can_be_given_back() {
    for ((name, mut session), (_, mut other)) in sessions().into_iter().zip(sessions()) {
        let mesh = Mesh::icosphere(2).normalized();
        let (problem, _) = arap(&mut session, &mesh);
        let table = tuned(&mut session, problem);
        let options = Options { linear: Some("pcg".into()), max_iterations: Some(6.0), ..Options::default() };
        let report = solve(&mut session, problem, &options);
        assert_eq!(table.products.len(), report.products.len(), "{name}: a key for each of two batches: {table:?}");
        for product in &report.products {
            assert_eq!(table.products.get(&product.key), Some(&product.schedule), "{name}");
            assert_eq!(product.reason, "the tuning table says so", "{name}");
        }
        // Stored and given back, elsewhere: the same choices, the same bits.
        let names: Vec<String> = table.products.values().map(|schedule| schedule.name().to_string()).collect();
        let stored = Tuning::of_names(table.products.keys().cloned().collect(), &names).unwrap();
        other.set_tuning(stored).unwrap();
        let (problem, _) = arap(&mut other, &mesh);
        let same = solve(&mut other, problem, &options);
        assert_eq!(same.products, report.products, "{name}");
        assert_eq!(same.cost.to_bits(), report.cost.to_bits(), "{name}");
    }
}

#[test]
fn hostile_tuning_tables_are_refused() {
    let table = |key: &str, schedule: &str| Tuning::of_names(vec![key.into()], &[schedule.into()]);
    assert!(table("0123456789abcdef/13", "owner-computes").is_ok() && table("*", "two-pass").is_ok());
    for (key, schedule) in [
        ("0123456789abcdef/13", "fastest"),
        ("0123456789abcdef/13", ""),
        ("0123456789abcdef/32", "two-pass"),
        ("0123456789abcdef/-1", "two-pass"),
        ("0123456789ABCDEF/3", "two-pass"),
        ("0123456789abcde/3", "two-pass"),
        ("0123456789abcdef", "two-pass"),
        ("", "two-pass"),
        ("__proto__", "two-pass"),
        ("**", "two-pass"),
    ] {
        assert!(matches!(table(key, schedule), Err(Error::InvalidOption(_))), "{key:?} {schedule:?}");
    }
}

#[test]
fn a_table_changes_nothing_while_something_runs_and_a_cancelled_tuning_leaves_none() {
    for (name, mut session) in sessions() {
        let mesh = Mesh::icosphere(2).normalized();
        let (problem, _) = arap(&mut session, &mesh);
        let table = Tuning { products: [(Tuning::ANY.to_string(), Schedule::Recompute)].into(), ..Tuning::default() };
        let solver = session.solver(problem, &Options::default()).unwrap();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        assert_eq!(session.set_tuning(table.clone()), Err(Error::Busy), "{name}");
        assert_eq!(session.tune(problem), Err(Error::Busy), "{name}");
        session.cancel(task);
        session.set_tuning(table.clone()).unwrap();
        let task = session.tune(problem).unwrap();
        for _ in 0..3 {
            if let Progress::Waiting(signal) = session.resume(task, 0.1).unwrap() {
                session.device_mut().block_on(&signal).unwrap();
            }
        }
        session.cancel(task);
        assert_eq!(*session.tuning(), table, "{name}");
        let report = solve(&mut session, problem, &Options { linear: Some("pcg".into()), max_iterations: Some(3.0), ..Options::default() });
        assert!(
            report.products.len() == 2 && report.products.iter().all(|product| product.schedule == Schedule::Recompute),
            "{name}: {:?}",
            report.products
        );
    }
}

/// The freedoms of a row over three points in a plane, of which every three of five are linked.
fn freedoms_of_triples(residual: impl FnOnce(&mut Tape, &[u32]) -> u32) -> Vec<Freedom> {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    // Three in a row turn to the left, so their area is positive.
    let points = [2.0, 0.0, 1.5, 1.25, 0.25, 1.75, -1.0, 1.0, -1.5, -0.25];
    let x = session.table(problem, "x", 2, Reals::F64(&points), true).unwrap();
    let indices = (0..3u32).map(|first| (first..first + 3).collect()).collect();
    term(&mut session, problem, "triples", &[(x, 0), (x, 1), (x, 2)], indices, &[1.0, 0.75, 1.5], residual);
    solve(&mut session, problem, &Options { max_iterations: Some(1.0), ..Options::default() }).gauge
}

#[test]
fn translations_of_rows_that_link_three_points_are_found() {
    use Opcode::*;
    let both = [Freedom::Translation { variable: "x".into(), components: vec![0, 1] }];
    let sides = |tape: &mut Tape, inputs: &[u32]| [1, 2].map(|other| tape.op(Sub, &[inputs[other], inputs[0]]));
    let second_difference = freedoms_of_triples(|tape, inputs| {
        let two = tape.literal(2.0);
        let (sum, doubled) = (tape.op(Add, &[inputs[0], inputs[2]]), tape.op(Mul, &[inputs[1], two]));
        tape.op(Sub, &[sum, doubled])
    });
    assert_eq!(second_difference, both);
    let product = freedoms_of_triples(|tape, inputs| {
        let sides = sides(tape, inputs);
        let product = tape.op(Dot, &sides);
        tape.op(Sub, &[product, inputs[3]])
    });
    assert_eq!(product, both);
    let lengths = freedoms_of_triples(|tape, inputs| {
        let sides = sides(tape, inputs).map(|side| tape.op(Norm, &[side]));
        tape.op(Add, &sides)
    });
    assert_eq!(lengths, both);
    let area = freedoms_of_triples(|tape, inputs| {
        let area = tape.op(TriangleArea, &inputs[..3]);
        let logarithm = tape.op(Log, &[area]);
        tape.op(Sub, &[logarithm, inputs[3]])
    });
    assert_eq!(area, both, "defined where the area is positive");
    let mean = freedoms_of_triples(|tape, inputs| {
        let mean = tape.op(Mean, &inputs[..3]);
        tape.op(Sub, &[mean, inputs[1]])
    });
    assert_eq!(mean, both, "numbers that are rounded");
    let sideways = freedoms_of_triples(|tape, inputs| {
        let sides = sides(tape, inputs).map(|side| tape.op(Norm, &[side]));
        let (sum, height) = (tape.op(Add, &sides), tape.op(Component, &[inputs[0], 1]));
        tape.op(Mul, &[sum, height])
    });
    assert_eq!(sideways, [Freedom::Translation { variable: "x".into(), components: vec![0] }]);
    let anchored = freedoms_of_triples(|tape, inputs| {
        let sides = sides(tape, inputs);
        let (product, tiny) = (tape.op(Dot, &sides), tape.literal(1e-9));
        let size = tape.op(NormSq, &[inputs[0]]);
        let weak = tape.op(Mul, &[size, tiny]);
        tape.op(Add, &[product, weak])
    });
    assert_eq!(anchored, [], "however weakly");
    let walled = freedoms_of_triples(|tape, inputs| {
        let sides = sides(tape, inputs);
        let (product, far) = (tape.op(Dot, &sides), tape.literal(700.0));
        let place = tape.op(Sub, &[inputs[0], far]);
        let wall = tape.op(NormSq, &[place]);
        let ahead = [0, 1].map(|component| tape.op(Component, &[place, component])).map(|place| tape.op(Relu, &[place]));
        let ahead = tape.op(Add, &ahead);
        let wall = tape.op(Mul, &[wall, ahead]);
        tape.op(Add, &[product, wall])
    });
    assert_eq!(walled, [], "a wall far away");
}

#[test]
fn a_report_tells_of_its_call_alone() {
    let mut session = cpu(Precision::F64);
    let (problem, x) = chain(&mut session, 20);
    let start = read(&mut session, problem, x);
    let solver = session.solver(problem, &Options { linear: Some("pcg".into()), ..Options::default() }).unwrap();
    let total = |session: &Session| session.device().counters().dispatches;
    let run = |session: &mut Session| -> Report {
        session.write_table(problem, x, Reals::F64(&start), None).unwrap();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(session, task, |_| {}) else { panic!("no report") };
        *report
    };
    let first = run(&mut session);
    for _ in 0..3 {
        let before = total(&session);
        let again = run(&mut session);
        assert_eq!(again.counters.dispatches, total(&session) - before);
        assert_eq!(again.compile_ms, 0.0, "all was compiled by the first");
        assert_eq!(again.initial_cost, first.initial_cost);
        let numbers: Vec<u32> = again.iterations.iter().map(|step| step.index).collect();
        assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>());
    }
    // Steps by themselves are told of by the next report, and by none after it.
    session.write_table(problem, x, Reals::F64(&start), None).unwrap();
    step(&mut session, solver);
    step(&mut session, solver);
    let report = |session: &mut Session| -> Report {
        let task = session.report(solver).unwrap();
        let Progress::Report(report) = finish(session, task, |_| {}) else { panic!("no report") };
        *report
    };
    assert_eq!(report(&mut session).iterations.len(), 2);
    step(&mut session, solver);
    assert_eq!(report(&mut session).iterations.len(), 1);
    step(&mut session, solver);
    assert_eq!(run(&mut session).iterations[0].index, 0);
}

#[test]
fn derivatives_are_checked_by_differences_of_the_functions_own_scale() {
    use Opcode::*;
    let mut session = cpu(Precision::F64);
    let mut check = |values: &[f64], residual: &dyn Fn(&mut Tape, &[u32]) -> u32| -> (f64, f64) {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(values), true).unwrap();
        let data = vec![1000.0; values.len()];
        let term = term(&mut session, problem, "f", &[(x, 0)], vec![(0..values.len() as u32).collect()], &data, residual);
        let task = session.check_term(problem, term).unwrap();
        let Progress::Values(values) = finish(&mut session, task, |_| {}) else { panic!("no values") };
        (values[0], values[7])
    };
    let close = |what: &str, (error, skipped): (f64, f64), expected: f64| {
        assert!(error < 1e-8 && skipped == expected, "{what}: {error:e}, {skipped} skipped");
    };
    let asinh = |tape: &mut Tape, inputs: &[u32]| {
        let scaled = tape.op(Mul, inputs);
        tape.op(Asinh, &[scaled])
    };
    close("asinh(1000 x)", check(&[0.0, 1e-9, 1e-4, -1e-3, 5e-3, 0.3, -2.0], &asinh), 0.0);
    let steep = |tape: &mut Tape, inputs: &[u32]| tape.op(PowInt, &[inputs[0], -2i32 as u32]);
    close("x⁻²", check(&[1e-3, -1e-4, 1e-6, 0.25, 40.0], &steep), 0.0);
    let acos = |tape: &mut Tape, inputs: &[u32]| tape.op(Acos, &inputs[..1]);
    close("acos x at the ends of its domain", check(&[1.0, -1.0, 0.5, 0.999, 0.0], &acos), 2.0);
    let narrow = |tape: &mut Tape, inputs: &[u32]| {
        let scaled = tape.op(Mul, inputs);
        let square = tape.op(Square, &[scaled]);
        let minus = tape.op(Neg, &[square]);
        tape.op(Exp, &[minus])
    };
    close("a bump of 1/1000", check(&[5e-4, -1e-3, 2e-3, 0.0], &narrow), 0.0);
    let waves = |tape: &mut Tape, inputs: &[u32]| {
        let scaled = tape.op(Mul, inputs);
        tape.op(Sin, &[scaled])
    };
    close("waves of 1/1000", check(&[0.3, 1.0, -7.0, 0.0], &waves), 0.0);
    close("large and small numbers", check(&[1e12, 1e-12, -3e5], &|tape, inputs| tape.op(Square, &inputs[..1])), 0.0);
    // What is wrong stays wrong: at a kink the derivative is one thing, and differences say another.
    let (error, skipped) = check(&[0.0, 1.0], &|tape, inputs| tape.op(Relu, &inputs[..1]));
    assert!((error - 0.5).abs() < 1e-9 && skipped == 0.0, "{error}, {skipped}");
}
