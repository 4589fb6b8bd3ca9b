//! Evaluations on their way: recordings for consecutive steps of one device, and what is brought from one to the other.

use super::{Compiled, Devices, Place, Stored, Tensors};
use crate::graph::{Data, Node, Storage, Values};
use crate::plan::{Kernel, Multiplied, Ref};
use crate::pool::{Block, Pool};
use leastwise_cpu::half;
use leastwise_device::{Command, Dispatch, Kind, Multiply, Precision, Recording, Slice, binding};
use leastwise_error::Error;
use std::collections::HashMap;
use std::ops::Range;

/// An evaluation on its way: pieces that one device plays after the other.
pub struct Evaluation {
    pub(super) key: Vec<u64>,
    pub(super) outputs: Vec<Node>,
    held: Vec<Node>,
    pub(super) leaves: Vec<(Node, Storage)>,
    numbers: Vec<f64>,
    /// Blocks of the plan's buffers.
    pub(super) buffers: Vec<[Option<Block>; 2]>,
    pub(super) next: usize,
    /// Exchanges with other ranks between its steps.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) exchanges: Option<super::exchanges::Exchanges>,
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

impl Evaluation {
    /// Of a plan with so many buffers; what is `held` is let go of at the end.
    pub(super) fn new(
        key: Vec<u64>,
        outputs: Vec<Node>,
        read: &[Node],
        held: Vec<Node>,
        leaves: Vec<(Node, Storage)>,
        numbers: Vec<f64>,
        buffers: usize,
    ) -> Self {
        Self {
            buffers: vec![[None; 2]; buffers],
            key,
            outputs,
            held,
            leaves,
            numbers,
            next: 0,
            #[cfg(not(target_arch = "wasm32"))]
            exchanges: None,
            moving: None,
            read: read.to_vec(),
            values: vec![None; read.len()],
            reading: Vec::new(),
            staging: None,
            stored: false,
            begun: false,
        }
    }
}

/// So many halves, as numbers.
fn halves(words: impl Iterator<Item = u32>, count: u32) -> Vec<f64> {
    let both = words.flat_map(|word| [word as u16, (word >> 16) as u16]);
    both.map(|half| f64::from(half::value(half))).take(count as usize).collect()
}

/// Elements of a readback, which is given itself where they are all of it.
fn taken(readback: &mut Vec<f64>, range: Range<usize>) -> Vec<f64> {
    match range.len() {
        0 => Vec::new(),
        all if all == readback.len() => std::mem::take(readback),
        _ => readback[range].to_vec(),
    }
}

struct Moving {
    to: Vec<(Block, u32)>,
}

/// What to do next.
pub enum Next {
    /// Play the recording on the device of this place, and come back with what it read.
    Run(Place, Recording),
    /// The elements that were to be read, tensor after tensor.
    Done(Vec<f64>),
}

impl Tensors {
    /// What to play next; `readback` is what the last recording read.
    pub fn advance(&mut self, devices: &mut Devices, evaluation: &mut Evaluation, mut readback: Vec<f64>) -> Result<Next, Error> {
        if !std::mem::replace(&mut evaluation.begun, true) {
            self.pools.iter_mut().for_each(Pool::begin);
        }
        let mut first = 0;
        for index in std::mem::take(&mut evaluation.reading) {
            let node = evaluation.read[index];
            let len = self.graph.stored_size(node) as usize;
            let range = first..first + len;
            let entry = self.graph.entry(node);
            evaluation.values[index] = Some(match entry.values {
                Values::Integers => readback[range].iter().map(|&word| f64::from(word as u32 as i32)).collect(),
                _ if entry.half => halves(readback[range].iter().map(|&word| word as u32), self.graph.size(node)),
                _ => taken(&mut readback, range),
            });
            first += len;
        }
        if evaluation.moving.is_none() {
            self.unstage(evaluation);
            self.settle();
        }
        if !evaluation.stored {
            // The plan is taken out while it is worked with.
            let Some(mut compiled) = self.plans.remove(&evaluation.key) else { return Err(Error::Internal("an evaluation has no plan")) };
            let next = self.advance_plan(devices, evaluation, &mut compiled, readback);
            self.plans.insert(evaluation.key.clone(), compiled);
            if let Some(next) = next? {
                return Ok(next);
            }
        }
        for place in Place::ALL {
            let mut recording = Recording::new();
            self.read_at(devices, evaluation, None, place, &mut recording)?;
            if !evaluation.reading.is_empty() {
                return Ok(Next::Run(place, recording));
            }
        }
        self.let_go(devices, evaluation);
        let mut values: Vec<Vec<f64>> = evaluation.values.iter_mut().filter_map(Option::take).collect();
        Ok(Next::Done(if values.len() == 1 { values.remove(0) } else { values.concat() }))
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
        mut readback: Vec<f64>,
    ) -> Result<Option<Next>, Error> {
        let mut recording = Recording::new();
        if let Some(Moving { to }) = evaluation.moving.take() {
            let mut from = 0;
            for (block, len) in to {
                let range = from..from + len as usize;
                from = range.end;
                recording.push(match block.kind {
                    Kind::Real | Kind::Inner | Kind::Single | Kind::Double => {
                        Command::UploadReals { buffer: block.buffer, offset: 0, data: taken(&mut readback, range) }
                    }
                    Kind::Index => {
                        let data = readback[range].iter().map(|&word| word as u32).collect();
                        Command::UploadIndices { buffer: block.buffer, offset: 0, data }
                    }
                });
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
        self.upload_constants(devices, evaluation, compiled, place, &mut recording)?;
        self.upload_leaves(devices, evaluation, compiled, place, &mut recording)?;
        while compiled.route.steps.get(evaluation.next).is_some_and(|(next, _)| *next == place)
            && self.missing(evaluation, compiled, place).is_empty()
        {
            self.record(devices, evaluation, compiled, place, &mut recording)?;
            #[cfg(not(target_arch = "wasm32"))]
            self.record_exchanges(evaluation, compiled, &mut recording);
        }
        if evaluation.next == compiled.plan.steps.len() {
            self.read_at(devices, evaluation, Some(compiled), place, &mut recording)?;
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

    /// Reads what the next step needs from the other device, of one kind at a time.
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
        let mut sources: Vec<(Block, u32)> = Vec::new();
        let mut to = Vec::new();
        for reference in missing {
            let (block, len) = match reference {
                Ref::Leaf(leaf) => {
                    let stored = &self.storages[&evaluation.leaves[leaf as usize].1];
                    (stored.blocks[from as usize], stored.len)
                }
                Ref::Buffer(buffer) => (evaluation.buffers[buffer as usize][from as usize], compiled.plan.buffers[buffer as usize].size()),
            };
            let is_first_kind = |block: &Block| sources.first().is_none_or(|(first, _)| first.kind == block.kind);
            let Some(source) = block.filter(is_first_kind) else { continue };
            let target = self.pools[place as usize].take(devices.at(place), source.kind, len)?;
            match reference {
                Ref::Leaf(leaf) => {
                    let storage = evaluation.leaves[leaf as usize].1;
                    if let Some(stored) = self.storages.get_mut(&storage) {
                        stored.blocks[place as usize] = Some(target);
                        self.unplayed.push((None, storage, place));
                    }
                }
                Ref::Buffer(buffer) => evaluation.buffers[buffer as usize][place as usize] = Some(target),
            }
            sources.push((source, len));
            to.push((target, len));
        }
        let mut recording = Recording::new();
        evaluation.staging = self.stage(devices, from, &sources, &mut recording)?;
        evaluation.moving = Some(Moving { to });
        Ok(Some(Next::Run(from, recording)))
    }

    /// Reads several buffers of one kind at once: through one that they are copied to, where there is more than one.
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
        let Some(&(Block { kind, .. }, _)) = sources.first() else { return Ok(None) };
        let total = sources.iter().try_fold(0u32, |sum, (_, elements)| sum.checked_add(*elements));
        let Some(total) = total else { return Err(Error::Limits("more elements are read at once than a buffer has".into())) };
        let staging = self.pools[place as usize].take(devices.at(place), kind, total)?;
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
    fn upload_constants(
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
            let (block, len) = match reference {
                Ref::Leaf(leaf) => self.leaf(devices, evaluation.leaves[leaf as usize], place, recording)?,
                Ref::Buffer(buffer) => {
                    let of = &compiled.plan.buffers[buffer as usize];
                    let block = match evaluation.buffers[buffer as usize][place as usize] {
                        Some(block) => block,
                        None => self.pools[place as usize].take(devices.at(place), of.kind(), of.size())?,
                    };
                    evaluation.buffers[buffer as usize][place as usize] = Some(block);
                    (block, of.size())
                }
            };
            // Devices bind no empty slices.
            bindings[slot] = Some(Slice { buffer: block.buffer, offset: 0, len: len.max(1) });
        }
        let launch = &step.launches[place as usize];
        if let (Some((offset, len)), Some(block)) = (step.constants, compiled.constants[place as usize]) {
            bindings[binding::DATA] = Some(Slice { buffer: block.buffer, offset, len });
        }
        if let Some(Multiplied { form, factors, out, bias }) = launch.multiplied
            && let [Some(left), Some(right), Some(out)] = [factors[0], factors[1], out].map(|slot| bindings[slot])
        {
            let bias = bias.and_then(|slot| bindings[slot]);
            recording.push(Command::Multiply(Multiply { form, left, right, out, bias }));
        }
        if let (Some(kernel), Some(id)) = (&launch.kernel, compiled.kernels[number])
            && kernel.count > 0
        {
            if let (Some((offset, len)), Some(block)) = (kernel.table, compiled.tables[place as usize]) {
                bindings[binding::INDEX] = Some(Slice { buffer: block.buffer, offset, len });
            }
            let Kernel { count, words, .. } = *kernel;
            recording.push(Command::Dispatch(Dispatch { kernel: id, bindings, count, single_group: false, words }));
        }
        let bound = step.bindings.iter().filter_map(|(_, reference)| match *reference {
            Ref::Buffer(buffer) => Some(buffer as usize),
            Ref::Leaf(_) => None,
        });
        let is_over = |&buffer: &usize| compiled.plan.buffers[buffer].last as usize == number && !compiled.plan.buffers[buffer].stays;
        let mut over: Vec<usize> = bound.filter(is_over).collect();
        over.sort_unstable();
        for buffer in over {
            for of in Place::ALL {
                if let Some(block) = evaluation.buffers[buffer][of as usize].take() {
                    self.pools[of as usize].give_back(block);
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
        let Some(stored) = self.storages.get_mut(&storage) else { return Err(Error::Internal("a tensor has no storage")) };
        let len = stored.len;
        if let Some(block) = stored.blocks[place as usize] {
            return Ok((block, len));
        }
        // The host's copy stays until the recording has been played.
        let data = self.graph.get(leaf).and_then(|entry| entry.data.clone());
        let kind = if matches!(data, Some(Data::Indices(_) | Data::Halves(..))) { Kind::Index } else { Kind::Real };
        let block = self.pools[place as usize].take(devices.at(place), kind, len)?;
        if let Some(stored) = self.storages.get_mut(&storage) {
            stored.blocks[place as usize] = Some(block);
            self.unplayed.push((Some(leaf), storage, place));
        }
        match data {
            Some(Data::Singles(data)) if len > 0 => {
                recording.push(Command::UploadSingles { buffer: block.buffer, offset: 0, data, first: 0, len });
            }
            Some(Data::Doubles(data)) if len > 0 => {
                recording.push(Command::UploadReals { buffer: block.buffer, offset: 0, data });
            }
            Some(Data::Indices(data) | Data::Halves(data, _)) if len > 0 => {
                recording.push(Command::UploadIndices { buffer: block.buffer, offset: 0, data });
            }
            _ => {}
        }
        Ok((block, len))
    }

    /// What was recorded has been played: the host's copies are needed no more.
    fn settle(&mut self) {
        for (leaf, ..) in std::mem::take(&mut self.unplayed) {
            leaf.map(|leaf| self.graph.take_data(leaf));
        }
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
                let len = compiled.plan.buffers[buffer as usize].size();
                self.storages.insert(Storage(self.next), Stored { blocks, len, users: 0 });
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

    /// Reads what a place has of what is to be read, of one kind at a time; of what is still the host's, its values are known. Of a plan
    /// that is being recorded, its results are where it leaves them.
    fn read_at(
        &mut self,
        devices: &mut Devices,
        evaluation: &mut Evaluation,
        compiled: Option<&Compiled>,
        place: Place,
        recording: &mut Recording,
    ) -> Result<(), Error> {
        let made = |node: &Node| {
            let compiled = compiled?;
            let Ref::Buffer(buffer) = compiled.plan.outputs[evaluation.outputs.binary_search(node).ok()?] else { return None };
            Some((evaluation.buffers[buffer as usize][place as usize]?, compiled.plan.buffers[buffer as usize].size()))
        };
        // As they would be on a device.
        let is_single = devices.main.precision() == Precision::F32;
        let mut sources: Vec<(Block, u32)> = Vec::new();
        for (index, &node) in evaluation.read.iter().enumerate() {
            let Some(entry) = self.graph.get(node).filter(|_| evaluation.values[index].is_none()) else { continue };
            let known = match &entry.data {
                Some(Data::Singles(values)) => Some(values.iter().map(|&value| f64::from(value)).collect()),
                Some(Data::Doubles(values)) if is_single => Some(values.iter().map(|&value| f64::from(value as f32)).collect()),
                Some(Data::Doubles(values)) => Some(values.clone()),
                Some(Data::Indices(values)) if entry.values == Values::Integers => {
                    Some(values.iter().map(|&value| f64::from(value as i32)).collect())
                }
                Some(Data::Indices(values)) => Some(values.iter().map(|&value| f64::from(value)).collect()),
                Some(Data::Halves(words, count)) => Some(halves(words.iter().copied(), *count)),
                None => None,
            };
            let stored = entry.storage.and_then(|storage| self.storages.get(&storage));
            let stored = stored.and_then(|stored| Some((stored.blocks[place as usize]?, stored.len))).or_else(|| made(&node));
            if known.is_some() || self.graph.size(node) == 0 {
                evaluation.values[index] = Some(known.unwrap_or_default());
            } else if let Some((block, len)) = stored
                && sources.first().is_none_or(|(first, _)| first.kind == block.kind)
            {
                sources.push((block, len));
                evaluation.reading.push(index);
            }
        }
        evaluation.staging = self.stage(devices, place, &sources, recording)?;
        Ok(())
    }

    /// Gives back what an evaluation that is not gone on with had. What was recorded may never have been played: what it would have
    /// written is not there, nor is the plan's layout table.
    pub fn abandon(&mut self, devices: &mut Devices, mut evaluation: Evaluation) {
        self.unstage(&mut evaluation);
        for (_, storage, place) in std::mem::take(&mut self.unplayed) {
            let block = self.storages.get_mut(&storage).and_then(|stored| stored.blocks[place as usize].take());
            if let Some(block) = block {
                self.pools[place as usize].give_back(block);
            }
        }
        if let Some(compiled) = self.plans.remove(&evaluation.key) {
            self.drop_plan(compiled);
        }
        self.give_back(std::mem::take(&mut evaluation.buffers));
        self.let_go(devices, &mut evaluation);
    }

    /// Nothing is still to be played.
    fn let_go(&mut self, devices: &mut Devices, evaluation: &mut Evaluation) {
        std::mem::take(&mut evaluation.held).into_iter().for_each(|node| self.graph.release(node));
        self.collect();
        self.trim_to_cap(devices);
    }
}
