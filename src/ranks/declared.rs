//! What a program declares, on every rank the same: tables, terms and their data, with a fingerprint.

use super::partition::Links;
use leastwise_collective::Fingerprint;
use leastwise_device::Device;
use leastwise_error::Error;
use leastwise_expr::{Graph, Leaf, tape, tape::Source};
use leastwise_problem::{Column, Loss, Problem, Reals, Registry, Shape, Slot, TermSpec, Weight};
use leastwise_program::Objective;
use leastwise_solve::linear::reduced::{Candidate, choose_tables, in_two_slots};

/// A table as it was declared, with the values that were written last or read last.
pub struct DeclaredTable {
    pub name: String,
    pub shapes: Vec<Shape>,
    /// Scalars of a row, and its degrees of freedom.
    pub width: u32,
    pub tangent: u32,
    pub count: u32,
    pub moving: bool,
    pub values: Vec<f64>,
    /// For each degree of freedom of all rows, true if it may move; none where nothing was ever fixed.
    pub free: Option<Vec<bool>>,
    /// Lower and upper limits of all rows.
    pub limits: Option<[Vec<f64>; 2]>,
}

impl DeclaredTable {
    /// Its first rows as a problem of their own, which checks what the table is given; and their table's number.
    pub fn rows_alone(&self, (device, registry): (&Device, &mut Registry), count: u32) -> Result<(Problem, u32), Error> {
        let mut problem = Problem::new();
        let values = Reals::F64(&self.values[..(self.width * count) as usize]);
        let number = problem.add_table(device, registry, &self.name, self.shapes.clone(), values, self.moving)?;
        Ok((problem, number))
    }
}

/// A data column.
pub struct DeclaredColumn {
    pub name: String,
    pub width: u32,
    pub shared: bool,
    pub values: Vec<f64>,
}

/// A term and its data.
pub struct DeclaredTerm {
    pub name: String,
    pub count: u32,
    /// Cost of an instance beside those of other terms: reals of its derivatives.
    pub cost: u32,
    pub indices: Vec<Vec<u32>>,
    pub slots: Vec<Slot>,
    pub columns: Vec<DeclaredColumn>,
    /// One weight, where instances share it; or one an instance.
    pub weight: Vec<f64>,
    pub shares_weight: bool,
    pub loss: Option<Loss>,
    pub objective: Objective,
    pub tape: Vec<u32>,
    pub outputs: Vec<u32>,
}

/// All that was declared.
#[derive(Default)]
pub struct Declared {
    pub tables: Vec<DeclaredTable>,
    pub terms: Vec<DeclaredTerm>,
    /// Of tables, terms, data and edits so far.
    pub fingerprint: Fingerprint,
}

/// Values in f64.
pub fn in_f64(values: Reals) -> Vec<f64> {
    match values {
        Reals::F32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Reals::F64(values) => values.to_vec(),
    }
}

/// Weights of a term, and if its instances share one.
pub fn weights(weight: &Weight) -> (Vec<f64>, bool) {
    match *weight {
        Weight::Shared(weight) => (vec![weight], true),
        Weight::Each(weights) => (in_f64(weights), false),
    }
}

impl Declared {
    pub fn note(&mut self, what: &str, numbers: &[u32], values: &[f64]) {
        self.fingerprint.add(what.as_bytes());
        self.fingerprint.add(&numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>());
        self.fingerprint.add(&values.iter().flat_map(|value| value.to_bits().to_le_bytes()).collect::<Vec<_>>());
    }

    pub fn table(&self, table: u32) -> Result<&DeclaredTable, Error> {
        self.tables.get(table as usize).ok_or(Error::Internal("a handle names no variable"))
    }

    pub fn term(&self, term: u32) -> Result<&DeclaredTerm, Error> {
        self.terms.get(term as usize).ok_or(Error::Disposed("term"))
    }

    /// Adds a table of rows of so many scalars and degrees of freedom.
    pub fn add_table(&mut self, name: &str, shapes: Vec<Shape>, [width, tangent]: [u32; 2], values: &[f64], moving: bool) -> u32 {
        self.note(&format!("table {name} {shapes:?}"), &[width, u32::from(moving)], values);
        let count = (values.len() / width as usize) as u32;
        let (name, values) = (name.into(), values.to_vec());
        self.tables.push(DeclaredTable { name, shapes, width, tangent, count, moving, values, free: None, limits: None });
        self.tables.len() as u32 - 1
    }

    /// Copies a term.
    ///
    /// # Errors
    /// [`Error`] for a term without instances, indices that lead nowhere, and data of another length.
    pub fn add_term(&mut self, spec: &TermSpec) -> Result<u32, Error> {
        if spec.count == 0 {
            return Err(Error::EmptyTerm(spec.name.clone()));
        }
        let length = |what: String, got: usize, expected: usize| match got == expected {
            true => Ok(()),
            false => Err(Error::DataLength { term: Some(spec.name.clone()), what, got, expected: expected.to_string() }),
        };
        let count = spec.count as usize;
        let of_term = format!("term \"{}\"", spec.name);
        for column in &spec.indices {
            length(format!("{of_term}: an index column"), column.len(), count)?;
        }
        for (number, slot) in (0..).zip(&spec.slots) {
            let table = self.table(slot.table)?;
            let column = spec.indices.get(slot.column as usize).ok_or(Error::Internal("a slot uses an index column that is not there"))?;
            if let Some(instance) = column.iter().position(|row| *row >= table.count) {
                return Err(Error::IndexOutOfRange {
                    term: spec.name.clone(),
                    slot: number,
                    instance: instance as u32,
                    index: column[instance],
                    table: table.name.clone(),
                    count: table.count,
                });
            }
        }
        for column in &spec.columns {
            let expected = if column.shared { 1 } else { count } * column.width as usize;
            length(format!("{of_term}: \"{}\"", column.name), column.values.len(), expected)?;
        }
        let (weight, shares_weight) = weights(&spec.weight);
        if !shares_weight {
            length(format!("{of_term}: weights"), weight.len(), count)?;
        }
        let column = |column: &Column| DeclaredColumn {
            name: column.name.clone(),
            width: column.width,
            shared: column.shared,
            values: in_f64(column.values),
        };
        let term = DeclaredTerm {
            name: spec.name.clone(),
            count: spec.count,
            cost: self.cost(spec),
            indices: spec.indices.clone(),
            slots: spec.slots.clone(),
            columns: spec.columns.iter().map(column).collect(),
            weight,
            shares_weight,
            loss: spec.loss.clone(),
            objective: spec.objective,
            tape: spec.tape.to_vec(),
            outputs: spec.outputs.to_vec(),
        };
        self.note(&format!("term {} {:?} {:?}", term.name, term.objective, term.loss), &[term.count], &[]);
        self.note("tape", &term.tape, &[]);
        self.note("outputs", &term.outputs, &[]);
        for slot in &term.slots {
            self.note("slot", &[slot.table, slot.column], &[]);
        }
        for column in &term.indices {
            self.note("index", column, &[]);
        }
        for column in &term.columns {
            self.note(&column.name, &[column.width, u32::from(column.shared)], &column.values);
        }
        self.note("weight", &[u32::from(term.shares_weight)], &term.weight);
        self.terms.push(term);
        Ok(self.terms.len() as u32 - 1)
    }

    /// Reals of an instance's derivatives, which a product reads, and of its residual: rows of a Jacobian, or those of a Hessian.
    fn cost(&self, spec: &TermSpec) -> u32 {
        let tables = || spec.slots.iter().map(|slot| &self.tables[slot.table as usize]);
        let columns: u32 = tables().filter(|table| table.moving).map(|table| table.tangent).sum();
        let slot = |(slot, width)| Source { leaf: Leaf::Slot { slot, component: 0 }, width };
        let data = |(column, width)| Source { leaf: Leaf::Data { column, component: 0 }, width };
        let mut sources: Vec<Source> = (0..).zip(tables().map(|table| table.width)).map(slot).collect();
        sources.extend((0..).zip(spec.columns.iter().map(|column| column.width)).map(data));
        // A tape that can't be read is refused by the problem that gets it.
        let rows = || tape::read(&mut Graph::new(), spec.tape, spec.outputs, &sources).map_or(1, |rows| rows.len() as u32);
        let rows = if spec.objective == Objective::LeastSquares { rows() } else { columns };
        rows.max(1).saturating_mul(columns + 1)
    }

    /// Index columns that lead to variables, term by term.
    pub fn links(&self) -> Vec<Links<'_>> {
        let moving = |slot: &&Slot| self.tables[slot.table as usize].moving;
        let mut all = Vec::new();
        for term in &self.terms {
            let slots = term.slots.iter().filter(moving).map(|slot| (slot.table, &term.indices[slot.column as usize][..]));
            all.push(Links { count: term.count, cost: term.cost, slots: slots.collect() });
        }
        all
    }

    /// Tables that a Schur complement eliminates, ascending, which all ranks find alike: those that were given, else the best.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] where residuals link them, and where nothing can be eliminated.
    pub fn eliminated(&self, given: Option<&[u32]>) -> Result<Vec<u32>, Error> {
        let links = self.links();
        let mut linked = Vec::new();
        for slots in links.iter().map(|term| &term.slots) {
            for (place, &(a, left)) in slots.iter().enumerate() {
                let others = slots[..place].iter().filter(|(b, right)| a != *b || left != *right);
                linked.extend(others.map(|&(b, _)| [a.min(b), a.max(b)]));
            }
        }
        let moving = (0..).zip(&self.tables).filter(|(_, table)| table.moving);
        let candidates = moving.map(|(number, table)| Candidate { number, name: &table.name, unknowns: table.tangent * table.count });
        let tables = choose_tables(&candidates.collect::<Vec<_>>(), &linked, given)?;
        let is_twice = |term: &&Links| term.slots.iter().filter(|(table, _)| tables.contains(table)).count() > 1;
        match links.iter().position(|term| is_twice(&term)) {
            Some(term) => Err(in_two_slots(&self.terms[term].name)),
            None => Ok(tables),
        }
    }
}

/// Some rows of so many values each.
pub fn rows<T: Copy>(values: &[T], width: u32, at: &[u32]) -> Vec<T> {
    at.iter().flat_map(|row| &values[(row * width) as usize..][..width as usize]).copied().collect()
}
