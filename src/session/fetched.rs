//! Indices whose codes are read when searches need them: whoever holds the file reads, and gives a search the lists that it asks for.

use super::Session;
use super::indices::{Answer, IndexJob};
use leastwise_anneal::bits::BitIndex;
use leastwise_anneal::index::fetched::{Fetched, Search, place_of_codes};
use leastwise_error::Error;
use std::collections::HashMap;

/// Indices without codes, and their searches, each with its index; and indices of bits.
#[derive(Default)]
pub(super) struct Fetching {
    indices: HashMap<u32, Fetched>,
    searches: HashMap<u32, (u32, Search)>,
    pub bits: HashMap<u32, BitIndex>,
}

impl Fetching {
    fn index(&self, index: u32) -> Result<&Fetched, Error> {
        self.indices.get(&index).ok_or(Error::Disposed("index"))
    }

    /// A search and its index.
    fn search(&mut self, search: u32) -> Result<(&Fetched, &mut Search), Error> {
        let (index, search) = self.searches.get_mut(&search).ok_or(Error::Disposed("search"))?;
        let index = self.indices.get(index).ok_or(Error::Disposed("index"))?;
        Ok((index, search))
    }
}

impl Session {
    /// Where the codes begin in a file that begins like this, how many bytes they take with what pads them, and how many the file.
    pub fn place_of_lazy_codes(&self, start: &[u8]) -> Result<Vec<f64>, Error> {
        let place = place_of_codes(start)?;
        Ok([place.offset, place.padded, place.total].map(|bytes| bytes as f64).to_vec())
    }

    /// An index of what its file has before the codes and behind them.
    pub fn open_lazy_index(&mut self, before: &[u8], behind: &[u8]) -> Result<u32, Error> {
        let index = Fetched::open(before, behind)?;
        let number = self.indices.number();
        self.indices.fetching().indices.insert(number, index);
        Ok(number)
    }

    /// Description of an index without codes, as JSON.
    pub fn lazy_index_info(&mut self, index: u32) -> Result<String, Error> {
        Ok(self.indices.fetching().index(index)?.info())
    }

    /// Components, vectors, and the id that comes next.
    pub fn lazy_index_sizes(&mut self, index: u32) -> Result<[u32; 3], Error> {
        let index = self.indices.fetching().index(index)?.index();
        Ok([index.dim() as u32, index.count() as u32, index.next_id()])
    }

    /// Where the codes of every list begin, in vectors, and where the last end.
    pub fn lazy_index_starts(&mut self, index: u32) -> Result<Vec<u32>, Error> {
        Ok(self.indices.fetching().index(index)?.starts().to_vec())
    }

    /// Beginning of a search, to which lists are then given.
    pub fn begin_lazy_search(
        &mut self,
        index: u32,
        queries: Vec<f32>,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
        filter: Option<Vec<u8>>,
    ) -> Result<u32, Error> {
        let on_queue = self.devices.main.is_queue();
        let fetched = self.indices.fetching().index(index)?;
        effort.map_or(Ok(()), |effort| super::searches::check_effort(fetched.index(), effort, probes))?;
        let reason = on_queue.then(|| "an index that is read in parts is searched on the CPU".to_string());
        let search = fetched.search(&queries, k as usize, probes, effort, filter.as_deref(), reason)?;
        let number = self.indices.number();
        self.indices.fetching().searches.insert(number, (index, search));
        Ok(number)
    }

    /// Lists whose codes a search still needs, ascending.
    pub fn lazy_search_lists(&mut self, search: u32) -> Result<Vec<u32>, Error> {
        let (index, search) = self.indices.fetching().search(search)?;
        Ok(index.lists(search))
    }

    /// Gives a search the codes of a list.
    pub fn scan_lazy_list(&mut self, search: u32, list: u32, codes: &[u8]) -> Result<(), Error> {
        let (index, search) = self.indices.fetching().search(search)?;
        index.scan(search, list, codes)
    }

    /// A task: what a search found in the lists that it was given.
    pub fn end_lazy_search(&mut self, search: u32) -> Result<u32, Error> {
        let (index, search) = self.indices.fetching().searches.remove(&search).ok_or(Error::Disposed("search"))?;
        let hits = self.indices.fetching().index(index)?.hits(search)?;
        Ok(self.add_task(IndexJob::Found { answer: Some(Answer::Hits(hits)) }))
    }

    /// Frees a search.
    pub fn free_lazy_search(&mut self, search: u32) {
        self.indices.fetching().searches.remove(&search);
    }

    /// Frees an index without codes, and its searches.
    pub fn free_lazy_index(&mut self, index: u32) {
        self.indices.fetching().indices.remove(&index);
        self.indices.fetching().searches.retain(|_, (of, _)| *of != index);
    }
}
