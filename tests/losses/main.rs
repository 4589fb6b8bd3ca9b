//! Robust losses: their formulas, the programs of robust terms, and problems with outliers.

mod formulas;
mod programs;
mod samples;
mod terms;
