//! An index of bits as sections of a [`container`], and back.

use super::{BitIndex, WORD};
use crate::file::BITS;
use crate::index::ids::{self, Ids};
use crate::rows::MOST_DIMENSIONS;
use leastwise_base::FileError;
use leastwise_base::container::{self, Section};
use leastwise_base::memory;
use std::borrow::Cow;

/// dim, count and next id, u32 each.
const SHAPE: u32 = 1;
/// Runs of ids; not there where they are 0, 1, 2….
const IDS: u32 = 2;
/// Packed rows, one after the other, by slot.
const ROWS: u32 = 3;

impl BitIndex {
    /// The whole file.
    #[inline(never)]
    pub fn save(&self) -> Vec<u8> {
        let shape = [self.dim as u32, self.count() as u32, self.next_id].map(u32::to_le_bytes).concat();
        let mut sections = vec![Section { kind: SHAPE, bytes: Cow::Owned(shape) }];
        if !self.ids.is_whole() {
            sections.push(Section { kind: IDS, bytes: Cow::Owned(ids::pack(self.ids.iter())) });
        }
        let rows = if self.row_bytes().is_multiple_of(WORD) {
            Cow::Borrowed(bytemuck::cast_slice(&self.rows[..]))
        } else {
            let mut rows = Vec::with_capacity(self.count() * self.row_bytes());
            (0..self.count()).for_each(|slot| self.pack(slot, &mut rows));
            Cow::Owned(rows)
        };
        sections.push(Section { kind: ROWS, bytes: rows });
        container::write(&BITS, &sections)
    }

    /// An index from the bytes of its file.
    ///
    /// # Errors
    /// [`FileError`] for whatever is not one, whole and unchanged.
    #[inline(never)]
    pub fn open(file: &[u8]) -> Result<Self, FileError> {
        let sections = container::read(&BITS, file)?;
        let section = |kind: u32| sections.iter().find(|section| section.kind == kind).map(|section| &section.bytes[..]);
        let refused = |why: &str| BITS.refuse(why);
        if sections.iter().any(|section| ![SHAPE, IDS, ROWS].contains(&section.kind)) {
            return Err(refused("a section doesn't belong to it"));
        }
        let (shape, rest) = section(SHAPE).unwrap_or_default().as_chunks::<4>();
        let ([dim, count, next_id], true) = (shape, rest.is_empty()) else { return Err(refused("it doesn't say its sizes")) };
        let [dim, count, next_id] = [dim, count, next_id].map(|number| u32::from_le_bytes(*number));
        if !(1..=MOST_DIMENSIONS).contains(&(dim as usize)) || count > next_id {
            return Err(refused("its sizes make no sense"));
        }
        let mut index = Self { dim: dim as usize, width: (dim as usize).div_ceil(64), rows: Vec::new(), ids: Ids::whole(0), next_id };
        let rows = section(ROWS).unwrap_or_default();
        if rows.len() as u128 != u128::from(count) * index.row_bytes() as u128 {
            return Err(refused("its rows are not as many as it says"));
        }
        memory::probe(16 * u128::from(count) + rows.len() as u128, "the index of this file")?;
        index.check_rows("its rows", rows).map_err(|error| BITS.refuse(error.to_string()))?;
        index.ids = match section(IDS) {
            Some(bytes) => Ids::of(&ids::unpack(bytes, count as usize, next_id).ok_or_else(|| refused("its ids are no runs"))?),
            None => Ids::whole(count as usize),
        };
        let mut words = memory::room(count as usize * index.width, "the vectors of this file")?;
        index.put(rows, &mut words);
        index.rows = words;
        Ok(index)
    }
}
