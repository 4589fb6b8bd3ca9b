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

use super::term::Values;
use super::{Column, Problem, Reals, Registry, Table, Term, TermSpec, Weight};
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
    fn of(words: &[u32]) -> Self {
        let (mut at, mut values) = (0, 0);
        while let Some(word) = words.get(at) {
            at += 1 + (word >> 16) as usize;
            values += 1;
        }
        Self { words: words.to_vec(), values }
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

/// True if a first derivative of some rows depends on an input.
fn bends(graph: &mut Graph, rows: &[Expr], inputs: &[Expr]) -> bool {
    rows.iter().any(|&row| {
        let slopes = graph.gradient(row, inputs);
        let reached = graph.reachable(&slopes);
        inputs.iter().any(|input| reached.get(input.0 as usize) == Some(&true))
    })
}

/// The tape of r, and its outputs: c is in the outputs of the term's.
fn shifted(spec: &TermSpec, relation: Relation, widths: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut tape = Continued::of(spec.tape);
    let inputs = (spec.slots.len() + spec.columns.len()) as u32;
    let [shifts, scales] = [inputs, inputs + 1].map(|input| tape.push(Opcode::Input, &[input]));
    let rows: u32 = widths.iter().sum();
    let zero = tape.push(Opcode::Literal, &[0, 0]);
    let (mut outputs, mut row) = (Vec::new(), 0);
    for (&output, &width) in spec.outputs.iter().zip(widths) {
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
    pub fn add_constraint(&mut self, device: &Device, registry: &mut Registry, spec: TermSpec, relation: Relation) -> Result<u32, Error> {
        spec.validate(&self.tables)?;
        if spec.loss.is_some() {
            let message = "a constraint has no loss: it is met, or it is not".into();
            return Err(Error::Shape { name: spec.name, message });
        }
        let Outputs { widths, is_curved } = self.outputs(&spec)?;
        let rows: u32 = widths.iter().sum();
        let (tape, outputs) = shifted(&spec, relation, &widths);
        let [shifts, scales] = [0.0, 1.0].map(|value| vec![value; spec.count as usize * rows as usize]);
        let column = spec.columns.len() as u32;
        let mut columns = spec.columns;
        for (name, values) in [(SHIFTS, &shifts), (SCALES, &scales)] {
            columns.push(Column { name: name.into(), width: rows, shared: false, values: Reals::F64(values) });
        }
        let objective = if is_curved { Objective::FullCurvature } else { Objective::LeastSquares };
        let spec = TermSpec { columns, objective, tape: &tape, outputs: &outputs, ..spec };
        let weight = spec.weight;
        let number = self.add_term(device, registry, spec)?;
        let term = self.term_mut(number)?;
        let weight = term.weight_values(weight)?;
        let (shifts, scales) = (shifts.clone(), scales.clone());
        term.constraint = Some(Constraint { relation, rows, weight, penalty: 1.0, scales, shifts, column });
        Ok(number)
    }

    /// What a tape's outputs are.
    fn outputs(&self, spec: &TermSpec) -> Result<Outputs, Error> {
        let tables: Vec<&Table> = spec.slots.iter().filter_map(|slot| self.tables.get(slot.table as usize)).collect();
        let slots = tables.iter().map(|table| table.width);
        let columns = spec.columns.iter().map(|column| column.width);
        let sources: Vec<Source> =
            slots.chain(columns).zip(0..).map(|(width, slot)| Source { leaf: Leaf::Slot { slot, component: 0 }, width }).collect();
        let mut graph = Graph::new();
        let mut rows = Vec::new();
        let mut widths = Vec::new();
        for &output in spec.outputs {
            let read = tape::read(&mut graph, spec.tape, &[output], &sources);
            let scalars = read.map_err(|error| Error::Tape { term: spec.name.clone(), error })?;
            widths.push(scalars.len() as u32);
            rows.extend(scalars);
        }
        let moving: Vec<(u32, &Table)> = (0..).zip(tables).filter(|(_, table)| table.moving).collect();
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

    /// Refuses constraints where what is asked for has no word for them.
    pub fn without_constraints(&self, what: &str, why: &str) -> Result<(), Error> {
        match self.enabled_constraints().next() {
            None => Ok(()),
            Some((_, term, _)) => Err(Error::InvalidOption(format!("{what}: \"{}\" is a constraint, {why}: disable it", term.name))),
        }
    }

    /// Sets a constraint's μ and s; s is what the device will have of it.
    pub fn set_multipliers(&mut self, device: &Device, term: u32, penalty: f64, mut shifts: Vec<f64>) -> Result<(), Error> {
        if device.precision() == leastwise_device::Precision::F32 {
            shifts.iter_mut().for_each(|shift| *shift = f64::from(*shift as f32));
        }
        let constraint = self.term_mut(term)?.constraint.as_mut().ok_or(Error::Internal("a term is not a constraint"))?;
        (constraint.penalty, constraint.shifts) = (penalty, shifts.clone());
        let column = constraint.column;
        self.set_column(term, column, Reals::F64(&shifts))?;
        self.weigh_constraint(term)
    }

    /// Sets a constraint's k; λ stays.
    pub fn set_scales(&mut self, term: u32, scales: Vec<f64>) -> Result<(), Error> {
        let constraint = self.term_mut(term)?.constraint.as_mut().ok_or(Error::Internal("a term is not a constraint"))?;
        let before = std::mem::replace(&mut constraint.scales, scales.clone());
        constraint.shifts.iter_mut().zip(before.iter().zip(&scales)).for_each(|(shift, (before, scale))| *shift *= before / scale);
        let column = constraint.column;
        let shifts = constraint.shifts.clone();
        self.set_column(term, column, Reals::F64(&shifts))?;
        self.set_column(term, column + 1, Reals::F64(&scales))
    }

    /// Has all rows of a constraint show their slopes, until it is closed: only on the device, λ stays.
    pub fn open_constraint(&mut self, term: u32, open: bool) -> Result<(), Error> {
        let constraint = self.term(term)?.constraint.as_ref().ok_or(Error::Internal("a term is not a constraint"))?;
        let column = constraint.column;
        let shifts = if open { vec![OPEN; constraint.shifts.len()] } else { constraint.shifts.clone() };
        self.set_column(term, column, Reals::F64(&shifts))
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
