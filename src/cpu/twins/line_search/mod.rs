//! Twins of `shaders/line_search/`.

mod search;
mod slopes;

pub use search::line_search;
pub(super) use search::{CONJUGATE_GRADIENTS, GRADIENT_DESCENT};
pub use slopes::{changed, scale_step, slopes};
