//! Constraints of a [snapshot](Problem::snapshot): as λᵀc alone, row by row, or left out.
//!
//! ½ μw ‖kc + s‖² with s = λ/(μwk) is λᵀc + ½ μw ‖kc‖² but for a constant. With a μ next to 0 nothing but λᵀc is left of it, so that
//! derivatives of a snapshot's cost are those of the Lagrangian, in f64 to the last digits.

use super::Constraint;
use crate::{Problem, Reals};
use leastwise_error::Error;
use std::ops::Range;

/// μ of a snapshot: 2⁻¹⁰⁰, beside which no curvature of a cost is small.
const NEXT_TO_NOTHING: f64 = 1.0 / (1u128 << 100) as f64;

impl Constraint {
    /// Numbers of the columns that no caller sees.
    pub fn hidden(&self) -> Range<usize> {
        self.column as usize..self.column as usize + 2
    }

    /// w of the row in a place.
    pub fn weight_of(&self, place: usize) -> f64 {
        self.weight.at(place / self.rows as usize)
    }
}

impl Problem {
    /// Makes the terms of all constraints λᵀc, with the multipliers that they have.
    pub fn as_lagrangian(&mut self) -> Result<(), Error> {
        let all: Vec<(u32, Vec<f64>)> =
            self.enabled_constraints().map(|(number, _, constraint)| (number, constraint.multipliers())).collect();
        all.into_iter().try_for_each(|(number, multipliers)| self.set_lagrangian(number, &multipliers))
    }

    /// Makes the term of a constraint λᵀc, with these multipliers.
    pub fn set_lagrangian(&mut self, term: u32, multipliers: &[f64]) -> Result<(), Error> {
        let constraint = self.constraint(term)?;
        let shifts = multipliers.iter().enumerate().map(|(place, multiplier)| {
            let per_shift = NEXT_TO_NOTHING * constraint.weight_of(place) * constraint.scales[place];
            if *multiplier == 0.0 || per_shift == 0.0 { 0.0 } else { multiplier / per_shift }
        });
        let shifts = shifts.collect();
        let scales = constraint.scales.clone();
        self.set_rows(term, NEXT_TO_NOTHING, scales, shifts)
    }

    /// Sets μ, k and s of a snapshot's constraint.
    pub fn set_rows(&mut self, term: u32, penalty: f64, scales: Vec<f64>, shifts: Vec<f64>) -> Result<(), Error> {
        let column = self.constraint(term)?.column;
        // The snapshot's device has more than the problem's own.
        self.term_mut(term)?.largest = f64::MAX;
        self.replace_column(term, column, Reals::F64(&shifts))?;
        self.replace_column(term, column + 1, Reals::F64(&scales))?;
        let constraint = self.term_mut(term)?.constraint.as_mut().ok_or(Error::Internal("a term is not a constraint"))?;
        (constraint.penalty, constraint.scales, constraint.shifts) = (penalty, scales, shifts);
        self.weigh_constraint(term)
    }

    /// Has a constraint's rows be kc + s with other s, until `shifts` are those that it keeps again: only on the device, λ stays.
    pub fn show_rows(&mut self, term: u32, shifts: &[f64]) -> Result<(), Error> {
        let column = self.constraint(term)?.column;
        self.replace_column(term, column, Reals::F64(shifts))
    }

    /// Leaves constraints out of a snapshot that is not laid out, and lets no other unknowns move than these, counted over all
    /// tables without gaps.
    pub fn leave_out_constraints(&mut self, free: &[bool]) {
        for term in &mut self.terms {
            term.take_if(|term| term.constraint.is_some());
        }
        let mut rest = free;
        for table in self.tables.iter_mut().filter(|table| table.moving) {
            let (own, others) = rest.split_at(table.unknowns() as usize);
            table.bounds.bounds = None;
            table.bounds.free = own.contains(&false).then(|| own.to_vec());
            rest = others;
        }
    }

    fn constraint(&self, term: u32) -> Result<&Constraint, Error> {
        self.term(term)?.constraint.as_ref().ok_or(Error::Internal("a term is not a constraint"))
    }
}
