//! Evaluation of a term with sums over entries: derivatives of a row with respect to its entries.
//!
//! ∂r/∂y of an entry is J·G, of which the device has both factors: J with respect to the sums, G that of what is summed.
//! They are compared with differences of the whole row, in f64: where an entry moves, its part of the sum does.

use super::differences::differences;
use super::evaluate_term::{Worst, signed};
use super::summing;
use leastwise_base::clock::now_ms;
use leastwise_device::{BufferId, Command, Device, Precision, Slice};
use leastwise_error::Error;
use leastwise_expr::{Expr, Graph, Leaf};
use leastwise_problem::{Batch, Contents, Entries, Problem, SegmentSumBatch, Table, Term};
use leastwise_program::Entry;
use leastwise_solve::Summing;

/// The entries of the term that is being evaluated.
pub struct EntryEvaluation {
    /// Buffers of the sums.
    pub work: Summing,
    /// J with respect to the sums, row by row of r, instance by instance.
    sum_jacobian: Vec<f64>,
    /// G as it is stored, chunk by chunk.
    stored: Vec<Vec<f64>>,
    /// The next row, and the next of its entries, to check; and the sums of that row.
    next: (u32, u32),
    sums: Vec<f64>,
}

impl EntryEvaluation {
    /// Evaluation of the entries of a batch; allocates its buffers.
    pub fn new(device: &mut Device, batch: &Batch, term: &Term) -> Result<Self, Error> {
        let work = summing(device, batch.longest_scratch())?;
        let width = batch.sums.as_ref().map_or(0, |sums| sums.sums.width);
        let len = term.count as usize * batch.programs.rows as usize * width as usize;
        Ok(Self { work, sum_jacobian: vec![0.0; len], stored: Vec::new(), next: (0, 0), sums: Vec::new() })
    }

    /// Buffers to free.
    pub fn buffers(&self) -> [BufferId; 2] {
        [self.work.scratch.buffer, self.work.state.buffer]
    }

    /// The command that reads the next chunk's G; none when all are read.
    pub fn next_read(&self, sums: &SegmentSumBatch) -> Option<Command> {
        let chunk = &sums.chunks.get(self.stored.len())?.chunk;
        Some(Command::Read { slice: Slice { buffer: chunk.jacobian, offset: 0, len: chunk.jacobian_len } })
    }

    /// Takes the Jacobian that was read of a chunk.
    pub fn take(&mut self, stored: Vec<f64>) {
        self.stored.push(stored);
    }

    /// Takes an entry of J that belongs to component `sum` of the sums.
    pub fn take_slope(&mut self, batch: &Batch, instance: usize, row: usize, sum: u32, value: f64) {
        let width = batch.sums.as_ref().map_or(0, |sums| sums.sums.width) as usize;
        self.sum_jacobian[(instance * batch.programs.rows as usize + row) * width + sum as usize] = value;
    }

    /// Goes on checking until the deadline; whether all is checked. `jacobian` is J with respect to the rows' own slots.
    #[allow(clippy::too_many_arguments)]
    pub fn check(
        &mut self,
        problem: &Problem,
        term: &Term,
        batch: &Batch,
        point: &[f64],
        jacobian: &[f64],
        precision: Precision,
        worst: &mut Worst,
        deadline: f64,
    ) -> bool {
        let (Some(entries), Some(sums)) = (&term.entries, &batch.sums) else { return true };
        let mut numeric = Numeric::new(problem, term, entries, point);
        let (_, columns) = term.shape(problem.tables());
        let starts = term.column_starts(problem.tables());
        let (rows, columns, plain) = (batch.programs.rows as usize, columns as usize, starts.len() as u32);
        let reading = &term.parts[0].reading;
        let mut checked = 0;
        while self.next.0 < term.count {
            let (row, entry) = self.next;
            let (first, count) = entries.range(row);
            if entry == 0 {
                // The row's own slots first.
                self.sums = numeric.sums(row, Moved(None));
                for &(slot, component) in &batch.programs.inputs {
                    let number = reading.slots[slot as usize];
                    let Some(Some(start)) = starts.get(number as usize) else { continue };
                    let differences = numeric.own(row, number, component);
                    for (k, &difference) in differences.iter().enumerate() {
                        let derivative = jacobian[(row as usize * rows + k) * columns + (start + component) as usize];
                        worst.meet(row, k, number, component, derivative, difference);
                    }
                }
            }
            for number in entry..count {
                let place = first + number;
                let own = self.gradients(entries, sums, place, precision);
                for (input, &(slot, component)) in sums.programs.inputs.iter().enumerate() {
                    let differences = numeric.entry(row, place, (slot, component), &self.sums);
                    let ragged = entries.reading.slots[slot as usize] - plain;
                    for (k, &difference) in differences.iter().enumerate() {
                        let width = sums.sums.width as usize;
                        let slopes = &self.sum_jacobian[(row as usize * rows + k) * width..][..width];
                        let derivative =
                            slopes.iter().enumerate().map(|(sum, slope)| slope * own[sum * sums.programs.inputs.len() + input]).sum();
                        worst.meet(row, k, plain + number * entries.ragged + ragged, component, derivative, difference);
                    }
                }
                checked += 1;
                if checked % 16 == 0 && now_ms() > deadline {
                    self.next = (row, number + 1);
                    // A row that was left at its end must not begin anew.
                    if self.next.1 == count {
                        self.next = (row + 1, 0);
                    }
                    return false;
                }
            }
            self.next = (row + 1, 0);
        }
        true
    }

    /// G of an entry, row by row.
    fn gradients(&self, entries: &Entries, sums: &SegmentSumBatch, place: u32, precision: Precision) -> Vec<f64> {
        let number = sums.chunks.partition_point(|chunk| chunk.chunk.first + chunk.chunk.count <= place);
        let chunk = &sums.chunks[number].chunk;
        let at = |column: u32| self.stored[number][(column * chunk.count + place - chunk.first) as usize];
        let value = |entry: &Entry| match *entry {
            Entry::Constant(value) => value,
            Entry::Stored { column, negative } => signed(at(column), negative),
            Entry::Data { column, negative } => {
                let value = entries.contents.data[column as usize].at(place as usize);
                signed(if precision == Precision::F32 { f64::from(value as f32) } else { value }, negative)
            }
        };
        sums.programs.entries.iter().map(value).collect()
    }
}

/// Differences of a row's residual, evaluated in f64 node by node.
struct Numeric<'a> {
    problem: &'a Problem,
    term: &'a Term,
    entries: &'a Entries,
    point: &'a [f64],
    inner: (Graph, Vec<Expr>),
    outer: (Graph, Vec<Expr>),
    values: Vec<f64>,
}

impl<'a> Numeric<'a> {
    fn new(problem: &'a Problem, term: &'a Term, entries: &'a Entries, point: &'a [f64]) -> Self {
        let (inner, outer) = (entries.reading.structure.residual(), term.parts[0].reading.structure.residual());
        Self { problem, term, entries, point, inner, outer, values: Vec::new() }
    }

    /// The scalars of an instance that an index column leads to.
    fn at(&self, table: u32, contents: &Contents, column: u32, instance: u32) -> &'a [f64] {
        let Table { arena, width, .. } = self.problem.tables()[table as usize];
        &self.point[(arena + contents.indices[column as usize][instance as usize] * width) as usize..][..width as usize]
    }

    /// g of an entry, with other scalars in a slot (of the term's numbering).
    fn summed(&mut self, place: u32, moved: Moved) -> Vec<f64> {
        let entries = self.entries;
        let mut values = std::mem::take(&mut self.values);
        let result = self.inner.0.evaluate(&self.inner.1, &mut values, |leaf| match leaf {
            Leaf::Slot { slot, component } => {
                let column = entries.reading.structure.slots[slot as usize].column;
                let scalars = moved.of(entries.reading.slots[slot as usize]);
                scalars.unwrap_or_else(|| self.at(entries.tables[slot as usize], &entries.contents, column, place))[component as usize]
            }
            Leaf::Data { column, .. } => entries.contents.data[column as usize].at(place as usize),
            _ => f64::NAN,
        });
        self.values = values;
        result
    }

    fn sums(&mut self, row: u32, moved: Moved) -> Vec<f64> {
        let (first, count) = self.entries.range(row);
        let mut sums = vec![0.0; self.inner.1.len()];
        for place in first..first + count {
            let summed = self.summed(place, moved);
            sums.iter_mut().zip(summed).for_each(|(sum, value)| *sum += value);
        }
        sums
    }

    /// r of a row over these sums.
    fn residual(&mut self, row: u32, sums: &[f64], moved: Moved) -> Vec<f64> {
        let (part, plain) = (&self.term.parts[0], self.problem.tables().len());
        let mut values = std::mem::take(&mut self.values);
        let result = self.outer.0.evaluate(&self.outer.1, &mut values, |leaf| match leaf {
            Leaf::Slot { slot, component } => {
                let table = part.tables[slot as usize];
                if table as usize >= plain {
                    return sums[component as usize];
                }
                let column = part.reading.structure.slots[slot as usize].column;
                let scalars = moved.of(part.reading.slots[slot as usize]);
                scalars.unwrap_or_else(|| self.at(table, &part.contents, column, row))[component as usize]
            }
            Leaf::Data { column, .. } => part.contents.data[column as usize].at(row as usize),
            _ => f64::NAN,
        });
        self.values = values;
        result
    }

    /// ∂r/∂x for one of the row's own slots: through the sums, too.
    fn own(&mut self, row: u32, slot: u32, component: u32) -> Vec<Option<f64>> {
        let part = &self.term.parts[0];
        let of_slot = part.reading.slots.iter().position(|known| *known == slot).unwrap_or_default();
        let column = part.reading.structure.slots[of_slot].column;
        let x = self.at(part.tables[of_slot], &part.contents, column, row);
        let table = &self.problem.tables()[part.tables[of_slot] as usize];
        differences(table, x, component, |scalars| {
            let moved = Moved(Some((slot, scalars)));
            let sums = self.sums(row, moved);
            self.residual(row, &sums, moved)
        })
    }

    /// ∂r/∂y for an entry, given the sums of its row.
    fn entry(&mut self, row: u32, place: u32, (slot, component): (u32, u32), sums: &[f64]) -> Vec<Option<f64>> {
        let entries = self.entries;
        let column = entries.reading.structure.slots[slot as usize].column;
        let x = self.at(entries.tables[slot as usize], &entries.contents, column, place);
        let table = &self.problem.tables()[entries.tables[slot as usize] as usize];
        let here = self.summed(place, Moved(None));
        differences(table, x, component, |scalars| {
            let there = self.summed(place, Moved(Some((entries.reading.slots[slot as usize], scalars))));
            let sums: Vec<f64> = sums.iter().zip(here.iter().zip(there)).map(|(sum, (here, there))| sum + (there - here)).collect();
            self.residual(row, &sums, Moved(None))
        })
    }
}

/// Other scalars in a slot than those at the accepted values, if there are any.
#[derive(Clone, Copy)]
struct Moved<'a>(Option<(u32, &'a [f64])>);

impl<'a> Moved<'a> {
    fn of(self, slot: u32) -> Option<&'a [f64]> {
        self.0.filter(|moved| moved.0 == slot).map(|moved| moved.1)
    }
}
