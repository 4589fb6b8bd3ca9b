//! Terms as they cross from TypeScript: two arrays and two strings, because a hundred thousand small ones must not take
//! a second.

use leastwise_error::Error;
use leastwise_kernel::Objective;
use leastwise_problem::{Column, EntryColumn, Loss, RaggedSlot, RaggedSpec, Reals, Relation, Slot, SummedSpec, TermSpec, Trace, Weight};

/// What `ts/src/crossing.ts` packs.
pub struct Packed<'a> {
    pub name: &'a str,
    /// The names of the columns, those of entries last, with a NUL after each.
    pub columns: &'a str,
    pub words: &'a [u32],
    pub reals: &'a [f64],
}

pub enum Unpacked<'a> {
    Plain(TermSpec<'a>),
    Constraint(TermSpec<'a>, Relation),
    Ragged(RaggedSpec<'a>),
    Summed(SummedSpec<'a>),
}

struct Cursor<'a, T> {
    rest: &'a [T],
}

impl<'a, T: Copy> Cursor<'a, T> {
    fn take(&mut self, count: u32) -> Result<&'a [T], Error> {
        let taken = self.rest.split_at_checked(count as usize);
        let (taken, rest) = taken.ok_or_else(|| Error::InvalidOption("a term crossed incompletely".into()))?;
        self.rest = rest;
        Ok(taken)
    }

    fn next(&mut self) -> Result<T, Error> {
        Ok(self.take(1)?[0])
    }
}

impl<'a> Packed<'a> {
    pub fn read(&self) -> Result<Unpacked<'a>, Error> {
        let mut words = Cursor { rest: self.words };
        let mut reals = Cursor { rest: self.reals };
        let mut names = self.columns.split('\0');
        let mut name = || names.next().unwrap_or_default().to_string();
        let &[count, indices, slots, columns, weights, ragged_slots, entry_columns, traces, summed, loss, loss_reals, kind] =
            words.take(12)?
        else {
            return Err(Error::InvalidOption("a term crossed without its header".into()));
        };
        let (loss, loss_reals) = (words.take(loss)?, reals.take(loss_reals)?);
        let loss = if loss.is_empty() { None } else { Some(Loss::unpack(loss, loss_reals)?) };
        let slots: Vec<Slot> = words.take(2 * slots)?.chunks(2).map(|pair| Slot { table: pair[0], column: pair[1] }).collect();
        // One more than there are, or 0 for one that all share.
        let weight = match weights.checked_sub(1) {
            None => Weight::Shared(reals.next()?),
            Some(each) => Weight::Each(Reals::F64(reals.take(each)?)),
        };
        let mut given = Vec::new();
        for _ in 0..columns {
            let &[width, shared] = words.take(2)? else { continue };
            // As many as there are: a wrong length is the term's to refuse.
            let length = words.next()?;
            given.push(Column { name: name(), width, shared: shared != 0, values: Reals::F64(reals.take(length)?) });
        }
        let mut ragged = Vec::new();
        for _ in 0..ragged_slots {
            ragged.push((words.next()?, words.next()?));
        }
        let mut entries = Vec::new();
        for _ in 0..entry_columns {
            let length = words.next()?;
            entries.push(EntryColumn { name: name(), values: Reals::F64(reals.take(length)?) });
        }
        let mut columns = Vec::with_capacity(slots.len());
        for _ in 0..indices {
            columns.push(words.take(count)?.to_vec());
        }
        let offsets = if ragged.is_empty() { &[] } else { words.take(count.saturating_add(1))? };
        let mut rows = Vec::new();
        for (table, length) in ragged {
            rows.push(RaggedSlot { table, indices: words.take(length)?.to_vec() });
        }
        let mut all = Vec::new();
        for _ in 0..traces {
            let &[length, tape, outputs] = words.take(3)? else { continue };
            all.push(Trace { length, tape: words.take(tape)?, outputs: words.take(outputs)? });
        }
        let (tape, outputs) = all.first().map_or((&[][..], &[][..]), |trace| (trace.tape, trace.outputs));
        let objective = if kind == 1 { Objective::Energy } else { Objective::LeastSquares };
        let relation = match kind {
            0 | 1 => None,
            2 => Some(Relation::Zero),
            3 => Some(Relation::AtMostZero),
            _ => Some(Relation::AtLeastZero),
        };
        let name = self.name.to_string();
        let plain = TermSpec { name, count, indices: columns, slots, columns: given, weight, loss, objective, tape, outputs };
        if let Some(relation) = relation {
            if rows.is_empty() {
                return Ok(Unpacked::Constraint(plain, relation));
            }
            let message = "a constraint takes no rows of entries: give it one instance for each length, with plain slots";
            return Err(Error::InvalidOption(format!("term \"{}\": {message}", plain.name)));
        }
        if rows.is_empty() {
            return Ok(Unpacked::Plain(plain));
        }
        let (offsets, slots) = (offsets.to_vec(), rows);
        if summed != 0 {
            return Ok(Unpacked::Summed(SummedSpec { plain, offsets, slots, columns: entries }));
        }
        Ok(Unpacked::Ragged(RaggedSpec { plain, offsets, slots, columns: entries, traces: all }))
    }
}
