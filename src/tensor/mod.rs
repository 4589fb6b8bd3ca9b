//! The tensor layer: operations on n-dimensional arrays, on the same devices and kernels as the rest.

pub mod attention;
