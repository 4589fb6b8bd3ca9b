//! Products of all batches that are gathered at once, in conjugate gradients of three dispatches.

use super::model::*;
use crate::support::*;
use leastwise::device::{Counters, Precision};
use leastwise::expr::Opcode;
use leastwise::problem::{Column, Reals, Schedule, Slot, TermSpec, Tuning, Weight};
use leastwise::session::Session;
use leastwise::solve::{Options, Report};

#[test]
fn products_that_are_gathered_at_once_are_the_dense_product() {
    let seed = fresh_seed();
    println!("LEASTWISE_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    for (count, longest) in [(2, 3), (77, 4), (1200, 3)] {
        let mut model = Model::new(count, &mut random);
        for kind in [Kinds::Springs, Kinds::Rigid, Kinds::Scaled, Kinds::Joined] {
            model.term(kind, longest, &mut random);
        }
        model.terms.retain(|given| !given.indices[0].is_empty());
        model.fixed = (0..3).map(|table| (table, random.below(count.into()) as u32, 0)).collect();
        let p = model.direction(&mut random);
        let dense = model.dense(&p);
        on_every_device(|name, device| {
            let live = device.counters().bytes_live;
            for schedule in Schedule::ALL {
                let found = model.merged_product(device, always(schedule), &p);
                let error = error(&found.product, &dense.product, epsilon(device));
                println!("{name}, {}: {error:.1e} of what roundings can come to", schedule.name());
                assert!(error < 1.0, "{name}, {}: an error of {error:e} bounds", schedule.name());
            }
            assert_eq!(device.counters().bytes_live, live, "{name}: buffers are left");
        });
    }
}

/// Chains of points in some tables, each point tied to the next one and to where it is, by so many terms.
fn chains(session: &mut Session, tables: usize, terms: usize) -> u32 {
    let (problem, count) = (session.problem(), 250u32);
    let mut random = Random::new(7);
    let width = |table: usize| [3, 2, 1][table];
    let names = ["a", "b", "c"];
    let made: Vec<u32> = (0..tables)
        .map(|table| {
            let values: Vec<f64> = (0..count as usize * width(table)).map(|_| random.between(-1.0, 1.0)).collect();
            session.table(problem, names[table], width(table) as u32, Reals::F64(&values), true).unwrap()
        })
        .collect();
    for term in 0..terms.max(tables) {
        // What has one term has all tables in it.
        let joined: Vec<usize> = if terms == 1 { (0..tables).collect() } else { vec![term % tables] };
        if term >= terms {
            break;
        }
        let mut tape = Tape::default();
        let mut outputs = Vec::new();
        let mut slots = Vec::new();
        for &table in &joined {
            let [a, b] = [0, 1].map(|column| {
                slots.push(Slot { table: made[table], column });
                tape.input(slots.len() as u32 - 1)
            });
            let between = tape.op(Opcode::Sub, &[a, b]);
            // Structures that differ, so that no two are a batch.
            let bent = (0..term).fold(between, |last, _| tape.op(Opcode::Sin, &[last]));
            outputs.push(tape.op(Opcode::Sub, &[bent, a]));
        }
        let indices = vec![(0..count - 1).collect(), (1..count).collect()];
        let spec = TermSpec {
            name: format!("term {term}"),
            count: count - 1,
            indices,
            slots,
            columns: Vec::<Column>::new(),
            weight: Weight::Shared(1.0 + term as f64),
            loss: None,
            objective: Default::default(),
            tape: &tape.words,
            outputs: &outputs,
        };
        session.term(problem, spec).unwrap();
    }
    problem
}

/// What a few steps did.
fn steps(session: &mut Session, problem: u32) -> (Counters, Report) {
    let options = Options {
        linear: Some("pcg".into()),
        preconditioner: Some("block-jacobi".into()),
        max_iterations: Some(3.0),
        cost_tolerance: Some(0.0),
        forcing: Some(1e-3),
        ..Options::default()
    };
    let report = solve(session, problem, &options);
    (report.counters, report)
}

#[test]
fn an_inner_iteration_is_three_dispatches_for_any_number_of_terms_and_tables() {
    for (terms, tables) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (5, 1), (5, 2), (5, 3)] {
        let mut session = shared_gpu(None);
        let problem = chains(&mut session, tables, terms);
        let (counters, report) = steps(&mut session, problem);
        let inner: u32 = report.iterations.iter().map(|step| step.inner_iterations).sum();
        assert!(inner >= 3, "{inner} inner iterations");
        assert_eq!(counters.round_dispatches, 3 * counters.rounds, "{terms} terms over {tables} tables: {counters:?}");
        session.free_problem(problem);
    }
}

#[test]
fn iterations_of_few_dispatches_solve_what_others_solve_to_the_same_bits_again() {
    let mesh = Mesh::icosphere(3).normalized();
    let options = Options { linear: Some("pcg".into()), forcing: Some(1e-4), max_iterations: Some(40.0), ..Options::default() };
    let mut exact = cpu(Precision::F64);
    let (problem, _) = arap(&mut exact, &mesh);
    let reference = solve(&mut exact, problem, &options).cost;
    for schedule in [Schedule::TwoPass, Schedule::OwnerComputes] {
        let once = || {
            let mut session = shared_gpu(None);
            session.set_tuning(always(schedule)).unwrap();
            let (problem, x) = arap(&mut session, &mesh);
            let report = solve(&mut session, problem, &options);
            let found = read(&mut session, problem, x);
            session.set_tuning(Tuning::default()).unwrap();
            session.free_problem(problem);
            assert_eq!(report.counters.round_dispatches, 3 * report.counters.rounds, "two batches: {:?}", report.counters);
            (report.cost, found)
        };
        let (cost, found) = once();
        assert!((cost - reference).abs() < 1e-4 * reference, "{}: {cost}, not {reference}", schedule.name());
        assert!(once() == (cost, found), "{}: another solve finds other bits", schedule.name());
    }
}

/// Restriction, the cycle and prolongation. A cycle of more than 128 patches goes down to the level above and up again.
#[test]
fn two_levels_are_three_dispatches_more_and_two_for_each_level_of_many_patches() {
    let mut session = shared_gpu(None);
    for (level, steps, more) in [(3, 3.0, 3), (5, 1.0, 3 + 2)] {
        let options = Options { preconditioner: Some("two-level".into()), max_iterations: Some(steps), ..Options::default() };
        let (problem, _) = arap(&mut session, &Mesh::icosphere(level).normalized());
        let counters = solve(&mut session, problem, &options).counters;
        assert!(f64::from(counters.rounds as u32) > steps, "{counters:?}");
        assert_eq!(counters.round_dispatches, (3 + more) * counters.rounds, "{counters:?}");
        session.free_problem(problem);
    }
}

/// A star: its centre is in every instance, more than one lane adds up.
#[test]
fn products_with_a_variable_in_very_many_instances_stay_apart() {
    let mut session = shared_gpu(None);
    let (problem, count) = (session.problem(), 301u32);
    let mut random = Random::new(3);
    let values: Vec<f64> = (0..count).map(|_| random.between(-1.0, 1.0)).collect();
    let table = session.table(problem, "x", 1, Reals::F64(&values), true).unwrap();
    let mut tape = Tape::default();
    let [a, b] = [0, 1].map(|column| tape.input(column));
    let between = tape.op(Opcode::Sub, &[a, b]);
    let outputs = [tape.op(Opcode::Sub, &[between, b])];
    let spec = TermSpec {
        name: "star".into(),
        count: count - 1,
        indices: vec![vec![0; count as usize - 1], (1..count).collect()],
        slots: [0, 1].map(|column| Slot { table, column }).into(),
        columns: Vec::new(),
        weight: Weight::Shared(1.0),
        loss: None,
        objective: Default::default(),
        tape: &tape.words,
        outputs: &outputs,
    };
    session.term(problem, spec).unwrap();
    let (counters, report) = steps(&mut session, problem);
    assert!(counters.rounds > 0 && counters.round_dispatches > 3 * counters.rounds, "{counters:?}");
    assert!(report.cost < 1e-3 * report.initial_cost, "{} of {}", report.cost, report.initial_cost);
    session.free_problem(problem);
}

/// Terms that are switched off and on again, whose kernel has the programs of all.
#[test]
fn no_kernel_is_compiled_for_terms_that_are_switched_off_and_on() {
    let mut session = shared_gpu(None);
    let problem = chains(&mut session, 2, 3);
    let options = Options { linear: Some("pcg".into()), max_iterations: Some(2.0), ..Options::default() };
    let costs = [true, false, true].map(|on| {
        session.set_enabled(problem, 1, on).unwrap();
        let before = session.device().counters().kernels_created;
        let report = solve(&mut session, problem, &options);
        (report.cost, session.device().counters().kernels_created - before)
    });
    assert_eq!([costs[1].1, costs[2].1], [0, 0], "{costs:?}");
    assert!(costs.iter().all(|(cost, _)| cost.is_finite()), "{costs:?}");
    session.free_problem(problem);
}
