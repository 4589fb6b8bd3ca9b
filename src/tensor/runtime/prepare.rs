//! Evaluations before they are played: the plan, found again or made in time slices, and its kernels.

use super::{Compiled, Devices, Evaluation, MOST_PLANS, Place, Stored, Tensors, Traced};
use crate::graph::{Node, Op, Storage, Values};
use crate::plan::{Library, Plan, Request, Step, Target, planning};
use crate::routing::{Mode, Route};
use leastwise_base::clock::now_ms;
use leastwise_base::task::Task;
use leastwise_device::{Form, KernelId, Precision};
use leastwise_error::Error;
use std::sync::Arc;

/// Steps whose kernels are asked for between two looks at the clock.
const KERNELS_AT_ONCE: usize = 16;

/// An evaluation whose plan is being made.
pub struct Preparation {
    request: Arc<Request>,
    /// Everything that the plan depends on.
    key: Vec<u64>,
    outputs: Vec<Node>,
    read: Vec<Node>,
    /// A bit for every place that has a leaf's elements.
    places: Vec<u8>,
    targets: Vec<Target>,
    unfused: bool,
    stage: Stage,
}

enum Stage {
    /// The plan is there.
    Known,
    /// A plan is being made.
    Planning(Task<'static, Result<Plan, Error>>),
    /// Its kernels are asked for, of which there are some.
    Kernels(Box<(Plan, Route)>, Vec<Option<KernelId>>),
}

impl Tensors {
    /// Begins to compute these tensors, and to read some of them.
    ///
    /// # Errors
    /// [`Error::Disposed`] for a tensor that was released, [`Error::Internal`] for one of a sum over ranks that is not computed.
    pub fn prepare(&mut self, devices: &mut Devices, outputs: &[Node], read: &[Node]) -> Result<Preparation, Error> {
        let mut wanted: Vec<Node> = outputs.iter().chain(read).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        for &node in &wanted {
            self.graph.get(node).ok_or(Error::Disposed("tensor"))?;
        }
        #[cfg(not(target_arch = "wasm32"))]
        if !self.graph.sums_over_ranks(&wanted).is_empty() {
            return Err(Error::Internal("sums over ranks were not computed first"));
        }
        let request = Request::new(&self.graph, &wanted);
        let places: Vec<u8> = request.leaves.iter().map(|&leaf| self.places_of(leaf)).collect();
        let settings = [u64::from(self.unfused), self.products as u64, self.router.version()];
        let deciding = if self.router.has_choice(devices.cpu.is_some()) { &places[..] } else { &[] };
        let key = request.key.iter().copied().chain(deciding.iter().map(|&place| u64::from(place))).chain(settings).collect();
        self.statistics.evaluations += 1;
        self.clock += 1;
        let mut preparation = Preparation {
            request: Arc::new(request),
            key,
            outputs: wanted,
            read: read.to_vec(),
            places,
            targets: Vec::new(),
            unfused: self.unfused,
            stage: Stage::Known,
        };
        if self.plans.contains_key(&preparation.key) {
            self.statistics.plans_reused += 1;
        } else {
            preparation.targets = self.targets(devices, &preparation.request);
            preparation.stage = self.planning(&preparation);
        }
        Ok(preparation)
    }

    fn planning(&self, preparation: &Preparation) -> Stage {
        let Preparation { request, outputs, targets, unfused, .. } = preparation;
        Stage::Planning(planning(&self.graph, request.clone(), outputs.clone(), targets.clone(), *unfused))
    }

    /// Goes on with it until it is done, or rests after the deadline (of [`now_ms`]). What is asked for is held meanwhile.
    ///
    /// # Errors
    /// [`Error::Limits`] for what the device has no room for, and what a device says.
    pub fn resume(&mut self, devices: &mut Devices, preparation: &mut Preparation, deadline: f64) -> Result<Option<Evaluation>, Error> {
        loop {
            match &mut preparation.stage {
                Stage::Known => return self.evaluation(devices, preparation).map(Some),
                Stage::Planning(task) => {
                    let Some(plan) = task.resume(deadline) else { return Ok(None) };
                    let plan = plan?;
                    if is_known(devices, &plan)? {
                        let route = self.checked_route(devices, preparation, &plan)?;
                        let has_none = |(step, (place, _)): (&Step, &(Place, String))| step.launches[*place as usize].is_none();
                        if plan.steps.iter().zip(&route.steps).any(has_none) {
                            // The CPU has no kernels of rows.
                            preparation.targets[0].rows = false;
                            preparation.stage = self.planning(preparation);
                            continue;
                        }
                        preparation.stage = Stage::Kernels(Box::new((plan, route)), Vec::new());
                    } else {
                        // What the library has no algorithm for, our kernels do.
                        preparation.targets[0].library = None;
                        preparation.stage = self.planning(preparation);
                    }
                }
                Stage::Kernels(compiled, kernels) => {
                    let (plan, route) = &**compiled;
                    let steps = plan.steps.iter().zip(&route.steps).skip(kernels.len());
                    for (step, (place, _)) in steps.take(KERNELS_AT_ONCE) {
                        let kernel = &step.launches[*place as usize].kernel;
                        let of_step = kernel.as_ref().map(|kernel| devices.at(*place).kernels(std::slice::from_ref(&kernel.source)));
                        kernels.push(of_step.transpose()?.and_then(|ids| ids.first().copied()));
                    }
                    if kernels.len() == plan.steps.len() {
                        let Stage::Kernels(compiled, kernels) = std::mem::replace(&mut preparation.stage, Stage::Known) else { continue };
                        let (plan, route) = *compiled;
                        self.keep(preparation.key.clone(), plan, route, kernels);
                    } else if now_ms() >= deadline {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// All of it at once.
    ///
    /// # Errors
    /// Those of [`prepare`](Self::prepare) and [`resume`](Self::resume).
    pub fn evaluate(&mut self, devices: &mut Devices, outputs: &[Node], read: &[Node]) -> Result<Evaluation, Error> {
        let mut preparation = self.prepare(devices, outputs, read)?;
        loop {
            if let Some(evaluation) = self.resume(devices, &mut preparation, f64::INFINITY)? {
                return Ok(evaluation);
            }
        }
    }

    /// The evaluation of a plan that is there.
    fn evaluation(&mut self, devices: &mut Devices, preparation: &mut Preparation) -> Result<Evaluation, Error> {
        let Preparation { request, key, outputs, read, .. } = preparation;
        let storages = request.leaves.iter().map(|&leaf| (leaf, self.storage_of(leaf))).collect::<Vec<_>>();
        // Whoever lets go of them meanwhile does not take them away.
        let held: Vec<Node> = request.leaves.iter().chain(&*read).copied().collect();
        held.iter().for_each(|&node| {
            self.graph.hold(node);
        });
        let clock = self.clock;
        let Some(compiled) = self.plans.get_mut(key) else { return Err(Error::Internal("an evaluation has no plan")) };
        compiled.used = clock;
        self.statistics.kernels = compiled.plan.steps.len() as u32;
        self.statistics.fused = compiled.plan.fused;
        self.statistics.nodes = self.graph.len() as u32;
        self.trace.clear();
        for (step, (place, reason)) in compiled.plan.steps.iter().zip(&compiled.route.steps) {
            let place = if *place == Place::Cpu && devices.cpu.is_some() { "cpu" } else { devices.main.backend() };
            let (elements, operations) = (step.work.elements, step.work.operations);
            let library = match step.launches[0].multiplied.filter(|_| place == devices.main.backend()) {
                Some(multiplied) if multiplied.form.coarse => " (library, TF32)",
                Some(_) => " (library)",
                None => "",
            };
            let what = format!("{}{library}", step.what);
            let bytes = step.work.bytes(devices.main.precision().bytes() as f64);
            self.trace.push(Traced { what, place, reason: reason.clone(), elements, bytes, operations });
        }
        let numbers = request.numbers.iter().map(|(_, value)| *value).collect();
        let buffers = compiled.plan.buffers.len();
        Ok(Evaluation::new(std::mem::take(key), std::mem::take(outputs), read, held, storages, numbers, buffers))
    }

    /// A bit for every place that has a leaf's elements; none where they are still the host's.
    fn places_of(&self, leaf: Node) -> u8 {
        let stored = self.graph.entry(leaf).storage.and_then(|storage| self.storages.get(&storage));
        let bits = |stored: &Stored| {
            Place::ALL.into_iter().filter(|&place| stored.blocks[place as usize].is_some()).map(|place| 1 << place as u8).sum()
        };
        stored.map_or(0, bits)
    }

    fn storage_of(&mut self, leaf: Node) -> Storage {
        if let Some(storage) = self.graph.entry(leaf).storage {
            return storage;
        }
        self.next += 1;
        let storage = Storage(self.next);
        self.storages.insert(storage, Stored { blocks: [None; 2], len: self.graph.stored_size(leaf), users: 1 });
        self.graph.change(leaf, |entry| entry.storage = Some(storage));
        storage
    }

    fn targets(&self, devices: &Devices, request: &Request) -> Vec<Target> {
        let has_products = || request.order.iter().any(|&node| matches!(self.graph.entry(node).op, Op::Product(_)));
        let multiplies = self.products != super::Products::Own && devices.main.multiplies() && has_products();
        // The library finishes products in single precision alone, and so it is with TF32.
        let is_single = devices.main.precision() == Precision::F32;
        let library = multiplies.then(|| Library { finishes: is_single, coarse: self.products == super::Products::Tf32 && is_single });
        let is_gpu = devices.main.is_queue();
        // Steps that the CPU is asked for have none of its own.
        let rows = is_gpu && (devices.cpu.is_none() || self.router.mode() != Mode::Cpu);
        let mut targets = vec![Target { cpu: !is_gpu, limits: devices.main.limits(), library, rows }];
        if let Some(cpu) = &devices.cpu {
            targets.push(Target { cpu: true, limits: cpu.limits(), library: None, rows: false });
        }
        targets
    }

    /// Where steps run, if the device binds all tensors.
    fn checked_route(&self, devices: &Devices, preparation: &Preparation, plan: &Plan) -> Result<Route, Error> {
        let request = &preparation.request;
        let real = devices.main.precision().bytes();
        let each = |half: bool, word: bool| match (half, word) {
            (true, _) => 2,
            (_, true) => 4,
            _ => real,
        };
        let leaves = request.leaves.iter().map(|&leaf| (self.graph.size(leaf), self.graph.entry(leaf)));
        let leaves = leaves.map(|(size, entry)| (size, each(entry.half, entry.values == Values::Integers)));
        let buffers = plan.buffers.iter().map(|buffer| (buffer.elements, each(buffer.half, buffer.word)));
        for (elements, each) in buffers.chain(leaves) {
            let (bytes, limit) = (u64::from(elements) * each, devices.main.limits().binding_bytes);
            if bytes > limit {
                return Err(Error::Limits(format!(
                    "a tensor of {elements} elements takes {bytes} bytes, but this device binds {limit} at once"
                )));
            }
        }
        let sizes: Vec<f64> = request.leaves.iter().map(|&leaf| f64::from(self.graph.stored_size(leaf))).collect();
        Ok(self.router.route(plan, &preparation.places, &sizes, devices.cpu.is_some()))
    }

    /// Keeps a plan, in place of the one that was used longest ago where there are many.
    fn keep(&mut self, key: Vec<u64>, plan: Plan, route: Route, kernels: Vec<Option<KernelId>>) {
        if self.plans.len() >= MOST_PLANS
            && let Some(oldest) = self.plans.iter().min_by_key(|(_, compiled)| compiled.used).map(|(key, _)| key.clone())
            && let Some(old) = self.plans.remove(&oldest)
        {
            self.drop_plan(old);
        }
        self.statistics.plans_made += 1;
        let compiled = Compiled { plan, route, kernels, tables: [None; 2], constants: [None; 2], used: self.clock };
        self.plans.insert(key, compiled);
    }
}

/// Whether the device's library has an algorithm for every product that a plan leaves to it.
fn is_known(devices: &mut Devices, plan: &Plan) -> Result<bool, Error> {
    let forms = plan.steps.iter().filter_map(|step| Some(step.launches[0].multiplied?.form));
    for form in forms.collect::<Vec<Form>>() {
        if !devices.main.prepare_product(&form)? {
            return Ok(false);
        }
    }
    Ok(true)
}
