//! Vectors of one index for another that has the same anchors and the same code: labels and codes are copied, and nothing is decoded.

use super::storage::kind;
use super::{Coming, Index};
use crate::code::Code;
use leastwise_base::container::{self, Section};
use leastwise_base::memory;
use leastwise_error::Error;

/// Sections of a file that are the model: what codes mean, whatever vectors there are.
const MODEL: [u32; 5] = [kind::ANCHORS, kind::UNITS, kind::ENTRIES, kind::BITS, kind::SPREAD];

/// Bytes of the sizes that belong to vectors, not to the model: their number, and the next id.
const OF_VECTORS: std::ops::Range<usize> = 8..16;

impl Index {
    /// The model as a file has it.
    fn model(&self) -> Vec<Section<'_>> {
        let mut sections = self.sections(None);
        sections.retain(|section| section.kind == kind::SHAPE || MODEL.contains(&section.kind));
        sections[0].bytes.to_mut()[OF_VECTORS].fill(0);
        sections
    }

    /// CRC-32C of the model: of the kinds, lengths and bytes of its sections.
    pub(super) fn model_checksum(&self) -> u32 {
        let mut sum = 0;
        for Section { kind, bytes } in self.model() {
            let head = [kind, bytes.len() as u32, sum].map(u32::to_le_bytes).concat();
            sum = container::checksum(&[&head[..], &container::checksum(&bytes).to_le_bytes()].concat());
        }
        sum
    }

    /// Reason that vectors of another index have no place here; none where they have one.
    fn differs_from(&self, other: &Self) -> Option<String> {
        if other.dim() != self.dim() {
            return Some(format!("its vectors have {} components, those of this one {}", other.dim(), self.dim()));
        }
        if other.code() != self.code() {
            return Some(format!("its code is \"{}\", that of this one \"{}\"", other.code().name(), self.code().name()));
        }
        if other.clusters() != self.clusters() {
            return Some(format!("it has {} clusters, this one {}", other.clusters(), self.clusters()));
        }
        let (own, others) = (self.model(), other.model());
        let same = own.len() == others.len() && own.iter().zip(&others).all(|(a, b)| a.kind == b.kind && a.bytes == b.bytes);
        (!same).then(|| "its clusters or its code were trained on other vectors".into())
    }

    /// The vectors of another index with the same model, in order of their ids, as they can be [taken in](Self::take_in). Both stay as they are.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] with the reason if the models differ, [`Error::Limits`] for more vectors than there are ids, [`Error::OutOfMemory`].
    #[inline(never)]
    pub fn coming_from(&self, other: &Self) -> Result<Coming, Error> {
        if let Some(why) = self.differs_from(other) {
            return Err(Error::InvalidOption(format!(
                "the indices can't be merged, since codes of the one mean nothing in the other: {why}. Make one index of a sample (trainFor), \
                 open its file for every part, and merge these; or add the original vectors"
            )));
        }
        self.end_of_ids(other.count())?;
        let mut labels = memory::room(other.count(), "the vectors to merge")?;
        labels.extend(other.stored.labels.iter());
        let codes = if self.code() == Code::None { Vec::new() } else { memory::copy(&other.stored.codes, "the vectors to merge")? };
        Ok(Coming { labels, codes })
    }
}
