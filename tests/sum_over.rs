//! Sums over rows of any length: against the same term traced entry by entry, against derivatives by differences, in
//! small chunks, and everything that can be done with a term.

use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::expr::Opcode::*;
use leastwise::problem::{Column, EntryColumn, RaggedSlot, RaggedSpec, Reals, Slot, SummedSpec, TermSpec, Trace, Weight};
use leastwise::session::{Progress, Session, SolveMode};
use leastwise::solve::Options;
use leastwise::{Error, expr::tape::TapeError};

/// Entries of a row span several chunks.
const TINY: Limits = Limits { binding_bytes: 1 << 17, buffer_bytes: 1 << 17, ..Limits::SMALL };

fn sessions() -> Vec<(&'static str, Shared)> {
    vec![("cpu", cpu(Precision::F64).into()), ("cpu, tiny limits", cpu_with(Precision::F64, TINY).into()), ("webgpu", shared_gpu(None))]
}

/// What is done with the entries of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    /// strength · Σ w (q − c).
    Linear,
    /// ‖Σ w (q − c)‖ − strength, for which S itself is no sum of squares.
    Length,
    /// [Σ √(w² + ‖q − c‖²) · strength, (Σ w (q − c)) · (Σ w (q − c)) + c₀]: two sums, both nonlinear.
    Both,
}

/// Rows over two-dimensional points; every row has a centre of its own.
struct Rows {
    offsets: Vec<u32>,
    indices: Vec<u32>,
    weights: Vec<f64>,
    centres: Vec<f64>,
    points: Vec<f64>,
}

impl Rows {
    fn new(lengths: &[u32], points: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut offsets = vec![0];
        lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        let entries = offsets[lengths.len()];
        Self {
            indices: (0..entries).map(|_| random.below(points.into()) as u32).collect(),
            weights: (0..entries)
                .map(|entry| random.between(0.5, 1.0) / f64::from(lengths[offsets.partition_point(|&start| start <= entry) - 1]))
                .collect(),
            centres: (0..2 * lengths.len()).map(|_| random.between(-1.0, 1.0)).collect(),
            points: (0..2 * points).map(|_| random.between(-2.0, 2.0)).collect(),
            offsets,
        }
    }

    fn count(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }
}

/// The residual of a row with so many entries; `None` sums over them on the device.
fn tape(shape: Shape, length: Option<u32>) -> (Vec<u32>, Vec<u32>) {
    let mut tape = Tape::default();
    let [c, strength] = [0, 1].map(|source| tape.input(source));
    let entries: Vec<(u32, u32)> = (0..length.unwrap_or(1)).map(|entry| (tape.input(2 + 2 * entry), tape.input(3 + 2 * entry))).collect();
    let sum = |tape: &mut Tape, values: Vec<u32>, zero: [f64; 2], width: usize| match length {
        None => tape.op(SumOver, &values),
        Some(0) => {
            let zeros: Vec<u32> = zero[..width].iter().map(|&value| tape.literal(value)).collect();
            tape.op(Pack, &zeros)
        }
        Some(_) => tape.op(Sum, &values),
    };
    let weighed = |tape: &mut Tape, &(q, w): &(u32, u32)| {
        let difference = tape.op(Sub, &[q, c]);
        tape.op(Mul, &[difference, w])
    };
    let values = entries.iter().map(|entry| weighed(&mut tape, entry)).collect();
    let s = sum(&mut tape, values, [0.0; 2], 2);
    let outputs = match shape {
        Shape::Linear => vec![tape.op(Mul, &[s, strength])],
        Shape::Length => {
            let length = tape.op(Norm, &[s]);
            vec![tape.op(Sub, &[length, strength])]
        }
        Shape::Both => {
            let root = |tape: &mut Tape, &(q, w): &(u32, u32)| {
                let difference = tape.op(Sub, &[q, c]);
                let squares = tape.op(Dot, &[difference, difference]);
                let square = tape.op(Square, &[w]);
                let all = tape.op(Add, &[squares, square]);
                tape.op(Sqrt, &[all])
            };
            let values = entries.iter().map(|entry| root(&mut tape, entry)).collect();
            let roots = sum(&mut tape, values, [0.0; 2], 1);
            let small = tape.literal(0.01);
            let small = tape.op(Mul, &[small, roots]);
            let first = tape.op(Mul, &[small, strength]);
            let square = tape.op(Dot, &[s, s]);
            let x = tape.op(Component, &[c, 0]);
            vec![first, tape.op(Add, &[square, x])]
        }
    };
    (tape.words, outputs)
}

/// Tables and the term; the points are held loosely where they begin.
struct Made {
    problem: u32,
    centre: u32,
    point: u32,
    term: u32,
}

fn make(session: &mut Session, rows: &Rows, shape: Shape, traced: bool) -> Made {
    let problem = session.problem();
    let centre = session.table(problem, "centre", 2, Reals::F64(&rows.centres), true).unwrap();
    let point = session.table(problem, "point", 2, Reals::F64(&rows.points), true).unwrap();
    let term = add(session, rows, shape, traced, problem, [centre, point]).unwrap();
    for (name, table, values) in [("hold centre", centre, &rows.centres), ("hold point", point, &rows.points)] {
        let mut tape = Tape::default();
        let [p, goal] = [0, 1].map(|source| tape.input(source));
        let residual = tape.op(Sub, &[p, goal]);
        let count = values.len() as u32 / 2;
        let spec = TermSpec {
            name: name.into(),
            count,
            indices: vec![(0..count).collect()],
            slots: vec![Slot { table, column: 0 }],
            columns: vec![Column { name: "goal".into(), width: 2, shared: false, values: Reals::F64(values) }],
            weight: Weight::Shared(0.1),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[residual],
        };
        session.term(problem, spec).unwrap();
    }
    Made { problem, centre, point, term }
}

fn add(session: &mut Session, rows: &Rows, shape: Shape, traced: bool, problem: u32, [centre, point]: [u32; 2]) -> Result<u32, Error> {
    let strength = [0.7];
    let lengths: std::collections::BTreeSet<u32> = rows.offsets.windows(2).map(|ends| ends[1] - ends[0]).collect();
    let tapes: Vec<_> = lengths.iter().filter(|_| traced).map(|&length| (length, tape(shape, Some(length)))).collect();
    let (words, outputs) = tape(shape, None);
    let plain = TermSpec {
        name: "rows".into(),
        count: rows.count(),
        indices: vec![(0..rows.count()).collect()],
        slots: vec![Slot { table: centre, column: 0 }],
        columns: vec![Column { name: "strength".into(), width: 1, shared: true, values: Reals::F64(&strength) }],
        weight: Weight::Shared(2.0),
        loss: None,
        objective: Default::default(),
        tape: &words,
        outputs: &outputs,
    };
    let slots = vec![RaggedSlot { table: point, indices: rows.indices.clone() }];
    let columns = vec![EntryColumn { name: "w".into(), values: Reals::F64(&rows.weights) }];
    let offsets = rows.offsets.clone();
    if traced {
        let traces = tapes.iter().map(|(length, (tape, outputs))| Trace { length: *length, tape, outputs }).collect();
        return session.ragged_term(problem, RaggedSpec { plain, offsets, slots, columns, traces });
    }
    session.summed_term(problem, SummedSpec { plain, offsets, slots, columns })
}

fn values_of(session: &mut Session, task: u32) -> Vec<f64> {
    let Progress::Values(values) = finish(session, task, |_| {}) else { panic!("no values") };
    values
}

fn costs(session: &mut Session, made: &Made) -> Vec<f64> {
    let task = session.term_costs(made.problem, made.term).unwrap();
    values_of(session, task)
}

fn close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * a.abs().max(1.0), "{what}: value {k} is {a}, not {b}");
    }
}

#[test]
fn rows_that_can_be_traced_come_to_the_same() {
    // No point twice in a row: only a traced row's diagonal blocks have what two entries of one point make together.
    let apart = |lengths: &[u32]| {
        let mut rows = Rows::new(lengths, 79, 7);
        let ends: Vec<usize> = rows.offsets.iter().map(|&end| end as usize).collect();
        for (row, ends) in ends.windows(2).enumerate() {
            (ends[0]..ends[1]).for_each(|entry| rows.indices[entry] = ((7 * row + 3 * (entry - ends[0])) % 79) as u32);
        }
        rows
    };
    let all = apart(&[3, 0, 1, 6, 3, 5, 64, 2, 0, 6]);
    // A structure for every length, and what is traced is as long as its row: an adapter takes long for some of them.
    let few = apart(&[3, 0, 12, 3, 0, 12, 12, 3, 0, 12]);
    let sessions: [(&str, Shared); 3] = [
        ("cpu", cpu(Precision::F64).into()),
        ("cpu, small limits", cpu_with(Precision::F64, Limits::SMALL).into()),
        ("webgpu", shared_gpu(None)),
    ];
    for (name, mut session) in sessions {
        // WebGPU compiles the most general of them.
        let rows = if name == "webgpu" && !is_full() { &few } else { &all };
        let shapes = [Shape::Both, Shape::Length, Shape::Linear];
        for shape in shapes.into_iter().take(if name == "webgpu" { 1 } else { 3 }) {
            let what = format!("{name}, {shape:?}");
            let exact = if name == "webgpu" { 2e-4 } else { 1e-9 };
            let traced = make(&mut session, rows, shape, true);
            let summed = make(&mut session, rows, shape, false);
            let both = [&traced, &summed].map(|made| costs(&mut session, made));
            close(&both[1], &both[0], exact, &what);
            // One step has the same gradient, product and preconditioner behind it.
            let mut reports = Vec::new();
            for made in [&traced, &summed] {
                let report = solve(
                    &mut session,
                    made.problem,
                    &Options { max_iterations: Some(1.0), linear: Some("pcg".into()), ..Options::default() },
                );
                reports.push(report.iterations[0]);
            }
            let [a, b] = reports[..] else { panic!("two reports") };
            close(&[b.cost, b.gradient_norm, b.step_norm], &[a.cost, a.gradient_norm, a.step_norm], exact, &what);
            assert!(a.inner_iterations.abs_diff(b.inner_iterations) <= 1, "{what}: {} and {}", a.inner_iterations, b.inner_iterations);
            let options = Options { cost_tolerance: Some(1e-14), linear: Some("pcg".into()), ..Options::default() };
            let ends = [&traced, &summed].map(|made| solve(&mut session, made.problem, &options));
            assert!((ends[0].cost - ends[1].cost).abs() <= exact * ends[0].cost, "{what}: {} and {}", ends[0].cost, ends[1].cost);
            let exact = if name == "webgpu" { 5e-2 } else { 1e-4 };
            for table in [summed.centre, summed.point] {
                let [a, b] = [&traced, &summed].map(|made| read(&mut session, made.problem, table));
                close(&b, &a, exact, &what);
            }
        }
    }
}

/// Σ w (q − c) in f64, row by row.
fn sums(rows: &Rows, centres: &[f64], points: &[f64]) -> Vec<[f64; 2]> {
    let row = |row: usize| {
        let entries = rows.offsets[row] as usize..rows.offsets[row + 1] as usize;
        [0, 1].map(|k| {
            entries.clone().map(|e| rows.weights[e] * (points[2 * rows.indices[e] as usize + k] - centres[2 * row + k])).sum::<f64>()
        })
    };
    (0..rows.count() as usize).map(row).collect()
}

#[test]
fn rows_of_any_length() {
    let rows = Rows::new(&[0, 1, 500, 20_000, 0, 257, 256, 3], 900, 3);
    for (name, mut session) in sessions() {
        let exact = if name == "webgpu" { 1e-5 } else { 1e-12 };
        let made = make(&mut session, &rows, Shape::Length, false);
        let expected = |centres: &[f64], points: &[f64]| -> Vec<f64> {
            sums(&rows, centres, points).iter().map(|s| (s[0].hypot(s[1]) - 0.7).powi(2)).collect()
        };
        close(&costs(&mut session, &made), &expected(&rows.centres, &rows.points), exact, name);
        let report = solve(&mut session, made.problem, &Options { cost_tolerance: Some(1e-9), ..Options::default() });
        assert!(report.cost < 0.75 * report.initial_cost, "{name}: {} → {}", report.initial_cost, report.cost);
        let [centres, points] = [made.centre, made.point].map(|table| read(&mut session, made.problem, table));
        let all = costs(&mut session, &made);
        close(&all, &expected(&centres, &points), exact, name);
        let by_term = report.cost_by_term.iter().find(|term| term.0 == "rows").unwrap().1;
        assert!((by_term - all.iter().sum::<f64>()).abs() <= exact * 10.0, "{name}");
    }
}

#[test]
fn a_sum_over_a_million_is_exact_in_f32() {
    let rows = Rows { weights: vec![1e-6; 1 << 20], ..Rows::new(&[1 << 20, 2], 1000, 9) };
    let rows =
        Rows { indices: rows.indices[..1 << 20].iter().chain(&[1, 2]).copied().collect(), weights: vec![1e-6; (1 << 20) + 2], ..rows };
    let mut session = cpu(Precision::F32);
    let made = make(&mut session, &rows, Shape::Linear, false);
    let expected: Vec<f64> = sums(&rows, &rows.centres, &rows.points).iter().map(|s| 0.49 * (s[0] * s[0] + s[1] * s[1])).collect();
    close(&costs(&mut session, &made), &expected, 1e-5, "f32");
    let report = solve(&mut session, made.problem, &Options::default());
    assert!(report.converged, "{}", report.reason);
}

#[test]
fn every_bit_is_the_same_again() {
    let rows = Rows::new(&[40, 700, 0, 2000], 300, 5);
    for (name, make_session) in [("cpu", (|| cpu(Precision::F64).into()) as fn() -> Shared), ("webgpu", || shared_gpu(None))] {
        let run = || {
            let mut session = make_session();
            let made = make(&mut session, &rows, Shape::Both, false);
            let report = solve(&mut session, made.problem, &Options { max_iterations: Some(4.0), ..Options::default() });
            let points = read(&mut session, made.problem, made.point);
            (report.cost.to_bits(), points.iter().map(|value| value.to_bits()).collect::<Vec<u64>>())
        };
        assert_eq!(run(), run(), "{name}");
    }
}

#[test]
fn terms_with_sums_are_edited_switched_removed_and_freed() {
    let rows = Rows::new(&[4, 300, 0, 9], 50, 11);
    for (name, mut session) in sessions() {
        let exact = if name == "webgpu" { 1e-5 } else { 1e-12 };
        let made = make(&mut session, &rows, Shape::Linear, false);
        let before = costs(&mut session, &made);
        let doubled: Vec<f64> = rows.weights.iter().map(|weight| 2.0 * weight).collect();
        session.set_column(made.problem, made.term, 1, Reals::F64(&doubled)).unwrap();
        close(&costs(&mut session, &made), &before.iter().map(|cost| 4.0 * cost).collect::<Vec<f64>>(), exact, name);
        session.set_column(made.problem, made.term, 0, Reals::F64(&[0.35])).unwrap();
        close(&costs(&mut session, &made), &before, exact, name);
        session.set_weight(made.problem, made.term, Weight::Shared(6.0)).unwrap();
        close(&costs(&mut session, &made), &before.iter().map(|cost| 3.0 * cost).collect::<Vec<f64>>(), exact, name);
        // Two solvers' buffers, a second term of its kind, another table behind the sums, then without the first.
        let solver = session.solver(made.problem, &Options::default()).unwrap();
        let second = add(&mut session, &rows, Shape::Both, false, made.problem, [made.centre, made.point]).unwrap();
        session.table(made.problem, "late", 3, Reals::F64(&[1.0; 30]), true).unwrap();
        let tied = solve(&mut session, made.problem, &Options::default());
        assert_eq!(tied.cost_by_term.len(), 4, "{name}");
        session.set_enabled(made.problem, made.term, false).unwrap();
        assert_eq!(solve(&mut session, made.problem, &Options::default()).cost_by_term.len(), 3, "{name}");
        session.free_term(made.problem, made.term).unwrap();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let Progress::Report(report) = finish(&mut session, task, |_| {}) else { panic!("no report") };
        assert!(report.cost.is_finite() && report.cost < report.initial_cost, "{name}: {}", report.reason);
        let task = session.term_costs(made.problem, second).unwrap();
        assert!(values_of(&mut session, task).iter().all(|cost| cost.is_finite()), "{name}");
        session.free_problem(made.problem);
        let counters = session.device().counters();
        assert_eq!(counters.buffers_created, counters.buffers_destroyed, "{name}");
    }
}

#[test]
fn derivatives_are_those_of_the_whole_row() {
    let rows = Rows::new(&[3, 0, 300, 1], 30, 13);
    for (name, mut session) in sessions() {
        for shape in [Shape::Linear, Shape::Length, Shape::Both] {
            let made = make(&mut session, &rows, shape, false);
            let task = session.check_term(made.problem, made.term).unwrap();
            let worst = values_of(&mut session, task);
            assert!(worst[0] < if name == "webgpu" { 1e-4 } else { 1e-7 }, "{name}, {shape:?}: {worst:?}");
            let task = session.evaluate_term(made.problem, made.term, None).unwrap();
            let outputs = if shape == Shape::Length { 1 } else { 2 };
            // J has the columns of the row's own slot.
            assert_eq!(values_of(&mut session, task).len(), 4 * outputs * (1 + 2), "{name}");
        }
    }
}

/// Differences with respect to the centre and to every entry, against what the device has.
#[test]
fn the_jacobian_of_the_rows_own_slots_is_the_whole_derivative() {
    let rows = Rows::new(&[3, 2], 30, 17);
    for (name, mut session) in sessions() {
        let made = make(&mut session, &rows, Shape::Linear, false);
        let task = session.evaluate_term(made.problem, made.term, None).unwrap();
        let values = values_of(&mut session, task);
        let total = |row: usize| -0.7 * rows.weights[rows.offsets[row] as usize..rows.offsets[row + 1] as usize].iter().sum::<f64>();
        let expected: Vec<f64> = (0..2).flat_map(|row| [total(row), 0.0, 0.0, total(row)]).collect();
        close(&values[4..], &expected, 1e-6, name);
    }
}

#[test]
fn an_entry_that_is_not_defined_is_blamed_on_its_row() {
    for (name, mut session) in sessions() {
        let problem = session.problem();
        let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0, -3.0, 4.0]), true).unwrap();
        let mut tape = Tape::default();
        let a = tape.input(0);
        let root = tape.op(Sqrt, &[a]);
        let sum = tape.op(SumOver, &[root]);
        let plain = TermSpec {
            name: "roots".into(),
            count: 3,
            indices: Vec::new(),
            slots: Vec::new(),
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[sum],
        };
        let slots = vec![RaggedSlot { table: x, indices: vec![0, 1, 3, 2] }];
        session.summed_term(problem, SummedSpec { plain, offsets: vec![0, 2, 4, 4], slots, columns: Vec::new() }).unwrap();
        let solver = session.solver(problem, &Options::default()).unwrap();
        let task = session.solve(solver, SolveMode::Solve).unwrap();
        let error = loop {
            match session.resume(task, f64::INFINITY) {
                Ok(Progress::Waiting(signal)) => session.device_mut().block_on(&signal).unwrap(),
                Ok(Progress::Yielded | Progress::Iteration(_)) => {}
                Ok(_) => panic!("{name}: it ended"),
                Err(error) => break error,
            }
        };
        assert_eq!(error, Error::NonFiniteResidual { term: "roots".into(), instance: 1 }, "{name}");
    }
}

#[test]
fn tapes_that_do_not_sum_as_they_should_are_refused() {
    let mut session = cpu(Precision::F64);
    let problem = session.problem();
    let x = session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0]), true).unwrap();
    let mut refusal = |write: &dyn Fn(&mut Tape, u32) -> u32| {
        let mut tape = Tape::default();
        let entry = tape.input(0);
        let output = write(&mut tape, entry);
        let plain = TermSpec {
            name: "rows".into(),
            count: 1,
            indices: Vec::new(),
            slots: Vec::new(),
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[output],
        };
        let slots = vec![RaggedSlot { table: x, indices: vec![0, 1] }];
        match session.summed_term(problem, SummedSpec { plain, offsets: vec![0, 2], slots, columns: Vec::new() }) {
            Err(Error::Tape { error, .. }) => error,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refusal(&|_, entry| entry), TapeError::NoSum);
    assert_eq!(
        refusal(&|tape, entry| {
            let sum = tape.op(SumOver, &[entry]);
            tape.op(Mul, &[sum, entry])
        }),
        TapeError::StrayEntry
    );
    assert_eq!(
        refusal(&|tape, entry| {
            let sum = tape.op(SumOver, &[entry]);
            let product = tape.op(Mul, &[sum, entry]);
            tape.op(SumOver, &[product])
        }),
        TapeError::NestedSum
    );
    let mut tape = Tape::default();
    let entry = tape.input(0);
    let sum = tape.op(SumOver, &[entry]);
    let spec = TermSpec {
        name: "plain".into(),
        count: 2,
        indices: vec![vec![0, 1]],
        slots: vec![Slot { table: x, column: 0 }],
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &[sum],
    };
    assert_eq!(session.term(problem, spec), Err(Error::Tape { term: "plain".into(), error: TapeError::NoRows(1) }));
}

/// Random programs over entries, most of which are tapes: whatever they are, they are refused or solved.
#[test]
fn random_tapes_are_refused_or_run() {
    let mut session = cpu(Precision::F64);
    let (mut random, mut made) = (Random::new(21), 0);
    for _ in 0..1500 {
        let problem = session.problem();
        let x = session.table(problem, "x", 2, Reals::F64(&[0.1, 0.2, 0.3, -0.4, 0.5, 0.6]), true).unwrap();
        let y = session.table(problem, "y", 1, Reals::F64(&[0.7, 0.8, 0.9]), random.below(2) == 0).unwrap();
        let mut tape = Tape::default();
        let mut values: Vec<u32> = (0..3).map(|source| tape.input(source)).collect();
        for _ in 0..3 + random.below(8) {
            let mut pick = || values[random.below(values.len() as u64) as usize];
            let (a, b) = (pick(), pick());
            let value = match random.below(9) {
                0 => tape.op(Add, &[a, b]),
                1 => tape.op(Mul, &[a, b]),
                2 => tape.op(Norm, &[a]),
                3 => tape.op(Component, &[a, 0]),
                4 => tape.op(Sin, &[a]),
                5 => tape.op(Pack, &[a, b]),
                6 => tape.op(Select, &[a, b, b]),
                _ => tape.op(SumOver, &[a]),
            };
            values.push(value);
        }
        let output = values[values.len() - 1 - random.below(2) as usize];
        let plain = TermSpec {
            name: "random".into(),
            count: 3,
            indices: vec![vec![2, 0, 2]],
            slots: vec![Slot { table: x, column: 0 }],
            columns: Vec::new(),
            weight: Weight::Shared(1.0),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &[output],
        };
        let slots = vec![RaggedSlot { table: x, indices: vec![0, 1, 0, 2] }, RaggedSlot { table: y, indices: vec![2, 1, 0, 2] }];
        match session.summed_term(problem, SummedSpec { plain, offsets: vec![0, 1, 1, 4], slots, columns: Vec::new() }) {
            Err(error) => assert!(matches!(error, Error::Tape { .. }), "{error}"),
            Ok(term) => {
                made += 1;
                let task = session.check_term(problem, term).unwrap();
                let worst = values_of(&mut session, task);
                assert!(worst[0] < 1e-5, "{worst:?}: {:?}", tape.words);
                let report = solve(&mut session, problem, &Options { max_iterations: Some(2.0), ..Options::default() });
                assert!(report.cost <= report.initial_cost, "{report:?}");
            }
        }
        session.free_problem(problem);
    }
    assert!(made > 150, "only {made} were tapes");
    let counters = session.device().counters();
    // A solver's buffers go with its problem.
    assert_eq!(counters.buffers_created, counters.buffers_destroyed);
}
