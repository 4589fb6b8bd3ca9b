//! Terms: one residual over many instances, cut into chunks by the device's limits.

use super::incidence::{self, Incidence, IncidentSlot};
use super::{GUARDS, Reals, Table};
use crate::device::{BufferId, Command, Device, KernelId, KernelSource, Kind, Limits, cpu::Body};
use crate::error::Error;
use crate::expr::{Graph, Leaf, tape};
use crate::kernel::{Address, ColumnShape, Program, ResidualPrograms, Signature, SlotShape, block::BlockProgram, wgsl};
use std::sync::Arc;

/// How a term reaches a table: through a column of its index table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub table: u32,
    pub column: u32,
}

/// A data column: `width` scalars an instance, or shared by all.
pub struct Column<'a> {
    pub name: String,
    pub width: u32,
    pub shared: bool,
    pub values: Reals<'a>,
}

/// w in ½ w ‖r‖².
#[derive(Clone, Copy)]
pub enum Weight<'a> {
    Shared(f64),
    Each(Reals<'a>),
}

/// What a caller says of a term; nothing of it is believed.
pub struct TermSpec<'a> {
    pub name: String,
    pub count: u32,
    pub indices: Vec<Vec<u32>>,
    pub slots: Vec<Slot>,
    pub columns: Vec<Column<'a>>,
    pub weight: Weight<'a>,
    pub tape: &'a [u32],
    pub outputs: &'a [u32],
}

/// Instances `first .. first + count` of a term.
pub struct Chunk {
    pub first: u32,
    pub count: u32,
    pub data: BufferId,
    pub data_len: u32,
    pub index: BufferId,
    pub index_len: u32,
    /// r and the stored entries of J.
    pub jacobian: BufferId,
    pub jacobian_len: u32,
    /// One list for every moving table that the term reaches.
    pub incidence: Vec<Incidence>,
}

/// The kernels of a term.
#[derive(Clone, Copy, Debug)]
pub struct TermKernels {
    pub linearize: KernelId,
    pub energy: KernelId,
    pub change: KernelId,
    pub gradient: KernelId,
    pub product: KernelId,
    pub diagonal: KernelId,
}

pub struct Term {
    pub name: String,
    pub count: u32,
    pub enabled: bool,
    pub kernels: TermKernels,
    pub programs: ResidualPrograms,
    pub chunks: Vec<Chunk>,
    columns: Vec<(String, ColumnShape)>,
    weight_shared: bool,
    shared: u32,
}

impl Term {
    pub(super) fn new(device: &mut Device, tables: &[Table], spec: TermSpec) -> Result<(Self, Vec<Command>), Error> {
        spec.validate(tables)?;
        let (mut signature, columns) = spec.signature(tables);
        let mut graph = Graph::new();
        let slots = signature.slots.iter().enumerate().map(|(slot, shape)| tape::Source {
            leaf: Leaf::Slot { slot: spec.first_alike(slot) as u32, component: 0 },
            width: shape.arena.stride,
        });
        let data = columns
            .iter()
            .enumerate()
            .map(|(column, (_, shape))| tape::Source { leaf: Leaf::Data { column: column as u32, component: 0 }, width: shape.width });
        let sources: Vec<tape::Source> = slots.chain(data).collect();
        let residual =
            tape::read(&mut graph, spec.tape, spec.outputs, &sources).map_err(|error| Error::Tape { term: spec.name.clone(), error })?;
        if residual.is_empty() {
            return Err(Error::NoResidual(spec.name.clone()));
        }
        // A slot that repeats an earlier one is that one: its derivatives add up there.
        for slot in 0..spec.slots.len() {
            if spec.first_alike(slot) != slot {
                signature.slots[slot].vector = None;
            }
        }
        let programs = ResidualPrograms::new(&spec.name, graph, &residual, &signature, GUARDS);
        let sources = [&programs.linearize, &programs.energy, &programs.change, &programs.gradient, &programs.product, &programs.diagonal]
            .map(kernel_source);
        let kernels = device.kernels(&sources)?;
        let mut term = Self {
            name: spec.name.clone(),
            count: spec.count,
            enabled: true,
            kernels: TermKernels {
                linearize: kernels[0],
                energy: kernels[1],
                change: kernels[2],
                gradient: kernels[3],
                product: kernels[4],
                diagonal: kernels[5],
            },
            programs,
            chunks: Vec::new(),
            columns,
            weight_shared: signature.weight_shared,
            shared: signature.shared,
        };
        let largest = term.largest_chunk(&spec, device.limits(), device.precision().bytes())?;
        let mut uploads = Vec::new();
        match term.fill(device, tables, &spec, &signature, largest, &mut uploads) {
            Ok(()) => Ok((term, uploads)),
            Err(error) => {
                // Neither buffers nor uploads of a refused term stay behind.
                term.buffers().for_each(|buffer| device.free(buffer));
                Err(error)
            }
        }
    }

    /// Makes the chunks, with their data.
    fn fill(
        &mut self,
        device: &mut Device,
        tables: &[Table],
        spec: &TermSpec,
        signature: &Signature,
        largest: u32,
        uploads: &mut Vec<Command>,
    ) -> Result<(), Error> {
        let mut first = 0;
        while first < spec.count {
            let count = largest.min(spec.count - first);
            let chunk = self.add_chunk(device, tables, spec, signature, first, count, uploads)?;
            self.chunks.push(chunk);
            first += count;
        }
        for (column, given) in spec.columns.iter().enumerate() {
            uploads.extend(self.column_uploads(column as u32, given.values)?);
        }
        uploads.extend(self.weight_uploads(spec.weight)?);
        Ok(())
    }

    /// The most instances of which every buffer still fits a binding.
    fn largest_chunk(&self, spec: &TermSpec, limits: Limits, real: u64) -> Result<u32, Error> {
        let programs = &self.programs;
        let columns: u32 = self.columns.iter().filter(|(_, shape)| !shape.shared).map(|(_, shape)| shape.width).sum();
        let reals = [
            u64::from(programs.stored),
            u64::from(programs.contributions.max(programs.diagonals).max(1)),
            u64::from(columns + u32::from(!self.weight_shared)),
        ];
        // A row start and a row id at most for every entry.
        let words = [spec.indices.len() as u64, 3 * spec.slots.len() as u64];
        let widest = reals.iter().map(|n| n * real).chain(words.iter().map(|n| n * 4)).max().unwrap_or(4).max(4);
        let maps: u64 = programs.gradient_maps.iter().chain(&programs.diagonal_maps).map(|map| map.codes.len() as u64).sum();
        let fixed = 4 * (maps + spec.slots.len() as u64 * 2 + 64) + u64::from(self.shared) * real;
        let bytes = limits.binding_bytes.min(limits.buffer_bytes).saturating_sub(fixed);
        let most = (bytes / widest).min(limits.max_items() / 1024).min(u64::from(u32::MAX) / 8 / (widest / 4)).min(1 << 26);
        let whole = most / u64::from(limits.group_size) * u64::from(limits.group_size);
        if whole == 0 {
            return Err(Error::Limits(format!(
                "term \"{}\": one workgroup's instances need more than a buffer binding ({} bytes): split the residual",
                self.name, limits.binding_bytes
            )));
        }
        Ok(whole as u32)
    }

    #[allow(clippy::too_many_arguments)]
    fn add_chunk(
        &self,
        device: &mut Device,
        tables: &[Table],
        spec: &TermSpec,
        signature: &Signature,
        first: u32,
        count: u32,
        uploads: &mut Vec<Command>,
    ) -> Result<Chunk, Error> {
        let range = first as usize..(first + count) as usize;
        let mut made: Vec<BufferId> = Vec::new();
        let mut allocate = |device: &mut Device, kind, len: u32, what: &str| {
            let buffer = device.allocate(kind, len.max(1), &format!("{}: {what}", spec.name));
            match buffer {
                Ok(buffer) => made.push(buffer),
                Err(_) => made.iter().for_each(|buffer| device.free(*buffer)),
            }
            buffer
        };
        let mut words = spec.header(tables);
        debug_assert_eq!(words.len(), signature.header as usize);
        spec.indices.iter().for_each(|column| words.extend(&column[range.clone()]));
        let per_instance: u32 = self.columns.iter().filter(|(_, shape)| !shape.shared).map(|(_, shape)| shape.width).sum();
        let data_len = self.shared + (per_instance + u32::from(!self.weight_shared)) * count;
        let jacobian_len = self.programs.stored * count;
        let index_len = words.len() as u32;
        let data = allocate(device, Kind::Real, data_len, "data")?;
        let index = allocate(device, Kind::Index, index_len, "index table")?;
        let jacobian = allocate(device, Kind::Real, jacobian_len, "Jacobian")?;
        uploads.push(Command::UploadIndices { buffer: index, offset: 0, data: words });
        let mut lists = Vec::new();
        for (number, table) in tables.iter().enumerate().filter(|(_, table)| table.moving) {
            let mine = |slot: &(usize, &Slot)| slot.1.table == number as u32 && signature.slots[slot.0].vector.is_some();
            let slots: Vec<IncidentSlot> = spec
                .slots
                .iter()
                .enumerate()
                .filter(mine)
                .map(|(slot, access)| IncidentSlot {
                    indices: &spec.indices[access.column as usize][range.clone()],
                    gradient: &self.programs.gradient_maps[slot],
                    diagonal: &self.programs.diagonal_maps[slot],
                })
                .collect();
            if slots.is_empty() {
                continue;
            }
            let (mut list, words) = incidence::build(number as u32, table.count, &slots);
            list.buffer = allocate(device, Kind::Index, list.len, "incidence")?;
            uploads.push(Command::UploadIndices { buffer: list.buffer, offset: 0, data: words });
            lists.push(list);
        }
        Ok(Chunk { first, count, data, data_len, index, index_len, jacobian, jacobian_len, incidence: lists })
    }

    /// Elements of the scratch columns that the chunk's kernels store into.
    pub fn scratch_len(&self, chunk: &Chunk) -> u32 {
        self.programs.contributions.max(self.programs.diagonals).max(1) * chunk.count
    }

    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        self.chunks
            .iter()
            .flat_map(|chunk| [chunk.data, chunk.index, chunk.jacobian].into_iter().chain(chunk.incidence.iter().map(|list| list.buffer)))
    }

    /// What replaces one data column.
    pub(super) fn column_uploads(&self, column: u32, values: Reals) -> Result<Vec<Command>, Error> {
        let (name, shape) = self
            .columns
            .get(column as usize)
            .ok_or_else(|| Error::InvalidOption(format!("term \"{}\" has no data column {column}", self.name)))?;
        let what = format!("term \"{}\": data column \"{name}\"", self.name);
        self.uploads(&what, *shape, values)
    }

    /// What replaces the weight.
    pub(super) fn weight_uploads(&self, weight: Weight) -> Result<Vec<Command>, Error> {
        let what = format!("term \"{}\": weight", self.name);
        let shape = ColumnShape { width: 1, shared: self.weight_shared, offset: 0 };
        let constant;
        let values = match weight {
            Weight::Each(_) if self.weight_shared => {
                return Err(Error::InvalidOption(format!(
                    "{what} is one number for all instances: give an array when the term is made to have one for each"
                )));
            }
            Weight::Each(values) => values,
            Weight::Shared(value) => {
                constant = vec![value; if self.weight_shared { 1 } else { self.count as usize }];
                Reals::F64(&constant)
            }
        };
        let negative = match values {
            Reals::F32(values) => values.iter().position(|value| *value < 0.0),
            Reals::F64(values) => values.iter().position(|value| *value < 0.0),
        };
        if let Some(position) = negative {
            return Err(Error::InvalidOption(format!("{what} must not be negative, but value {position} is")));
        }
        self.uploads(&what, shape, values)
    }

    fn uploads(&self, what: &str, shape: ColumnShape, values: Reals) -> Result<Vec<Command>, Error> {
        let width = shape.width as usize;
        let instances = if shape.shared { 1 } else { self.count as usize };
        if values.len() != instances * width {
            let expected = match shape.shared {
                true => format!("{width} (shared by all instances)"),
                false => format!("{} ({instances} instances of {width})", instances * width),
            };
            return Err(Error::DataLength { term: Some(self.name.clone()), what: what.into(), got: values.len(), expected });
        }
        let values = values.finite().map_err(|(position, value)| Error::NonFinite {
            term: Some(self.name.clone()),
            instance: (!shape.shared).then_some((position / width) as u32),
            what: what.into(),
            position,
            value: value.to_string(),
        })?;
        let mut uploads = Vec::new();
        for chunk in &self.chunks {
            if shape.shared {
                uploads.push(Command::UploadReals { buffer: chunk.data, offset: shape.offset, data: values.clone() });
                continue;
            }
            // Rows to columns.
            let rows = &values[chunk.first as usize * width..(chunk.first + chunk.count) as usize * width];
            for component in 0..width {
                let data: Vec<f64> = rows.iter().skip(component).step_by(width).copied().collect();
                let offset = self.shared + (shape.offset + component as u32) * chunk.count;
                uploads.push(Command::UploadReals { buffer: chunk.data, offset, data });
            }
        }
        Ok(uploads)
    }
}

fn kernel_source(program: &Program) -> KernelSource {
    KernelSource {
        name: program.name.clone(),
        wgsl: Arc::from(wgsl::write(program)),
        access: program.access(),
        cpu: Body::Program(Arc::new(BlockProgram::new(program))),
    }
}

impl TermSpec<'_> {
    fn validate(&self, tables: &[Table]) -> Result<(), Error> {
        let shape = |message: String| Error::Shape { name: self.name.clone(), message };
        if self.count == 0 {
            return Err(Error::EmptyTerm(self.name.clone()));
        }
        if let Some(column) = self.indices.iter().find(|column| column.len() != self.count as usize) {
            return Err(Error::DataLength {
                term: Some(self.name.clone()),
                what: format!("term \"{}\": an index column", self.name),
                got: column.len(),
                expected: self.count.to_string(),
            });
        }
        if !self.slots.iter().any(|slot| tables.get(slot.table as usize).is_some_and(|table| table.moving)) {
            return Err(shape("no slot is a variable, so there is nothing to solve for".into()));
        }
        for (number, slot) in self.slots.iter().enumerate() {
            let table = tables.get(slot.table as usize).ok_or(Error::Disposed("variable"))?;
            let column = self
                .indices
                .get(slot.column as usize)
                .ok_or_else(|| shape(format!("slot {number} uses index column {}, which is not there", slot.column)))?;
            if let Some(instance) = column.iter().position(|index| *index >= table.count) {
                return Err(Error::IndexOutOfRange {
                    term: self.name.clone(),
                    slot: number as u32,
                    instance: instance as u32,
                    index: column[instance],
                    table: table.name.clone(),
                    count: table.count,
                });
            }
        }
        match self.columns.iter().find(|column| column.width == 0 || column.width > 1024) {
            Some(column) => Err(shape(format!("data column \"{}\" has a width of {}", column.name, column.width))),
            None => Ok(()),
        }
    }

    /// The first slot that reaches the same instances of the same table.
    fn first_alike(&self, slot: usize) -> usize {
        self.slots.iter().position(|other| *other == self.slots[slot]).unwrap_or(slot)
    }

    /// The words before the index columns: where each slot's table begins, in the arena and in vectors.
    fn header(&self, tables: &[Table]) -> Vec<u32> {
        let of = |place: fn(&Table) -> u32| self.slots.iter().map(move |slot| place(&tables[slot.table as usize]));
        of(|table| table.arena).chain(of(|table| table.vector)).collect()
    }

    fn signature(&self, tables: &[Table]) -> (Signature, Vec<(String, ColumnShape)>) {
        let slots = self.slots.iter().enumerate().map(|(number, slot)| {
            let table = &tables[slot.table as usize];
            let address = |base: usize| Address { base: base as u32, column: slot.column, stride: table.width };
            SlotShape { arena: address(number), vector: table.moving.then(|| address(self.slots.len() + number)) }
        });
        let slots: Vec<SlotShape> = slots.collect();
        let weight_shared = matches!(self.weight, Weight::Shared(_));
        let (mut shared, mut each) = (u32::from(weight_shared), u32::from(!weight_shared));
        let mut columns = Vec::new();
        for column in &self.columns {
            let next = if column.shared { &mut shared } else { &mut each };
            columns.push((column.name.clone(), ColumnShape { width: column.width, shared: column.shared, offset: *next }));
            *next += column.width;
        }
        let shapes = columns.iter().map(|(_, shape)| *shape).collect();
        let header = 2 * self.slots.len() as u32;
        (Signature { slots, columns: shapes, weight_shared, shared, header }, columns)
    }
}
