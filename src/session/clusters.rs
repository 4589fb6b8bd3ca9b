//! Clusterings as jobs.

#[cfg(not(target_arch = "wasm32"))]
mod ranked;

#[cfg(not(target_arch = "wasm32"))]
pub(super) use ranked::{RankedRun, meet};

use super::Session;
use super::job::{Job, Progress, Step};
use leastwise_anneal::cluster::{Clustering, Next, Options, Outcome};
use leastwise_device::Play;
use leastwise_error::Error;
use leastwise_outer::{Devices, Turn};

/// A clustering, and the recording of it that is being played.
pub(super) struct ClusterRun {
    clustering: Clustering,
    play: Option<Play>,
    readback: Vec<f64>,
    /// Progress that was reported last.
    told: f64,
    /// True once the recording that is being played was told to end.
    hurried: bool,
}

/// Bytes of points that the CPU's device has at a time, unless it is told.
const HELD: usize = 1 << 28;

/// Progress is told in steps of this.
const TOLD: f64 = 0.01;

impl ClusterRun {
    /// Finds clusters of points. Points are f32, whatever the engine's precision is: an engine in f64 has a second device for them,
    /// beside its own.
    pub fn new(devices: &mut Devices, points: Vec<f32>, options: &Options) -> Result<Self, Error> {
        let device = devices.single()?;
        let mut options = options.clone();
        // On the CPU what is on the device is there twice.
        if !device.is_queue() && size_of_val(&points[..]) > HELD {
            options.device_bytes.get_or_insert(HELD as f64);
        }
        let clustering = Clustering::new(device, points, &options)?;
        Ok(Self { clustering, play: None, readback: Vec::new(), told: 0.0, hurried: false })
    }

    pub fn resume(&mut self, devices: &mut Devices, deadline: f64) -> Result<Turn<Box<Outcome>>, Error> {
        let device = devices.single()?;
        loop {
            self.clustering.check_stop()?;
            if let Some(play) = &mut self.play {
                if self.clustering.is_urged() && !std::mem::replace(&mut self.hurried, true) {
                    self.clustering.hurry(device)?;
                }
                match Turn::from(device.resume(play, deadline)?).outcome() {
                    Ok(values) => self.readback = values,
                    Err(turn) => return Ok(turn),
                }
                self.play = None;
            }
            match self.clustering.advance(device, &self.readback)? {
                Next::Run(recording) => self.play = Some(device.start(recording)),
                Next::Done(outcome) => return Ok(Turn::Over(outcome)),
            }
            let progress = self.clustering.progress();
            if progress >= self.told + TOLD {
                self.told = progress;
                return Ok(Turn::Partly { done: progress, total: 1.0 });
            }
        }
    }

    /// Frees what it has on the device.
    pub fn free(mut self, devices: &mut Devices) {
        if let Ok(device) = devices.single() {
            self.clustering.dispose(device);
        }
    }
}

struct ClusterJob(Box<ClusterRun>);

impl Job for ClusterJob {
    fn resume(&mut self, session: &mut Session, _: u32, deadline: f64) -> Result<Step, Error> {
        Ok(Progress::of(self.0.resume(&mut session.devices, deadline)?, Progress::Clustering).into())
    }

    fn stop(&mut self, _: &mut Session, reason: &str) {
        self.0.clustering.stop(reason);
    }

    fn free(self: Box<Self>, session: &mut Session, _: u32) {
        self.0.free(&mut session.devices);
    }
}

impl Session {
    /// A task: finds clusters of points, from these centroids where some are given.
    pub fn cluster(&mut self, points: Vec<f32>, start: Option<&[f64]>, options: &Options) -> Result<u32, Error> {
        let options = Options { centroids: start.map(<[f64]>::to_vec).unwrap_or_default(), ..options.clone() };
        let run = ClusterRun::new(&mut self.devices, points, &options)?;
        Ok(self.add_task(ClusterJob(Box::new(run))))
    }
}
