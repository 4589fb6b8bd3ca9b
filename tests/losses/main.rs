//! Robust losses: their formulas, the programs of robust terms, and problems with outliers.

#[path = "../support/mod.rs"]
mod support;

mod formulas;
mod programs;
mod samples;
mod terms;
