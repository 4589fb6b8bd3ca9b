//! Indices that take in others, and files of their changes.

use super::Session;
use super::indices::{Answer, IndexJob, Kept};
use leastwise_anneal::index::changes::Since;
use leastwise_error::Error;

impl Session {
    /// A task: the vectors of another index with the same model come into an index, with new ids, after all that were to be added before. They are those that
    /// the other has now, and it stays as it is.
    #[inline(never)]
    pub fn merge_index(&mut self, index: u32, other: u32) -> Result<u32, Error> {
        for each in [index, other] {
            if self.indices.kept(each)?.blank.is_some() {
                return Err(Error::InvalidOption(
                    "an index of no vectors makes its clusters and its code of the first that are added, and anew while there are fewer than 256: \
                     there is nothing yet that two indices could have in common. Make one of a sample (trainFor), and open its file for every part"
                        .into(),
                ));
            }
        }
        let coming = self.indices.get(index)?.coming_from(self.indices.get(other)?)?;
        let turn = self.indices.number();
        let Kept { adding, .. } = self.indices.kept(index)?;
        adding.push_back(turn);
        Ok(self.add_task(IndexJob::Add { index, turn, points: Vec::new(), coming, making: None }))
    }

    /// A task: a file of what changed since another with this checksum, number of vectors, and next id. `removed` are the ids that were taken out.
    #[inline(never)]
    pub fn save_index_changes(&mut self, index: u32, file: u32, count: u32, next_id: u32, removed: &[u32]) -> Result<u32, Error> {
        let bytes = self.indices.get(index)?.save_changes(Since { file, count, next_id }, removed)?;
        Ok(self.add_task(IndexJob::Found { answer: Some(Answer::Bytes(bytes)) }))
    }

    /// Makes the changes of a file that follows on the one with this checksum.
    #[inline(never)]
    pub fn apply_index_changes(&mut self, index: u32, changes: &[u8], follows: u32) -> Result<(), Error> {
        Ok(self.indices.get_mut(index)?.apply_changes(changes, follows)?)
    }
}
