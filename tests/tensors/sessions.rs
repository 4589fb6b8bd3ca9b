//! Tensors as a session has them: tasks that interleave, worlds of f32 and f64, and routes that are measured.

use leastwise::device::cpu::CpuDevice;
use leastwise::device::{Limits, Precision};
use leastwise::problem::Reals;
use leastwise::session::{Progress, Session, TensorSettings};

use super::support::gpu;

fn cpu(precision: Precision) -> Session {
    Session::new(leastwise::device::Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits())))
}

/// A slice of a task.
fn slice(session: &mut Session, task: u32) -> Option<Vec<f64>> {
    match session.resume(task, 0.0).expect("a task that goes on") {
        Progress::Yielded => None,
        Progress::Waiting(signal) => {
            session.device_mut().block_on(&signal).expect("a GPU");
            None
        }
        Progress::Values(values) => Some(values),
        _ => panic!("a task of tensors"),
    }
}

#[test]
fn evaluations_follow_one_another() {
    for (name, mut session) in [("cpu", cpu(Precision::F32)), ("webgpu", gpu(None))] {
        let values: Vec<f32> = (0..4096).map(|i| (i % 17) as f32 / 17.0).collect();
        let x = session.tensor(Reals::F32(&values), &[64, 64], false).unwrap()[0];
        let (mut tasks, mut made) = (Vec::new(), vec![x]);
        for k in 0..4 {
            let mut y = x;
            for _ in 0..=k {
                y = session.tensor_operation("matmul", &[y, x], &[], false).unwrap()[0];
                made.push(y);
            }
            tasks.push(session.evaluate_tensors(&[], &[y]).unwrap());
        }
        // Whoever was asked last is gone on with first, and handles go meanwhile.
        session.release_tensors(&made);
        let mut found: Vec<Option<Vec<f64>>> = vec![None; 4];
        while found.iter().any(Option::is_none) {
            for k in (0..4).rev().filter(|&k| found[k].is_none()).collect::<Vec<_>>() {
                found[k] = slice(&mut session, tasks[k]);
            }
        }
        let product = |a: &[f64]| -> Vec<f64> {
            (0..4096).map(|i| (0..64).map(|k| a[i / 64 * 64 + k] * f64::from(values[k * 64 + i % 64])).sum()).collect()
        };
        let mut right: Vec<f64> = values.iter().map(|&value| value.into()).collect();
        for (k, found) in found.into_iter().flatten().enumerate() {
            right = product(&right);
            super::compare(&format!("{name}: product {k}"), &found, &right, 1e-5);
        }
        session.trim_tensors().unwrap();
        assert_eq!(session.tensor_statistics().pool.live, 0, "{name}");
    }
}

#[test]
fn precisions_do_not_mix_and_f64_is_exact() {
    let mut session = cpu(Precision::F32);
    let third = session.tensor(Reals::F64(&[1.0 / 3.0]), &[1], true).unwrap()[0];
    let single = session.tensor(Reals::F64(&[1.0 / 3.0]), &[1], false).unwrap()[0];
    let message = session.tensor_operation("add", &[third, single], &[], false).unwrap_err().to_string();
    assert!(message.contains("f32 and of f64 do not mix"), "{message}");
    let sum = session.tensor_operation("add", &[third, third], &[], true).unwrap()[0];
    let task = session.evaluate_tensors(&[], &[sum]).unwrap();
    let values = loop {
        if let Some(values) = slice(&mut session, task) {
            break values;
        }
    };
    assert_eq!(values, [2.0 / 3.0]);
    let refused = gpu(None).tensor(Reals::F64(&[1.0]), &[1], true).unwrap_err();
    assert_eq!((refused.code(), refused.to_string().contains("WebGPU has no f64")), ("invalid-option", true));
    let wrong = session.tensor(Reals::F64(&[1.0]), &[2], true).unwrap_err().to_string();
    assert_eq!(wrong, "tensor has 1 values, but those of shape [2] are needed");
}

#[test]
fn halves_are_of_f32_alone() {
    for (name, mut session) in [("cpu", cpu(Precision::F64)), ("webgpu", gpu(None))] {
        let (given, third) = ([1.0 / 3.0, 1.0 + f64::powi(2.0, -11) + f64::powi(2.0, -40), 1e6], 0.333_251_953_125);
        let kept = session.tensor_halves(Reals::F64(&given), &[3]).unwrap()[0];
        let single = session.tensor(Reals::F64(&given), &[3], false).unwrap()[0];
        let cast = session.tensor_operation("f16", &[single], &[], false).unwrap()[0];
        let again = session.tensor_operation("f16", &[kept], &[], false).unwrap()[0];
        assert_eq!(again, kept, "{name}: a handle of what is there");
        let wide = session.tensor_operation("f32", &[kept], &[], false).unwrap()[0];
        // What no device has yet is rounded as there.
        let own = session.evaluate_tensors(&[], &[single]).unwrap();
        let values = loop {
            if let Some(values) = slice(&mut session, own) {
                break values;
            }
        };
        assert_eq!(values[0], f64::from(1f32 / 3.0), "{name}");
        let task = session.evaluate_tensors(&[wide], &[kept, cast, single]).unwrap();
        let values = loop {
            if let Some(values) = slice(&mut session, task) {
                break values;
            }
        };
        // Rounded once from f64, and by way of f32.
        assert_eq!(values[..3], [third, 1.0 + f64::powi(2.0, -10), f64::INFINITY], "{name}");
        assert_eq!(values[3..6], [third, 1.0, f64::INFINITY], "{name}");
        assert_eq!(values[6], f64::from(1f32 / 3.0), "{name}");
        let halves = |id| session.tensor_view(id).unwrap().map(|(slice, halves)| (slice.len, halves));
        assert_eq!([wide, cast].map(halves), [Some((3, false)), Some((2, true))], "{name}");
        let wrong = session.tensor_halves(Reals::F32(&[1.0]), &[2]).unwrap_err().to_string();
        assert_eq!(wrong, "tensor has 1 values, but those of shape [2] are needed");
        session.release_tensors(&[kept, kept, single, cast, wide]);
        session.trim_tensors().unwrap();
        assert_eq!(session.tensor_statistics().pool.live, 0, "{name}");
    }
    let mut session = cpu(Precision::F64);
    let double = session.tensor(Reals::F64(&[1.0]), &[1], true).unwrap()[0];
    let kept = session.tensor_halves(Reals::F64(&[1.0]), &[1]).unwrap()[0];
    for (name, inputs) in [("f16", vec![double]), ("f32", vec![double]), ("add", vec![kept, double])] {
        let refused = session.tensor_operation(name, &inputs, &[], false).unwrap_err();
        assert_eq!(refused.code(), "shape", "{refused}");
    }
}

#[test]
fn models_are_measured_and_kept() {
    // Transfers are the device's alone.
    for (mut session, graphs) in [(cpu(Precision::F64), 6), (gpu(Some(Limits::WEBGPU)), 11)] {
        let task = session.measure_tensors().unwrap();
        let model = loop {
            if let Some(values) = slice(&mut session, task) {
                break values;
            }
        };
        assert!(model.len() == 10 && model.iter().all(|number| number.is_finite() && *number > 0.0), "{model:?}");
        let runs = session.tensor_statistics().runs;
        assert_eq!((runs.plans_made, runs.plans_reused), (graphs, 2 * graphs), "each graph is planned once");
        let bad = TensorSettings { routing: Some("gpu".into()), ..TensorSettings::default() };
        assert!(session.set_tensors(&bad).unwrap_err().to_string().contains("\"auto\", \"device\" or \"cpu\""));
        session.trim_tensors().unwrap();
        assert_eq!(session.tensor_statistics().pool.live, 0);
    }
}

/// A CPU whose buffers have so few bytes.
fn small(bytes: u64) -> Session {
    let limits = Limits { binding_bytes: bytes, buffer_bytes: bytes, ..CpuDevice::default_limits() };
    Session::new(leastwise::device::Device::Cpu(CpuDevice::new(Precision::F32, limits)))
}

/// Runs a task to its end.
fn run(session: &mut Session, task: u32) -> Result<Vec<f64>, leastwise::Error> {
    loop {
        match session.resume(task, f64::INFINITY)? {
            Progress::Values(values) => return Ok(values),
            Progress::Yielded => {}
            _ => panic!("a task of tensors on the CPU"),
        }
    }
}

#[test]
fn what_fails_while_it_is_recorded_leaves_nothing_behind() {
    let mut session = small(1 << 16);
    let values: Vec<f32> = (0..12_000).map(|i| (i % 7) as f32).collect();
    let x = session.tensor(Reals::F32(&values), &[120, 100], false).unwrap()[0];
    for round in 0..2 {
        let square = session.tensor_operation("square", &[x], &[], false).unwrap()[0];
        let turned = session.tensor_operation("neg", &[x], &[], false).unwrap()[0];
        // Either fits a buffer; both to be read at once do not.
        let both = session.evaluate_tensors(&[], &[square, turned]).unwrap();
        assert!(run(&mut session, both).is_err(), "round {round}");
        for (tensor, right) in [
            (square, values.iter().map(|x| f64::from(x * x)).collect::<Vec<_>>()),
            (turned, values.iter().map(|x| f64::from(-x)).collect()),
        ] {
            let alone = session.evaluate_tensors(&[], &[tensor]).unwrap();
            assert_eq!(run(&mut session, alone).unwrap(), right, "round {round}");
        }
        session.release_tensors(&[square, turned]);
    }
    let own = session.evaluate_tensors(&[], &[x]).unwrap();
    let right: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    assert_eq!(run(&mut session, own).unwrap(), right, "what was given is there");
    session.release_tensors(&[x]);
    session.trim_tensors().unwrap();
    assert_eq!(session.tensor_statistics().pool.live, 0);
}

#[test]
fn what_is_kept_for_later_is_bounded() {
    let mut session = cpu(Precision::F32);
    session.set_tensors(&TensorSettings { pool_bytes: Some(65_536.0), ..TensorSettings::default() }).unwrap();
    let values = vec![1.0f32; 10_000];
    let made: Vec<u32> = (0..8)
        .map(|_| {
            let x = session.tensor(Reals::F32(&values), &[10_000], false).unwrap()[0];
            let task = session.evaluate_tensors(&[x], &[]).unwrap();
            run(&mut session, task).unwrap();
            x
        })
        .collect();
    let squares: Vec<u32> = made.iter().map(|&x| session.tensor_operation("square", &[x], &[], false).unwrap()[0]).collect();
    let task = session.evaluate_tensors(&squares, &[]).unwrap();
    run(&mut session, task).unwrap();
    session.release_tensors(&made);
    session.release_tensors(&squares);
    let pooled = session.tensor_statistics().pool.pooled;
    assert!(pooled > 0 && pooled <= 65_536, "{pooled}");
    session.set_tensors(&TensorSettings { pool_bytes: Some(0.0), ..TensorSettings::default() }).unwrap();
    assert_eq!(session.tensor_statistics().pool.pooled, 0);
}
