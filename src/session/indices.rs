//! Indices of compressed vectors, and the tasks that work on them: a time slice ends between two batches.

use super::Session;
use super::compress::{Compress, CompressOptions};
use super::fetched::Fetching;
use super::graphs::GraphBuild;
use super::job::{Job, Progress, Step};
use super::searches::{Resident, Search};
use leastwise_anneal::code::Code;
use leastwise_anneal::file::published::Files;
use leastwise_anneal::index::graphed::draw;
use leastwise_anneal::index::{Coming, Evaluating, Evaluation, Hits, Index, Reader, Sketching, rows_together};
use leastwise_base::clock::now_ms;
use leastwise_base::memory::{self, OutOfMemory};
use leastwise_error::Error;
use leastwise_problem::Reals;
use std::collections::{HashMap, VecDeque};

/// Outcome of an index's task.
pub enum Answer {
    /// A new index.
    Index(u32),
    /// Hits of a search.
    Hits(Hits),
    /// Ids of vectors that were added.
    Ids(Vec<u32>),
    /// A file.
    Bytes(Vec<u8>),
    /// Measurements of an evaluation.
    Evaluation(Evaluation),
}

/// Work on an index.
pub(super) enum IndexJob {
    Search(Box<Search>),
    /// The index has its vectors when all have their codes, and those that were to be added before are in it.
    Add {
        index: u32,
        /// Its place among those that add to the index.
        turn: u32,
        points: Vec<f32>,
        coming: Coming,
        /// The model, where these are the first vectors.
        making: Option<Box<Compress>>,
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
        by_lists: bool,
    },
    /// An answer that is there already.
    Found {
        answer: Option<Answer>,
    },
    BuildGraph(Box<GraphBuild>),
}

/// Place where an index is searched, and its graph is built.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Place {
    /// Batches on a GPU, all else on the CPU.
    #[default]
    Auto,
    Cpu,
    /// On the device whatever is possible there.
    Device,
}

/// An index of a session.
pub(super) struct Kept {
    pub index: Index,
    /// Place where it is searched.
    pub place: Place,
    /// The index on the device, if it is there.
    pub resident: Option<Resident>,
    /// Options for making its model of the first vectors, where there were none; and those, while they are few.
    pub(super) blank: Option<CompressOptions>,
    first: Vec<f32>,
    /// The turns of those that add to it, in the order in which they were asked to.
    pub(super) adding: VecDeque<u32>,
}

impl Kept {
    /// The model stays from now on.
    pub(super) fn settle(&mut self) {
        self.blank = None;
        self.first = Vec::new();
    }
}

/// Indices of a session, and files that are being read.
#[derive(Default)]
pub(super) struct Indices {
    kept: HashMap<u32, Kept>,
    readers: HashMap<u32, Reader>,
    /// Those whose codes are read when searches need them, once there were any: what every engine begins with stays small.
    fetching: Option<Box<Fetching>>,
    /// The number of the next index, reader or turn.
    next: u32,
}

/// Vectors of which a model is made to last. One of fewer, whose levels reach hardly beyond them, is made anew with those that follow.
const ENOUGH: usize = 256;

impl Indices {
    pub(super) fn kept(&mut self, index: u32) -> Result<&mut Kept, Error> {
        self.kept.get_mut(&index).ok_or(Error::Disposed("index"))
    }

    pub(super) fn get(&self, index: u32) -> Result<&Index, Error> {
        self.kept.get(&index).map(|kept| &kept.index).ok_or(Error::Disposed("index"))
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Result<&mut Index, Error> {
        Ok(&mut self.kept(index)?.index)
    }

    pub(super) fn fetching(&mut self) -> &mut Fetching {
        self.fetching.get_or_insert_default()
    }

    pub(super) fn number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }
}

/// Vectors as sessions take them; those that aren't finite are found by whoever looks at them.
pub fn singles(values: Reals) -> Result<Vec<f32>, OutOfMemory> {
    match values {
        Reals::F32(values) => memory::copy(values, "the vectors"),
        Reals::F64(values) => {
            let mut singles = memory::room(values.len(), "the vectors")?;
            singles.extend(values.iter().map(|&value| value as f32));
            Ok(singles)
        }
    }
}

impl Job for IndexJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        session.resume_index(self, deadline).map(Step::from)
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        session.end_index(*self);
    }
}

impl Session {
    /// Goes on with a task until it is done, must be waited for, or the time is up.
    fn resume_index(&mut self, task: &mut IndexJob, deadline: f64) -> Result<Progress, Error> {
        match task {
            IndexJob::Search(search) => self.resume_search(search, deadline),
            IndexJob::Add { index, turn, points, making, .. }
                if making.is_some() || (self.indices.kept(*index)?.blank.is_some() && !points.is_empty()) =>
            {
                self.resume_first(*index, *turn, points, making, deadline)
            }
            IndexJob::Add { index, turn, points, coming, .. } => {
                let Kept { index, adding, .. } = self.indices.kept(*index)?;
                let count = points.len() / index.dim();
                while coming.count() < count {
                    let rows = coming.count()..count.min(coming.count() + rows_together());
                    index.code_rows(points, rows, coming)?;
                    if now_ms() >= deadline && coming.count() < count {
                        return Ok(Progress::Partly { done: coming.count() as f64, total: count as f64 });
                    }
                }
                if adding.front() != Some(turn) {
                    return Ok(Progress::Yielded);
                }
                Ok(Progress::Answer(Answer::Ids(index.take_in(std::mem::take(coming))?)))
            }
            IndexJob::Evaluate { index, k, search, evaluating } => {
                if let Some(running) = search {
                    match self.resume_search(running, deadline)? {
                        Progress::Answer(Answer::Hits(hits)) => evaluating.searched(hits, running.elapsed_ms()),
                        other => return Ok(other),
                    }
                    search.take().into_iter().for_each(|search| self.end_search(*search));
                }
                let index = self.indices.get_mut(*index)?;
                if !evaluating.prepare(index, *k, deadline) {
                    return Ok(Progress::Yielded);
                }
                Ok(match evaluating.advance(index, deadline)? {
                    Some(evaluation) => Progress::Answer(Answer::Evaluation(evaluation)),
                    None => Progress::Partly { done: evaluating.done(), total: 1.0 },
                })
            }
            IndexJob::BuildGraph(build) => self.resume_graph(build, deadline),
            IndexJob::Save { index, by_lists: false } => Ok(Progress::Answer(Answer::Bytes(self.indices.get(*index)?.save()))),
            IndexJob::Save { index, .. } => self.resume_saving(*index, deadline),
            IndexJob::Found { answer } => Ok(Progress::Answer(answer.take().ok_or(Error::Internal("an answer was taken twice"))?)),
        }
    }

    /// Goes on with a file by lists, which has the sketches that walks go by.
    #[inline(never)]
    fn resume_saving(&mut self, index: u32, deadline: f64) -> Result<Progress, Error> {
        let index = self.indices.get_mut(index)?;
        if index.graph().is_some() && !draw(index, deadline) {
            return Ok(Progress::Yielded);
        }
        Ok(Progress::Answer(Answer::Bytes(index.save_by_lists())))
    }

    /// Goes on with the first vectors of an index, of which its model is made. Others wait until there is one.
    fn resume_first(
        &mut self,
        index: u32,
        turn: u32,
        points: &mut Vec<f32>,
        making: &mut Option<Box<Compress>>,
        deadline: f64,
    ) -> Result<Progress, Error> {
        let kept = self.indices.kept(index)?;
        let Some(mut options) = kept.blank.clone().filter(|_| kept.adding.front() == Some(&turn)) else { return Ok(Progress::Yielded) };
        let making = match making {
            Some(making) => making,
            None => {
                let mut all = memory::room(kept.first.len() + points.len(), "the vectors")?;
                all.extend_from_slice(&kept.first);
                all.extend_from_slice(points);
                let count = all.len() / kept.index.dim();
                if count < ENOUGH {
                    // So few have no room for more clusters, nor a file that is next to nothing beside its header.
                    options.clusters = options.clusters.map(|clusters| clusters.min(count as u32));
                    options.ratio = None;
                }
                making.insert(Box::new(self.compressing(all, &options)?))
            }
        };
        let made = match making.resume(self, deadline)? {
            Progress::Answer(Answer::Index(made)) => {
                self.indices.kept.remove(&made).ok_or(Error::Internal("an index that was made is gone"))?.index
            }
            other => return Ok(other),
        };
        let kept = self.indices.kept(index)?;
        let before = kept.index.next_id() as usize;
        kept.index.replace_with(made);
        kept.first.append(points);
        if kept.index.count() >= ENOUGH {
            kept.settle();
        }
        Ok(Progress::Answer(Answer::Ids(kept.index.ids().split_off(before))))
    }

    /// Frees what a task that is over, was dropped or failed has on the device, and lets those go on that wait for it.
    fn end_index(&mut self, task: IndexJob) {
        match task {
            IndexJob::Search(search) => self.end_search(*search),
            IndexJob::Evaluate { search: Some(search), .. } => self.end_search(*search),
            IndexJob::Add { index, turn, making, .. } => {
                making.into_iter().for_each(|making| making.free(self));
                if let Ok(kept) = self.indices.kept(index) {
                    kept.adding.retain(|other| *other != turn);
                }
            }
            IndexJob::BuildGraph(build) => self.end_graph(*build),
            IndexJob::Evaluate { .. } | IndexJob::Save { .. } | IndexJob::Found { .. } => {}
        }
    }

    pub(super) fn add_index(&mut self, index: Index) -> u32 {
        let number = self.indices.number();
        let blank = CompressOptions::of_blank(&index);
        self.indices
            .kept
            .insert(number, Kept { index, place: Place::default(), resident: None, blank, first: Vec::new(), adding: VecDeque::new() });
        number
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
        let number = self.indices.number();
        self.indices.readers.insert(number, Reader::default());
        number
    }

    /// Takes a piece, and refuses it if no index can begin like that.
    pub fn feed_index_reader(&mut self, reader: u32, piece: &[u8]) -> Result<(), Error> {
        let reader = self.indices.readers.get_mut(&reader).ok_or(Error::Disposed("reader"))?;
        Ok(reader.push(piece)?)
    }

    /// The index of all that came; the reader is gone.
    pub fn finish_index_reader(&mut self, reader: u32) -> Result<u32, Error> {
        let reader = self.indices.readers.remove(&reader).ok_or(Error::Disposed("reader"))?;
        Ok(self.add_index(reader.finish()?))
    }

    /// Frees a reader, with all that came.
    pub fn free_index_reader(&mut self, reader: u32) {
        self.indices.readers.remove(&reader);
    }

    /// Description of an index, as JSON.
    pub fn index_info(&self, index: u32) -> Result<String, Error> {
        Ok(self.indices.get(index)?.info_now())
    }

    /// Components, vectors, and the id that comes next.
    pub fn index_sizes(&self, index: u32) -> Result<[u32; 3], Error> {
        let index = self.indices.get(index)?;
        Ok([index.dim() as u32, index.count() as u32, index.next_id()])
    }

    /// Bytes of its file.
    pub fn index_bytes(&self, index: u32) -> Result<usize, Error> {
        Ok(self.indices.get(index)?.bytes())
    }

    /// Sets which sketches searches through lists may keep: none, of 8 bits a number, or of 1.
    pub fn set_index_sketching(&mut self, index: u32, bits: u32) -> Result<(), Error> {
        self.indices.get_mut(index)?.set_sketching(match bits {
            0 => Sketching::Off,
            1 => Sketching::Bits,
            _ => Sketching::Bytes,
        });
        Ok(())
    }

    /// Sets the place where an index is searched: "auto", "cpu" or "device".
    pub fn set_index_searching(&mut self, index: u32, place: &str) -> Result<(), Error> {
        self.indices.kept(index)?.place = match place {
            "auto" => Place::Auto,
            "cpu" => Place::Cpu,
            "device" => Place::Device,
            other => return Err(Error::InvalidOption(format!("searching \"{other}\" is not one of auto, cpu, device"))),
        };
        Ok(())
    }

    /// A task: the `k` nearest vectors of every query. `filter` has a byte for every id; `effort` is the beam of a walk in the graph, which
    /// indices without one refuse.
    pub fn search_index(
        &mut self,
        index: u32,
        queries: Vec<f32>,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
        filter: Option<Vec<u8>>,
    ) -> Result<u32, Error> {
        let search = self.begin_search(index, queries, k as usize, probes, effort, filter)?;
        Ok(self.add_task(IndexJob::Search(Box::new(search))))
    }

    /// A task: makes the index's graph of `degree` neighbours a vector, found by searches with a beam of `effort`; or inserts the vectors that one of
    /// this kind does not have yet.
    pub fn build_index_graph(&mut self, index: u32, degree: Option<u32>, effort: Option<u32>) -> Result<u32, Error> {
        let build = GraphBuild::new(index, self.indices.get(index)?, degree, effort)?;
        Ok(self.add_task(IndexJob::BuildGraph(Box::new(build))))
    }

    /// A task: adds vectors, all of them at its end, or none. Of several that add to an index none ends before those that were there first, so
    /// that ids are in the order of these calls.
    pub fn add_to_index(&mut self, index: u32, points: Vec<f32>) -> Result<u32, Error> {
        let turn = self.indices.number();
        let Kept { index: of, adding, .. } = self.indices.kept(index)?;
        of.check_added(&points)?;
        adding.push_back(turn);
        Ok(self.add_task(IndexJob::Add { index, turn, points, coming: Coming::default(), making: None }))
    }

    /// Removes vectors; gives how many were in it.
    pub fn remove_from_index(&mut self, index: u32, ids: &[u32]) -> Result<usize, Error> {
        let kept = self.indices.kept(index)?;
        let removed = kept.index.remove(ids);
        if removed > 0 {
            kept.settle();
        }
        Ok(removed)
    }

    /// Vectors as their codes have them.
    pub fn reconstruct_from_index(&self, index: u32, ids: &[u32]) -> Result<Vec<f32>, Error> {
        self.indices.get(index)?.reconstruct(ids)
    }

    /// A task: recall and times. Row i of `points` is the vector of id i.
    pub fn evaluate_index(
        &mut self,
        index: u32,
        queries: Vec<f32>,
        points: Vec<f32>,
        k: u32,
        probes: Option<u32>,
        effort: Option<u32>,
    ) -> Result<u32, Error> {
        let k = k as usize;
        let search = self.begin_search(index, queries.clone(), k, probes, effort, None)?;
        let mut evaluating = Box::new(Evaluating::new(self.indices.get(index)?, queries, points, k, probes)?);
        if let Some(effort) = search.effort() {
            evaluating.walk(self.indices.get(index)?, effort);
        }
        search.beam_of_bits().into_iter().for_each(|beam| evaluating.by_bits(beam));
        let search = match search.on_cpu() {
            Some(by) => {
                evaluating.searches_itself(by);
                None
            }
            None => Some(Box::new(search)),
        };
        Ok(self.add_task(IndexJob::Evaluate { index, k, search, evaluating }))
    }

    /// A task: the file's bytes; `by_lists`, of one whose codes can be read when searches need them.
    pub fn save_index(&mut self, index: u32, by_lists: bool) -> Result<u32, Error> {
        if by_lists && self.indices.get(index)?.code() == Code::None {
            return Err(Error::InvalidOption(
                "an index with the code \"none\" has no codes that could be read later: save it whole".into(),
            ));
        }
        self.indices.get(index)?;
        Ok(self.add_task(IndexJob::Save { index, by_lists }))
    }

    /// Frees an index, here and on the device.
    pub fn free_index(&mut self, index: u32) {
        let resident = self.indices.kept.remove(&index).and_then(|kept| kept.resident);
        if let (Some(resident), Ok(device)) = (resident, self.devices.single()) {
            resident.dispose(device);
        }
    }
}
