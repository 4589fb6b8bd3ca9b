//! Expressions: a hash-consed graph of scalar operations, its derivatives, and the tape that it is read from.
//!
//! [`Graph`] is the principal type. Its constructors simplify as they build and never make the same node twice, so
//! structural equality is equality of [`Expr`] numbers, and operands always have smaller numbers than what uses them:
//! every pass over a graph is a loop, never a recursion.
//!
//! It knows neither what its leaves are, but for their numbers, nor where anything is computed.
//!
//! ```
//! use leastwise_expr::{Graph, Leaf};
//!
//! // r = x² y and its gradient (2xy, x²), at x = 3 and y = 5.
//! let mut graph = Graph::new();
//! let [x, y] = [0, 1].map(|scalar| graph.leaf(Leaf::Slot { slot: 0, component: scalar }));
//! let square = graph.square(x);
//! let r = graph.mul(square, y);
//! let gradient = graph.gradient(r, &[x, y]);
//! let at = |leaf| if leaf == (Leaf::Slot { slot: 0, component: 0 }) { 3.0 } else { 5.0 };
//! assert_eq!(graph.evaluate(&gradient, &mut Vec::new(), at), [30.0, 9.0]);
//! ```

mod canonical;
mod compose;
mod derivative;
mod difference;
mod domain;
mod evaluate;
mod formula;
mod graph;
pub mod manifold;
mod operation;
pub mod operations;
pub mod rules;
mod scalar;
pub mod tape;

pub use canonical::Canonical;
pub use difference::{Ends, rising};
pub use formula::{Scope, Symbol};
pub use graph::{Expr, Graph, Leaf, Node};
pub use manifold::{Manifold, ManifoldError, Part};
pub use operation::{Arity, Numerics};
pub use operations::{Binary, Opcode, Unary, softplus_rise};
