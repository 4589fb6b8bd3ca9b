//! Measurements: time of one operation of a solve on this device, and the bytes that it has to move.
//!
//! An operation is repeated within one submission, and the time of a submission that does nothing is taken off. On a
//! GPU the clock starts when everything is submitted: it is the device that is measured, not the encoding.

use crate::Turn;
use leastwise_base::clock::now_ms;
use leastwise_device::{BufferId, Command, Device, Dispatch, KernelSource, Kind, Play, Playing, Precision, Recording, Slice};
use leastwise_error::Error;
use leastwise_kernels::{StaticKernel, measure};
use leastwise_problem::{Batch, Chunk, Problem, SegmentSumBatch, SumChunk, distinct};
use leastwise_program::{Instruction, Load, Program};
use leastwise_solve::{Solver, Workspace, linear::pcg, state};
use std::collections::VecDeque;

/// Operations that can be timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measured {
    /// r and J of all enabled terms.
    Evaluation,
    /// All of a linearisation: r and J (of energies values, gradients and projected Hessians), g, the diagonal blocks, and the
    /// rest of JᵀWJ where the linear solver has it assembled.
    System,
    /// q = (JᵀWJ + λD) p.
    Product,
}

/// The compulsory bytes of operations, as they are scheduled here.
///
/// A buffer that an operation reads counts once, however often its kernels gather from it, and once more if the
/// operation writes it; so what one kernel hands to the next is written and read. State and partial sums are not counted.
#[derive(serde::Serialize, Clone, Copy, PartialEq, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Traffic {
    /// One evaluation of r and J.
    pub evaluation: f64,
    /// One product (JᵀWJ + λD)p.
    pub product: f64,
    /// One iteration of conjugate gradients, its product included.
    pub inner: f64,
    /// One Levenberg–Marquardt step without its inner iterations.
    pub step: f64,
    /// Bytes that the terms keep for r and J.
    pub jacobian: f64,
}

/// A measurement on its way.
pub struct Measurement {
    /// Buffers of its own.
    buffers: Vec<BufferId>,
    /// The preparation, then nothing, then the repetitions; each reads one element back, so that its end is known.
    recordings: VecDeque<Recording>,
    repeats: u32,
    play: Option<Play>,
    /// Time at which the current recording was started or, on a GPU, submitted.
    started_ms: Option<f64>,
    /// Durations of the recordings.
    ms: Vec<f64>,
}

impl Measurement {
    /// Times `repeats` repetitions of `body` after `prepare`; `flag` is a slice to read.
    pub fn new(prepare: Vec<Command>, body: Vec<Command>, repeats: u32, flag: Slice) -> Self {
        let repeated: Vec<Command> = (0..repeats).flat_map(|_| body.iter().cloned()).collect();
        let recordings = [prepare, Vec::new(), repeated].map(|mut commands| {
            commands.push(Command::Read { slice: Slice { len: 1, ..flag } });
            Recording { commands }
        });
        Self { buffers: Vec::new(), recordings: recordings.into(), repeats, play: None, started_ms: None, ms: Vec::new() }
    }

    /// Milliseconds of one repetition.
    fn result(&self) -> f64 {
        match self.ms[..] {
            [_, nothing, repeated] => (repeated - nothing).max(0.0) / f64::from(self.repeats),
            _ => f64::NAN,
        }
    }

    /// One operation of a prepared solver, which can go on afterwards as if nothing had been.
    pub fn of_operation(problem: &mut Problem, solver: &mut Solver, what: Measured, repeats: u32) -> Result<Self, Error> {
        let [uploads, assembly] = match what {
            Measured::System => solver.assembly(problem)?,
            _ => Default::default(),
        };
        let work = solver.workspace();
        let mut prepare = problem.take_uploads();
        // Neither kernel may find that there is nothing to do; a step starts all of these anew.
        for (element, value) in [(state::LINEARIZED, 0.0), (state::SOLVED, 0.0), (state::BETA, 0.5)] {
            prepare.push(Command::UploadReals { buffer: work.state.buffer, offset: element, data: vec![value] });
        }
        prepare.extend(uploads);
        let mut body = operation(work, problem, what)?;
        body.extend(assembly);
        Ok(Self::new(prepare, body, repeats, work.state))
    }

    /// Outcome: milliseconds of one repetition.
    pub fn resume(&mut self, device: &mut Device, deadline: f64) -> Result<Turn<f64>, Error> {
        loop {
            let play = match &mut self.play {
                Some(play) => play,
                None => {
                    // Of what the CPU compiles meanwhile it is the end that is measured.
                    if let Some(signal) = device.linking() {
                        return Ok(Turn::Waiting(signal));
                    }
                    let Some(recording) = self.recordings.pop_front() else { return Ok(Turn::Over(self.result())) };
                    self.started_ms = None;
                    self.play.insert(device.start(recording))
                }
            };
            if let Some(signal) = device.compile_for(play)? {
                return Ok(Turn::Waiting(signal));
            }
            // wgpu's clock starts with the submission, which `resume` makes.
            if !matches!(device, Device::Wgpu(_)) {
                self.started_ms.get_or_insert_with(now_ms);
            }
            match device.resume(play, deadline)? {
                Playing::Yielded => return Ok(Turn::Yielded),
                Playing::Waiting(signal) => {
                    self.started_ms.get_or_insert_with(now_ms);
                    return Ok(Turn::Waiting(signal));
                }
                Playing::Finished(_) => {
                    let now = now_ms();
                    self.ms.push(now - self.started_ms.unwrap_or(now));
                    self.play = None;
                }
            }
        }
    }

    /// Frees what it has on the device.
    pub fn free(self, device: &mut Device) {
        self.buffers.into_iter().for_each(|buffer| device.free(buffer));
    }
}

/// A copy of `bytes` bytes by our own kernel, which reads and writes as many.
pub fn measure_copy(device: &mut Device, bytes: f64, repeats: u32) -> Result<Measurement, Error> {
    let [copy] = device.kernels(&[KernelSource::of_static(StaticKernel::MeasureCopy)])?[..] else {
        return Err(Error::Internal("a device gave no kernel"));
    };
    // On WebGPU it copies f32s, whatever solves compute in.
    let real = if device.precision() == Precision::F64 { 8 } else { 4 };
    let limits = device.limits();
    let most = limits.binding_bytes.min(limits.buffer_bytes).min(4 * real * limits.max_items()) / (4 * real);
    let (mut left, mut prepare, mut body) = ((bytes as u64).div_ceil(4 * real).max(1), Vec::new(), Vec::new());
    let mut buffers: Vec<BufferId> = Vec::new();
    while left > 0 {
        let items = left.min(most) as u32;
        for label in ["copy: source", "copy: target"] {
            match device.allocate(Kind::Single, 4 * items, label) {
                Ok(buffer) => buffers.push(buffer),
                Err(error) => {
                    buffers.into_iter().for_each(|buffer| device.free(buffer));
                    return Err(error.into());
                }
            }
        }
        let slice = |place: usize| Slice { buffer: buffers[place], offset: 0, len: 4 * items };
        fill(slice(buffers.len() - 2), slice(buffers.len() - 1), &mut prepare);
        let bindings = measure::CopyBindings { source: slice(buffers.len() - 2), copied: slice(buffers.len() - 1) };
        body.push(Command::Dispatch(Dispatch::of(copy, measure::Copy, items, bindings)));
        left -= u64::from(items);
    }
    let flag = Slice { buffer: buffers[0], offset: 0, len: 1 };
    prepare.extend(body.iter().cloned());
    Ok(Measurement { buffers, ..Measurement::new(prepare, body, repeats, flag) })
}

impl Traffic {
    /// Bytes that the operations of a solver must move.
    pub fn of(device: &Device, problem: &Problem) -> Result<Self, Error> {
        let real = device.precision().bytes() as f64;
        let arena = f64::from(problem.arenas()?.0.len) * real;
        let (vector, blocks) = (f64::from(problem.vector_len()) * real, f64::from(problem.blocks_len()) * real);
        let mut all = Traffic { evaluation: arena, ..Traffic::default() };
        for (batch, chunk) in problem.enabled_batches().flat_map(|batch| batch.chunks.iter().map(move |chunk| (batch, chunk))) {
            all = all.with(batch, chunk, real);
        }
        for sums in problem.enabled_batches().filter_map(|batch| batch.sums.as_ref()) {
            all = sums.chunks.iter().fold(all, |all, chunk| all.with_entries(sums, chunk, real));
        }
        // z, D, and both ways p and q.
        all.product += 6.0 * vector;
        // Besides: the preconditioner, z, and both ways s and r.
        all.inner = all.product + blocks + 5.0 * vector;
        // Both ways the blocks and their inverses, g, D, s and r; z; the trial point both ways and the new point.
        all.step += all.evaluation + 4.0 * blocks + 9.0 * vector + 3.0 * arena;
        Ok(all)
    }

    /// With what a chunk adds, apart from vectors.
    fn with(self, batch: &Batch, chunk: &Chunk, real: f64) -> Self {
        let programs = &batch.programs;
        let column = f64::from(chunk.count) * real;
        let handed = |columns: u32| 2.0 * f64::from(columns) * column;
        let lists: f64 = chunk.incidence.iter().map(|list| 4.0 * f64::from(list.words())).sum();
        let jacobian = f64::from(programs.stored) * column;
        let product_lists =
            chunk.tiles.as_ref().map_or(lists, |tiles| tiles.crossing.iter().map(|list| 4.0 * f64::from(list.words())).sum());
        Self {
            evaluation: self.evaluation + loads(&programs.linearize, chunk, real) + jacobian,
            product: self.product + batch.product.bytes(programs, batch.signature(), chunk.count, real) + product_lists,
            // Both energies, g and the diagonal blocks; r and J are read once more.
            step: self.step + jacobian + handed(2 + programs.contributions + programs.diagonals) + lists,
            jacobian: self.jacobian + jacobian,
            ..self
        }
    }
}

impl Traffic {
    /// With what a chunk of entries adds: columns are handed on to the trees of rows, or to the entries' variables.
    fn with_entries(self, sums: &SegmentSumBatch, SumChunk { chunk, tree }: &SumChunk, real: f64) -> Self {
        let programs = &sums.programs;
        let column = f64::from(chunk.count) * real;
        let handed = |columns: u32| 2.0 * f64::from(columns) * column;
        let lists: f64 = chunk.incidence.iter().map(|list| 4.0 * f64::from(list.words())).sum();
        let jacobian = f64::from(programs.stored) * column;
        let rows = 4.0 * f64::from(tree.len);
        let value = loads(&programs.value, chunk, real) + handed(programs.width) + rows;
        let slopes = programs.slopes.as_ref().map_or(0.0, |slopes| loads(slopes, chunk, real) + handed(programs.slopes_width) + rows);
        let forward = loads(&programs.forward, chunk, real) + handed(programs.width) + rows;
        let backward = loads(&programs.product, chunk, real) + handed(programs.contributions) + lists;
        Self {
            evaluation: self.evaluation + value + slopes + loads(&programs.linearize, chunk, real) + jacobian,
            product: self.product + forward + backward,
            // The sums at the trial point, g and the diagonal blocks.
            step: self.step + value + jacobian + handed(programs.contributions + programs.diagonals) + lists,
            jacobian: self.jacobian + jacobian,
            ..self
        }
    }
}

/// Bytes of the columns that a program loads: of J and the data, and of the index table for what it gathers.
fn loads(program: &Program, chunk: &Chunk, real: f64) -> f64 {
    let columns = distinct(program.instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Load(Load::Jacobian(column)) => Some((true, *column)),
        Instruction::Load(Load::Data(column)) => Some((false, *column)),
        _ => None,
    }));
    let indices = distinct(program.addresses.iter().map(|address| address.column));
    f64::from(chunk.count) * (columns.len() as f64 * real + indices.len() as f64 * 4.0)
}

fn operation(work: &Workspace, problem: &Problem, what: Measured) -> Result<Vec<Command>, Error> {
    let mut commands = Vec::new();
    match what {
        Measured::Product => pcg::product(work, problem, &mut commands),
        Measured::System => work.differentiate(problem, &mut commands)?,
        Measured::Evaluation => {
            let point = problem.arenas()?.0;
            problem.enabled_batches().for_each(|batch| work.linearize(batch, point, &mut commands));
        }
    }
    Ok(commands)
}

/// Fills `source` with numbers that do not compress, by doubling: some cards move zeros faster than their memory can.
fn fill(source: Slice, other: Slice, commands: &mut Vec<Command>) {
    // A multiplicative generator (Park & Miller 1988); its period is long enough for a seed of this length.
    let mut state = 1u64;
    let mut next = || {
        state = state * 48_271 % 2_147_483_647;
        state as f64 / 2_147_483_647.0
    };
    let mut filled = source.len.min(1 << 16);
    let data = (0..filled).map(|_| next()).collect();
    commands.push(Command::UploadReals { buffer: source.buffer, offset: 0, data });
    while filled < source.len {
        let more = filled.min(source.len - filled);
        let part = |slice: Slice, offset: u32| Slice { offset, len: more, ..slice };
        commands.push(Command::Copy { from: part(source, 0), to: part(other, 0) });
        commands.push(Command::Copy { from: part(other, 0), to: part(source, filled) });
        filled += more;
    }
}
