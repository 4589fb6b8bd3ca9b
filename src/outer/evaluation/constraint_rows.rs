//! Evaluation of constraints: the rows c, and A = ∂c/∂x, of all that may hold with equality, on a snapshot whose constraints are
//! [λᵀc](Problem::as_lagrangian).
//!
//! An inequality may hold with equality where its multiplier is above 0. [`Equalities::settled`] leaves those out that only touch.

use super::evaluate_term::input_places;
use super::{TermEvaluation, Wanted};
use crate::Turn;
use leastwise_device::{Device, Precision};
use leastwise_error::Error;
use leastwise_problem::{Part, Problem, Registry, Relation, Term};
use leastwise_solve::covariance::{Equalities, EqualityRow};

/// A row of which no more than this part is its own depends on others, by the precision of x.
const DEPENDENT: [f64; 2] = [1e-7, 1e-4];
/// A part of what a component of the gradient is made of that rounding may be, by the precision of x and λ.
const ROUNDING: [f64; 2] = [1e-12, 1e-6];
/// s of inequalities that may hold with equality: kc + s is to be above 0, and to have the digits of kc. Where c is far below 0, s grows
/// by the factor until it is; where kc and its slopes are smaller by the factor than s is, s becomes so many times them.
const SHIFT: f64 = 64.0;
const FURTHER: f64 = 65_536.0;

/// Constraints being evaluated, term by term.
pub struct RowEvaluation {
    next: u32,
    current: Option<Shown>,
    found: Equalities,
}

/// A constraint that is shown with some shifts.
struct Shown {
    number: u32,
    shifts: Vec<f64>,
    /// True once shifts were made as small as rows are.
    is_close: bool,
    evaluation: TermEvaluation,
}

impl RowEvaluation {
    /// Of a snapshot of a problem that was solved in this precision.
    pub fn new(precision: Precision) -> Self {
        let single = usize::from(precision == Precision::F32);
        let found = Equalities { tolerance: DEPENDENT[single], rounding: ROUNDING[single], ..Equalities::default() };
        Self { next: 0, current: None, found }
    }

    /// The rows, of a snapshot that is laid out.
    pub fn resume(
        &mut self,
        device: &mut Device,
        registry: &mut Registry,
        snapshot: &mut Problem,
        deadline: f64,
    ) -> Result<Turn<Equalities>, Error> {
        loop {
            let Some(Shown { number, evaluation, .. }) = &mut self.current else {
                let next = snapshot.enabled_constraints().find(|(number, ..)| *number >= self.next);
                let Some((number, _, constraint)) = next else { return Ok(Turn::Over(std::mem::take(&mut self.found))) };
                let is_open = |multiplier: &f64| constraint.relation != Relation::Zero && *multiplier > 0.0;
                let shifts: Vec<f64> =
                    constraint.multipliers().iter().map(|multiplier| if is_open(multiplier) { SHIFT } else { 0.0 }).collect();
                self.show(device, registry, snapshot, (number, shifts, false))?;
                continue;
            };
            let number = *number;
            let values = match evaluation.resume(device, snapshot, deadline)?.outcome() {
                Ok(values) => values,
                Err(turn) => return Ok(turn),
            };
            let Some(Shown { mut shifts, is_close, evaluation, .. }) = self.current.take() else { continue };
            evaluation.free(device);
            let is_hidden = farther(snapshot.term(number)?, &mut shifts, &values)?;
            if is_hidden || !is_close && closer(&mut shifts, &values) {
                self.show(device, registry, snapshot, (number, shifts, is_close || !is_hidden))?;
                continue;
            }
            self.take(snapshot, number, &shifts, &values)?;
            let own = snapshot.term(number)?.constraint.as_ref().map(|constraint| constraint.shifts.clone());
            snapshot.show_rows(number, &own.unwrap_or_default())?;
            self.next = number + 1;
        }
    }

    /// Begins to evaluate a constraint with these shifts.
    fn show(
        &mut self,
        device: &mut Device,
        registry: &mut Registry,
        snapshot: &mut Problem,
        (number, shifts, is_close): (u32, Vec<f64>, bool),
    ) -> Result<(), Error> {
        snapshot.show_rows(number, &shifts)?;
        let evaluation = TermEvaluation::new(device, registry, snapshot, number, Wanted::Values(None))?;
        self.current = Some(Shown { number, shifts, is_close, evaluation });
        Ok(())
    }

    /// Frees what it has on the device.
    pub fn free(&mut self, device: &mut Device) {
        self.current.take().into_iter().for_each(|shown| shown.evaluation.free(device));
    }

    /// Takes the rows of a constraint, of which r and then J are given.
    fn take(&mut self, snapshot: &Problem, number: u32, shifts: &[f64], values: &[f64]) -> Result<(), Error> {
        let term = snapshot.term(number)?;
        let constraint = term.constraint.as_ref().ok_or(Error::Internal("a term is not a constraint"))?;
        let (rows, columns) = term.shape(snapshot.tables());
        let (rows, columns) = (rows as usize, columns as usize);
        let (residuals, jacobian) = values.split_at(constraint.shifts.len());
        let multipliers = constraint.multipliers();
        let firsts = first_unknowns(snapshot);
        for (of, part) in (0..).zip(&term.parts) {
            let batch = part.place.and_then(|place| snapshot.batches().get(place.batch as usize));
            let batch = batch.ok_or(Error::Internal("a term is in no batch"))?;
            let inputs = inputs(term, part, &batch.programs.inputs, snapshot, &firsts);
            for local in 0..part.count {
                let instance = term.instance(of, local) as usize;
                for row in 0..batch.programs.rows as usize {
                    let place = instance * rows + row;
                    let weight = constraint.weight_of(place);
                    if weight <= 0.0 {
                        continue;
                    }
                    let scale = constraint.scales[place];
                    let value = (residuals[place] - shifts[place]) / scale;
                    let slopes = jacobian.get(place * columns..).and_then(|rest| rest.get(..columns)).unwrap_or_default();
                    if let Some(wrong) = [&[value], slopes].concat().into_iter().find(|value| !value.is_finite()) {
                        return Err(not_finite(term, instance, row, wrong.to_string()));
                    }
                    let (multiplier, is_inequality) = (multipliers[place], constraint.relation != Relation::Zero);
                    if !is_inequality || multiplier <= 0.0 {
                        self.found.violation = self.found.violation.max(value.abs());
                    }
                    if is_inequality && multiplier <= 0.0 {
                        continue;
                    }
                    let mut entries: Vec<(u32, f64)> = inputs
                        .iter()
                        .map(|input| (input.unknown(local), slopes[input.column] / scale))
                        .filter(|entry| entry.1 != 0.0)
                        .collect();
                    entries.sort_by_key(|entry| entry.0);
                    entries.dedup_by(|later, first| {
                        later.0 == first.0 && {
                            first.1 += later.1;
                            true
                        }
                    });
                    self.found.rows.push(EqualityRow {
                        term: number,
                        place: place as u32,
                        entries,
                        value,
                        scale,
                        stiffness: weight * scale * scale,
                        multiplier,
                        is_inequality,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Raises the shifts of rows r that are not above 0; false if there are none.
///
/// # Errors
/// [`Error::NonFinite`] for a row that no shift brings there: its c is no number.
fn farther(term: &Term, shifts: &mut [f64], values: &[f64]) -> Result<bool, Error> {
    let mut is_hidden = false;
    for (place, (shift, _)) in shifts.iter_mut().zip(values).enumerate().filter(|(_, (shift, r))| **shift > 0.0 && **r <= 0.0) {
        (*shift, is_hidden) = (*shift * FURTHER, true);
        if !shift.is_finite() {
            let constraint = term.constraint.as_ref().ok_or(Error::Internal("a term is not a constraint"))?;
            let rows = constraint.rows as usize;
            let value = if constraint.relation == Relation::AtLeastZero { "inf" } else { "-inf" };
            return Err(not_finite(term, place / rows, place % rows, value.into()));
        }
    }
    Ok(is_hidden)
}

/// Lowers the shifts of rows r that are next to nothing beside them, with J; false if there are none.
fn closer(shifts: &mut [f64], values: &[f64]) -> bool {
    let (residuals, jacobian) = values.split_at(shifts.len());
    let columns = jacobian.len() / shifts.len().max(1);
    let mut is_far = false;
    for (place, (shift, r)) in shifts.iter_mut().zip(residuals).enumerate().filter(|(_, (shift, _))| **shift > 0.0) {
        let slope = jacobian[place * columns..][..columns].iter().fold(0.0, |most: f64, slope| most.max(slope.abs()));
        let size = slope.max((r - *shift).abs());
        if size > 0.0 && size * FURTHER < *shift {
            (*shift, is_far) = (SHIFT * size, true);
        }
    }
    is_far
}

fn not_finite(term: &Term, instance: usize, row: usize, value: String) -> Error {
    Error::NonFinite {
        term: Some(term.name.clone()),
        instance: Some(instance as u32),
        what: format!("term \"{}\": a constraint or its derivative, of instance {instance},", term.name),
        position: row,
        value,
    }
}

/// A degree of freedom of a slot, for all instances of a part.
struct Input<'a> {
    /// Column of the term's J.
    column: usize,
    instances: &'a [u32],
    first: u32,
    tangent: u32,
}

impl Input<'_> {
    fn unknown(&self, local: u32) -> u32 {
        self.first + self.instances[local as usize] * self.tangent
    }
}

/// The first unknown of every table, counted over all that move without gaps.
fn first_unknowns(problem: &Problem) -> Vec<u32> {
    let mut next = 0;
    let first = |(moving, unknowns): (bool, u32)| {
        next += if moving { unknowns } else { 0 };
        next - if moving { unknowns } else { 0 }
    };
    problem.tables().iter().map(|table| (table.moving, table.unknowns())).map(first).collect()
}

fn inputs<'a>(term: &Term, part: &'a Part, inputs: &[(u32, u32)], problem: &Problem, firsts: &[u32]) -> Vec<Input<'a>> {
    let places = input_places(part, inputs, &term.column_starts(problem.tables()));
    let mut all: Vec<Input> = Vec::new();
    for (place, &(slot, component)) in places.into_iter().zip(inputs) {
        let Some(column) = place.filter(|column| all.iter().all(|known| known.column != *column)) else { continue };
        let table = part.tables[slot as usize];
        let instances = &part.contents.indices[part.reading.structure.slots[slot as usize].column as usize];
        let tangent = problem.tables()[table as usize].tangent;
        all.push(Input { column, instances, first: firsts[table as usize] + component, tangent });
    }
    all
}
