//! Tensors: a small differentiable array layer.
//!
//! Operations are noted in a graph, and what is read is planned, fused into kernels and played; nothing is computed before.
//!
//! ```
//! use leastwise_tensor::graph::Graph;
//!
//! let mut graph = Graph::default();
//! let ones = graph.constant(1.0, &[2, 3]);
//! let sum = graph.apply("add", &[ones, ones])?;
//! assert_eq!(graph.shape(sum), [2, 3]);
//! # Ok::<(), leastwise_error::Error>(())
//! ```

pub mod along;
pub mod attention;
pub mod formula;
pub mod gradient;
pub mod graph;
pub mod integers;
pub mod linear;
pub mod operations;
pub mod plan;
pub mod pool;
#[cfg(not(target_arch = "wasm32"))]
pub mod ranked;
pub mod routing;
pub mod runtime;
pub mod solution;
pub mod special;
pub mod view;
