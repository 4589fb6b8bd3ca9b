//! Sums of tensors over ranks: new tensors of the elements that all ranks gave, added in the order of ranks.
//!
//! Elements go by *messages*, which have those of several tensors or a part of one. They are copied into a buffer of their own: so later
//! sums exchange the same slices of it, and what a device keeps of an exchange (`native_cuda/device/ranks.rs`) does not grow with the
//! tensors. Tensors that an evaluation computes are exchanged within it (`runtime/exchanges.rs`), others after it.

use super::graph::{Graph, Node, Op, Values};
use super::pool::Block;
use super::runtime::{Devices, Tensors};
use leastwise_device::{BufferId, Collective, Command, Exchange, Kind, Recording, Slice};
use leastwise_error::Error;
use std::collections::HashSet;
use std::sync::Arc;

/// Elements of a message at most.
pub const MESSAGE: u32 = 1 << 20;

/// Elements that make a message within an evaluation worth its way: fewer wait for those of the tensors that are computed next.
pub const LEAST: u32 = 1 << 16;

/// Elements that this rank gives.
pub enum Given {
    /// On the main device.
    Here(Slice),
    /// In the host's memory.
    Host(Vec<f64>),
}

/// Buffers of sums on their way.
#[derive(Default)]
pub struct Sums {
    /// Elements of each sum and their number.
    pub(crate) made: Vec<(Block, u32)>,
    /// Buffers that messages go by.
    pub(crate) messages: Vec<Block>,
}

impl Sums {
    /// An element of one of the sums, if they have any.
    pub fn any(&self) -> Option<Slice> {
        let (block, _) = self.made.iter().find(|(_, len)| *len > 0)?;
        Some(Slice { buffer: block.buffer, offset: 0, len: 1 })
    }
}

/// Elements of a tensor, and their place in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Number of the tensor among those that are summed.
    pub tensor: u32,
    /// Its first element that goes.
    pub first: u32,
    /// Number of elements.
    pub len: u32,
    /// Place of the first one in the message.
    pub at: u32,
}

/// One message to all ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Step of the evaluation after which it can go.
    pub step: u32,
    /// Its parts, one behind the other.
    pub parts: Vec<Part>,
}

impl Message {
    /// Number of elements.
    pub fn len(&self) -> u32 {
        self.parts.iter().map(|part| part.len).sum()
    }

    /// True if it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fingerprint of what ranks must have in common to exchange messages: their parts. Steps may be others. It is not 0.
    pub fn fingerprint(messages: &[Self]) -> u64 {
        let mut fingerprint = leastwise_device::Fingerprint::default();
        for message in messages {
            let words = message.parts.iter().flat_map(|part| [part.tensor, part.first, part.len]);
            fingerprint.add(&words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        }
        fingerprint.0.max(1)
    }
}

/// Messages of tensors, of which `tensors` has the step that completes each and its number of elements: in the order in which they are
/// completed, of [`LEAST`] elements or more but for the last one, and of [`MESSAGE`] at most.
pub fn messages(tensors: &[(u32, u32)]) -> Vec<Message> {
    let mut order: Vec<u32> = (0..tensors.len() as u32).filter(|tensor| tensors[*tensor as usize].1 > 0).collect();
    order.sort_by_key(|tensor| tensors[*tensor as usize].0);
    let mut messages = Vec::new();
    let (mut parts, mut filled) = (Vec::new(), 0);
    for (number, &tensor) in order.iter().enumerate() {
        let (step, len) = tensors[tensor as usize];
        let mut first = 0;
        while first < len {
            let now = (len - first).min(MESSAGE - filled);
            parts.push(Part { tensor, first, len: now, at: filled });
            (first, filled) = (first + now, filled + now);
            if filled == MESSAGE {
                messages.push(Message { step, parts: std::mem::take(&mut parts) });
                filled = 0;
            }
        }
        let next = order.get(number + 1).map(|next| tensors[*next as usize].0);
        if filled > 0 && (next.is_none() || filled >= LEAST && next != Some(step)) {
            messages.push(Message { step, parts: std::mem::take(&mut parts) });
            filled = 0;
        }
    }
    messages
}

/// So many elements of a slice.
pub(crate) fn cut(Slice { buffer, offset, .. }: Slice, first: u32, len: u32) -> Slice {
    Slice { buffer, offset: offset + first, len }
}

/// Place of a part in the buffer of its message.
pub(crate) fn place_in(buffer: BufferId, part: &Part) -> Slice {
    Slice { buffer, offset: part.at, len: part.len }
}

impl Graph {
    /// Sums over all ranks, which a task of all ranks computes before what needs them, or means. No gradient goes through them. Ranks with
    /// other numbers of a step are refused then.
    ///
    /// # Errors
    /// [`Error::Dtype`] for halves, int32s and truths.
    pub fn over_ranks(&mut self, tensors: &[Node], ranks: u32, mean: bool, step: u32) -> Result<Vec<Node>, Error> {
        if tensors.iter().any(|node| self.entry(*node).values != Values::Reals || self.entry(*node).half) {
            return Err(Error::Dtype("sums over ranks are of tensors in f32 or f64: cast(\"f32\") makes one of others".into()));
        }
        let mut made = Vec::new();
        for tensor in tensors {
            let shape = self.shape(*tensor).to_vec();
            self.open_sums += 1;
            made.push(self.add(Op::OverRanks { step }, vec![*tensor], shape));
        }
        if !mean {
            return Ok(made);
        }
        let count = self.constant(f64::from(ranks), &[]);
        made.iter().map(|sum| self.apply("div", &[*sum, count])).collect()
    }

    /// Step that a sum is of.
    pub fn step_over_ranks(&self, sum: Node) -> u32 {
        match self.entry(sum).op {
            Op::OverRanks { step } => step,
            _ => 0,
        }
    }

    /// Sums over ranks that some nodes need and that are not computed, in the order in which they were made. Of those that need others the
    /// others alone, which come first.
    pub fn sums_over_ranks(&self, nodes: &[Node]) -> Vec<Node> {
        if self.open_sums == 0 {
            return Vec::new();
        }
        let (mut found, mut behind) = (Vec::new(), HashSet::new());
        for node in self.order(nodes) {
            let entry = self.entry(node);
            let (is_sum, is_behind) = (matches!(entry.op, Op::OverRanks { .. }), entry.inputs.iter().any(|input| behind.contains(input)));
            if is_sum && !is_behind {
                found.push(node);
            }
            if is_sum || is_behind {
                behind.insert(node);
            }
        }
        found.sort_unstable();
        found
    }

    /// Number of sums over ranks that some nodes need and that are not computed: those that come first, and those that need them.
    pub fn all_sums_over_ranks(&self, nodes: &[Node]) -> u32 {
        let order = if self.open_sums == 0 { Vec::new() } else { self.order(nodes) };
        order.into_iter().filter(|node| matches!(self.entry(*node).op, Op::OverRanks { .. })).count() as u32
    }
}

impl Tensors {
    /// Recording that sums elements over the ranks of which the main device is one, and the buffers that it fills.
    ///
    /// # Errors
    /// [`Error::Device`] where there is no room for them.
    pub fn sum_over_ranks(&mut self, devices: &mut Devices, given: Vec<Given>) -> Result<(Recording, Sums), Error> {
        let mut sums = Sums::default();
        match self.record_sums(devices, given, &mut sums) {
            Ok(recording) => Ok((recording, sums)),
            Err(error) => {
                self.drop_sums(sums);
                Err(error)
            }
        }
    }

    fn record_sums(&mut self, devices: &mut Devices, given: Vec<Given>, sums: &mut Sums) -> Result<Recording, Error> {
        let mut recording = Recording::new();
        let mut moved = Vec::new();
        for given in given {
            let len = match &given {
                Given::Here(slice) => slice.len,
                Given::Host(values) => values.len() as u32,
            };
            let block = self.take(devices, Kind::Real, len)?;
            sums.made.push((block, len));
            let to = Slice { buffer: block.buffer, offset: 0, len };
            let from = match given {
                Given::Here(slice) => slice,
                Given::Host(data) if len > 0 => {
                    recording.push(Command::UploadReals { buffer: block.buffer, offset: 0, data });
                    to
                }
                Given::Host(_) => to,
            };
            moved.push((from, to));
        }
        let messages = messages(&moved.iter().map(|(from, _)| (0, from.len)).collect::<Vec<_>>());
        let Some(longest) = messages.iter().map(Message::len).max() else { return Ok(recording) };
        let block = self.take(devices, Kind::Real, longest)?;
        sums.messages.push(block);
        for message in messages {
            for part in &message.parts {
                let from = cut(moved[part.tensor as usize].0, part.first, part.len);
                recording.push(Command::Copy { from, to: place_in(block.buffer, part) });
            }
            let whole = Slice { buffer: block.buffer, offset: 0, len: message.len() };
            recording.push(Command::Collective(Arc::new(Collective::new("sums of tensors", vec![Exchange::total(whole)]))));
            for part in &message.parts {
                let to = cut(moved[part.tensor as usize].1, part.first, part.len);
                recording.push(Command::Copy { from: place_in(block.buffer, part), to });
            }
        }
        Ok(recording)
    }

    /// Takes exchanges [within an evaluation](Self::exchange_within) out of its recording, and gives back the buffers of their sums.
    pub fn leave_out(&mut self, recording: &mut Recording, sums: Sums) {
        let own: HashSet<BufferId> = sums.messages.iter().map(|block| block.buffer).collect();
        let mut named = Vec::new();
        recording.commands.retain(|command| {
            named.clear();
            command.name_buffers(&mut named);
            !named.iter().any(|buffer| own.contains(buffer))
        });
        self.drop_sums(sums);
    }

    /// Stores sums whose recording is played, or enqueued, as those of these nodes.
    pub fn store_sums(&mut self, mut sums: Sums, nodes: &[Node]) {
        let made = std::mem::take(&mut sums.made);
        self.drop_sums(sums);
        for ((block, len), node) in made.into_iter().zip(nodes) {
            if self.graph.get(*node).is_none() {
                self.give_back_taken(block);
                continue;
            }
            let storage = self.storage_in(block, len);
            self.graph.store(*node, storage);
        }
        self.collect();
    }

    /// Gives back the buffers of sums that nobody gets.
    pub fn drop_sums(&mut self, sums: Sums) {
        let blocks = sums.made.into_iter().map(|(block, _)| block).chain(sums.messages);
        blocks.for_each(|block| self.give_back_taken(block));
    }
}
