//! Terms: one residual over many instances, as its user sees it. Where its instances lie is their batch's affair.

use super::ragged::PRESENT;
use super::reals;
use super::registry::{Datum, Reading, Registry};
use super::segment_sums::Entries;
use super::spec::{EntryColumn, RaggedSpec, TermSpec, Weight};
use super::{Constraint, Loss, Reals, Table};
use leastwise_base::{memory, parallel};
use leastwise_error::Error;
use leastwise_program::{LossKind, Objective};
use std::borrow::Cow;
use std::sync::Arc;

/// One scalar of data or the weight, for all instances of a part.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    Shared(f64),
    Each(Vec<f64>),
}

impl Values {
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    pub fn at(&self, instance: usize) -> f64 {
        match self {
            Self::Shared(value) => *value,
            Self::Each(values) => values[instance],
        }
    }
}

/// How many values a column has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Per {
    Term,
    Instance,
    /// One for every entry of the ragged slots.
    Entry,
}

/// A column as its user knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NamedColumn {
    pub name: String,
    pub width: u32,
    pub per: Per,
}

/// Where a scalar of data of a part comes from.
#[derive(Clone, Copy)]
enum Origin {
    Column {
        column: usize,
        component: u32,
    },
    Entry {
        column: usize,
        entry: u32,
    },
    /// Whether the row has this entry.
    Present(u32),
    Literal(u32),
    Loss(u32),
}

/// What a part's batch is filled with, kept because the part may move to another batch.
#[derive(Clone)]
pub struct Contents {
    /// Column by column of the structure; shared with whoever looks at them in time slices.
    pub indices: Arc<Vec<Vec<u32>>>,
    /// Scalar by scalar of the structure.
    pub data: Vec<Values>,
    /// Weight w of the instances.
    pub weight: Values,
}

/// Where a part's instances are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The problem's number of the batch.
    pub batch: u32,
    /// The first of its instances among the batch's.
    pub first: u32,
}

/// Instances of a term that share one structure.
pub struct Part {
    /// Structure of the instances, and the meaning of its slots and data.
    pub reading: Arc<Reading>,
    /// For every slot of the structure, its table.
    pub tables: Vec<u32>,
    /// Number of instances.
    pub count: u32,
    /// The term's numbers of its instances; none where they are the term's own.
    pub instances: Option<Vec<u32>>,
    /// Index columns, data and weight of the instances.
    pub contents: Contents,
    /// Place among the instances of a batch, while the problem is laid out.
    pub place: Option<Place>,
}

/// One residual over many instances, as its user sees it.
pub struct Term {
    /// Name of the term.
    pub name: String,
    /// Number of instances.
    pub count: u32,
    /// True if it takes part in costs, gradients and products.
    pub enabled: bool,
    /// Instances by structure: one part, or, of a ragged term, one for each structure of its rows.
    pub parts: Vec<Part>,
    /// Where the term is a constraint, what it has besides.
    pub constraint: Option<Constraint>,
    /// What is summed over the rows' entries; the one part is over these sums, then.
    pub entries: Option<Box<Entries>>,
    pub(super) columns: Vec<NamedColumn>,
    pub(super) weight_shared: bool,
    pub(super) loss: Option<Loss>,
    /// Where the rows of entries begin, if the term is ragged; and how many columns are not of entries.
    offsets: Option<Vec<u32>>,
    plain_columns: usize,
    /// The tables of all slots; of a ragged term, of those of its longest rows.
    slots: Vec<u32>,
    /// The largest number that its device has.
    pub(super) largest: f64,
}

impl Term {
    /// True if it was made with a loss.
    pub fn has_loss(&self) -> bool {
        self.loss.is_some()
    }

    pub(super) fn new(mut spec: TermSpec, reading: Arc<Reading>, literals: &[f64], largest: f64) -> Result<Self, Error> {
        let name = std::mem::take(&mut spec.name);
        let mut term = Self::empty(name, &spec, largest);
        let values = term.given(&spec, &[])?;
        let weight = term.weight_values(spec.weight)?;
        let literals = |_: usize| literals;
        let part = term.part(&mut spec, reading, None, &literals, &values, weight);
        term.parts.push(part);
        Ok(term)
    }

    /// A term with a part for every bucket of lengths.
    pub(super) fn ragged(registry: &mut Registry, spec: RaggedSpec, tables: &[Table], largest: f64) -> Result<Self, Error> {
        let mut term = Self::of_rows(&spec.plain, &spec.columns, &spec.offsets, largest);
        let values = term.given(&spec.plain, &spec.columns)?;
        let weight = term.weight_values(spec.plain.weight)?;
        let lengths = spec.lengths();
        for bucket in spec.buckets(tables)? {
            let mine = |instance: &u32| bucket.lengths.contains(&lengths[*instance as usize]);
            let instances: Vec<u32> = (0..spec.plain.count).filter(mine).collect();
            let mut plain = spec.plain(&bucket, &instances);
            plain.check_indices(tables)?;
            if plain.slots.len() > term.slots.len() {
                term.slots = plain.slots.iter().map(|slot| slot.table).collect();
            }
            let reading = spec.read(registry, tables, &bucket, &plain)?;
            let literals = |instance: usize| {
                let length = lengths[instances[instance] as usize];
                let place = bucket.lengths.iter().position(|known| *known == length).unwrap_or(0);
                &bucket.literals[place][..]
            };
            let weight = term.weight_of(Some(&instances), &weight);
            let part = term.part(&mut plain, reading, Some(&instances), &literals, &values, weight);
            term.parts.push(part);
        }
        Ok(term)
    }

    /// A term of which some slots have a row of entries an instance, without its parts.
    pub(super) fn of_rows(plain: &TermSpec, columns: &[EntryColumn], offsets: &[u32], largest: f64) -> Self {
        let mut term = Self::empty(plain.name.clone(), plain, largest);
        term.columns.extend(columns.iter().map(|column| NamedColumn { name: column.name.clone(), width: 1, per: Per::Entry }));
        term.offsets = Some(offsets.to_vec());
        term
    }

    fn empty(name: String, spec: &TermSpec, largest: f64) -> Self {
        let columns = spec.columns.iter().map(|column| NamedColumn {
            name: column.name.clone(),
            width: column.width,
            per: if column.shared { Per::Term } else { Per::Instance },
        });
        Self {
            name,
            count: spec.count,
            enabled: true,
            parts: Vec::new(),
            constraint: None,
            entries: None,
            columns: columns.collect(),
            weight_shared: matches!(spec.weight, Weight::Shared(_)),
            loss: spec.loss.clone(),
            offsets: None,
            plain_columns: spec.columns.len(),
            slots: spec.slots.iter().map(|slot| slot.table).collect(),
            largest,
        }
    }

    /// All columns' values, checked.
    pub(super) fn given<'a>(&self, spec: &TermSpec<'a>, entries: &[EntryColumn<'a>]) -> Result<Vec<Cow<'a, [f64]>>, Error> {
        let values = spec.columns.iter().map(|column| column.values).chain(entries.iter().map(|column| column.values));
        values.enumerate().map(|(number, values)| self.column_values(number, values)).collect()
    }

    fn part<'a>(
        &self,
        spec: &mut TermSpec,
        reading: Arc<Reading>,
        instances: Option<&[u32]>,
        literals: &impl Fn(usize) -> &'a [f64],
        values: &[Cow<[f64]>],
        weight: Values,
    ) -> Part {
        let structure = &reading.structure;
        let mut columns: Vec<u32> = vec![0; structure.columns() as usize];
        for (kind, &slot) in structure.slots.iter().zip(&reading.slots) {
            columns[kind.column as usize] = spec.slots[slot as usize].column;
        }
        let indices: Vec<Vec<u32>> = columns.iter().map(|&column| std::mem::take(&mut spec.indices[column as usize])).collect();
        let count = spec.count as usize;
        let data = reading.data.iter().map(|&datum| match self.origin(datum) {
            Origin::Literal(number) => {
                let number = number as usize;
                if instances.is_none() {
                    return Values::Shared(literals(0)[number]);
                }
                let all: Vec<f64> = (0..count).map(|instance| literals(instance)[number]).collect();
                if all.iter().all(|value| value.to_bits() == all[0].to_bits()) { Values::Shared(all[0]) } else { Values::Each(all) }
            }
            Origin::Column { column, .. } | Origin::Entry { column, .. } => self.scalar(instances, datum, &values[column]),
            Origin::Present(_) | Origin::Loss(_) => self.scalar(instances, datum, &[]),
        });
        let data = data.collect();
        let tables = reading.slots.iter().map(|&slot| spec.slots[slot as usize].table).collect();
        let contents = Contents { indices: Arc::new(indices), data, weight };
        Part { tables, count: spec.count, instances: instances.map(<[u32]>::to_vec), contents, place: None, reading }
    }

    /// The weights of a part's instances.
    fn weight_of(&self, instances: Option<&[u32]>, weight: &Values) -> Values {
        match (weight, instances) {
            (Values::Each(_), Some(instances)) => Values::Each(instances.iter().map(|&instance| weight.at(instance as usize)).collect()),
            _ => weight.clone(),
        }
    }

    /// Where a scalar of data comes from: columns of the term come first, then those of each entry.
    fn origin(&self, datum: Datum) -> Origin {
        let (column, component) = match datum {
            Datum::Literal(number) => return Origin::Literal(number),
            Datum::Loss(number) => return Origin::Loss(number),
            Datum::Column { column: PRESENT, component } => return Origin::Present(component),
            Datum::Column { column, component } => (column as usize, component),
        };
        if column < self.plain_columns {
            return Origin::Column { column, component };
        }
        let (place, each) = (column - self.plain_columns, self.columns.len() - self.plain_columns);
        Origin::Entry { column: self.plain_columns + place % each, entry: (place / each) as u32 }
    }

    /// Where a scalar of data of an instance (by the term's number) is among its column's values: the column, and the place there.
    /// None for literals, parameters of the loss, and entries that the row does not have.
    pub fn position(&self, part: usize, scalar: usize, instance: u32) -> Option<(usize, usize)> {
        match self.origin(self.parts[part].reading.data[scalar]) {
            Origin::Column { column, component } => {
                let NamedColumn { width, per, .. } = &self.columns[column];
                let first = if *per == Per::Term { 0 } else { instance as usize * *width as usize };
                Some((column, first + component as usize))
            }
            Origin::Entry { column, entry } => {
                let offsets = self.offsets.as_ref()?;
                let place = offsets[instance as usize] + entry;
                (place < offsets[instance as usize + 1]).then_some((column, place as usize))
            }
            Origin::Present(_) | Origin::Literal(_) | Origin::Loss(_) => None,
        }
    }

    /// The column that a scalar of data is of, and its component there (or the place in its row); none for literals and parameters.
    pub(super) fn component_of(&self, part: usize, scalar: usize) -> Option<(u32, u32)> {
        match self.origin(self.parts[part].reading.data[scalar]) {
            Origin::Column { column, component } => Some((column as u32, component)),
            Origin::Entry { column, entry } => Some((column as u32, entry)),
            Origin::Present(_) | Origin::Literal(_) | Origin::Loss(_) => None,
        }
    }

    /// Entries of all rows.
    pub(super) fn entry_count(&self) -> u32 {
        self.offsets.as_ref().and_then(|offsets| offsets.last().copied()).unwrap_or(0)
    }

    /// Whether its cost is ½ w ‖r‖².
    pub fn is_plain(&self) -> bool {
        let squares = |part: &Part| part.reading.structure.objective != Objective::Energy;
        self.parts.iter().all(squares) && self.loss.as_ref().is_none_or(|loss| loss.robust().is_none())
    }

    /// True if its Hessian is made of second derivatives: an energy, and residuals with full curvature.
    pub fn is_curved(&self) -> bool {
        self.parts.iter().any(|part| part.reading.structure.objective != Objective::LeastSquares)
    }

    /// The weights of all instances; and the one that they share, if they do.
    pub fn weights(&self) -> (Option<f64>, Vec<f64>) {
        let mut all = vec![0.0; self.count as usize];
        for (number, part) in (0..).zip(&self.parts) {
            for place in 0..part.count {
                all[self.instance(number, place) as usize] = part.contents.weight.at(place as usize);
            }
        }
        (self.weight_shared.then(|| all[0]), all)
    }

    /// From now on every instance has a weight of its own, or (with a value) all share one.
    pub(super) fn share_weight(&mut self, value: Option<f64>) {
        self.weight_shared = value.is_some();
        for part in &mut self.parts {
            part.contents.weight = match (value, &part.contents.weight) {
                (Some(value), _) => Values::Shared(value),
                (None, Values::Shared(value)) => Values::Each(vec![*value; part.count as usize]),
                (None, each) => each.clone(),
            };
        }
    }

    /// How many values each column has, and the weight.
    pub fn lengths(&self) -> (Vec<usize>, usize) {
        let entries = self.offsets.as_ref().and_then(|offsets| offsets.last().copied()).unwrap_or(0) as usize;
        let length = |column: &NamedColumn| match column.per {
            Per::Term => column.width as usize,
            Per::Instance => self.count as usize * column.width as usize,
            Per::Entry => entries,
        };
        (self.columns.iter().map(length).collect(), if self.weight_shared { 1 } else { self.count as usize })
    }

    /// The same term in another problem, of the same tables, on another device.
    pub(super) fn snapshot(&self) -> Self {
        let part = |part: &Part| Part {
            reading: part.reading.clone(),
            tables: part.tables.clone(),
            instances: part.instances.clone(),
            contents: part.contents.clone(),
            place: None,
            ..*part
        };
        Self {
            name: self.name.clone(),
            parts: self.parts.iter().map(part).collect(),
            constraint: self.constraint.clone(),
            entries: self.entries.as_ref().map(|entries| Box::new(entries.snapshot())),
            columns: self.columns.clone(),
            loss: self.loss.clone(),
            offsets: self.offsets.clone(),
            slots: self.slots.clone(),
            ..*self
        }
    }

    /// Rows of its residual that weigh something.
    pub fn weighted_rows(&self) -> u64 {
        let rows = |part: &Part| {
            let instances = match &part.contents.weight {
                Values::Shared(weight) => {
                    if *weight > 0.0 {
                        part.count as usize
                    } else {
                        0
                    }
                }
                Values::Each(weights) => weights.iter().filter(|weight| **weight > 0.0).count(),
            };
            instances as u64 * u64::from(part.reading.structure.rows)
        };
        self.parts.iter().map(rows).sum()
    }

    /// Rows of an instance's residual, and columns of its Jacobian: the degrees of freedom of all variables among its
    /// slots (of a ragged term, of the longest row).
    pub fn shape(&self, tables: &[Table]) -> (u32, u32) {
        let rows = self.parts.iter().map(|part| part.reading.structure.rows).max().unwrap_or(0);
        let tangent = |table: u32| tables.get(table as usize).filter(|table| table.moving).map_or(0, |table| table.tangent);
        (rows, self.slots.iter().map(|&table| tangent(table)).sum())
    }

    /// The first column of each slot in the term's Jacobian; none for constants.
    pub fn column_starts(&self, tables: &[Table]) -> Vec<Option<u32>> {
        let mut next = 0;
        let start = |&table: &u32| {
            let table = tables.get(table as usize).filter(|table| table.moving)?;
            next += table.tangent;
            Some(next - table.tangent)
        };
        self.slots.iter().map(start).collect()
    }

    /// A table that the term reaches: of the problem, or one of its own sums.
    pub(super) fn table<'a>(&'a self, tables: &'a [Table], number: u32) -> &'a Table {
        self.entries.as_ref().and_then(|entries| entries.table(number)).unwrap_or_else(|| &tables[number as usize])
    }

    /// The term's number of a part's instance.
    pub fn instance(&self, part: u32, instance: u32) -> u32 {
        self.parts[part as usize].instances.as_ref().map_or(instance, |instances| instances[instance as usize])
    }

    /// The new scalars of a column: part, scalar of its structure, values.
    pub(super) fn replaced_column(&self, column: u32, values: Reals) -> Result<Vec<(usize, usize, Values)>, Error> {
        let number = column as usize;
        if number >= self.columns.len() {
            return Err(Error::InvalidOption(format!("term \"{}\" has no data column {column}", self.name)));
        }
        let values = self.column_values(number, values)?;
        let mut replaced = Vec::new();
        for (part, of) in self.parts.iter().enumerate() {
            for (scalar, datum) in of.reading.data.iter().enumerate() {
                if let Origin::Column { column, .. } | Origin::Entry { column, .. } = self.origin(*datum)
                    && column == number
                {
                    replaced.push((part, scalar, self.scalar(of.instances.as_deref(), *datum, &values)));
                }
            }
        }
        Ok(replaced)
    }

    /// A column's values, checked.
    pub(super) fn column_values<'a>(&self, number: usize, values: Reals<'a>) -> Result<Cow<'a, [f64]>, Error> {
        let NamedColumn { name, width, per } = &self.columns[number];
        self.checked(|| format!("term \"{}\": data column \"{name}\"", self.name), *width, *per, values)
    }

    /// A scalar of data of a part's instances, from its column's values.
    pub(super) fn scalar(&self, instances: Option<&[u32]>, datum: Datum, values: &[f64]) -> Values {
        let count = instances.map_or(self.count, |instances| instances.len() as u32);
        // A loop of its own for each kind of value, and for those of all instances.
        fn each(count: u32, instances: Option<&[u32]>, value: impl Fn(usize) -> f64) -> Values {
            Values::Each(match instances {
                Some(instances) => instances.iter().map(|&instance| value(instance as usize)).collect(),
                None => (0..count as usize).map(value).collect(),
            })
        }
        let row = |instance: usize| self.offsets.as_ref().map_or((0, 0), |offsets| (offsets[instance], offsets[instance + 1]));
        match self.origin(datum) {
            Origin::Column { column, component } => match self.columns[column] {
                NamedColumn { per: Per::Term, .. } => Values::Shared(values[component as usize]),
                NamedColumn { width, .. } => match instances {
                    Some(_) => each(count, instances, |instance| values[instance * width as usize + component as usize]),
                    None => {
                        let mut all = Vec::with_capacity(count as usize);
                        parallel::extend(&mut all, 0..count, |instance| values[instance as usize * width as usize + component as usize]);
                        Values::Each(all)
                    }
                },
            },
            Origin::Entry { entry, .. } => each(count, instances, |instance| {
                let (start, end) = row(instance);
                if start + entry < end { values[(start + entry) as usize] } else { 0.0 }
            }),
            Origin::Present(entry) => each(count, instances, |instance| {
                let (start, end) = row(instance);
                f64::from(start + entry < end)
            }),
            Origin::Loss(number) => Values::Shared(self.loss.as_ref().map_or(0.0, |loss| loss.parameters[number as usize])),
            Origin::Literal(_) => unreachable!("literals are not in columns"),
        }
    }

    /// The new parameters of its loss: part, scalar of its structure, value.
    pub(super) fn replaced_loss(&self, loss: &Loss) -> Result<Vec<(usize, usize, f64)>, Error> {
        let known = self.loss.as_ref().and_then(Loss::robust);
        if known != loss.robust() {
            let name = |kind: Option<&Arc<LossKind>>| kind.map_or("none", |kind| kind.name());
            return Err(Error::InvalidOption(format!(
                "term \"{}\": its loss was made as {}, not {}; another kind of loss would be another kernel: make a new term, or begin with a loss that can be both, such as barron() or scaled()",
                self.name,
                name(known),
                name(loss.robust())
            )));
        }
        let scalars = |(part, of): (usize, &Part)| {
            let data = of.reading.data.iter().enumerate();
            let mine = data.filter_map(|(scalar, datum)| match *datum {
                Datum::Loss(number) => Some((part, scalar, loss.parameters[number as usize])),
                _ => None,
            });
            mine.collect::<Vec<_>>()
        };
        Ok(self.parts.iter().enumerate().flat_map(scalars).collect())
    }

    /// The new weights of every part.
    pub(super) fn replaced_weight(&self, weight: Weight) -> Result<Vec<Values>, Error> {
        let values = self.weight_values(weight)?;
        Ok(self.parts.iter().map(|part| self.weight_of(part.instances.as_deref(), &values)).collect())
    }

    pub(super) fn weight_values(&self, weight: Weight) -> Result<Values, Error> {
        let what = || format!("term \"{}\": weight", self.name);
        let one;
        let values = match weight {
            Weight::Each(_) if self.weight_shared => {
                return Err(Error::InvalidOption(format!(
                    "{} is one number for all instances: give an array when the term is made to have one for each",
                    what()
                )));
            }
            Weight::Each(values) => values,
            Weight::Shared(value) => {
                one = [value];
                Reals::F64(&one)
            }
        };
        let negative = match values {
            Reals::F32(values) => values.iter().position(|value| *value < 0.0),
            Reals::F64(values) => parallel::position(values, |value| *value < 0.0),
        };
        if let Some(position) = negative {
            return Err(Error::InvalidOption(format!("{} must not be negative, but value {position} is", what())));
        }
        let per = if matches!(weight, Weight::Shared(_)) { Per::Term } else { Per::Instance };
        let values = self.checked(what, 1, per, values)?;
        Ok(if per == Per::Term { Values::Shared(values[0]) } else { Values::Each(reals::owned(values)) })
    }

    /// The values of a column or weight, which `what` names if they are refused.
    fn checked<'a>(&self, what: impl Fn() -> String, width: u32, per: Per, values: Reals<'a>) -> Result<Cow<'a, [f64]>, Error> {
        let width = width as usize;
        let rows = match per {
            Per::Term => 1,
            Per::Instance => self.count as usize,
            Per::Entry => self.offsets.as_ref().and_then(|offsets| offsets.last().copied()).unwrap_or(0) as usize,
        };
        if values.len() as u64 != rows as u64 * width as u64 {
            let expected = match per {
                Per::Term => format!("{width} (shared by all instances)"),
                Per::Instance => format!("{} ({rows} instances of {width})", rows as u64 * width as u64),
                Per::Entry => format!("{rows} (one an entry)"),
            };
            return Err(Error::DataLength { term: Some(self.name.clone()), what: what(), got: values.len(), expected });
        }
        memory::probe(values.len() as u128 * 8, &what())?;
        values.finite(self.largest).map_err(|(position, value)| {
            let instance = match (per, &self.offsets) {
                (Per::Term, _) => None,
                (Per::Entry, Some(offsets)) => Some(offsets.partition_point(|&start| start as usize <= position) as u32 - 1),
                _ => Some((position / width) as u32),
            };
            Error::not_finite(Some(self.name.clone()), instance, what(), (position, value))
        })
    }
}
