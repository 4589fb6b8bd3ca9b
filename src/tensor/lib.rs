//! Tensors: a small differentiable array layer.

pub mod attention;
pub mod formula;
pub mod gradient;
pub mod graph;
pub mod operations;
pub mod plan;
pub mod pool;
pub mod routing;
pub mod runtime;
pub mod view;
