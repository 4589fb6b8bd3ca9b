//! Random programs over every opcode: values, derivatives, domains and both backends, against evaluators that share
//! nothing with the engine.
//!
//! `npm run fuzz -- --minutes 10 --seed 1` goes on for as long as one likes. A failure is shrunk and printed as a
//! listing and as an entry for `regressions.rs`.

mod check;
mod differences;
mod dual;
mod engine;
mod generate;
mod geometry;
mod meaning;
mod regressions;
mod shrink;
mod spectral;
#[path = "../support/mod.rs"]
mod support;
mod traced;

use check::{Counts, Effort, Outcome, check};
use shrink::{Failing, shrink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::Random;
use traced::{Point, Traced};

/// The message of a failure; a panic of the engine is one.
fn failure(work: impl FnOnce() -> Outcome) -> Result<Counts, Option<String>> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Outcome::Agrees(counts)) => Ok(counts),
        Ok(Outcome::Differs(message)) => Err(Some(message)),
        Ok(Outcome::Refused(_)) => Err(None),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            Err(Some(format!("panic: {}", text.unwrap_or_default())))
        }
    }
}

fn program(seed: u64) -> Result<Counts, String> {
    let sample = generate::sample(&mut Random::new(seed), 4, 24);
    let effort = Effort { differences: seed.is_multiple_of(4), curvatures: seed.is_multiple_of(16) };
    let fails = |traced: &Traced, points: &[Point]| failure(|| check(traced, points, effort)).err().flatten();
    match failure(|| check(&sample.traced, &sample.points, effort)) {
        Ok(counts) => Ok(counts),
        Err(None) => Err(format!("seed {seed}: the generator wrote what the reader refuses\n{}", sample.traced.listing(&sample.points))),
        Err(Some(message)) => {
            let smallest = shrink(Failing { traced: sample.traced, points: sample.points, message }, fails);
            Err(format!("seed {seed}: {}\n{}", smallest.message, smallest.traced.listing(&smallest.points)))
        }
    }
}

#[test]
fn programs_agree_with_an_independent_evaluator() {
    let count: u64 = std::env::var("COUNT").map_or(10_000, |text| text.parse().unwrap());
    let start = std::time::Instant::now();
    let mut counts = Counts::default();
    let mut failures = 0;
    for seed in 0..count {
        match program(seed) {
            Ok(more) => counts += more,
            Err(m) => {
                eprintln!("{m}");
                failures += 1;
                if failures > 10 {
                    break;
                }
            }
        }
    }
    eprintln!("{counts:?} {:?} failures {failures}", start.elapsed());
}
