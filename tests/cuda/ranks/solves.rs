//! Solves and Lloyd's iterations over ranks, against the CPU's threads and against one GPU.

use super::scenes::{Alone, Made, bundle, bundle_by_cameras, limited_bundle, mesh, net, options};
use super::{Over, bits, on_all};
use crate::support::*;
use leastwise::anneal::cluster::{Mean, Method, Options, Outcome, over_ranks};
use leastwise::collective::{Communicator, DEADLINE, Kind};
use leastwise::device::cuda::{CudaDevice, WorldId};
use leastwise::device::{Device, Precision};
use leastwise::problem::Reals;
use leastwise::ranks::{RankedProblem, RankedReport};
use leastwise::session::{Progress, Session, SolveMode};
use std::sync::Arc;
use std::time::Instant;

type Solved = (RankedReport, Vec<Vec<f64>>);

fn by_ranks(over: Over, (make, linear): (fn(&mut RankedProblem) -> Made, &str), precision: Precision, size: u32) -> Vec<Solved> {
    on_all(over, size, precision, |device, ranks| {
        let mut problem = RankedProblem::new(device, ranks).unwrap();
        let made = make(&mut problem);
        let report = problem.solve(&by(linear)).unwrap();
        let values = made.tables.iter().map(|table| problem.read(*table).unwrap()).collect();
        (report, values)
    })
}

/// Options with a linear solver, and its usual preconditioner.
fn by(linear: &str) -> leastwise::solve::Options {
    leastwise::solve::Options { linear: Some(linear.into()), preconditioner: None, ..options() }
}

fn farthest(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    a.concat().iter().zip(b.concat()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The same bits on all ranks and in two runs, the solution of the CPU's threads, and that of one GPU.
pub fn solves_agree(over: Over, sizes: &[u32]) {
    type Scene = (&'static str, &'static str, fn(&mut RankedProblem) -> Made, fn(&mut Alone) -> Made);
    let scenes: [Scene; 7] = [
        ("mesh", "pcg", mesh, mesh),
        ("bundle", "pcg", bundle, bundle),
        ("net with limits", "pcg", net, net),
        ("bundle with limits", "pcg", limited_bundle, limited_bundle),
        ("bundle", "schur-pcg", bundle, bundle),
        ("bundle by cameras", "schur-pcg", bundle_by_cameras, bundle_by_cameras),
        ("bundle with limits", "schur-pcg", limited_bundle, limited_bundle),
    ];
    for (name, linear, make, alone) in scenes {
        for (precision, of_cost, of_values) in [(Precision::F64, 1e-8, 1e-4), (Precision::F32, 1e-3, 2e-2)] {
            let mut one = Alone { session: crate::session(precision), problem: 0 };
            one.problem = one.session.problem();
            let made = alone(&mut one);
            let of_one = solve(&mut one.session, one.problem, &by(linear));
            let values_of_one: Vec<_> = made.tables.iter().map(|table| read(&mut one.session, one.problem, *table)).collect();
            for &size in sizes {
                let name = format!("{name} in {precision:?} by {size} ranks, {over:?}, {linear}");
                let found = by_ranks(over, (make, linear), precision, size);
                let again = by_ranks(over, (make, linear), precision, size);
                let expected = by_ranks(Over::Cpu, (make, linear), precision, size);
                let (first, of_first) = &found[0];
                for ((own, values), (other, values_again)) in found.iter().zip(&again) {
                    assert_eq!(bits(&values.concat()), bits(&of_first.concat()), "{name}: values of all ranks");
                    assert_eq!(bits(&values.concat()), bits(&values_again.concat()), "{name}: values of two runs");
                    assert_eq!(own.report.cost.to_bits(), first.report.cost.to_bits(), "{name}");
                    assert_eq!(own.report.cost_by_term, first.report.cost_by_term, "{name}");
                    assert_eq!(own.report.iterations.len(), other.report.iterations.len(), "{name}");
                }
                for (cost, values) in [(of_one.cost, &values_of_one), (expected[0].0.report.cost, &expected[0].1)] {
                    assert!((first.report.cost - cost).abs() < of_cost * cost, "{name}: cost {} and {cost}", first.report.cost);
                    assert!(farthest(of_first, values) < of_values, "{name}: values are {} apart", farthest(of_first, values));
                }
                assert_eq!(first.cut_variables, expected[0].0.cut_variables, "{name}");
                println!("{name}: cost {}, {} bytes given", first.report.cost, first.traffic.given);
            }
        }
    }
}

#[test]
fn solves_of_ranks_on_one_gpu_are_those_of_the_cpu_and_of_one_gpu() {
    solves_agree(Over::Host, &[1, 2, 3]);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn solves_over_nccl_are_those_of_the_cpu_and_of_one_gpu() {
    solves_agree(Over::Nccl, &[2]);
}

/// Costs of a path of 100,000 views, step by step, with few inner iterations: before rounding has come far.
fn costs_of_a_path(over: Over, size: u32) -> Vec<Vec<f64>> {
    let few = leastwise::solve::Options { max_iterations: Some(3.0), max_inner_iterations: Some(20.0), ..options() };
    on_all(over, size, Precision::F64, |device, ranks| {
        let mut problem = RankedProblem::new(device, ranks).unwrap();
        super::speed::path(&mut problem, 20_000);
        problem.solve(&few).unwrap().report.iterations.iter().map(|step| step.cost).collect()
    })
}

/// Of many views there are several partial sums of a kind, and messages of thousands of numbers.
fn paths_agree(over: Over, sizes: &[u32]) {
    let expected = costs_of_a_path(Over::Cpu, 1).remove(0);
    assert!(expected.len() > 1 && expected.iter().all(|cost| cost.is_finite()), "{expected:?}");
    for &size in sizes {
        for costs in costs_of_a_path(over, size) {
            assert_eq!(costs.len(), expected.len(), "{size} ranks");
            let agree = costs.iter().zip(&expected).all(|(cost, expected)| (cost - expected).abs() < 1e-8 * expected);
            assert!(agree, "{size} ranks: {costs:?} and {expected:?}");
        }
    }
}

#[test]
fn many_views_come_to_the_same_by_ranks_on_one_gpu() {
    paths_agree(Over::Host, &[1, 2, 3]);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn many_views_come_to_the_same_over_nccl() {
    paths_agree(Over::Nccl, &[2]);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn edits_between_solves_go_on_over_nccl() {
    let run = |over| {
        on_all(over, 2, Precision::F64, |device, ranks| {
            let mut problem = RankedProblem::new(device, ranks).unwrap();
            let made = mesh(&mut problem);
            let mut costs = vec![problem.solve(&options()).unwrap().report.cost];
            for round in 0..3 {
                let data: Vec<f64> = made.data.iter().map(|value| (0.9 - 0.1 * f64::from(round)) * value + 0.01).collect();
                problem.set_column(made.edited, 0, &data).unwrap();
                problem.write(made.tables[0], &[0.5, 0.9, 0.1, 0.2, 0.8, 0.3], Some(&[140, 3])).unwrap();
                costs.push(problem.solve(&options()).unwrap().report.cost);
            }
            costs
        })
    };
    let [of_cpu, expected, found] = [Over::Cpu, Over::Host, Over::Nccl].map(run);
    // Kernels are the same, and so are all sums.
    assert_eq!(found.iter().map(|costs| bits(costs)).collect::<Vec<_>>(), vec![bits(&expected[0]); 2]);
    // Rows that were written fold the mesh: solves end by their iterations, on the way, where rounding has come to other places (2.3e-5 apart
    // on an H200).
    for (expected, found) in of_cpu[0].iter().zip(&found[0]) {
        assert!((expected - found).abs() < 2e-4 * expected, "{expected} and {found}");
    }
}

const DIM: usize = 32;

fn points(count: usize) -> Vec<f32> {
    let mut random = Random::new(11);
    let centres: Vec<f64> = (0..24 * DIM).map(|_| random.between(-1.0, 1.0)).collect();
    let near = |place: usize| centres[place / DIM * 7 % 24 * DIM + place % DIM];
    (0..count * DIM).map(|place| (5.0 + near(place) + random.between(-0.2, 0.2)) as f32).collect()
}

fn clustered(mut device: Device, ranks: Arc<dyn Communicator>, points: &[f32], mean: Option<Mean>) -> (Outcome, u64) {
    let (rank, size, count) = (ranks.rank(), ranks.size(), points.len() / DIM);
    let at = |rank: u32| if rank == size { count } else { count * rank as usize / size as usize + 13 * rank as usize };
    let own = points[at(rank) * DIM..at(rank + 1) * DIM].to_vec();
    let options = Options { method: Some(Method::Lloyd), tolerance: Some(1e-7), mean, ..Options::new(DIM as u32, 24) };
    let outcome = over_ranks(&mut device, ranks.clone(), own, &options).unwrap();
    assert_eq!(device.counters().bytes_live, 0, "buffers are left");
    assert!(device.join(None).unwrap().is_none(), "the device is alone again");
    (outcome, ranks.traffic().of(Kind::Reduce).given)
}

pub fn clusters_agree(over: Over, sizes: &[u32]) {
    for (count, mean) in [(3000, None), (3000, Some(Mean::Huber(0.3))), (20_000, None)] {
        let points = points(count);
        for &size in sizes {
            let run = |over| on_all(over, size, Precision::F32, |device, ranks| clustered(device, ranks, &points, mean));
            let (found, again, expected) = (run(over), run(over), run(Over::Cpu));
            let (first, of_cpu) = (&found[0].0, &expected[0].0);
            for ((own, _), (other, _)) in found.iter().zip(&again) {
                assert_eq!((&own.centroids, &own.counts, own.energy), (&first.centroids, &first.counts, first.energy));
                assert_eq!((&own.centroids, &own.labels), (&other.centroids, &other.labels), "two runs");
            }
            assert_eq!(first.counts.iter().sum::<u32>(), count as u32);
            assert!(
                (first.energy - of_cpu.energy).abs() < 1e-2 * of_cpu.energy,
                "{over:?}, {size} ranks: {} and {}",
                first.energy,
                of_cpu.energy
            );
            println!("{over:?}, {count} points, {size} ranks: energy {}, {} iterations", first.energy, first.iterations.len());
        }
    }
}

#[test]
fn codebooks_of_ranks_on_one_gpu_are_those_of_the_cpu() {
    clusters_agree(Over::Host, &[1, 2, 3]);
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn codebooks_over_nccl_are_those_of_the_cpu() {
    clusters_agree(Over::Nccl, &[2]);
}

/// Codebooks by sessions, before and after a solve, which an engine in f64 makes on its other device.
fn clustered_by_sessions(precision: Precision) -> Vec<(Vec<u32>, Vec<u32>, u64)> {
    let points = points(3000);
    on_all(Over::Nccl, 2, precision, |device, ranks| {
        let at = |rank: u32| points.len() / DIM * rank as usize / 2 * DIM;
        let own = points[at(ranks.rank())..at(ranks.rank() + 1)].to_vec();
        let mut of = Alone { session: Session::over_ranks(device, ranks).unwrap(), problem: 0 };
        let options = Options { method: Some(Method::Lloyd), tolerance: Some(1e-7), ..Options::new(DIM as u32, 24) };
        let clustered = |session: &mut Session| {
            let task = session.cluster_by_ranks(own.clone(), None, &options, "l2").unwrap();
            let Progress::Clustering(outcome) = finish(session, task, |_| {}) else { panic!("no clusters") };
            let centroids: Vec<u32> = outcome.centroids.iter().map(|value| value.to_bits()).collect();
            (centroids, outcome.labels.clone(), outcome.energy.to_bits())
        };
        let first = clustered(&mut of.session);
        of.problem = of.session.problem();
        mesh(&mut of);
        let report = solve(&mut of.session, of.problem, &options_of_solve());
        assert!(report.cost < report.initial_cost);
        assert_eq!(clustered(&mut of.session), first, "a second time, behind a solve");
        first
    })
}

fn options_of_solve() -> leastwise::solve::Options {
    leastwise::solve::Options { max_iterations: Some(3.0), ..options() }
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn engines_in_f64_have_the_codebooks_of_engines_in_f32_over_nccl() {
    let [expected, found] = [Precision::F32, Precision::F64].map(clustered_by_sessions);
    assert_eq!(found, expected);
    // Engines of one process, whose followers have a second device each.
    let outcomes = [Precision::F32, Precision::F64].map(|precision| {
        let mut of = over_two_gpus(precision);
        let options = Options { method: Some(Method::Lloyd), tolerance: Some(1e-7), ..Options::new(DIM as u32, 24) };
        let task = of.session.cluster_by_ranks(points(3000), None, &options, "l2").unwrap();
        let Progress::Clustering(outcome) = finish(&mut of.session, task, |_| {}) else { panic!("no clusters") };
        let begun = Instant::now();
        drop(of);
        assert!(begun.elapsed() < DEADLINE, "both communicators end");
        (outcome.centroids, outcome.labels, outcome.energy)
    });
    assert_eq!(outcomes[0], outcomes[1]);
    let centroids: Vec<u32> = outcomes[0].0.iter().map(|value| value.to_bits()).collect();
    assert_eq!(centroids, expected[0].0, "the parts are the same");
}

/// The values that one rank has written go on by another number of ranks, or alone.
#[test]
fn values_of_ranks_on_a_gpu_go_on_by_others() {
    let few = leastwise::solve::Options { max_iterations: Some(3.0), ..options() };
    let begun = on_all(Over::Host, 3, Precision::F64, |device, ranks| {
        let mut problem = RankedProblem::new(device, ranks).unwrap();
        let made = bundle(&mut problem);
        let report = problem.solve(&few).unwrap().report;
        (report.cost, made.tables.iter().map(|table| problem.read(*table).unwrap()).collect::<Vec<_>>())
    });
    let (cost, values) = &begun[0];
    let mut alone = Alone { session: crate::session(Precision::F64), problem: 0 };
    alone.problem = alone.session.problem();
    let made = bundle(&mut alone);
    for (table, values) in made.tables.iter().zip(values) {
        alone.session.write_table(alone.problem, *table, Reals::F64(values), None).unwrap();
    }
    let report = solve(&mut alone.session, alone.problem, &options());
    assert!((report.initial_cost - cost).abs() < 1e-9 * cost, "{} and {cost}", report.initial_cost);
}

/// One session over two GPUs, whose threads look for each other at the same time.
fn over_two_gpus(precision: Precision) -> Alone {
    let id = WorldId::new().unwrap_or_else(|error| panic!("{error}"));
    let joined = std::thread::scope(|scope| {
        let join = |rank: u32| {
            scope.spawn(move || {
                let device = CudaDevice::open(rank, precision).unwrap_or_else(|error| panic!("{error}"));
                let communicator = device.over_nccl(&id, rank, 2, DEADLINE).unwrap_or_else(|error| panic!("{error}"));
                (Device::Cuda(Box::new(device)), communicator)
            })
        };
        [0, 1].map(join).map(|thread| thread.join().unwrap())
    });
    let (devices, communicators) = joined.into_iter().unzip();
    let mut session = Session::over_devices(devices, communicators).unwrap();
    let problem = session.problem();
    Alone { session, problem }
}

#[test]
#[ignore = "needs two GPUs and NCCL"]
fn a_session_over_two_gpus_has_the_bits_of_two_ranks_over_nccl() {
    for precision in [Precision::F64, Precision::F32] {
        let expected = by_ranks(Over::Nccl, (mesh, "pcg"), precision, 2).remove(0);
        let mut of = over_two_gpus(precision);
        let made = mesh(&mut of);
        // One that is given up in its midst, from the values of the start.
        let solver = of.session.solver(of.problem, &options()).unwrap();
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        assert!(matches!(of.session.resume(task, 8.0).unwrap(), Progress::Iteration(_)));
        of.session.cancel(task);
        of.session.free_problem(of.problem);
        assert_eq!(of.session.counters().bytes_live, 0, "memory is left");
        of.problem = of.session.problem();
        assert_eq!(mesh(&mut of).tables, made.tables);
        let report = solve(&mut of.session, of.problem, &options());
        assert_eq!(report.cost.to_bits(), expected.0.report.cost.to_bits());
        let values = read(&mut of.session, of.problem, made.tables[0]);
        assert_eq!(bits(&values), bits(&expected.1[0]));
        // All threads end in the midst of a solve.
        let begun = Instant::now();
        let solver = of.session.solver(of.problem, &options()).unwrap();
        let task = of.session.solve(solver, SolveMode::Solve).unwrap();
        assert!(of.session.resume(task, 8.0).is_ok());
        drop(of);
        assert!(begun.elapsed() < DEADLINE, "nobody waited for the deadline");
    }
}
