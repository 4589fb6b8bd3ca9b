//! The Hessian of ½ w ‖r‖² of every instance of a term, [block](InstanceBlocks) by block of its chunks: a Hessian has up to
//! n(n + 1)/2 values, and projecting it takes twice as many again.

use super::evaluate_term::input_places;
use super::instance_blocks::{InstanceBlocks, Instances};
use leastwise_device::{Arguments, BufferId, Command, Device, Dispatch, KernelId, KernelSource, Kind, Play, Recording, Slice, binding::*};
use leastwise_error::Error;
use leastwise_kernels::system::{PsdBlocks, PsdBlocksBindings};
use leastwise_problem::{HessianKernel, Problem, Registry, rounding};
use leastwise_program::NEGATIVE;
use leastwise_solve::dispatch;
use std::collections::HashMap;

/// Form of second derivatives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HessianForm {
    /// Second derivatives as they are, which may be indefinite.
    Exact,
    /// The nearest positive semidefinite matrix.
    Semidefinite,
}

/// Hessians of a term's instances, in blocks of instances.
pub struct Hessians {
    term: u32,
    form: HessianForm,
    project: Option<KernelId>,
    /// By batch.
    kernels: HashMap<usize, HessianKernel>,
    blocks: InstanceBlocks,
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
            HessianForm::Semidefinite => Some(device.kernels(&[KernelSource::of_static(PsdBlocks::KERNEL)])?[0]),
        };
        let mut hessians = Self {
            term,
            form,
            project,
            kernels: HashMap::new(),
            blocks: InstanceBlocks::default(),
            values: vec![0.0; owner.count as usize * columns as usize * columns as usize],
        };
        for (number, batch) in problem.batches().iter().enumerate() {
            for (place, member) in batch.members.iter().enumerate().filter(|(_, member)| member.term == term) {
                let structure = &owner.parts[member.part as usize].reading.structure;
                let signature = batch.signature();
                let compiled = registry.compiled(structure, &signature.layout(), &batch.name);
                let kernel = compiled.hessian(device, structure, &batch.name)?;
                let mut besides = vec![kernel.programs.scratch(device.cut())];
                if form == HessianForm::Semidefinite {
                    let width = kernel.programs.inputs.len() as u32;
                    besides.extend([kernel.programs.entries.width, width * (width + 1)]);
                }
                let range = member.first..member.first + member.count;
                hessians.blocks.cut(device, problem, Instances { batch: number, member: place, range }, &besides, "Hessian")?;
                hessians.kernels.insert(number, kernel);
            }
        }
        Ok(hessians)
    }

    /// Buffers to free.
    pub fn buffers(&self) -> &[BufferId] {
        self.blocks.buffers()
    }

    /// Hessians so far, instance by instance.
    pub fn values(&mut self) -> &mut Vec<f64> {
        &mut self.values
    }

    /// Starts the next block; none when all are done.
    pub fn next(&mut self, problem: &Problem, device: &mut Device, point: Slice) -> Result<Option<Play>, Error> {
        let Some(block) = self.blocks.first() else { return Ok(None) };
        let (blocks, count) = (&mut self.blocks, block.count);
        let HessianKernel { programs, kernel } = self.kernels[&block.batch].clone();
        let mut recording = Recording::new();
        let [data, index] = blocks.copy(device, &problem.batches()[block.batch], block, &mut recording)?;
        let mut values = blocks.allocate(device, Kind::Real, programs.scratch(device.cut()) * count, "Hessians")?;
        let bindings = [(ARENA, point), (DATA, data), (INDEX, index), (VECTOR_OUT, values)];
        recording.push(dispatch(kernel, count, &bindings));
        if let Some(project) = self.project {
            let width = programs.inputs.len() as u32;
            let map = blocks.allocate(device, Kind::Index, programs.entries.width, "entries of a Hessian")?;
            recording.push(Command::UploadIndices { buffer: map.buffer, offset: 0, data: programs.entries.codes.clone() });
            let work = blocks.allocate(device, Kind::Real, width * (width + 1) * count, "eigenvectors")?;
            let projected = blocks.allocate(device, Kind::Real, programs.entries.width * count, "semidefinite Hessians")?;
            let tolerance = rounding(device.precision());
            let limits = blocks.allocate(device, Kind::Real, 2, "least eigenvalue and tolerance")?;
            recording.push(Command::UploadReals { buffer: limits.buffer, offset: 0, data: vec![0.0, tolerance] });
            let bindings = PsdBlocksBindings { limits, map, columns: values, blocks: projected, work };
            let args = PsdBlocks { width, absolute: 0, column: 0 };
            recording.push(Command::Dispatch(Dispatch::of(project, args, count, bindings)));
            values = projected;
        }
        // What the pieces of a large program handed on lies behind.
        let len = if self.project.is_some() { values.len } else { (programs.stored * count).max(1) };
        recording.push(Command::Read { slice: Slice { len, ..values } });
        Ok(Some(device.start(recording)))
    }

    /// Takes a block's values: lower triangles, column by column.
    pub fn take(&mut self, problem: &Problem, device: &mut Device, values: &[f64]) -> Result<(), Error> {
        let Some(block) = self.blocks.pop(device) else { return Ok(()) };
        let batch = &problem.batches()[block.batch];
        let (programs, member) = (&self.kernels[&block.batch].programs, batch.members[block.member]);
        let term = problem.term(self.term)?;
        let columns = term.shape(problem.tables()).1 as usize;
        let places = input_places(&term.parts[member.part as usize], &programs.inputs, &term.column_starts(problem.tables()));
        let places: Vec<usize> = places.into_iter().flatten().collect();
        let identity: Vec<u32> = (1..=programs.entries.width).collect();
        let codes = if self.form == HessianForm::Exact { &programs.entries.codes } else { &identity };
        for place in 0..block.count {
            let instance = term.instance(member.part, block.first - member.first + place) as usize;
            let hessian = &mut self.values[instance * columns * columns..][..columns * columns];
            let triangle = (0..places.len()).flat_map(|r| (0..=r).map(move |c| (r, c)));
            for ((r, c), &code) in triangle.zip(codes).filter(|(_, code)| **code != 0) {
                let value = values[(((code & !NEGATIVE) - 1) * block.count + place) as usize];
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
