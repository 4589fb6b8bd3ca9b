//! Reals that a caller gives.

use leastwise_base::parallel;
use std::borrow::Cow;

/// Reals given by a caller in either precision.
#[derive(Clone, Copy)]
pub enum Reals<'a> {
    /// Values in f32.
    F32(&'a [f32]),
    /// Values in f64.
    F64(&'a [f64]),
}

impl<'a> Reals<'a> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values, copied only where they are in f32, or the position of the first that is not finite where numbers go to `largest`: beyond, it would be infinite
    /// on the device.
    pub fn finite(&self, largest: f64) -> Result<Cow<'a, [f64]>, (usize, f64)> {
        let values = match *self {
            Self::F32(values) => Cow::Owned(values.iter().map(|value| f64::from(*value)).collect()),
            Self::F64(values) => Cow::Borrowed(values),
        };
        match parallel::position(&values, |value| !value.is_finite() || value.abs() > largest) {
            Some(position) => Err((position, values[position])),
            None => Ok(values),
        }
    }
}

/// Values of the engine's own; threads share the copy of many.
pub(super) fn owned(values: Cow<[f64]>) -> Vec<f64> {
    match values {
        Cow::Borrowed(values) => parallel::copy(values),
        Cow::Owned(values) => values,
    }
}
