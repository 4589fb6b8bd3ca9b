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
