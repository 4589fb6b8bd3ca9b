//! A code as tables, for decoders that know no code by name: the bits of a row that tell a coordinate, and what they stand for.

use super::Coder;
use super::whole::{Precision, Whole};

/// Coordinate k of what a row decodes to is `lows[k] + spreads[k]·levels[first + b]`, b the bits of the row (from the lowest of its first
/// byte on) that `places[k]` says; all of them times a scale of half precision that the row begins with, where it is scaled.
pub struct Fields {
    /// By coordinate: the first bit, the mask of its bits, and the first of its levels.
    pub places: Vec<[u32; 3]>,
    /// Factor of each coordinate's level.
    pub spreads: Vec<f32>,
    /// Offset of each coordinate.
    pub lows: Vec<f32>,
    /// Levels of all fields, one table after the other.
    pub levels: Vec<f32>,
    /// Form of a row.
    pub form: Form,
}

/// Form of a row, by its number in `shaders/search/decode.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Form {
    /// Levels alone.
    Levels = 0,
    /// Levels after a scale (f16, two bytes) by which all coordinates are multiplied.
    Scaled = 1,
    /// Coordinates in single precision; tables say nothing.
    Singles = 2,
    /// Coordinates in half precision, likewise.
    Halves = 3,
}

impl Fields {
    /// Tables by which all coordinates are 0.
    fn nothing(dim: usize, form: Form) -> Self {
        Self { places: vec![[0; 3]; dim], spreads: vec![0.0; dim], lows: vec![0.0; dim], levels: vec![0.0], form }
    }
}

impl Coder {
    /// Tables that decode rows of this code; `dim` is the number of coordinates.
    pub fn fields(&self, dim: usize) -> Fields {
        match self {
            Self::None => Fields::nothing(dim, Form::Levels),
            Self::Whole(Whole { precision: Precision::Single, .. }) => Fields::nothing(dim, Form::Singles),
            Self::Whole(Whole { precision: Precision::Half, .. }) => Fields::nothing(dim, Form::Halves),
            Self::Scalar(scalar) => scalar.fields(),
            Self::Transform(transform) => transform.fields(),
        }
    }
}
