//! Indices of vectors of bits.

use super::Session;
use super::indices::{Answer, IndexJob};
use leastwise_anneal::bits::{BitHits, BitIndex, Wanted};
use leastwise_error::Error;

impl Session {
    fn bit_index(&mut self, index: u32) -> Result<&mut BitIndex, Error> {
        self.indices.fetching().bits.get_mut(&index).ok_or(Error::Disposed("index"))
    }

    fn keep_bits(&mut self, index: BitIndex) -> u32 {
        let number = self.indices.number();
        self.indices.fetching().bits.insert(number, index);
        number
    }

    /// An index of no vectors yet, of `dim` bits.
    #[inline(never)]
    pub fn new_bit_index(&mut self, dim: u32) -> Result<u32, Error> {
        let index = BitIndex::new(dim as usize)?;
        Ok(self.keep_bits(index))
    }

    /// An index of a file's bytes.
    #[inline(never)]
    pub fn open_bit_index(&mut self, file: &[u8]) -> Result<u32, Error> {
        let index = BitIndex::open(file)?;
        Ok(self.keep_bits(index))
    }

    /// Bits of a vector, vectors, the id that comes next, and bytes of memory, as far as 32 bits count them.
    #[inline(never)]
    pub fn bit_index_sizes(&mut self, index: u32) -> Result<Vec<u32>, Error> {
        let index = self.bit_index(index)?;
        Ok(vec![index.dim() as u32, index.count() as u32, index.next_id(), u32::try_from(index.memory()).unwrap_or(u32::MAX)])
    }

    /// Adds packed vectors; gives the id of the first.
    #[inline(never)]
    pub fn add_to_bit_index(&mut self, index: u32, vectors: &[u8]) -> Result<u32, Error> {
        self.bit_index(index)?.add(vectors)
    }

    /// Removes vectors; gives how many were in it.
    #[inline(never)]
    pub fn remove_from_bit_index(&mut self, index: u32, ids: &[u32]) -> Result<u32, Error> {
        Ok(self.bit_index(index)?.remove(ids) as u32)
    }

    /// The `k` nearest of every query or, if it is given, all `within` a distance: where the hits of each begin and where the last end, ids, distances.
    #[inline(never)]
    pub fn search_bit_index(
        &mut self,
        index: u32,
        queries: &[u8],
        k: u32,
        within: Option<u32>,
        filter: Option<Vec<u8>>,
    ) -> Result<Vec<u32>, Error> {
        let wanted = within.map_or(Wanted::Nearest(k as usize), Wanted::Within);
        let BitHits { offsets, ids, distances } = self.bit_index(index)?.search(queries, wanted, filter.as_deref())?;
        Ok([offsets, ids, distances].concat())
    }

    /// A task: the packed vectors of ids.
    #[inline(never)]
    pub fn bit_index_vectors(&mut self, index: u32, ids: &[u32]) -> Result<u32, Error> {
        let rows = self.bit_index(index)?.rows(ids)?;
        Ok(self.add_task(IndexJob::Found { answer: Some(Answer::Bytes(rows)) }))
    }

    /// A task: the file's bytes.
    #[inline(never)]
    pub fn save_bit_index(&mut self, index: u32) -> Result<u32, Error> {
        let file = self.bit_index(index)?.save();
        Ok(self.add_task(IndexJob::Found { answer: Some(Answer::Bytes(file)) }))
    }

    /// Frees an index.
    pub fn free_bit_index(&mut self, index: u32) {
        self.indices.fetching().bits.remove(&index);
    }
}
