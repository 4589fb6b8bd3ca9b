//! What evaluates tensors: storages, plans that were made, and the recordings that play them.

use super::graph::{Data, Graph, Node, Storage};
use super::plan::{Plan, Ref, Request, Target, plan};
use super::pool::{Block, Pool, PoolStatistics};
use super::routing::{Place, Route, Router};
use crate::device::{Command, Device, Dispatch, KernelId, Kind, Recording, Slice, binding};
use crate::error::Error;
use std::collections::HashMap;

/// Plans that are kept.
const MOST_PLANS: usize = 128;

/// The devices that tensors are on: the first, and the CPU beside it where that is another.
pub struct Devices<'a> {
    pub main: &'a mut Device,
    pub cpu: Option<&'a mut Device>,
}

impl Devices<'_> {
    pub fn at(&mut self, place: Place) -> &mut Device {
        match (place, &mut self.cpu) {
            (Place::Cpu, Some(cpu)) => cpu,
            _ => self.main,
        }
    }
}

/// Elements of a tensor: where they are.
struct Stored {
    blocks: [Option<Block>; 2],
    elements: u32,
    /// Tensors that have them.
    users: u32,
}

/// A plan, and what devices have of it.
struct Compiled {
    plan: Plan,
    route: Route,
    kernels: Vec<KernelId>,
    /// Layout tables and constants of the places that it uses.
    tables: [Option<Block>; 2],
    constants: [Option<Block>; 2],
    used: u64,
}

/// Numbers of plans and what they came to.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    pub evaluations: u64,
    pub plans_made: u64,
    pub plans_reused: u64,
    /// Of the last evaluation: kernels that ran, and elementwise operations that ran within others.
    pub kernels: u32,
    pub fused: u32,
    pub transfers: u32,
    pub nodes: u32,
}

impl Statistics {
    /// With those of other tensors; of last evaluations, the larger ones.
    pub fn with(&self, other: &Self) -> Self {
        Self {
            evaluations: self.evaluations + other.evaluations,
            plans_made: self.plans_made + other.plans_made,
            plans_reused: self.plans_reused + other.plans_reused,
            kernels: self.kernels.max(other.kernels),
            fused: self.fused.max(other.fused),
            transfers: self.transfers + other.transfers,
            nodes: self.nodes + other.nodes,
        }
    }
}

/// One step of the last evaluation, for people.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traced {
    pub what: String,
    pub place: &'static str,
    pub reason: String,
    pub elements: f64,
    pub operations: f64,
}

/// Everything about tensors of one precision.
pub struct Tensors {
    pub graph: Graph,
    storages: HashMap<Storage, Stored>,
    next: u32,
    pools: [Pool; 2],
    plans: HashMap<Vec<u64>, Compiled>,
    clock: u64,
    pub router: Router,
    pub statistics: Statistics,
    pub trace: Vec<Traced>,
    pub unfused: bool,
}

/// An evaluation on its way: pieces that one device plays after the other.
pub struct Evaluation {
    key: Vec<u64>,
    outputs: Vec<Node>,
    held: Vec<Node>,
    leaves: Vec<(Node, Storage)>,
    numbers: Vec<f64>,
    /// Blocks of the plan's buffers.
    buffers: Vec<[Option<Block>; 2]>,
    next: usize,
    /// What is being brought to the other device.
    moving: Option<Moving>,
    read: Vec<Node>,
    /// What was read of them.
    values: Vec<Option<Vec<f64>>>,
    /// Which of them are being read.
    reading: Vec<usize>,
    staging: Option<(Place, Block)>,
    /// Whether all that was asked for is stored.
    stored: bool,
    begun: bool,
}

struct Moving {
    to: Vec<(Block, u32)>,
}

/// What to do next.
pub enum Next {
    Run(Place, Recording),
    /// The elements that were to be read, tensor after tensor.
    Done(Vec<f64>),
}

impl Tensors {
    pub fn new(bytes_of_real: u64) -> Self {
        Self {
            graph: Graph::default(),
            storages: HashMap::new(),
            next: 0,
            pools: [Pool::new(bytes_of_real), Pool::new(bytes_of_real)],
            plans: HashMap::new(),
            clock: 0,
            router: Router::default(),
            statistics: Statistics::default(),
            trace: Vec::new(),
            unfused: false,
        }
    }

    pub fn pool(&self, place: Place) -> PoolStatistics {
        self.pools[place as usize].statistics()
    }

    pub fn set_cap(&mut self, bytes: u64) {
        self.pools.iter_mut().for_each(|pool| pool.cap = bytes);
    }

    /// Takes another's settings.
    pub fn set_like(&mut self, other: &Self) {
        self.router.set(other.router.mode(), other.router.model());
        self.unfused = other.unfused;
        self.set_cap(other.pools[0].cap);
    }

    /// Destroys what is kept for later, and forgets plans.
    pub fn trim(&mut self, devices: &mut Devices) {
        for (_, compiled) in std::mem::take(&mut self.plans) {
            self.drop_plan(compiled);
        }
        for place in Place::ALL {
            self.pools[place as usize].trim(devices.at(place), 0);
        }
    }

    fn drop_plan(&mut self, compiled: Compiled) {
        for place in Place::ALL {
            for block in [compiled.tables[place as usize], compiled.constants[place as usize]].into_iter().flatten() {
                self.pools[place as usize].give_back(block);
            }
        }
    }

    /// Gives back what no tensor has any more.
    pub fn collect(&mut self) {
        for storage in std::mem::take(&mut self.graph.released) {
            self.unuse(storage);
        }
    }

    fn unuse(&mut self, storage: Storage) {
        let Some(stored) = self.storages.get_mut(&storage) else { return };
        stored.users -= 1;
        if stored.users > 0 {
            return;
        }
        let stored = self.storages.remove(&storage).map(|stored| stored.blocks).unwrap_or_default();
        for place in Place::ALL {
            if let Some(block) = stored[place as usize] {
                self.pools[place as usize].give_back(block);
            }
        }
    }

    /// Where a tensor's elements are on the main device, if they are there.
    pub fn view(&self, node: Node) -> Option<Slice> {
        let stored = self.storages.get(&self.graph.get(node)?.storage?)?;
        let block = stored.blocks[Place::Device as usize]?;
        Some(Slice { buffer: block.buffer, offset: 0, len: stored.elements })
    }

    /// Begins to compute these tensors, and to read some of them.
    pub fn evaluate(&mut self, devices: &mut Devices, outputs: &[Node], read: &[Node]) -> Result<Evaluation, Error> {
        let mut wanted: Vec<Node> = outputs.iter().chain(read).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        for &node in &wanted {
            self.graph.get(node).ok_or(Error::Disposed("tensor"))?;
        }
        let mut request = Request::new(&self.graph, &wanted);
        let leaves = request.leaves.clone();
        let places: Vec<u8> = leaves.iter().map(|&leaf| self.places_of(leaf)).collect();
        request.key.extend(places.iter().map(|&place| u64::from(place)));
        request.key.extend([u64::from(self.unfused), self.router.version()]);
        self.statistics.evaluations += 1;
        self.clock += 1;
        if self.plans.contains_key(&request.key) {
            self.statistics.plans_reused += 1;
        } else {
            self.compile(devices, &request, &wanted, &places)?;
        }
        let storages = leaves.iter().map(|&leaf| (leaf, self.storage_of(leaf))).collect::<Vec<_>>();
        // Whoever lets go of them meanwhile does not take them away.
        let held: Vec<Node> = leaves.iter().chain(read).copied().collect();
        held.iter().for_each(|&node| {
            self.graph.hold(node);
        });
        let clock = self.clock;
        let Some(compiled) = self.plans.get_mut(&request.key) else { return Err(Error::Disposed("plan")) };
        compiled.used = clock;
        self.statistics.kernels = compiled.plan.steps.len() as u32;
        self.statistics.fused = compiled.plan.fused;
        self.statistics.nodes = self.graph.len() as u32;
        self.trace.clear();
        for (step, (place, reason)) in compiled.plan.steps.iter().zip(&compiled.route.steps) {
            let place = if *place == Place::Cpu && devices.cpu.is_some() { "cpu" } else { devices.main.backend() };
            let (elements, operations) = (step.work.elements, step.work.operations);
            self.trace.push(Traced { what: step.what.clone(), place, reason: reason.clone(), elements, operations });
        }
        Ok(Evaluation {
            buffers: vec![[None; 2]; compiled.plan.buffers.len()],
            key: request.key,
            outputs: wanted,
            held,
            leaves: storages,
            numbers: request.numbers.iter().map(|(_, value)| *value).collect(),
            next: 0,
            moving: None,
            read: read.to_vec(),
            values: vec![None; read.len()],
            reading: Vec::new(),
            staging: None,
            stored: false,
            begun: false,
        })
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
        self.storages.insert(storage, Stored { blocks: [None; 2], elements: self.graph.size(leaf), users: 1 });
        self.graph.change(leaf, |entry| entry.storage = Some(storage));
        storage
    }

    fn compile(&mut self, devices: &mut Devices, request: &Request, outputs: &[Node], places: &[u8]) -> Result<(), Error> {
        let mut targets = vec![Target { cpu: !devices.main.is_queue(), limits: devices.main.limits() }];
        if let Some(cpu) = &devices.cpu {
            targets.push(Target { cpu: true, limits: cpu.limits() });
        }
        let plan = plan(&self.graph, request, outputs, &targets, self.unfused)?;
        let sizes: Vec<u32> = request.leaves.iter().map(|&leaf| self.graph.size(leaf)).collect();
        for elements in plan.buffers.iter().map(|buffer| buffer.elements).chain(sizes.iter().copied()) {
            let (bytes, limit) = (u64::from(elements) * devices.main.precision().bytes(), devices.main.limits().binding_bytes);
            if bytes > limit {
                return Err(Error::Limits(format!(
                    "a tensor of {elements} elements takes {bytes} bytes, but this device binds {limit} at once"
                )));
            }
        }
        let sizes: Vec<f64> = sizes.into_iter().map(f64::from).collect();
        let route = self.router.route(&plan, places, &sizes, devices.cpu.is_some());
        let mut kernels = Vec::with_capacity(plan.steps.len());
        for (step, (place, _)) in plan.steps.iter().zip(&route.steps) {
            let launch = &step.launches[*place as usize];
            kernels.extend(devices.at(*place).kernels(std::slice::from_ref(&launch.source))?);
        }
        if self.plans.len() >= MOST_PLANS
            && let Some(oldest) = self.plans.iter().min_by_key(|(_, compiled)| compiled.used).map(|(key, _)| key.clone())
            && let Some(old) = self.plans.remove(&oldest)
        {
            self.drop_plan(old);
        }
        self.statistics.plans_made += 1;
        let compiled = Compiled { plan, route, kernels, tables: [None; 2], constants: [None; 2], used: self.clock };
        self.plans.insert(request.key.clone(), compiled);
        Ok(())
    }

    /// What to play next; `readback` is what the last recording read.
    pub fn advance(&mut self, devices: &mut Devices, evaluation: &mut Evaluation, readback: &[f64]) -> Result<Next, Error> {
        if !std::mem::replace(&mut evaluation.begun, true) {
            self.pools.iter_mut().for_each(Pool::begin);
        }
        let mut first = 0;
        for index in std::mem::take(&mut evaluation.reading) {
            let elements = self.graph.size(evaluation.read[index]) as usize;
            evaluation.values[index] = Some(readback[first..first + elements].to_vec());
            first += elements;
        }
        if evaluation.moving.is_none() {
            self.unstage(evaluation);
        }
        if !evaluation.stored {
            // The plan is taken out while it is worked with.
            let Some(mut compiled) = self.plans.remove(&evaluation.key) else { return Err(Error::Disposed("plan")) };
            let next = self.advance_plan(devices, evaluation, &mut compiled, readback);
            self.plans.insert(evaluation.key.clone(), compiled);
            if let Some(next) = next? {
                return Ok(next);
            }
        }
        for place in Place::ALL {
            let mut recording = Recording::new();
            self.read_at(devices, evaluation, place, &mut recording)?;
            if !evaluation.reading.is_empty() {
                return Ok(Next::Run(place, recording));
            }
        }
        self.let_go(devices, evaluation);
        Ok(Next::Done(evaluation.values.iter_mut().filter_map(Option::take).flatten().collect()))
    }

    fn unstage(&mut self, evaluation: &mut Evaluation) {
        if let Some((place, block)) = evaluation.staging.take() {
            self.pools[place as usize].give_back(block);
        }
    }

    /// The next steps; nothing where none are left.
    fn advance_plan(
        &mut self,
        devices: &mut Devices,
        evaluation: &mut Evaluation,
        compiled: &mut Compiled,
        readback: &[f64],
    ) -> Result<Option<Next>, Error> {
        let mut recording = Recording::new();
        if let Some(Moving { to }) = evaluation.moving.take() {
            let mut from = 0;
            for (block, elements) in to {
                let data = readback[from..from + elements as usize].to_vec();
                from += elements as usize;
                recording.push(Command::UploadReals { buffer: block.buffer, offset: 0, data });
            }
            self.unstage(evaluation);
        }
        let Some(&(place, _)) = compiled.route.steps.get(evaluation.next) else {
            self.store_outputs(evaluation, compiled);
            return Ok(None);
        };
        if recording.commands.is_empty()
            && let Some(brought) = self.bring(devices, evaluation, compiled, place)?
        {
            return Ok(Some(brought));
        }
        self.prepare(devices, evaluation, compiled, place, &mut recording)?;
        self.upload_leaves(devices, evaluation, compiled, place, &mut recording)?;
        while compiled.route.steps.get(evaluation.next).is_some_and(|(next, _)| *next == place)
            && self.missing(evaluation, compiled, place).is_empty()
        {
            self.record(devices, evaluation, compiled, place, &mut recording)?;
        }
        if evaluation.next == compiled.plan.steps.len() {
            self.store_outputs(evaluation, compiled);
            self.read_at(devices, evaluation, place, &mut recording)?;
        }
        Ok(Some(Next::Run(place, recording)))
    }

    /// What the next step reads that its place does not have and the other one has.
    fn missing(&self, evaluation: &Evaluation, compiled: &Compiled, place: Place) -> Vec<Ref> {
        let blocks = |reference: &Ref| match reference {
            Ref::Leaf(leaf) => self.storages[&evaluation.leaves[*leaf as usize].1].blocks,
            Ref::Buffer(buffer) => evaluation.buffers[*buffer as usize],
        };
        let is_elsewhere = |reference: &Ref| {
            let blocks = blocks(reference);
            blocks[place as usize].is_none() && blocks[place.other() as usize].is_some()
        };
        let bindings = compiled.plan.steps[evaluation.next].bindings.iter();
        bindings.map(|(_, reference)| *reference).filter(is_elsewhere).collect()
    }

    /// Reads what the next step needs from the other device.
    fn bring(
        &mut self,
        devices: &mut Devices,
        evaluation: &mut Evaluation,
        compiled: &Compiled,
        place: Place,
    ) -> Result<Option<Next>, Error> {
        let missing = self.missing(evaluation, compiled, place);
        if missing.is_empty() {
            return Ok(None);
        }
        self.statistics.transfers += 1;
        let from = place.other();
        let mut sources = Vec::new();
        let mut to = Vec::new();
        for reference in missing {
            let (block, elements) = match reference {
                Ref::Leaf(leaf) => {
                    let stored = &self.storages[&evaluation.leaves[leaf as usize].1];
                    (stored.blocks[from as usize], stored.elements)
                }
                Ref::Buffer(buffer) => {
                    (evaluation.buffers[buffer as usize][from as usize], compiled.plan.buffers[buffer as usize].elements)
                }
            };
            let Some(source) = block else { continue };
            let target = self.pools[place as usize].take(devices.at(place), source.kind, elements)?;
            match reference {
                Ref::Leaf(leaf) => {
                    if let Some(stored) = self.storages.get_mut(&evaluation.leaves[leaf as usize].1) {
                        stored.blocks[place as usize] = Some(target);
                    }
                }
                Ref::Buffer(buffer) => evaluation.buffers[buffer as usize][place as usize] = Some(target),
            }
            sources.push((source, elements));
            to.push((target, elements));
        }
        let mut recording = Recording::new();
        evaluation.staging = self.stage(devices, from, &sources, &mut recording)?;
        evaluation.moving = Some(Moving { to });
        Ok(Some(Next::Run(from, recording)))
    }

    /// Reads several buffers at once: through one that they are copied to, where there is more than one.
    fn stage(
        &mut self,
        devices: &mut Devices,
        place: Place,
        sources: &[(Block, u32)],
        recording: &mut Recording,
    ) -> Result<Option<(Place, Block)>, Error> {
        let sources: Vec<(Block, u32)> = sources.iter().copied().filter(|(_, elements)| *elements > 0).collect();
        if let [(block, len)] = sources[..] {
            recording.push(Command::Read { slice: Slice { buffer: block.buffer, offset: 0, len } });
            return Ok(None);
        }
        let total = sources.iter().try_fold(0u32, |sum, (_, elements)| sum.checked_add(*elements));
        let Some(total) = total else { return Err(Error::Limits("more elements are read at once than a buffer has".into())) };
        if total == 0 {
            return Ok(None);
        }
        let staging = self.pools[place as usize].take(devices.at(place), Kind::Real, total)?;
        let mut offset = 0;
        for (block, len) in sources {
            let from = Slice { buffer: block.buffer, offset: 0, len };
            recording.push(Command::Copy { from, to: Slice { buffer: staging.buffer, offset, len } });
            offset += len;
        }
        recording.push(Command::Read { slice: Slice { buffer: staging.buffer, offset: 0, len: total } });
        Ok(Some((place, staging)))
    }

    /// The layout table, once, and the constants.
    fn prepare(
        &mut self,
        devices: &mut Devices,
        evaluation: &Evaluation,
        compiled: &mut Compiled,
        place: Place,
        recording: &mut Recording,
    ) -> Result<(), Error> {
        let pool = &mut self.pools[place as usize];
        let device = devices.at(place);
        let table = &compiled.plan.tables[place as usize];
        if compiled.tables[place as usize].is_none() && !table.is_empty() {
            let block = pool.take(device, Kind::Index, table.len() as u32)?;
            compiled.tables[place as usize] = Some(block);
            recording.push(Command::UploadIndices { buffer: block.buffer, offset: 0, data: table.clone() });
        }
        if compiled.constants[place as usize].is_none() && compiled.plan.constants > 0 {
            compiled.constants[place as usize] = Some(pool.take(device, Kind::Real, compiled.plan.constants)?);
        }
        if let Some(block) = compiled.constants[place as usize] {
            let mut data = vec![0.0; compiled.plan.constants as usize];
            for (first, numbers) in &compiled.plan.numbers {
                for (k, &number) in (*first as usize..).zip(numbers) {
                    data[k] = evaluation.numbers[number as usize];
                }
            }
            recording.push(Command::UploadReals { buffer: block.buffer, offset: 0, data });
        }
        Ok(())
    }

    /// What the host has for the steps that follow here, before any of them: an upload after a dispatch would divide the submission.
    fn upload_leaves(
        &mut self,
        devices: &mut Devices,
        evaluation: &Evaluation,
        compiled: &Compiled,
        place: Place,
        recording: &mut Recording,
    ) -> Result<(), Error> {
        let ahead = compiled.route.steps.iter().zip(&compiled.plan.steps).skip(evaluation.next);
        for (_, step) in ahead.take_while(|((at, _), _)| *at == place) {
            for &(_, reference) in &step.bindings {
                let Ref::Leaf(leaf) = reference else { continue };
                let (node, storage) = evaluation.leaves[leaf as usize];
                let is_host = self.graph.get(node).is_some_and(|entry| entry.data.is_some());
                if is_host {
                    self.leaf(devices, (node, storage), place, recording)?;
                }
            }
        }
        Ok(())
    }

    /// A step, with what it needs for the first time and what nobody needs after it.
    fn record(
        &mut self,
        devices: &mut Devices,
        evaluation: &mut Evaluation,
        compiled: &Compiled,
        place: Place,
        recording: &mut Recording,
    ) -> Result<(), Error> {
        let number = evaluation.next;
        let step = &compiled.plan.steps[number];
        let mut bindings = [None; binding::COUNT];
        for &(slot, reference) in &step.bindings {
            let (block, elements) = match reference {
                Ref::Leaf(leaf) => self.leaf(devices, evaluation.leaves[leaf as usize], place, recording)?,
                Ref::Buffer(buffer) => {
                    let elements = compiled.plan.buffers[buffer as usize].elements;
                    let block = match evaluation.buffers[buffer as usize][place as usize] {
                        Some(block) => block,
                        None => self.pools[place as usize].take(devices.at(place), Kind::Real, elements)?,
                    };
                    evaluation.buffers[buffer as usize][place as usize] = Some(block);
                    (block, elements)
                }
            };
            // Devices bind no empty slices.
            bindings[slot] = Some(Slice { buffer: block.buffer, offset: 0, len: elements.max(1) });
        }
        let launch = &step.launches[place as usize];
        if let (Some((offset, len)), Some(block)) = (launch.table, compiled.tables[place as usize]) {
            bindings[binding::INDEX] = Some(Slice { buffer: block.buffer, offset, len });
        }
        if let (Some((offset, len)), Some(block)) = (step.constants, compiled.constants[place as usize]) {
            bindings[binding::DATA] = Some(Slice { buffer: block.buffer, offset, len });
        }
        if launch.count > 0 {
            let kernel = compiled.kernels[number];
            recording.push(Command::Dispatch(Dispatch { kernel, bindings, count: launch.count, single_group: false, words: launch.words }));
        }
        for (buffer, blocks) in compiled.plan.buffers.iter().zip(&mut evaluation.buffers) {
            if buffer.last as usize == number && !buffer.stays {
                for of in Place::ALL {
                    if let Some(block) = blocks[of as usize].take() {
                        self.pools[of as usize].give_back(block);
                    }
                }
            }
        }
        evaluation.next += 1;
        Ok(())
    }

    /// A leaf's block, with what the host had for it.
    fn leaf(
        &mut self,
        devices: &mut Devices,
        (leaf, storage): (Node, Storage),
        place: Place,
        recording: &mut Recording,
    ) -> Result<(Block, u32), Error> {
        let Some(stored) = self.storages.get_mut(&storage) else { return Err(Error::Disposed("tensor")) };
        let elements = stored.elements;
        if let Some(block) = stored.blocks[place as usize] {
            return Ok((block, elements));
        }
        let data = self.graph.take_data(leaf);
        let kind = if matches!(data, Some(Data::Indices(_))) { Kind::Index } else { Kind::Real };
        let block = self.pools[place as usize].take(devices.at(place), kind, elements)?;
        if let Some(stored) = self.storages.get_mut(&storage) {
            stored.blocks[place as usize] = Some(block);
        }
        match data {
            Some(Data::Singles(data)) if elements > 0 => {
                recording.push(Command::UploadSingles { buffer: block.buffer, offset: 0, data, first: 0, len: elements });
            }
            Some(Data::Doubles(data)) if elements > 0 => {
                recording.push(Command::UploadReals { buffer: block.buffer, offset: 0, data });
            }
            Some(Data::Indices(data)) if elements > 0 => {
                recording.push(Command::UploadIndices { buffer: block.buffer, offset: 0, data });
            }
            _ => {}
        }
        Ok((block, elements))
    }

    /// What was asked for is there.
    fn store_outputs(&mut self, evaluation: &mut Evaluation, compiled: &Compiled) {
        let mut made: HashMap<u32, Storage> = HashMap::new();
        for (&node, reference) in evaluation.outputs.iter().zip(&compiled.plan.outputs) {
            let Ref::Buffer(buffer) = *reference else { continue };
            if self.graph.get(node).is_none() {
                continue;
            }
            let storage = *made.entry(buffer).or_insert_with(|| {
                let blocks = std::mem::take(&mut evaluation.buffers[buffer as usize]);
                self.next += 1;
                let elements = compiled.plan.buffers[buffer as usize].elements;
                self.storages.insert(Storage(self.next), Stored { blocks, elements, users: 0 });
                Storage(self.next)
            });
            if let Some(stored) = self.storages.get_mut(&storage) {
                stored.users += 1;
            }
            self.graph.store(node, storage);
        }
        self.give_back(std::mem::take(&mut evaluation.buffers));
        evaluation.stored = true;
        self.collect();
    }

    fn give_back(&mut self, buffers: Vec<[Option<Block>; 2]>) {
        for blocks in buffers {
            for place in Place::ALL {
                if let Some(block) = blocks[place as usize] {
                    self.pools[place as usize].give_back(block);
                }
            }
        }
    }

    /// Reads what a place has of what is to be read; of what is still the host's, its values are known.
    fn read_at(
        &mut self,
        devices: &mut Devices,
        evaluation: &mut Evaluation,
        place: Place,
        recording: &mut Recording,
    ) -> Result<(), Error> {
        let mut sources = Vec::new();
        for (index, &node) in evaluation.read.iter().enumerate() {
            let Some(entry) = self.graph.get(node).filter(|_| evaluation.values[index].is_none()) else { continue };
            let known = match &entry.data {
                Some(Data::Singles(values)) => Some(values.iter().map(|&value| f64::from(value)).collect()),
                Some(Data::Doubles(values)) => Some(values.clone()),
                Some(Data::Indices(values)) => Some(values.iter().map(|&value| f64::from(value)).collect()),
                None => None,
            };
            let stored = entry.storage.and_then(|storage| self.storages.get(&storage));
            if known.is_some() || self.graph.size(node) == 0 {
                evaluation.values[index] = Some(known.unwrap_or_default());
            } else if let Some((block, stored)) = stored.and_then(|stored| Some((stored.blocks[place as usize]?, stored))) {
                sources.push((block, stored.elements));
                evaluation.reading.push(index);
            }
        }
        evaluation.staging = self.stage(devices, place, &sources, recording)?;
        Ok(())
    }

    /// Gives back what an evaluation that is not gone on with had.
    pub fn abandon(&mut self, devices: &mut Devices, mut evaluation: Evaluation) {
        self.unstage(&mut evaluation);
        self.give_back(std::mem::take(&mut evaluation.buffers));
        self.let_go(devices, &mut evaluation);
    }

    /// Nothing is still to be played.
    fn let_go(&mut self, devices: &mut Devices, evaluation: &mut Evaluation) {
        std::mem::take(&mut evaluation.held).into_iter().for_each(|node| self.graph.release(node));
        self.collect();
        for place in Place::ALL {
            let pool = &mut self.pools[place as usize];
            pool.trim(devices.at(place), pool.cap);
        }
    }
}
