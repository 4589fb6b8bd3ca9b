//! The Hessian of ½ w ‖r‖² of every instance of a term, window by window of its chunks.
//!
//! A Hessian has up to n(n + 1)/2 values, and projecting it takes twice as many again: more than chunks are cut for. So a
//! window's data and indices are copied into buffers of its own, as many instances at a time as fit.

use super::inspect::input_places;
use crate::device::{BufferId, Command, Device, KernelId, Kind, Play, Recording, Slice, binding::*};
use crate::error::Error;
use crate::kernel::{Fixed, NEGATIVE};
use crate::problem::{HessianKernel, Problem, Registry, rounding};
use crate::solve::dispatch;
use std::collections::{HashMap, VecDeque};

/// What is wanted of second derivatives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HessianForm {
    Exact,
    /// The nearest positive semidefinite matrix.
    Semidefinite,
}

/// Elements of all buffers of a window, about.
const WINDOW_ELEMENTS: u32 = 1 << 24;

/// Instances of one member of a batch, within one chunk.
#[derive(Clone, Copy)]
struct Window {
    batch: usize,
    chunk: usize,
    member: usize,
    /// Numbers of the batch.
    first: u32,
    count: u32,
}

pub(super) struct Hessians {
    term: u32,
    form: HessianForm,
    project: Option<KernelId>,
    /// By batch.
    kernels: HashMap<usize, HessianKernel>,
    left: VecDeque<Window>,
    /// Those of the window that is being played.
    buffers: Vec<BufferId>,
    values: Vec<f64>,
}

impl Hessians {
    /// Has the kernels made; `columns` are those of the term's Jacobian.
    pub fn new(
        device: &mut Device,
        registry: &mut Registry,
        problem: &Problem,
        term: u32,
        columns: u32,
        form: HessianForm,
    ) -> Result<Self, Error> {
        let owner = problem.term(term)?;
        let project = match form {
            HessianForm::Exact => None,
            HessianForm::Semidefinite => Some(device.kernels(&[Fixed::ProjectBlocks.source()])?[0]),
        };
        let mut hessians = Self {
            term,
            form,
            project,
            kernels: HashMap::new(),
            left: VecDeque::new(),
            buffers: Vec::new(),
            values: vec![0.0; owner.count as usize * columns as usize * columns as usize],
        };
        for (number, batch) in problem.batches().iter().enumerate() {
            for (place, member) in batch.members.iter().enumerate().filter(|(_, member)| member.term == term) {
                let structure = &owner.parts[member.part as usize].reading.structure;
                let signature = batch.signature();
                let compiled = registry.compiled(structure, &signature.layout(), &batch.name);
                let kernel = compiled.hessian(device, structure, &batch.name)?;
                let mut sizes = vec![signature.each(), signature.index_columns(), kernel.programs.scratch(device.in_pieces())];
                if form == HessianForm::Semidefinite {
                    let width = kernel.programs.inputs.len() as u32;
                    sizes.extend([kernel.programs.entries.width, width * (width + 1)]);
                }
                let limits = device.limits();
                let widest = u64::from(sizes.iter().copied().max().unwrap_or(1).max(1)) * device.precision().bytes();
                let fitting = limits.binding_bytes.min(limits.buffer_bytes) / widest;
                let most = fitting.min(u64::from(WINDOW_ELEMENTS / sizes.iter().sum::<u32>().max(1)).max(1)) as u32;
                if most == 0 {
                    let name = &owner.name;
                    return Err(Error::Limits(format!("term \"{name}\": the Hessian of one instance needs more than a buffer binding")));
                }
                hessians.kernels.insert(number, kernel);
                for (chunk, of) in batch.chunks.iter().enumerate() {
                    let (mut first, end) = (member.first.max(of.first), (member.first + member.count).min(of.first + of.count));
                    while first < end {
                        let count = most.min(end - first);
                        hessians.left.push_back(Window { batch: number, chunk, member: place, first, count });
                        first += count;
                    }
                }
            }
        }
        Ok(hessians)
    }

    pub fn buffers(&self) -> &[BufferId] {
        &self.buffers
    }

    pub fn values(&mut self) -> &mut Vec<f64> {
        &mut self.values
    }

    fn allocate(&mut self, device: &mut Device, kind: Kind, len: u32, what: &str) -> Result<Slice, Error> {
        let buffer = device.allocate(kind, len.max(1), what)?;
        self.buffers.push(buffer);
        Ok(Slice { buffer, offset: 0, len: len.max(1) })
    }

    /// Starts the next window; none when all are done.
    pub fn next(&mut self, problem: &Problem, device: &mut Device, point: Slice) -> Result<Option<Play>, Error> {
        let Some(&Window { batch, chunk, first, count, .. }) = self.left.front() else { return Ok(None) };
        let HessianKernel { programs, kernel } = self.kernels[&batch].clone();
        let batch = &problem.batches()[batch];
        let chunk = &batch.chunks[chunk];
        let signature = batch.signature();
        let mut recording = Recording::new();
        // What all instances share, then a piece of every column.
        let mut pieces = |from: BufferId, to: Slice, shared: u32, columns: u32| {
            let mut copy = |from_element: u32, to_element: u32, len: u32| {
                let from = Slice { buffer: from, offset: from_element, len };
                recording.push(Command::Copy { from, to: Slice { offset: to_element, len, ..to } });
            };
            if shared > 0 {
                copy(0, 0, shared);
            }
            for column in 0..columns {
                copy(shared + column * chunk.count + first - chunk.first, shared + column * count, count);
            }
        };
        let data = self.allocate(device, Kind::Real, signature.shared + signature.each() * count, "data of a window")?;
        pieces(chunk.data, data, signature.shared, signature.each());
        let index = self.allocate(device, Kind::Index, signature.header + signature.index_columns() * count, "index table of a window")?;
        pieces(chunk.index, index, signature.header, signature.index_columns());
        let mut values = self.allocate(device, Kind::Real, programs.scratch(device.in_pieces()) * count, "Hessians")?;
        let bindings = [(ARENA, point), (DATA, data), (INDEX, index), (VECTOR_OUT, values)];
        recording.push(dispatch(kernel, count, &[], &bindings));
        if let Some(project) = self.project {
            let width = programs.inputs.len() as u32;
            let map = self.allocate(device, Kind::Index, programs.entries.width, "entries of a Hessian")?;
            recording.push(Command::UploadIndices { buffer: map.buffer, offset: 0, data: programs.entries.codes.clone() });
            let work = self.allocate(device, Kind::Real, width * (width + 1) * count, "eigenvectors")?;
            let projected = self.allocate(device, Kind::Real, programs.entries.width * count, "semidefinite Hessians")?;
            let tolerance = rounding(device.precision());
            let limits = self.allocate(device, Kind::Real, 2, "least eigenvalue and tolerance")?;
            recording.push(Command::UploadReals { buffer: limits.buffer, offset: 0, data: vec![0.0, tolerance] });
            let bindings = [(ARENA, limits), (INDEX, map), (VECTOR_IN, values), (VECTOR_OUT, projected), (JACOBIAN, work)];
            recording.push(dispatch(project, count, &[width, 0], &bindings));
            values = projected;
        }
        // What the pieces of a large program handed on lies behind.
        let len = if self.project.is_some() { values.len } else { (programs.stored * count).max(1) };
        recording.push(Command::Read { slice: Slice { len, ..values } });
        Ok(Some(device.start(recording)))
    }

    /// Takes a window's values: lower triangles, column by column.
    pub fn take(&mut self, problem: &Problem, device: &mut Device, values: &[f64]) -> Result<(), Error> {
        self.buffers.drain(..).for_each(|buffer| device.free(buffer));
        let Some(window) = self.left.pop_front() else { return Ok(()) };
        let batch = &problem.batches()[window.batch];
        let (programs, member) = (&self.kernels[&window.batch].programs, batch.members[window.member]);
        let term = problem.term(self.term)?;
        let columns = term.shape(problem.tables()).1 as usize;
        let places = input_places(&term.parts[member.part as usize], &programs.inputs, &term.column_starts(problem.tables()));
        let places: Vec<usize> = places.into_iter().flatten().collect();
        let identity: Vec<u32> = (1..=programs.entries.width).collect();
        let codes = if self.form == HessianForm::Exact { &programs.entries.codes } else { &identity };
        for place in 0..window.count {
            let instance = term.instance(member.part, window.first - member.first + place) as usize;
            let hessian = &mut self.values[instance * columns * columns..][..columns * columns];
            let triangle = (0..places.len()).flat_map(|r| (0..=r).map(move |c| (r, c)));
            for ((r, c), &code) in triangle.zip(codes).filter(|(_, code)| **code != 0) {
                let value = values[(((code & !NEGATIVE) - 1) * window.count + place) as usize];
                let value = if code & NEGATIVE == 0 { value } else { -value };
                hessian[places[r] * columns + places[c]] += value;
                if r != c {
                    hessian[places[c] * columns + places[r]] += value;
                }
            }
        }
        Ok(())
    }
}
