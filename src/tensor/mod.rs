//! The tensor layer: matrices and arrays of more dimensions.

pub mod product;
