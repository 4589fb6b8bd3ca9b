//! What a caller says of a term. Nothing of it is believed.

use super::{Loss, Reals, Table};
use leastwise_base::parallel;
use leastwise_error::Error;
use leastwise_expr::tape;
use leastwise_program::Objective;

/// How a term reaches a table: through a column of its index table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The problem's number of the table.
    pub table: u32,
    /// Index column of the term.
    pub column: u32,
}

/// A data column: `width` scalars an instance, or shared by all.
#[derive(Clone)]
pub struct Column<'a> {
    /// Name of the column, for edits and messages.
    pub name: String,
    /// Scalars of an instance, 1 to 1024.
    pub width: u32,
    /// True if all instances have the same `width` scalars.
    pub shared: bool,
    /// Values: `width`, or instances × `width`, row-major.
    pub values: Reals<'a>,
}

/// w in ½ w ρ(‖r‖²).
#[derive(Clone, Copy)]
pub enum Weight<'a> {
    /// One weight for all instances.
    Shared(f64),
    /// One weight an instance.
    Each(Reals<'a>),
}

/// A term: instances of one residual or energy.
#[derive(Clone)]
pub struct TermSpec<'a> {
    /// Name of the term.
    pub name: String,
    /// Number of instances.
    pub count: u32,
    /// Index columns: each has the row of a table for every instance.
    pub indices: Vec<Vec<u32>>,
    /// Slots of the residual's variables and constants.
    pub slots: Vec<Slot>,
    /// Data columns.
    pub columns: Vec<Column<'a>>,
    /// Weight of the instances; not negative.
    pub weight: Weight<'a>,
    /// ρ in ½ w ρ(‖r‖²); none where it is ‖r‖² itself.
    pub loss: Option<Loss>,
    /// Meaning of the outputs: a residual or an energy.
    pub objective: Objective,
    /// Tape of the traced function ([`leastwise_expr::tape`]).
    pub tape: &'a [u32],
    /// Numbers of the tape's values that are the function's outputs.
    pub outputs: &'a [u32],
}

/// The residual of rows of one length.
pub struct Trace<'a> {
    /// Number of entries of the rows.
    pub length: u32,
    /// Tape of the function traced for such a row.
    pub tape: &'a [u32],
    /// Numbers of the tape's values that are the function's outputs.
    pub outputs: &'a [u32],
}

/// A slot with a row of entries an instance.
pub struct RaggedSlot {
    /// The problem's number of the table.
    pub table: u32,
    /// Row after row.
    pub indices: Vec<u32>,
}

/// A data column with a value an entry.
pub struct EntryColumn<'a> {
    /// Name of the column, for edits and messages.
    pub name: String,
    /// One value an entry, row after row.
    pub values: Reals<'a>,
}

/// A term of which some slots have a row of entries an instance. Sources are numbered: plain slots, plain columns, then
/// entry by entry the ragged slots and the entry columns.
pub struct RaggedSpec<'a> {
    /// All but its tape.
    pub plain: TermSpec<'a>,
    /// Where each instance's row begins, and the end of the last.
    pub offsets: Vec<u32>,
    /// Slots with a row of entries, beside those of `plain`.
    pub slots: Vec<RaggedSlot>,
    /// Data columns with a value an entry, beside those of `plain`.
    pub columns: Vec<EntryColumn<'a>>,
    /// One trace for every length of row that occurs.
    pub traces: Vec<Trace<'a>>,
}

/// A term that sums over rows of any length. Its tape is read as that of rows with one entry, which its sums make
/// all of them: plain slots, plain columns, then the entry's slots and columns.
pub struct SummedSpec<'a> {
    /// Slots, columns, weight and tape; count is the number of rows.
    pub plain: TermSpec<'a>,
    /// First entry of each instance's row, and the end of the last.
    pub offsets: Vec<u32>,
    /// Slots of an entry.
    pub slots: Vec<RaggedSlot>,
    /// Data columns with a value an entry.
    pub columns: Vec<EntryColumn<'a>>,
}

impl TermSpec<'_> {
    pub(super) fn validate(&self, tables: &[Table]) -> Result<(), Error> {
        self.validate_with(tables, &[])
    }

    /// The same for a term that reaches further tables by its rows' entries.
    pub(super) fn validate_with(&self, tables: &[Table], ragged: &[RaggedSlot]) -> Result<(), Error> {
        let shape = |message: String| Error::Shape { name: self.name.clone(), message };
        if self.count == 0 {
            return Err(Error::EmptyTerm(self.name.clone()));
        }
        if let Some(column) = self.indices.iter().find(|column| column.len() != self.count as usize) {
            return Err(Error::DataLength {
                term: Some(self.name.clone()),
                what: format!("term \"{}\": an index column", self.name),
                got: column.len(),
                expected: self.count.to_string(),
            });
        }
        let mut reached = self.slots.iter().map(|slot| slot.table).chain(ragged.iter().map(|slot| slot.table));
        if !reached.any(|table| tables.get(table as usize).is_some_and(|table| table.moving)) {
            return Err(shape("no slot is a variable, so there is nothing to solve for".into()));
        }
        if self.objective == Objective::Energy && self.loss.is_some() {
            return Err(shape("an energy has no loss, which is a function of ‖r‖²: make it a part of the energy".into()));
        }
        self.check_indices(tables)?;
        match self.columns.iter().find(|column| column.width == 0 || column.width > 1024) {
            Some(column) => Err(shape(format!("data column \"{}\" has a width of {}", column.name, column.width))),
            None => Ok(()),
        }
    }

    /// Numbers of the tape are within the device's range.
    pub(super) fn check_literals(&self, largest: f64) -> Result<(), Error> {
        tape::check_literals(self.tape, largest).map_err(|error| Error::Tape { term: self.name.clone(), error })
    }

    /// Every index leads to an instance of its slot's table.
    pub(super) fn check_indices(&self, tables: &[Table]) -> Result<(), Error> {
        let shape = |message: String| Error::Shape { name: self.name.clone(), message };
        for (number, slot) in self.slots.iter().enumerate() {
            let table = tables.get(slot.table as usize).ok_or(Error::Internal("a handle names no variable"))?;
            let column = self
                .indices
                .get(slot.column as usize)
                .ok_or_else(|| shape(format!("slot {number} uses index column {}, which is not there", slot.column)))?;
            if let Some(instance) = parallel::position(column, |index| *index >= table.count) {
                return Err(Error::IndexOutOfRange {
                    term: self.name.clone(),
                    slot: number as u32,
                    instance: instance as u32,
                    index: column[instance],
                    table: table.name.clone(),
                    count: table.count,
                });
            }
        }
        Ok(())
    }

    /// The first slot that reaches the same instances of the same table.
    pub(super) fn first_alike(&self, slot: usize) -> usize {
        self.slots.iter().position(|other| *other == self.slots[slot]).unwrap_or(slot)
    }
}
