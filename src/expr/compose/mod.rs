//! Vectors, matrices, quaternions and triangles, written out in scalars of a [`Graph`](super::Graph).
//!
//! Each function takes and gives the scalars of its operands, matrices row by row, quaternions as x, y, z, w. Here and
//! nowhere else stands what the façade's vector functions mean.

pub mod eigen;
pub mod matrix;
pub mod motion;
pub mod quaternion;
pub mod triangle;
pub mod vector;
