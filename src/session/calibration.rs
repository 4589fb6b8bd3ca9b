//! Measuring what the model of routing goes by: small graphs on one device and on the other, the least time of several runs.

use super::Session;
use super::task::Progress;
use super::tensors::TensorTask;
use crate::clock::now_ms;
use crate::error::Error;
use crate::tensor::graph::{Data, Graph, Node};
use crate::tensor::routing::{Mode, Place};
use std::sync::Arc;

/// Runs of an experiment; the first one makes kernels.
const RUNS: usize = 4;

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Experiment {
    /// One small kernel.
    Idle,
    /// So many small kernels more.
    Launches,
    /// A sum of long tensors.
    Moving,
    /// Many operations an element.
    Computing,
    /// A product of matrices.
    Multiplying,
    /// A long tensor that is read back.
    Reading,
}

impl Experiment {
    const ALL: [Self; 6] = [Self::Idle, Self::Launches, Self::Moving, Self::Computing, Self::Multiplying, Self::Reading];
    const LAUNCHES: u32 = 32;
    const WAVES: u32 = 16;
    const EDGE: u32 = 256;

    /// Elements of long tensors. The CPU needs fewer to be seen at work.
    const fn long(place: Place) -> u32 {
        match place {
            Place::Device => 1 << 20,
            Place::Cpu => 1 << 18,
        }
    }

    /// Whether it tells something of a place: transfers are the device's.
    fn is_of(self, place: Place) -> bool {
        place == Place::Device || self != Self::Reading
    }

    /// What is computed, and what is read of it.
    fn graph(self, graph: &mut Graph, place: Place) -> Result<(Node, Node), Error> {
        let mut stored = |shape: &[u32]| {
            let count = shape.iter().product::<u32>() as usize;
            graph.stored(Data::Singles(Arc::new(vec![0.5; count])), shape.to_vec())
        };
        let result = match self {
            Self::Idle => {
                let x = stored(&[4, 4]);
                graph.matmul(x, x)?
            }
            Self::Launches => {
                let x = stored(&[4, 4]);
                (0..=Self::LAUNCHES).try_fold(x, |y, _| graph.matmul(y, x))?
            }
            Self::Moving | Self::Reading => {
                let (x, y) = (stored(&[Self::long(place)]), stored(&[Self::long(place)]));
                graph.apply("add", &[x, y])?
            }
            Self::Computing => {
                let x = stored(&[Self::long(place) / 16]);
                (0..Self::WAVES).try_fold(x, |y, _| graph.apply("sin", &[y]))?
            }
            Self::Multiplying => {
                let x = stored(&[Self::EDGE, Self::EDGE]);
                graph.matmul(x, x)?
            }
        };
        if self == Self::Reading {
            return Ok((result, result));
        }
        let flat = graph.reshape(result, &[-1.0])?;
        Ok((result, graph.slice(flat, 0.0, 0.0, 1.0, 1.0)?))
    }
}

pub(super) struct Calibration {
    /// What is run where, and the least milliseconds that it took.
    series: Vec<(Place, Experiment)>,
    ms: Vec<f64>,
    /// Operations of what was computed last.
    operations: Vec<f64>,
    run: usize,
    running: Option<(Box<TensorTask>, f64)>,
    mode: Mode,
}

impl Session {
    /// A task: measures both devices. Its values are the model's numbers: those of the session's device, of the CPU beside it (the
    /// same, where there is none), microseconds of a readback, and gigabytes a second of transfers.
    pub fn measure_tensors(&mut self) -> Result<u32, Error> {
        let (mode, both) = {
            let (tensors, devices) = self.devices(false)?;
            (tensors.router.mode(), devices.cpu.is_some())
        };
        let places = if both { &Place::ALL[..] } else { &Place::ALL[..1] };
        let all = |&place: &Place| Experiment::ALL.into_iter().filter(move |of| of.is_of(place)).map(move |of| (place, of));
        let series: Vec<_> = places.iter().flat_map(all).collect();
        let count = series.len();
        let calibration = Calibration { series, ms: vec![f64::INFINITY; count], operations: vec![0.0; count], run: 0, running: None, mode };
        Ok(self.add_task(super::task::Task::Calibration(Box::new(calibration))))
    }

    pub(super) fn resume_calibration(&mut self, number: u32, task: &mut Calibration, deadline: f64) -> Result<Progress, Error> {
        loop {
            let at = task.run / RUNS;
            let Some(&(place, experiment)) = task.series.get(at) else {
                self.set_mode(task.mode)?;
                return Ok(Progress::Values(task.model()));
            };
            if task.running.is_none() {
                self.set_mode(if place == Place::Cpu { Mode::Cpu } else { Mode::Device })?;
                let (tensors, _) = self.devices(false)?;
                let made = tensors.graph.made(|graph| experiment.graph(graph, place).map(|(result, read)| vec![result, read]))?;
                let evaluation = TensorTask::new(false, vec![made[0]], vec![made[1]]);
                task.running = Some((Box::new(evaluation), now_ms()));
            }
            let Some((running, started)) = &mut task.running else { continue };
            let started = *started;
            let progress = self.resume_tensors(number, running, deadline)?;
            if !matches!(progress, Progress::Values(_)) {
                return Ok(progress);
            }
            let ms = now_ms() - started;
            task.operations[at] = self.devices(false)?.0.trace.iter().map(|step| step.operations).sum();
            // The first run made kernels.
            if !task.run.is_multiple_of(RUNS) {
                task.ms[at] = task.ms[at].min(ms);
            }
            task.run += 1;
            if let Some((running, _)) = task.running.take() {
                self.end_tensors(number, *running);
            }
        }
    }

    fn set_mode(&mut self, mode: Mode) -> Result<(), Error> {
        let router = &mut self.devices(false)?.0.router;
        router.set(mode, router.model());
        Ok(())
    }

    pub(super) fn end_calibration(&mut self, number: u32, task: Calibration) {
        // The mode is one of a router that is there.
        let _ = self.set_mode(task.mode);
        if let Some((running, _)) = task.running {
            self.end_tensors(number, *running);
        }
    }
}

impl Calibration {
    /// Which number is the CPU's gigabytes a second.
    const CPU_GIGABYTES: usize = 5;

    /// The numbers of the model.
    fn model(&self) -> Vec<f64> {
        let of = |place: Place, experiment: Experiment| {
            let found = self.series.iter().position(|known| *known == (place, experiment));
            // Where there is one device, the other is the same.
            found.unwrap_or_else(|| self.series.iter().position(|known| known.1 == experiment).unwrap_or(0))
        };
        // Nothing takes less than a clock can tell.
        let above =
            |place: Place, experiment: Experiment| (self.ms[of(place, experiment)] - self.ms[of(place, Experiment::Idle)]).max(1e-3);
        let long_of = |place: Place| Experiment::long(self.series[of(place, Experiment::Moving)].0);
        let mut numbers = Vec::new();
        for place in Place::ALL {
            let launch_us = 1e3 * above(place, Experiment::Launches) / f64::from(Experiment::LAUNCHES);
            let gigabytes = 12.0 * f64::from(long_of(place)) / above(place, Experiment::Moving) / 1e6;
            let gigaops = self.operations[of(place, Experiment::Computing)] / above(place, Experiment::Computing) / 1e6;
            let product = 2.0 * f64::from(Experiment::EDGE).powi(3) / above(place, Experiment::Multiplying) / 1e6;
            numbers.extend([launch_us, gigabytes, gigaops, product]);
        }
        let read = (self.ms[of(Place::Device, Experiment::Reading)] - self.ms[of(Place::Device, Experiment::Moving)]).max(1e-3);
        // The CPU copies what is brought over, so that this is not faster than its memory.
        let transfer = (4.0 * f64::from(Experiment::long(Place::Device)) / read / 1e6).min(numbers[Self::CPU_GIGABYTES]);
        numbers.extend([1e3 * self.ms[of(Place::Device, Experiment::Idle)], transfer]);
        numbers
    }
}
