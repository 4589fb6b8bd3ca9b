//! What a checkpoint has of a problem: marks, by which another is found to be the same, and all that may have been edited.

use super::bounds::TableBounds;
use super::registry::{Datum, Reading};
use super::term::{Contents, NamedColumn, Per, Term, Values};
use super::{Entries, Problem, Table};
use crate::file::bytes::{Reader, Writer};
use crate::file::malformed;
use leastwise_base::FileError;
use leastwise_device::{Command, Device};
use leastwise_error::Error;

/// FNV-1a over words.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn word(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3);
    }

    fn words<'a>(&mut self, words: impl IntoIterator<Item = &'a u32>) {
        let mut count = 0;
        for word in words {
            self.word(*word);
            count += 1;
        }
        self.word(count);
    }

    fn number(&mut self, number: f64) {
        let bits = number.to_bits();
        [bits as u32, (bits >> 32) as u32].into_iter().for_each(|word| self.word(word));
    }
}

/// What tells a table from others.
#[derive(PartialEq)]
struct TableMark {
    name: String,
    width: u32,
    count: u32,
    moving: bool,
    manifold: u64,
}

/// What tells a term from others.
#[derive(PartialEq)]
struct TermMark {
    name: String,
    count: u32,
    columns: Vec<NamedColumn>,
    weight_shared: bool,
    /// Of what is computed, and of which variables it is computed of.
    function: u64,
    indices: u64,
}

/// The marks of a problem.
pub struct Marks {
    tables: Vec<TableMark>,
    terms: Vec<TermMark>,
}

impl Marks {
    /// Appends the marks to a section.
    pub fn write(&self, to: &mut Writer) {
        to.u32(self.tables.len() as u32);
        for TableMark { name, width, count, moving, manifold } in &self.tables {
            to.text(name);
            to.u32(*width);
            to.u32(*count);
            to.flag(*moving);
            to.u64(*manifold);
        }
        to.u32(self.terms.len() as u32);
        for TermMark { name, count, columns, weight_shared, function, indices } in &self.terms {
            to.text(name);
            to.u32(*count);
            to.u32(columns.len() as u32);
            for NamedColumn { name, width, per } in columns {
                to.text(name);
                to.u32(*width);
                to.u32(*per as u32);
            }
            to.flag(*weight_shared);
            to.u64(*function);
            to.u64(*indices);
        }
    }

    /// Reads marks back.
    ///
    /// # Errors
    /// [`FileError`] where the section ends early or holds what no marks are.
    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        let tables = from.u32()?;
        let tables = from.list(tables, |from| {
            Ok(TableMark { name: from.text()?, width: from.u32()?, count: from.u32()?, moving: from.flag()?, manifold: from.u64()? })
        })?;
        let column = |from: &mut Reader| {
            let (name, width) = (from.text()?, from.u32()?);
            let per = match from.u32()? {
                0 => Per::Term,
                1 => Per::Instance,
                2 => Per::Entry,
                other => return Err(malformed(format!("a column has {other} values"))),
            };
            Ok(NamedColumn { name, width, per })
        };
        let terms = from.u32()?;
        let terms = from.list(terms, |from| {
            let (name, count, columns) = (from.text()?, from.u32()?, from.u32()?);
            let columns = from.list(columns, column)?;
            Ok(TermMark { name, count, columns, weight_shared: from.flag()?, function: from.u64()?, indices: from.u64()? })
        })?;
        Ok(Self { tables, terms })
    }

    /// Refuses marks that are not those of this problem, and says what differs first.
    pub fn compare(&self, own: &Self) -> Result<(), Error> {
        let differs = |message: String| Err(Error::Checkpoint(message));
        let (known, here) = (self.tables.len(), own.tables.len());
        if known != here {
            return differs(format!("it has {known} tables of variables and constants, and this problem {here}"));
        }
        for (known, own) in self.tables.iter().zip(&own.tables) {
            let kind = |table: &TableMark| if table.moving { "variables" } else { "constants" };
            if known.name != own.name || known.moving != own.moving {
                return differs(format!("it has {} \"{}\" where this problem has {} \"{}\"", kind(known), known.name, kind(own), own.name));
            }
            let name = &own.name;
            if known.width != own.width || known.manifold != own.manifold {
                return differs(format!(
                    "an instance of \"{name}\" has {} scalars in it, and {} here, or lies on another manifold",
                    known.width, own.width
                ));
            }
            if known.count != own.count {
                return differs(format!("\"{name}\" has {} instances in it, and {} here", known.count, own.count));
            }
        }
        let (known, here) = (self.terms.len(), own.terms.len());
        if known != here {
            return differs(format!("it has {known} terms, and this problem {here}"));
        }
        for (known, own) in self.terms.iter().zip(&own.terms) {
            let name = &own.name;
            if known.name != own.name {
                return differs(format!("it has a term \"{}\" where this problem has \"{name}\"", known.name));
            }
            if known.count != own.count {
                return differs(format!("term \"{name}\" has {} instances in it, and {} here", known.count, own.count));
            }
            if known.columns != own.columns || known.weight_shared != own.weight_shared {
                return differs(format!("term \"{name}\" has other data columns, or another kind of weight"));
            }
            if known.function != own.function {
                return differs(format!("term \"{name}\" computes something else: its function, a number in it, or its kind of loss"));
            }
            if known.indices != own.indices {
                return differs(format!("term \"{name}\" is of other instances of its variables: its indices differ"));
            }
        }
        Ok(())
    }
}

/// What of a problem may have been edited, but for its values.
pub struct Edits {
    bounds: Vec<TableBounds>,
    terms: Vec<TermEdits>,
}

struct TermEdits {
    enabled: bool,
    loss: Option<Vec<f64>>,
    /// Of every part, its scalars of data but literals, and its weight.
    parts: Vec<(Vec<Values>, Values)>,
    entries: Vec<Values>,
    /// Of a constraint, μ, w, s and k.
    constraint: Option<(f64, Values, [Vec<f64>; 2])>,
}

impl Edits {
    /// Whether the same terms take part as in the problem.
    pub fn select_as(&self, problem: &Problem) -> bool {
        self.terms.iter().map(|term| term.enabled).eq(problem.terms().map(|term| term.enabled))
    }

    /// Reads the edits of a file that has the marks of this problem.
    ///
    /// # Errors
    /// [`Error::File`] for values that the problem could not have.
    pub fn read(from: &mut Reader, problem: &Problem) -> Result<Self, Error> {
        let bounds = problem.tables.iter().map(|table| table.read_bounds(from)).collect::<Result<_, Error>>()?;
        let terms = problem.terms().map(|term| TermEdits::read(from, term)).collect::<Result<_, FileError>>()?;
        Ok(Self { bounds, terms })
    }
}

impl TermEdits {
    fn read(from: &mut Reader, term: &Term) -> Result<Self, FileError> {
        let enabled = from.flag()?;
        let loss = from.option(Reader::numbers)?;
        if loss.as_ref().map(Vec::len) != term.loss.as_ref().map(|loss| loss.parameters.len())
            || loss.iter().flatten().any(|p| !p.is_finite())
        {
            return Err(malformed(format!("the parameters of the loss of term \"{}\" are none", term.name)));
        }
        let parts = term.parts.iter().map(|part| {
            let data = read_data(from, term, &part.reading, &part.contents)?;
            let weight = read_values(from, term, &part.contents.weight)?;
            let negative = match &weight {
                Values::Shared(weight) => *weight < 0.0,
                Values::Each(weights) => weights.iter().any(|weight| *weight < 0.0),
            };
            if negative { Err(malformed(format!("a weight of term \"{}\" is negative", term.name))) } else { Ok((data, weight)) }
        });
        let parts = parts.collect::<Result<_, FileError>>()?;
        let entries = match &term.entries {
            Some(entries) => read_data(from, term, &entries.reading, &entries.contents)?,
            None => Vec::new(),
        };
        let constraint = from.option(|from| Ok((from.f64()?, from.flag()?, from.numbers()?, [from.numbers()?, from.numbers()?])))?;
        let constraint = constraint.map(|(penalty, shared, weights, rows)| {
            (penalty, if shared { Values::Shared(weights.first().copied().unwrap_or(f64::NAN)) } else { Values::Each(weights) }, rows)
        });
        let fits = match (&constraint, &term.constraint) {
            (None, None) => true,
            (Some((penalty, weight, [shifts, scales])), Some(own)) => {
                let weights = |values: &Values| if let Values::Each(values) = values { values.clone() } else { vec![values.at(0)] };
                let (known, here) = (weights(weight), weights(&own.weight));
                let is_number = |value: &f64| value.is_finite() && *value >= 0.0;
                penalty.is_finite()
                    && *penalty > 0.0
                    && weight.is_shared() == own.weight.is_shared()
                    && known.len() == here.len()
                    && known.iter().all(is_number)
                    && shifts.len() == own.shifts.len()
                    && shifts.iter().all(|shift| shift.is_finite())
                    && scales.len() == own.scales.len()
                    && scales.iter().all(|scale| scale.is_finite() && *scale > 0.0)
            }
            _ => false,
        };
        if !fits {
            return Err(malformed(format!("the multipliers of term \"{}\" are none", term.name)));
        }
        Ok(Self { enabled, loss, parts, entries, constraint })
    }
}

/// The scalars of data that may be edited.
fn edited(reading: &Reading) -> impl Iterator<Item = usize> {
    reading.data.iter().enumerate().filter(|(_, datum)| !matches!(datum, Datum::Literal(_))).map(|(scalar, _)| scalar)
}

fn write_values(to: &mut Writer, values: &Values) {
    to.flag(values.is_shared());
    match values {
        Values::Shared(value) => to.numbers(&[*value]),
        Values::Each(values) => to.numbers(values),
    }
}

/// Values of the kind of those that are there.
fn read_values(from: &mut Reader, term: &Term, like: &Values) -> Result<Values, FileError> {
    let (shared, values) = (from.flag()?, from.numbers()?);
    let count = if let Values::Each(values) = like { values.len() } else { 1 };
    if shared != like.is_shared() || values.len() != count || values.iter().any(|value| !value.is_finite()) {
        return Err(malformed(format!("data of term \"{}\" are not what they should be", term.name)));
    }
    Ok(if shared { Values::Shared(values[0]) } else { Values::Each(values) })
}

fn read_data(from: &mut Reader, term: &Term, reading: &Reading, contents: &Contents) -> Result<Vec<Values>, FileError> {
    edited(reading).map(|scalar| read_values(from, term, &contents.data[scalar])).collect()
}

fn same(a: &Values, b: &Values) -> bool {
    match (a, b) {
        (Values::Shared(a), Values::Shared(b)) => a.to_bits() == b.to_bits(),
        (Values::Each(a), Values::Each(b)) => a.iter().map(|a| a.to_bits()).eq(b.iter().map(|b| b.to_bits())),
        _ => false,
    }
}

/// What is computed by a part of a term, or for its entries.
fn digest_function(digest: &mut Digest, reading: &Reading, contents: &Contents) {
    let mut words = Vec::new();
    reading.structure.write_words(&mut words);
    for (scalar, datum) in reading.data.iter().enumerate() {
        match *datum {
            Datum::Column { column, component } => words.extend([0, column, component]),
            Datum::Loss(number) => words.extend([1, number]),
            Datum::Literal(_) => match &contents.data[scalar] {
                Values::Shared(value) => digest.number(*value),
                Values::Each(values) => values.iter().for_each(|value| digest.number(*value)),
            },
        }
        words.push(u32::from(contents.data[scalar].is_shared()));
    }
    digest.words(&words);
}

fn digest_indices(digest: &mut Digest, tables: &[u32], contents: &Contents) {
    digest.words(tables);
    contents.indices.iter().for_each(|column| digest.words(column));
}

impl Term {
    fn mark(&self) -> TermMark {
        let [mut function, mut indices] = [Digest::new(), Digest::new()];
        for part in &self.parts {
            digest_function(&mut function, &part.reading, &part.contents);
            digest_indices(&mut indices, &part.tables, &part.contents);
            indices.words(part.instances.iter().flatten());
        }
        if let Some(entries) = self.entries.as_deref() {
            let Entries { reading, contents, tables, rows, .. } = entries;
            digest_function(&mut function, reading, contents);
            digest_indices(&mut indices, tables, contents);
            indices.words(&**rows);
        }
        TermMark {
            name: self.name.clone(),
            count: self.count,
            columns: self.columns.clone(),
            weight_shared: self.weight_shared,
            function: function.0,
            indices: indices.0,
        }
    }

    fn write_edits(&self, to: &mut Writer) {
        to.flag(self.enabled);
        to.option(self.loss.as_ref(), |to, loss| to.numbers(&loss.parameters));
        for part in &self.parts {
            edited(&part.reading).for_each(|scalar| write_values(to, &part.contents.data[scalar]));
            write_values(to, &part.contents.weight);
        }
        if let Some(entries) = &self.entries {
            edited(&entries.reading).for_each(|scalar| write_values(to, &entries.contents.data[scalar]));
        }
        to.option(self.constraint.as_ref(), |to, constraint| {
            to.f64(constraint.penalty);
            write_values(to, &constraint.weight);
            to.numbers(&constraint.shifts);
            to.numbers(&constraint.scales);
        });
    }
}

impl Table {
    fn mark(&self) -> TableMark {
        let mut manifold = Digest::new();
        manifold.words(self.manifold.iter().flat_map(|manifold| manifold.key()));
        TableMark { name: self.name.clone(), width: self.width, count: self.count, moving: self.moving, manifold: manifold.0 }
    }

    fn write_bounds(&self, to: &mut Writer) {
        to.option(self.bounds.free.as_deref(), Writer::flags);
        to.option(self.bounds.bounds.as_ref(), |to, bounds| bounds.iter().for_each(|side| to.numbers(side)));
    }

    fn read_bounds(&self, from: &mut Reader) -> Result<TableBounds, Error> {
        let free = from.option(Reader::flags)?;
        let bounds = from.option(|from| Ok([from.numbers()?, from.numbers()?]))?;
        let unknowns = self.unknowns() as usize;
        let fits = |length: usize| self.moving && length == unknowns;
        let is_box = |[lower, upper]: &[Vec<f64>; 2]| {
            self.manifold.is_none()
                && fits(lower.len())
                && fits(upper.len())
                && lower.iter().zip(upper).all(|(lower, upper)| lower <= upper)
        };
        if !free.as_ref().is_none_or(|free| fits(free.len())) || !bounds.as_ref().is_none_or(is_box) {
            return Err(malformed(format!("what is fixed or bounded of \"{}\" makes no sense", self.name)).into());
        }
        Ok(TableBounds { free, bounds })
    }

    /// Refuses values that are not finite, or not on its manifold; they are taken as they are, to the bit.
    fn check_restored(&self, values: &[f64]) -> Result<(), Error> {
        if values.iter().any(|value| !value.is_finite()) {
            return Err(malformed(format!("a value of \"{}\" isn't finite", self.name)).into());
        }
        let Some(manifold) = &self.manifold else { return Ok(()) };
        let off = |error| Error::Manifold { name: self.name.clone(), error };
        manifold.settle(&mut values.to_vec(), |place| place).map_err(off)
    }
}

impl Problem {
    /// Marks of the problem as it is: names, shapes, counts, hashes of indices and residuals.
    pub fn marks(&self) -> Marks {
        Marks { tables: self.tables.iter().map(Table::mark).collect(), terms: self.terms().map(Term::mark).collect() }
    }

    /// Appends bounds, data, weights, losses and enabled terms to a section.
    pub fn write_edits(&self, to: &mut Writer) {
        self.tables.iter().for_each(|table| table.write_bounds(to));
        self.terms().for_each(|term| term.write_edits(to));
    }

    /// Refuses values, table by table, that can't be those of its tables (or of those that move).
    pub fn check_restored(&self, values: &[f64], moving: bool) -> Result<(), Error> {
        let mut rest = values;
        for table in self.tables.iter().filter(|table| table.moving || !moving) {
            let (own, others) = rest.split_at(table.elements() as usize);
            table.check_restored(own)?;
            rest = others;
        }
        Ok(())
    }

    /// Takes over the values of all tables, and edits, that were found to be good.
    pub fn restore(&mut self, device: &mut Device, values: &[f64], edits: Edits) -> Result<(), Error> {
        self.restore_values(values);
        self.restore_bounds(device, edits.bounds);
        let numbers: Vec<u32> = (0..).zip(&self.terms).filter(|(_, term)| term.is_some()).map(|(number, _)| number).collect();
        for (number, edits) in numbers.into_iter().zip(edits.terms) {
            self.restore_term(number, edits)?;
        }
        Ok(())
    }

    /// Takes over the values of all tables, which were found to be good, to the bit.
    pub fn restore_values(&mut self, values: &[f64]) {
        self.revision += 1;
        let mut rest = values;
        for table in &mut self.tables {
            let (own, others) = rest.split_at(table.elements() as usize);
            rest = others;
            let Some(arena) = self.arena.filter(|_| table.initial.is_none()) else {
                table.initial = Some(own.to_vec());
                continue;
            };
            table.restore_exact(own);
            table.learn(0, own);
            let mut upload = |buffer| self.uploads.push(Command::UploadReals { buffer, offset: table.arena, data: own.to_vec() });
            if !table.moving {
                upload(arena.trial);
            }
            upload(arena.point);
        }
    }

    /// Bounds are laid out anew where they differ: with them a step takes another way, whether or not they hold it.
    fn restore_bounds(&mut self, device: &mut Device, bounds: Vec<TableBounds>) {
        if self.tables.iter().map(|table| &table.bounds).eq(&bounds) {
            return;
        }
        self.tables.iter_mut().zip(bounds).for_each(|(table, restored)| table.bounds = restored);
        self.free_bounds(device);
        self.structure += 1;
    }

    fn restore_term(&mut self, number: u32, edits: TermEdits) -> Result<(), Error> {
        let data = |term: &Term, part: usize| {
            let of = &term.parts[part];
            let (data, weight) = &edits.parts[part];
            let changed = edited(&of.reading).zip(data).filter(|(scalar, values)| !same(&of.contents.data[*scalar], values));
            let mut replaced: Vec<(Option<usize>, Values)> = changed.map(|(scalar, values)| (Some(scalar), values.clone())).collect();
            if !same(&of.contents.weight, weight) {
                replaced.push((None, weight.clone()));
            }
            replaced
        };
        for part in 0..edits.parts.len() {
            for (scalar, values) in data(self.term(number)?, part) {
                self.replace(number, part, scalar, values)?;
            }
        }
        let of_entries = |entries: &Entries| {
            let scalars = edited(&entries.reading).zip(edits.entries.clone());
            scalars.filter(|(scalar, values)| !same(&entries.contents.data[*scalar], values)).collect::<Vec<_>>()
        };
        for (scalar, values) in self.term(number)?.entries.as_deref().map(of_entries).unwrap_or_default() {
            self.replace_of_entries(number, scalar, values);
        }
        if let (Some(loss), Some(parameters)) = (&mut self.term_mut(number)?.loss, edits.loss) {
            loss.parameters = parameters;
        }
        if let (Some(own), Some((penalty, weight, [shifts, scales]))) = (&mut self.term_mut(number)?.constraint, edits.constraint) {
            (own.penalty, own.weight, own.shifts, own.scales) = (penalty, weight, shifts, scales);
        }
        self.set_enabled(number, edits.enabled)
    }
}
