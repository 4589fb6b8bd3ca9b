//! Second derivatives: the programs of an energy against differences of gradients, and what a session gives of a term.

mod programs;
mod samples;
mod terms;
