//! Building a graph on a GPU: walks and pruning there (`shaders/graph/`), order and edges back here.
//!
//! Vectors, in bytes, and lists stay on the device. For every batch the host uploads its vectors with the starts of their walks, reads
//! the neighbours that were found, sorts the edges back by their targets, and uploads them; lists are linked and pruned there, before the next
//! batch's walks, in the same recording where that is short. So a batch has one readback; its edges are sorted, and uploaded, in one slice of time. Whatever depends on the order of
//! insertion, on batches and on what is reached in the end is [`Builder`]'s, which builds the same graph without a device.

pub use super::build::SLACK;
use super::build::{Builder, MOST_CANDIDATES, starts_of, stride_of};
use super::{DEGREES, NONE, STARTS};
use crate::buffers::Buffers;
use leastwise_device::{Arguments, BufferId, Command, Device, Limits, Recording, Slice, StaticKernels};
use leastwise_error::Error;
use leastwise_kernels::graph::{self, Link, LinkBindings, Walk, WalkBindings};
use std::sync::Arc;

/// Vectors to be inserted that are worth a GPU's while: the first batches are a round trip each, however few vectors they have.
pub const FEWEST: usize = 4096;

/// Beam, components of a vector, neighbours, and places of a list that workgroups have room for (`shaders/graph/`; `tests/shaders.rs` compares).
pub const WIDEST: u32 = 256;
/// Components.
pub const LONGEST: usize = 4096;
/// Neighbours.
pub const MOST_NEIGHBOURS: u32 = 128;
/// Places of a list, or starts of a walk.
pub const MOST_PLACES: usize = 176;

const _: () = assert!(2 * WIDEST as usize == MOST_CANDIDATES, "a workgroup keeps as many candidates for either kernel");
const _: () = assert!(DEGREES.end - 1 <= MOST_NEIGHBOURS, "a workgroup has room for the neighbours of a vector");
const _: () = assert!(stride_of(DEGREES.end - 1) <= MOST_PLACES && STARTS < MOST_PLACES, "a workgroup has room for a list, and for starts");

/// Bounds of one recording.
#[derive(Clone, Copy, Debug)]
pub struct Portions {
    /// Products of numbers.
    pub work: u64,
    /// Workgroups of one dispatch.
    pub groups: u64,
    /// Words that are uploaded, or read, of a table with a place for every vector.
    pub words: usize,
}

impl Default for Portions {
    /// So much work as the slowest GPU does in well under the second after which systems think that it hangs; workgroups whose invocations are counted in
    /// 32 bits; 4 MB.
    fn default() -> Self {
        Self { work: 1 << 33, groups: 1 << 22, words: 1 << 20 }
    }
}

/// Words of a target in a table of edges back.
const HEAD: usize = 4;

/// Step of a build.
pub enum Next {
    /// Play it, and come back with what it read.
    Run(Recording),
    /// All vectors are inserted, and the builder has their lists.
    Done,
}

/// Place in a build.
enum Stage {
    Rows(usize),
    Lists(usize),
    /// Walks of a batch, from this one on.
    Search(u32),
    /// Neighbours that a batch's walks found.
    Found,
    /// Targets of a batch, of which so many are done.
    Link {
        done: u32,
        targets: u32,
        sources: u32,
    },
    Shrink(usize),
    /// Lists from one node to another, which were asked for.
    Read {
        from: usize,
        to: usize,
    },
}

/// A build on a device.
pub struct OnDevice {
    kernels: StaticKernels,
    portions: Portions,
    group_size: u32,
    /// Words of a vector, places of a list, starts of a walk.
    words: u32,
    places: u32,
    starts: u32,
    scales: Slice,
    rows: Slice,
    table: Slice,
    lists: Slice,
    found: Slice,
    buffers: Vec<BufferId>,
    stage: Stage,
}

impl OnDevice {
    /// Room for a build that has not begun.
    ///
    /// # Errors
    /// [`Error::Limits`] where kernels or buffers have no room for it, and [`Error::Device`].
    pub fn new(device: &mut Device, builder: &Builder) -> Result<Self, Error> {
        Self::in_portions(device, builder, Portions::default())
    }

    /// [`OnDevice::new`] with other bounds of a recording, which change no graph.
    ///
    /// # Errors
    /// As [`OnDevice::new`].
    pub fn in_portions(device: &mut Device, builder: &Builder, portions: Portions) -> Result<Self, Error> {
        let Limits { binding_bytes, buffer_bytes, group_size, .. } = device.limits();
        let most = (binding_bytes.min(buffer_bytes) / 4).min(1 << 30);
        let (count, degree, effort) = (builder.lists.count() as u64, u64::from(builder.plan.degree), builder.plan.effort);
        if effort > WIDEST {
            return Err(Error::Limits(format!("the graph's beam is {effort} vectors, and kernels have room for {WIDEST}")));
        }
        if builder.whole.dim > LONGEST {
            let dim = builder.whole.dim;
            return Err(Error::Limits(format!("the graph's vectors have {dim} components, and kernels have room for {LONGEST}")));
        }
        let (words, places) = (builder.whole.dim.div_ceil(4) as u64, builder.lists.stride() as u64);
        let starts = builder.plan.near_count() as u64 + 1;
        let batch = builder.largest_batch() as u64;
        let targets = batch * (degree + 1);
        let sizes = [
            ("vectors", count * words),
            ("lists", count * (places + 1)),
            ("scales", 2 * count),
            ("edges of a batch", HEAD as u64 * targets + batch * degree),
        ];
        for (what, needed) in sizes {
            if needed > most {
                return Err(Error::Limits(format!(
                    "{what} of the graph take {needed} numbers, and a buffer of this device has room for {most}"
                )));
            }
        }
        let kernels = StaticKernels::request(device, graph::ALL, |source| source)?;
        let mut buffers = Buffers::new(device);
        let [of_rows, of_lists, of_scales, of_table] = sizes.map(|(_, len)| len as u32);
        Ok(Self {
            kernels,
            portions,
            group_size,
            words: words as u32,
            places: places as u32,
            starts: starts as u32,
            scales: buffers.real(of_scales, "scales of a graph's vectors")?,
            rows: buffers.index(of_rows, "vectors of a graph")?,
            table: buffers.index(of_table.max((batch * (starts + 1)) as u32), "edges of a batch")?,
            lists: buffers.index(of_lists, "lists of a graph")?,
            found: buffers.index(targets as u32, "neighbours found")?,
            buffers: buffers.keep(),
            stage: Stage::Rows(0),
        })
    }

    /// Frees its buffers.
    pub fn dispose(self, device: &mut Device) {
        self.buffers.into_iter().for_each(|buffer| device.free(buffer));
    }

    /// Goes on, with what the last recording has read.
    pub fn advance(&mut self, builder: &mut Builder, readback: &[f64]) -> Next {
        let (mut commands, mut work) = (Vec::new(), 0);
        let count = builder.lists.count();
        loop {
            match self.stage {
                Stage::Rows(from) => {
                    let to = count.min(from + self.portions.words.div_ceil(self.words as usize));
                    self.stage = if to < count { Stage::Rows(to) } else { Stage::Lists(0) };
                    self.upload_rows(builder, from, to, &mut commands);
                    return Next::Run(Recording { commands });
                }
                Stage::Lists(from) => {
                    let to = builder.before.min(from + self.lists_together());
                    if from == to {
                        self.stage = self.begin(builder);
                        continue;
                    }
                    self.stage = Stage::Lists(to);
                    commands.push(self.upload_lists(builder, from, to));
                    return Next::Run(Recording { commands });
                }
                Stage::Search(done) => {
                    let batch = (builder.batch - builder.inserted) as u32;
                    let of_each = self.work_of_walk(builder);
                    let some = self.some(batch - done, of_each, work);
                    if some == 0 {
                        return Next::Run(Recording { commands });
                    }
                    if done == 0 {
                        commands.push(self.ask(builder));
                    }
                    work += of_each * u64::from(some);
                    commands.push(self.search(builder, done, some));
                    self.stage = Stage::Search(done + some);
                    if done + some == batch {
                        self.stage = Stage::Found;
                        let len = batch * (builder.plan.degree + 1);
                        commands.push(Command::Read { slice: Slice { len, ..self.found } });
                        return Next::Run(Recording { commands });
                    }
                }
                Stage::Found => {
                    let (table, targets) = self.turned_around(builder, readback);
                    commands.push(Command::UploadIndices { buffer: self.table.buffer, offset: 0, data: table });
                    self.stage = Stage::Link { done: 0, targets, sources: targets * HEAD as u32 };
                    builder.inserted = builder.batch;
                    builder.begin_batch();
                }
                Stage::Link { done, targets, sources } => {
                    let of_each = self.work_of_link(builder);
                    let some = self.some(targets - done, of_each, work);
                    if some == 0 {
                        return Next::Run(Recording { commands });
                    }
                    work += of_each * u64::from(some);
                    commands.push(self.link(builder, done, some, sources, self.places));
                    self.stage = Stage::Link { done: done + some, targets, sources };
                    if done + some == targets {
                        self.stage = self.begin(builder);
                    }
                }
                Stage::Shrink(from) => {
                    let most = self.some(u32::MAX, self.work_of_link(builder), 0).min(self.table.len / HEAD as u32);
                    let to = count.min(from + most as usize);
                    self.stage = if to < count { Stage::Shrink(to) } else { Stage::Read { from: 0, to: 0 } };
                    let heads = (from as u32..to as u32).flat_map(|node| [node, NONE, 0, 0]).collect();
                    commands.push(Command::UploadIndices { buffer: self.table.buffer, offset: 0, data: heads });
                    commands.push(self.link(builder, 0, (to - from) as u32, 0, builder.plan.degree));
                    return Next::Run(Recording { commands });
                }
                Stage::Read { from, to } => {
                    builder.keep_lists(from..to, readback, self.places as usize + 1);
                    if to == count {
                        builder.is_shrunk = count;
                        return Next::Done;
                    }
                    let end = count.min(to + self.lists_together());
                    self.stage = Stage::Read { from: to, to: end };
                    let each = self.places + 1;
                    let slice = Slice { offset: to as u32 * each, len: (end - to) as u32 * each, ..self.lists };
                    commands.push(Command::Read { slice });
                    return Next::Run(Recording { commands });
                }
            }
        }
    }

    /// The next batch, or what comes after the last.
    fn begin(&self, builder: &Builder) -> Stage {
        if builder.inserted < builder.order.len() { Stage::Search(0) } else { Stage::Shrink(0) }
    }

    fn lists_together(&self) -> usize {
        (self.portions.words / (self.places as usize + 1)).max(1)
    }

    /// Share of these, of so much work each, that a recording has room for; at least one in one that has none yet.
    fn some(&self, left: u32, of_each: u64, work: u64) -> u32 {
        let room = self.portions.work.saturating_sub(work) / of_each.max(1);
        let least = u64::from(work == 0);
        room.max(least).min(u64::from(left)).min(self.portions.groups) as u32
    }

    /// Products of a walk to a vector and of pruning, at most: one expansion for each of the beam, a comparison of each chosen one with half of the
    /// others.
    fn work_of_walk(&self, builder: &Builder) -> u64 {
        let (effort, degree) = (u64::from(builder.plan.effort), u64::from(builder.plan.degree));
        4 * u64::from(self.words) * effort * (u64::from(self.places) + degree)
    }

    fn work_of_link(&self, builder: &Builder) -> u64 {
        4 * u64::from(self.words) * u64::from(self.places) * (1 + u64::from(builder.plan.degree))
    }

    fn upload_rows(&self, builder: &Builder, from: usize, to: usize, commands: &mut Vec<Command>) {
        let whole = &builder.whole;
        let rows = whole.numbers[from * whole.dim..to * whole.dim].chunks_exact(whole.dim);
        let word = |numbers: &[i8]| {
            let mut bytes = [0; 4];
            bytes.iter_mut().zip(numbers).for_each(|(byte, number)| *byte = *number as u8);
            u32::from_le_bytes(bytes)
        };
        let data = rows.flat_map(|row| row.chunks(4).map(word)).collect();
        commands.push(Command::UploadIndices { buffer: self.rows.buffer, offset: from as u32 * self.words, data });
        let scales: Vec<f32> = whole.rows[from..to].iter().flat_map(|&(unit, length)| [unit, length]).collect();
        let (offset, len) = (2 * from as u32, scales.len() as u32);
        commands.push(Command::UploadSingles { buffer: self.scales.buffer, offset, data: Arc::new(scales), first: 0, len });
    }

    /// Lists that were there before.
    fn upload_lists(&self, builder: &Builder, from: usize, to: usize) -> Command {
        let each = self.places as usize + 1;
        let mut data = vec![NONE; (to - from) * each];
        for (node, list) in (from as u32..).zip(data.chunks_exact_mut(each)) {
            let neighbours = builder.lists.of(node);
            list[0] = neighbours.len() as u32;
            list[1..][..neighbours.len()].copy_from_slice(neighbours);
        }
        Command::UploadIndices { buffer: self.lists.buffer, offset: from as u32 * (self.places + 1), data }
    }

    /// The batch's vectors, each with the starts of its walk.
    fn ask(&self, builder: &Builder) -> Command {
        let each = self.starts as usize + 1;
        let nodes = &builder.order[builder.inserted..builder.batch];
        let mut data = Vec::with_capacity(nodes.len() * each);
        for &node in nodes {
            let first = data.len();
            data.push(node);
            for start in starts_of(&builder.plan, builder.entry, node) {
                if !data[first..].contains(&start) {
                    data.push(start);
                }
            }
            data.resize(first + each, NONE);
        }
        Command::UploadIndices { buffer: self.table.buffer, offset: 0, data }
    }

    fn search(&self, builder: &Builder, first: u32, vectors: u32) -> Command {
        let args = Walk {
            vectors,
            first,
            words: self.words,
            effort: builder.plan.effort,
            degree: builder.plan.degree,
            places: self.places,
            starts: self.starts,
        };
        let Self { scales, rows, table, lists, found, .. } = *self;
        self.groups(args, vectors, WalkBindings { scales, rows, table, lists, found })
    }

    fn link(&self, builder: &Builder, first: u32, targets: u32, sources: u32, most: u32) -> Command {
        let args = Link { targets, first, sources, words: self.words, degree: builder.plan.degree, places: self.places, most };
        let Self { scales, rows, table, lists, found, .. } = *self;
        self.groups(args, targets, LinkBindings { scales, rows, table, lists, found })
    }

    fn groups<K: Arguments>(&self, args: K, groups: u32, bindings: K::Bindings<Slice>) -> Command {
        Command::Dispatch(self.kernels.dispatch(args, groups * self.group_size, bindings))
    }

    /// The table of edges back: heads of all targets, then their sources; and how many targets there are. The batch's vectors are among them, with
    /// or without sources.
    fn turned_around(&self, builder: &Builder, readback: &[f64]) -> (Vec<u32>, u32) {
        let nodes = &builder.order[builder.inserted..builder.batch];
        let mut pairs = Vec::with_capacity(readback.len());
        for (&node, found) in nodes.iter().zip(readback.chunks_exact(builder.plan.degree as usize + 1)) {
            pairs.extend(found[1..][..found[0] as usize].iter().map(|&target| (target as u64) << 32 | u64::from(node)));
        }
        pairs.sort_unstable();
        let mut own: Vec<(u32, u32)> = nodes.iter().copied().zip(0..).collect();
        own.sort_unstable();
        let mut own = own.into_iter().peekable();
        let (mut table, mut first) = (Vec::with_capacity(2 * pairs.len()), 0);
        loop {
            let of_pairs = pairs.get(first).map(|pair| (pair >> 32) as u32);
            let Some(target) = of_pairs.into_iter().chain(own.peek().map(|(node, _)| *node)).min() else { break };
            let row = own.next_if(|(node, _)| *node == target).map_or(NONE, |(_, row)| row);
            let count = pairs[first..].iter().take_while(|pair| (**pair >> 32) as u32 == target).count();
            table.extend([target, row, first as u32, count as u32]);
            first += count;
        }
        let targets = (table.len() / HEAD) as u32;
        table.extend(pairs.iter().map(|pair| *pair as u32));
        (table, targets)
    }
}
