//! The scalars that live on the device, by number: kernels and the host name them alike.

pub mod cluster;
pub mod solver;
