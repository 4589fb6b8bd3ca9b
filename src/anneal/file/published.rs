//! The published format: `X.idx`, `X.anchors.bin`, `X.assign.bin`, and two files that may come with them.
//!
//! | file | holds |
//! |---|---|
//! | `.idx` | magic u32 0x564C4341, version u16 1, anchors u32, dimensions u32, vectors u32, flags u8: 1 Jacobians, 2 residuals |
//! | `.anchors.bin` | f16, anchors × dimensions |
//! | `.assign.bin` | u32, the anchor of every vector |
//! | `.jacobians.bin` | f16, anchors × dimensions |
//! | `.residuals.bin` | f16, vectors × any number |

use super::{FileError, malformed};
use crate::index::MOST_CLUSTERS;
use crate::rows::MOST_DIMENSIONS;
use half::f16;

const MAGIC: u32 = 0x564C_4341;
const VERSION: u16 = 1;
const HEADER: usize = 19;
const HAS_JACOBIANS: u8 = 1;
const HAS_RESIDUALS: u8 = 2;

/// The files' bytes.
#[derive(Clone, Copy, Debug)]
pub struct Files<'a> {
    /// `X.idx`: header with the sizes.
    pub idx: &'a [u8],
    /// `X.anchors.bin`: components of the anchors, f16.
    pub anchors: &'a [u8],
    /// `X.assign.bin`: anchor of every vector, u32.
    pub assign: &'a [u8],
    /// `X.jacobians.bin`: Jacobians of the anchors, f16.
    pub jacobians: Option<&'a [u8]>,
    /// `X.residuals.bin`: residuals of the vectors, f16; [`read`] refuses them.
    pub residuals: Option<&'a [u8]>,
}

/// What they say.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Components of a vector.
    pub dim: usize,
    /// Anchors, row-major.
    pub anchors: Vec<f16>,
    /// Anchor of every vector.
    pub labels: Vec<u32>,
    /// There are Jacobians. They say how anchors may be moved, which no search needs: only their size is checked.
    pub jacobians: bool,
}

/// Reads and checks the files. Residuals are refused: what projection they are in is stored nowhere.
pub fn read(files: Files) -> Result<Published, FileError> {
    let Files { idx, anchors, assign, jacobians, residuals } = files;
    if idx.len() < 4 || u32::from_le_bytes([idx[0], idx[1], idx[2], idx[3]]) != MAGIC {
        return Err(malformed("the .idx file doesn't begin with its magic number"));
    }
    if idx.len() < HEADER {
        return Err(FileError::Truncated { what: "the .idx file".into(), needed: HEADER as u64, got: idx.len() as u64 });
    }
    let version = u16::from_le_bytes([idx[4], idx[5]]);
    if version != VERSION {
        return Err(FileError::Version { found: version.into(), expected: VERSION.into() });
    }
    let number = |at: usize| u32::from_le_bytes([idx[at], idx[at + 1], idx[at + 2], idx[at + 3]]);
    let (clusters, dim, count, flags) = (number(6), number(10), number(14), idx[18]);
    if idx.len() > HEADER || flags & !(HAS_JACOBIANS | HAS_RESIDUALS) != 0 {
        return Err(malformed("the .idx file says more than version 1 does"));
    }
    let fits = |number: u32, most: usize| (1..=most).contains(&(number as usize));
    if !fits(clusters, MOST_CLUSTERS) || !fits(dim, MOST_DIMENSIONS) {
        let text = format!("{clusters} anchors of {dim} dimensions, where {MOST_CLUSTERS} and {MOST_DIMENSIONS} are the most");
        return Err(malformed(text));
    }
    if flags & HAS_RESIDUALS != 0 || residuals.is_some() {
        return Err(malformed(
            "it has residuals, whose projection isn't stored: open it without them (flag 2 cleared) to search by anchors alone",
        ));
    }
    let anchor_bytes = u128::from(clusters) * u128::from(dim) * 2;
    exactly("the .anchors.bin file", anchors, anchor_bytes)?;
    exactly("the .assign.bin file", assign, u128::from(count) * 4)?;
    if (flags & HAS_JACOBIANS != 0) != jacobians.is_some() && jacobians.is_some() {
        return Err(malformed("Jacobians that the .idx file doesn't name"));
    }
    if let Some(jacobians) = jacobians {
        exactly("the .jacobians.bin file", jacobians, anchor_bytes)?;
    }
    let anchors: Vec<f16> = anchors.chunks_exact(2).map(|bytes| f16::from_le_bytes([bytes[0], bytes[1]])).collect();
    if let Some(place) = anchors.iter().position(|value| !value.is_finite()) {
        return Err(malformed(format!("anchor {} isn't finite", place / dim as usize)));
    }
    let labels: Vec<u32> = assign.chunks_exact(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])).collect();
    if let Some(vector) = labels.iter().position(|&label| label >= clusters) {
        return Err(malformed(format!("vector {vector} belongs to anchor {}, but there are {clusters}", labels[vector])));
    }
    Ok(Published { dim: dim as usize, anchors, labels, jacobians: flags & HAS_JACOBIANS != 0 })
}

fn exactly(what: &str, bytes: &[u8], needed: u128) -> Result<(), FileError> {
    if (bytes.len() as u128) < needed {
        return Err(FileError::Truncated { what: what.into(), needed: u64::try_from(needed).unwrap_or(u64::MAX), got: bytes.len() as u64 });
    }
    if bytes.len() as u128 > needed {
        return Err(malformed(format!("{what} has {} bytes, not {needed}", bytes.len())));
    }
    Ok(())
}
