//! The six programs of a residual against what they are for: ½w‖r‖² and its change, Jᵀwr, JᵀwJp and the diagonal blocks
//! of JᵀwJ, put together from the evaluator's values and slopes.

use super::check::{Judged, Outcome, hints, judge, tolerance};
use super::dual::State;
use super::engine::{self, Memory, Term, play};
use super::generate::VARIABLES;
use super::traced::{Origin, Point, Traced};
use leastwise::device::Precision;
use leastwise::program::*;
use std::ops::{Add, Mul};

/// A number and how far it may be off.
#[derive(Clone, Copy, Debug)]
struct Approximate {
    value: f64,
    error: f64,
}

impl Add for Approximate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let rounding = 1e-14 * (self.value.abs() + other.value.abs());
        Self { value: self.value + other.value, error: self.error + other.error + rounding }
    }
}

impl Mul for Approximate {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let error = self.error * other.value.abs() + other.error * self.value.abs() + self.error * other.error;
        Self { value: self.value * other.value, error: error + 1e-14 * (self.value * other.value).abs() }
    }
}

fn exact(value: f64) -> Approximate {
    Approximate { value, error: 0.0 }
}

fn sum(items: impl Iterator<Item = Approximate>) -> Approximate {
    items.fold(exact(0.0), Approximate::add)
}

/// r and J at a point, or whether it is certain that they are not defined; none where nothing is.
struct Linearised {
    defined: bool,
    r: Vec<Approximate>,
    j: Vec<[Approximate; VARIABLES]>,
}

fn linearised(traced: &Traced, point: &Point, hints: &super::meaning::Hints) -> Option<Linearised> {
    let (judged, _) = judge(traced, point, hints)?;
    if judged.iter().any(|row| row.dual.state == State::Doubtful) {
        return None;
    }
    let value = |row: &Judged| Approximate { value: row.dual.value, error: tolerance(row.dual.value, row.value_spread, row.dual.size) };
    let slope = |row: &Judged, k: usize| Approximate {
        value: row.dual.slopes[k],
        error: tolerance(row.dual.slopes[k], row.slope_spreads[k], row.dual.slope_size),
    };
    Some(Linearised {
        defined: judged.iter().all(|row| row.dual.state == State::Defined),
        r: judged.iter().map(value).collect(),
        j: judged.iter().map(|row| std::array::from_fn(|k| slope(row, k))).collect(),
    })
}

/// Which variables a slot has.
fn slots(traced: &Traced) -> Vec<std::ops::Range<usize>> {
    let mut next = 0;
    let range = |input: &super::traced::Input| {
        let first = next;
        next += if input.origin == Origin::Variable { input.width as usize } else { 0 };
        first..next
    };
    traced.inputs.iter().filter(|input| input.is_slot()).map(range).collect()
}

/// What a map's code reads from contributions.
fn contribution(code: u32, columns: &[f64], count: usize, instance: usize) -> f64 {
    let value = |code: u32| columns[((code & !NEGATIVE) - 1) as usize * count + instance];
    match code {
        0 => 0.0,
        _ if code & NEGATIVE != 0 => -value(code),
        _ => value(code),
    }
}

fn expect(what: &str, instance: usize, got: f64, expected: Approximate) -> Result<u64, String> {
    // What is NaN is not near.
    if (got - expected.value).abs() <= expected.error {
        return Ok(1);
    }
    Err(format!("{what} of point {instance} is {got:e}, not {expected:?}"))
}

/// How many numbers were compared.
pub fn check(traced: &Traced, points: &[Point], weight_shared: bool) -> Result<u64, Outcome> {
    let weights: Vec<f64> = (0..points.len()).map(|k| if weight_shared { 0.75 } else { 0.5 + k as f64 }).collect();
    let term = engine::term(traced, points, &weights, weight_shared).map_err(|_| Outcome::Refused)?;
    compare(traced, points, &weights, weight_shared, term).map_err(Outcome::Differs)
}

fn compare(traced: &Traced, points: &[Point], weights: &[f64], weight_shared: bool, term: Term) -> Result<u64, String> {
    let Term { programs, mut memory } = term;
    let count = points.len();
    let slots = slots(traced);
    let run = |program: &Program, memory: &Memory, columns: u32| {
        play(&mut engine::cpu(Precision::F64), program, &Memory { out: columns * memory.count, ..memory.clone() })
    };
    memory.jacobian = run(&programs.linearize, &memory, 0).jacobian;
    memory.vector = (0..memory.arena.len()).map(|k| [0.5, -1.0, 0.25, 2.0, -0.75][k % 5]).collect();
    let energy = run(&programs.energy, &memory, 1).vector;
    let gradient = run(&programs.gradient, &memory, programs.contributions).vector;
    let product = run(&programs.product, &memory, programs.contributions).vector;
    let diagonal = run(&programs.diagonal, &memory, programs.diagonals).vector;
    // Elsewhere, with the same data.
    let trials: Vec<Point> = (0..count).map(|k| moved(traced, &points[k], &points[(k + 1) % count])).collect();
    let elsewhere = engine::term(traced, &trials, weights, weight_shared).map_err(|error| error.to_string())?.memory;
    let change = run(&programs.change, &Memory { arena: elsewhere.arena, ..memory.clone() }, 1).vector;
    let (hints_here, hints_there) = (hints(traced, points), hints(traced, &trials));
    let mut compared = 0;
    for instance in 0..count {
        let Some(here) = linearised(traced, &points[instance], &hints_here[instance]) else { continue };
        let weight = exact(weights[instance]);
        if !here.defined {
            if energy[instance].is_finite() {
                return Err(format!("½w‖r‖² of point {instance} is {}, but r is not defined", energy[instance]));
            }
            continue;
        }
        let half_squared = |r: &[Approximate]| exact(0.5) * weight * sum(r.iter().map(|&r| r * r));
        compared += expect("½w‖r‖²", instance, energy[instance], half_squared(&here.r))?;
        match linearised(traced, &trials[instance], &hints_there[instance]) {
            Some(there) if there.defined => {
                let difference = half_squared(&there.r) + exact(-1.0) * half_squared(&here.r);
                compared += expect("½w(‖r′‖² − ‖r‖²)", instance, change[instance], difference)?;
            }
            Some(_) if change[instance].is_finite() => return Err(format!("the change of point {instance} is {}", change[instance])),
            _ => {}
        }
        let directions = directions(traced, &memory, instance);
        let rows = || here.j.iter().zip(&here.r);
        let jp: Vec<Approximate> = here.j.iter().map(|row| sum(row.iter().zip(&directions).map(|(&entry, &p)| entry * exact(p)))).collect();
        for (slot, range) in slots.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
            for (k, variable) in range.clone().enumerate() {
                let code = programs.gradient_maps[slot].codes[k];
                let expected = weight * sum(rows().map(|(row, &r)| row[variable] * r));
                compared += expect("Jᵀwr", instance, contribution(code, &gradient, count, instance), expected)?;
                let expected = weight * sum(here.j.iter().zip(&jp).map(|(row, &jp)| row[variable] * jp));
                compared += expect("JᵀwJp", instance, contribution(code, &product, count, instance), expected)?;
                for (other, column) in range.clone().enumerate().take(k + 1) {
                    let code = programs.diagonal_maps[slot].codes[k * (k + 1) / 2 + other];
                    let expected = weight * sum(here.j.iter().map(|row| row[variable] * row[column]));
                    compared += expect("diag JᵀwJ", instance, contribution(code, &diagonal, count, instance), expected)?;
                }
            }
        }
    }
    Ok(compared)
}

/// A point whose slots are those of another one.
fn moved(traced: &Traced, point: &Point, other: &Point) -> Point {
    let slots: usize = traced.inputs.iter().filter(|input| input.is_slot()).map(|input| input.width as usize).sum();
    [&other[..slots], &point[slots..]].concat()
}

/// The vector's entries for the variables of an instance.
fn directions(traced: &Traced, memory: &Memory, instance: usize) -> Vec<f64> {
    let count = memory.count as usize;
    let slots = traced.inputs.iter().filter(|input| input.is_slot()).enumerate();
    let variables = slots.filter(|(_, input)| input.origin == Origin::Variable);
    let entries = |(slot, input): (usize, &super::traced::Input)| {
        let base = memory.index[slot] as usize;
        let first = base + (count - 1 - instance) * input.width as usize;
        memory.vector[first..first + input.width as usize].to_vec()
    };
    variables.flat_map(entries).collect()
}
