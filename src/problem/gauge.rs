//! Gauge freedom: unknowns without residuals, and rigid translations of tables that leave every residual unchanged. JᵀWJ is
//! singular there; damping keeps the steps finite, and such unknowns where they are.
//!
//! Both are properties of the residuals alone, not of the values that they are at: a translation is free where the entries of
//! J that belong to one component of a table add up to 0 in every row of every residual, symbol by symbol, or else where the
//! residual's values stay the same when the component moves by the same in all slots ([`probe`](super::probe)). Other
//! freedoms, such as turns, are not looked for.

use super::probe::Probe;
use super::{Batch, Problem, Table, distinct};
use leastwise_program::Entry;
use serde::Serialize;
use std::cell::OnceCell;

/// Unknowns that no residual holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase", tag = "kind")]
pub enum Freedom {
    /// So many instances of a variable, of which this is the first, are in no residual that takes part.
    Untouched {
        /// Name of the table.
        variable: String,
        /// Number of its instances in no enabled residual.
        instances: u32,
        /// The first of them.
        first: u32,
    },
    /// All instances together can be moved along these components.
    Translation {
        /// Name of the table.
        variable: String,
        /// Degrees of freedom of an instance along which all instances may be moved together.
        components: Vec<u32>,
    },
}

/// Components of tables that were found to move freely, or not, for the terms that are enabled.
#[derive(Default)]
pub(super) struct Unmoved {
    of: (u64, u64),
    /// Table, component, and whether it moves.
    known: Vec<(u32, u32, bool)>,
}

impl Problem {
    /// What no enabled term, and no pin, holds. Only after [`lay_out`](Self::lay_out).
    pub fn freedoms(&self) -> Vec<Freedom> {
        let (mut freedoms, mut probes) = (Vec::new(), Vec::new());
        for (number, table) in (0..).zip(&self.tables).filter(|(_, table)| table.moving) {
            let touched = self.touched(number, table);
            let is_loose = |instance: &u32| {
                let first = instance * table.tangent;
                !touched[*instance as usize] && (first..first + table.tangent).any(|unknown| table.is_free(unknown))
            };
            let loose: Vec<u32> = (0..table.count).filter(is_loose).collect();
            if let Some(&first) = loose.first() {
                freedoms.push(Freedom::Untouched { variable: table.name.clone(), instances: loose.len() as u32, first });
            }
            if loose.len() as u32 == table.count || table.manifold.is_some() || table.is_bounded() {
                continue;
            }
            let is_free = |component: &u32| (0..table.count).all(|instance| table.is_free(instance * table.tangent + component));
            let moves = |component: &u32| is_free(component) && self.moves(number, *component, &mut probes);
            let components: Vec<u32> = (0..table.tangent).filter(moves).collect();
            if !components.is_empty() {
                freedoms.push(Freedom::Translation { variable: table.name.clone(), components });
            }
        }
        freedoms
    }

    /// True where no enabled residual changes if a component of all instances of a table moves by the same: found out once for the terms
    /// that are enabled, for every report.
    fn moves(&self, number: u32, component: u32, probes: &mut Vec<OnceCell<Option<Probe>>>) -> bool {
        let of = (self.structure, self.selection);
        let mut unmoved = self.unmoved.borrow_mut();
        if unmoved.of != of {
            *unmoved = Unmoved { of, known: Vec::new() };
        }
        if let Some((.., moves)) = unmoved.known.iter().find(|known| (known.0, known.1) == (number, component)) {
            return *moves;
        }
        probes.resize_with(self.enabled_batches().count(), OnceCell::new);
        let moves = self.enabled_batches().zip(probes).all(|(batch, probe)| self.is_unmoved_by(batch, probe, number, component));
        unmoved.known.push((number, component, moves));
        moves
    }

    /// Which instances of a table are in a residual.
    fn touched(&self, number: u32, table: &Table) -> Vec<bool> {
        let mut touched = vec![false; table.count as usize];
        for term in self.terms().filter(|term| term.enabled) {
            let parts = term.parts.iter().map(|part| (&part.reading.structure, &part.tables, &part.contents));
            let entries = term.entries.iter().map(|entries| (&entries.reading.structure, &entries.tables, &entries.contents));
            for (structure, tables, contents) in parts.chain(entries) {
                let columns = structure.slots.iter().zip(tables).filter(|(_, table)| **table == number).map(|(slot, _)| slot.column);
                for column in distinct(columns) {
                    contents.indices[column as usize].iter().for_each(|&index| touched[index as usize] = true);
                }
            }
        }
        touched
    }

    /// Whether every residual of a batch stays the same where a component of all instances of a table moves by the same.
    pub fn is_unmoved(&self, batch: &Batch, number: u32, component: u32) -> bool {
        self.is_unmoved_by(batch, &OnceCell::new(), number, component)
    }

    /// The same with a probe that is made when it is needed first.
    fn is_unmoved_by(&self, batch: &Batch, probe: &OnceCell<Option<Probe>>, number: u32, component: u32) -> bool {
        let Some(Some(term)) = batch.members.first().map(|member| &self.terms[member.term as usize]) else { return false };
        let tables = &term.parts[batch.members[0].part as usize].tables;
        let of_entries = term.entries.as_ref().map_or(&[][..], |entries| &entries.tables);
        if batch.sums.is_some() && (of_entries.contains(&number) || tables.contains(&number)) {
            return false;
        }
        is_unmoved_by_symbols(batch, tables, number, component)
            || (probe.get_or_init(|| Probe::new(&self.terms, batch)).as_ref())
                .is_some_and(|probe| probe.is_unmoved(|slot| tables[slot as usize] == number, component))
    }
}

/// True where the entries of J of a component of a table add up to 0 in every row, symbol by symbol.
fn is_unmoved_by_symbols(batch: &Batch, tables: &[u32], number: u32, component: u32) -> bool {
    let (inputs, entries) = (&batch.programs.inputs, &batch.programs.entries);
    let mine = |&(slot, of): &(u32, u32)| tables[slot as usize] == number && of == component;
    let places: Vec<usize> = (0..inputs.len()).filter(|&place| mine(&inputs[place])).collect();
    entries.chunks(inputs.len().max(1)).all(|row| {
        let (mut constant, mut symbols) = (0.0, Vec::<((bool, u32), i32)>::new());
        for entry in places.iter().map(|&place| row[place]) {
            let (symbol, negative) = match entry {
                Entry::Constant(value) => {
                    constant += value;
                    continue;
                }
                Entry::Stored { column, negative } => ((true, column), negative),
                Entry::Data { column, negative } => ((false, column), negative),
            };
            let time = if negative { -1 } else { 1 };
            match symbols.iter_mut().find(|known| known.0 == symbol) {
                Some((_, times)) => *times += time,
                None => symbols.push((symbol, time)),
            }
        }
        constant == 0.0 && symbols.iter().all(|(_, times)| *times == 0)
    })
}
