//! An index whose codes stay where they are, in a file or behind a network, until a search needs them.
//!
//! Memory has all of the file but the codes: anchors, the list of every vector, ids, the model, and of an index with a graph its links and the one-bit
//! sketches that walks go by. A [`Search`] says which lists it needs, and takes their codes one list after the other, in any order; nothing of them is kept.
//! Hits have the bits that a search of the whole index has: distances are found by the same code, and the nearest are kept in an order without ties.

use super::nearest::Nearest;
use super::search::{BLOCK, Hits, Scan, SearchedBy, Through};
use super::sketch::Rescore;
use super::storage::{check_codes, kind};
use super::{Index, graphed};
use crate::code::Code;
use crate::file::{FileError, INDEX_BY_LISTS, malformed};
use leastwise_base::container::{self, Table};
use leastwise_cpu::block::Instructions;
use leastwise_error::Error;
use std::collections::BTreeMap;
use std::ops::Range;

/// Place of the codes that rows are read from.
#[derive(Clone, Copy)]
pub(super) enum Codes<'a> {
    /// In the index.
    Here,
    /// Those of one list, in its order.
    List { slots: &'a [u32], bytes: &'a [u8] },
}

impl<'a> Codes<'a> {
    /// Code of a slot, which belongs to the list.
    #[inline(always)]
    pub fn row(self, index: &'a Index, slot: u32) -> &'a [u8] {
        match self {
            Self::Here => index.row(slot as usize),
            Self::List { slots, bytes } => {
                let width = index.stored.coder.row_bytes();
                let place = slots.binary_search(&slot).expect("a slot of the list");
                &bytes[place * width..][..width]
            }
        }
    }
}

/// Sections that files have from version 4 on.
#[derive(Default)]
pub(super) struct Parts {
    pub sums: Vec<u32>,
    pub sketches: Option<Vec<u8>>,
}

/// Bytes from the beginning of a file that are enough to find its codes.
pub const HEADER: usize = container::MOST_HEADER;

/// Place of the codes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where they begin.
    pub offset: usize,
    /// How many bytes they are with what pads them.
    pub padded: usize,
    /// Bytes of the whole file.
    pub total: usize,
}

/// Place of the codes in the file that begins like this.
///
/// # Errors
/// [`FileError`] if it is none whose lists can be read one by one.
#[inline(never)]
pub fn place_of_codes(start: &[u8]) -> Result<Place, FileError> {
    let table = Table::read(&INDEX_BY_LISTS, start)?.ok_or_else(|| container::ends_in_header(start))?;
    place_in(&table)
}

fn place_in(table: &Table) -> Result<Place, FileError> {
    if table.version() < 4 {
        return Err(malformed("its lists can't be read one by one: open all of it, and save it for lazy opening"));
    }
    let (offset, _, padded) =
        table.place(kind::CODES).ok_or_else(|| malformed("it has no codes that could be read later: open all of it"))?;
    Ok(Place { offset, padded, total: table.total() })
}

/// Index without codes.
pub struct Fetched {
    index: Index,
    sums: Vec<u32>,
    total: usize,
}

/// A search that is given codes list by list.
pub struct Search {
    k: usize,
    turned: Vec<f32>,
    /// By slots.
    passing: Option<Vec<u8>>,
    /// Queries that go through all of a list.
    probing: Vec<Vec<u32>>,
    /// Queries that met slots of a list in the graph, and these.
    met: BTreeMap<u32, Vec<(u32, Vec<u32>)>>,
    nearest: Vec<Nearest>,
    by: SearchedBy,
}

impl Fetched {
    /// Index of all bytes of its file before the codes and behind them.
    ///
    /// # Errors
    /// [`FileError`] as [`Index::open`] has it.
    #[inline(never)]
    pub fn open(before: &[u8], behind: &[u8]) -> Result<Self, FileError> {
        let table = Table::read(&INDEX_BY_LISTS, before)?.ok_or_else(|| container::ends_in_header(before))?;
        let Place { total, .. } = place_in(&table)?;
        let sections = table.without(kind::CODES, before, behind)?;
        let (mut index, Parts { sums, sketches }) = Index::of_parts(table.version(), sections, false)?;
        let needed = index.count() as u128 * index.stored.coder.row_bytes() as u128;
        let (_, length, _) = table.place(kind::CODES).unwrap_or_default();
        if index.code() == Code::None || length as u128 != needed {
            return Err(malformed(format!("section {} has {length} bytes, not {needed}", kind::CODES)));
        }
        index.drawn = sketches.map(|rows| graphed::Drawn::from_stored(index.dim(), rows));
        Ok(Self { index, sums, total })
    }

    /// The index, which has no codes.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Description as JSON.
    #[inline(never)]
    pub fn info(&self) -> String {
        self.index.info_of(self.total)
    }

    /// Where the codes of every list begin, in vectors, and where the last end.
    #[inline(never)]
    pub fn starts(&self) -> &[u32] {
        self.index.lists().starts()
    }

    /// Beginning of a search, as [`Index::search`] and [`graphed::search`] have it: through the graph where there is one with its sketches, `probes` was
    /// not given, and a walk does. `reason` is why it is not searched elsewhere.
    ///
    /// # Errors
    /// Whatever is wrong with the call.
    #[inline(never)]
    pub fn search(
        &self,
        queries: &[f32],
        k: usize,
        probes: Option<u32>,
        effort: Option<u32>,
        filter: Option<&[u8]>,
        reason: Option<String>,
    ) -> Result<Search, Error> {
        let index = &self.index;
        let (count, lists) = index.check_search(queries, k, probes, filter)?;
        let mut by = SearchedBy { reason, ..SearchedBy::CPU };
        let mut not_walked = |why: String| by.reason = Some(by.reason.take().map_or(why.clone(), |reason| format!("{reason}; {why}")));
        let beam = match (&index.graph, &index.drawn, probes) {
            (Some(_), Some(_), None) => match graphed::route(index, k, effort, filter) {
                Ok(effort) => Some(effort),
                Err(why) => {
                    not_walked(why);
                    None
                }
            },
            (Some(_), None, None) => {
                not_walked("the graph was not used: the file has no sketches".into());
                None
            }
            _ => None,
        };
        let turned = index.turn_queries(queries);
        let passing = index.passing(filter).map(|passing| passing.into_owned());
        let (mut probing, mut met) = (vec![Vec::new(); index.clusters()], BTreeMap::<u32, Vec<(u32, Vec<u32>)>>::new());
        if let Some(effort) = beam {
            by.through = Through::Graph;
            for (query, slots) in graphed::met(index, &turned, effort, passing.as_deref()).into_iter().enumerate() {
                if slots.len() < k {
                    probing.iter_mut().for_each(|list| list.push(query as u32));
                    continue;
                }
                let mut by_list = BTreeMap::<u32, Vec<u32>>::new();
                slots.into_iter().for_each(|slot| by_list.entry(index.stored.labels.get(slot as usize)).or_default().push(slot));
                by_list.into_iter().for_each(|(list, slots)| met.entry(list).or_default().push((query as u32, slots)));
            }
        } else {
            probing = index.probed(&turned, lists);
        }
        let nearest = (0..count).map(|_| Nearest::new(k.min(index.count()))).collect();
        Ok(Search { k, turned, passing, probing, met, nearest, by })
    }

    /// Takes the codes of one of the [lists](Search::lists) that a search needs.
    ///
    /// # Errors
    /// [`FileError`] if they are not those of the file: then the search has taken nothing. [`Error::InvalidOption`] for a list that it does not need.
    #[inline(never)]
    pub fn scan(&self, search: &mut Search, list: u32, codes: &[u8]) -> Result<(), Error> {
        let (index, at) = (&self.index, list as usize);
        let queries = search.probing.get_mut(at).map(std::mem::take).unwrap_or_default();
        let met = search.met.remove(&list).unwrap_or_default();
        if queries.is_empty() && met.is_empty() {
            return Err(Error::InvalidOption(format!("list {list} is none that the search needs")));
        }
        let slots = index.lists().of_list(at);
        let checked = self.check(at, slots.len(), codes);
        let places = Codes::List { slots, bytes: codes };
        if checked.is_ok() && !queries.is_empty() {
            let blocks: Vec<(usize, Range<usize>)> =
                (0..slots.len()).step_by(BLOCK).map(|start| (at, start..slots.len().min(start + BLOCK))).collect();
            search.probing[at] = queries;
            let Search { turned, probing, passing, nearest, .. } = search;
            let filter = passing.as_deref();
            Instructions::best().run(Scan { index, codes: places, turned, blocks: &blocks, probing, filter, nearest });
            search.probing[at] = Vec::new();
        } else if checked.is_err() {
            search.probing[at] = queries;
        }
        if let Err(error) = checked {
            if !met.is_empty() {
                search.met.insert(list, met);
            }
            return Err(error.into());
        }
        for (query, slots) in met {
            let nearest = &mut search.nearest[query as usize];
            let query = &search.turned[query as usize * index.dim()..][..index.dim()];
            Instructions::best().run(Rescore { index, codes: places, query, slots: &slots, nearest });
        }
        Ok(())
    }

    fn check(&self, list: usize, vectors: usize, codes: &[u8]) -> Result<(), FileError> {
        let needed = vectors * self.index.stored.coder.row_bytes();
        if codes.len() != needed {
            return Err(FileError::Truncated { what: format!("list {list}"), needed: needed as u64, got: codes.len() as u64 });
        }
        if container::checksum(codes) != self.sums[list] {
            return Err(FileError::Corrupt { what: format!("list {list}") });
        }
        check_codes(&self.index.stored.coder, codes)
    }

    /// Lists whose codes a search still needs, ascending.
    #[inline(never)]
    pub fn lists(&self, search: &Search) -> Vec<u32> {
        let lists = self.index.lists();
        let is_needed = |list: u32| {
            let slots = lists.of_list(list as usize);
            let passes = || search.passing.as_ref().is_none_or(|passing| slots.iter().any(|&slot| passing[slot as usize] != 0));
            search.met.contains_key(&list) || (!search.probing[list as usize].is_empty() && !slots.is_empty() && passes())
        };
        (0..self.index.clusters() as u32).filter(|&list| is_needed(list)).collect()
    }

    /// Hits of a search in the lists that it was given.
    ///
    /// # Errors
    /// [`Error::Limits`] for more hits than one call can bring.
    #[inline(never)]
    pub fn hits(&self, search: Search) -> Result<Hits, Error> {
        let mut hits = Hits::none(search.nearest.len(), search.k)?;
        hits.by = search.by;
        for (query, nearest) in search.nearest.into_iter().enumerate() {
            hits.put(query, nearest, self.index.scale(), &self.index.stored.ids);
        }
        Ok(hits)
    }
}
