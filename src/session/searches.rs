//! Searches among compressed vectors, on the session's device or beside it.
//!
//! A batch of queries is searched on the GPU, where the index stays afterwards, until it changes or goes; everything else on the CPU, unless it
//! was said where: single queries, software adapters, more neighbours than kernels keep, indices for which there is no room. Which it was, and why, is said with what was found.

use super::Session;
use super::indices::{Answer, Kept, Place};
use super::job::Progress;
use leastwise_anneal::index::device::{FEWEST_QUERIES, Image, MOST_K, Next, Scratch, Searching, Upload, Wanted};
use leastwise_anneal::index::{Hits, Index, Rescoring, SearchedBy, Sketching, Through, by_bits, graphed};
use leastwise_base::clock::now_ms;
use leastwise_device::{Device, DeviceError, Play, Playing, Profile};
use leastwise_error::Error;
use std::ops::Range;
use std::sync::Arc;

/// An index on the device.
pub(super) struct Resident {
    image: Arc<Image>,
    /// Revision of the index when the image was made.
    revision: u64,
    upload: Option<Upload>,
    /// Buffers of the last search.
    scratch: Option<Scratch>,
}

/// A search on its way.
pub(super) struct Search {
    index: u32,
    wanted: Wanted,
    stage: Stage,
    /// Time at which it began, once the index was there.
    since: f64,
}

enum Stage {
    /// On the CPU; so many numbers of the queries are done.
    Host { searched: usize, hits: Hits, path: Path },
    /// On the device, as soon as the index lies there.
    Waiting,
    Device {
        searching: Box<Searching>,
        play: Option<Play>,
        readback: Vec<f64>,
        /// Neighbours that are wanted, of those that are found.
        k: usize,
        /// Ranking of what was found by exact distances, where that is to be done.
        rescoring: Option<Box<Rescoring>>,
    },
}

/// Path of a search on the CPU.
#[derive(Clone, Copy)]
enum Path {
    Lists,
    /// Through the graph if that can be, with this beam if one was asked for.
    Undecided(Option<u32>),
    /// Through the graph with this beam.
    Graph(usize),
    /// By one-bit sketches of lists, of which so many vectors are decoded.
    Bits(usize),
}

impl Search {
    fn on_host(index: u32, wanted: Wanted, reason: Option<String>, path: Path) -> Self {
        Self { index, stage: Stage::host(wanted.k, reason, path), wanted, since: now_ms() }
    }

    /// The beam that is asked for, of a search that may go through the graph.
    pub fn effort(&self) -> Option<Option<u32>> {
        if let Stage::Host { path: Path::Undecided(effort), .. } = self.stage { Some(effort) } else { None }
    }

    /// Vectors that are decoded for a query, of a search by one-bit sketches.
    pub fn beam_of_bits(&self) -> Option<usize> {
        if let Stage::Host { path: Path::Bits(beam), .. } = self.stage { Some(beam) } else { None }
    }

    /// The CPU and the reason for it, if it searches there from the first.
    pub fn on_cpu(&self) -> Option<SearchedBy> {
        if let Stage::Host { hits, .. } = &self.stage { Some(hits.by.clone()) } else { None }
    }

    /// Milliseconds so far.
    pub fn elapsed_ms(&self) -> f64 {
        now_ms() - self.since
    }
}

impl Stage {
    fn host(k: usize, reason: Option<String>, path: Path) -> Self {
        Self::Host { searched: 0, hits: Hits::empty(k, SearchedBy { reason, ..SearchedBy::CPU }), path }
    }
}

impl Session {
    /// The search of queries in an index, where it is best done.
    ///
    /// # Errors
    /// Whatever is wrong with the call.
    pub(super) fn begin_search(
        &mut self,
        index: u32,
        queries: Vec<f32>,
        k: usize,
        probes: Option<u32>,
        effort: Option<u32>,
        filter: Option<Vec<u8>>,
    ) -> Result<Search, Error> {
        let Kept { index: of, place, .. } = self.indices.kept(index)?;
        effort.map_or(Ok(()), |effort| check_effort(of, effort, probes))?;
        let path = match of.beam_of_bits(k, effort) {
            _ if of.graph().is_some() && probes.is_none() => Path::Undecided(effort),
            Some(beam) => Path::Bits(beam),
            None => Path::Lists,
        };
        let (count, probes) = of.check_search(&queries, k, probes, filter.as_deref())?;
        let place = *place;
        let reason = if !self.devices.main.is_queue() || place == Place::Cpu || effort.is_some() {
            None
        } else if place == Place::Auto && count < FEWEST_QUERIES {
            Some(format!("fewer than {FEWEST_QUERIES} queries"))
        } else if place == Place::Auto && self.devices.main.profile() == Profile::Software {
            Some("the adapter is software, which takes longer".into())
        } else if let Some(reason) = only_here(of, k) {
            Some(reason)
        } else {
            let wanted = Wanted { queries, k, probes, filter };
            return Ok(Search { index, wanted, stage: Stage::Waiting, since: now_ms() });
        };
        Ok(Search::on_host(index, Wanted { queries, k, probes, filter }, reason, path))
    }

    /// Goes on with a search until it is done, must be waited for, or the time is up.
    // Apart: its part of the module may be absent.
    #[inline(never)]
    pub(super) fn resume_search(&mut self, search: &mut Search, deadline: f64) -> Result<Progress, Error> {
        // Gone is gone, whoever searches.
        let ids = self.indices.get(search.index)?.next_id();
        // What came after the filter isn't meant by it.
        if let Some(filter) = &mut search.wanted.filter {
            filter.resize(ids as usize, 0);
        }
        loop {
            match &mut search.stage {
                Stage::Host { searched, hits, path } => {
                    let index = self.indices.get_mut(search.index)?;
                    let Wanted { queries, k, probes, filter } = &search.wanted;
                    if let Path::Undecided(effort) = *path {
                        *path = match graphed::route(index, *k, effort, filter.as_deref()) {
                            Ok(effort) => {
                                hits.by.through = Through::Graph;
                                Path::Graph(effort)
                            }
                            Err(why) => {
                                hits.by.reason = Some(hits.by.reason.take().map_or(why.clone(), |reason| format!("{reason}; {why}")));
                                Path::Lists
                            }
                        };
                    }
                    let is_ready =
                        if let Path::Graph(_) | Path::Bits(_) = path { graphed::draw(index, deadline) } else { index.sketch(*k, deadline) };
                    if !is_ready {
                        return Ok(Progress::Yielded);
                    }
                    while *searched < queries.len() {
                        let end = queries.len().min(*searched + index.queries_together() * index.dim());
                        let (some, filter) = (&queries[*searched..end], filter.as_deref());
                        let found = match *path {
                            Path::Graph(effort) => graphed::search(index, some, *k, effort, filter)?,
                            Path::Bits(beam) => by_bits::search(index, some, *k, beam, *probes, filter)?,
                            _ => index.search(some, *k, Some(*probes as u32), filter)?,
                        };
                        hits.ids.extend(found.ids);
                        hits.distances.extend(found.distances);
                        *searched = end;
                        if now_ms() >= deadline && end < queries.len() {
                            return Ok(Progress::Yielded);
                        }
                    }
                    let empty = Hits::empty(*k, hits.by.clone());
                    return Ok(Progress::Answer(Answer::Hits(std::mem::replace(hits, empty))));
                }
                Stage::Waiting => match self.settle(search, deadline) {
                    Ok(true) => {}
                    Ok(false) => return Ok(Progress::Yielded),
                    // Nobody can tell beforehand how much room there is.
                    Err(error @ (Error::Limits(_) | Error::Device(DeviceError::OutOfMemory { .. }))) => {
                        search.stage = Stage::host(search.wanted.k, Some(error.to_string()), Path::Lists);
                        search.since = now_ms();
                    }
                    Err(error) => return Err(error),
                },
                Stage::Device { searching, rescoring: Some(rescoring), .. } => {
                    let index = self.indices.get(search.index)?;
                    return Ok(match rescoring.advance(index, searching.queries(), || now_ms() >= deadline)? {
                        Some(hits) => Progress::Answer(Answer::Hits(hits)),
                        None => Progress::Yielded,
                    });
                }
                Stage::Device { searching, play, readback, k, rescoring } => {
                    let device = self.devices.single()?;
                    if let Some(current) = play {
                        match device.resume(current, deadline)? {
                            Playing::Yielded => return Ok(Progress::Yielded),
                            Playing::Waiting(signal) => return Ok(Progress::Waiting(signal)),
                            Playing::Finished(values) => *readback = values,
                        }
                        *play = None;
                    }
                    match searching.advance(readback) {
                        Next::Run(recording) => *play = Some(device.start(recording)),
                        Next::Done(found) if self.indices.get(search.index)?.is_rescored() => {
                            *rescoring = Some(Box::new(Rescoring::new(found, *k)));
                        }
                        Next::Done(hits) => return Ok(Progress::Answer(Answer::Hits(hits))),
                    }
                }
            }
        }
    }

    /// Sees to it that the index lies on the device as it is now, and that a search can begin there. False when the time was up before.
    fn settle(&mut self, search: &mut Search, deadline: f64) -> Result<bool, Error> {
        let device = self.devices.single()?;
        let Kept { index, resident, .. } = self.indices.kept(search.index)?;
        // It may have changed since the search was asked for.
        if let Some(reason) = only_here(index, search.wanted.k) {
            search.stage = Stage::host(search.wanted.k, Some(reason), Path::Lists);
            return Ok(true);
        }
        // So may what memory was refused for, which may be its own.
        if device.has_refused() || resident.as_ref().is_some_and(|resident| resident.revision != index.revision()) {
            resident.take().into_iter().for_each(|resident| resident.dispose(device));
        }
        let resident = match resident {
            Some(resident) => resident,
            none => none.insert(Resident {
                image: Arc::new(Image::new(device, index)?),
                revision: index.revision(),
                upload: Some(Upload::default()),
                scratch: None,
            }),
        };
        while let Some(upload) = &mut resident.upload {
            match resident.image.upload(index, upload) {
                None => resident.upload = None,
                Some(recording) => {
                    device.enqueue(&recording)?;
                    if now_ms() >= deadline {
                        return Ok(false);
                    }
                }
            }
        }
        let k = search.wanted.k;
        let wanted = Wanted { k: index.found_for(k), ..std::mem::take(&mut search.wanted) };
        let scratch = match Scratch::new(device, &resident.image, &wanted, resident.scratch.take()) {
            Ok(scratch) => scratch,
            Err(error) => {
                search.wanted = Wanted { k, ..wanted };
                return Err(error);
            }
        };
        let searching = Box::new(Searching::new(device, resident.image.clone(), scratch, wanted));
        search.stage = Stage::Device { searching, play: None, readback: Vec::new(), k, rescoring: None };
        search.since = now_ms();
        Ok(true)
    }

    /// Keeps the buffers of a search that ends for the next one of the same index, as long as that is unchanged.
    pub(super) fn end_search(&mut self, search: Search) {
        if let Ok(index) = self.indices.get_mut(search.index) {
            index.rest();
        }
        let (Stage::Device { searching, .. }, Ok(device)) = (search.stage, self.devices.single()) else {
            return;
        };
        let (image, scratch) = searching.end();
        match self.indices.kept(search.index) {
            Ok(Kept { resident: Some(resident), .. }) if Arc::ptr_eq(&resident.image, &image) && resident.scratch.is_none() => {
                resident.scratch = Some(scratch)
            }
            _ => scratch.dispose(device),
        }
        release(device, image);
    }
}

/// Refuses a beam where there is no graph to walk in.
pub(super) fn check_effort(index: &Index, effort: u32, probes: Option<u32>) -> Result<(), Error> {
    let Range { start, end } = graphed::EFFORTS;
    let refused = if index.sketching() == Sketching::Bits && (probes.is_some() || index.graph().is_none()) {
        if effort >= start && effort < end {
            return Ok(());
        }
        format!("effort must be from {start} to {}, not {effort}", end - 1)
    } else if probes.is_some() {
        "effort and probes: a search goes through the graph or through lists, so give one of them".into()
    } else if index.graph().is_none() {
        "effort: the index has no graph; index.buildGraph() makes one".into()
    } else if effort < start || effort >= end {
        format!("effort must be from {start} to {}, not {effort}", end - 1)
    } else {
        return Ok(());
    };
    Err(Error::InvalidOption(refused))
}

/// Reason that so many neighbours can't be found in an index on a device, whatever it has room for.
fn only_here(index: &Index, k: usize) -> Option<String> {
    if index.found_for(k).min(index.count()) > MOST_K {
        Some(format!("more than {} neighbours", MOST_K + k - index.found_for(k)))
    } else if index.count() == 0 {
        Some("no vectors".into())
    } else {
        None
    }
}

impl Resident {
    pub(super) fn dispose(self, device: &mut Device) {
        self.scratch.into_iter().for_each(|scratch| scratch.dispose(device));
        release(device, self.image);
    }
}

/// The last who has it frees it.
fn release(device: &mut Device, image: Arc<Image>) {
    if let Some(image) = Arc::into_inner(image) {
        image.dispose(device);
    }
}
