//! Terms while they come, are edited and go: columns of data, weights, losses, and which take part.

use super::term::Values;
use super::{Loss, Place, Problem, RaggedSpec, Reals, Recipient, Registry, SummedSpec, Term, TermSpec, Weight, batch};
use leastwise_device::Device;
use leastwise_error::Error;

impl Problem {
    /// Adds a term whose instances all have the same slots; returns its number.
    ///
    /// # Errors
    /// [`Error`] for wrong shapes, indices out of their table, values that are not finite on the device, and a tape that is none.
    pub fn add_term(&mut self, device: &Device, registry: &mut Registry, spec: TermSpec) -> Result<u32, Error> {
        spec.validate(&self.tables)?;
        let largest = device.precision().largest();
        spec.check_literals(largest)?;
        let (reading, literals) = registry.read(&spec, &self.tables)?;
        let term = Term::new(spec, reading, &literals, largest)?;
        self.add(device, registry, term)
    }

    /// A term of which some slots have a row of entries an instance.
    pub fn add_ragged(&mut self, device: &Device, registry: &mut Registry, spec: RaggedSpec) -> Result<u32, Error> {
        spec.validate(&self.tables)?;
        let largest = device.precision().largest();
        spec.check_literals(largest)?;
        let term = Term::ragged(registry, spec, &self.tables, largest)?;
        self.add(device, registry, term)
    }

    /// A term that sums over rows of any length.
    pub fn add_summed(&mut self, device: &Device, registry: &mut Registry, spec: SummedSpec) -> Result<u32, Error> {
        let largest = device.precision().largest();
        spec.plain.check_literals(largest)?;
        let term = Term::summed(spec, &self.tables, largest)?;
        let number = self.add(device, registry, term)?;
        // A sum without a place is refused at once.
        self.lay_out_sums(device).inspect_err(|_| self.terms.truncate(number as usize)).map(|()| number)
    }

    fn add(&mut self, device: &Device, registry: &mut Registry, term: Term) -> Result<u32, Error> {
        batch::fits(device, registry, &term)?;
        self.terms.push(Some(term));
        self.structure += 1;
        self.stale = true;
        Ok(self.terms.len() as u32 - 1)
    }

    /// Replaces the values of a data column; their number stays.
    ///
    /// # Errors
    /// [`Error::Disposed`] for a term that was removed, [`Error::DataLength`] and [`Error::NonFinite`] for values that do not fit.
    pub fn set_column(&mut self, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        let recipient = Recipient::Column { term, column };
        let column = self.term(term)?.constraint.as_ref().map_or(column, |constraint| constraint.column_of(column));
        self.replace_column(term, column, values)?;
        if self.lending.is_active() {
            self.withdraw(recipient);
        }
        Ok(())
    }

    pub(super) fn replace_column(&mut self, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        for (part, scalar, values) in self.term(term)?.replaced_column(column, values)? {
            self.replace(term, part, Some(scalar), values)?;
        }
        for (scalar, values) in self.term(term)?.replaced_of_entries(column, values)? {
            self.replace_of_entries(term, scalar, values);
        }
        self.revision += 1;
        Ok(())
    }

    /// Replaces a term's weight w; one number stays one, an array stays an array.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a negative weight or one of the other kind, [`Error::DataLength`] for another number of weights.
    pub fn set_weight(&mut self, term: u32, weight: Weight) -> Result<(), Error> {
        let owner = self.term_mut(term)?;
        if owner.constraint.is_some() {
            let weight = owner.weight_values(weight)?;
            owner.constraint.iter_mut().for_each(|constraint| constraint.weight = weight.clone());
            return self.weigh_constraint(term);
        }
        self.replace_weight(term, weight)
    }

    pub(super) fn replace_weight(&mut self, term: u32, weight: Weight) -> Result<(), Error> {
        for (part, values) in self.term(term)?.replaced_weight(weight)?.into_iter().enumerate() {
            self.replace(term, part, None, values)?;
        }
        if self.lending.is_active() {
            self.withdraw(Recipient::Weight(term));
        }
        self.revision += 1;
        Ok(())
    }

    /// Has every instance of a term weigh by itself; its batches are made anew.
    pub fn spread_weight(&mut self, device: &mut Device, term: u32) -> Result<(), Error> {
        self.share_weight(device, term, None)
    }

    /// Has all instances of a term share a weight again.
    pub fn gather_weight(&mut self, device: &mut Device, term: u32, value: f64) -> Result<(), Error> {
        self.share_weight(device, term, Some(value))
    }

    fn share_weight(&mut self, device: &mut Device, term: u32, value: Option<f64>) -> Result<(), Error> {
        let entry = self.term_mut(term)?;
        entry.share_weight(value);
        let gone: Vec<u32> = entry.parts.iter().filter_map(|part| part.place).map(|place| place.batch).collect();
        self.revision += 1;
        self.free_batches(device, &gone);
        Ok(())
    }

    /// Replaces the parameters of a term's loss: one of another kind would be another kernel.
    pub fn set_loss(&mut self, term: u32, loss: &Loss) -> Result<(), Error> {
        for (part, scalar, value) in self.term(term)?.replaced_loss(loss)? {
            self.replace(term, part, Some(scalar), Values::Shared(value))?;
        }
        self.term_mut(term)?.loss = Some(loss.clone());
        self.revision += 1;
        Ok(())
    }

    /// Replaces a scalar of data, or the weight, of a part.
    pub(super) fn replace(&mut self, term: u32, part: usize, scalar: Option<usize>, values: Values) -> Result<(), Error> {
        let entry = self.terms.get_mut(term as usize).and_then(Option::as_mut).ok_or(Error::Disposed("term"))?;
        let part = &mut entry.parts[part];
        if let Some(place) = part.place
            && let Some(batch) = self.batches.get(place.batch as usize)
        {
            match scalar {
                Some(scalar) => batch.upload(scalar, place.first, part.count, &values, &mut self.uploads),
                None => batch.upload_weight(place.first, part.count, &values, &mut self.uploads),
            }
        }
        match scalar {
            Some(scalar) => part.contents.data[scalar] = values,
            None => part.contents.weight = values,
        }
        Ok(())
    }

    /// Replaces a scalar of data of a term's entries.
    pub(super) fn replace_of_entries(&mut self, term: u32, scalar: usize, values: Values) {
        let Some(Some(Term { parts, entries: Some(entries), .. })) = self.terms.get_mut(term as usize) else { return };
        let batch = parts[0].place.and_then(|place| self.batches.get(place.batch as usize));
        if let Some(sums) = batch.and_then(|batch| batch.sums.as_ref()) {
            sums.upload(entries, scalar, &values, &mut self.uploads);
        }
        entries.contents.data[scalar] = values;
    }

    /// Includes a term in the cost, or excludes it. Its kernels and data are kept.
    pub fn set_enabled(&mut self, term: u32, enabled: bool) -> Result<(), Error> {
        let entry = self.term_mut(term)?;
        if entry.enabled == enabled {
            return Ok(());
        }
        entry.enabled = enabled;
        let places: Vec<Option<Place>> = entry.parts.iter().map(|part| part.place).collect();
        self.revision += 1;
        self.selection += 1;
        let alone = |place: &Option<Place>| place.is_some_and(|place| self.batches[place.batch as usize].members.len() == 1);
        if !self.stale && places.iter().all(alone) {
            places.into_iter().flatten().for_each(|place| self.batches[place.batch as usize].enabled = enabled);
        } else {
            self.structure += 1;
            self.stale = true;
        }
        Ok(())
    }

    /// Takes the term out and destroys its batches at once; those that shared them get new ones before the next solve.
    pub fn remove_term(&mut self, device: &mut Device, term: u32) -> Result<(), Error> {
        let entry = self.terms.get_mut(term as usize).ok_or(Error::Disposed("term"))?;
        let Some(removed) = entry.take() else { return Ok(()) };
        self.revision += 1;
        if self.lending.is_active() {
            self.withdraw_term(term);
        }
        let gone: Vec<u32> = removed.parts.iter().filter_map(|part| part.place).map(|place| place.batch).collect();
        self.free_batches(device, &gone);
        Ok(())
    }

    /// Destroys batches, whose terms get new ones before the next solve.
    pub(super) fn free_batches(&mut self, device: &mut Device, gone: &[u32]) {
        self.structure += 1;
        self.stale = true;
        if gone.is_empty() {
            return;
        }
        let batches = std::mem::take(&mut self.batches);
        for (number, batch) in (0..).zip(batches) {
            if gone.contains(&number) {
                batch.free(device, &mut self.uploads);
            } else {
                self.batches.push(batch);
            }
        }
        self.note_places();
    }
}
