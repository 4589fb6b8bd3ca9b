//! Data, weights and values that lie on the device already: they are copied from buffer to buffer, and the host need not know them.
//!
//! Elements of a column stay with their lender for as long as the column has them: a batch that is made anew is filled from there.

use super::batch::{Batch, frame};
use super::term::{Per, Values};
use super::{Problem, Term};
use leastwise_device::{Command, Device, Recording, Slice};
use leastwise_error::Error;

/// Recipient of elements: a table, or a column or the weight of a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recipient {
    /// The values of a table.
    Table(u32),
    /// A data column of a term, by the caller's number.
    Column {
        /// Number of the term.
        term: u32,
        /// Number of the column.
        column: u32,
    },
    /// The weight of a term.
    Weight(u32),
}

/// Order in which a recipient takes elements, which come row by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// As they come.
    Rows,
    /// Those of `count` instances component by component: the transpose of [count, width].
    Components {
        /// Number of instances.
        count: u32,
        /// Components of an instance.
        width: u32,
    },
    /// Every element so many times.
    Repeated(u32),
    /// By their numbers; the number after the last one stands for 0.
    Picked(Vec<u32>),
}

/// Elements that a recipient takes, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Name of the table or term, for messages.
    pub name: String,
    /// The part of it.
    pub part: String,
    /// Instances (or entries), unless all share the elements; and components of each.
    pub shape: (Option<u32>, u32),
    /// Order in which they are taken.
    pub order: Order,
}

impl Request {
    /// Number of elements.
    pub fn len(&self) -> u32 {
        self.shape.0.unwrap_or(1) * self.shape.1
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Elements that a column or a weight was lent.
pub(super) struct Lent {
    /// Number of the term.
    term: u32,
    /// Number of the column as the term has it; none for the weight.
    column: Option<u32>,
    /// Elements, in the order that was asked for.
    slice: Slice,
    /// True once the host knows them.
    is_known: bool,
    /// The lender's number.
    lender: u32,
}

/// Loans of a problem: those on their way, those that it has, and those that it is done with.
#[derive(Default)]
pub(super) struct Lending {
    lent: Vec<Lent>,
    /// Recipients whose elements are being computed, with the number of their lender. Where that failed, they await it until they are given
    /// something else.
    awaited: Vec<(Recipient, u32)>,
    /// Lenders that are not needed any more; and those that are not once uploads were played.
    returned: Vec<u32>,
    written: Vec<u32>,
}

impl Lending {
    /// True if elements are on loan or on their way.
    pub fn is_active(&self) -> bool {
        !self.lent.is_empty() || !self.awaited.is_empty()
    }

    /// True if a scalar of data (or the weight) of a term is copied on the device.
    pub fn has(&self, term: &Term, (number, part): (u32, u32), scalar: Option<usize>) -> bool {
        let column = scalar.map(|scalar| term.component_of(part as usize, scalar).map(|(column, _)| column));
        self.lent.iter().any(|lent| {
            lent.term == number
                && match column {
                    None => lent.column.is_none(),
                    Some(column) => column.is_some() && lent.column == column,
                }
        })
    }
}

impl Problem {
    /// Elements that a recipient takes.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for what only the host can give, [`Error::Disposed`] for a term that was removed.
    pub fn borrows(&self, recipient: Recipient) -> Result<Request, Error> {
        if let Recipient::Table(table) = recipient {
            let table = self.table(table)?;
            if table.manifold.is_some() {
                return Err(Error::InvalidOption(format!(
                    "\"{}\" lies on a manifold, which the host brings values onto: read() the tensor, and write that",
                    table.name
                )));
            }
            let shape = (Some(table.count), table.width);
            return Ok(Request { name: table.name.clone(), part: "values".into(), shape, order: Order::Rows });
        }
        let (term, column) = self.column_of(recipient)?;
        let of = self.term(term)?;
        let part = match column {
            Some(column) => match of.columns.get(column as usize) {
                Some(column) => format!("data column \"{}\"", column.name),
                None => return Err(Error::InvalidOption(format!("term \"{}\" has no data column {column}", of.name))),
            },
            None => "weight".into(),
        };
        let what = format!("term \"{}\": {part}", of.name);
        if of.entries.is_some() {
            return Err(Error::InvalidOption(format!("{what}: a term that sums over rows (sumOver) takes arrays, not tensors")));
        }
        if column.is_none() && of.constraint.is_some() {
            return Err(Error::InvalidOption(format!(
                "{what}: that of a constraint scales its penalty, on the host: give numbers, not a tensor"
            )));
        }
        let (width, per) = match column {
            Some(column) => (of.columns[column as usize].width, of.columns[column as usize].per),
            None => (1, if of.weight_shared { Per::Term } else { Per::Instance }),
        };
        let count = match per {
            Per::Term => None,
            Per::Instance => Some(of.count),
            Per::Entry => Some(of.entry_count()),
        };
        let order = match (&of.parts[..], per) {
            ([part], Per::Term) if part.instances.is_none() => Order::Repeated(part.count),
            ([part], Per::Instance) if part.instances.is_none() => match width {
                1 => Order::Rows,
                _ => Order::Components { count: of.count, width },
            },
            _ => {
                let zero = count.unwrap_or(1) * width;
                let picked = runs(of, column).into_iter().flat_map(|run| {
                    let places = (0..of.parts[run.part].count).map(move |place| of.instance(run.part as u32, place));
                    places.map(move |instance| match run.scalar {
                        Some(scalar) => of.position(run.part, scalar, instance).map_or(zero, |(_, place)| place as u32),
                        None if per == Per::Term => 0,
                        None => instance,
                    })
                });
                Order::Picked(picked.collect())
            }
        };
        Ok(Request { name: of.name.clone(), part, shape: (count, width), order })
    }

    /// Notes that a recipient is to get elements of this lender.
    pub fn await_lender(&mut self, recipient: Recipient, lender: u32) {
        self.revision += 1;
        self.lending.awaited.retain(|(known, _)| *known != recipient);
        self.lending.awaited.push((recipient, lender));
    }

    /// True if the recipient awaits this lender: nothing else was given to it since.
    pub fn awaits(&self, recipient: Recipient, lender: u32) -> bool {
        self.lending.awaited.contains(&(recipient, lender))
    }

    /// Ends that: the recipient has it.
    pub fn end_await(&mut self, recipient: Recipient, lender: u32) {
        self.lending.awaited.retain(|known| *known != (recipient, lender));
    }

    /// Gives a recipient elements that lie on its device, in the order that was asked for. A table copies them; a column has the lender
    /// keep them until it is [returned](Self::take_returned).
    pub fn lend(&mut self, device: &mut Device, recipient: Recipient, slice: Slice, lender: u32) -> Result<(), Error> {
        self.revision += 1;
        if let Recipient::Table(table) = recipient {
            self.lay_out_values(device)?;
            let (point, trial) = self.arenas()?;
            let table = &mut self.tables[table as usize];
            table.is_combined = true;
            let part = |arena: Slice| Slice { buffer: arena.buffer, offset: table.arena, len: table.elements() };
            self.uploads.push(Command::Copy { from: slice, to: part(point) });
            // Constants are read at the trial point too.
            if !table.moving {
                self.uploads.push(Command::Copy { from: slice, to: part(trial) });
            }
            self.lending.written.push(lender);
        } else {
            let (term, column) = self.column_of(recipient)?;
            self.unlend(term, column);
            self.lending.lent.push(Lent { term, column, slice, is_known: false, lender });
            for number in 0..self.batches.len() {
                self.copy_lent(number, Some((term, column)));
            }
        }
        Ok(())
    }

    /// Gives a recipient elements that the host has in the order that was asked for.
    pub fn settle(&mut self, recipient: Recipient, values: &[f64]) -> Result<(), Error> {
        if let Recipient::Table(table) = recipient {
            return self.store_table(table, vec![(0, values.to_vec())], true);
        }
        let (term, column) = self.column_of(recipient)?;
        self.unlend(term, column);
        self.revision += 1;
        for (run, scalar) in self.scalars(term, column, values)? {
            self.replace(term, run.part, run.scalar, scalar)?;
        }
        Ok(())
    }

    /// Lenders of elements that the host does not know, and how many elements each has.
    pub fn unknown_lenders(&self) -> Vec<(u32, u32)> {
        self.lending.lent.iter().filter(|lent| !lent.is_known).map(|lent| (lent.lender, lent.slice.len)).collect()
    }

    /// Tells the host elements of these lenders, one after the other. A column that was given something else meanwhile needs them no more.
    pub fn learn_lent(&mut self, lenders: &[(u32, u32)], values: &[f64]) -> Result<(), Error> {
        if lenders.iter().map(|(_, len)| *len as usize).sum::<usize>() != values.len() {
            return Err(Error::Internal("elements on loan are missing, or too many"));
        }
        let mut rest = values;
        for &(lender, len) in lenders {
            let (own, others) = rest.split_at(len as usize);
            rest = others;
            let is_its = |lent: &Lent| (lent.lender, lent.slice.len, lent.is_known) == (lender, len, false);
            let Some(number) = self.lending.lent.iter().position(is_its) else { continue };
            let Lent { term, column, .. } = self.lending.lent[number];
            for (run, values) in self.scalars(term, column, own)? {
                let contents = &mut self.term_mut(term)?.parts[run.part].contents;
                match run.scalar {
                    Some(scalar) => contents.data[scalar] = values,
                    None => contents.weight = values,
                }
            }
            self.lending.lent[number].is_known = true;
        }
        Ok(())
    }

    /// Lenders that are needed no more. Only while nothing plays what the problem had to upload.
    pub fn take_returned(&mut self) -> Vec<u32> {
        if self.uploads.is_empty() {
            self.lending.returned.append(&mut self.lending.written);
        }
        std::mem::take(&mut self.lending.returned)
    }

    /// Has the host's data in place of all that was lent.
    pub fn stop_lending(&mut self, device: &mut Device) {
        self.lending.awaited.clear();
        let lent: Vec<_> = self.lending.lent.iter().map(|lent| (lent.term, lent.column)).collect();
        lent.into_iter().for_each(|(term, column)| self.unlend(term, column));
        self.forget_batches(device);
    }

    /// All lenders, of a problem that is about to go.
    pub fn take_lenders(&mut self) -> Vec<u32> {
        let Lending { lent, returned, written, .. } = std::mem::take(&mut self.lending);
        lent.into_iter().map(|lent| lent.lender).chain(returned).chain(written).collect()
    }

    /// True if it has elements of lenders, or has not let go of them.
    #[inline(always)]
    pub fn is_lending(&self) -> bool {
        self.lending.is_active() || !self.lending.returned.is_empty() || !self.lending.written.is_empty()
    }

    /// True if a column or a weight has elements that the host does not know.
    #[inline(always)]
    pub fn has_unknown_data(&self) -> bool {
        self.lending.lent.iter().any(|lent| !lent.is_known)
    }

    /// Drops what a recipient was lent, or would be, since it was given something else.
    pub(super) fn withdraw(&mut self, recipient: Recipient) {
        self.lending.awaited.retain(|(known, _)| *known != recipient);
        if let (false, Ok((term, column))) = (matches!(recipient, Recipient::Table(_)), self.column_of(recipient)) {
            self.unlend(term, column);
        }
    }

    /// Refuses writes of parts of a table, and values that are made of it, while a tensor is on its way there: they would come too early.
    pub(super) fn must_not_await(&self, table: u32) -> Result<(), Error> {
        if self.lending.awaited.iter().any(|(known, _)| *known == Recipient::Table(table)) {
            return Err(Error::InvalidOption(format!(
                "\"{}\" is to get the values of a tensor, which is still being computed, or failed: read() it first, and then write some of them",
                self.table(table)?.name
            )));
        }
        Ok(())
    }

    /// Drops the loans of a term that is gone.
    pub(super) fn withdraw_term(&mut self, term: u32) {
        let is_its = |recipient: &Recipient| match *recipient {
            Recipient::Column { term: of, .. } | Recipient::Weight(of) => of == term,
            Recipient::Table(_) => false,
        };
        self.lending.awaited.retain(|(recipient, _)| !is_its(recipient));
        let columns: Vec<Option<u32>> = self.lending.lent.iter().filter(|lent| lent.term == term).map(|lent| lent.column).collect();
        columns.into_iter().for_each(|column| self.unlend(term, column));
    }

    fn unlend(&mut self, term: u32, column: Option<u32>) {
        let Some(place) = self.lending.lent.iter().position(|lent| (lent.term, lent.column) == (term, column)) else { return };
        let lent = self.lending.lent.remove(place);
        self.uploads.retain(|upload| !matches!(upload, Command::Copy { from, .. } if from.buffer == lent.slice.buffer));
        self.lending.returned.push(lent.lender);
    }

    /// Copies what the members of a batch were lent (all of it, or one column) into its chunks.
    pub(super) fn copy_lent(&mut self, batch: usize, only: Option<(u32, Option<u32>)>) {
        let Self { batches, terms, uploads, lending, .. } = self;
        let Batch { name, programs, signature, members, chunks, .. } = &batches[batch];
        let frame = frame(name, programs, signature);
        for member in members {
            let Some(Some(term)) = terms.get(member.term as usize) else { continue };
            let mine = |lent: &&Lent| lent.term == member.term && only.is_none_or(|only| only == (lent.term, lent.column));
            for lent in lending.lent.iter().filter(mine) {
                for run in runs(term, lent.column).into_iter().filter(|run| run.part == member.part as usize) {
                    let from = Slice { offset: run.first, len: member.count, ..lent.slice };
                    frame.copy(chunks.iter(), run.scalar, member.first, from, uploads);
                }
            }
        }
    }

    /// The term of a recipient, and the number of its column as the term has it.
    fn column_of(&self, recipient: Recipient) -> Result<(u32, Option<u32>), Error> {
        match recipient {
            Recipient::Table(_) => Err(Error::Internal("a table has no columns")),
            Recipient::Weight(term) => Ok((term, None)),
            Recipient::Column { term, column } => {
                let constraint = self.term(term)?.constraint.as_ref();
                Ok((term, Some(constraint.map_or(column, |constraint| constraint.column_of(column)))))
            }
        }
    }

    /// Scalars of a column or of the weight, of elements in the order that was asked for.
    fn scalars(&self, term: u32, column: Option<u32>, values: &[f64]) -> Result<Vec<(Run, Values)>, Error> {
        let of = self.term(term)?;
        let scalar = |run: Run| {
            let count = of.parts[run.part].count as usize;
            let own = values.get(run.first as usize..run.first as usize + count)?;
            let is_shared = match run.scalar {
                Some(scalar) => of.parts[run.part].contents.data[scalar].is_shared(),
                None => of.weight_shared,
            };
            Some((run, if is_shared { Values::Shared(own[0]) } else { Values::Each(own.to_vec()) }))
        };
        runs(of, column).into_iter().map(scalar).collect::<Option<_>>().ok_or(Error::Internal("a column has too few elements"))
    }

    /// Plays uploads now, but for what waits for a kernel, and what comes behind that.
    pub fn flush(&mut self, device: &mut Device) -> Result<(), Error> {
        let mut recording = Recording { commands: self.take_uploads() };
        if device.compile(&recording)?.is_some() {
            let is_upload = |command: &Command| !matches!(command, Command::Dispatch(_));
            let uploads = recording.commands.iter().take_while(|command| is_upload(command)).count();
            self.upload_later(recording.commands.split_off(uploads));
        }
        device.interject(recording)?;
        Ok(())
    }
}

/// The elements of a scalar of data (or the weight) of a part.
#[derive(Clone, Copy)]
struct Run {
    part: usize,
    /// Scalar of the part's structure; none for the weight.
    scalar: Option<usize>,
    /// First element.
    first: u32,
}

/// The runs of a column, or of the weight, among the elements that it is lent.
fn runs(term: &Term, column: Option<u32>) -> Vec<Run> {
    let is_one = matches!(&term.parts[..], [part] if part.instances.is_none());
    let is_entries = column.is_some_and(|column| term.columns[column as usize].per == Per::Entry);
    let mut next = 0;
    let mut all = Vec::new();
    for (number, part) in term.parts.iter().enumerate() {
        let mut run = |scalar: Option<usize>, component: u32| {
            // All components of a single part are there, used or not.
            let first = if is_one && !is_entries { component * part.count } else { next };
            next += part.count;
            all.push(Run { part: number, scalar, first });
        };
        match column {
            None => run(None, 0),
            Some(column) => (0..part.reading.data.len()).for_each(|scalar| {
                if let Some((known, component)) = term.component_of(number, scalar)
                    && known == column
                {
                    run(Some(scalar), component);
                }
            }),
        }
    }
    all
}
