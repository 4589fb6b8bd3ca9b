//! What merged products are made of, without a device: which batch stores what, where, and the list along which all is gathered.

use super::super::super::ranks;
use super::super::{self as linear, Planning};
use super::{MOST, MergedProducts};
use leastwise_base::task::{Pace, Stopped, Task};
use leastwise_device::{BufferId, Command, Device, Kind, Profile, Reals, Slice};
use leastwise_error::Error;
use leastwise_problem::{Batch, Links, Problem, Registry, runs};
use leastwise_program::wgsl::{self, Cut};
use leastwise_program::{ColumnMap, NEGATIVE, OwnerProgram};
use std::ops::Range;
use std::sync::Arc;

/// Entries that one lane adds up at most.
const LONGEST: u32 = 64;

/// Words of a table in the list (`shaders/merged/shared/tables.wgsl`).
const TABLE_WORDS: usize = 6;

/// Operations that an entry takes, about.
const EACH: usize = 8;

/// Merged products before they have buffers.
pub struct Plan {
    pub(super) tables: u32,
    pub(super) variables: u32,
    pub(super) elements: u32,
    pub(super) words: Vec<u32>,
    pub(super) starts: u32,
    pub(super) entries: u32,
    pub(super) kind_bits: u32,
    pub(super) parts: Vec<Part>,
    /// Elements of the columns, and vectors that owners store.
    pub(super) columns: u32,
    pub(super) vectors: u32,
}

/// The first half of the product of a chunk.
#[derive(Clone)]
pub(super) struct Part {
    pub batch: usize,
    pub chunk: usize,
    /// Elements of the columns that it stores into.
    pub columns: Range<u32>,
    /// Of a product by owners, its program and the number of the vector that it stores into.
    pub owner: Option<(Arc<OwnerProgram>, u32)>,
}

/// A batch as plans see it.
struct Source {
    owner: Option<Arc<OwnerProgram>>,
}

/// Contributions of a slot of a chunk to a table.
struct SlotKind<'a> {
    variables: &'a [u32],
    map: &'a ColumnMap,
    /// Elements from one column to the next, and from one instance to the next.
    strides: [u32; 2],
    first: u32,
}

/// The owners of a batch's instances, where its product is by owners.
pub(super) fn owner_of(batch: &Batch) -> Option<Arc<OwnerProgram>> {
    let is_tiled = batch.chunks.iter().all(|chunk| chunk.tiles.is_some());
    batch.product.owner.clone().filter(|_| is_tiled)
}

/// What a plan is made of, apart from the problem.
pub struct Sources {
    links: Links,
    /// In the order of the links' batches.
    batches: Vec<Source>,
    cut: Option<Cut>,
    /// Elements that slices begin at multiples of.
    alignment: u32,
}

impl Sources {
    /// Those of a problem that is laid out, if products can be merged on this device.
    pub fn of(device: &Device, problem: &Problem) -> Option<Self> {
        // What is kept in double-floats is not written in f32.
        let merges = device.reals() != Reals::Mixed && problem.enabled_batches().all(|batch| batch.sums.is_none());
        let links = merges.then(|| Links::new(problem))?;
        let batches = links.batches.iter().map(|batch| Source { owner: owner_of(&problem.batches()[batch.number]) }).collect();
        Some(Self { links, batches, cut: device.cut(), alignment: device.limits().offset_alignment })
    }
}

/// Sources of a problem's plan, if products are to be merged on this device. A dispatch of the CPU is a call, and ranks exchange q between
/// the parts of an iteration.
pub fn sources(device: &Device, problem: &Problem) -> Option<Sources> {
    if device.profile() == Profile::Cpu || ranks::is_ranked(problem) { None } else { Sources::of(device, problem) }
}

/// Begins the plan for a problem, if products are to be merged on this device.
pub fn plan(device: &Device, problem: &Problem) -> Option<Planning> {
    let sources = sources(device, problem)?;
    Some(Task::new(move |pace| async move {
        let plan = Plan::new(&sources, &pace).await?;
        Ok(plan.map(|plan| Box::new(plan) as Box<dyn linear::Plan>))
    }))
}

/// Why products stay apart.
fn apart(why: &str) -> Error {
    Error::Limits(format!("products are not merged: {why}"))
}

impl Plan {
    /// The plan for these, or why products stay apart.
    pub async fn new(sources: &Sources, pace: &Pace) -> Result<Result<Self, Error>, Stopped> {
        let Sources { links, batches, cut, alignment } = sources;
        let mut moving: Vec<u32> = links.moving().map(|(number, _)| number).collect();
        moving.sort_by_key(|&table| links.tables[table as usize].site.vector);
        let site = |table: u32| links.tables[table as usize].site;
        let elements = links.vector_len;
        let variables: u32 = moving.iter().map(|&table| site(table).count).sum();

        // What is stored where.
        let (mut parts, mut columns, mut vectors) = (Vec::new(), 0usize, 0);
        let mut kinds: Vec<Vec<SlotKind>> = moving.iter().map(|_| Vec::new()).collect();
        for (batch, source) in links.batches.iter().zip(batches) {
            let programs = &batch.programs;
            let stored = match &source.owner {
                Some(owner) => owner.crossing_columns,
                None => cut.map_or(0, |cut| wgsl::columns(&programs.product, cut)).max(programs.contributions),
            };
            let maps = source.owner.as_ref().map_or(&programs.gradient_maps, |owner| &owner.crossing);
            for (chunk, &(first, count)) in batch.chunks.iter().enumerate() {
                let begin = columns.next_multiple_of(*alignment as usize);
                columns = begin + stored as usize * count as usize;
                if columns > MOST || (vectors + 2) as usize * elements as usize > MOST {
                    return Ok(Err(apart("an iteration costs what it moves")));
                }
                let owner = source.owner.clone().map(|owner| {
                    vectors += 1;
                    (owner, vectors)
                });
                let strides = if owner.is_some() { [1, stored] } else { [count, 1] };
                parts.push(Part { batch: batch.number, chunk, columns: begin as u32..columns as u32, owner });
                for (slot, table, indices) in batch.moving_slots() {
                    let map = &maps[slot as usize];
                    if map.codes.iter().all(|&code| code == 0) {
                        continue;
                    }
                    let place = moving.iter().position(|&known| known == table).expect("a slot that moves is of a table that does");
                    let variables = &indices[first as usize..(first + count) as usize];
                    kinds[place].push(SlotKind { variables, map, strides, first: begin as u32 });
                }
            }
        }
        let all: usize = kinds.iter().flatten().map(|kind| kind.variables.len()).sum();
        let kind_bits = kinds.iter().map(|kinds| usize::BITS - kinds.len().saturating_sub(1).leading_zeros()).max().unwrap_or(0);
        let furthest = kinds.iter().flatten().map(|kind| kind.strides[1] as usize * kind.variables.len()).max().unwrap_or(0);
        // In 64 bits: a shift by all 32 of a word of wasm would be none.
        if all > MOST || (furthest as u64) >> (u32::BITS - kind_bits) > 0 {
            return Ok(Err(apart("an iteration costs what it moves")));
        }

        // The list: tables, maps, starts, entries.
        let mut words = vec![0; TABLE_WORDS * moving.len()];
        let mut first_variable = 0;
        for (number, (&table, kinds)) in moving.iter().zip(&kinds).enumerate() {
            let (site, map) = (site(table), words.len() as u32);
            let of_table = [site.vector, site.tangent, site.block, first_variable, map, site.count];
            words[TABLE_WORDS * number..][..TABLE_WORDS].copy_from_slice(&of_table);
            for kind in kinds {
                words.extend(kind.map.codes.iter().map(|&code| match code & !NEGATIVE {
                    0 => 0,
                    column => (kind.first + (column - 1) * kind.strides[0] + 1) | code & NEGATIVE,
                }));
            }
            first_variable += site.count;
        }
        let mut lens = vec![0u32; variables as usize];
        for (number, kinds) in kinds.iter().enumerate() {
            let first = words[TABLE_WORDS * number + 3];
            for kind in kinds {
                for run in runs(kind.variables.len()) {
                    pace.spend(EACH * run.len()).await?;
                    kind.variables[run].iter().for_each(|variable| lens[(first + variable) as usize] += 1);
                }
            }
        }
        if lens.iter().any(|&len| len > LONGEST) {
            return Ok(Err(apart("a variable is in very many instances")));
        }
        let starts = words.len() as u32;
        let mut next = Vec::with_capacity(lens.len());
        let mut end = 0;
        words.push(0);
        for len in &lens {
            next.push(end);
            end += len;
            words.push(end);
        }
        let entries = words.len() as u32;
        words.resize(words.len() + all, 0);
        for (number, kinds) in kinds.iter().enumerate() {
            let first = words[TABLE_WORDS * number + 3];
            for (code, kind) in (0..).zip(kinds) {
                for run in runs(kind.variables.len()) {
                    pace.spend(EACH * run.len()).await?;
                    for instance in run {
                        let place = &mut next[(first + kind.variables[instance]) as usize];
                        words[(entries + *place) as usize] = (instance as u32 * kind.strides[1]) << kind_bits | code;
                        *place += 1;
                    }
                }
            }
        }
        Ok(Ok(Self {
            tables: moving.len() as u32,
            variables,
            elements,
            words,
            starts,
            entries,
            kind_bits,
            parts,
            columns: columns as u32,
            vectors,
        }))
    }
}

impl Plan {
    /// Merged products with their buffers and kernels, which are all made or none; `Error::Limits` says that they do not fit.
    pub fn merge(self, device: &mut Device, problem: &Problem) -> Result<MergedProducts, Error> {
        let mut making = Making { device, buffers: Vec::new(), uploads: Vec::new() };
        match MergedProducts::make(&mut making, problem, self) {
            Ok(made) => Ok(MergedProducts { uploads: making.uploads, buffers: making.buffers, ..made }),
            Err(error) => {
                making.buffers.into_iter().for_each(|buffer| making.device.free(buffer));
                Err(error)
            }
        }
    }
}

impl linear::Plan for Plan {
    fn make(self: Box<Self>, device: &mut Device, _: &mut Registry, problem: &Problem) -> Result<Box<dyn linear::DeviceSolver>, Error> {
        Ok(Box::new(self.merge(device, problem)?))
    }
}

/// Makes buffers: freed again where one of them can't be.
pub(super) struct Making<'a> {
    pub device: &'a mut Device,
    pub buffers: Vec<BufferId>,
    pub uploads: Vec<Command>,
}

impl Making<'_> {
    /// A buffer of so many elements.
    pub fn slice(&mut self, kind: Kind, len: u32, label: &str) -> Result<Slice, Error> {
        let limits = self.device.limits();
        let bytes = u64::from(len.max(1)) * if kind == Kind::Index { 4 } else { self.device.precision().bytes() };
        if bytes > limits.binding_bytes.min(limits.buffer_bytes) {
            return Err(apart(&format!("{label} need {bytes} bytes, more than a buffer of this device holds")));
        }
        let buffer = self.device.allocate(kind, len.max(1), label)?;
        self.buffers.push(buffer);
        Ok(Slice { buffer, offset: 0, len: len.max(1) })
    }
}
