//! Graphs of indices while they are built: by the session's device where that is worth its while, else by the CPU, which also begins and ends
//! every build. [`Built`] says who it was, and why.

use super::Session;
use super::indices::{Kept, Place};
use super::job::Progress;
use leastwise_anneal::graph::device::{FEWEST, Next, OnDevice};
use leastwise_anneal::index::Index;
use leastwise_anneal::index::graphed::{Building, Built};
use leastwise_base::clock::now_ms;
use leastwise_device::{DeviceError, Play, Playing, Profile};
use leastwise_error::Error;

/// A build on its way.
pub(super) struct GraphBuild {
    index: u32,
    building: Building,
    stage: Stage,
}

/// Place where vectors are inserted.
enum Stage {
    /// None, until it is known what there is to be inserted.
    Undecided,
    Host,
    Device {
        on: Box<OnDevice>,
        play: Option<Box<Play>>,
        readback: Vec<f64>,
    },
}

impl GraphBuild {
    /// A build of this index, which has that number.
    ///
    /// # Errors
    /// As [`Building::new`].
    pub fn new(index: u32, of: &Index, degree: Option<u32>, effort: Option<u32>) -> Result<Self, Error> {
        Ok(Self { index, building: Building::new(of, degree, effort)?, stage: Stage::Undecided })
    }
}

impl Session {
    /// Goes on with a graph until it is there, the device must be waited for, or the time is up.
    // Apart: its part of the module may be absent.
    #[inline(never)]
    pub(super) fn resume_graph(&mut self, build: &mut GraphBuild, deadline: f64) -> Result<Progress, Error> {
        if build.building.is_stale(self.indices.get(build.index)?) {
            self.leave_device(build);
            build.stage = Stage::Undecided;
        }
        loop {
            let kept = self.indices.kept(build.index)?;
            if !build.building.prepare(&kept.index, deadline)? {
                return Ok(build.progress());
            }
            match &mut build.stage {
                Stage::Undecided => self.decide(build)?,
                Stage::Host => {
                    if !build.building.advance(&mut kept.index, deadline)? {
                        return Ok(build.progress());
                    }
                    // Another model would have no graph.
                    kept.settle();
                    return Ok(Progress::Values(Vec::new()));
                }
                Stage::Device { .. } => match self.insert(build, deadline) {
                    Ok(None) => {}
                    Ok(Some(progress)) => return Ok(progress),
                    // Nobody can tell beforehand how much room there is.
                    Err(error @ Error::Device(DeviceError::OutOfMemory { .. })) => {
                        self.leave_device(build);
                        build.building.by = Built { reason: Some(error.to_string()), ..Built::default() };
                        // Lists are on the device, and gone with it, from the first batch on.
                        if !build.building.builder().is_some_and(|builder| builder.is_fresh()) {
                            build.building.restart(self.indices.get(build.index)?)?;
                        }
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Finds out who inserts the vectors.
    fn decide(&mut self, build: &mut GraphBuild) -> Result<(), Error> {
        let Kept { place, .. } = *self.indices.kept(build.index)?;
        build.stage = Stage::Host;
        build.building.by = Built::default();
        let Some(builder) = build.building.builder() else { return Ok(()) };
        let reason = if !self.devices.main.is_queue() || place == Place::Cpu {
            return Ok(());
        } else if builder.left() == 0 {
            "no vectors to insert".into()
        } else if place == Place::Auto && builder.left() < FEWEST {
            format!("fewer than {FEWEST} vectors to insert")
        } else if place == Place::Auto && self.devices.main.profile() == Profile::Software {
            "the adapter is software, which takes longer".into()
        } else {
            let device = self.devices.single()?;
            match OnDevice::new(device, builder) {
                Ok(on) => {
                    build.building.by = Built { backend: device.backend(), reason: None };
                    build.stage = Stage::Device { on: Box::new(on), play: None, readback: Vec::new() };
                    return Ok(());
                }
                Err(error @ (Error::Limits(_) | Error::Device(DeviceError::OutOfMemory { .. }))) => error.to_string(),
                Err(error) => return Err(error),
            }
        };
        build.building.by.reason = Some(reason);
        Ok(())
    }

    /// Goes on with what the device inserts; nothing once that is done.
    fn insert(&mut self, build: &mut GraphBuild, deadline: f64) -> Result<Option<Progress>, Error> {
        let GraphBuild { building, stage: Stage::Device { on, play, readback }, .. } = build else { return Ok(None) };
        let device = self.devices.single()?;
        if let Some(current) = play {
            match device.resume(current, deadline)? {
                Playing::Yielded => return Ok(Some(Progress::Yielded)),
                Playing::Waiting(signal) => return Ok(Some(Progress::Waiting(signal))),
                Playing::Finished(values) => *readback = values,
            }
            *play = None;
        }
        let builder = building.builder().ok_or(Error::Internal("a graph is built of nothing"))?;
        let left = builder.left();
        match on.advance(builder, readback) {
            Next::Run(recording) => *play = Some(Box::new(device.start(recording))),
            Next::Done => self.leave_device(build),
        }
        let is_further = build.building.builder().is_some_and(|builder| builder.left() < left);
        Ok((is_further || now_ms() >= deadline).then(|| build.progress()))
    }

    /// Frees what a build has on the device; the CPU goes on with it.
    fn leave_device(&mut self, build: &mut GraphBuild) {
        if let (Stage::Device { on, .. }, Ok(device)) = (std::mem::replace(&mut build.stage, Stage::Host), self.devices.single()) {
            on.dispose(device);
        }
    }

    /// Frees what a build that is over, was dropped or failed has on the device.
    #[inline(never)]
    pub(super) fn end_graph(&mut self, mut build: GraphBuild) {
        self.leave_device(&mut build);
    }
}

impl GraphBuild {
    fn progress(&self) -> Progress {
        let (done, total) = self.building.progress();
        Progress::Partly { done, total }
    }
}
