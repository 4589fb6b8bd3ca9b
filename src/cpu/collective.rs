//! Exchanges with other ranks.
//!
//! A message has numbers of the device's own precision. Each rank adds up all of them, in the order of ranks and in f64, and rounds
//! once. A pair of a sum and its low part is added as one number, exactly where that is possible (Knuth's two-sum).

use super::{CpuDevice, DeviceError, Storage};
use leastwise_collective::{Call, Communicator, Kind, numbers};
use leastwise_recording::{ABSENT, Collective, Exchange, Fold, Precision};
use std::sync::Arc;

impl CpuDevice {
    /// Makes it one of several ranks: recordings may exchange numbers with the others. Without a communicator it is alone again.
    /// Gives the communicator that it had.
    pub fn join(&mut self, communicator: Option<Arc<dyn Communicator>>) -> Option<Arc<dyn Communicator>> {
        std::mem::replace(&mut self.communicator, communicator)
    }

    /// Gives this rank's part of an exchange, and takes what all ranks gave.
    pub(super) fn exchange(&mut self, collective: &Collective) -> Result<(), DeviceError> {
        let communicator = self.communicator.clone().ok_or_else(super::play::unplayable)?;
        let is_single = self.precision == Precision::F32;
        let mut own = Vec::with_capacity(collective.parts.iter().map(Exchange::len).sum());
        collective.parts.iter().try_for_each(|part| self.give(part, &mut own))?;
        let bytes = if is_single {
            own.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect()
        } else {
            bytemuck::cast_slice(&own).to_vec()
        };
        let call = Call { kind: Kind::Reduce, label: collective.label, bytes: Some(bytes.len()) };
        let all = communicator.exchange(call, bytes)?;
        let ranks: Vec<Vec<f64>> = match is_single {
            true => all.iter().map(|bytes| numbers::<f32>(bytes).into_iter().map(f64::from).collect()).collect(),
            false => all.iter().map(|bytes| numbers(bytes)).collect(),
        };
        let mut first = 0;
        for part in &collective.parts {
            self.take(part, &ranks, first)?;
            first += part.len();
        }
        Ok(())
    }

    fn give(&self, part: &Exchange, to: &mut Vec<f64>) -> Result<(), DeviceError> {
        let storage = self.buffer(part.buffer())?.storage.borrow();
        let at = |place: u32| match &*storage {
            Storage::F32(values) => f64::from(values[place as usize]),
            Storage::F64(values) => values[place as usize],
            Storage::Index(_) => 0.0,
        };
        match part {
            Exchange::Elements { places, .. } => to.extend(places.iter().map(|&place| if place == ABSENT { 0.0 } else { at(place) })),
            Exchange::Partials { first, distance, folds, count, each, .. } => {
                for kind in 0..folds.iter().map(|fold| fold.kinds()).sum() {
                    let own = first + kind * distance;
                    to.extend((0..*each).map(|place| if place < *count { at(own + place) } else { 0.0 }));
                }
            }
        }
        Ok(())
    }

    fn take(&self, part: &Exchange, ranks: &[Vec<f64>], message: usize) -> Result<(), DeviceError> {
        let mut storage = self.buffer(part.buffer())?.storage.borrow_mut();
        let is_single = matches!(*storage, Storage::F32(_));
        let mut put = |place: u32, value: f64| match &mut *storage {
            Storage::F32(values) => values[place as usize] = value as f32,
            Storage::F64(values) => values[place as usize] = value,
            Storage::Index(_) => {}
        };
        let of_ranks = |element: usize| ranks.iter().map(move |values| values[message + element]);
        match part {
            Exchange::Elements { places, .. } => {
                for (element, &place) in places.iter().enumerate().filter(|(_, place)| **place != ABSENT) {
                    put(place, sum(of_ranks(element)));
                }
            }
            Exchange::Partials { first, distance, folds, each, .. } => {
                let mut kind = 0;
                for fold in *folds {
                    for place in 0..*each {
                        let (element, to) = ((kind * each + place) as usize, first + kind * distance + place);
                        match fold {
                            Fold::Sum => put(to, sum(of_ranks(element))),
                            Fold::Largest => put(to, of_ranks(element).fold(0.0, |most, value| if value > most { value } else { most })),
                            Fold::Exact => {
                                let lows = of_ranks(element + *each as usize);
                                let (high, low) = exact(of_ranks(element).zip(lows));
                                // The rest, which f32 does not have, belongs to the low part.
                                let rest = if is_single && high.is_finite() { high - f64::from(high as f32) } else { 0.0 };
                                put(to, high);
                                put(to + distance, low + rest);
                            }
                        }
                    }
                    kind += fold.kinds();
                }
            }
        }
        Ok(())
    }
}

/// A sum in the order of ranks; −0 of all of them stays −0.
fn sum(mut values: impl Iterator<Item = f64>) -> f64 {
    let first = values.next().unwrap_or(0.0);
    values.fold(first, |sum, value| sum + value)
}

/// A sum of pairs, and what rounding took from it.
fn exact(pairs: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    pairs.fold((0.0, 0.0), |(high, low), (value, rest)| {
        let sum = high + value;
        let part = sum - high;
        (sum, low + rest + ((high - (sum - part)) + (value - part)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_collective::{DEADLINE, threads};
    use leastwise_recording::validation::validate;
    use leastwise_recording::{Command, Kind as Held, Limits, Playing, Recording, Slice};

    /// Values that a recording of an exchange brings back on each of two ranks.
    fn run(
        precision: Precision,
        values: [Vec<f64>; 2],
        part: impl Fn(usize, leastwise_recording::BufferId) -> Exchange + Sync,
    ) -> Vec<Vec<f64>> {
        let part = &part;
        let ranks = threads(2, DEADLINE).into_iter().zip(values);
        std::thread::scope(|scope| {
            let play = |(ranks, values): (Arc<dyn Communicator>, Vec<f64>)| {
                let mut device = CpuDevice::new(precision, Limits::SMALL);
                let len = values.len() as u32;
                let buffer = device.allocate(Held::Real, len, "values").unwrap();
                let parts = vec![part(ranks.rank() as usize, buffer)];
                let recording = Recording {
                    commands: vec![
                        Command::UploadReals { buffer, offset: 0, data: values },
                        Command::Collective(Arc::new(Collective { label: "test", parts })),
                        Command::Read { slice: Slice { buffer, offset: 0, len } },
                    ],
                };
                let refused = validate(&recording, &device).unwrap_err().to_string();
                assert!(refused.contains("\"test\", an exchange with other ranks"), "{refused}");
                device.join(Some(ranks));
                validate(&recording, &device).unwrap();
                match device.resume(&mut crate::Play::new(recording), f64::INFINITY).unwrap() {
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
}
