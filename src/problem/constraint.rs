//! Constraints c(x) = 0, c(x) ≤ 0 or c(x) ≥ 0, as terms of an augmented Lagrangian.
//!
//! With the penalty μ and multipliers λ, a constraint of weight w adds ½ μw ‖r‖² with rows r = kc + s, s = λ/(μwk), and of an
//! inequality (c ≤ 0; where c ≥ 0, −c stands for c) r = max(kc + s, 0): Powell (1969), Hestenes (1969) and Rockafellar (1973);
//! Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006, section 17.4. So a constraint is a residual like any other, and
//! k and s are data columns of it that no caller sees. k is a row's scale: a solve sets it by the row's slope at its start, so
//! that one penalty suits all rows.
//!
//! Where c is curved, its steps take the whole Hessian μw (JᵀJ + Σ rᵢ kᵢ∇²cᵢ), made semidefinite
//! ([`Objective::FullCurvature`]): μwkr is the next λ, so at the solution that is the curvature of the Lagrangian, which may be all
//! that there is.

mod snapshot;

use super::term::Values;
use super::{Column, Problem, RaggedSpec, Reals, Registry, Table, Term, TermSpec, Trace, Weight};
use leastwise_device::Device;
use leastwise_error::Error;
use leastwise_expr::tape::{self, Source};
use leastwise_expr::{Expr, Graph, Leaf, Opcode};
use leastwise_program::Objective;

/// What c is compared with 0 by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// c = 0
    Zero,
    /// c ≤ 0
    AtMostZero,
    /// c ≥ 0
    AtLeastZero,
}

impl Relation {
    /// The name that options and reports have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zero => "=0",
            Self::AtMostZero => "<=0",
            Self::AtLeastZero => ">=0",
        }
    }
}

/// What a term has besides that is a constraint.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Comparison of c with 0.
    pub relation: Relation,
    /// Rows of c.
    pub rows: u32,
    /// w, instance by instance, and μ.
    pub weight: Values,
    /// Penalty μ.
    pub penalty: f64,
    /// Scales k, instance by instance and row by row.
    pub scales: Vec<f64>,
    /// Shifts s, likewise.
    pub shifts: Vec<f64>,
    /// The column of s; that of k is the next.
    column: u32,
}

impl Constraint {
    /// The number of a caller's column: those of entries come after the hidden ones.
    pub(super) fn column_of(&self, column: u32) -> u32 {
        if column < self.column { column } else { column + 2 }
    }

    /// λ of all rows; of inequalities none is negative.
    pub fn multipliers(&self) -> Vec<f64> {
        let weight = |place: usize| self.weight.at(place / self.rows as usize);
        let scaled = self.shifts.iter().zip(&self.scales).map(|(shift, scale)| shift * scale);
        scaled.enumerate().map(|(place, shift)| self.penalty * weight(place) * shift).collect()
    }
}

/// The names of the columns of shifts and scales, which no caller's column has.
const SHIFTS: &str = "";
const SCALES: &str = "\0";
/// A shift beyond all values of c: with it the slopes of inequalities that hold show, too.
const OPEN: f64 = 1e30;

/// A tape that goes on where another ends.
struct Continued {
    words: Vec<u32>,
    values: u32,
}

impl Continued {
    /// The tape with room for `more` sources from one on.
    fn of(words: &[u32], from: u32, more: u32) -> Self {
        let (mut at, mut values) = (0, 0);
        let mut words = words.to_vec();
        while let Some(&word) = words.get(at) {
            let next = at + 1 + (word >> 16) as usize;
            if word & 0xffff == Opcode::Input as u32
                && let Some(source) = words.get_mut(at + 1)
                && *source >= from
            {
                *source += more;
            }
            (at, values) = (next, values + 1);
        }
        Self { words, values }
    }

    fn push(&mut self, opcode: Opcode, operands: &[u32]) -> u32 {
        self.words.push(opcode as u32 | (operands.len() as u32) << 16);
        self.words.extend(operands);
        self.values += 1;
        self.values - 1
    }
}

/// Unknowns of an instance up to which its whole Hessian is taken: of more, its entries are too many to be written out.
const MOST_CURVED: u32 = 64;

/// What a constraint's outputs are.
struct Outputs {
    /// Scalars of each.
    widths: Vec<u32>,
    /// True if their second derivatives are to be taken: some are not 0.
    is_curved: bool,
}

/// Values of the columns that no caller sees.
#[derive(Clone)]
struct Hidden {
    rows: u32,
    shifts: Vec<f64>,
    scales: Vec<f64>,
}

impl Hidden {
    fn new(count: u32, rows: u32) -> Self {
        let [shifts, scales] = [0.0, 1.0].map(|value| vec![value; count as usize * rows as usize]);
        Self { rows, shifts, scales }
    }

    fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        let all = [(SHIFTS, &self.shifts), (SCALES, &self.scales)];
        all.into_iter().map(|(name, values)| Column { name: name.into(), width: self.rows, shared: false, values: Reals::F64(values) })
    }
}

fn without_loss(spec: &TermSpec) -> Result<(), Error> {
    if spec.loss.is_none() {
        return Ok(());
    }
    let message = "a constraint has no loss: it is met, or it is not".into();
    Err(Error::Shape { name: spec.name.clone(), message })
}

fn objective(is_curved: bool) -> Objective {
    if is_curved { Objective::FullCurvature } else { Objective::LeastSquares }
}

/// The source of a slot or column of a width, where leaves count through.
fn source((width, slot): (u32, u32)) -> Source {
    Source { leaf: Leaf::Slot { slot, component: 0 }, width }
}

/// True if a first derivative of some rows depends on an input.
fn bends(graph: &mut Graph, rows: &[Expr], inputs: &[Expr]) -> bool {
    rows.iter().any(|&row| {
        let slopes = graph.gradient(row, inputs);
        let reached = graph.reachable(&slopes);
        inputs.iter().any(|input| reached.get(input.0 as usize) == Some(&true))
    })
}

/// A tape and its outputs.
type Shifted = (Vec<u32>, Vec<u32>);

/// The tape of r, and its outputs, from those of c. Shifts and scales are the sources after the first `inputs`.
fn shifted((tape, outputs): (&[u32], &[u32]), (inputs, rows): (u32, u32), relation: Relation, widths: &[u32]) -> Shifted {
    let c_outputs = outputs;
    let mut tape = Continued::of(tape, inputs, 2);
    let [shifts, scales] = [inputs, inputs + 1].map(|input| tape.push(Opcode::Input, &[input]));
    let zero = tape.push(Opcode::Literal, &[0, 0]);
    let (mut outputs, mut row) = (Vec::new(), 0);
    for (&output, &width) in c_outputs.iter().zip(widths) {
        for component in 0..width {
            let mut c = if width == 1 { output } else { tape.push(Opcode::Component, &[output, component]) };
            if relation == Relation::AtLeastZero {
                c = tape.push(Opcode::Neg, &[c]);
            }
            let [shift, scale] =
                [shifts, scales].map(|column| if rows == 1 { column } else { tape.push(Opcode::Component, &[column, row]) });
            let scaled = tape.push(Opcode::Mul, &[c, scale]);
            let sum = tape.push(Opcode::Add, &[scaled, shift]);
            outputs.push(if relation == Relation::Zero { sum } else { tape.push(Opcode::Max, &[sum, zero]) });
            row += 1;
        }
    }
    (tape.words, outputs)
}

impl Problem {
    /// A term that is a constraint: its tape is c.
    ///
    /// # Errors
    /// [`Error`] for a loss, and for what no term may be.
    pub fn add_constraint(&mut self, device: &Device, registry: &mut Registry, spec: TermSpec, relation: Relation) -> Result<u32, Error> {
        spec.validate(&self.tables)?;
        without_loss(&spec)?;
        let slots: Vec<u32> = spec.slots.iter().map(|slot| slot.table).collect();
        let widths = slots.iter().map(|&table| self.tables.get(table as usize).map_or(0, |table| table.width));
        let sources: Vec<Source> = widths.chain(spec.columns.iter().map(|column| column.width)).zip(0..).map(source).collect();
        let Outputs { widths, is_curved } = self.outputs(&spec.name, (spec.tape, spec.outputs), &sources, &slots)?;
        let rows: u32 = widths.iter().sum();
        let inputs = (spec.slots.len() + spec.columns.len()) as u32;
        let (tape, outputs) = shifted((spec.tape, spec.outputs), (inputs, rows), relation, &widths);
        let (column, weight, hidden) = (spec.columns.len() as u32, spec.weight, Hidden::new(spec.count, rows));
        let mut columns = spec.columns;
        columns.extend(hidden.columns());
        let spec = TermSpec { columns, objective: objective(is_curved), tape: &tape, outputs: &outputs, ..spec };
        let number = self.add_term(device, registry, spec)?;
        self.become_constraint(number, relation, weight, column, &hidden)
    }

    /// The same of a term of which some slots have a row of entries an instance. Where lengths give different numbers of rows of c,
    /// shorter ones end with 0.
    ///
    /// # Errors
    /// [`Error`] for a loss, and for what no term may be.
    pub fn add_ragged_constraint(
        &mut self,
        device: &Device,
        registry: &mut Registry,
        spec: RaggedSpec,
        relation: Relation,
    ) -> Result<u32, Error> {
        spec.validate(&self.tables)?;
        without_loss(&spec.plain)?;
        let all = spec.traces.iter().map(|trace| {
            let entries = (0..trace.length).flat_map(|_| &spec.slots).map(|slot| slot.table);
            let slots: Vec<u32> = spec.plain.slots.iter().map(|slot| slot.table).chain(entries).collect();
            self.outputs(&spec.plain.name, (trace.tape, trace.outputs), &spec.sources(trace.length, &self.tables), &slots)
        });
        let all = all.collect::<Result<Vec<Outputs>, Error>>()?;
        let rows = all.iter().map(|outputs| outputs.widths.iter().sum()).max().unwrap_or(0);
        let inputs = (spec.plain.slots.len() + spec.plain.columns.len()) as u32;
        let tapes =
            spec.traces.iter().zip(&all).map(|(trace, Outputs { widths, .. })| {
                (trace.length, shifted((trace.tape, trace.outputs), (inputs, rows), relation, widths))
            });
        let tapes: Vec<(u32, Shifted)> = tapes.collect();
        let traces = tapes.iter().map(|(length, (tape, outputs))| Trace { length: *length, tape, outputs }).collect();
        let (column, weight, hidden) = (spec.plain.columns.len() as u32, spec.plain.weight, Hidden::new(spec.plain.count, rows));
        let RaggedSpec { plain, offsets, slots, columns: of_entries, .. } = spec;
        let mut columns = plain.columns;
        columns.extend(hidden.columns());
        let is_curved = all.iter().any(|outputs| outputs.is_curved);
        let plain = TermSpec { columns, objective: objective(is_curved), ..plain };
        let number = self.add_ragged(device, registry, RaggedSpec { plain, offsets, slots, columns: of_entries, traces })?;
        self.become_constraint(number, relation, weight, column, &hidden)
    }

    fn become_constraint(&mut self, number: u32, relation: Relation, weight: Weight, column: u32, hidden: &Hidden) -> Result<u32, Error> {
        let term = self.term_mut(number)?;
        let weight = term.weight_values(weight)?;
        let Hidden { rows, shifts, scales } = hidden.clone();
        term.constraint = Some(Constraint { relation, rows, weight, penalty: 1.0, scales, shifts, column });
        Ok(number)
    }

    /// What a tape's outputs are. The first sources are slots, of these tables, wherever their leaves are.
    fn outputs(&self, name: &str, (tape, outputs): (&[u32], &[u32]), sources: &[Source], slots: &[u32]) -> Result<Outputs, Error> {
        let mut graph = Graph::new();
        let (mut rows, mut widths) = (Vec::new(), Vec::new());
        for &output in outputs {
            let read = tape::read(&mut graph, tape, &[output], sources);
            let scalars = read.map_err(|error| Error::Tape { term: name.into(), error })?;
            widths.push(scalars.len() as u32);
            rows.extend(scalars);
        }
        let tables = slots.iter().map(|&table| self.tables.get(table as usize));
        let moving: Vec<(u32, &Table)> =
            (0..).zip(tables).filter_map(|(slot, table)| Some((slot, table?))).filter(|(_, table)| table.moving).collect();
        let unknowns = moving.iter().flat_map(|&(slot, table)| (0..table.width).map(move |component| Leaf::Slot { slot, component }));
        let inputs: Vec<Expr> = unknowns.map(|leaf| graph.leaf(leaf)).collect();
        let is_curved = moving.iter().map(|(_, table)| table.tangent).sum::<u32>() <= MOST_CURVED
            && (moving.iter().any(|(_, table)| table.manifold.is_some()) || bends(&mut graph, &rows, &inputs));
        Ok(Outputs { widths, is_curved })
    }

    /// The constraints that take part, with their terms' numbers.
    pub fn enabled_constraints(&self) -> impl Iterator<Item = (u32, &Term, &Constraint)> {
        let terms = (0..).zip(&self.terms).filter_map(|(number, term)| Some((number, term.as_ref()?)));
        terms.filter(|(_, term)| term.enabled).filter_map(|(number, term)| Some((number, term, term.constraint.as_ref()?)))
    }

    /// Sets a constraint's μ and s; s is what the device will have of it.
    pub fn set_multipliers(&mut self, device: &Device, term: u32, penalty: f64, mut shifts: Vec<f64>) -> Result<(), Error> {
        if device.precision() == leastwise_device::Precision::F32 {
            shifts.iter_mut().for_each(|shift| *shift = f64::from(*shift as f32));
        }
        let constraint = self.term_mut(term)?.constraint.as_mut().ok_or(Error::Internal("a term is not a constraint"))?;
        (constraint.penalty, constraint.shifts) = (penalty, shifts.clone());
        let column = constraint.column;
        self.replace_column(term, column, Reals::F64(&shifts))?;
        self.weigh_constraint(term)
    }

    /// Sets a constraint's k; λ stays.
    pub fn set_scales(&mut self, term: u32, scales: Vec<f64>) -> Result<(), Error> {
        let constraint = self.term_mut(term)?.constraint.as_mut().ok_or(Error::Internal("a term is not a constraint"))?;
        let before = std::mem::replace(&mut constraint.scales, scales.clone());
        constraint.shifts.iter_mut().zip(before.iter().zip(&scales)).for_each(|(shift, (before, scale))| *shift *= before / scale);
        let column = constraint.column;
        let shifts = constraint.shifts.clone();
        self.replace_column(term, column, Reals::F64(&shifts))?;
        self.replace_column(term, column + 1, Reals::F64(&scales))
    }

    /// Has all rows of a constraint show their slopes, until it is closed: only on the device, λ stays.
    pub fn open_constraint(&mut self, term: u32, open: bool) -> Result<(), Error> {
        let constraint = self.term(term)?.constraint.as_ref().ok_or(Error::Internal("a term is not a constraint"))?;
        let column = constraint.column;
        let shifts = if open { vec![OPEN; constraint.shifts.len()] } else { constraint.shifts.clone() };
        self.replace_column(term, column, Reals::F64(&shifts))
    }

    /// The weight μw of a constraint.
    pub(super) fn weigh_constraint(&mut self, term: u32) -> Result<(), Error> {
        let constraint = self.term(term)?.constraint.as_ref().ok_or(Error::Internal("a term is not a constraint"))?;
        let (penalty, weight) = (constraint.penalty, constraint.weight.clone());
        match weight {
            Values::Shared(weight) => self.replace_weight(term, Weight::Shared(penalty * weight)),
            Values::Each(mut weights) => {
                weights.iter_mut().for_each(|weight| *weight *= penalty);
                self.replace_weight(term, Weight::Each(Reals::F64(&weights)))
            }
        }
    }
}
