//! One program at several points: the engine in f64 against the evaluator, and against differences.

use super::differences::derivatives;
use super::dual::{Dual, Machine, NOISE, State};
use super::engine::{self, Read};
use super::generate::VARIABLES;
use super::meaning::{Hints, Value, evaluate};
use super::traced::{Point, Traced};
use crate::support::Random;
use leastwise::expr::{Expr, Opcode};
use std::ops::AddAssign;

/// How often the evaluator runs with noise.
const RUNS: u64 = 3;

/// What was compared. What was not is near a kink, not promised, or its differences are too inexact.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub values: u64,
    pub slopes: u64,
    pub flags: u64,
    pub differences: u64,
    pub curvatures: u64,
    pub left_out: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.values += other.values;
        self.slopes += other.slopes;
        self.flags += other.flags;
        self.differences += other.differences;
        self.curvatures += other.curvatures;
        self.left_out += other.left_out;
    }
}

#[derive(Debug)]
pub enum Outcome {
    Agrees(Counts),
    Differs(String),
    /// The tape is refused (the shrinker tries such).
    Refused,
}

/// How much of what can be checked is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    pub differences: bool,
    pub curvatures: bool,
}

pub const EVERYTHING: Effort = Effort { differences: true, curvatures: true };

pub fn check(traced: &Traced, points: &[Point], effort: Effort) -> Outcome {
    let mut read = match engine::read(traced) {
        Ok(read) => read,
        Err(_) => return Outcome::Refused,
    };
    match compare(&mut read, traced, points, effort) {
        Ok(counts) => Outcome::Agrees(counts),
        Err(difference) => Outcome::Differs(difference),
    }
}

/// For each point, the engine's value of every statement whose signs are free.
pub fn hints(traced: &Traced, points: &[Point]) -> Vec<Hints> {
    let free = |&number: &usize| traced.statements[number].opcode == Opcode::EigenSymmetric;
    let statements: Vec<usize> = (0..traced.statements.len()).filter(free).collect();
    let outputs: Vec<u32> = statements.iter().map(|&number| number as u32).collect();
    let Some(read) = (!outputs.is_empty()).then(|| engine::read(&Traced { outputs, ..traced.clone() }).ok()).flatten() else {
        return vec![Hints::default(); points.len()];
    };
    let values = engine::values(&read, &read.outputs, traced, points);
    values.iter().map(|scalars| statements.iter().copied().zip(scalars.chunks(12).map(<[f64]>::to_vec)).collect()).collect()
}

/// The evaluator at one point, with what noise makes of it.
pub struct Judged {
    pub dual: Dual<VARIABLES>,
    /// How far noise carries the value and the slopes.
    pub value_spread: f64,
    pub slope_spreads: [f64; VARIABLES],
}

fn outputs_of<const N: usize>(traced: &Traced, values: &[Value<N>]) -> Value<N> {
    traced.outputs.iter().flat_map(|&output| values[output as usize].clone()).collect()
}

/// The outputs at a point, and the trace of its decisions. None where noise changes a decision.
pub fn judge(traced: &Traced, point: &[f64], hints: &Hints) -> Option<(Vec<Judged>, u64)> {
    let mut machine = Machine::new(None);
    let values = evaluate::<VARIABLES>(&mut machine, traced, point, hints);
    let trace = machine.trace;
    let fresh = |dual: Dual<VARIABLES>| Judged { dual, value_spread: 0.0, slope_spreads: [0.0; VARIABLES] };
    let mut judged: Vec<Judged> = outputs_of(traced, &values).into_iter().map(fresh).collect();
    for run in 0..RUNS {
        let mut machine = Machine::new(Some(Random::new(run + 1)));
        let noisy = evaluate::<VARIABLES>(&mut machine, traced, point, hints);
        if machine.trace != trace {
            return None;
        }
        for (judged, noisy) in judged.iter_mut().zip(outputs_of(traced, &noisy)) {
            if noisy.state != judged.dual.state {
                judged.dual.state = State::Doubtful;
            }
            judged.value_spread += (noisy.value - judged.dual.value).abs();
            for k in 0..VARIABLES {
                judged.slope_spreads[k] += (noisy.slopes[k] - judged.dual.slopes[k]).abs();
            }
        }
    }
    Some((judged, trace))
}

/// How far a result may be from what is expected.
pub fn tolerance(expected: f64, spread: f64, size: f64) -> f64 {
    4.0 * spread + 1e-12 * expected.abs() + 1e-14 * size + 1e-200
}

fn near(got: f64, expected: f64, spread: f64, size: f64) -> bool {
    (got - expected).abs() <= tolerance(expected, spread, size)
}

fn compare(read: &mut Read, traced: &Traced, points: &[Point], effort: Effort) -> Result<Counts, String> {
    let mut counts = Counts::default();
    let variables = traced.variables();
    let (rows, inputs) = (read.outputs.len(), variables.len());
    let mut roots = Vec::new();
    for row in 0..rows {
        roots.extend(read.graph.flagged(&[read.outputs[row]]));
    }
    // On a CPU √−1 is NaN whether it is flagged or not, so whether it is defined is asked by itself, too.
    for row in 0..rows {
        roots.push(read.graph.defined(&[read.outputs[row]]));
    }
    for row in 0..rows {
        roots.extend(read.graph.gradient(read.outputs[row], &read.variables));
    }
    let hints = hints(traced, points);
    let ours = engine::values(read, &roots, traced, points);
    for (number, point) in points.iter().enumerate() {
        let Some((judged, trace)) = judge(traced, point, &hints[number]) else {
            counts.left_out += rows as u64;
            continue;
        };
        for (row, expected) in judged.iter().enumerate() {
            let dual = expected.dual;
            let got = ours[number][row];
            let defined = ours[number][rows + row] != 0.0;
            let place = || format!("output scalar {row} at point {number}");
            match dual.state {
                State::Doubtful => counts.left_out += 1,
                State::Undefined if got.is_finite() || defined => return Err(format!("{} is {got}, but is not defined", place())),
                State::Undefined => counts.flags += 1,
                State::Defined if !near(got, dual.value, expected.value_spread, dual.size) => {
                    return Err(format!("{} is {got:e}, not {:e} (spread {:e})", place(), dual.value, expected.value_spread));
                }
                State::Defined => {
                    counts.values += 1;
                    for (k, &slope) in ours[number][2 * rows + row * inputs..][..inputs].iter().enumerate() {
                        let (right, spread) = (dual.slopes[k], expected.slope_spreads[k]);
                        if !near(slope, right, spread, dual.slope_size) {
                            return Err(format!("∂/∂{k} of {} is {slope:e}, not {right:e} (spread {spread:e})", place()));
                        }
                        counts.slopes += 1;
                    }
                }
            }
        }
        if effort.differences && number != 1 {
            let slopes = &ours[number][2 * rows..];
            differences(traced, point, &hints[number], &judged, trace, slopes, &mut counts)?;
        }
    }
    if effort.curvatures && inputs > 0 {
        curvatures(read, traced, &points[..1], &hints[..1], &mut counts)?;
    }
    Ok(counts)
}

/// The rounding error of a value whose spread is known.
fn rounding(value: f64, spread: f64) -> f64 {
    4.0 * f64::EPSILON * (value.abs() + spread / NOISE)
}

/// The engine's slopes against differences of the evaluator's values.
fn differences(
    traced: &Traced,
    point: &[f64],
    hints: &Hints,
    judged: &[Judged],
    trace: u64,
    slopes: &[f64],
    counts: &mut Counts,
) -> Result<(), String> {
    if judged.iter().any(|judged| judged.dual.state != State::Defined) {
        return Ok(());
    }
    let noise: Vec<f64> = judged.iter().map(|judged| rounding(judged.dual.value, judged.value_spread)).collect();
    let variables = traced.variables();
    for (k, &place) in variables.iter().enumerate() {
        let estimates = derivatives(point[place], &noise, |x| {
            let mut moved = point.to_vec();
            moved[place] = x;
            let mut machine = Machine::new(None);
            let values = outputs_of(traced, &evaluate::<0>(&mut machine, traced, &moved, hints));
            let smooth = machine.trace == trace && values.iter().all(|value| value.state == State::Defined);
            smooth.then(|| values.iter().map(|value| value.value).collect())
        });
        let Some(estimates) = estimates else { continue };
        for (row, estimate) in estimates.iter().enumerate() {
            let slope = slopes[row * variables.len() + k];
            let tolerance = estimate.error + 1e-9 * slope.abs() + 1e-12 + judged[row].slope_spreads[k];
            if tolerance > 1e-3 * (0.01 + slope.abs()) {
                continue;
            }
            if (slope - estimate.slope).abs() > tolerance {
                return Err(format!("∂/∂{k} of output scalar {row} is {slope:e}; differences say {estimate:?}"));
            }
            counts.differences += 1;
        }
    }
    Ok(())
}

/// The Hessian of the first output scalar against differences of the evaluator's slopes, and its product with a vector.
fn curvatures(read: &mut Read, traced: &Traced, points: &[Point], hints: &[Hints], counts: &mut Counts) -> Result<(), String> {
    let inputs = read.variables.len();
    let (output, variables) = (read.outputs[0], read.variables.clone());
    let mut roots = read.graph.hessian(output, &variables);
    let direction: Vec<f64> = (0..inputs).map(|k| [1.0, -0.5, 0.25, 2.0][k % 4]).collect();
    let constants: Vec<Expr> = direction.iter().map(|&entry| read.graph.constant(entry)).collect();
    roots.extend(read.graph.hessian_product(output, &variables, &constants));
    let ours = engine::values(read, &roots, traced, points);
    let entry = |row: usize, column: usize| ours[0][row.max(column) * (row.max(column) + 1) / 2 + row.min(column)];
    let Some((judged, trace)) = judge(traced, &points[0], &hints[0]) else { return Ok(()) };
    let Judged { dual, slope_spreads, .. } = &judged[0];
    if dual.state != State::Defined {
        return Ok(());
    }
    let noise: Vec<f64> = (0..inputs).map(|k| rounding(dual.slopes[k], slope_spreads[k])).collect();
    for (column, &place) in traced.variables().iter().enumerate() {
        let estimates = derivatives(points[0][place], &noise, |x| {
            let mut moved = points[0].clone();
            moved[place] = x;
            let mut machine = Machine::new(None);
            let value = outputs_of(traced, &evaluate::<VARIABLES>(&mut machine, traced, &moved, &hints[0]))[0];
            (machine.trace == trace && value.state == State::Defined).then(|| value.slopes[..inputs].to_vec())
        });
        for (row, estimate) in estimates.iter().flatten().enumerate() {
            let got = entry(row, column);
            let tolerance = estimate.error + 1e-9 * got.abs() + 1e-11;
            if tolerance > 1e-3 * (0.01 + got.abs()) {
                continue;
            }
            if (got - estimate.slope).abs() > tolerance {
                return Err(format!("∂²/∂{row}∂{column} of output scalar 0 is {got:e}; differences say {estimate:?}"));
            }
            counts.curvatures += 1;
        }
    }
    for row in 0..inputs {
        let terms: Vec<f64> = (0..inputs).map(|column| entry(row, column) * direction[column]).collect();
        let (sum, size) = (terms.iter().sum::<f64>(), terms.iter().map(|term| term.abs()).sum::<f64>());
        let got = ours[0][inputs * (inputs + 1) / 2 + row];
        let comparable = (0..inputs).all(|column| entry(row, column).is_finite());
        // Entries that cancel within themselves differ by more than their sum's rounding.
        if comparable && (got - sum).abs() > 1e-6 * size + 1e-9 * (1.0 + slope_spreads[row] / NOISE) {
            return Err(format!("row {row} of the Hessian times a vector is {got:e}, not {sum:e}"));
        }
    }
    Ok(())
}
