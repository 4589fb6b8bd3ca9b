//! Checkpoints: a solve that was saved, and goes on in another engine, makes the same steps to the bit.

use crate::support;
mod barriers;
mod hostile;
mod resumed;

use crate::support::*;
use leastwise::session::{Answer, Progress, Session};
use leastwise::solve::{Iteration, Options};

fn save(session: &mut Session, solver: u32) -> Vec<u8> {
    let task = session.save(solver).unwrap();
    let Progress::Answer(Answer::Bytes(bytes)) = finish(session, task, |_| {}) else { panic!("no checkpoint") };
    bytes
}

/// An iteration without its time, by its bits.
fn bits(iteration: &Iteration) -> Vec<u64> {
    let Iteration { index, cost, cost_change, gradient_norm, step_norm, damping, radius, length, gain_ratio, .. } = *iteration;
    let reals = [cost, cost_change, gradient_norm, step_norm, damping, gain_ratio, radius.unwrap_or(-1.0), length.unwrap_or(-1.0)];
    let words = [u64::from(index), iteration.inner_iterations.into(), iteration.accepted.into()];
    reals.iter().map(|real| real.to_bits()).chain(words).collect()
}

fn all_bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn options(method: &str, linear: &str) -> Options {
    let (method, dogleg) = method.split_once(' ').map_or((method, None), |(method, dogleg)| (method, Some(dogleg.into())));
    Options { method: Some(method.into()), dogleg, linear: Some(linear.into()), max_iterations: Some(14.0), ..Options::default() }
}
