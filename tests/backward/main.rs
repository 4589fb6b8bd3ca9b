//! Gradients through a solve: against central differences of whole solves, on every backend.

use crate::support;
mod differences;
mod gauges;
mod rows;

use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::session::{BackwardOptions, Gradients, Progress, Session};
use leastwise::solve::Options;

/// Names, sessions, and how far values may be from those in f64.
fn sessions() -> Vec<(&'static str, Shared, f64)> {
    vec![
        ("cpu f64", cpu(Precision::F64).into(), 1e-6),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into(), 1e-6),
        ("cpu f32", cpu(Precision::F32).into(), 1e-4),
        ("webgpu", shared_gpu(None), 1e-4),
    ]
}

/// As far as the precision goes.
fn tight() -> Options {
    Options {
        cost_tolerance: Some(0.0),
        gradient_tolerance: Some(1e-13),
        step_tolerance: Some(1e-15),
        max_iterations: Some(5000.0),
        ..Options::default()
    }
}

/// Runs a task in slices as short as can be.
fn backward(
    session: &mut Session,
    problem: u32,
    cotangents: &[(u32, &[f64])],
    tangent: bool,
    options: BackwardOptions,
) -> Result<Gradients, leastwise::Error> {
    let tables: Vec<u32> = cotangents.iter().flat_map(|cotangent| [cotangent.0, cotangent.1.len() as u32]).collect();
    let values: Vec<f64> = cotangents.iter().flat_map(|cotangent| cotangent.1).copied().collect();
    let task = session.backward(problem, &tables, &values, tangent, options)?;
    loop {
        match session.resume(task, 0.0)? {
            Progress::Yielded | Progress::Partly { .. } => {}
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            Progress::Gradients(gradients) => return Ok(*gradients),
            _ => panic!("no gradients"),
        }
    }
}

/// The gradient with respect to a column of a term, or (`None`) its weight.
fn of_term(gradients: &Gradients, term: u32, column: Option<usize>) -> Vec<f64> {
    let mut first = 0;
    for of in &gradients.terms {
        for (number, &len) in of.columns.iter().enumerate() {
            if of.term == term && column == Some(number) {
                return gradients.values[first..first + len].to_vec();
            }
            first += len;
        }
        if of.term == term && column.is_none() {
            return gradients.values[first..first + of.weight].to_vec();
        }
        first += of.weight;
    }
    panic!("no such term")
}

fn of_table(gradients: &Gradients, table: u32) -> Vec<f64> {
    let mut first = gradients.terms.iter().map(|of| of.columns.iter().sum::<usize>() + of.weight).sum();
    for of in &gradients.tables {
        if of.table == table {
            return gradients.values[first..first + of.values].to_vec();
        }
        first += of.values;
    }
    panic!("no such table")
}

/// How fast a function of one number changes at 0: central differences of two widths, extrapolated (Richardson 1911). These
/// are wide because a solve leaves 1e-7 or so of its values open: that far from a minimum, its cost is that of the minimum.
fn slope(mut at: impl FnMut(f64) -> f64) -> f64 {
    let [wide, narrow] = [4e-3, 2e-3].map(|width| (at(width) - at(-width)) / (2.0 * width));
    narrow + (narrow - wide) / 3.0
}

fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0, |top: f64, value| top.max(value.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance * largest, "{what}: value {place} is {found}, not {expected} (largest {largest})");
    }
}
