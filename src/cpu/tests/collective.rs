//! Exchanges between ranks that are threads.

use leastwise_collective::{Communicator, DEADLINE, threads};
use leastwise_cpu::{CpuDevice, Play};
use leastwise_recording::validation::validate;
use leastwise_recording::{ABSENT, BufferId, Collective, Command, Exchange, Fold, Kind, Limits, Playing, Precision, Recording, Slice};
use std::sync::Arc;

/// Values that a recording of an exchange brings back on each of two ranks.
fn run(precision: Precision, values: [Vec<f64>; 2], part: impl Fn(usize, BufferId) -> Exchange + Sync) -> Vec<Vec<f64>> {
    let part = &part;
    let ranks = threads(2, DEADLINE).into_iter().zip(values);
    std::thread::scope(|scope| {
        let play = |(ranks, values): (Arc<dyn Communicator>, Vec<f64>)| {
            let mut device = CpuDevice::new(precision, Limits::SMALL);
            let len = values.len() as u32;
            let buffer = device.allocate(Kind::Real, len, "values").unwrap();
            let parts = vec![part(ranks.rank() as usize, buffer)];
            let recording = Recording {
                commands: vec![
                    Command::UploadReals { buffer, offset: 0, data: values },
                    Command::Collective(Arc::new(Collective::new("test", parts))),
                    Command::Read { slice: Slice { buffer, offset: 0, len } },
                ],
            };
            let refused = validate(&recording, &device).unwrap_err().to_string();
            assert!(refused.contains("\"test\", an exchange with other ranks"), "{refused}");
            device.join(Some(ranks));
            validate(&recording, &device).unwrap();
            match device.resume(&mut Play::new(recording), f64::INFINITY).unwrap() {
                Playing::Finished(values) => values,
                _ => panic!("a CPU without a deadline plays to the end"),
            }
        };
        let started: Vec<_> = ranks.map(|rank| scope.spawn(move || play(rank))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn shared_elements_are_summed_where_they_are() {
    let places = [vec![2, ABSENT, 0], vec![ABSENT, 1, 2]];
    let found = run(Precision::F64, [vec![1.0, 2.0, 3.0], vec![10.0, 20.0, 30.0]], |rank, buffer| Exchange::Elements {
        buffer,
        places: Arc::new(places[rank].clone()),
    });
    // The first shared element is here alone, the second there alone, the third on both.
    assert_eq!(found, [[31.0, 2.0, 3.0], [10.0, 20.0, 31.0]]);
}

#[test]
fn partial_sums_are_folded_kind_by_kind() {
    const FOLDS: &[Fold] = &[Fold::Sum, Fold::Largest, Fold::Exact];
    for (precision, tiny) in [(Precision::F64, 1e-17), (Precision::F32, 1e-9)] {
        // Four kinds of two places; rank 1 has only one of each, and what lies behind it is not given.
        let values = [vec![1.0, 2.0, 5.0, 6.0, 1.0, 0.0, 0.0, 0.0], vec![10.0, 99.0, 4.0, 99.0, tiny, 99.0, 0.0, 99.0]];
        let found = run(precision, values, |rank, buffer| Exchange::Partials {
            buffer,
            first: 0,
            distance: 2,
            folds: FOLDS,
            count: 2 - rank as u32,
            each: 2,
        });
        let low = if precision == Precision::F32 { f64::from(tiny as f32) } else { tiny };
        let expected = [11.0, 2.0, 5.0, 6.0, 1.0, 0.0, low, 0.0];
        let error = (found[0][6] - low).abs();
        assert!(error < 1e-6 * tiny, "{error}");
        assert_eq!(found[0][..6], expected[..6]);
        assert_eq!(found[0], found[1], "both ranks have the same");
    }
}
