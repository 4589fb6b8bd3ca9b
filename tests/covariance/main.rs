//! Covariances: against whole inverses, Moore and Penrose's conditions, and what is known of gauges, on every backend.

mod inverses;
mod net;
mod ranks;
mod refusals;
mod slices;

use crate::support::*;
use leastwise::device::{Limits, Precision};
use leastwise::session::{Covaried, Progress, Session};
use leastwise::solve::covariance::CovarianceOptions;

/// Names, sessions, and how far values may be from those in f64.
fn sessions() -> Vec<(&'static str, Shared, f64)> {
    vec![
        ("cpu f64", cpu(Precision::F64).into(), 1e-9),
        ("cpu f64, small limits", cpu_with(Precision::F64, Limits::SMALL).into(), 1e-9),
        ("cpu f32", cpu(Precision::F32).into(), 1e-5),
        ("webgpu", shared_gpu(None), 1e-5),
    ]
}

/// σ² = 1 and what else is told.
fn known() -> CovarianceOptions {
    CovarianceOptions { variance: Some(1.0), ..CovarianceOptions::default() }
}

fn pseudo_inverse() -> CovarianceOptions {
    CovarianceOptions { pseudo_inverse: true, ..known() }
}

/// Runs a task in slices as short as can be.
fn ended(session: &mut Session, task: u32) -> Result<Progress, leastwise::Error> {
    loop {
        match session.resume(task, 0.0)? {
            Progress::Yielded | Progress::Partly { .. } => {}
            Progress::Waiting(signal) => session.device_mut().block_on(&signal).unwrap(),
            done => return Ok(done),
        }
    }
}

fn covariance(session: &mut Session, problem: u32, options: &CovarianceOptions) -> Result<Covaried, leastwise::Error> {
    let task = session.covariance(problem, *options)?;
    let Progress::Covariance(made) = ended(session, task)? else { panic!("no covariance") };
    Ok(*made)
}

/// Blocks of instances, given as table and instance.
fn blocks(session: &mut Session, of: &Covaried, which: &[(u32, u32)], others: Option<&[(u32, u32)]>, form: &str) -> Vec<f64> {
    let words = |pairs: &[(u32, u32)]| pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect::<Vec<u32>>();
    let (form, lifted) = form.strip_prefix("lifted ").map_or((form, false), |form| (form, true));
    let task = session.covariance_blocks(of.handle, &words(which), others.map(words).as_deref(), form, lifted).unwrap();
    let Progress::Values(values) = ended(session, task).unwrap() else { panic!("no values") };
    values
}

/// All instances of tables, given as table and count.
fn all(tables: &[(u32, u32)]) -> Vec<(u32, u32)> {
    tables.iter().flat_map(|&(table, count)| (0..count).map(move |instance| (table, instance))).collect()
}

fn close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0, |top: f64, value| top.max(value.abs()));
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance * largest, "{what}: value {place} is {found}, not {expected}");
    }
}
