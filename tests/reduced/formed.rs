//! `linear: "schur"` on a GPU: the Schur complement is formed there, and its factor made on the host.

use super::scene::*;
use crate::support::*;
use leastwise::device::Precision;
use leastwise::problem::Loss;
use leastwise::solve::{Options, Report};

fn near(linear: &str) -> Options {
    Options { cost_tolerance: Some(1e-7), ..options(linear) }
}

/// Rejected steps but the last one, which nothing follows.
fn rejected(report: &Report) -> u64 {
    report.iterations.iter().rev().skip(1).filter(|step| !step.accepted).count() as u64
}

#[test]
fn bundles_come_to_the_costs_of_the_host() {
    let mut session = shared_gpu(None);
    for (what, scene) in scenes() {
        for how in 0..3 {
            if how == 2 && scene.is_corridor {
                continue;
            }
            let right = solved(&mut cpu(Precision::F64), &scene, how, &options("schur"));
            assert!(right.linear_reason.ends_with("it was asked for"), "{}", right.linear_reason);
            let report = solved(&mut session, &scene, how, &near("schur"));
            assert_eq!((report.linear, &report.linear_reason[..]), ("schur", "it was asked for, S is formed on the device"));
            agree(&[("host", right.cost), ("device", report.cost)], 1e-4, &format!("{what}, {how}"));
            // What comes back is S alone, for every λ.
            assert_eq!(report.counters.matrix_readbacks, report.iterations.len() as u64, "{what}, {how}");
            assert_eq!(report.counters.readbacks, report.iterations.len() as u64 + 1, "{what}, {how}");
        }
    }
}

#[test]
fn what_comes_back_does_not_grow_with_the_points() {
    let mut session = shared_gpu(None);
    let mut bytes = |points: usize| {
        let report = solved(&mut session, &Scene { points, has_priors: true, ..Scene::default() }, 0, &near("schur"));
        report.counters.matrix_bytes_read_back / report.counters.matrix_readbacks
    };
    assert_eq!(bytes(60), bytes(600));
}

#[test]
fn every_method_takes_its_steps_of_it() {
    let scene = Scene { has_priors: true, loss: Some(Loss::huber(0.01).unwrap()), ..Scene::default() };
    let right = solved(&mut cpu(Precision::F64), &scene, 1, &options("schur")).cost;
    for (method, dogleg) in [("lm", None), ("dogleg", Some("traditional")), ("dogleg", Some("subspace")), ("gauss-newton", None)] {
        let wanted = Options { method: Some(method.into()), dogleg: dogleg.map(String::from), ..near("schur") };
        let report = solved(&mut shared_gpu(None), &scene, 1, &wanted);
        agree(&[("schur", right), (method, report.cost)], 1e-4, "a method");
    }
}

#[test]
fn the_same_bits_come_again() {
    let bits = || {
        let report = solved(&mut shared_gpu(None), &Scene { shares_focal: true, ..Scene::default() }, 0, &near("schur"));
        report.iterations.iter().map(|step| step.cost.to_bits()).collect::<Vec<u64>>()
    };
    assert_eq!(bits(), bits());
}

/// From far away steps are rejected: then λ grows, and S is formed anew.
#[test]
fn rejected_steps_have_it_formed_for_the_next_damping() {
    let (scene, mut rejections) = (Scene { cameras: 4, points: 40, ..Scene::default() }, 0);
    for far in [0.6, 1.0, 1.5, 2.2] {
        let mut session = shared_gpu(None);
        let bundle = scene.add(&mut session, 3);
        let mut values = read(&mut session, bundle.problem, bundle.camera);
        (0..).zip(&mut values).for_each(|(k, value)| *value += far * f64::from((7 * k) % 5 - 2));
        session.write_table(bundle.problem, bundle.camera, leastwise::problem::Reals::F64(&values), None).unwrap();
        let report = solve(&mut session, bundle.problem, &Options { max_iterations: Some(25.0), ..near("schur") });
        rejections += rejected(&report);
        // Where it has no factor λ is raised, and it is formed once more within the step.
        assert!(report.counters.matrix_readbacks >= report.iterations.len() as u64, "{far}");
        assert!(report.cost < report.initial_cost, "{far}: {} of {}", report.cost, report.initial_cost);
    }
    assert!(rejections > 0, "no step was rejected");
}
