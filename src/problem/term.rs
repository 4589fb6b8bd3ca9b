//! Terms: one residual over many instances, as its user sees it. Where its instances lie is their batch's affair.

use super::Reals;
use super::registry::{Datum, Reading};
use super::spec::{Column, TermSpec, Weight};
use crate::error::Error;
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

/// A column as its user knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedColumn {
    pub name: String,
    pub width: u32,
    pub shared: bool,
}

/// What a part's batch is filled with, kept because the part may move to another batch.
pub struct Contents {
    /// Column by column of the structure.
    pub indices: Vec<Vec<u32>>,
    /// Scalar by scalar of the structure.
    pub data: Vec<Values>,
    pub weight: Values,
}

/// Where a part's instances are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub batch: u32,
    /// The first of its instances among the batch's.
    pub first: u32,
}

/// Instances of a term that share one structure.
pub struct Part {
    pub reading: Arc<Reading>,
    /// For every slot of the structure, its table.
    pub tables: Vec<u32>,
    pub count: u32,
    /// The term's numbers of its instances; none where they are the term's own.
    pub instances: Option<Vec<u32>>,
    pub contents: Contents,
    pub place: Option<Place>,
}

pub struct Term {
    pub name: String,
    pub count: u32,
    pub enabled: bool,
    pub parts: Vec<Part>,
    columns: Vec<NamedColumn>,
    weight_shared: bool,
}

impl Term {
    pub(super) fn new(spec: TermSpec, reading: Arc<Reading>, literals: &[f64]) -> Result<Self, Error> {
        let TermSpec { name, count, mut indices, slots, columns: given, weight, .. } = spec;
        let columns = given.iter().map(|column| NamedColumn { name: column.name.clone(), width: column.width, shared: column.shared });
        let mut term = Self {
            name,
            count,
            enabled: true,
            parts: Vec::new(),
            columns: columns.collect(),
            weight_shared: matches!(weight, Weight::Shared(_)),
        };
        let values = given.iter().enumerate().map(|(number, Column { values, .. })| term.column_values(number, *values));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let data = reading.data.iter().map(|datum| match *datum {
            Datum::Literal(number) => Values::Shared(literals[number as usize]),
            Datum::Column { column, component } => term.scalar(column as usize, component, &values[column as usize]),
        });
        let data = data.collect();
        let weight = term.weight_values(weight)?;
        let structure = &reading.structure;
        // Several slots may take one column: it is moved out for the last of them.
        let mut by_column: Vec<Option<u32>> = vec![None; structure.columns() as usize];
        for (kind, &slot) in structure.slots.iter().zip(&reading.slots) {
            by_column[kind.column as usize] = Some(slots[slot as usize].column);
        }
        let indices = by_column.iter().map(|column| column.map(|column| std::mem::take(&mut indices[column as usize])).unwrap_or_default());
        let contents = Contents { indices: indices.collect(), data, weight };
        let tables = reading.slots.iter().map(|&slot| slots[slot as usize].table).collect();
        term.parts.push(Part { reading, tables, count, instances: None, contents, place: None });
        Ok(term)
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
                if let Datum::Column { column: from, component } = *datum
                    && from == column
                {
                    replaced.push((part, scalar, self.scalar(number, component, &values)));
                }
            }
        }
        Ok(replaced)
    }

    /// A column's values, checked.
    fn column_values(&self, number: usize, values: Reals) -> Result<Vec<f64>, Error> {
        let NamedColumn { name, width, shared } = &self.columns[number];
        self.checked(&format!("term \"{}\": data column \"{name}\"", self.name), *width, *shared, values)
    }

    /// One scalar of a column's rows.
    fn scalar(&self, number: usize, component: u32, values: &[f64]) -> Values {
        let NamedColumn { width, shared, .. } = self.columns[number];
        match shared {
            true => Values::Shared(values[component as usize]),
            false => Values::Each(values.iter().skip(component as usize).step_by(width as usize).copied().collect()),
        }
    }

    pub(super) fn weight_values(&self, weight: Weight) -> Result<Values, Error> {
        let what = format!("term \"{}\": weight", self.name);
        let one;
        let values = match weight {
            Weight::Each(_) if self.weight_shared => {
                return Err(Error::InvalidOption(format!(
                    "{what} is one number for all instances: give an array when the term is made to have one for each"
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
            Reals::F64(values) => values.iter().position(|value| *value < 0.0),
        };
        if let Some(position) = negative {
            return Err(Error::InvalidOption(format!("{what} must not be negative, but value {position} is")));
        }
        let shared = matches!(weight, Weight::Shared(_));
        let values = self.checked(&what, 1, shared, values)?;
        Ok(if shared { Values::Shared(values[0]) } else { Values::Each(values) })
    }

    fn checked(&self, what: &str, width: u32, shared: bool, values: Reals) -> Result<Vec<f64>, Error> {
        let width = width as usize;
        let instances = if shared { 1 } else { self.count as usize };
        if values.len() != instances * width {
            let expected = match shared {
                true => format!("{width} (shared by all instances)"),
                false => format!("{} ({instances} instances of {width})", instances * width),
            };
            return Err(Error::DataLength { term: Some(self.name.clone()), what: what.into(), got: values.len(), expected });
        }
        values.finite().map_err(|(position, value)| Error::NonFinite {
            term: Some(self.name.clone()),
            instance: (!shared).then_some((position / width) as u32),
            what: what.into(),
            position,
            value: value.to_string(),
        })
    }
}
