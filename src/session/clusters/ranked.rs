//! Clusterings by all ranks of a session that is one of them: each gives its own points, and all get the same codebook.

use crate::Session;
use crate::job::{Job, Progress, Step};
use leastwise_anneal::cluster::{Next, Options, Outcome, RankedClustering};
use leastwise_base::clock::now_ms;
use leastwise_collective::{Communicator, Fault, failed_elsewhere};
use leastwise_device::{DeviceError, Play, Precision};
use leastwise_error::Error;
use leastwise_outer::{Devices, Turn};
use std::sync::Arc;

/// Refusal of a device in f32 beside one in f64 that NCCL does not know.
const ONE_DEVICE: &str = "cluster({ ranks: true }): clusters are found in f32, and an engine in f64 has no messages over NCCL in f32: \
    make the engine with precision: \"f32\"";

/// A clustering by all ranks. Its device is one of them as long as it runs.
struct RankedClusterJob {
    ranks: Arc<dyn Communicator>,
    clustering: RankedClustering,
    /// Communicator that the device had before it became one of the ranks; none before it did.
    before: Option<Option<Arc<dyn Communicator>>>,
    play: Option<Play>,
    /// Progress that was reported last.
    told: f64,
    /// True once ranks know of its end.
    is_over: bool,
}

impl RankedClusterJob {
    /// Makes the device in f32 one of the ranks, or tells all others why it can't be.
    fn join(&mut self, devices: &mut Devices) -> Result<(), Error> {
        let joined = joined(devices, &self.ranks);
        let others = failed_elsewhere(&*self.ranks, &joined);
        self.before = Some(joined?);
        others.map_err(Error::from)
    }

    fn next(&mut self, devices: &mut Devices, deadline: f64) -> Result<Turn<Box<Outcome>>, Error> {
        if self.before.is_none() {
            self.join(devices)?;
        }
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
            match self.clustering.advance(device, played)? {
                Next::Run(recording) => self.play = Some(device.start(recording)),
                Next::Done(outcome) => return Ok(Turn::Over(outcome)),
            }
            let progress = self.clustering.progress();
            if progress >= self.told + super::TOLD {
                self.told = progress;
                return Ok(Turn::Partly { done: progress, total: 1.0 });
            }
            if now_ms() >= deadline {
                return Ok(Turn::Yielded);
            }
        }
    }

    /// Makes the device again what it was before.
    fn leave(&mut self, devices: &mut Devices) {
        self.is_over = true;
        if let Some(before) = self.before.take()
            && let Ok(device) = devices.single()
        {
            // A device that is gone says so with its next use.
            let _ = device.join(before);
        }
    }
}

/// Has the device in f32 join; gives the communicator that it had.
fn joined(devices: &mut Devices, ranks: &Arc<dyn Communicator>) -> Result<Option<Arc<dyn Communicator>>, Error> {
    let is_own = devices.main.precision() == Precision::F32;
    devices.single()?.join(Some(ranks.clone())).map_err(|error| match error {
        DeviceError::Ranks(Fault::Refused(_)) if !is_own => Error::InvalidOption(ONE_DEVICE.into()),
        other => other.into(),
    })
}

impl Job for RankedClusterJob {
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error> {
        if session.is_behind(task) {
            return Ok(Progress::Yielded.into());
        }
        let turn = self.next(&mut session.devices, deadline);
        if matches!(turn, Ok(Turn::Over(_)) | Err(_)) {
            self.leave(&mut session.devices);
        }
        Ok(Progress::of(turn?, Progress::Clustering).into())
    }

    fn stop(&mut self, _: &mut Session, reason: &str) {
        self.clustering.stop(reason);
    }

    fn free(mut self: Box<Self>, session: &mut Session, _: u32) {
        if self.is_over {
            return;
        }
        // First of all: what is on a GPU may wait for others, and ends with this.
        self.clustering.give_up();
        if let Ok(device) = session.devices.single() {
            self.clustering.dispose(device);
        }
        self.leave(&mut session.devices);
    }

    fn is_collective(&self) -> bool {
        true
    }
}

impl Session {
    /// A task: finds clusters of the points of all ranks, of which these are this rank's; labels are those of its own points. `metric`
    /// names the metric for which points were prepared. All ranks make it, with the same options. A session that is no rank clusters
    /// its own points.
    pub fn cluster_by_ranks(&mut self, points: Vec<f32>, start: Option<&[f64]>, options: &Options, metric: &str) -> Result<u32, Error> {
        let ranks = self.ranks.clone().filter(|_| self.followers.is_none());
        let Some(ranks) = ranks else { return self.cluster(points, start, options) };
        let mut options = Options { centroids: start.map(<[f64]>::to_vec).unwrap_or_default(), ..options.clone() };
        // On the CPU what is on the device is there twice. Ranks compare options, so it is no matter of a rank's own points.
        if !self.devices.main.is_queue() {
            options.device_bytes.get_or_insert(super::HELD as f64);
        }
        let clustering = RankedClustering::new(ranks.clone(), points, options, metric);
        Ok(self.add_task(RankedClusterJob { ranks, clustering, before: None, play: None, told: 0.0, is_over: false }))
    }
}
