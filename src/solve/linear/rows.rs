//! The rows of J, brought back from where `linearize` left them: for problems so small that orthogonal transformations
//! of J itself can be afforded.

use super::super::{Workspace, assembly::Assembled, state};
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{BufferId, Command, Device, Kind, Slice};
use leastwise_error::Error;
use leastwise_linear::qr::Triangle;
use leastwise_problem::{Pattern, Problem};
use leastwise_program::{Curvature, Entry, ResidualPrograms, Signature};
use std::sync::Arc;

/// Where J's rows are in one readback, while the problem's structure stays.
pub struct Rows {
    pub pattern: Pattern,
    whole: Slice,
    /// First elements of g, D, the largest diagonal and what may move.
    vectors: [u32; 4],
    chunks: Vec<RowsOfChunk>,
}

struct RowsOfChunk {
    batch: usize,
    chunk: usize,
    programs: Arc<ResidualPrograms>,
    signature: Signature,
    /// Instances.
    count: usize,
    /// First elements of r and J, and of the data, and how many there are.
    jacobian: [u32; 2],
    data: [u32; 2],
    /// For every input, the unknown that it is in each instance.
    unknowns: Vec<Vec<u32>>,
}

impl Rows {
    pub fn new(device: &mut Device, problem: &Problem) -> Result<Self, Error> {
        let limits = device.limits();
        let pattern = Pattern::of_tables(problem.tables());
        let mut len = 0;
        let mut place = |elements: u32| {
            len += u64::from(elements.max(1)).next_multiple_of(limits.offset_alignment.into());
            (len - u64::from(elements.max(1)).next_multiple_of(limits.offset_alignment.into())) as u32
        };
        place(state::STATE_LEN);
        let vectors = [0; 4].map(|_: u32| place(problem.vector_len()));
        let mut chunks = Vec::new();
        for (number, batch) in problem.batches().iter().enumerate().filter(|(_, batch)| batch.enabled) {
            let slots: Vec<_> = (0..batch.signature().slots.len() as u32)
                .map(|slot| {
                    let (table, variables) = problem.slot_of(batch, slot);
                    (pattern.tables.iter().find(|rows| rows.table == table), variables)
                })
                .collect();
            for (chunk, of) in batch.chunks.iter().enumerate() {
                let unknowns = batch.programs.inputs.iter().map(|&(slot, component)| {
                    let (Some(table), variables) = &slots[slot as usize] else { return Vec::new() };
                    let named = &variables[of.first as usize..][..of.count as usize];
                    named.iter().map(|variable| table.scalar + variable * table.width + component).collect()
                });
                chunks.push(RowsOfChunk {
                    batch: number,
                    chunk,
                    programs: batch.programs.clone(),
                    signature: batch.signature().clone(),
                    count: of.count as usize,
                    unknowns: unknowns.collect(),
                    jacobian: [place(of.jacobian_len), of.jacobian_len],
                    data: [place(of.data_len), of.data_len],
                });
            }
        }
        if len * device.precision().bytes() > limits.buffer_bytes {
            return Err(Error::Limits(format!("the rows of J need more than a buffer ({} bytes)", limits.buffer_bytes)));
        }
        let whole = Slice { buffer: device.allocate(Kind::Real, len as u32, "rows of J")?, offset: 0, len: len as u32 };
        Ok(Self { pattern, whole, vectors, chunks })
    }

    pub fn buffer(&self) -> BufferId {
        self.whole.buffer
    }

    /// Appends the readback, after [`Workspace::differentiate`].
    pub fn read(&self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) {
        let mut copy = |from: Slice, len: u32, offset: u32| {
            let to = Slice { buffer: self.whole.buffer, offset, len };
            commands.push(Command::Copy { from: Slice { len, ..from }, to });
        };
        copy(work.state, state::STATE_LEN, 0);
        for (from, at) in [Some(work.gradient), Some(work.scale), Some(work.peak), work.free()].into_iter().zip(self.vectors) {
            if let Some(from) = from {
                copy(from, problem.vector_len(), at);
            }
        }
        for rows in &self.chunks {
            let chunk = &problem.batches()[rows.batch].chunks[rows.chunk];
            let whole = |buffer, len| Slice { buffer, offset: 0, len };
            copy(whole(chunk.jacobian, chunk.jacobian_len), chunk.jacobian_len, rows.jacobian[0]);
            if chunk.data_len > 0 {
                copy(whole(chunk.data, chunk.data_len), chunk.data_len, rows.data[0]);
            }
        }
        commands.push(Command::Read { slice: self.whole });
    }

    /// What was brought back besides the rows.
    pub fn assembled<'a>(&self, is_masked: bool, readback: &'a [f64]) -> Assembled<'a> {
        let vector = |place: usize| &readback[self.vectors[place] as usize..][..self.pattern.vector_len as usize];
        Assembled {
            state: &readback[..state::STATE_LEN as usize],
            gradient: vector(0),
            scale: vector(1),
            peak: vector(2),
            free: is_masked.then(|| vector(3)),
            diagonal: &[],
            lower: &[],
        }
    }

    /// An empty triangle becomes that of √W J, and −√W r, which is only a right-hand side where no loss bends W. What may not move has a column of
    /// zeros.
    pub async fn triangle(&self, readback: &[f64], free: Option<&[f64]>, mut triangle: Triangle, pace: &Pace) -> Result<Triangle, Stopped> {
        for rows in &self.chunks {
            rows.push(readback, free, &mut triangle, pace).await?;
        }
        Ok(triangle)
    }
}

impl RowsOfChunk {
    async fn push(&self, readback: &[f64], free: Option<&[f64]>, triangle: &mut Triangle, pace: &Pace) -> Result<(), Stopped> {
        let Self { programs, signature, count, .. } = self;
        let part = |[first, len]: [u32; 2]| &readback[first as usize..][..len as usize];
        let jacobian = part(self.jacobian);
        let data = Data { signature, values: part(self.data), count: *count };
        let mut curvature = signature.loss.as_ref().map(Curvature::new);
        let (rows, width) = (programs.rows as usize, programs.inputs.len());
        // J and r of an instance, row by row.
        let mut own = vec![0.0; rows * (width + 1)];
        for instance in 0..*count {
            let stored = |column: u32| jacobian[column as usize * count + instance];
            let weight = data.at(signature.weight_shared, 0, instance).sqrt();
            for (row, own) in own.chunks_exact_mut(width + 1).enumerate() {
                for (input, value) in own[..width].iter_mut().enumerate() {
                    *value = match programs.entries[row * width + input] {
                        Entry::Constant(value) => value,
                        Entry::Stored { column, negative } => signed(stored(column), negative),
                        Entry::Data { column, negative } => signed(data.of(column, instance), negative),
                    };
                    let may_move = free.is_none_or(|free| free[self.unknowns[input][instance] as usize] != 0.0);
                    *value = if may_move { weight * *value } else { 0.0 };
                }
                own[width] = weight * stored(row as u32);
            }
            if let Some(curvature) = &mut curvature {
                let r: Vec<f64> = (0..rows).map(|row| stored(row as u32)).collect();
                let (across, along) = curvature.root(r.iter().map(|r| r * r).sum(), |column| data.of(column, instance));
                weigh(&mut own, &r, across, along);
            }
            for own in own.chunks_exact(width + 1) {
                let entries = own[..width].iter().enumerate().map(|(input, &value)| (self.unknowns[input][instance] as usize, value));
                let spent = triangle.push(entries, -own[width]);
                pace.spend(spent + 8 * width).await?;
            }
        }
        Ok(())
    }
}

/// Multiplies rows by √ρ′ I + γ r rᵀ.
fn weigh(rows: &mut [f64], r: &[f64], across: f64, along: f64) {
    let width = rows.len() / r.len();
    for column in 0..width {
        let projected: f64 = r.iter().enumerate().map(|(row, r)| r * rows[row * width + column]).sum();
        for (row, r) in r.iter().enumerate() {
            let value = &mut rows[row * width + column];
            *value = across * *value + along * r * projected;
        }
    }
}

/// A chunk's data.
struct Data<'a> {
    signature: &'a Signature,
    values: &'a [f64],
    count: usize,
}

impl Data<'_> {
    /// A scalar of an instance.
    fn of(&self, column: u32, instance: usize) -> f64 {
        let shape = self.signature.columns[column as usize];
        self.at(shape.shared, shape.offset, instance)
    }

    fn at(&self, shared: bool, offset: u32, instance: usize) -> f64 {
        match shared {
            true => self.values[offset as usize],
            false => self.values[(self.signature.shared + offset * self.count as u32) as usize + instance],
        }
    }
}

fn signed(value: f64, negative: bool) -> f64 {
    if negative { -value } else { value }
}
