//! Clusterings as tasks.

use super::Session;
use super::task::{Progress, Task};
use leastwise_anneal::cluster::{Clustering, Next, Options};
use leastwise_device::{Device, Play, Playing, Precision, Reals, cpu::CpuDevice};
use leastwise_error::Error;

/// A clustering, and what of it is being played.
pub(super) struct ClusterTask {
    pub clustering: Clustering,
    play: Option<Play>,
    readback: Vec<f64>,
    /// The progress that was told last.
    told: f64,
    /// Whether what is being played was told to end.
    hurried: bool,
}

/// Bytes of points that the CPU's device has at a time, unless it is told.
const HELD: usize = 1 << 28;

/// Progress is told in steps of this.
const TOLD: f64 = 0.01;

impl Session {
    /// A task: finds clusters of points. Points are f32, whatever the engine's precision is: an engine in f64 has a second device
    /// for them, beside its own.
    pub fn cluster(&mut self, points: Vec<f32>, options: &Options) -> Result<u32, Error> {
        let device = self.single()?;
        let mut options = options.clone();
        // On the CPU what is on the device is there twice.
        if !device.is_queue() && size_of_val(&points[..]) > HELD {
            options.device_bytes.get_or_insert(HELD as f64);
        }
        let clustering = Clustering::new(device, points, &options)?;
        let task = ClusterTask { clustering, play: None, readback: Vec::new(), told: 0.0, hurried: false };
        Ok(self.add_task(Task::Cluster(Box::new(task))))
    }

    /// The device in f32.
    fn single(&mut self) -> Result<&mut Device, Error> {
        Self::single_of(&mut self.device, &mut self.single)
    }

    /// The same, of a session's parts.
    pub(super) fn single_of<'a>(own: &'a mut Device, single: &'a mut Option<Device>) -> Result<&'a mut Device, Error> {
        if own.precision() == Precision::F32 {
            return Ok(own);
        }
        let sibling = match (single.take(), own) {
            (Some(sibling), _) => sibling,
            #[cfg(feature = "cuda")]
            (None, Device::Cuda(device)) => Device::Cuda(Box::new(device.sibling(Precision::F32)?)),
            (None, Device::Wgpu(device)) => Device::Wgpu(Box::new(device.sibling(Reals::Single)?)),
            (None, device) => Device::Cpu(CpuDevice::new(Precision::F32, device.limits())),
        };
        Ok(single.insert(sibling))
    }

    pub(super) fn resume_cluster(&mut self, task: &mut ClusterTask, deadline: f64) -> Result<Progress, Error> {
        loop {
            let device = self.single()?;
            task.clustering.check_stop()?;
            if let Some(play) = &mut task.play {
                if task.clustering.is_urged() && !std::mem::replace(&mut task.hurried, true) {
                    task.clustering.hurry(device)?;
                }
                match device.resume(play, deadline)? {
                    Playing::Yielded => return Ok(Progress::Yielded),
                    Playing::Waiting(signal) => return Ok(Progress::Waiting(signal)),
                    Playing::Finished(values) => task.readback = values,
                }
                task.play = None;
            }
            match task.clustering.advance(device, &task.readback)? {
                Next::Run(recording) => task.play = Some(device.start(recording)),
                Next::Done(outcome) => return Ok(Progress::Clustering(outcome)),
            }
            let progress = task.clustering.progress();
            if progress >= task.told + TOLD {
                task.told = progress;
                return Ok(Progress::Partly { done: progress, total: 1.0 });
            }
        }
    }

    pub(super) fn end_cluster(&mut self, mut task: ClusterTask) {
        if let Ok(device) = self.single() {
            task.clustering.dispose(device);
        }
    }
}
