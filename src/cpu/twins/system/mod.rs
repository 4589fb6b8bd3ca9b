//! Twins of `shaders/system/`: what is made of residuals and their derivatives.

mod diagonal;
mod gather;
mod mask;
mod psd_blocks;

pub use diagonal::{damping_diagonal, diagonal_max};
pub use gather::gather;
pub use mask::{mask, mask_blocks};
pub use psd_blocks::psd_blocks;
