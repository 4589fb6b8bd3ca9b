//! Codes of residuals: what is stored of a vector beside the number of its anchor.
//!
//! | code | a vector's row | model |
//! |---|---|---|
//! | `none` | nothing: a vector is its anchor | – |
//! | `int8`, `int4` | a byte, half a byte a coordinate | range of every coordinate ([`scalar`]) |
//! | `f32`, `f16` | four or two bytes a coordinate: the numbers themselves ([`whole`]) | – |
//! | `bits` | any number of bytes: trellis-coded principal axes, and a scale | rotation, bits and spread by coordinate ([`transform`]) |

mod allocation;
pub(crate) mod columns;
mod eigen;
mod fields;
mod normal;
mod overload;
pub(crate) mod packed;
mod reach;
pub mod rotation;
pub mod scalar;
pub mod transform;
pub mod trellis;
pub mod whole;
pub(crate) mod words;

pub use allocation::MOST_BITS;
pub use fields::{Fields, Form};
pub use reach::Reach;

use half::f16;
use scalar::Scalar;
use transform::{Scratch, Transform};
use whole::{Precision, Whole};

/// Bytes after a row that is to be decoded: what is read at once may reach beyond it.
pub const PADDING: usize = 4;

/// Which code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Code {
    /// No code: a vector is its anchor.
    None,
    /// One byte a coordinate.
    Int8,
    /// Half a byte a coordinate.
    Int4,
    /// Trellis-coded principal axes and a scale: any number of bits a vector.
    #[default]
    Bits,
    /// Numbers in single precision.
    F32,
    /// Numbers in half precision.
    F16,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 6] = [Self::None, Self::Int8, Self::Int4, Self::Bits, Self::F32, Self::F16];

    /// Name of the code in options, reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Bits => "bits",
            Self::F32 => "f32",
            Self::F16 => "f16",
        }
    }

    /// Number of the code in files. 3 was product quantisation, which found less than `bits` in as many bytes.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Int8 => 1,
            Self::Int4 => 2,
            Self::Bits => 4,
            Self::F32 => 5,
            Self::F16 => 6,
        }
    }

    /// True for codes whose rows are the numbers themselves.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::F32 | Self::F16)
    }

    /// The code of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }
}

/// A code with its model.
pub enum Coder {
    /// No model: a vector is its anchor.
    None,
    /// Model of `int8` and `int4`.
    Scalar(Scalar),
    /// Model of `bits`.
    Transform(Box<Transform>),
    /// No model: numbers as they are.
    Whole(Whole),
}

impl Coder {
    /// Bytes of memory that the model takes, but for a few numbers a coordinate.
    pub fn memory(&self) -> usize {
        match self {
            Self::None | Self::Whole(_) => 0,
            Self::Scalar(scalar) => 4 * (scalar.low.capacity() + scalar.step.capacity()),
            Self::Transform(transform) => transform.memory(),
        }
    }

    /// The code that the model belongs to.
    pub fn code(&self) -> Code {
        match self {
            Self::None => Code::None,
            Self::Scalar(scalar) if scalar.bits == 8 => Code::Int8,
            Self::Scalar(_) => Code::Int4,
            Self::Transform(_) => Code::Bits,
            Self::Whole(Whole { precision: Precision::Single, .. }) => Code::F32,
            Self::Whole(Whole { precision: Precision::Half, .. }) => Code::F16,
        }
    }

    /// Bytes of a vector's row, without padding.
    pub(crate) fn row_bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Scalar(scalar) => scalar.row_bytes(),
            Self::Transform(transform) => transform.row_bytes(),
            Self::Whole(whole) => whole.row_bytes(),
        }
    }

    /// Into the coordinates that rows are coded in; lengths stay.
    #[inline(always)]
    pub fn turn(&self, vector: &[f32], out: &mut [f32]) {
        match self {
            Self::Transform(transform) => transform.rotation.turn(vector, out),
            _ => out.copy_from_slice(vector),
        }
    }

    /// Inverse of [`turn`](Self::turn).
    pub(crate) fn turn_back(&self, vector: &[f32], out: &mut [f32]) {
        match self {
            Self::Transform(transform) => transform.rotation.turn_back(vector, out),
            _ => out.copy_from_slice(vector),
        }
    }

    /// The blocks of the matrix that turns, by columns; none where nothing turns.
    pub fn rotation_blocks(&self) -> impl Iterator<Item = (std::ops::Range<usize>, &[f32])> {
        let rotation = if let Self::Transform(transform) = self { Some(&transform.rotation) } else { None };
        rotation.into_iter().flat_map(|rotation| rotation.blocks())
    }

    /// Codes a residual that was turned. False when it is too long for this model.
    #[inline(always)]
    pub fn encode(&self, turned: &[f32], row: &mut [u8], scratch: &mut Scratch) -> bool {
        match self {
            Self::None => {}
            Self::Scalar(scalar) => scalar.encode(turned, row),
            Self::Transform(transform) => return transform.encode(turned, row, scratch),
            Self::Whole(whole) => whole.encode(turned, row),
        }
        true
    }

    /// What residuals can be coded of vectors that come later; nothing where [`encode`](Self::encode) can tell.
    pub fn reach(&self, dim: usize) -> Option<Reach> {
        match self {
            Self::None => Some(Reach::cube(dim, f16::MAX.to_f32())),
            Self::Scalar(scalar) => Some(scalar.reach()),
            Self::Transform(_) => None,
            Self::Whole(whole) => Some(whole.reach()),
        }
    }

    /// Of rows that are each followed by [`PADDING`] bytes, what products with the residuals are taken of: the residuals as far as they are
    /// known, times 1/[`shrink`](Self::shrink). By coordinates: as many values as rows, then those of the next coordinate.
    #[inline(always)]
    pub fn decode(&self, rows: &[u8], columns: &mut [f32]) {
        match self {
            Self::None => columns.fill(0.0),
            Self::Scalar(scalar) => scalar.decode(rows, columns),
            Self::Transform(transform) => transform.decode(rows, columns),
            Self::Whole(whole) => whole.decode(rows, columns),
        }
    }

    /// True if residuals are as they were: then distances are sums of squared differences, which lose no digits where vectors are near.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// κ: of what is decoded to r′, the residual's squared length is κ·‖r′‖², and the nearest vector is κ·r′.
    pub fn shrink(&self) -> f32 {
        match self {
            Self::Transform(transform) => transform.shrink,
            _ => 1.0,
        }
    }
}
