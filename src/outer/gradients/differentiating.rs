//! A snapshot that is differentiated twice: its gradient and Hessian, the adjoint system, and mixed derivatives, of which each
//! instance adds its part to what they are by.

mod multipliers;

use super::{BackwardOptions, ByTable, Columns, Given, Gradients, Known, collect};
use crate::evaluation::{InstanceBlock, InstanceBlocks, Instances};
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::{Command, Device, Kind, Precision, Recording, Slice, binding::*};
use leastwise_error::Error;
use leastwise_linear::matrix::runs;
use leastwise_problem::{CrossDerivativeKernel, HessianKernel, Member, Problem, Reals, Registry};
use leastwise_program::NEGATIVE;
use leastwise_solve::adjoint::{self, Adjoint, AdjointOptions, ExactHessian, Unknown};
use leastwise_solve::assembly::Structure;
use leastwise_solve::covariance::{Equalities, Values};
use leastwise_solve::{Needs, Workspace, dispatch, state};
use std::collections::HashMap;
use std::ops::Range;

/// ‖H⁻¹g‖ as a part of ‖x‖ up to which values count as stationary.
const STATIONARY: f64 = 1e-3;
/// Up to which the stationary point is looked for by Newton's steps, so many at most; and from which on it is found.
const NEAR: f64 = 1e-2;
const REFINEMENTS: u32 = 4;
const FOUND: f64 = 1e-13;
/// From which on multipliers are found: they are a part of H alone.
const FOUND_MULTIPLIERS: f64 = 1e-10;

/// Part of λ that is left of an inequality that holds, at least: of less, λ isn't found; and Newton's steps more for such.
const LEFT: f64 = 0.5;
const FALLS: u32 = 8;

/// The shares that are done when all Hessians are added, and when the adjoint system is solved.
const ADDED: f64 = 0.3;
const SOLVED: f64 = 0.8;

/// Part of the snapshot that is being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Gradient,
    Free,
    Cost,
    /// Rows of constraints.
    Constraints,
    Hessians,
    CrossDerivatives,
    /// yᵀ∂c/∂θ of constraints, with rows of a value and in the second pass of twice that.
    Multipliers(u8),
}

/// The next thing to do.
pub enum Next {
    Play(Recording),
    /// [`Differentiating::work`]
    Task,
    /// [`Differentiating::evaluate`]
    Evaluate,
    Done,
}

/// Task on the host.
enum Pending {
    /// Results of a block's instances are to be added.
    Hessians(InstanceBlock, Vec<f64>),
    CrossDerivatives(InstanceBlock, Vec<f64>),
    /// All Hessians are there.
    Adjoint,
}

/// A component of a constant that a block's instances have mixed derivatives with respect to.
struct Constant {
    table: u32,
    component: u32,
    code: u32,
    instances: Vec<u32>,
}

/// A snapshot that is being differentiated, twice.
pub struct Differentiating {
    snapshot: Problem,
    work: Workspace,
    values: Values,
    given: Given,
    /// Number and values of every table that moves; and these before the last of Newton's steps.
    x: ByTable,
    before: ByTable,
    /// ‖x‖, and ‖H⁻¹g‖ before the last of Newton's steps.
    size: f64,
    last: f64,
    refinements: u32,
    /// True once there are to be no more of them.
    settled: bool,
    /// max |gᵢ| and ‖H⁻¹g‖ at the values that were found.
    first: Option<[f64; 2]>,
    precision: Precision,
    phase: Phase,
    blocks: InstanceBlocks,
    hessians: HashMap<usize, HessianKernel>,
    cross_derivatives: HashMap<usize, CrossDerivativeKernel>,
    hessian: ExactHessian,
    /// Over all unknowns, without gaps: g, what may move, ∂L/∂x, and what the adjoint system gave.
    gradient: Vec<f64>,
    free: Vec<bool>,
    cotangent: Vec<f64>,
    adjoint: Option<Adjoint>,
    /// H z, where something is held.
    across: Vec<f64>,
    pending: Option<Pending>,
    /// Constraints as they were found.
    equalities: Option<Equalities>,
    /// λ of all constraints before the last of Newton's steps.
    multipliers: ByTable,
    /// z, until it is on the device.
    direction: Option<Command>,
    columns: Columns,
    tables: HashMap<u32, Vec<f64>>,
}

impl Differentiating {
    /// Differentiates a snapshot that is laid out on a device that computes in f64, with the structure of its JᵀWJ.
    pub fn new(
        device: &mut Device,
        (mut snapshot, found): (Problem, Option<Structure>),
        Known { values, x, size }: Known,
        given: Given,
        precision: Precision,
    ) -> Result<Self, Error> {
        let made = found
            .ok_or(Error::Internal("the structure of a matrix was not found"))
            .and_then(|found| Ok((found, Workspace::new(device, &snapshot, Needs::default())?)));
        let (hessian, work) = match made {
            Ok((found, work)) => (ExactHessian::new(found), work),
            Err(error) => {
                snapshot.dispose(device);
                return Err(error);
            }
        };
        Ok(Self {
            snapshot,
            work,
            values,
            given,
            before: Vec::new(),
            x,
            size,
            last: f64::INFINITY,
            refinements: 0,
            settled: false,
            first: None,
            precision,
            phase: Phase::Gradient,
            blocks: InstanceBlocks::default(),
            hessians: HashMap::new(),
            cross_derivatives: HashMap::new(),
            hessian,
            gradient: Vec::new(),
            free: Vec::new(),
            cotangent: Vec::new(),
            adjoint: None,
            across: Vec::new(),
            pending: None,
            equalities: None,
            multipliers: Vec::new(),
            direction: None,
            columns: HashMap::new(),
            tables: HashMap::new(),
        })
    }

    /// Frees the buffers.
    pub fn dispose(&mut self, device: &mut Device) {
        self.blocks.free(device);
        self.work.buffers().into_iter().for_each(|buffer| device.free(buffer));
        self.snapshot.dispose(device);
    }

    /// The next thing to do.
    pub fn next(&mut self, device: &mut Device, registry: &mut Registry) -> Result<Next, Error> {
        if self.pending.is_some() {
            return Ok(Next::Task);
        }
        if self.phase == Phase::Constraints {
            return Ok(Next::Evaluate);
        }
        if self.phase == Phase::CrossDerivatives && self.cross_derivatives.is_empty() {
            self.begin_cross_derivatives(device, registry)?;
        }
        loop {
            let mut recording = Recording { commands: self.snapshot.take_uploads() };
            match self.phase {
                Phase::Gradient => {
                    self.work.differentiate(&self.snapshot, &mut recording.commands)?;
                    recording.push(Command::Read { slice: Slice { len: self.snapshot.vector_len(), ..self.work.gradient } });
                    return Ok(Next::Play(recording));
                }
                Phase::Free => match self.work.free() {
                    Some(slice) => {
                        recording.push(Command::Read { slice });
                        return Ok(Next::Play(recording));
                    }
                    None => {
                        self.free = vec![true; self.gradient.len()];
                        self.phase = Phase::Cost;
                    }
                },
                Phase::Cost => {
                    recording.push(Command::Read { slice: self.work.state });
                    return Ok(Next::Play(recording));
                }
                Phase::Hessians => match self.blocks.first() {
                    Some(block) => {
                        let HessianKernel { programs, kernel } = &self.hessians[&block.batch];
                        let batch = &self.snapshot.batches()[block.batch];
                        let [data, index] = self.blocks.copy(device, batch, block, &mut recording)?;
                        let len = programs.scratch(device.cut()) * block.count;
                        let values = self.blocks.allocate(device, Kind::Real, len, "Hessians")?;
                        let bindings = [(ARENA, self.work.point), (DATA, data), (INDEX, index), (VECTOR_OUT, values)];
                        recording.push(dispatch(*kernel, block.count, &bindings));
                        recording.push(Command::Read { slice: Slice { len: (programs.stored * block.count).max(1), ..values } });
                        return Ok(Next::Play(recording));
                    }
                    None => {
                        self.pending = Some(Pending::Adjoint);
                        return Ok(Next::Task);
                    }
                },
                Phase::Constraints => return Ok(Next::Evaluate),
                Phase::CrossDerivatives | Phase::Multipliers(_) => {
                    let Some(block) = self.blocks.first() else {
                        if !self.begin_multipliers(device)? {
                            return Ok(Next::Done);
                        }
                        continue;
                    };
                    recording.commands.extend(self.direction.take());
                    let CrossDerivativeKernel { program, kernel } = &self.cross_derivatives[&block.batch];
                    let batch = &self.snapshot.batches()[block.batch];
                    let [data, index] = self.blocks.copy(device, batch, block, &mut recording)?;
                    let len = program.scratch(device.cut()) * block.count;
                    let values = self.blocks.allocate(device, Kind::Real, len, "mixed derivatives")?;
                    let bindings =
                        [(ARENA, self.work.point), (DATA, data), (INDEX, index), (VECTOR_IN, self.work.step), (VECTOR_OUT, values)];
                    recording.push(dispatch(*kernel, block.count, &bindings));
                    recording.push(Command::Read { slice: Slice { len: program.stored * block.count, ..values } });
                    return Ok(Next::Play(recording));
                }
            }
        }
    }

    /// Does what is pending on the host.
    pub async fn work(&mut self, options: &AdjointOptions, pace: &Pace) -> Result<(), Error> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        let pace = match pending {
            Pending::Hessians(..) => pace.part(0.0..ADDED),
            Pending::Adjoint => pace.part(ADDED..SOLVED),
            Pending::CrossDerivatives(..) => pace.part(SOLVED..1.0),
        };
        pace.tell(0, 1);
        match pending {
            Pending::Hessians(block, values) => Ok(self.take_hessians(block, &values, &pace).await?),
            Pending::CrossDerivatives(block, values) => self.take_cross_derivatives(block, &values, &pace).await,
            Pending::Adjoint => self.solve_adjoint(options, &pace).await,
        }
    }

    /// Solves the adjoint system; then come mixed derivatives, or all anew at a better point.
    async fn solve_adjoint(&mut self, options: &AdjointOptions, pace: &Pace) -> Result<(), Error> {
        self.cotangent = self.cotangent();
        let systems = [&self.cotangent[..], &self.gradient];
        if let Some(equalities) = self.equalities.take() {
            let sizes = self.values.sizes(self.hessian.pattern());
            self.equalities = Some(equalities.settled(&self.hessian.diagonal(), &self.free, &sizes));
        }
        let equalities = self.equalities.as_ref();
        let found = adjoint::solve(&self.hessian, &self.free, systems, equalities, &self.values, self.precision, options, pace).await?;
        if self.refine(&found)? {
            return Ok(());
        }
        if self.free.contains(&false) {
            self.across = self.hessian.multiply(&found.z, pace).await?;
            if let (Some(equalities), Some(multipliers)) = (&self.equalities, &found.multipliers) {
                let by_rows = equalities.across(&multipliers.y, self.across.len());
                self.across.iter_mut().zip(by_rows).for_each(|(across, by)| *across += by);
            }
        }
        let z = self.hessian.pattern().spread(&found.z);
        self.direction = Some(Command::UploadReals { buffer: self.work.step.buffer, offset: 0, data: z });
        self.adjoint = Some(found);
        self.hide_inactive()?;
        self.phase = Phase::CrossDerivatives;
        Ok(())
    }

    /// ∂L/∂x by degrees of freedom, over all unknowns without gaps.
    fn cotangent(&self) -> Vec<f64> {
        let (given, tangent) = &self.given;
        let mut all = Vec::new();
        for (number, x) in &self.x {
            let table = &self.snapshot.tables()[*number as usize];
            let mut own = vec![0.0; table.unknowns() as usize];
            for (_, values) in given.iter().filter(|(known, _)| known == number) {
                match &table.manifold {
                    Some(manifold) if !tangent => {
                        let (width, degrees) = (table.width as usize, table.tangent as usize);
                        for ((own, x), v) in own.chunks_mut(degrees).zip(x.chunks(width)).zip(values.chunks(width)) {
                            for (row, v) in manifold.slopes(x).chunks(degrees).zip(v) {
                                own.iter_mut().zip(row).for_each(|(own, slope)| *own += slope * v);
                            }
                        }
                    }
                    _ => own.iter_mut().zip(values).for_each(|(own, value)| *own += value),
                }
            }
            all.extend(own);
        }
        all
    }

    /// Moves the snapshot on by −H⁻¹g, where that leads nearer to the stationary point; then all begins anew. Values in f32, or of
    /// a solve that ended early, are as far from it as that: a gradient is one at the point itself. Multipliers move along, however far:
    /// at x they are known.
    fn refine(&mut self, Adjoint { step, multipliers, .. }: &Adjoint) -> Result<bool, Error> {
        let distance = step.iter().map(|s| s * s).sum::<f64>().sqrt();
        if self.first.is_none() {
            let free = self.gradient.iter().zip(&self.free).filter(|(_, free)| **free);
            self.first = Some([free.map(|(g, _)| g.abs()).fold(0.0, f64::max), distance]);
        }
        let unit = if self.size > 0.0 { self.size } else { 1.0 };
        let of_multipliers = multipliers.as_ref().map_or(0.0, |multipliers| multipliers.distance);
        let is_found = distance < FOUND * self.size && of_multipliers < FOUND_MULTIPLIERS;
        let falls = is_found && multipliers.as_ref().is_some_and(|multipliers| self.falls(&multipliers.step));
        let farther = distance.max(of_multipliers * unit);
        let goes_on = falls || !is_found && distance <= NEAR * self.size && farther < 0.5 * self.last;
        let most = REFINEMENTS + if falls { FALLS } else { 0 };
        if self.settled {
            return Ok(false);
        } else if farther.is_nan() || distance.is_nan() || !is_found && farther > self.last {
            // It led away: back.
            std::mem::swap(&mut self.x, &mut self.before);
            for (term, multipliers) in std::mem::take(&mut self.multipliers) {
                self.snapshot.set_lagrangian(term, &multipliers)?;
            }
            self.refinements -= 1;
            self.settled = true;
        } else if goes_on && self.refinements < most {
            let pattern = self.hessian.pattern();
            let moved = self.x.iter().zip(&pattern.tables).map(|((number, x), rows)| {
                let own = &step[rows.scalar as usize..][..(rows.count * rows.width) as usize];
                let back: Vec<f64> = own.iter().map(|s| -s).collect();
                (*number, self.snapshot.tables()[*number as usize].moved(x, &back))
            });
            let moved = moved.collect();
            self.before = std::mem::replace(&mut self.x, moved);
            self.move_multipliers(multipliers.as_ref())?;
            self.refinements += 1;
            // Without rows that fell it is another system.
            self.last = if falls { f64::INFINITY } else { farther };
        } else {
            return Ok(false);
        }
        for (number, x) in &self.x {
            self.snapshot.write_table(*number, Reals::F64(x), None)?;
        }
        self.hessian.clear();
        self.phase = Phase::Gradient;
        Ok(true)
    }

    /// True if an inequality's λ comes of the distance to the solution: one that only touches, of which a solve has left some λ. Beside
    /// the whole gradient that may be next to nothing, and more than rounding yet.
    fn falls(&self, steps: &[f64]) -> bool {
        let rows = self.equalities.iter().flat_map(|equalities| &equalities.rows);
        rows.zip(steps).any(|(row, step)| row.is_inequality && row.multiplier - step < LEFT * row.multiplier)
    }

    fn begin_hessians(&mut self, device: &mut Device, registry: &mut Registry) -> Result<(), Error> {
        for (number, batch) in self.snapshot.batches().iter().enumerate() {
            let member = batch.members[0];
            let structure = &self.snapshot.term(member.term)?.parts[member.part as usize].reading.structure;
            let kernel = registry.compiled(structure, &batch.signature().layout(), &batch.name).hessian(device, structure, &batch.name)?;
            let besides = [kernel.programs.scratch(device.cut())];
            let all = Instances { batch: number, member: 0, range: 0..batch.count() };
            self.blocks.cut(device, &self.snapshot, all, &besides, "Hessian")?;
            self.hessians.insert(number, kernel);
        }
        Ok(())
    }

    fn begin_cross_derivatives(&mut self, device: &mut Device, registry: &mut Registry) -> Result<(), Error> {
        for (number, batch) in self.snapshot.batches().iter().enumerate() {
            let member = batch.members[0];
            let structure = &self.snapshot.term(member.term)?.parts[member.part as usize].reading.structure;
            let kernel =
                registry.compiled(structure, &batch.signature().layout(), &batch.name).cross_derivative(device, structure, &batch.name)?;
            let besides = [kernel.program.scratch(device.cut())];
            let all = Instances { batch: number, member: 0, range: 0..batch.count() };
            self.blocks.cut(device, &self.snapshot, all, &besides, "mixed derivatives")?;
            self.cross_derivatives.insert(number, kernel);
        }
        Ok(())
    }

    /// Takes what was read; false where the cost is not finite.
    pub fn take(&mut self, device: &mut Device, registry: &mut Registry, values: Vec<f64>) -> Result<bool, Error> {
        match self.phase {
            Phase::Gradient => {
                self.gradient = self.hessian.pattern().compact(&values);
                self.phase = Phase::Free;
            }
            Phase::Free => {
                self.free = self.hessian.pattern().compact(&values).iter().map(|free| *free != 0.0).collect();
                self.phase = Phase::Cost;
            }
            Phase::Cost => {
                if !values[state::COST as usize].is_finite() {
                    return Ok(false);
                }
                if self.snapshot.enabled_constraints().next().is_some() {
                    self.phase = Phase::Constraints;
                } else {
                    self.phase = Phase::Hessians;
                    self.begin_hessians(device, registry)?;
                }
            }
            Phase::Constraints => return Err(Error::Internal("constraints are not read")),
            Phase::Hessians => self.pending = self.blocks.pop(device).map(|block| Pending::Hessians(block, values)),
            Phase::CrossDerivatives | Phase::Multipliers(_) => {
                self.pending = self.blocks.pop(device).map(|block| Pending::CrossDerivatives(block, values))
            }
        }
        Ok(true)
    }

    /// Adds the Hessians of a block's instances.
    async fn take_hessians(&mut self, block: InstanceBlock, values: &[f64], pace: &Pace) -> Result<(), Stopped> {
        let (batch, programs) = (&self.snapshot.batches()[block.batch], &self.hessians[&block.batch].programs);
        let pattern = self.hessian.pattern().clone();
        let tables: HashMap<u32, usize> = pattern.tables.iter().enumerate().map(|(number, table)| (table.table, number)).collect();
        let slots: Vec<_> = (0..batch.signature().slots.len() as u32).map(|slot| self.snapshot.slot_of(batch, slot)).collect();
        let triangle = || (0..programs.inputs.len()).flat_map(|r| (0..=r).map(move |c| (r, c)));
        for place in 0..block.count {
            let unknown = |input: usize| {
                let (slot, component) = programs.inputs[input];
                let (table, instances) = &slots[slot as usize];
                Unknown { table: tables[table], instance: instances[(block.first + place) as usize], component }
            };
            let unknowns: Vec<Unknown> = (0..programs.inputs.len()).map(unknown).collect();
            for ((r, c), &code) in triangle().zip(&programs.entries.codes).filter(|(_, code)| **code != 0) {
                let value = signed(values, code, block.count, place);
                // One variable in two slots meets itself from either side.
                let twice = r != c && unknowns[r] == unknowns[c];
                self.hessian.add(unknowns[r], unknowns[c], if twice { 2.0 * value } else { value });
            }
            pace.spend(32 * programs.entries.codes.len()).await?;
        }
        Ok(())
    }

    /// Adds the mixed derivatives of a block's instances to what they are by.
    async fn take_cross_derivatives(&mut self, block: InstanceBlock, values: &[f64], pace: &Pace) -> Result<(), Error> {
        let program = &self.cross_derivatives[&block.batch].program;
        let each = 32 * (program.data.len() + program.constants.len() + 1);
        let batch = &self.snapshot.batches()[block.batch];
        let constants: Vec<Constant> = program
            .constants
            .iter()
            .filter(|(.., code)| *code != 0)
            .map(|&(slot, component, code)| {
                let (table, instances) = self.snapshot.slot_of(batch, slot);
                Constant { table, component, code, instances: instances[block.first as usize..][..block.count as usize].to_vec() }
            })
            .collect();
        for place in 0..self.snapshot.batches()[block.batch].members.len() {
            let member = self.snapshot.batches()[block.batch].members[place];
            let range = member.first.max(block.first)..(member.first + member.count).min(block.first + block.count);
            for run in runs(range.len() as u32, |_| each) {
                let places = range.start + run.start..range.start + run.end;
                self.add_cross_derivatives(block, values, &constants, member, places)?;
                pace.spend(each * run.len()).await?;
            }
        }
        Ok(())
    }

    /// Adds those of instances of a member.
    fn add_cross_derivatives(
        &mut self,
        block: InstanceBlock,
        values: &[f64],
        constants: &[Constant],
        member: Member,
        range: Range<u32>,
    ) -> Result<(), Error> {
        let program = &self.cross_derivatives[&block.batch].program;
        let term = self.snapshot.term(member.term)?;
        let is_constraint = term.constraint.is_some();
        let factor = match self.phase {
            Phase::Multipliers(_) if !is_constraint => return Ok(()),
            Phase::Multipliers(1) => 2.0,
            Phase::Multipliers(_) => -1.0,
            _ => 1.0,
        };
        let (columns, weights) = self.columns.entry(member.term).or_insert_with(|| {
            let (columns, weight) = term.lengths();
            (columns.into_iter().map(|length| vec![0.0; length]).collect(), vec![0.0; weight])
        });
        for place in range {
            let instance = term.instance(member.part, place - member.first);
            let at = |code: u32| factor * signed(values, code, block.count, place - block.first);
            for (scalar, &code) in program.data.iter().enumerate().filter(|(_, code)| **code != 0) {
                if let Some((column, place)) = term.position(member.part as usize, scalar, instance) {
                    columns[column][place] -= at(code);
                }
            }
            // The weight of a constraint is that of its penalty: a solution does not depend on it.
            if program.weight != 0 && !is_constraint {
                let own = if weights.len() == 1 { 0 } else { instance as usize };
                weights[own] -= at(program.weight);
            }
            for Constant { table, component, code, instances } in constants {
                let of = &self.snapshot.tables()[*table as usize];
                let gradient = self.tables.entry(*table).or_insert_with(|| vec![0.0; of.elements() as usize]);
                gradient[(instances[(place - block.first) as usize] * of.width + component) as usize] -= at(*code);
            }
        }
        Ok(())
    }

    /// All that was found, of terms and tables of the problem, also of those that took no part.
    pub fn finish(mut self, problem: &Problem, options: &BackwardOptions) -> Result<Gradients, Error> {
        let Adjoint { deficiency, unseen, method, multipliers, .. } =
            self.adjoint.take().ok_or(Error::Internal("a task has nothing to go on with"))?;
        let counted = self.equalities.as_ref().map_or(0, |equalities| equalities.rows.len() as u32);
        let tolerance = options.stationary_tolerance.unwrap_or(STATIONARY);
        let (rank, contradicting, is_held) = multipliers.map_or((0, 0, true), |multipliers| {
            (multipliers.pivots.len() as u32, multipliers.contradicting, multipliers.distance <= tolerance)
        });
        // What is held moves the solution as well: H has its rows, too.
        if self.free.contains(&false) {
            for table in &self.hessian.pattern().tables {
                let range = table.scalar as usize..(table.scalar + table.count * table.width) as usize;
                let held = |k: usize| if self.free[k] { 0.0 } else { self.cotangent[k] - self.across[k] };
                self.tables.insert(table.table, range.map(held).collect());
            }
        }
        let (values, terms, tables) = collect(problem, self.columns, self.tables);
        let [gradient_norm, distance] = self.first.unwrap_or_default();
        Ok(Gradients {
            gradient_norm,
            distance: if distance == 0.0 { 0.0 } else { distance / self.size },
            stationary: distance <= tolerance * (self.size + tolerance) && is_held && contradicting == 0,
            refinements: self.refinements,
            deficiency,
            unseen,
            equalities: counted,
            redundant: counted - rank - contradicting,
            violation: self.equalities.as_ref().map_or(0.0, |equalities| equalities.violation),
            unknowns: self.free.iter().filter(|free| **free).count() as u32,
            method,
            terms,
            tables,
            values,
        })
    }
}

/// A value that a program stored in the column of a code, with its sign.
fn signed(values: &[f64], code: u32, count: u32, place: u32) -> f64 {
    let value = values[(((code & !NEGATIVE) - 1) * count + place) as usize];
    if code & NEGATIVE == 0 { value } else { -value }
}
