//! Solves over ranks: bits, costs against one device, edits, what is exchanged.

use super::scenes::{Alone, Declare, Made, bundle, mesh, options, ranked};
use super::{bits, on_all};
use crate::support::*;
use leastwise::collective::{Count, Kind};
use leastwise::device::Precision;
use leastwise::problem::Reals;
use leastwise::ranks::{RankedProblem, RankedReport};
use leastwise::solve::{Exchanged, Options, Report};

pub type Scene<P> = fn(&mut P) -> Made;

pub fn alone(make: Scene<Alone>, precision: Precision, options: &Options) -> (Report, Vec<Vec<f64>>) {
    let mut problem = Alone::new(precision);
    let made = make(&mut problem);
    let report = solve(&mut problem.session, problem.problem, options);
    let values = made.tables.iter().map(|table| read(&mut problem.session, problem.problem, *table)).collect();
    (report, values)
}

pub fn by_ranks(make: Scene<RankedProblem>, precision: Precision, options: &Options, size: u32) -> Vec<(RankedReport, Vec<Vec<f64>>)> {
    on_all(size, |ranks| {
        let mut problem = ranked(precision, ranks);
        let made = make(&mut problem);
        let report = problem.solve(options).unwrap();
        let values = made.tables.iter().map(|table| problem.read(*table).unwrap()).collect();
        (report, values)
    })
}

pub fn farthest(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    a.concat().iter().zip(b.concat()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

pub fn check(name: &str, scene: (Scene<Alone>, Scene<RankedProblem>), precision: Precision, bounds: [f64; 3]) {
    check_with(name, scene, (precision, &options()), bounds);
}

/// Holds solves by one to four ranks to one device: costs by a part of them, values by their distance, and the numbers of instances.
pub fn check_with(
    name: &str,
    scene: (Scene<Alone>, Scene<RankedProblem>),
    (precision, options): (Precision, &Options),
    [of_cost, of_values, of_instances]: [f64; 3],
) {
    let (report, values) = alone(scene.0, precision, options);
    assert!(report.iterations.len() > 3, "{name}: {} steps", report.iterations.len());
    for size in 1..=4 {
        let found = by_ranks(scene.1, precision, options, size);
        let again = by_ranks(scene.1, precision, options, size);
        let name = format!("{name} by {size} ranks");
        for (own, values) in &found {
            let (first, of_first) = &found[0];
            assert_eq!(bits(&values.concat()), bits(&of_first.concat()), "{name}: values of all ranks");
            assert_eq!(bits(&values.concat()), bits(&again[0].1.concat()), "{name}: values of two runs");
            assert_eq!(own.report.cost.to_bits(), first.report.cost.to_bits());
            assert_eq!(own.report.cost_by_term, first.report.cost_by_term);
            let steps = |report: &RankedReport| {
                report.report.iterations.iter().map(|step| (step.cost.to_bits(), step.accepted)).collect::<Vec<_>>()
            };
            assert_eq!(steps(own), steps(first), "{name}: steps");
        }
        let (own, of_ranks) = &found[0];
        let apart = (own.report.cost - report.cost).abs() / report.cost;
        assert!(apart < of_cost, "{name}: cost {} and {}", own.report.cost, report.cost);
        assert!((own.report.initial_cost - report.initial_cost).abs() < of_cost * report.initial_cost, "{name}");
        let names = |report: &Report| report.cost_by_term.iter().map(|term| term.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&own.report), names(&report));
        assert_eq!(own.report.linear, report.linear);
        let distance = farthest(of_ranks, &values);
        assert!(distance < of_values, "{name}: values are {distance} apart");
        assert_eq!((own.ranks, own.cut_variables > 0), (size, size > 1));
        let instances: Vec<u32> = found.iter().map(|(report, _)| report.instances).collect();
        let (least, most) = (instances.iter().min().unwrap(), instances.iter().max().unwrap());
        assert!(f64::from(*most) < of_instances * f64::from(*least), "{name}: {instances:?} instances");
    }
}

#[test]
fn a_mesh_comes_to_the_same_by_one_to_four_ranks() {
    check("mesh", (mesh, mesh), Precision::F64, [1e-9, 1e-5, 1.35]);
    check("mesh in f32", (mesh, mesh), Precision::F32, [1e-4, 1e-2, 1.35]);
}

#[test]
fn a_bundle_with_a_loss_and_poses_on_a_manifold_comes_to_the_same() {
    check("bundle", (bundle, bundle), Precision::F64, [1e-8, 1e-4, 1.35]);
}

/// Points have runs of views, which a product by owners wants; copies of points stand last in a rank's table.
#[test]
fn points_own_their_views_on_every_rank() {
    let has_owners = |report: &Report| {
        let views = report.products.iter().find(|product| product.term == "views").expect("a product of views");
        views.reason.contains("owner-computes")
    };
    assert!(has_owners(&alone(bundle, Precision::F64, &options()).0));
    for size in 2..=4 {
        for (rank, (found, _)) in by_ranks(bundle, Precision::F64, &options(), size).iter().enumerate() {
            assert!(found.exchanged.unknowns > 0, "ranks share nothing");
            assert!(has_owners(&found.report), "rank {rank} of {size}");
        }
    }
}

/// The bytes of a solve are those of the model in docs/internals/RANKS.md, to the byte.
#[test]
fn what_a_step_exchanges_is_the_model() {
    for exchanged in follows_the_model(mesh, 2, &options()) {
        // Far fewer than all unknowns go around: 162 vertices have 486.
        assert!(exchanged.unknowns > 0 && exchanged.unknowns < 486 / 2, "{exchanged:?}");
        assert_eq!(exchanged.blocks, 2 * exchanged.unknowns, "six of a block of three");
        assert_eq!((exchanged.limited, exchanged.start()), (false, 0));
    }
}

/// Holds a solve by three ranks to the model of its bytes; gives the sizes of all ranks.
pub fn follows_the_model(scene: Scene<RankedProblem>, terms: u64, options: &Options) -> Vec<Exchanged> {
    let found = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks.clone());
        scene(&mut problem);
        let before = ranks.traffic().of(Kind::Reduce);
        let report = problem.solve(options).unwrap();
        (report, before, ranks.traffic().of(Kind::Reduce))
    });
    let of_rank = |(RankedReport { report, exchanged, bytes_per_inner_iteration, .. }, before, after): (RankedReport, Count, Count)| {
        let mut elements = exchanged.start();
        let (mut differentiates, mut has_moved) = (true, false);
        for step in &report.iterations {
            elements += exchanged.step(differentiates) + u64::from(step.inner_iterations) * exchanged.inner_iteration();
            elements += if has_moved { 0 } else { 2 * exchanged.partials };
            (differentiates, has_moved) = (step.accepted, has_moved || step.accepted);
        }
        // The terms' costs at the end, and the number of partial sums at the start.
        assert_eq!(after.given - before.given, 8 * (elements + terms + 1));
        assert_eq!(after.received - before.received, 2 * 8 * (elements + terms + 1));
        assert_eq!(bytes_per_inner_iteration, 8 * (exchanged.unknowns + 2 * exchanged.partials));
        exchanged
    };
    found.into_iter().map(of_rank).collect()
}

#[test]
fn values_and_data_are_edited_as_on_one_device() {
    let data = |data: &[f64]| data.iter().map(|value| 0.9 * value + 0.01).collect::<Vec<f64>>();
    let (rows, lifted) = ([140u32, 3, 77], [0.5, 0.9, 0.1, 0.2, 0.8, 0.3, 0.6, 0.7, 0.2]);
    let mut one = Alone::new(Precision::F64);
    let made = mesh(&mut one);
    solve(&mut one.session, one.problem, &options());
    one.session.set_column(one.problem, made.edited, 0, Reals::F64(&data(&made.data))).unwrap();
    one.session.write_table(one.problem, made.tables[0], Reals::F64(&lifted), Some(&rows)).unwrap();
    let expected = solve(&mut one.session, one.problem, &options());
    let values = read(&mut one.session, one.problem, made.tables[0]);
    let found = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let made = mesh(&mut problem);
        problem.solve(&options()).unwrap();
        problem.set_column(made.edited, 0, &data(&made.data)).unwrap();
        problem.write(made.tables[0], &lifted, Some(&rows)).unwrap();
        let report = problem.solve(&options()).unwrap().report;
        (report, problem.read(made.tables[0]).unwrap())
    });
    for (report, of_rank) in found {
        assert!((report.initial_cost - expected.initial_cost).abs() < 1e-6 * expected.initial_cost, "{}", report.initial_cost);
        assert!((report.cost - expected.cost).abs() < 1e-9 * expected.cost, "{} and {}", report.cost, expected.cost);
        assert!(farthest(&[of_rank], std::slice::from_ref(&values)) < 1e-5);
    }
}

#[test]
fn values_of_three_ranks_go_on_by_two() {
    let few = Options { max_iterations: Some(3.0), ..options() };
    let begun = on_all(3, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let made = bundle(&mut problem);
        let report = problem.solve(&few).unwrap().report;
        (report.cost, made.tables.iter().map(|table| problem.read(*table).unwrap()).collect::<Vec<_>>())
    });
    let (cost, values) = &begun[0];
    let ended = on_all(2, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let made = bundle(&mut problem);
        made.tables.iter().zip(values).for_each(|(table, values)| problem.write(*table, values, None).unwrap());
        problem.solve(&options()).unwrap().report
    });
    let (expected, _) = alone(bundle, Precision::F64, &options());
    for report in ended {
        assert!((report.initial_cost - cost).abs() < 1e-9 * cost, "{} and {cost}", report.initial_cost);
        assert!((report.cost - expected.cost).abs() < 1e-7 * expected.cost, "{} and {}", report.cost, expected.cost);
    }
}

#[test]
fn copies_have_the_bits_of_their_owner() {
    let scenes: [(Scene<RankedProblem>, Precision); 2] = [(mesh, Precision::F32), (bundle, Precision::F64)];
    for (scene, precision) in scenes {
        let found = on_all(3, |ranks| {
            let mut problem = ranked(precision, ranks);
            let made = scene(&mut problem);
            let report = problem.solve(&options()).unwrap();
            let parts = made.tables.iter().map(|table| {
                let (own, present) = (problem.read_own(*table).unwrap().0, problem.read_present(*table).unwrap());
                (own, present, problem.read(*table).unwrap())
            });
            (report.cut_variables, parts.collect::<Vec<_>>())
        });
        let (mut copies, cut) = (0, found[0].0);
        for (own, (rows, values), all) in found.into_iter().flat_map(|(_, parts)| parts) {
            let width = values.len() / rows.len();
            assert_eq!(rows[..own.len()], own);
            for (row, values) in rows.iter().zip(values.chunks(width)) {
                assert_eq!(bits(values), bits(&all[*row as usize * width..][..width]), "row {row}");
            }
            copies += rows.len() - own.len();
        }
        assert!(cut > 0 && copies >= cut as usize, "{copies} copies of {cut} variables");
    }
}

/// Residuals of one scalar each, of rows of a table: `column` has what a tape takes besides.
fn scalars(problem: &mut RankedProblem, name: &str, table: u32, rows: Vec<u32>, tape: &Tape, outputs: &[u32], data: &[f64]) {
    let spec = leastwise::problem::TermSpec {
        slots: vec![leastwise::problem::Slot { table, column: 0 }],
        columns: vec![leastwise::problem::Column { name: "data".into(), width: 1, shared: false, values: Reals::F64(data) }],
        tape: &tape.words,
        outputs,
        ..plain(name, rows.len() as u32)
    };
    Declare::term(problem, &leastwise::problem::TermSpec { indices: vec![rows], ..spec });
}

#[test]
fn a_trial_point_that_is_not_finite_on_one_rank_is_rejected_by_all() {
    // Two islands: ln x = -3 from 1, whose first step leads below 0, and a row that goes straight to 5.
    let found = on_all(2, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let tables = ["curved", "straight"].map(|name| {
            let table = Declare::table(&mut problem, name, vec![leastwise::problem::Shape::Euclidean(1)], &[1.0], true);
            let mut tape = Tape::default();
            let [x, goal] = [0, 1].map(|source| tape.input(source));
            let (curved, goals) = (name == "curved", [if name == "curved" { -3.0 } else { 5.0 }; 2]);
            let value = if curved { tape.op(leastwise::expr::Opcode::Log, &[x]) } else { x };
            let outputs = [tape.op(leastwise::expr::Opcode::Sub, &[value, goal])];
            scalars(&mut problem, name, table, vec![0; 2], &tape, &outputs, &goals);
            table
        });
        let report = problem.solve(&options()).unwrap();
        assert_eq!((report.cut_variables, report.instances), (0, 2));
        let steps: Vec<_> = report.report.iterations.iter().map(|step| (step.accepted, step.cost.to_bits())).collect();
        (steps, tables.map(|table| problem.read(table).unwrap()[0]))
    });
    assert_eq!(found[0], found[1]);
    let (steps, [curved, straight]) = &found[0];
    assert!(!steps[0].0, "the first step leads where there is no logarithm");
    assert!((curved - (-3.0f64).exp()).abs() < 1e-6 && (straight - 5.0).abs() < 1e-6, "{curved}, {straight}");
}

#[test]
fn a_variable_that_nothing_touches_keeps_its_value_and_a_rank_may_lack_a_table() {
    // Two islands of one spring each, with tables of their own: each rank has one of them.
    let found = on_all(2, |ranks| {
        let mut problem = ranked(Precision::F64, ranks);
        let tables: Vec<u32> = ["left", "right"]
            .into_iter()
            .map(|name| {
                let table = Declare::table(&mut problem, name, vec![leastwise::problem::Shape::Euclidean(1)], &[1.0, 5.0, 9.0], true);
                let mut tape = Tape::default();
                let [a, b] = [0, 1].map(|source| tape.input(source));
                let difference = tape.op(leastwise::expr::Opcode::Sub, &[b, a]);
                let length = tape.literal(3.0);
                let outputs = [tape.op(leastwise::expr::Opcode::Sub, &[difference, length])];
                let slot = |column| leastwise::problem::Slot { table, column };
                let spec = leastwise::problem::TermSpec {
                    indices: vec![vec![0], vec![1]],
                    slots: vec![slot(0), slot(1)],
                    tape: &tape.words,
                    outputs: &outputs,
                    ..plain(name, 1)
                };
                Declare::term(&mut problem, &spec);
                table
            })
            .collect();
        let report = problem.solve(&options()).unwrap();
        assert_eq!((report.cut_variables, report.instances), (0, 1));
        assert_eq!(report.report.cost_by_term.len(), 2);
        tables.iter().map(|table| problem.read(*table).unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(found[0], found[1]);
    for values in &found[0] {
        assert!((values[1] - values[0] - 3.0).abs() < 1e-6, "{values:?}");
        assert_eq!(values[2], 9.0);
    }
}
