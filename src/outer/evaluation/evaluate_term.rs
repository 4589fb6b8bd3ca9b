//! Evaluation of a term: residuals, Jacobians and Hessians as the device has them, and a check of J against differences of r.

use super::differences::differences;
use super::entries::EntryEvaluation;
use super::hessians::{HessianForm, Hessians};
use super::scratch;
use crate::Turn;
use leastwise_base::clock::now_ms;
use leastwise_device::{BufferId, Command, Device, Play, Precision, Recording, Slice, binding::*};
use leastwise_error::Error;
use leastwise_expr::{Expr, Graph, Leaf};
use leastwise_problem::{Batch, Part, Problem, Registry, Table};
use leastwise_program::Entry;
use leastwise_solve::{evaluate as evaluate_kernel, state};
use std::collections::VecDeque;

/// Bytes of residuals and derivatives that one evaluation of a term brings back.
const MOST_BYTES: u128 = 1 << 30;

/// Parts of an evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Residuals, then Jacobians, then Hessians if they are wanted, instance by instance, row by row.
    Values(Option<HessianForm>),
    /// Residuals alone, instance by instance, row by row.
    Residuals,
    /// The worst entry of J against differences of r.
    Check,
}

/// A term being evaluated, chunk by chunk.
pub struct TermEvaluation {
    term: u32,
    wanted: Wanted,
    left: VecDeque<(usize, usize)>,
    state: Slice,
    /// Scratch columns, through which the pieces of large programs hand values on.
    scratch: Slice,
    play: Option<Play>,
    /// The accepted values of all tables, once they were read.
    point: Option<Vec<f64>>,
    residuals: Vec<f64>,
    jacobians: Vec<f64>,
    hessians: Option<Hessians>,
    /// The next instance of a part to check.
    next: (usize, usize),
    worst: Worst,
    /// The entries, if the term sums over some.
    entries: Option<EntryEvaluation>,
}

/// The entry of J that differs most from its difference quotient, and how many have none to be compared with.
#[derive(Clone, Copy)]
pub struct Worst {
    skipped: u32,
    error: f64,
    instance: u32,
    row: u32,
    slot: u32,
    component: u32,
    derivative: f64,
    difference: f64,
}

impl Worst {
    /// Another entry of J: kept if it is worse.
    pub fn meet(&mut self, instance: u32, row: usize, slot: u32, component: u32, derivative: f64, difference: Option<f64>) {
        if difference.is_none() && derivative.is_finite() {
            self.skipped += 1;
            return;
        }
        let difference = difference.unwrap_or(f64::NAN);
        let error = (derivative - difference).abs() / derivative.abs().max(difference.abs()).max(1.0);
        // A derivative that is not finite is as wrong as can be.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        if error > self.error {
            *self = Self { skipped: self.skipped, error, instance, row: row as u32, slot, component, derivative, difference };
        }
    }
}

impl TermEvaluation {
    /// Evaluation of a term's instances at the current values. Fails if there is no such term.
    pub fn new(device: &mut Device, registry: &mut Registry, problem: &Problem, term: u32, wanted: Wanted) -> Result<Self, Error> {
        let owner = problem.term(term)?;
        let mut left = VecDeque::new();
        for (number, batch) in problem.batches().iter().enumerate() {
            if batch.members.iter().any(|member| member.term == term) {
                left.extend((0..batch.chunks.len()).map(|chunk| (number, chunk)));
            }
        }
        let chunks = left.iter().map(|&(batch, chunk): &(usize, usize)| (&problem.batches()[batch], chunk));
        let longest = chunks.map(|(batch, chunk)| batch.scratch_len(&batch.chunks[chunk])).max();
        let (rows, columns) = owner.shape(problem.tables());
        let columns = if wanted == Wanted::Residuals { 0 } else { columns };
        let second = if matches!(wanted, Wanted::Values(Some(_))) { u64::from(columns) * u64::from(columns) } else { 0 };
        let bytes = u128::from(owner.count) * u128::from(u64::from(rows) * (u64::from(columns) + 1) + second) * 8;
        if bytes > MOST_BYTES {
            return Err(Error::Limits(format!(
                "term \"{}\": r and J of {} instances of {rows} rows and {columns} columns take {bytes} bytes, but {MOST_BYTES} can be brought back: look at a term of fewer instances",
                owner.name, owner.count
            )));
        }
        let with_sums = left.front().map(|&(batch, _)| &problem.batches()[batch]).filter(|batch| batch.sums.is_some());
        let hessians = match wanted {
            Wanted::Values(Some(_)) if with_sums.is_some() => {
                let message = "a term with sumOver() has no Hessian of an instance: its rows may be of any length";
                return Err(Error::InvalidOption(format!("term \"{}\": {message}", owner.name)));
            }
            Wanted::Values(Some(form)) => Some(Hessians::new(device, registry, problem, term, columns, form)?),
            _ => None,
        };
        let state = scratch(device, state::STATE_LEN, "state")?;
        let columns_scratch = scratch(device, longest.unwrap_or(1), "evaluation").inspect_err(|_| device.free(state.buffer))?;
        let entries = with_sums.map(|batch| EntryEvaluation::new(device, batch, owner)).transpose();
        let entries = entries.inspect_err(|_| [state, columns_scratch].into_iter().for_each(|slice| device.free(slice.buffer)))?;
        let size = |columns: u32| owner.count as usize * rows as usize * columns as usize;
        Ok(Self {
            term,
            wanted,
            left,
            entries,
            state,
            scratch: columns_scratch,
            play: None,
            point: None,
            residuals: vec![0.0; size(1)],
            jacobians: vec![0.0; size(columns)],
            hessians,
            next: (0, 0),
            worst: Worst { skipped: 0, error: -1.0, instance: 0, row: 0, slot: 0, component: 0, derivative: 0.0, difference: 0.0 },
        })
    }

    fn buffers(&self) -> Vec<BufferId> {
        let blocks = self.hessians.iter().flat_map(|hessians| hessians.buffers()).copied();
        let entries = self.entries.iter().flat_map(EntryEvaluation::buffers);
        blocks.chain(entries).chain([self.state.buffer, self.scratch.buffer]).collect()
    }

    /// Outcome: the values that are wanted, in the order of [`Wanted`].
    pub fn resume(&mut self, device: &mut Device, problem: &mut Problem, deadline: f64) -> Result<Turn<Vec<f64>>, Error> {
        let precision = device.precision();
        loop {
            let mut play = match self.play.take() {
                Some(play) => play,
                None => match self.next(problem, device)? {
                    Some(play) => play,
                    None if self.wanted == Wanted::Check && !self.check(problem, precision, deadline)? => return Ok(Turn::Yielded),
                    None => return Ok(Turn::Over(self.result())),
                },
            };
            match Turn::from(device.resume(&mut play, deadline)?).outcome() {
                Ok(values) => self.take(problem, device, values)?,
                Err(turn) => {
                    self.play = Some(play);
                    return Ok(turn);
                }
            }
        }
    }

    /// The recording that is being played, which brings the problem's uploads along.
    pub fn playing(&mut self) -> Option<&mut Play> {
        self.play.as_mut()
    }

    /// Frees what it has on the device.
    pub fn free(self, device: &mut Device) {
        self.buffers().into_iter().for_each(|buffer| device.free(buffer));
    }

    /// Starts the next reading; `None` when all are done.
    fn next(&mut self, problem: &mut Problem, device: &mut Device) -> Result<Option<Play>, Error> {
        let mut recording = Recording { commands: problem.take_uploads() };
        let point = problem.arenas()?.0;
        if self.point.is_none() {
            recording.push(Command::Read { slice: point });
            return Ok(Some(device.start(recording)));
        }
        let Some(&(batch, number)) = self.left.front() else {
            if let Some(hessians) = &mut self.hessians {
                return hessians.next(problem, device, point);
            }
            let Some((entries, sums)) = self.entries.as_ref().zip(self.batch(problem)?.sums.as_ref()) else { return Ok(None) };
            let Some(read) = entries.next_read(sums).filter(|_| self.wanted == Wanted::Check) else { return Ok(None) };
            recording.push(read);
            return Ok(Some(device.start(recording)));
        };
        let batch = &problem.batches()[batch];
        let chunk = &batch.chunks[number];
        if let Some((entries, sums)) = self.entries.as_ref().zip(batch.sums.as_ref()).filter(|_| number == 0) {
            entries.work.linearize(sums, point, &mut recording.commands);
        }
        recording.push(evaluate_kernel(batch.kernels.linearize, chunk, &[(ARENA, point), (VECTOR_OUT, self.scratch), (STATE, self.state)]));
        recording.push(Command::Read { slice: Slice { buffer: chunk.jacobian, offset: 0, len: chunk.jacobian_len } });
        Ok(Some(device.start(recording)))
    }

    /// Takes what was read.
    fn take(&mut self, problem: &Problem, device: &mut Device, values: Vec<f64>) -> Result<(), Error> {
        if self.point.is_none() {
            self.point = Some(values);
            return Ok(());
        }
        let Some((number, chunk)) = self.left.pop_front() else {
            if let Some(hessians) = &mut self.hessians {
                return hessians.take(problem, device, &values);
            }
            self.entries.iter_mut().for_each(|entries| entries.take(values.clone()));
            return Ok(());
        };
        let precision = device.precision();
        let batch = &problem.batches()[number];
        let chunk = &batch.chunks[chunk];
        let term = problem.term(self.term)?;
        let (rows, columns) = term.shape(problem.tables());
        let (rows, columns) = (rows as usize, columns as usize);
        for member in batch.members.iter().filter(|member| member.term == self.term) {
            let part = &term.parts[member.part as usize];
            let places = input_places(part, &batch.programs.inputs, &term.column_starts(problem.tables()));
            let range = member.first.max(chunk.first)..(member.first + member.count).min(chunk.first + chunk.count);
            for place in range {
                let local = (place - member.first) as usize;
                let instance = term.instance(member.part, local as u32) as usize;
                let at = |column: u32| values[(column * chunk.count + place - chunk.first) as usize];
                for row in 0..batch.programs.rows as usize {
                    self.residuals[instance * rows + row] = at(row as u32);
                }
                if self.wanted == Wanted::Residuals {
                    continue;
                }
                for (k, entry) in batch.programs.entries.iter().enumerate() {
                    let (row, input) = (k / places.len(), k % places.len());
                    let value = match *entry {
                        Entry::Constant(value) => value,
                        Entry::Stored { column, negative } => signed(at(column), negative),
                        Entry::Data { column, negative } => {
                            let value = part.contents.data[column as usize].at(local);
                            signed(if precision == Precision::F32 { f64::from(value as f32) } else { value }, negative)
                        }
                    };
                    match (places[input], &mut self.entries) {
                        (Some(place), _) => self.jacobians[(instance * rows + row) * columns + place] += value,
                        (None, Some(entries)) => entries.take_slope(batch, instance, row, batch.programs.inputs[input].1, value),
                        (None, None) => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// The first batch that the term is in.
    fn batch<'a>(&self, problem: &'a Problem) -> Result<&'a Batch, Error> {
        let place = problem.term(self.term)?.parts.first().and_then(|part| part.place);
        place.and_then(|place| problem.batches().get(place.batch as usize)).ok_or(Error::Internal("a term is in no batch"))
    }

    /// Goes on checking until the deadline; whether all is checked.
    fn check(&mut self, problem: &Problem, precision: Precision, deadline: f64) -> Result<bool, Error> {
        let term = problem.term(self.term)?;
        let batch = self.batch(problem)?;
        let Some(point) = &self.point else { return Ok(false) };
        if let Some(entries) = &mut self.entries {
            return Ok(entries.check(problem, term, batch, point, &self.jacobians, precision, &mut self.worst, deadline));
        }
        let (rows, columns) = term.shape(problem.tables());
        while let Some(part) = term.parts.get(self.next.0) {
            let Some(batch) = part.place.and_then(|place| problem.batches().get(place.batch as usize)) else { return Ok(true) };
            let mut numeric = Numeric::new(part, problem, point);
            let starts = term.column_starts(problem.tables());
            let places = input_places(part, &batch.programs.inputs, &starts);
            while self.next.1 < part.count as usize {
                let local = self.next.1;
                let instance = term.instance(self.next.0 as u32, local as u32);
                for (&place, &(slot, component)) in places.iter().zip(&batch.programs.inputs) {
                    let differences = numeric.differences(local, slot, component);
                    for (row, &difference) in differences.iter().enumerate() {
                        let first = (instance as usize * rows as usize + row) * columns as usize;
                        let derivative = self.jacobians[first + place.unwrap_or(0)];
                        self.worst.meet(instance, row, part.reading.slots[slot as usize], component, derivative, difference);
                    }
                }
                self.next.1 += 1;
                if self.next.1.is_multiple_of(16) && now_ms() > deadline {
                    return Ok(false);
                }
            }
            self.next = (self.next.0 + 1, 0);
        }
        Ok(true)
    }

    fn result(&mut self) -> Vec<f64> {
        match self.wanted {
            Wanted::Values(_) => {
                let mut all = std::mem::take(&mut self.residuals);
                all.append(&mut self.jacobians);
                if let Some(hessians) = &mut self.hessians {
                    all.append(hessians.values());
                }
                all
            }
            Wanted::Residuals => std::mem::take(&mut self.residuals),
            Wanted::Check => {
                let Worst { skipped, error, instance, row, slot, component, derivative, difference } = self.worst;
                vec![error.max(0.0), instance.into(), row.into(), slot.into(), component.into(), derivative, difference, skipped.into()]
            }
        }
    }
}

/// The value, with its sign turned if `negative`.
pub fn signed(value: f64, negative: bool) -> f64 {
    if negative { -value } else { value }
}

/// The column of the term's J that each input of the part's structure is; none for sums over entries.
pub fn input_places(part: &Part, inputs: &[(u32, u32)], starts: &[Option<u32>]) -> Vec<Option<usize>> {
    let place = |&(slot, component): &(u32, u32)| {
        let start = starts.get(part.reading.slots[slot as usize] as usize)?;
        Some((start.unwrap_or(0) + component) as usize)
    };
    inputs.iter().map(place).collect()
}

/// Differences of the residual, evaluated in f64 node by node.
struct Numeric<'a> {
    part: &'a Part,
    problem: &'a Problem,
    point: &'a [f64],
    graph: Graph,
    roots: Vec<Expr>,
    values: Vec<f64>,
}

impl<'a> Numeric<'a> {
    fn new(part: &'a Part, problem: &'a Problem, point: &'a [f64]) -> Self {
        let (graph, roots) = part.reading.structure.residual();
        Self { part, problem, point, values: Vec::new(), graph, roots }
    }

    fn table(&self, slot: u32) -> &'a Table {
        &self.problem.tables()[self.part.tables[slot as usize] as usize]
    }

    /// The scalars of a slot in an instance.
    fn scalars(&self, instance: usize, slot: u32) -> &'a [f64] {
        let Table { arena, width, .. } = *self.table(slot);
        let column = self.part.reading.structure.slots[slot as usize].column;
        let index = self.part.contents.indices[column as usize][instance];
        &self.point[(arena + index * width) as usize..][..width as usize]
    }

    /// The residual with other scalars in one slot.
    fn residual(&mut self, instance: usize, moved: u32, scalars: &[f64]) -> Vec<f64> {
        let mut values = std::mem::take(&mut self.values);
        let result = self.graph.evaluate(&self.roots, &mut values, |leaf| match leaf {
            Leaf::Slot { slot, component } if slot == moved => scalars[component as usize],
            Leaf::Slot { slot, component } => self.scalars(instance, slot)[component as usize],
            Leaf::Data { column, .. } => self.part.contents.data[column as usize].at(instance),
            _ => f64::NAN,
        });
        self.values = values;
        result
    }

    /// ∂r/∂input.
    fn differences(&mut self, instance: usize, slot: u32, component: u32) -> Vec<Option<f64>> {
        let (table, x) = (self.table(slot), self.scalars(instance, slot));
        differences(table, x, component, |moved| self.residual(instance, slot, moved))
    }
}
