//! Random programs over every opcode: values, derivatives, domains and both backends, against evaluators that share
//! nothing with the engine.
//!
//! `npm run fuzz -- --minutes 10 --seed 1` goes on for as long as one likes. A failure is shrunk and printed as a
//! listing and as an entry for `regressions.rs`.

#[path = "mod.rs"]
mod fuzz;
mod regressions;
#[path = "../support/mod.rs"]
mod support;

use fuzz::run::{Campaign, Stop};
use leastwise::device::Precision;

/// In `npm run test:full`; `npm test` has a fifth, and `npm run fuzz` goes on from other seeds.
fn share(programs: u64) -> u64 {
    if support::is_full() { programs } else { programs / 5 }
}

fn programs() -> u64 {
    share(10_000)
}

fn residuals() -> u64 {
    share(1_000)
}

fn programs_in_f32() -> u64 {
    share(2_000)
}

fn programs_on_webgpu() -> u64 {
    share(300)
}

fn programs_in_doubles() -> u64 {
    share(40)
}

#[cfg(feature = "cuda")]
fn programs_on_host() -> u64 {
    share(300)
}

fn programs_as_modules() -> u64 {
    share(1_500)
}

fn hostile_tapes() -> u64 {
    share(25_000)
}

#[test]
fn programs_agree_with_an_independent_evaluator() {
    let counts = Campaign::new(0, Stop::After(programs())).values();
    assert!(counts.values > 10 * programs() && counts.slopes > 50 * programs(), "too little was compared: {counts:?}");
    assert!(counts.differences > 10 * programs() && counts.curvatures > 2 * programs(), "too little was compared: {counts:?}");
    assert!(counts.flags > programs() / 20, "too little was not defined: {counts:?}");
    assert!(counts.left_out < counts.values / 10, "too much was left out: {counts:?}");
}

#[test]
fn the_programs_of_a_residual_are_its_algebra() {
    let compared = Campaign::new(4 << 32, Stop::After(residuals())).residuals();
    assert!(compared > 50 * residuals(), "too little was compared: {compared}");
}

#[test]
fn the_cpu_is_within_error_bounds() {
    for precision in [Precision::F64, Precision::F32] {
        let share = Campaign::new(1 << 32, Stop::After(programs_in_f32())).cpu(precision);
        assert!(share.known > 3 * share.unknown, "{precision:?}: too little is known: {share:?}");
        assert!(share.flagged > programs_in_f32() / 60, "{precision:?}: too little was not defined: {share:?}");
    }
}

#[test]
fn modules_give_the_interpreters_bits() {
    for precision in [Precision::F64, Precision::F32] {
        let compared = Campaign::new(5 << 32, Stop::After(programs_as_modules())).modules(precision);
        assert!(compared > 500 * programs_as_modules(), "{precision:?}: too little was compared: {compared}");
    }
}

#[test]
fn webgpu_is_within_error_bounds() {
    let share = Campaign::new(2 << 32, Stop::After(programs_on_webgpu())).webgpu();
    assert!(share.known > 2 * share.unknown, "too little is known: {share:?}");
    assert!(share.flagged > 0, "nothing was not defined: {share:?}");
}

#[test]
fn double_floats_are_within_a_ten_thousand_millionth_of_the_running_bound() {
    let share = Campaign::new(6 << 32, Stop::After(programs_in_doubles())).doubles();
    println!("{share:?}");
    assert!(share.known > 10 * share.unknown && share.known > 20 * programs_in_doubles(), "too little is known: {share:?}");
}

/// On a GPU `tests/cuda` has the corpus; this is the same text, with the host's functions in f64 and ours in f32.
#[cfg(feature = "cuda")]
#[test]
fn cudas_text_is_within_error_bounds() {
    for precision in [Precision::F64, Precision::F32] {
        let share = Campaign::new(1 << 32, Stop::After(programs_on_host())).cuda_on_host(precision);
        println!("{precision:?}: {share:?}");
        assert!(share.known > 2 * share.unknown && share.known > 10 * programs_on_host(), "{precision:?}: too little is known: {share:?}");
        assert!(share.flagged > 0, "{precision:?}: nothing was not defined: {share:?}");
    }
}

#[test]
fn hostile_tapes_neither_panic_nor_hang() {
    let tally = Campaign::new(3 << 32, Stop::After(hostile_tapes())).hostile();
    assert!(tally.read > hostile_tapes() / 8 && tally.read < hostile_tapes() / 8 * 7, "a mixture was meant: {tally:?}");
}

/// A part of the campaign: its name, its share of the time, and what it does and found.
type Part = (&'static str, f64, fn(Campaign) -> String);

const PARTS: [Part; 9] = [
    ("values and derivatives", 0.35, |mut part| format!("{:?}", part.values())),
    ("on the CPU, f64", 0.1, |mut part| format!("{:?}", part.cpu(Precision::F64))),
    ("on the CPU, f32", 0.1, |mut part| format!("{:?}", part.cpu(Precision::F32))),
    ("on WebGPU", 0.1, |mut part| format!("{:?}", part.webgpu())),
    ("hostile tapes", 0.1, |mut part| format!("{:?}", part.hostile())),
    ("programs of residuals", 0.05, |mut part| format!("{:?}", part.residuals())),
    ("as WebAssembly, f64", 0.05, |mut part| format!("{:?}", part.modules(Precision::F64))),
    ("as WebAssembly, f32", 0.05, |mut part| format!("{:?}", part.modules(Precision::F32))),
    ("in double-floats", 0.1, |mut part| format!("{:?}", part.doubles())),
];

/// `npm run fuzz` runs this one; the environment says from which seed, for how long, and which part where not all.
#[test]
#[ignore = "runs for as long as LEASTWISE_FUZZ_MINUTES says"]
fn campaign() {
    let number = |name: &str, otherwise: f64| std::env::var(name).map_or(otherwise, |text| text.parse().expect(name));
    let seed = number("LEASTWISE_FUZZ_SEED", 1.0) as u64;
    let minutes = number("LEASTWISE_FUZZ_MINUTES", 1.0);
    let chosen = std::env::var("LEASTWISE_FUZZ_PART").ok().filter(|name| !name.is_empty());
    let is_chosen = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen == name);
    let names = PARTS.map(|(name, ..)| name).join("; ");
    assert!(PARTS.iter().any(|(name, ..)| is_chosen(name)), "no part of that name: there are {names}");
    for (number, (name, share, run)) in (0u64..).zip(PARTS).filter(|(_, (name, ..))| is_chosen(name)) {
        let minutes = if chosen.is_some() { minutes } else { minutes * share };
        // Seeds of their own for every part, apart from those of the other tests.
        let part = Campaign::new((seed + 16) << 40 | number << 36, Stop::after_minutes(minutes));
        println!("{name}: {}", run(part));
    }
}
