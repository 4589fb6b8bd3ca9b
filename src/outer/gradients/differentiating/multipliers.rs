//! Constraints in a gradient through a solve: their rows, steps of λ, and yᵀ∂c/∂θ.

use super::{Differentiating, Phase};
use crate::Turn;
use crate::evaluation::{Instances, RowEvaluation};
use leastwise_device::{Command, Device};
use leastwise_error::Error;
use leastwise_problem::{Member, Registry, Relation};
use leastwise_solve::adjoint::Multipliers;
use std::collections::BTreeMap;

/// s that brings no value of c above 0.
const HIDDEN: f64 = -1e300;
/// kc of a shown inequality, at least: above what is left of the digits of c.
const LEAST_LEVEL: f64 = 1e-9;

/// Scales and shifts that the rows of a constraint are shown with.
type Shown = (Vec<f64>, Vec<f64>);

impl Differentiating {
    /// Moves λ on along with x.
    pub(super) fn move_multipliers(&mut self, moved: Option<&Multipliers>) -> Result<(), Error> {
        let constraints = self.snapshot.enabled_constraints();
        self.multipliers = constraints.map(|(number, _, constraint)| (number, constraint.multipliers())).collect();
        let mut after = self.multipliers.clone();
        let (Some(equalities), Some(moved)) = (&self.equalities, moved) else { return Ok(()) };
        for (row, step) in equalities.rows.iter().zip(&moved.step) {
            after.iter_mut().filter(|(term, _)| *term == row.term).for_each(|(_, own)| own[row.place as usize] -= step);
        }
        after.into_iter().try_for_each(|(term, multipliers)| self.snapshot.set_lagrangian(term, &multipliers))
    }

    /// Hides inequalities that do not count: a μ next to nothing would show in their derivatives.
    pub(super) fn hide_inactive(&mut self) -> Result<(), Error> {
        let Some(equalities) = &self.equalities else { return Ok(()) };
        let inequalities = self.snapshot.enabled_constraints().filter(|(.., constraint)| constraint.relation != Relation::Zero);
        let mut all: BTreeMap<u32, (Vec<f64>, &[f64])> =
            inequalities.map(|(number, _, own)| (number, (vec![HIDDEN; own.shifts.len()], &own.shifts[..]))).collect();
        for row in &equalities.rows {
            all.entry(row.term).and_modify(|(shown, own)| shown[row.place as usize] = own[row.place as usize]);
        }
        let all: Vec<(u32, Vec<f64>)> = all.into_iter().map(|(number, (shown, _))| (number, shown)).collect();
        all.into_iter().try_for_each(|(number, shifts)| self.snapshot.show_rows(number, &shifts))
    }

    /// The evaluation of constraints, to be gone on with.
    pub fn evaluation(&self) -> RowEvaluation {
        RowEvaluation::new(self.precision)
    }

    /// Goes on evaluating constraints until the deadline, or until their rows are there.
    pub fn evaluate(
        &mut self,
        rows: &mut RowEvaluation,
        (device, registry): (&mut Device, &mut Registry),
        deadline: f64,
    ) -> Result<Turn<()>, Error> {
        match rows.resume(device, registry, &mut self.snapshot, deadline)?.outcome() {
            Ok(equalities) => self.equalities = Some(equalities),
            Err(turn) => return Ok(turn),
        }
        self.phase = Phase::Hessians;
        self.begin_hessians(device, registry)?;
        Ok(Turn::Over(()))
    }

    /// Begins a pass over constraints alone; false after the last.
    ///
    /// With μ = 1, scales k′, rows r, and u for z, an instance's mixed derivatives are wk′² (Au)ᵀ∂c/∂θ + wk′ rᵀ∂(Au)/∂θ. k′ is such that
    /// wk′²(Au) = y, so twice those with r less those with 2r are yᵀ∂c/∂θ. Inequalities that do not count are hidden, and other rows have
    /// k = 0.
    pub(super) fn begin_multipliers(&mut self, device: &mut Device) -> Result<bool, Error> {
        let pass = match self.phase {
            Phase::Multipliers(2) => return Ok(false),
            Phase::Multipliers(pass) => pass + 1,
            _ => 1,
        };
        let (Some(equalities), Some(multipliers)) = (&self.equalities, self.adjoint.as_ref().and_then(|found| found.multipliers.as_ref()))
        else {
            return Ok(false);
        };
        let constraints = self.snapshot.enabled_constraints();
        let mut all = BTreeMap::<u32, Shown>::new();
        for (number, _, constraint) in constraints {
            let none = vec![0.0; constraint.scales.len()];
            let shown = match constraint.relation {
                Relation::Zero => (none.clone(), none),
                Relation::AtMostZero | Relation::AtLeastZero => (constraint.scales.clone(), vec![HIDDEN; none.len()]),
            };
            all.insert(number, shown);
        }
        for (number, row) in equalities.rows.iter().enumerate() {
            let Some((scales, shifts)) = all.get_mut(&row.term) else { continue };
            let (place, scale) = (row.place as usize, row.scale * multipliers.rescaled[number]);
            // A row of an inequality is to be above 0, whatever rounding leaves of c.
            let least = if row.is_inequality { LEAST_LEVEL / row.scale } else { 0.0 };
            let level = multipliers.levels[number].max(least);
            if scale > 0.0 {
                (scales[place], shifts[place]) = (scale, scale * (f64::from(pass) * level - row.value));
            }
        }
        self.direction = Some(Command::UploadReals {
            buffer: self.work.step.buffer,
            offset: 0,
            data: self.hessian.pattern().spread(&multipliers.direction),
        });
        for (number, (scales, shifts)) in all {
            self.snapshot.set_rows(number, 1.0, scales, shifts)?;
        }
        self.phase = Phase::Multipliers(pass);
        for number in 0..self.snapshot.batches().len() {
            let batch = &self.snapshot.batches()[number];
            let is_constraint = |member: &Member| self.snapshot.term(member.term).is_ok_and(|term| term.constraint.is_some());
            if batch.members.iter().any(is_constraint) {
                let besides = [self.cross_derivatives[&number].program.scratch(device.cut())];
                let all = Instances { batch: number, member: 0, range: 0..batch.count() };
                self.blocks.cut(device, &self.snapshot, all, &besides, "mixed derivatives")?;
            }
        }
        Ok(true)
    }
}
