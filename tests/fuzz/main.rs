//! Random programs over every opcode: values, derivatives, domains and both backends, against evaluators that share
//! nothing with the engine.
//!
//! `npm run fuzz -- --minutes 10 --seed 1` goes on for as long as one likes. A failure is shrunk and printed as a
//! listing and as an entry for `regressions.rs`.

mod backends;
#[path = "../kernels/bounds.rs"]
mod bounds;
mod check;
mod differences;
mod dual;
mod engine;
mod generate;
mod geometry;
mod meaning;
mod regressions;
mod run;
mod shrink;
mod spectral;
#[path = "../support/mod.rs"]
mod support;
mod traced;

use leastwise::device::Precision;
use run::{Campaign, Stop};

/// In the test suite; `npm run fuzz` goes on from other seeds.
const PROGRAMS: u64 = 12_000;
const PROGRAMS_IN_F32: u64 = 3_000;
const PROGRAMS_ON_WEBGPU: u64 = 300;

#[test]
fn programs_agree_with_an_independent_evaluator() {
    let counts = Campaign::new(0, Stop::After(PROGRAMS)).values();
    assert!(counts.values > 10 * PROGRAMS && counts.slopes > 50 * PROGRAMS, "too little was compared: {counts:?}");
    assert!(counts.differences > 10 * PROGRAMS && counts.curvatures > 2 * PROGRAMS, "too little was compared: {counts:?}");
    assert!(counts.flags > PROGRAMS / 60, "too little was not defined: {counts:?}");
    assert!(counts.left_out < counts.values / 10, "too much was left out: {counts:?}");
}

#[test]
fn the_cpu_is_within_error_bounds() {
    for precision in [Precision::F64, Precision::F32] {
        let share = Campaign::new(1 << 32, Stop::After(PROGRAMS_IN_F32)).cpu(precision);
        assert!(share.known > 3 * share.unknown, "{precision:?}: too little is known: {share:?}");
        assert!(share.flagged > PROGRAMS_IN_F32 / 60, "{precision:?}: too little was not defined: {share:?}");
    }
}

#[test]
fn webgpu_is_within_error_bounds() {
    let share = Campaign::new(2 << 32, Stop::After(PROGRAMS_ON_WEBGPU)).webgpu();
    assert!(share.known > 2 * share.unknown, "too little is known: {share:?}");
    assert!(share.flagged > 0, "nothing was not defined: {share:?}");
}
