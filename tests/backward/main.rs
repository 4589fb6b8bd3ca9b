//! Gradients through a solve: against central differences of whole solves, on every backend.

use crate::support;
mod differences;
mod gauges;
mod rows;

use crate::support::gradients::{backward, of_table, of_term};
use crate::support::*;
use leastwise::device::{Limits, Precision};
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
