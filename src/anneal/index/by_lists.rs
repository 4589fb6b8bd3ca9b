//! Files whose codes are in order of lists, so that each list's can be read alone.

use super::Index;
use super::storage::{bytes_of, kind};
use crate::file::{FileError, INDEX_BY_LISTS};
use leastwise_base::container::{self, Section};
use leastwise_base::memory;
use std::borrow::Cow;
use std::ops::Range;

impl Index {
    /// A file whose codes can be read [when they are needed](super::Fetched). It takes 4 bytes a list more, and those of the sketches where there is a
    /// graph, if they are [drawn](super::graphed::draw).
    pub fn save_by_lists(&self) -> Vec<u8> {
        let mut sections = self.sections(self.packed_graph());
        let (codes, sums) = codes_by_lists(self);
        sections.iter_mut().filter(|section| section.kind == kind::CODES).for_each(|section| section.bytes = Cow::Borrowed(&codes));
        sections.push(Section { kind: kind::SUMS, bytes: bytes_of(&sums) });
        if let (Some(_), Some(drawn)) = (&self.graph, &self.drawn) {
            sections.push(Section { kind: kind::SKETCHES, bytes: Cow::Borrowed(drawn.stored()) });
        }
        container::write(&INDEX_BY_LISTS, &sections)
    }
}

/// Codes of an index in order of its lists, and a checksum of each list's.
fn codes_by_lists(index: &Index) -> (Vec<u8>, Vec<u32>) {
    let (lists, width) = (index.lists(), index.stored.coder.row_bytes());
    let mut codes = Vec::with_capacity(index.stored.codes.len());
    lists.slots().iter().for_each(|&slot| codes.extend_from_slice(index.row(slot as usize)));
    let sums = (0..index.clusters()).map(|list| container::checksum(&codes[bytes_at(lists.range(list), width)])).collect();
    (codes, sums)
}

/// Codes by slots, of an index whose codes are in order of its lists, if they have these checksums.
pub fn codes_by_slots(index: &Index, sums: &[u32]) -> Result<Vec<u8>, FileError> {
    let (lists, width) = (index.lists(), index.stored.coder.row_bytes());
    let by_lists = &index.stored.codes;
    let wrong = (0..index.clusters()).find(|&list| container::checksum(&by_lists[bytes_at(lists.range(list), width)]) != sums[list]);
    if let Some(list) = wrong {
        return Err(FileError::Corrupt { what: format!("list {list}") });
    }
    let mut codes = memory::zeros(by_lists.len(), "the codes of this file")?;
    if width > 0 {
        for (row, &slot) in by_lists.chunks_exact(width).zip(lists.slots()) {
            codes[slot as usize * width..][..width].copy_from_slice(row);
        }
    }
    Ok(codes)
}

fn bytes_at(places: Range<usize>, width: usize) -> Range<usize> {
    places.start * width..places.end * width
}
