//! Names that the expressions of `surface.idl` use, for the bindings that are generated from it.

pub use crate::{BackwardOptions, Suspect, wire};
pub use leastwise_anneal::file::published::Files;
pub use leastwise_problem::{Reals, Tuning};
pub use leastwise_solve::covariance::CovarianceOptions;
