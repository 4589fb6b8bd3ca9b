//! Products JᵀWJ·p + λDp in every schedule, against dense matrices and against each other, on every backend; sizes are
//! ragged, and limits small.

mod merged;
mod model;
mod twice;

use crate::support::*;
use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Device, Precision};
use leastwise::problem::{Loss, Schedule, Tuning};
use leastwise::session::SolveMode;
use leastwise::solve::Options;
use model::*;

#[test]
fn every_schedule_is_the_dense_product() {
    let seed = fresh_seed();
    println!("LEASTWISE_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    for (count, longest) in [(2, 3), (77, 60), (1200, 20)] {
        let mut model = Model::new(count, &mut random);
        for kind in [Kinds::Springs, Kinds::Rigid, Kinds::Scaled] {
            model.term(kind, longest, &mut random);
        }
        model.terms.retain(|given| !given.indices[0].is_empty());
        agree(&model, &mut random, |schedule| Some(vec![schedule; model.terms.len()]));
    }
}

/// Their weights depend on r, whose square the corrected product has in it, too. The products in two passes are held to
/// dense matrices where losses are tested.
#[test]
fn losses_weigh_the_rows_of_every_schedule() {
    let mut random = Random::new(fresh_seed());
    for loss in [Loss::cauchy(0.3), Loss::tukey(1.5)] {
        let mut model = Model::new(300, &mut random);
        for kind in [Kinds::Springs, Kinds::Rigid, Kinds::Scaled] {
            model.term(kind, 12, &mut random);
        }
        let p = model.direction(&mut random);
        let mut exact = Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits()));
        let plain = model.dense(&p).product;
        model.loss = Some(loss.unwrap());
        let weighed = model.product(&mut exact, always(Schedule::TwoPass), &p).product;
        assert!(error(&weighed, &plain, f64::from(f32::EPSILON)) > 100.0, "the loss weighs nothing");
        // Weights are at most 1.
        let reference = with_values(&plain, &weighed);
        on_every_device(|name, device| {
            for schedule in Schedule::ALL {
                let found = model.product(device, always(schedule), &p);
                // ρ′ changes by 1/c times what r does, and its square root twice as much.
                let error = error(&found.product, &reference, 8.0 * epsilon(device));
                println!("{name}, {}: {error:.1e} of what roundings can come to", schedule.name());
                assert!(error < 1.0, "{name}, {}: an error of {error:e} bounds", schedule.name());
                assert_eq!(found.schedules, [schedule; 3], "{name}");
            }
        });
    }
}

#[test]
fn instances_that_no_column_owns_are_multiplied_in_two_passes() {
    let mut random = Random::new(fresh_seed());
    let mut model = Model::new(300, &mut random);
    for kind in [Kinds::Springs, Kinds::Rigid] {
        model.term(kind, 6, &mut random);
    }
    model.shuffled(&mut random);
    agree(&model, &mut random, |schedule| {
        let recompute = schedule == Schedule::Recompute;
        Some(vec![if recompute { schedule } else { Schedule::TwoPass }; 2])
    });
}

#[test]
fn rows_longer_than_a_workgroup_are_multiplied_in_two_passes() {
    let mut random = Random::new(fresh_seed());
    let mut model = Model::new(40, &mut random);
    model.term(Kinds::Rigid, 6, &mut random);
    // One variable in every instance, as all are joined to it.
    let hub = 700;
    model.terms[0].indices = vec![vec![0; hub], (0..hub as u32).map(|i| 1 + i % 39).collect()];
    agree(&model, &mut random, |schedule| Some(vec![if schedule == Schedule::Recompute { schedule } else { Schedule::TwoPass }]));
}

#[test]
fn a_table_for_other_kernels_changes_nothing() {
    let mut random = Random::new(fresh_seed());
    let mut model = Model::new(50, &mut random);
    model.term(Kinds::Rigid, 6, &mut random);
    let p = model.direction(&mut random);
    let mut device = Device::Cpu(CpuDevice::new(Precision::F64, CpuDevice::default_limits()));
    let other = Tuning { products: [("0000000000000000/5".to_string(), Schedule::Recompute)].into(), ..Tuning::default() };
    let chosen = model.product(&mut device, Tuning::default(), &p);
    assert_eq!(chosen.schedules, [Schedule::OwnerComputes], "on a CPU, J is read once and not computed anew");
    let again = model.product(&mut device, other, &p);
    assert_eq!((again.product, again.schedules), (chosen.product, chosen.schedules));
}

#[test]
fn threads_change_no_bit_of_a_solve() {
    let mesh = Mesh::icosphere(5).normalized();
    let costs = |threads: usize, schedule: Schedule| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            let mut session = cpu(Precision::F64);
            session.set_tuning(always(schedule)).unwrap();
            let (problem, table) = arap(&mut session, &mesh);
            let options =
                Options { linear: Some("pcg".into()), forcing: Some(1e-6), max_inner_iterations: Some(20.0), ..Options::default() };
            let solver = session.solver(problem, &options).unwrap();
            for _ in 0..2 {
                let task = session.solve(solver, SolveMode::Step).unwrap();
                let mut inner = 0;
                finish(&mut session, task, |iteration| inner = iteration.inner_iterations);
                assert_eq!(inner, 20, "products");
            }
            read(&mut session, problem, table).into_iter().map(f64::to_bits).collect::<Vec<_>>()
        })
    };
    for schedule in [Schedule::TwoPass, Schedule::OwnerComputes] {
        let alone = costs(1, schedule);
        for threads in [2, 3] {
            assert!(alone == costs(threads, schedule), "{}: {threads} threads differ from one", schedule.name());
        }
    }
}
