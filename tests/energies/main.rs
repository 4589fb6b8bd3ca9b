//! Energies: scalars that are minimised as they are, by projected Newton steps, on every backend.

mod cloth;
mod curvature;
mod nets;
mod parametrisation;
mod patch;

use crate::support::classics::{CLASSICS, Writer};
use crate::support::*;
use leastwise::Error;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Loss, RaggedSlot, Reals, Slot, SummedSpec, TermSpec, Weight};
use leastwise::program::Objective;
use leastwise::session::Session;
use leastwise::solve::{Options, Termination};

/// With how exact they are.
fn sessions() -> Vec<(&'static str, f64, Shared)> {
    let small = Limits { binding_bytes: 1 << 16, buffer_bytes: 1 << 16, ..Limits::SMALL };
    vec![
        ("cpu in f64", 1e-9, cpu(Precision::F64).into()),
        ("cpu in f32", 1e-4, cpu(Precision::F32).into()),
        ("cpu, small limits", 1e-9, cpu_with(Precision::F64, small).into()),
        ("webgpu, small limits", 1e-4, shared_gpu(Some(small))),
    ]
}

const LINEAR: [&str; 4] = ["dense", "sparse-cholesky", "assembled-pcg", "pcg"];

fn with(linear: &str, cost_tolerance: f64) -> Options {
    Options {
        linear: Some(linear.into()),
        max_iterations: Some(500.0),
        cost_tolerance: Some(cost_tolerance),
        gradient_tolerance: Some(1e-10),
        ..Options::default()
    }
}

/// An energy of one instance over one unknown.
fn one(session: &mut Session, start: f64, write: impl Fn(&mut Writer, u32) -> u32) -> (u32, u32) {
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[start]), true).unwrap();
    let mut writer = Writer(Tape::default());
    let input = writer.0.input(0);
    let outputs = [write(&mut writer, input)];
    session.term(problem, spec("energy", x, &writer.0, &outputs)).unwrap();
    (problem, x)
}

fn spec<'a>(name: &str, table: u32, tape: &'a Tape, outputs: &'a [u32]) -> TermSpec<'a> {
    TermSpec {
        name: name.into(),
        count: 1,
        indices: vec![vec![0]],
        slots: vec![Slot { table, column: 0 }],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Objective::Energy,
        tape: &tape.words,
        outputs,
    }
}

#[test]
fn the_classics_as_energies_have_the_same_minima() {
    for (name, exactness, mut session) in sessions() {
        for linear in LINEAR {
            for classic in repeated(&CLASSICS, if name.starts_with("webgpu") { 2 } else { CLASSICS.len() }) {
                let (problem, _) = classic.make_as(&mut session, Objective::Energy);
                let report = solve(&mut session, problem, &with(linear, if exactness < 1e-6 { 1e-14 } else { 1e-7 }));
                // In f32 a sum of squares, and not the squares, is all that an energy is: it can't be told from its rounding.
                let bound = if exactness < 1e-6 { 1e-8 } else { 1e-3 };
                let near = classic.minima.iter().any(|minimum| (report.cost - minimum).abs() <= bound * (1.0 + minimum));
                assert!(
                    near,
                    "{name}, {linear}, {}: {:e} after {} ({})",
                    classic.name,
                    report.cost,
                    report.iterations.len(),
                    report.reason
                );
                let ended = [Termination::Converged, Termination::Precision];
                assert!(ended.contains(&report.termination), "{name}, {linear}, {}: {}", classic.name, report.reason);
                session.free_problem(problem);
            }
        }
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}: nothing stays behind");
    }
}

#[test]
fn costs_may_be_negative() {
    for (name, exactness, mut session) in sessions() {
        // cos x − 5 from near a maximum, where the Hessian is negative; its minimum at π is −6.
        let (problem, x) = one(&mut session, 0.3, |writer, x| {
            let cosine = writer.op(Cos, &[x]);
            writer.linear(&[(1.0, cosine)], -5.0)
        });
        let report = solve(&mut session, problem, &with("pcg", if exactness < 1e-6 { 1e-14 } else { 1e-7 }));
        assert_eq!(report.termination, Termination::Converged, "{name}: {}", report.reason);
        assert!((report.cost + 6.0).abs() < 6.0 * exactness, "{name}: {}", report.cost);
        let found = read(&mut session, problem, x)[0].rem_euclid(std::f64::consts::TAU);
        assert!((found - std::f64::consts::PI).abs() < 10.0 * exactness.sqrt(), "{name}: {found}");
    }
}

/// What writes an energy of one scalar.
type Write<'a> = &'a dyn Fn(&mut Writer, u32) -> u32;

#[test]
fn what_falls_without_end_is_told() {
    for (name, exactness, mut session) in sessions() {
        let line = |writer: &mut Writer, x| writer.linear(&[(1.0, x)], 0.0);
        let hill = |writer: &mut Writer, x| {
            let square = writer.op(Square, &[x]);
            writer.linear(&[(-1.0, square)], 3.0)
        };
        let energies: [(&str, Write); 2] = [("x", &line), ("3 − x²", &hill)];
        for (energy, write) in energies {
            for method in ["lm", "dogleg", "newton", "lbfgs"] {
                let (problem, _) = one(&mut session, 1.0, write);
                let options = Options { method: Some(method.into()), ..Options::default() };
                let report = solve(&mut session, problem, &options);
                let told = (report.termination, report.converged);
                assert_eq!(told, (Termination::Unbounded, false), "{name}, {energy} by {method}: {} at {:e}", report.reason, report.cost);
                assert!(report.reason.contains("without end") && report.cost < -1e5, "{name}, {energy}: {}", report.reason);
                session.free_problem(problem);
            }
        }
        // What has curvature nowhere for long, and what overflows all at once. In f32 the former repeats itself.
        let waves = |writer: &mut Writer, x| {
            let sine = writer.op(Sin, &[x]);
            writer.linear(&[(1.0, x), (-0.5, sine)], 0.0)
        };
        let cliff = |writer: &mut Writer, x| {
            let power = writer.op(Exp, &[x]);
            writer.linear(&[(-1.0, power)], 0.0)
        };
        let energies: [(&str, Write); 2] = [("x − ½ sin x", &waves), ("−eˣ", &cliff)];
        for (energy, write) in energies.into_iter().filter(|_| exactness < 1e-6) {
            for method in ["lm", "newton", "dogleg"] {
                let (problem, _) = one(&mut session, 1.0, write);
                let options = Options { method: Some(method.into()), max_iterations: Some(1000.0), ..Options::default() };
                let report = solve(&mut session, problem, &options);
                let told = (report.termination, report.converged);
                assert_eq!(told, (Termination::Unbounded, false), "{name}, {energy} by {method}: {} at {:e}", report.reason, report.cost);
                session.free_problem(problem);
            }
        }
        // Large numbers alone say nothing.
        let scale = if exactness < 1e-6 { 1e40 } else { 1e12 };
        let (problem, _) = one(&mut session, 0.0, |writer, x| {
            let square = writer.op(Square, &[x]);
            writer.linear(&[(scale, square), (-2.0 * scale, x)], 0.0)
        });
        let report = solve(&mut session, problem, &Options::default());
        assert!(report.cost < -0.99 * scale && report.termination != Termination::Unbounded, "{name}: {}", report.reason);
        session.free_problem(problem);
    }
}

#[test]
fn what_has_no_curvature_is_still_descended() {
    for (name, exactness, mut session) in sessions() {
        // ¼x⁴ − ½x² beside its maximum at 0.
        let (problem, x) = one(&mut session, 1e-3, |writer, x| {
            let square = writer.op(Square, &[x]);
            let fourth = writer.op(Square, &[square]);
            writer.linear(&[(0.25, fourth), (-0.5, square)], 0.0)
        });
        let report = solve(&mut session, problem, &with("sparse-cholesky", if exactness < 1e-6 { 1e-14 } else { 1e-7 }));
        let found = read(&mut session, problem, x)[0];
        assert!((found.abs() - 1.0).abs() < 10.0 * exactness.sqrt(), "{name}: {found}, {}", report.reason);
        assert!((report.cost + 0.25).abs() < exactness, "{name}: {}", report.cost);
    }
}

#[test]
fn an_energy_that_is_not_finite_at_the_start_is_named() {
    for (name, _, mut session) in sessions() {
        let (problem, _) = one(&mut session, -1.0, |writer, x| writer.op(Log, &[x]));
        let solver = session.solver(problem, &Options::default()).unwrap();
        let task = session.solve(solver, leastwise::session::SolveMode::Solve).unwrap();
        let error = loop {
            match session.resume(task, f64::INFINITY) {
                Ok(leastwise::session::Progress::Waiting(signal)) => session.device_mut().block_on(&signal).unwrap(),
                Ok(leastwise::session::Progress::Report(report)) => panic!("{name}: {}", report.reason),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(&error, Error::NonFiniteResidual { term, .. } if term == "energy"), "{name}: {error}");
    }
}

#[test]
fn what_is_no_energy_is_refused() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[1.0]), true).unwrap();
    let mut tape = Tape::default();
    let input = tape.input(0);
    let square = tape.op(Square, &[input]);
    let refused = |session: &mut Session, spec: TermSpec| match session.term(problem, spec) {
        Err(Error::Shape { name, message }) => format!("{name}: {message}"),
        other => panic!("{other:?}"),
    };
    let two = refused(&mut session, spec("pair", x, &tape, &[input, square]));
    assert!(two.contains("pair") && two.contains("one scalar, not 2"), "{two}");
    let loss = Some(Loss::huber(1.0).unwrap());
    let lossy = refused(&mut session, TermSpec { loss, ..spec("robust", x, &tape, &[square]) });
    assert!(lossy.contains("robust") && lossy.contains("no loss"), "{lossy}");
    let mut tape = Tape::default();
    let input = tape.input(0);
    let sum = tape.op(SumOver, &[input]);
    let outputs = [sum];
    let plain = TermSpec { slots: Vec::new(), indices: Vec::new(), ..spec("sum", x, &tape, &outputs) };
    let slots = vec![RaggedSlot { table: x, indices: vec![0] }];
    let summed = session.summed_term(problem, SummedSpec { plain, offsets: vec![0, 1], slots, columns: Vec::new() });
    assert!(matches!(&summed, Err(Error::Shape { message, .. }) if message.contains("sum")), "{summed:?}");
    // The same tape once as a residual and once as an energy are two structures.
    let mut tape = Tape::default();
    let input = tape.input(0);
    let outputs = [tape.op(Square, &[input])];
    session.term(problem, spec("energy", x, &tape, &outputs)).unwrap();
    session.term(problem, TermSpec { objective: Objective::LeastSquares, ..spec("residual", x, &tape, &outputs) }).unwrap();
    assert_eq!(session.stats().structures, 2);
}
