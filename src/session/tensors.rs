//! Evaluations of tensors as jobs.
//!
//! There are two contexts of them, of f32 and of f64, each with a graph, a device, and, where that is a queue, the CPU beside
//! it. Evaluations of a context follow one another: what one gives back, the next may take.

use super::Session;
use super::job::{Job, Progress, Step};
use leastwise_base::memory;
use leastwise_cpu::CpuDevice;
use leastwise_cpu::block::elements_read;
use leastwise_cpu::half;
use leastwise_device::{Device, Play, Precision, Slice};
use leastwise_error::Error;
use leastwise_outer::Turn;
use leastwise_problem::Reals;
use leastwise_tensor::formula::Slopes;
use leastwise_tensor::graph::{Data, Node, Values, elements};
use leastwise_tensor::pool::PoolStatistics;
use leastwise_tensor::routing::{Mode, Model, Place};
use leastwise_tensor::runtime::{Devices, Evaluation, Next, Preparation, Products, Statistics, Tensors, Traced};
use std::sync::Arc;

/// The bit of tensors in f64.
const DOUBLE: u32 = 1 << 31;

/// Elements that one evaluation brings back, each as an f64: in WebAssembly half of the largest array there can be.
const MOST_READ: u64 = if cfg!(target_arch = "wasm32") { 1 << 27 } else { 1 << 32 };

/// Tensors of one precision.
pub(super) struct TensorContext {
    pub(super) tensors: Tensors,
    /// The device, where it is not the session's own or the one beside it.
    own: Option<Device>,
    cpu: Option<Device>,
    /// The task of the evaluation that is on its way.
    active: Option<Active>,
}

/// The task that evaluates.
#[derive(Clone, Copy)]
pub(super) struct Active {
    task: u32,
    /// True for a measurement, which must not wait for others: they wait for it.
    is_measured: bool,
}

pub(super) struct TensorRun {
    double: bool,
    is_measured: bool,
    preparation: Option<Preparation>,
    evaluation: Option<Evaluation>,
    outputs: Vec<Node>,
    read: Vec<Node>,
    play: Option<(Place, Play)>,
    readback: Vec<f64>,
    /// Values of an evaluation that somebody else has brought to its end.
    #[cfg(not(target_arch = "wasm32"))]
    ended: Option<Vec<f64>>,
}

impl TensorRun {
    /// The tensors are held already.
    pub(super) fn new(double: bool, outputs: Vec<Node>, read: Vec<Node>) -> Self {
        Self {
            double,
            is_measured: false,
            preparation: None,
            evaluation: None,
            outputs,
            read,
            play: None,
            readback: Vec::new(),
            #[cfg(not(target_arch = "wasm32"))]
            ended: None,
        }
    }

    /// The evaluation, once it is made.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn evaluation(&mut self) -> Option<&mut Evaluation> {
        self.evaluation.as_mut()
    }

    /// Goes on with a recording that was made of the evaluation.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn play(&mut self, place: Place, play: Play) {
        self.play = Some((place, play));
    }

    /// Ends with the values of an evaluation that had nothing to compute.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn end(&mut self, values: Vec<f64>) {
        (self.evaluation, self.ended) = (None, Some(values));
    }

    /// An evaluation that is part of a measurement.
    pub(super) fn measured(outputs: Vec<Node>, read: Vec<Node>) -> Self {
        Self { is_measured: true, ..Self::new(false, outputs, read) }
    }
}

struct TensorJob(Box<TensorRun>);

impl Job for TensorJob {
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error> {
        session.resume_tensors(task, &mut self.0, deadline).map(Step::from)
    }

    fn free(self: Box<Self>, session: &mut Session, task: u32) {
        session.end_tensors(task, *self.0);
    }
}

/// Settings of evaluations; those that are absent stay as they are.
#[derive(Default, serde::Deserialize, Debug)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TensorSettings {
    /// Routing of steps: `"auto"`, `"device"` or `"cpu"`.
    pub routing: Option<String>,
    /// Rates of both devices, which `"auto"` routes by.
    pub model: Option<Model>,
    /// Factor by which the CPU must be faster than the device to get a step; positive.
    pub advantage: Option<f64>,
    /// Bytes of unused buffers that each device's pool keeps.
    pub pool_bytes: Option<f64>,
    /// True if elementwise operations run within other kernels.
    pub fused: Option<bool>,
    /// Products of matrices: `"library"`, `"tf32"` or `"own"`.
    pub products: Option<String>,
    /// Slopes at the edges of domains and outside of them: `"finite"` or `"limits"`.
    pub slopes: Option<String>,
}

/// Statistics of evaluations and of buffers.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct TensorStatistics {
    /// Statistics of evaluations.
    #[serde(flatten)]
    pub runs: Statistics,
    /// Statistics of both devices' pools.
    #[serde(flatten)]
    pub pool: PoolStatistics,
    /// Elements that kernels on the CPU read where they lie.
    #[serde(rename = "inPlace")]
    pub in_place: u64,
    /// Elements that they copied first.
    pub copied: u64,
}

pub(super) fn parts(id: u32) -> (bool, Node) {
    (id & DOUBLE != 0, Node(id & !DOUBLE))
}

pub(super) fn id(double: bool, node: Node) -> u32 {
    if double { node.0 | DOUBLE } else { node.0 }
}

impl Session {
    /// The tensors of a precision, and their devices.
    fn tensor_context(&mut self, double: bool) -> Result<(&mut Tensors, Devices<'_>, &mut Option<Active>), Error> {
        let own = self.devices.main.precision() == Precision::F64;
        if self.tensor_contexts[usize::from(double)].is_none() {
            let beside = |precision| Device::Cpu(CpuDevice::new(precision, CpuDevice::default_limits()));
            let device = match (&mut self.devices.main, double, own) {
                (_, true, true) | (_, false, _) => None,
                (Device::Wgpu(_), true, false) => {
                    return Err(Error::InvalidOption("dtype \"f64\": WebGPU has no f64; use backend \"cpu\" or \"cuda\"".into()));
                }
                #[cfg(feature = "cuda")]
                (Device::Cuda(device), true, false) => Some(Device::Cuda(Box::new(device.sibling(Precision::F64)?))),
                (Device::Cpu(_), true, false) => Some(beside(Precision::F64)),
            };
            let precision = if double { Precision::F64 } else { Precision::F32 };
            let cpu = self.devices.main.is_queue().then(|| beside(precision));
            let mut tensors = Tensors::new(precision.bytes());
            // Settings hold for tensors of both precisions, whenever the first of them is made.
            if let Some(other) = &self.tensor_contexts[usize::from(!double)] {
                tensors.set_like(&other.tensors);
            }
            self.tensor_contexts[usize::from(double)] = Some(Box::new(TensorContext { tensors, own: device, cpu, active: None }));
        }
        let Some(TensorContext { tensors, own: device, cpu, active }) = self.tensor_contexts[usize::from(double)].as_deref_mut() else {
            return Err(Error::Internal("a tensor context was not made"));
        };
        let main = match device {
            Some(device) => device,
            None if double => &mut self.devices.main,
            None => self.devices.single()?,
        };
        Ok((tensors, Devices { main, cpu: cpu.as_mut() }, active))
    }

    /// The tensors of a precision and their devices.
    pub(super) fn tensor_devices(&mut self, double: bool) -> Result<(&mut Tensors, Devices<'_>), Error> {
        self.tensor_context(double).map(|(tensors, devices, _)| (tensors, devices))
    }

    pub(super) fn tensors(&mut self, double: bool) -> Result<&mut Tensors, Error> {
        self.tensor_context(double).map(|(tensors, ..)| tensors)
    }

    /// The precision that all of some tensors have.
    pub(super) fn nodes(ids: &[u32], double: bool) -> Result<(bool, Vec<Node>), Error> {
        let double = ids.first().map_or(double, |&id| parts(id).0);
        if ids.iter().any(|&id| parts(id).0 != double) {
            return Err(Error::Shape {
                name: "tensor".into(),
                message: "tensors of f32 and of f64 do not mix: make them with one dtype".into(),
            });
        }
        Ok((double, ids.iter().map(|&id| parts(id).1).collect()))
    }

    /// Ids, values and shapes, one after the other: id, kind of values and number of axes in a word, sizes.
    pub(super) fn packed(&mut self, double: bool, nodes: &[Node]) -> Result<Vec<u32>, Error> {
        let graph = &self.tensors(double)?.graph;
        let mut packed = Vec::new();
        for &node in nodes {
            let (shape, values) = (graph.shape(node), graph.entry(node).values);
            // Beside the number of axes: which values there are.
            let kind = match values {
                Values::Reals => 0,
                Values::Integers => 1,
                Values::Booleans => 2,
            };
            packed.extend([id(double, node), shape.len() as u32 | kind << 16]);
            packed.extend(shape);
        }
        Ok(packed)
    }

    /// A tensor of the host's elements.
    pub fn tensor(&mut self, values: Reals, shape: &[u32], double: bool) -> Result<Vec<u32>, Error> {
        Self::counted(values.len(), shape)?;
        let data = match values {
            Reals::F32(values) if double => {
                let mut doubles = memory::room(values.len(), "the tensor's elements")?;
                doubles.extend(values.iter().map(|&value| f64::from(value)));
                Data::Doubles(doubles)
            }
            Reals::F32(values) => Data::Singles(Arc::new(memory::copy(values, "the tensor's elements")?)),
            Reals::F64(values) => Data::Doubles(memory::copy(values, "the tensor's elements")?),
        };
        let graph = &mut self.tensors(double)?.graph;
        let node = graph.stored(data, shape.to_vec());
        graph.hold(node);
        self.packed(double, &[node])
    }

    /// A tensor of the host's elements, rounded to halves and kept as such; they are f32 to whatever is computed of them.
    pub fn tensor_halves(&mut self, values: Reals, shape: &[u32]) -> Result<Vec<u32>, Error> {
        Self::counted(values.len(), shape)?;
        let words = match values {
            Reals::F32(values) => half::packed(values.iter().map(|&value| half::rounded(value))),
            Reals::F64(values) => half::packed(values.iter().map(|&value| half::rounded_double(value))),
        };
        let graph = &mut self.tensors(false)?.graph;
        let node = graph.stored(Data::Halves(words, values.len() as u32), shape.to_vec());
        graph.hold(node);
        self.packed(false, &[node])
    }

    /// A tensor of int32s, whose bits these words are.
    pub fn tensor_integers(&mut self, values: &[u32], shape: &[u32], double: bool) -> Result<Vec<u32>, Error> {
        Self::counted(values.len(), shape)?;
        let words = memory::copy(values, "the tensor's elements")?;
        let graph = &mut self.tensors(double)?.graph;
        let node = graph.integers(words, shape.to_vec());
        graph.hold(node);
        self.packed(double, &[node])
    }

    /// A tensor of whole numbers, by which rows are gathered.
    pub fn tensor_numbers(&mut self, values: &[u32], shape: &[u32], double: bool) -> Result<Vec<u32>, Error> {
        Self::counted(values.len(), shape)?;
        if let Some(&large) = values.iter().find(|value| **value > 1 << 24) {
            return Err(Error::Shape {
                name: "indices".into(),
                message: format!("{large} is more than 2²⁴, from where on f32 leaves whole numbers out"),
            });
        }
        let graph = &mut self.tensors(double)?.graph;
        let node = graph.numbers(values.to_vec(), shape.to_vec());
        graph.hold(node);
        self.packed(double, &[node])
    }

    fn counted(len: usize, shape: &[u32]) -> Result<(), Error> {
        let expected = elements(shape);
        if expected.is_none_or(|expected| expected as usize != len) {
            let shape = leastwise_tensor::operations::shown(shape);
            return Err(Error::DataLength { term: None, what: "tensor".into(), got: len, expected: format!("those of shape {shape}") });
        }
        Ok(())
    }

    /// An operation by its name.
    pub fn tensor_operation(&mut self, name: &str, inputs: &[u32], numbers: &[f64], double: bool) -> Result<Vec<u32>, Error> {
        let (double, inputs) = Self::nodes(inputs, double)?;
        if double && matches!(name, "f16" | "f32") {
            let message = "tensors of f64 are kept in f64: only those of f32 can be kept as halves".into();
            return Err(Error::Shape { name: "cast".into(), message });
        }
        let graph = &mut self.tensors(double)?.graph;
        let made = graph.made(|graph| graph.operation(name, &inputs, numbers).map(|node| vec![node]))?;
        self.packed(double, &made)
    }

    /// A traced function of tensors' elements.
    pub fn tensor_map(&mut self, words: &[u32], outputs: &[u32], inputs: &[u32]) -> Result<Vec<u32>, Error> {
        let (double, inputs) = Self::nodes(inputs, false)?;
        let graph = &mut self.tensors(double)?.graph;
        let made = graph.made(|graph| graph.traced(words, outputs, &inputs).map(|node| vec![node]))?;
        self.packed(double, &made)
    }

    /// Gradients of a number by tensors.
    pub fn tensor_gradient(&mut self, loss: u32, of: &[u32]) -> Result<Vec<u32>, Error> {
        let all: Vec<u32> = of.iter().copied().chain([loss]).collect();
        let (double, mut nodes) = Self::nodes(&all, false)?;
        let graph = &mut self.tensors(double)?.graph;
        let Some(loss) = nodes.pop() else { return Ok(Vec::new()) };
        let made = graph.made(|graph| graph.gradient(loss, &nodes))?;
        self.packed(double, &made)
    }

    /// Lets go of tensors; each id is a handle.
    pub fn release_tensors(&mut self, ids: &[u32]) {
        for &id in ids {
            let (double, node) = parts(id);
            if let Some(context) = &mut self.tensor_contexts[usize::from(double)] {
                context.tensors.graph.release(node);
            }
        }
        self.collect_tensors();
    }

    /// Gives back what nobody has any more, and destroys what is beyond the pools' caps.
    pub(super) fn collect_tensors(&mut self) {
        for double in [false, true] {
            if self.tensor_contexts[usize::from(double)].is_some()
                && let Ok((tensors, mut devices, active)) = self.tensor_context(double)
                && active.is_none()
            {
                tensors.collect();
                tensors.trim_to_cap(&mut devices);
            }
        }
    }

    /// A task: computes tensors, and reads some, whose elements it gives one after the other.
    pub fn evaluate_tensors(&mut self, outputs: &[u32], read: &[u32]) -> Result<u32, Error> {
        let all: Vec<u32> = outputs.iter().chain(read).copied().collect();
        let (double, nodes) = Self::nodes(&all, false)?;
        let tensors = self.tensors(double)?;
        let graph = &mut tensors.graph;
        if nodes.iter().any(|&node| graph.get(node).is_none()) {
            return Err(Error::Disposed("tensor"));
        }
        if !graph.pulls(&nodes).is_empty() {
            return Err(Error::Internal("gradients through a solve were not computed first"));
        }
        let elements: u64 = nodes[outputs.len()..].iter().map(|&node| u64::from(graph.size(node))).sum();
        if elements > MOST_READ {
            return Err(Error::Limits(format!(
                "{elements} elements are read at once, and {MOST_READ} are possible here: read parts, tensor.slice([from, to])"
            )));
        }
        nodes.iter().for_each(|&node| {
            graph.hold(node);
        });
        #[cfg(not(target_arch = "wasm32"))]
        let is_ranked = !graph.sums_over_ranks(&nodes).is_empty();
        let (outputs, read) = nodes.split_at(outputs.len());
        let (outputs, read) = (outputs.to_vec(), read.to_vec());
        #[cfg(not(target_arch = "wasm32"))]
        if is_ranked {
            return self.evaluate_over_ranks(double, outputs, read);
        }
        Ok(self.add_task(TensorJob(Box::new(TensorRun::new(double, outputs, read)))))
    }

    /// Slice of a tensor's elements on the session's device, once it was evaluated, and whether they are halves.
    pub fn tensor_view(&mut self, tensor: u32) -> Result<Option<(Slice, bool)>, Error> {
        let (double, node) = parts(tensor);
        Ok(self.tensors(double)?.view(node))
    }

    /// Changes settings of evaluations, in both precisions.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for an unknown name, and for a rate or a number that is not positive.
    pub fn set_tensors(&mut self, settings: &TensorSettings) -> Result<(), Error> {
        let mode = match settings.routing.as_deref() {
            None => None,
            Some("auto") => Some(Mode::Auto),
            Some("device") => Some(Mode::Device),
            Some("cpu") => Some(Mode::Cpu),
            Some(other) => return Err(Error::InvalidOption(format!("routing \"{other}\" is not \"auto\", \"device\" or \"cpu\""))),
        };
        let products = match settings.products.as_deref() {
            None => None,
            Some("library") => Some(Products::Library),
            Some("tf32") => Some(Products::Tf32),
            Some("own") => Some(Products::Own),
            Some(other) => return Err(Error::InvalidOption(format!("products \"{other}\" is not \"library\", \"tf32\" or \"own\""))),
        };
        let slopes = match settings.slopes.as_deref() {
            None => None,
            Some("finite") => Some(Slopes::Finite),
            Some("limits") => Some(Slopes::Limits),
            Some(other) => return Err(Error::InvalidOption(format!("slopes \"{other}\" is not \"finite\" or \"limits\""))),
        };
        let is_rate = |rate: f64| rate.is_finite() && rate > 0.0;
        let is_time = |time: f64| time.is_finite() && time >= 0.0;
        let refuse = |what: &str| Err(Error::InvalidOption(format!("model: {what} must be a positive number")));
        if let Some(model) = &settings.model {
            for rates in [&model.device, &model.cpu] {
                let positive = [rates.gigabytes, rates.gigaops, rates.product_gigaops].into_iter().all(is_rate);
                if !positive || !is_time(rates.launch_us) {
                    return refuse("every rate");
                }
            }
            if !is_rate(model.transfer_gigabytes) || !is_time(model.readback_us) {
                return refuse("transferGigabytes");
            }
        }
        if let Some(bytes) = settings.pool_bytes.filter(|bytes| !(bytes.is_finite() && *bytes >= 0.0)) {
            return Err(Error::InvalidOption(format!("poolBytes must be a number that is not negative, not {bytes}")));
        }
        if let Some(times) = settings.advantage.filter(|times| !is_rate(*times)) {
            return Err(Error::InvalidOption(format!("advantage must be a positive number, not {times}")));
        }
        for double in [false, true] {
            if double && self.tensor_contexts[1].is_none() {
                continue;
            }
            let tensors = self.tensors(double)?;
            let router = &mut tensors.router;
            router.set(mode.unwrap_or(router.mode()), settings.model.or(router.model()));
            router.set_advantage(settings.advantage.unwrap_or(router.advantage()));
            if let Some(bytes) = settings.pool_bytes {
                tensors.set_cap(bytes as u64);
            }
            tensors.products = products.unwrap_or(tensors.products);
            if let Some(fused) = settings.fused {
                tensors.unfused = !fused;
            }
            tensors.graph.slopes = slopes.unwrap_or(tensors.graph.slopes);
        }
        self.collect_tensors();
        Ok(())
    }

    /// The steps of the last evaluation in f32, or in f64 where there was none.
    pub fn tensor_trace(&self) -> &[Traced] {
        let traces = self.tensor_contexts.iter().flatten().map(|context| &context.tensors.trace[..]);
        traces.max_by_key(|trace| usize::from(!trace.is_empty())).unwrap_or(&[])
    }

    /// Statistics of both precisions together.
    pub fn tensor_statistics(&self) -> TensorStatistics {
        let mut all = TensorStatistics::default();
        for context in self.tensor_contexts.iter().flatten() {
            all.runs = all.runs.with(&context.tensors.statistics);
            for place in Place::ALL {
                all.pool = all.pool.with(&context.tensors.pool(place));
            }
        }
        let beside = self.tensor_contexts.iter().flatten().flat_map(|context| context.own.iter().chain(&context.cpu));
        for device in beside.chain(self.devices.made()) {
            if let Device::Cpu(device) = device {
                let [in_place, copied] = elements_read(device);
                (all.in_place, all.copied) = (all.in_place + in_place, all.copied + copied);
            }
        }
        all
    }

    /// Destroys buffers that are kept for later, and forgets plans.
    pub fn trim_tensors(&mut self) -> Result<(), Error> {
        for double in [false, true] {
            if self.tensor_contexts[usize::from(double)].is_none() {
                continue;
            }
            let (tensors, mut devices, active) = self.tensor_context(double)?;
            if active.is_some() {
                return Err(Error::Busy);
            }
            tensors.collect();
            tensors.trim(&mut devices);
        }
        Ok(())
    }

    /// Goes on until there is an evaluation of which nothing is played: nothing then.
    pub(super) fn ready_tensors(&mut self, number: u32, run: &mut TensorRun, deadline: f64) -> Result<Option<Progress>, Error> {
        if let Some(progress) = self.evaluate_before(number, run.double, deadline)? {
            return Ok(Some(progress));
        }
        let (tensors, mut devices, active) = self.tensor_context(run.double)?;
        *active = Some(Active { task: number, is_measured: run.is_measured });
        while run.evaluation.is_none() {
            let Some(preparation) = &mut run.preparation else {
                run.preparation = Some(tensors.prepare(&mut devices, &run.outputs, &run.read)?);
                continue;
            };
            run.evaluation = tensors.resume(&mut devices, preparation, deadline)?;
            if run.evaluation.is_none() {
                return Ok(Some(Progress::Yielded));
            }
            run.preparation = None;
        }
        Ok(None)
    }

    pub(super) fn resume_tensors(&mut self, number: u32, run: &mut TensorRun, deadline: f64) -> Result<Progress, Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(values) = run.ended.take() {
            return Ok(Progress::Values(values));
        }
        if let Some(progress) = self.ready_tensors(number, run, deadline)? {
            return Ok(progress);
        }
        let (tensors, mut devices, _) = self.tensor_context(run.double)?;
        loop {
            if let Some((place, play)) = &mut run.play {
                match Turn::from(devices.at(*place).resume(play, deadline)?).outcome() {
                    Ok(values) => run.readback = values,
                    Err(turn) => return Ok(Progress::of(turn, Progress::Values)),
                }
                run.play = None;
            }
            let Some(evaluation) = &mut run.evaluation else { return Err(Error::Internal("an evaluation is gone")) };
            match tensors.advance(&mut devices, evaluation, std::mem::take(&mut run.readback))? {
                Next::Run(place, recording) => run.play = Some((place, devices.at(place).start(recording))),
                Next::Done(values) => {
                    run.evaluation = None;
                    return Ok(Progress::Values(values));
                }
            }
        }
    }

    /// Goes on with the evaluation that is on its way, if it is another.
    fn evaluate_before(&mut self, number: u32, double: bool, deadline: f64) -> Result<Option<Progress>, Error> {
        Ok(match self.tensor_context(double)?.2.filter(|active| active.task != number) {
            Some(Active { is_measured: true, .. }) => Some(Progress::Yielded),
            Some(Active { task, .. }) => self.resume_before(task, deadline),
            None => None,
        })
    }

    pub(super) fn end_tensors(&mut self, number: u32, task: TensorRun) {
        let Ok((tensors, mut devices, active)) = self.tensor_context(task.double) else { return };
        *active = active.filter(|active| active.task != number);
        if let Some(evaluation) = task.evaluation {
            tensors.abandon(&mut devices, evaluation);
        }
        task.outputs.iter().chain(&task.read).for_each(|&node| tensors.graph.release(node));
        tensors.collect();
    }
}
