//! Expressions: a hash-consed graph of scalar operations, its derivatives, and the tape that it is read from.
//!
//! [`Graph`] is the principal type. Its constructors simplify as they build and never make the same node twice, so
//! structural equality is equality of [`Expr`] numbers, and operands always have smaller numbers than what uses them:
//! every pass over a graph is a loop, never a recursion.

mod canonical;
mod compose;
mod derivative;
mod difference;
mod domain;
mod evaluate;
mod formula;
mod graph;
mod instruction;
pub mod manifold;
mod opcode;
mod operation;
pub mod rules;
mod scalar;
pub mod tape;

pub use canonical::Canonical;
pub use difference::{Ends, rising, softplus_rise};
pub use formula::{Scope, Symbol};
pub use graph::{Expr, Graph, Leaf, Node};
pub use manifold::{Manifold, ManifoldError, Part};
pub use opcode::{Arity, Opcode};
pub use operation::{Binary, Unary};
