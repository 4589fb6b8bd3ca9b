//! Laying out: every table its place in the arenas, every part of a term its place in a batch.

use super::arena::{Arena, Lengths};
use super::draft::{Draft, Origin};
use super::{Batch, Entries, Place, Problem, Registry, SumPlace, Term, batch};
use leastwise_base::clock::now_ms;
use leastwise_base::memory;
use leastwise_device::{Command, Device, Kind, Reals, Slice};
use leastwise_error::Error;
use std::collections::HashMap;
use std::sync::Arc;

/// Batches that are being made, while the structure stays.
pub(super) struct Laying {
    structure: u64,
    /// Place of the batch with this first part.
    order: HashMap<(u32, u32), usize>,
    /// Parts of the batches that are not there yet, the next one last; and its draft.
    missing: Vec<Vec<(u32, u32)>>,
    draft: Option<Draft>,
}

impl Problem {
    /// Makes the arenas, or makes them longer, and the batches; afterwards every table and term has its place.
    pub fn lay_out(&mut self, device: &mut Device, registry: &mut Registry) -> Result<(), Error> {
        self.lay_out_until(device, registry, f64::INFINITY).map(|_| ())
    }

    /// Makes the arenas alone, or makes them longer: enough to read values.
    pub fn lay_out_values(&mut self, device: &mut Device) -> Result<(), Error> {
        self.drop_refused(device);
        self.lay_out_sums(device)?;
        self.lay_out_tables(device)
    }

    /// Makes arenas and batches until a deadline, in units of few instances; true when all is done. A batch is there when it is whole.
    pub fn lay_out_until(&mut self, device: &mut Device, registry: &mut Registry, deadline_ms: f64) -> Result<bool, Error> {
        self.lay_out_values(device)?;
        self.lay_out_bounds(device)?;
        self.lay_out_trials(device, registry)?;
        #[cfg(not(target_arch = "wasm32"))]
        self.lay_out_shares(device, registry)?;
        self.lay_out_terms(device, registry, deadline_ms)
    }

    /// Instances of all terms.
    pub fn instances(&self) -> u64 {
        let parts = self.terms.iter().flatten().flat_map(|term| &term.parts);
        parts.map(|part| u64::from(part.count)).sum()
    }

    /// Instances that have no place in a batch yet.
    pub fn unplaced(&self) -> u64 {
        let parts = self.terms.iter().flatten().flat_map(|term| &term.parts);
        parts.filter(|part| part.place.is_none()).map(|part| u64::from(part.count)).sum()
    }

    /// Gives the sums of terms their places, behind all tables.
    pub(super) fn lay_out_sums(&mut self, device: &Device) -> Result<(), Error> {
        let start = Lengths { arena: self.arena_len, vector: self.vector_len, blocks: self.blocks_len };
        let (mut total, limits) = (start, device.limits());
        let most = limits.binding_bytes.min(limits.buffer_bytes) / device.precision().bytes();
        for Term { name, entries, .. } in self.terms.iter_mut().flatten() {
            let Some(Entries { sums, slopes, .. }) = entries.as_deref_mut() else { continue };
            let placed = total.place(sums, limits).and_then(|()| total.place(slopes, limits));
            placed.filter(|()| u64::from(total.largest()) <= most).ok_or_else(|| {
                let limit = limits.binding_bytes;
                Error::Limits(format!(
                    "term \"{name}\": its sums over rows and all variables together exceed one buffer binding ({limit} bytes)"
                ))
            })?;
        }
        if self.arena.is_some_and(|arena| arena.shared && arena.len < total.arena) {
            let message =
                "x.buffer of this problem is in use, so its layout can't change: make every term with sumOver() before asking for a buffer";
            return Err(Error::InvalidOption(message.into()));
        }
        // Batches know where the sums are.
        self.stale |= self.total != total && total != start;
        self.total = total;
        Ok(())
    }

    /// Has all batches made anew, when they are next needed.
    pub fn forget_batches(&mut self, device: &mut Device) {
        let batches = std::mem::take(&mut self.batches);
        batches.iter().for_each(|batch| batch.free(device, &mut self.uploads));
        self.note_places();
        self.stale = true;
        self.structure += 1;
    }

    /// Groups the parts of terms into batches; a batch of the same parts as before stays. What is not made until the deadline is left to
    /// the next call: true when all is done.
    pub(super) fn lay_out_terms(&mut self, device: &mut Device, registry: &mut Registry, deadline_ms: f64) -> Result<bool, Error> {
        if !self.stale {
            return Ok(true);
        }
        let mut laying = match self.laying.take() {
            Some(laying) if laying.structure == self.structure => laying,
            _ => self.regroup(device),
        };
        // Something is done whatever the time.
        let mut is_late = false;
        while let Some(group) = laying.missing.last() {
            if is_late {
                self.laying = Some(laying);
                return Ok(false);
            }
            let origin = Origin { tables: &self.tables, terms: &self.terms, revision: self.revision, lending: &self.lending };
            let draft = match laying.draft.take() {
                Some(draft) => Ok(draft),
                None => Draft::new(device, registry, &origin, group),
            };
            let made = draft.and_then(|mut draft| {
                let made = draft.resume(device, registry, &origin, deadline_ms)?;
                self.largest_unit = self.largest_unit.max(draft.largest);
                laying.draft = made.is_none().then_some(draft);
                Ok(made)
            });
            match made {
                Ok(Some((batch, mut uploads))) => {
                    laying.missing.pop();
                    self.uploads.append(&mut uploads);
                    self.batches.push(batch);
                    self.note_batch(self.batches.len() - 1);
                    if self.lending.is_active() {
                        self.copy_lent(self.batches.len() - 1, None);
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    self.sort_batches(&laying.order);
                    return Err(error);
                }
            }
            is_late = now_ms() > deadline_ms;
        }
        self.sort_batches(&laying.order);
        self.stale = false;
        Ok(true)
    }

    /// Batches that there are to be; those that are not any more are destroyed.
    fn regroup(&mut self, device: &mut Device) -> Box<Laying> {
        let mut groups: Vec<Vec<(u32, u32)>> = Vec::new();
        let mut known: HashMap<(usize, &[u32], bool), usize> = HashMap::new();
        for (number, term) in (0..).zip(&self.terms).filter_map(|(number, term)| Some((number, term.as_ref()?))) {
            for (part, of) in (0..).zip(&term.parts) {
                let key = (Arc::as_ptr(&of.reading.structure) as usize, &of.tables[..], term.enabled);
                let merged = of.count <= batch::MAX_MERGED;
                match known.get(&key).filter(|_| merged) {
                    Some(&group) => groups[group].push((number, part)),
                    None => {
                        groups.push(vec![(number, part)]);
                        if merged {
                            known.insert(key, groups.len() - 1);
                        }
                    }
                }
            }
        }
        let parts = |batch: &Batch| batch.members.iter().map(|member| (member.term, member.part)).collect::<Vec<_>>();
        let places = |term: u32| {
            let entries = self.terms.get(term as usize)?.as_ref()?.entries.as_ref()?;
            Some((SumPlace::of(&entries.sums), SumPlace::of(&entries.slopes)))
        };
        let moved =
            |batch: &mut Batch| batch.sums.as_ref().is_some_and(|sums| places(batch.members[0].term) != Some((sums.sums, sums.slopes)));
        let moved: Vec<Batch> = self.batches.extract_if(.., moved).collect();
        let mut old: HashMap<Vec<(u32, u32)>, Batch> = self.batches.drain(..).map(|batch| (parts(&batch), batch)).collect();
        let order = (0..).zip(&groups).map(|(place, group)| (group[0], place)).collect();
        let mut missing = Vec::new();
        for group in groups {
            match old.remove(&group) {
                Some(batch) => self.batches.push(batch),
                None => missing.push(group),
            }
        }
        missing.reverse();
        let mut replaced: Vec<Batch> = old.into_values().chain(moved).collect();
        replaced.sort_by_key(|batch| (batch.members[0].term, batch.members[0].part));
        replaced.iter().for_each(|batch| batch.free(device, &mut self.uploads));
        self.note_places();
        Box::new(Laying { structure: self.structure, order, missing, draft: None })
    }

    /// Puts batches in the order of their groups.
    fn sort_batches(&mut self, order: &HashMap<(u32, u32), usize>) {
        self.batches.sort_by_key(|batch| order.get(&(batch.members[0].term, batch.members[0].part)));
        self.note_places();
    }

    /// Tells every part where its instances are now.
    pub(super) fn note_places(&mut self) {
        self.terms.iter_mut().flatten().flat_map(|term| &mut term.parts).for_each(|part| part.place = None);
        (0..self.batches.len()).for_each(|number| self.note_batch(number));
    }

    fn note_batch(&mut self, number: usize) {
        let batch = &mut self.batches[number];
        for member in &batch.members {
            let Some(Some(term)) = self.terms.get_mut(member.term as usize) else { continue };
            batch.enabled = term.enabled;
            term.parts[member.part as usize].place = Some(Place { batch: number as u32, first: member.first });
        }
    }

    pub(super) fn lay_out_tables(&mut self, device: &mut Device) -> Result<(), Error> {
        if self.tables.is_empty() {
            return Err(Error::EmptyProblem("variables"));
        }
        let old = self.arena;
        let arena = match old {
            Some(arena) if arena.len >= self.total.arena => arena,
            _ => {
                let point = device.allocate(Kind::Real, self.total.arena, "variables")?;
                let trial = match device.allocate(Kind::Real, self.total.arena, "trial point") {
                    Ok(trial) => trial,
                    Err(error) => {
                        device.free(point);
                        return Err(error.into());
                    }
                };
                Arena { point, trial, len: self.total.arena, shared: false }
            }
        };
        if let Some(old) = old.filter(|old| old.point != arena.point) {
            // What was already uploaded moves over on the device, before the old buffers go.
            for (from, to) in [(old.point, arena.point), (old.trial, arena.trial)] {
                let slice = |buffer| Slice { buffer, offset: 0, len: old.len };
                self.uploads.push(Command::Copy { from: slice(from), to: slice(to) });
            }
            let mut play = device.start(leastwise_device::Recording { commands: std::mem::take(&mut self.uploads) });
            device.resume(&mut play, f64::INFINITY)?;
            device.free(old.point);
            device.free(old.trial);
        }
        self.arena = Some(arena);
        for table in &mut self.tables {
            let Some(data) = table.initial.take() else { continue };
            let copied = || memory::copy(&data, &table.name);
            let exact = !table.moving && device.reals() == Reals::Single && device.has_doubles().is_ok();
            let known = device.is_queue();
            let copies = exact.then(copied).transpose().and_then(|exact| Ok((exact, known.then(copied).transpose()?, copied()?)));
            let (exact, known, of_trial) = match copies {
                Ok(copies) => copies,
                Err(error) => {
                    // They are still to be uploaded when there is memory for it.
                    table.initial = Some(data);
                    return Err(error.into());
                }
            };
            (table.exact, table.known) = (exact, known);
            self.uploads.push(Command::UploadReals { buffer: arena.trial, offset: table.arena, data: of_trial });
            self.uploads.push(Command::UploadReals { buffer: arena.point, offset: table.arena, data });
        }
        Ok(())
    }
}
