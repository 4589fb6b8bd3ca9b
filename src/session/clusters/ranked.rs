//! Clusterings by all ranks of a session that is one of them: each gives its own points, and all get the same codebook.
//!
//! A session over several devices splits its points among them. Its followers get an order for every part of the clustering from one rest to
//! the next ([`RankedNext::Rest`]), and the session makes its own part of it in one slice: so whenever it is left, no rank waits for another.

use crate::Session;
use crate::followers::{Followers, Iterating};
use crate::job::{Job, Progress, Step};
use leastwise_anneal::cluster::{Options, Outcome, RankedClustering, RankedNext};
use leastwise_base::clock::now_ms;
use leastwise_collective::{Communicator, everybody, failed_elsewhere};
use leastwise_device::{Device, Play};
use leastwise_error::Error;
use leastwise_outer::{Devices, Turn};
use std::sync::Arc;

/// A clustering as one rank has it. Its device is one of the ranks as long as it runs.
pub struct RankedRun {
    ranks: Arc<dyn Communicator>,
    clustering: RankedClustering,
    /// Communicator that the device had before it became one of the ranks; none before it did.
    before: Option<Option<Arc<dyn Communicator>>>,
}

impl RankedRun {
    /// A clustering that has made no call yet.
    pub fn new(ranks: Arc<dyn Communicator>, points: Vec<f32>, options: Options, metric: &str) -> Self {
        let clustering = RankedClustering::new(ranks.clone(), points, options, metric);
        Self { ranks, clustering, before: None }
    }

    /// Goes on to the next rest, in one go; the outcome at the end.
    pub fn go_on(&mut self, devices: &mut Devices) -> Result<Option<Box<Outcome>>, Error> {
        self.join(devices)?;
        let device = devices.single()?;
        let mut played = Ok(Vec::new());
        loop {
            match self.clustering.advance(device, played)? {
                RankedNext::Run(recording) => played = device.run(recording),
                RankedNext::Rest => return Ok(None),
                RankedNext::Done(outcome) => return Ok(Some(outcome)),
            }
        }
    }

    /// Makes the device in f32 one of the ranks, unless it is one, or tells all others why it can't be.
    fn join(&mut self, devices: &mut Devices) -> Result<(), Error> {
        if self.before.is_some() {
            return Ok(());
        }
        meet(devices.single(), &self.ranks)?;
        let joined = devices.single().and_then(|device| Ok(device.join(Some(self.ranks.clone()))?));
        let others = failed_elsewhere(&*self.ranks, &joined);
        self.before = Some(joined?);
        others.map_err(Error::from)
    }

    /// Frees what it has on the device, and makes that again what it was before.
    pub fn leave(&mut self, devices: &mut Devices) {
        if let Some(before) = self.before.take()
            && let Ok(device) = devices.single()
        {
            self.clustering.dispose(device);
            // A device that is gone says so with its next use.
            let _ = device.join(before);
        }
    }
}

/// Has ranks meet by a device of each, over NCCL, where only the engine's own one has made a communicator. Then all have their device, or
/// all fail.
fn meet(device: Result<&mut Device, Error>, ranks: &Arc<dyn Communicator>) -> Result<(), Error> {
    if !Device::has_to_meet(&**ranks) {
        return Ok(());
    }
    Ok(everybody(&**ranks, device)?.meet(ranks)?)
}

/// Clustering that followers are to begin.
struct Told {
    /// Points of each, and the number of the first one.
    parts: Vec<(usize, Vec<f32>)>,
    options: Options,
    metric: String,
}

/// A clustering by all ranks.
struct RankedClusterJob {
    run: RankedRun,
    /// For followers, until they begin.
    told: Option<Told>,
    /// Part of the clustering that followers make, up to the next rest.
    elsewhere: Option<Iterating>,
    play: Option<Play>,
    /// Progress that was reported last.
    reported: f64,
    /// True once ranks know of its end.
    is_over: bool,
}

impl RankedClusterJob {
    fn next(&mut self, devices: &mut Devices, followers: Option<&Followers>, deadline: f64) -> Result<Turn<Box<Outcome>>, Error> {
        let Some(followers) = followers else { return self.slice(devices, deadline, false) };
        if let Some(Told { parts, options, metric }) = self.told.take() {
            followers.begin_clustering(parts, options, metric);
        }
        let elsewhere = self.elsewhere.get_or_insert_with(|| followers.go_on_clustering(&self.run.ranks));
        if self.run.clustering.is_by_itself() {
            return self.slice(devices, deadline, true);
        }
        // Followers wait for this rank up to the next rest.
        let outcome = self.run.go_on(devices).map_err(|error| elsewhere.reason(error));
        self.elsewhere = None;
        Ok(outcome?.map_or_else(|| self.progress().unwrap_or(Turn::Yielded), Turn::Over))
    }

    /// Goes on until the deadline, or to the next rest.
    fn slice(&mut self, devices: &mut Devices, deadline: f64, rests: bool) -> Result<Turn<Box<Outcome>>, Error> {
        self.run.join(devices)?;
        let device = devices.single()?;
        loop {
            let mut played = Ok(Vec::new());
            if let Some(play) = &mut self.play {
                match device.resume(play, deadline).map(|playing| Turn::from(playing).outcome()) {
                    Ok(Ok(values)) => played = Ok(values),
                    Ok(Err(turn)) => return Ok(turn),
                    Err(error) => played = Err(error),
                }
                self.play = None;
            }
            match self.run.clustering.advance(device, played)? {
                RankedNext::Run(recording) => self.play = Some(device.start(recording)),
                RankedNext::Rest if rests => {
                    self.elsewhere = None;
                    return Ok(Turn::Yielded);
                }
                RankedNext::Rest => {}
                RankedNext::Done(outcome) => return Ok(Turn::Over(outcome)),
            }
            if let Some(progress) = self.progress() {
                return Ok(progress);
            }
            if now_ms() >= deadline {
                return Ok(Turn::Yielded);
            }
        }
    }

    /// Progress that is worth reporting.
    fn progress<T>(&mut self) -> Option<Turn<T>> {
        let done = self.run.clustering.progress();
        (done >= self.reported + super::TOLD).then(|| {
            self.reported = done;
            Turn::Partly { done, total: 1.0 }
        })
    }
}

impl Job for RankedClusterJob {
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error> {
        if session.is_behind(task) {
            return Ok(Progress::Yielded.into());
        }
        let Session { devices, followers, .. } = session;
        let mut turn = self.next(devices, followers.as_ref(), deadline);
        if matches!(turn, Ok(Turn::Over(_)) | Err(_)) {
            self.is_over = true;
            self.run.leave(devices);
            let labels = followers.as_ref().map(Followers::end_clustering);
            if let (Ok(Turn::Over(outcome)), Some(labels)) = (&mut turn, labels) {
                outcome.labels.extend(labels.of_ranks(self.run.ranks.size())?);
            }
        }
        Ok(Progress::of(turn?, Progress::Clustering).into())
    }

    fn stop(&mut self, _: &mut Session, reason: &str) {
        self.run.clustering.stop(reason);
    }

    fn free(mut self: Box<Self>, session: &mut Session, _: u32) {
        if self.is_over {
            return;
        }
        match &session.followers {
            Some(_) if self.told.is_some() => {}
            // It is at a rest, or by itself: nobody waits for it.
            Some(followers) => drop(followers.end_clustering()),
            // First of all: what is on a GPU may wait for others, and ends with this.
            None => self.run.clustering.give_up(),
        }
        self.run.leave(&mut session.devices);
    }

    fn is_collective(&self) -> bool {
        true
    }
}

/// Contiguous parts of points, as even as can be: that of the first rank, and those of its followers with the numbers of their first points.
fn split(mut points: Vec<f32>, dim: usize, ranks: usize) -> (Vec<f32>, Vec<(usize, Vec<f32>)>) {
    let count = points.len() / dim;
    let mut of_rank = |rank: usize| {
        let first = count * rank / ranks;
        (first, points.split_off(first * dim))
    };
    let mut others: Vec<_> = (1..ranks).rev().map(&mut of_rank).collect();
    others.reverse();
    points.shrink_to_fit();
    (points, others)
}

impl Session {
    /// A task: finds clusters of the points of all ranks, of which these are this rank's; labels are those of its own points. `metric`
    /// names the metric for which points were prepared. All ranks make it, with the same options. A session that is no rank clusters
    /// its own points. One over several devices splits its points among them, unless there are fewer than devices: then they are
    /// clustered on the first one alone.
    pub fn cluster_by_ranks(&mut self, points: Vec<f32>, start: Option<&[f64]>, options: &Options, metric: &str) -> Result<u32, Error> {
        let Some(ranks) = self.ranks.clone() else { return self.cluster(points, start, options) };
        let mut options = Options { centroids: start.map(<[f64]>::to_vec).unwrap_or_default(), ..options.clone() };
        // On the CPU what is on the device is there twice. Ranks compare options, so it is no matter of a rank's own points.
        if !self.devices.main.is_queue() {
            options.device_bytes.get_or_insert(super::HELD as f64);
        }
        let (own, told) = if self.followers.is_none() {
            (points, None)
        } else {
            RankedClustering::check(&options)?;
            let (dim, size) = (options.dim as usize, ranks.size() as usize);
            if points.len() < size * dim || !points.len().is_multiple_of(dim) {
                return self.cluster(points, start, &options);
            }
            let (own, parts) = split(points, dim, size);
            (own, Some(Told { parts, options: options.clone(), metric: metric.into() }))
        };
        let run = RankedRun::new(ranks, own, options, metric);
        Ok(self.add_task(RankedClusterJob { run, told, elsewhere: None, play: None, reported: 0.0, is_over: false }))
    }
}
