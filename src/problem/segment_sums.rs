//! Segment sums: terms with sums over rows of any length.
//!
//! The traced graph falls apart into what is summed, g(entry, row), and the residual r(row, S) with S = Σ g. Both get
//! programs of their own ([`SegmentSumPrograms`]); between them stand two tables that nobody but the term knows: the sums S,
//! and the slopes T = Σ ∂g/∂x with respect to the row's own slots x. In the arenas and in the vectors p, q and g they
//! lie beyond everything that is solved for, so that no product or norm over unknowns meets them.

use super::chunk::Frame;
use super::ragged::check_rows;
use super::registry::{Compiled, Datum, Reading};
use super::spec::SummedSpec;
use super::term::{Contents, Part, Per, Term, Values};
use super::{GUARDS, Loss, Reals, Table};
use leastwise_error::Error;
use leastwise_expr::tape::{self, TapeError};
use leastwise_expr::{Expr, Graph, Leaf, Manifold};
use leastwise_program::{
    Layout, LossKind, Objective, ResidualPrograms, RowSlots, SegmentSumPrograms, Signature, SlotKind, Structure, Through,
};
use std::cell::RefCell;
use std::sync::Arc;

/// The numbers of a term's own tables among those of its slots.
const SUMS: u32 = u32::MAX - 1;
const SLOPES: u32 = u32::MAX;

/// What is summed over the rows of a term.
pub struct Entries {
    /// Number of entries of all rows.
    pub count: u32,
    /// For every entry, its row; and where the rows begin, the end of the last besides.
    pub rows: Arc<Vec<u32>>,
    offsets: Vec<u32>,
    /// Slots that have a row of entries.
    pub ragged: u32,
    /// Structure of what is summed.
    pub reading: Arc<Reading>,
    /// For every slot of the entry's structure, its table; but for the last two, which are the row's parts of vectors.
    pub tables: Vec<u32>,
    /// Index columns and data of the entries.
    pub contents: Contents,
    /// Programs of what is summed.
    pub programs: Arc<SegmentSumPrograms>,
    /// Shape of the entry's slots and data, as its kernels expect them.
    pub signature: Signature,
    /// S and T; where they lie is decided when the problem is laid out.
    pub sums: Table,
    /// Table of T, the derivatives of the sums.
    pub slopes: Table,
    /// The residual over S.
    pub(super) compiled: RefCell<Compiled>,
}

/// An index column of a term's, or one that leads to the row, or to an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Column(u32),
    Row,
    Entry(u32),
}

/// A slot of a structure: the term's number of it, and what it is.
struct Reached {
    number: u32,
    table: u32,
    width: u32,
    moving: bool,
    manifold: Option<Arc<Manifold>>,
    way: Way,
}

impl SummedSpec<'_> {
    fn validate(&self, tables: &[Table]) -> Result<(), Error> {
        self.plain.validate_with(tables, &self.slots)?;
        if self.plain.objective == Objective::Energy {
            let message = "an energy can't sum over rows of any length yet: use .rows(…), or a residual".to_string();
            return Err(Error::Shape { name: self.plain.name.clone(), message });
        }
        if self.plain.objective == Objective::FullCurvature {
            let message =
                "curvature \"full\" can't be had where a residual sums over rows of any length: use .rows(…), or leave it out".to_string();
            return Err(Error::Shape { name: self.plain.name.clone(), message });
        }
        check_rows(&self.plain, &self.offsets, &self.slots, &self.columns, tables)
    }

    /// The number of the slot of sums; that of slopes is the next.
    fn sum_slot(&self) -> u32 {
        (self.plain.slots.len() + self.slots.len()) as u32
    }

    fn sources(&self, tables: &[Table]) -> Vec<tape::Source> {
        let width = |table: u32| tables[table as usize].width;
        let slot = |slot: usize, width: u32| tape::Source { leaf: Leaf::Slot { slot: slot as u32, component: 0 }, width };
        let data = |column: usize, width: u32| tape::Source { leaf: Leaf::Data { column: column as u32, component: 0 }, width };
        let plain = &self.plain;
        let (slots, columns) = (plain.slots.len(), plain.columns.len());
        let own = plain.slots.iter().enumerate().map(|(number, of)| slot(plain.first_alike(number), width(of.table)));
        let shared = plain.columns.iter().enumerate().map(|(number, of)| data(number, of.width));
        let entry = self.slots.iter().enumerate().map(|(number, of)| slot(slots + number, width(of.table)));
        let each = (0..self.columns.len()).map(|number| data(columns + number, 1));
        own.chain(shared).chain(entry).chain(each).collect()
    }

    /// The term's slots that `roots` reach.
    fn reached(&self, graph: &Graph, roots: &[Expr], tables: &[Table]) -> Vec<Reached> {
        let needed = graph.reachable(roots);
        let leaves = (0..needed.len()).filter(|&index| needed[index]).map(|index| graph.node(Expr(index as u32)));
        let slots = leaves.filter_map(|node| match node {
            leastwise_expr::Node::Leaf(Leaf::Slot { slot, .. }) => Some(slot),
            _ => None,
        });
        let numbers = super::distinct(slots.filter(|&slot| slot < self.sum_slot()));
        let first = self.plain.slots.len() as u32;
        let reached = numbers.into_iter().map(|number| {
            let (table, way) = match self.plain.slots.get(number as usize) {
                Some(slot) => (slot.table, Way::Column(slot.column)),
                None => (self.slots[(number - first) as usize].table, Way::Entry(number - first)),
            };
            let of = &tables[table as usize];
            Reached { number, table, width: of.width, moving: of.moving, manifold: of.moves_on().cloned(), way }
        });
        reached.collect()
    }
}

impl Term {
    pub(super) fn summed(spec: SummedSpec, tables: &[Table], largest: f64) -> Result<Self, Error> {
        spec.validate(tables)?;
        let plain = &spec.plain;
        let refused = |error: TapeError| Error::Tape { term: plain.name.clone(), error };
        let mut graph = Graph::new();
        let kinds = tape::Entries { sum: spec.sum_slot(), slot: plain.slots.len() as u32, column: plain.columns.len() as u32 };
        let read = tape::read_summed(&mut graph, plain.tape, plain.outputs, &spec.sources(tables), kinds).map_err(refused)?;
        if read.residual.is_empty() {
            return Err(Error::NoResidual(plain.name.clone()));
        }
        let mut term = Self::of_rows(plain, &spec.columns, &spec.offsets, largest);
        let values = term.given(plain, &spec.columns)?;
        let weight = term.weight_values(plain.weight)?;
        let rows: Vec<u32> = (0..).zip(spec.offsets.windows(2)).flat_map(|(row, ends)| (ends[0]..ends[1]).map(move |_| row)).collect();

        // What is summed.
        let width = read.entry.len() as u32;
        let own_and_entry = spec.reached(&graph, &read.entry, tables);
        let is_own = |slot: &Reached| matches!(slot.way, Way::Column(_));
        let own: Vec<u32> = (0..).zip(&own_and_entry).filter(|(_, slot)| is_own(slot) && slot.moving).map(|(place, _)| place).collect();
        let place = own_and_entry.len() as u32;
        let parts = [(SUMS, width), (SLOPES, width * (width + 1) / 2)].map(|(table, width)| Reached {
            number: u32::MAX,
            table,
            width,
            moving: false,
            manifold: None,
            way: Way::Row,
        });
        let still = own_and_entry.into_iter().map(|slot| Reached { moving: slot.moving && !is_own(&slot), ..slot });
        let slots: Vec<Reached> = still.chain(parts).collect();
        let (reading, ways) = reading(&graph, &read.entry, &slots, None);
        let indices = ways.iter().map(|way| match *way {
            Way::Row => rows.clone(),
            Way::Entry(number) => spec.slots[number as usize].indices.clone(),
            Way::Column(column) => rows.iter().map(|&row| plain.indices[column as usize][row as usize]).collect(),
        });
        let data = reading.data.iter().map(|&datum| match datum {
            Datum::Literal(number) => Values::Shared(read.literals[number as usize]),
            Datum::Column { column, component } => term.entry_scalar(column, component, &rows, &values[column as usize]),
            Datum::Loss(_) => unreachable!("what is summed has no loss"),
        });
        // Of what is summed, none weighs more than another.
        let contents = Contents { indices: Arc::new(indices.collect()), data: data.collect(), weight: Values::Shared(1.0) };
        let signature = reading.structure.signature(&layout(&contents));
        let row_slots = RowSlots { own, sums: place, block: place + 1 };
        let (inner, roots) = reading.structure.residual();
        let programs = Arc::new(SegmentSumPrograms::new(&plain.name, inner, &roots, &signature, &row_slots, GUARDS));
        let entry_slots = slots;
        let number = |slot: u32| entry_slots[slot as usize].number;
        let table = |width: u32, moving: bool| Table::of_sums(&plain.name, width, plain.count, moving);
        let (sums, slopes) = (table(width, true), table(programs.slopes_width, false));

        // What is done with the sums.
        let mut slots = spec.reached(&graph, &read.residual, tables);
        let through_sums = spec.reached(&graph, &read.entry, tables).into_iter().filter(is_own);
        for slot in through_sums.filter(|slot| slot.moving) {
            if slots.iter().all(|known| known.number != slot.number) {
                slots.push(slot);
            }
        }
        let first = slots.len() as u32;
        let place = |number: u32| slots.iter().position(|slot| slot.number == number).unwrap_or_default() as u32;
        let through = programs.through.iter().map(|known| Through {
            input: (place(number(known.input.0)), known.input.1),
            sum: (first, known.sum),
            slope: (first + 1, known.slope),
            negative: known.negative,
        });
        let through: Vec<Through> = through.collect();
        slots.push(Reached { number: spec.sum_slot(), table: SUMS, width, moving: true, manifold: None, way: Way::Row });
        if slopes.width > 0 {
            let number = spec.sum_slot() + 1;
            slots.push(Reached { number, table: SLOPES, width: slopes.width, moving: false, manifold: None, way: Way::Row });
        }
        let (outer, ways) = self::reading(&graph, &read.residual, &slots, plain.loss.as_ref().and_then(Loss::robust));
        let indices = ways.iter().map(|way| match *way {
            Way::Column(column) => plain.indices[column as usize].clone(),
            _ => (0..plain.count).collect(),
        });
        let data = outer.data.iter().map(|&datum| match datum {
            Datum::Literal(number) => Values::Shared(read.literals[number as usize]),
            Datum::Column { column, .. } => term.scalar(None, datum, &values[column as usize]),
            Datum::Loss(_) => term.scalar(None, datum, &[]),
        });
        let outer_contents = Contents { indices: Arc::new(indices.collect()), data: data.collect(), weight };
        let outer_signature = outer.structure.signature(&layout(&outer_contents));
        let (residual, roots) = outer.structure.residual();
        let outer_programs = ResidualPrograms::with_sums(&plain.name, residual, &roots, &outer_signature, GUARDS, &through);
        let compiled = Compiled::new(outer_signature, Arc::new(outer_programs));
        term.parts.push(Part {
            tables: slots.iter().map(|slot| slot.table).collect(),
            count: plain.count,
            instances: None,
            contents: outer_contents,
            place: None,
            reading: Arc::new(outer),
        });
        term.entries = Some(Box::new(Entries {
            count: rows.len() as u32,
            rows: Arc::new(rows),
            ragged: spec.slots.len() as u32,
            offsets: spec.offsets,
            tables: entry_slots[..entry_slots.len() - 2].iter().map(|slot| slot.table).collect(),
            reading: Arc::new(reading),
            contents,
            programs,
            signature,
            sums,
            slopes,
            compiled: RefCell::new(compiled),
        }));
        Ok(term)
    }

    /// A scalar of data of every entry: its own, or its row's.
    fn entry_scalar(&self, column: u32, component: u32, rows: &[u32], values: &[f64]) -> Values {
        let of = &self.columns[column as usize];
        match of.per {
            Per::Term => Values::Shared(values[component as usize]),
            Per::Entry => Values::Each(values.to_vec()),
            Per::Instance => Values::Each(rows.iter().map(|&row| values[(row * of.width + component) as usize]).collect()),
        }
    }

    /// The new scalars of a column where it is data of entries.
    pub(super) fn replaced_of_entries(&self, column: u32, values: Reals) -> Result<Vec<(usize, Values)>, Error> {
        let Some(entries) = &self.entries else { return Ok(Vec::new()) };
        let values = self.column_values(column as usize, values)?;
        let data = entries.reading.data.iter().enumerate();
        let mine = data.filter_map(|(scalar, datum)| match *datum {
            Datum::Column { column: known, component } if known == column => Some((scalar, component)),
            _ => None,
        });
        Ok(mine.map(|(scalar, component)| (scalar, self.entry_scalar(column, component, &entries.rows, &values))).collect())
    }
}

impl Entries {
    /// The same for another problem.
    pub(super) fn snapshot(&self) -> Self {
        let Compiled { signature, programs, .. } = &*self.compiled.borrow();
        let table = |table: &Table| Table::of_sums(&table.name, table.width, table.count, table.moving);
        Self {
            rows: self.rows.clone(),
            offsets: self.offsets.clone(),
            reading: self.reading.clone(),
            tables: self.tables.clone(),
            contents: self.contents.clone(),
            programs: self.programs.clone(),
            signature: self.signature.clone(),
            sums: table(&self.sums),
            slopes: table(&self.slopes),
            compiled: RefCell::new(Compiled::new(signature.clone(), programs.clone())),
            ..*self
        }
    }

    /// The first entry of a row, and how many it has.
    pub fn range(&self, row: u32) -> (u32, u32) {
        let (start, end) = (self.offsets[row as usize], self.offsets[row as usize + 1]);
        (start, end - start)
    }

    /// A table of the term's own.
    pub(super) fn table(&self, number: u32) -> Option<&Table> {
        match number {
            SUMS => Some(&self.sums),
            SLOPES => Some(&self.slopes),
            _ => None,
        }
    }

    pub(super) fn frame<'a>(&'a self, name: &'a str) -> Frame<'a> {
        frame(name, &self.programs, &self.signature)
    }
}

pub(super) fn frame<'a>(name: &'a str, programs: &'a SegmentSumPrograms, signature: &'a Signature) -> Frame<'a> {
    Frame {
        name,
        signature,
        stored: programs.stored,
        // Besides the lists of variables there is the tree of rows: entries and, on at most four levels, at most as many
        // nodes, each with a start and an id, and below the highest two kinds of entries.
        list_words: (3 * signature.slots.len() as u32).max(16),
        list_maps: programs.width.max(programs.slopes_width),
        gradient_maps: &programs.gradient_maps,
        diagonal_maps: &programs.diagonal_maps,
    }
}

/// A term alone keeps what its instances share.
fn layout(contents: &Contents) -> Layout {
    Layout { weight_shared: contents.weight.is_shared(), shared: contents.data.iter().map(Values::is_shared).collect() }
}

/// Expressions as a structure over these slots, and the ways of its index columns.
fn reading(graph: &Graph, roots: &[Expr], slots: &[Reached], loss: Option<&Arc<LossKind>>) -> (Reading, Vec<Way>) {
    let canonical = graph.canonical(roots, |leaf| match leaf {
        Leaf::Slot { slot, component } => 1 << 31 | slot << 12 | component,
        _ => 0,
    });
    let mut data = Vec::new();
    let leaves = canonical.leaves.iter().map(|&leaf| match leaf {
        Leaf::Slot { slot, component } => {
            let place = slots.iter().position(|known| known.number == slot).unwrap_or_default();
            Leaf::Slot { slot: place as u32, component }
        }
        other => {
            data.push(match other {
                Leaf::Data { column, component } => Datum::Column { column, component },
                Leaf::Literal(number) => Datum::Literal(number),
                _ => unreachable!("a tape has no other leaves"),
            });
            Leaf::Data { column: data.len() as u32 - 1, component: 0 }
        }
    });
    let leaves: Vec<Leaf> = leaves.collect();
    let mut ways: Vec<Way> = Vec::new();
    let kinds = slots.iter().map(|slot| {
        let known = ways.iter().position(|way| *way == slot.way);
        let column = known.unwrap_or_else(|| {
            ways.push(slot.way);
            ways.len() - 1
        });
        SlotKind { width: slot.width, moving: slot.moving, manifold: slot.manifold.clone(), column: column as u32 }
    });
    let kinds: Vec<SlotKind> = kinds.collect();
    let count = data.len() as u32;
    let structure = Arc::new(Structure::new(canonical, (Objective::LeastSquares, roots.len() as u32), kinds, leaves, count, loss.cloned()));
    let slots = slots.iter().map(|slot| slot.number).collect();
    (Reading::new(structure, slots, data), ways)
}
