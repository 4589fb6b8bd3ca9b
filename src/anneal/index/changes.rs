//! Files of changes: what was added to an index and taken out of it since a file of it was written, as segments of a log-structured merge tree are (O'Neil et
//! al., *The log-structured merge-tree*, 1996). The file before stays as it is, and an index is that file and those of its changes, in order.
//!
//! Such a file names the one that it follows on by the checksum in that one's header, which is of the checksums of all its sections, by the number of
//! vectors and by the id that came next; and the model by a checksum of it. Added vectors have the sections that an index has. The graph is not part of it.

use super::Index;
use super::ids::{self, Ids};
use super::storage::{bytes_of, check_codes, kind};
use crate::code::Code;
use crate::code::packed::Packed;
use crate::code::words;
use crate::file::CHANGES;
use leastwise_base::FileError;
use leastwise_base::container::{self, Section};
use leastwise_base::memory;
use leastwise_error::Error;
use std::borrow::Cow;

/// Ids that are in the index no more, as runs from 0 on. Not there where there are none. Others as an index has them; ids count from the first new one.
const REMOVED: u32 = 32;

/// State of an index in a file: what changes since then are told from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since {
    /// Checksum in the header of the file ([`checksum_of`]).
    pub file: u32,
    /// Vectors that it had.
    pub count: u32,
    /// Id that came next.
    pub next_id: u32,
}

/// u32 each.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Shape {
    /// [`Since`].
    file: u32,
    count_before: u32,
    next_id_before: u32,
    /// Of the index.
    model: u32,
    /// Vectors in the end, and the id that comes next.
    count: u32,
    next_id: u32,
    /// Vectors that were added and are still there, and ids that are told to be gone.
    added: u32,
    removed: u32,
}

/// Checksum in the header of a file, by which changes name it; none of one that ends before.
pub fn checksum_of(file: &[u8]) -> Option<u32> {
    file.get(60..64).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

fn refused(why: impl Into<String>) -> FileError {
    CHANGES.refuse(why)
}

impl Index {
    /// A file of what changed since another was written; `removed` are the ids that were taken out meanwhile, in any order, and may be others that are not in
    /// the index.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] if the index can't have become what it is by these changes.
    #[inline(never)]
    pub fn save_changes(&self, since: Since, removed: &[u32]) -> Result<Vec<u8>, Error> {
        let Since { file, count: count_before, next_id: next_id_before } = since;
        let mut gone: Vec<u32> = removed.iter().copied().filter(|&id| id < next_id_before && self.stored.ids.find(id).is_none()).collect();
        gone.sort_unstable();
        gone.dedup();
        let from = self.stored.ids.iter().position(|id| id >= next_id_before).unwrap_or(self.count());
        let added = self.count() - from;
        // Of those that were there before so many stayed.
        if self.next_id() < next_id_before || from as u32 > count_before || (count_before as usize - from) > gone.len() {
            return Err(Error::InvalidOption(
                "the index did not become what it is by additions and removals since that file: save it whole".into(),
            ));
        }
        let shape = Shape {
            file,
            count_before,
            next_id_before,
            model: self.model_checksum(),
            count: self.count() as u32,
            next_id: self.next_id(),
            added: added as u32,
            removed: gone.len() as u32,
        };
        let labels = Packed::of(
            (from..self.count()).map(|slot| self.stored.labels.get(slot)).collect::<Vec<_>>().into_iter(),
            words::width(self.clusters()),
        );
        let new: Vec<u32> = (from..self.count()).map(|slot| self.stored.ids.get(slot) - next_id_before).collect();
        let mut sections =
            vec![(kind::SHAPE, Cow::Owned(bytemuck::bytes_of(&shape).to_vec())), (kind::LABELS, Cow::Borrowed(labels.stored()))];
        if new.last().is_some_and(|&last| last as usize >= added) {
            sections.push((kind::IDS, Cow::Owned(ids::pack(new.into_iter()))));
        }
        if self.code() != Code::None {
            sections.push((kind::CODES, bytes_of(&self.stored.codes[from * self.stored.coder.row_bytes()..])));
        }
        if !gone.is_empty() {
            sections.push((REMOVED, Cow::Owned(ids::pack(gone.into_iter()))));
        }
        let sections: Vec<Section> = sections.into_iter().map(|(kind, bytes)| Section { kind, bytes }).collect();
        Ok(container::write(&CHANGES, &sections))
    }

    /// Makes the changes of a file, if it follows on the file with the checksum `follows`, which the index is as it stands. A file that is refused changes
    /// nothing. New vectors are not in the graph.
    ///
    /// # Errors
    /// [`FileError`] for a file that is damaged, of another kind, or follows on another one.
    #[inline(never)]
    pub fn apply_changes(&mut self, file: &[u8], follows: u32) -> Result<(), FileError> {
        let sections = container::read(&CHANGES, file)?;
        let section = |kind: u32| sections.iter().find(|section| section.kind == kind).map(|section| &section.bytes[..]);
        let expect = |kind: u32, length: u128| match section(kind) {
            Some(bytes) if bytes.len() as u128 == length => Ok(bytes),
            Some(bytes) => Err(refused(format!("section {kind} has {} bytes, not {length}", bytes.len()))),
            None => Err(refused(format!("section {kind} is missing"))),
        };
        let known = [kind::SHAPE, kind::LABELS, kind::IDS, kind::CODES, REMOVED];
        if let Some(other) = sections.iter().find(|section| !known.contains(&section.kind)) {
            return Err(refused(format!("section {} doesn't belong to it", other.kind)));
        }
        let shape: Shape = bytemuck::pod_read_unaligned(expect(kind::SHAPE, size_of::<Shape>() as u128)?);
        let before = [shape.file, shape.count_before, shape.next_id_before];
        if before != [follows, self.count() as u32, self.next_id()] {
            return Err(refused(format!(
                "it doesn't follow on the file before it ({follows:08x}, {} vectors) but on another ({:08x}, {} vectors): give the file of the index and then \
                 all files of changes, in the order in which they were saved",
                self.count(),
                shape.file,
                shape.count_before
            )));
        }
        if shape.model != self.model_checksum() {
            return Err(refused("it is of an index with other clusters or another code"));
        }
        let (added, width) = (shape.added as usize, words::width(self.clusters()));
        let fits = shape.next_id >= shape.next_id_before
            && shape.added <= shape.next_id - shape.next_id_before
            && shape.removed <= shape.next_id_before;
        if !fits {
            return Err(refused("its sizes make no sense"));
        }
        let labels = expect(kind::LABELS, (added as u128 * u128::from(width)).div_ceil(8))?;
        let row_bytes = self.stored.coder.row_bytes();
        let codes = if row_bytes > 0 { expect(kind::CODES, added as u128 * row_bytes as u128)? } else { &[] };
        if row_bytes == 0 && section(kind::CODES).is_some() {
            return Err(refused("it has codes, but the index has none"));
        }
        memory::probe(
            24 * (shape.added as u128 + shape.removed as u128) + 8 * shape.count as u128 + codes.len() as u128,
            "the changes of this file",
        )?;
        let labels = Packed::from_stored(labels, width, added)?;
        if let Some(vector) = labels.iter().position(|label| label as usize >= self.clusters()) {
            return Err(refused(format!(
                "new vector {vector} belongs to anchor {}, but there are {}",
                labels.get(vector),
                self.clusters()
            )));
        }
        check_codes(&self.stored.coder, codes)?;
        let runs = |kind: u32, count: usize, end: u32| match section(kind) {
            Some(bytes) => ids::unpack(bytes, count, end).ok_or_else(|| refused("its ids are no runs")).map(Some),
            None => Ok(None),
        };
        let new = runs(kind::IDS, added, shape.next_id - shape.next_id_before)?.unwrap_or_else(|| (0..shape.added).collect());
        let gone = runs(REMOVED, shape.removed as usize, shape.next_id_before)?.unwrap_or_default();
        if gone.len() != shape.removed as usize {
            return Err(refused("ids that were taken out are missing"));
        }
        let there = gone.iter().filter(|&&id| self.stored.ids.find(id).is_some()).count();
        if self.count() - there + added != shape.count as usize {
            return Err(refused("its vectors are not as many as it says"));
        }
        let what = "the changes of this file";
        self.stored.labels.reserve(added, what)?;
        memory::grow(&mut self.stored.codes, codes.len(), what)?;
        self.remove(&gone);
        self.lists.take();
        self.revision += 1;
        self.sketched = false;
        labels.iter().for_each(|label| self.stored.labels.push(label));
        self.stored.codes.extend_from_slice(codes);
        // Anew: gaps in a file may be of any width.
        let ids: Vec<u32> = self.stored.ids.iter().chain(new.iter().map(|id| shape.next_id_before + id)).collect();
        self.stored.ids = Ids::of(&ids);
        self.stored.next_id = shape.next_id;
        Ok(())
    }
}
