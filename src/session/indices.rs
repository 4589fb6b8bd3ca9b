//! Indices of compressed vectors, and the tasks that work on them: a time slice ends between two batches.

use super::Session;
use super::searches::{Resident, Search};
use super::task::{Progress, Task};
use crate::anneal::file::published::Files;
use crate::anneal::index::{Evaluating, Evaluation, Hits, Index, Reader, rows_together};
use crate::clock::now_ms;
use crate::error::Error;
use crate::problem::Reals;
use std::collections::HashMap;

/// What tasks of indices come to.
pub enum Answer {
    /// A new index.
    Index(u32),
    Hits(Hits),
    /// Of vectors that were added.
    Ids(Vec<u32>),
    /// A file.
    Bytes(Vec<u8>),
    Evaluation(Evaluation),
}

/// Work on an index.
pub(super) enum IndexTask {
    Search(Box<Search>),
    Add {
        index: u32,
        points: Vec<f32>,
        added: usize,
        ids: Vec<u32>,
    },
    /// The search of all queries together comes first.
    Evaluate {
        index: u32,
        k: usize,
        search: Option<Box<Search>>,
        evaluating: Box<Evaluating<Vec<f32>>>,
    },
    Save {
        index: u32,
    },
}

/// Where an index is searched.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Place {
    /// Batches on a GPU, all else on the CPU.
    #[default]
    Auto,
    Cpu,
    /// On the device whatever is possible there.
    Device,
}

/// Indices of a session, and files that are being read.
#[derive(Default)]
pub(super) struct Indices {
    indices: Vec<Option<Index>>,
    /// Of those that lie on the device.
    pub residents: Vec<Option<Resident>>,
    /// Where those are searched of which that was said.
    pub places: HashMap<u32, Place>,
    readers: Vec<Option<Reader>>,
}

impl Indices {
    pub(super) fn get(&self, index: u32) -> Result<&Index, Error> {
        self.indices.get(index as usize).and_then(Option::as_ref).ok_or(Error::Disposed("index"))
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Result<&mut Index, Error> {
        self.indices.get_mut(index as usize).and_then(Option::as_mut).ok_or(Error::Disposed("index"))
    }

    /// An index, and where it is kept if it lies on the device.
    pub(super) fn place(&mut self, index: u32) -> Result<(&Index, &mut Option<Resident>), Error> {
        let place = index as usize;
        let index = self.indices.get(place).and_then(Option::as_ref).ok_or(Error::Disposed("index"))?;
        if self.residents.len() <= place {
            self.residents.resize_with(place + 1, || None);
        }
        Ok((index, &mut self.residents[place]))
    }

    fn reader(&mut self, reader: u32) -> Result<&mut Option<Reader>, Error> {
        self.readers.get_mut(reader as usize).filter(|reader| reader.is_some()).ok_or(Error::Disposed("reader"))
    }
}

/// Vectors as f32; those that aren't finite are found by whoever takes them.
pub(super) fn floats(values: Reals) -> Vec<f32> {
    match values {
        Reals::F32(values) => values.to_vec(),
        Reals::F64(values) => values.iter().map(|&value| value as f32).collect(),
    }
}

impl Session {
    /// Goes on with a task until it is done, must be waited for, or the time is up.
    pub(super) fn resume_index(&mut self, task: &mut IndexTask, deadline: f64) -> Result<Progress, Error> {
        match task {
            IndexTask::Search(search) => self.resume_search(search, deadline),
            IndexTask::Add { index, points, added, ids } => {
                let index = self.indices.get_mut(*index)?;
                let count = points.len() / index.dim();
                while *added < count {
                    let rows = *added..count.min(*added + rows_together());
                    *added = rows.end;
                    ids.extend(index.add_rows(points, rows)?);
                    if now_ms() >= deadline && *added < count {
                        return Ok(Progress::Partly { done: *added as f64, total: count as f64 });
                    }
                }
                Ok(Progress::Answer(Answer::Ids(std::mem::take(ids))))
            }
            IndexTask::Evaluate { index, k, search, evaluating } => {
                if let Some(running) = search {
                    match self.resume_search(running, deadline)? {
                        Progress::Answer(Answer::Hits(hits)) => evaluating.searched(hits, running.elapsed_ms()),
                        other => return Ok(other),
                    }
                    search.take().into_iter().for_each(|search| self.end_search(*search));
                }
                let index = self.indices.get_mut(*index)?;
                if !index.sketch(*k, deadline) {
                    return Ok(Progress::Yielded);
                }
                Ok(match evaluating.advance(index, deadline)? {
                    Some(evaluation) => Progress::Answer(Answer::Evaluation(evaluation)),
                    None => Progress::Partly { done: evaluating.done(), total: 1.0 },
                })
            }
            IndexTask::Save { index } => Ok(Progress::Answer(Answer::Bytes(self.indices.get(*index)?.save()))),
        }
    }

    /// Frees what a task that is over, was dropped or failed has on the device, and undoes what it has done if it is not over: all vectors
    /// are added, or none.
    pub(super) fn end_index(&mut self, task: IndexTask) {
        match task {
            IndexTask::Search(search) => self.end_search(*search),
            IndexTask::Evaluate { search: Some(search), .. } => self.end_search(*search),
            IndexTask::Add { index, ids, .. } => {
                if let Ok(index) = self.indices.get_mut(index) {
                    index.remove(&ids);
                }
            }
            IndexTask::Evaluate { .. } | IndexTask::Save { .. } => {}
        }
    }

    pub(super) fn add_index(&mut self, index: Index) -> u32 {
        self.indices.indices.push(Some(index));
        self.indices.indices.len() as u32 - 1
    }

    /// An index of a file's bytes.
    pub fn open_index(&mut self, file: &[u8]) -> Result<u32, Error> {
        Ok(self.add_index(Index::open(file)?))
    }

    /// An index of the published format's files.
    pub fn open_published(&mut self, files: Files) -> Result<u32, Error> {
        Ok(self.add_index(Index::from_published(files)?))
    }

    /// A reader of a file that comes piece by piece.
    pub fn index_reader(&mut self) -> u32 {
        self.indices.readers.push(Some(Reader::default()));
        self.indices.readers.len() as u32 - 1
    }

    /// Takes a piece, and refuses it if no index can begin like that.
    pub fn feed_index_reader(&mut self, reader: u32, piece: &[u8]) -> Result<(), Error> {
        match self.indices.reader(reader)? {
            Some(reader) => Ok(reader.push(piece)?),
            None => Err(Error::Disposed("reader")),
        }
    }

    /// The index of all that came; the reader is gone.
    pub fn finish_index_reader(&mut self, reader: u32) -> Result<u32, Error> {
        let reader = self.indices.reader(reader)?.take().ok_or(Error::Disposed("reader"))?;
        Ok(self.add_index(reader.finish()?))
    }

    pub fn free_index_reader(&mut self, reader: u32) {
        if let Some(reader) = self.indices.readers.get_mut(reader as usize) {
            *reader = None;
        }
    }

    /// What an index says of itself, as JSON.
    pub fn index_info(&self, index: u32) -> Result<String, Error> {
        let index = self.indices.get(index)?;
        let mut info = index.info();
        info.insert("bytes".into(), index.bytes().into());
        info.insert("sketchBytes".into(), index.sketch_bytes().into());
        Ok(serde_json::Value::Object(info).to_string())
    }

    /// Whether searches may keep sketches, which take a byte a number.
    pub fn set_index_sketching(&mut self, index: u32, sketching: bool) -> Result<(), Error> {
        self.indices.get_mut(index)?.set_sketching(sketching);
        Ok(())
    }

    /// Where an index is searched: "auto", "cpu" or "device".
    pub fn set_index_searching(&mut self, index: u32, place: &str) -> Result<(), Error> {
        self.indices.get(index)?;
        let place = match place {
            "auto" => Place::Auto,
            "cpu" => Place::Cpu,
            "device" => Place::Device,
            other => return Err(Error::InvalidOption(format!("searching \"{other}\" is not one of auto, cpu, device"))),
        };
        self.indices.places.insert(index, place);
        Ok(())
    }

    /// A task: the `k` nearest vectors of every query. `filter` has a byte for every id.
    pub fn search_index(&mut self, index: u32, queries: Reals, k: u32, probes: Option<u32>, filter: Option<Vec<u8>>) -> Result<u32, Error> {
        let search = self.begin_search(index, floats(queries), k as usize, probes, filter)?;
        Ok(self.add_task(Task::Index(IndexTask::Search(Box::new(search)))))
    }

    /// A task: adds vectors, all of them or none.
    pub fn add_to_index(&mut self, index: u32, points: Reals) -> Result<u32, Error> {
        let points = floats(points);
        self.indices.get(index)?.check_added(&points)?;
        Ok(self.add_task(Task::Index(IndexTask::Add { index, points, added: 0, ids: Vec::new() })))
    }

    /// How many of them were in it.
    pub fn remove_from_index(&mut self, index: u32, ids: &[u32]) -> Result<usize, Error> {
        Ok(self.indices.get_mut(index)?.remove(ids))
    }

    /// Vectors as their codes have them.
    pub fn reconstruct_from_index(&self, index: u32, ids: &[u32]) -> Result<Vec<f32>, Error> {
        self.indices.get(index)?.reconstruct(ids)
    }

    /// A task: recall and times. Row i of `points` is the vector of id i.
    pub fn evaluate_index(&mut self, index: u32, queries: Reals, points: Reals, k: u32, probes: Option<u32>) -> Result<u32, Error> {
        let (k, queries, points) = (k as usize, floats(queries), floats(points));
        let search = self.begin_search(index, queries.clone(), k, probes, None)?;
        let mut evaluating = Box::new(Evaluating::new(self.indices.get(index)?, queries, points, k, probes)?);
        let search = match search.on_cpu() {
            Some(by) => {
                evaluating.searches_itself(by);
                None
            }
            None => Some(Box::new(search)),
        };
        Ok(self.add_task(Task::Index(IndexTask::Evaluate { index, k, search, evaluating })))
    }

    /// A task: the file's bytes.
    pub fn save_index(&mut self, index: u32) -> Result<u32, Error> {
        self.indices.get(index)?;
        Ok(self.add_task(Task::Index(IndexTask::Save { index })))
    }

    /// Frees an index, here and on the device.
    pub fn free_index(&mut self, index: u32) {
        if let Ok(device) = Self::single_of(&mut self.device, &mut self.single) {
            self.indices.evict(index, device);
        }
        if let Some(index) = self.indices.indices.get_mut(index as usize) {
            *index = None;
        }
    }
}
