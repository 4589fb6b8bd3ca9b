//! Measuring what the model of routing goes by: graphs on one device and on the other, the least time of several runs, of operands
//! that are there already. How much there is to do depends on the kind of device, so that it is more than a readback's own spread.

use super::Session;
use super::job::{Job, Progress, Step};
use super::tensors::TensorRun;
use leastwise_base::clock::now_ms;
use leastwise_device::Profile;
use leastwise_error::Error;
use leastwise_tensor::graph::{Data, Graph, Node};
use leastwise_tensor::routing::{Mode, Place};
use std::sync::Arc;

/// Runs of an experiment; the first one makes kernels.
const RUNS: usize = 3;

/// Kind of experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Experiment {
    /// One small kernel.
    Idle,
    /// So many small kernels more.
    Launches,
    /// Rows that are gathered, which a kernel each copies.
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
    const WIDTH: u32 = 256;

    /// True if it measures something of a place: transfers are the device's.
    fn is_of(self, place: Place) -> bool {
        place == Place::Device || self != Self::Reading
    }

    /// Operands, which are held. Their elements are the ones given, or others where more or fewer are needed.
    fn operands(self, graph: &mut Graph, effort: &Effort, elements: &mut Arc<Vec<f32>>) -> Vec<Node> {
        let rows = effort.long / Self::WIDTH;
        let shape = match self {
            Self::Idle | Self::Launches => vec![4, 4],
            Self::Moving => vec![rows, Self::WIDTH],
            Self::Reading => vec![effort.read],
            Self::Computing => vec![effort.waving],
            Self::Multiplying => vec![effort.edge, effort.edge],
        };
        let count = shape.iter().product::<u32>() as usize;
        if elements.len() != count {
            *elements = Arc::new(vec![0.01; count]);
        }
        let mut all = vec![graph.stored(Data::Singles(elements.clone()), shape)];
        if self == Self::Moving {
            all.push(graph.numbers((0..rows).collect(), vec![rows]));
        }
        all.into_iter().map(|node| graph.hold(node)).collect()
    }

    /// The result, and the part of it that is read.
    fn graph(self, graph: &mut Graph, operands: &[Node], effort: &Effort) -> Result<(Node, Node), Error> {
        let x = operands[0];
        let result = match self {
            Self::Idle => graph.matmul(x, x)?,
            Self::Launches => (0..=Self::LAUNCHES).try_fold(x, |y, _| graph.matmul(y, x))?,
            Self::Moving => (0..effort.passes).try_fold(x, |y, _| graph.gather(y, operands[1]))?,
            Self::Reading => graph.apply("square", &[x])?,
            Self::Computing => (0..effort.waves).try_fold(x, |y, _| graph.apply("sin", &[y]))?,
            Self::Multiplying => (0..effort.products).try_fold(x, |y, _| graph.matmul(y, x))?,
        };
        if self == Self::Reading {
            return Ok((result, result));
        }
        let flat = graph.reshape(result, &[-1.0])?;
        Ok((result, graph.slice(flat, 0.0, 0.0, 1.0, 1.0)?))
    }
}

/// Amount of work of an experiment.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// Elements that are moved, and how often.
    long: u32,
    passes: u32,
    /// Elements that are read back.
    read: u32,
    /// Elements of which sines are taken, and how often.
    waving: u32,
    waves: u32,
    /// The edge of square matrices, and how many products.
    edge: u32,
    products: u32,
}

impl Effort {
    const fn of(profile: Profile) -> Self {
        match profile {
            Profile::Gpu => Self { long: 1 << 21, passes: 64, read: 1 << 20, waving: 1 << 21, waves: 8, edge: 1024, products: 8 },
            Profile::Software => Self { long: 1 << 20, passes: 2, read: 1 << 20, waving: 1 << 18, waves: 4, edge: 256, products: 1 },
            Profile::Cpu => Self { long: 1 << 18, passes: 2, read: 1 << 18, waving: 1 << 16, waves: 4, edge: 256, products: 1 },
        }
    }
}

struct Calibration {
    /// Experiments with their places, and the least milliseconds of each.
    series: Vec<(Place, Experiment)>,
    /// Efforts of both places.
    efforts: [Effort; 2],
    /// The running experiment's, from its first run on.
    operands: Vec<Node>,
    /// Elements of the last operands.
    elements: Arc<Vec<f32>>,
    ms: Vec<f64>,
    /// Operations of what was computed last.
    operations: Vec<f64>,
    run: usize,
    running: Option<(Box<TensorRun>, f64)>,
    mode: Mode,
}

impl Job for Calibration {
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error> {
        session.resume_calibration(task, self, deadline).map(Step::from)
    }

    fn free(self: Box<Self>, session: &mut Session, task: u32) {
        session.end_calibration(task, *self);
    }
}

impl Session {
    /// A task: measures both devices. Its values are the model's numbers: those of the session's device, of the CPU beside it (the
    /// same, where there is none), microseconds of a readback, and gigabytes a second of transfers.
    pub fn measure_tensors(&mut self) -> Result<u32, Error> {
        let (mode, both, profile) = {
            let (tensors, devices) = self.tensor_devices(false)?;
            (tensors.router.mode(), devices.cpu.is_some(), devices.main.profile())
        };
        let places = if both { &Place::ALL[..] } else { &Place::ALL[..1] };
        let all = |&place: &Place| Experiment::ALL.into_iter().filter(move |of| of.is_of(place)).map(move |of| (place, of));
        let series: Vec<_> = places.iter().flat_map(all).collect();
        let count = series.len();
        let calibration = Calibration {
            series,
            efforts: [profile, Profile::Cpu].map(Effort::of),
            operands: Vec::new(),
            elements: Arc::default(),
            ms: vec![f64::INFINITY; count],
            operations: vec![0.0; count],
            run: 0,
            running: None,
            mode,
        };
        Ok(self.add_task(calibration))
    }

    fn resume_calibration(&mut self, number: u32, task: &mut Calibration, deadline: f64) -> Result<Progress, Error> {
        loop {
            let at = task.run / RUNS;
            let Some(&(place, experiment)) = task.series.get(at) else {
                self.set_mode(task.mode)?;
                self.release_operands(task);
                return Ok(Progress::Values(task.model()));
            };
            if task.running.is_none() {
                self.set_mode(if place == Place::Cpu { Mode::Cpu } else { Mode::Device })?;
                let effort = task.efforts[place as usize];
                let (tensors, _) = self.tensor_devices(false)?;
                if task.run.is_multiple_of(RUNS) {
                    std::mem::take(&mut task.operands).into_iter().for_each(|node| tensors.graph.release(node));
                    task.operands = experiment.operands(&mut tensors.graph, &effort, &mut task.elements);
                }
                let operands = &task.operands;
                let made =
                    tensors.graph.made(|graph| experiment.graph(graph, operands, &effort).map(|(result, read)| vec![result, read]))?;
                let evaluation = TensorRun::measured(vec![made[0]], vec![made[1]]);
                task.running = Some((Box::new(evaluation), now_ms()));
            }
            let Some((running, started)) = &mut task.running else { continue };
            let started = *started;
            let progress = self.resume_tensors(number, running, deadline)?;
            if !matches!(progress, Progress::Values(_)) {
                return Ok(progress);
            }
            let ms = now_ms() - started;
            task.operations[at] = self.tensor_devices(false)?.0.trace.iter().map(|step| step.operations).sum();
            // The first run made kernels, and brought operands.
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
        let router = &mut self.tensor_devices(false)?.0.router;
        router.set(mode, router.model());
        Ok(())
    }

    fn release_operands(&mut self, task: &mut Calibration) {
        let operands = std::mem::take(&mut task.operands);
        if let Ok((tensors, _)) = self.tensor_devices(false) {
            operands.into_iter().for_each(|node| tensors.graph.release(node));
            tensors.collect();
        }
    }

    fn end_calibration(&mut self, number: u32, mut task: Calibration) {
        self.release_operands(&mut task);
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
        let effort_of = |place: Place| self.efforts[self.series[of(place, Experiment::Moving)].0 as usize];
        let mut numbers = Vec::new();
        for place in Place::ALL {
            let launch_us = 1e3 * above(place, Experiment::Launches) / f64::from(Experiment::LAUNCHES);
            let Effort { long, passes, edge, products, .. } = effort_of(place);
            // An element is read and written.
            let gigabytes = 8.0 * f64::from(passes) * f64::from(long) / above(place, Experiment::Moving) / 1e6;
            let gigaops = self.operations[of(place, Experiment::Computing)] / above(place, Experiment::Computing) / 1e6;
            let product = 2.0 * f64::from(products) * f64::from(edge).powi(3) / above(place, Experiment::Multiplying) / 1e6;
            numbers.extend([launch_us, gigabytes, gigaops, product]);
        }
        let read = above(Place::Device, Experiment::Reading);
        // The CPU copies what is brought over, so that this is not faster than its memory.
        let transfer = (4.0 * f64::from(self.efforts[Place::Device as usize].read) / read / 1e6).min(numbers[Self::CPU_GIGABYTES]);
        numbers.extend([1e3 * self.ms[of(Place::Device, Experiment::Idle)], transfer]);
        numbers
    }
}
