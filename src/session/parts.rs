//! A problem as ranks have it: the parts of this rank, and those of ranks that follow it in the same process.
//!
//! Followers are told of an edit once it has succeeded here. All ranks check alike, so it succeeds there, too.

use super::followers::{Followers, Following, Iterating, Present};
use super::ranked_checkpoints::nothing_to_save;
use leastwise_base::container::Section;
use leastwise_collective::Communicator;
use leastwise_device::Device;
use leastwise_error::Error;
use leastwise_problem::{Column, Loss, Reals, Registry, Shape, Slot, TermSpec, Weight};
use leastwise_program::Objective;
use leastwise_ranks::{RankedParts, RankedSolve, Restored, in_f64};
use leastwise_solve::Options;
use std::sync::Arc;

/// This rank's parts of a problem, and the ranks that follow it.
pub struct Parts {
    own: RankedParts,
    /// The last solve, and the number of its solver.
    ended: Option<(u32, RankedSolve)>,
    followers: Option<Following>,
}

impl Parts {
    /// A problem without tables and terms.
    pub(super) fn new(communicator: Arc<dyn Communicator>, followers: Option<&mut Followers>) -> Self {
        Self { own: RankedParts::new(communicator), ended: None, followers: followers.map(Followers::begin) }
    }

    /// The parts of this rank.
    pub fn own(&mut self) -> &mut RankedParts {
        &mut self.own
    }

    /// [`RankedParts::may_declare`].
    pub fn may_declare(&self) -> Result<(), Error> {
        self.own.may_declare()
    }

    /// [`RankedParts::table`].
    pub fn table(
        &mut self,
        on: (&Device, &mut Registry),
        name: &str,
        shapes: Vec<Shape>,
        values: Reals,
        moving: bool,
    ) -> Result<u32, Error> {
        let table = self.own.table(on, name, shapes.clone(), values, moving)?;
        if let Some(followers) = &self.followers {
            let (name, values) = (name.to_string(), in_f64(values));
            followers.tell(move |of, device, registry| {
                of.parts.table((device, registry), &name, shapes.clone(), Reals::F64(&values), moving)?;
                of.moving.extend(moving.then_some(table));
                Ok(())
            });
        }
        Ok(table)
    }

    /// [`RankedParts::term`].
    pub fn term(&mut self, spec: &TermSpec) -> Result<u32, Error> {
        let term = self.own.term(spec)?;
        if let Some(followers) = &self.followers {
            let spec = OwnedTerm::of(spec);
            followers.tell(move |of, _, _| of.parts.term(&spec.spec()).map(drop));
        }
        Ok(term)
    }

    /// [`RankedParts::fix`].
    pub fn fix(&mut self, on: (&Device, &mut Registry), table: u32, at: Option<&[u32]>, components: Option<&[u32]>) -> Result<(), Error> {
        self.own.fix(on, table, at, components)?;
        if let Some(followers) = &self.followers {
            let [at, components] = [at, components].map(|numbers| numbers.map(<[u32]>::to_vec));
            followers.tell(move |of, device, registry| of.parts.fix((device, registry), table, at.as_deref(), components.as_deref()));
        }
        Ok(())
    }

    /// [`RankedParts::unfix`].
    pub fn unfix(&mut self, on: (&Device, &mut Registry), table: u32, at: Option<&[u32]>) -> Result<(), Error> {
        self.own.unfix(on, table, at)?;
        if let Some(followers) = &self.followers {
            let at = at.map(<[u32]>::to_vec);
            followers.tell(move |of, device, registry| of.parts.unfix((device, registry), table, at.as_deref()));
        }
        Ok(())
    }

    /// [`RankedParts::lacks_pins`].
    pub fn lacks_pins(&self) -> bool {
        self.own.lacks_pins()
    }

    /// [`RankedParts::bound`].
    pub fn bound(&mut self, on: (&Device, &mut Registry), table: u32, lower: Option<Reals>, upper: Option<Reals>) -> Result<(), Error> {
        self.own.bound(on, table, lower, upper)?;
        if let Some(followers) = &self.followers {
            let limits = [lower, upper].map(|limits| limits.map(in_f64));
            followers.tell(move |of, device, registry| {
                let [lower, upper] = limits.each_ref().map(|limits| limits.as_deref().map(Reals::F64));
                of.parts.bound((device, registry), table, lower, upper)
            });
        }
        Ok(())
    }

    /// [`RankedParts::write`].
    pub fn write(&mut self, on: (&Device, &mut Registry), table: u32, values: Reals, at: Option<&[u32]>) -> Result<(), Error> {
        self.own.write(on, table, values, at)?;
        if let Some(followers) = &self.followers {
            let (values, at) = (in_f64(values), at.map(<[u32]>::to_vec));
            followers.tell(move |of, device, registry| of.parts.write((device, registry), table, Reals::F64(&values), at.as_deref()));
        }
        Ok(())
    }

    /// [`RankedParts::set_column`].
    pub fn set_column(&mut self, device: &Device, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        self.own.set_column(device, term, column, values)?;
        if let Some(followers) = &self.followers {
            let values = in_f64(values);
            followers.tell(move |of, device, _| of.parts.set_column(device, term, column, Reals::F64(&values)));
        }
        Ok(())
    }

    /// [`RankedParts::set_weight`].
    pub fn set_weight(&mut self, term: u32, weight: Weight) -> Result<(), Error> {
        self.own.set_weight(term, weight)?;
        if let Some(followers) = &self.followers {
            let weight = OwnedWeight::of(weight);
            followers.tell(move |of, _, _| of.parts.set_weight(term, weight.weight()));
        }
        Ok(())
    }

    /// [`RankedParts::set_loss`].
    pub fn set_loss(&mut self, term: u32, loss: &Loss) -> Result<(), Error> {
        self.own.set_loss(term, loss)?;
        if let Some(followers) = &self.followers {
            let loss = loss.clone();
            followers.tell(move |of, _, _| of.parts.set_loss(term, &loss));
        }
        Ok(())
    }

    /// Has followers make the iteration of a solve that this rank is about to make; `again` if it begins after the last one of its solver.
    pub(super) fn go_on(&self, options: &Options, restored: Option<&Arc<Restored>>, again: bool) -> Option<Iterating> {
        self.followers.as_ref().map(|followers| followers.go_on(self.own.communicator(), options, restored, again))
    }

    /// Keeps a solve that has come to its end, as followers do.
    pub(super) fn keep_solve(&mut self, solver: u32, solve: RankedSolve) {
        self.ended = Some((solver, solve));
    }

    /// Takes the last solve, with the number of its solver, for a solve that is about to begin.
    pub(super) fn take_last(&mut self) -> Option<(u32, RankedSolve)> {
        self.ended.take()
    }

    /// Has this be the last solve again, which the beginning left, as followers do.
    pub(super) fn keep_last(&mut self, last: Option<(u32, RankedSolve)>) {
        self.ended = last;
    }

    /// True if the last solve was this solver's, and is kept.
    pub(super) fn has_ended(&self, solver: u32) -> bool {
        self.ended.as_ref().is_some_and(|(owner, _)| *owner == solver)
    }

    /// Frees the last solve, if there is one, of this solver or of any.
    pub(super) fn forget_solve(&mut self, device: &mut Device, solver: Option<u32>) {
        if let Some((_, solve)) = self.ended.take_if(|(owner, _)| solver.is_none_or(|solver| *owner == solver)) {
            solve.free(device);
            self.followers.iter().for_each(Following::forget_solve);
        }
    }

    /// Sections of a checkpoint of a solve in its midst, or of the last one, which was the solver's; `told` is given the solve.
    pub(super) fn save(
        &mut self,
        device: &mut Device,
        (solver, running): (u32, Option<&RankedSolve>),
        told: impl FnOnce(&RankedSolve),
    ) -> Result<Vec<Section<'static>>, Error> {
        let ended = self.ended.as_ref().filter(|(owner, _)| *owner == solver).map(|(_, solve)| solve);
        let solve = running.or(ended).ok_or_else(nothing_to_save)?;
        told(solve);
        let elsewhere = self.followers.as_ref().map(|followers| followers.save(self.own.communicator(), running.is_some()));
        self.own.save(device, solve, running.is_some()).map_err(|error| match elsewhere {
            Some(elsewhere) => elsewhere.reason(error),
            None => error,
        })
    }

    /// [`RankedParts::restore_values`].
    pub(super) fn restore_values(&mut self, values: &[f64]) -> Result<u64, Error> {
        let unedited = self.own.restore_values(values)?;
        if let Some(followers) = &self.followers {
            let values = values.to_vec();
            followers.tell(move |of, _, _| of.parts.restore_values(&values).map(drop));
        }
        Ok(unedited)
    }

    /// Has followers end a solve between two iterations. They read all tables that move, as this rank is to do now.
    pub fn leave_solve(&self) {
        self.followers.iter().for_each(Following::leave_solve);
    }

    /// Rows that followers have of tables that move, and their values as of the last accepted step.
    pub(super) fn present_elsewhere(&self) -> Vec<Present> {
        self.followers.iter().flat_map(Following::present).collect()
    }

    /// Frees what ranks of this process have on devices.
    pub fn dispose(&mut self, device: &mut Device) {
        self.forget_solve(device, None);
        self.followers.iter().for_each(Following::dispose);
        self.own.dispose(device);
    }
}

/// A weight whose numbers followers share.
enum OwnedWeight {
    Shared(f64),
    Each(Vec<f64>),
}

impl OwnedWeight {
    fn of(weight: Weight) -> Self {
        match weight {
            Weight::Shared(weight) => Self::Shared(weight),
            Weight::Each(weights) => Self::Each(in_f64(weights)),
        }
    }

    fn weight(&self) -> Weight<'_> {
        match self {
            Self::Shared(weight) => Weight::Shared(*weight),
            Self::Each(weights) => Weight::Each(Reals::F64(weights)),
        }
    }
}

/// A data column whose numbers followers share.
struct OwnedColumn {
    name: String,
    width: u32,
    shared: bool,
    values: Vec<f64>,
}

/// A term whose data followers share.
struct OwnedTerm {
    name: String,
    count: u32,
    indices: Vec<Vec<u32>>,
    slots: Vec<Slot>,
    columns: Vec<OwnedColumn>,
    weight: OwnedWeight,
    loss: Option<Loss>,
    objective: Objective,
    tape: Vec<u32>,
    outputs: Vec<u32>,
}

impl OwnedTerm {
    fn of(spec: &TermSpec) -> Self {
        let column = |column: &Column| OwnedColumn {
            name: column.name.clone(),
            width: column.width,
            shared: column.shared,
            values: in_f64(column.values),
        };
        Self {
            name: spec.name.clone(),
            count: spec.count,
            indices: spec.indices.clone(),
            slots: spec.slots.clone(),
            columns: spec.columns.iter().map(column).collect(),
            weight: OwnedWeight::of(spec.weight),
            loss: spec.loss.clone(),
            objective: spec.objective,
            tape: spec.tape.to_vec(),
            outputs: spec.outputs.to_vec(),
        }
    }

    fn spec(&self) -> TermSpec<'_> {
        fn column(of: &OwnedColumn) -> Column<'_> {
            Column { name: of.name.clone(), width: of.width, shared: of.shared, values: Reals::F64(&of.values) }
        }
        TermSpec {
            name: self.name.clone(),
            count: self.count,
            indices: self.indices.clone(),
            slots: self.slots.clone(),
            columns: self.columns.iter().map(column).collect(),
            weight: self.weight.weight(),
            loss: self.loss.clone(),
            objective: self.objective,
            tape: &self.tape,
            outputs: &self.outputs,
        }
    }
}
