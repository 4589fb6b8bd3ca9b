//! Expressions as numbers, and from one graph into another.

use super::{Expr, Graph, Leaf, Node, Unary};

impl Graph {
    /// The values of `roots` in f64, node by node; `values` is memory to use again.
    pub fn evaluate(&self, roots: &[Expr], values: &mut Vec<f64>, leaf: impl Fn(Leaf) -> f64) -> Vec<f64> {
        values.resize(self.len(), 0.0);
        for index in 0..self.len() {
            let at = |expr: Expr| values[expr.0 as usize];
            values[index] = match self.node(Expr(index as u32)) {
                Node::Const(bits) => f64::from_bits(bits),
                Node::Leaf(which) => leaf(which),
                Node::Unary(operation, a) => operation.apply(at(a)),
                Node::Binary(operation, a, b) => operation.apply(at(a), at(b)),
                Node::Select { condition, then, otherwise } => at(if at(condition) != 0.0 { then } else { otherwise }),
            };
        }
        roots.iter().map(|root| values[root.0 as usize]).collect()
    }

    /// Expressions of another graph as expressions of this one, with `leaf` for its leaves.
    pub fn insert(&mut self, other: &Graph, roots: &[Expr], leaf: impl Fn(&mut Self, Leaf) -> Expr) -> Vec<Expr> {
        let needed = other.reachable(roots);
        let mut image = vec![Expr(0); needed.len()];
        for index in (0..needed.len()).filter(|&index| needed[index]) {
            let at = |expr: Expr| image[expr.0 as usize];
            image[index] = match other.node(Expr(index as u32)) {
                Node::Const(bits) => self.constant(f64::from_bits(bits)),
                Node::Leaf(which) => leaf(self, which),
                Node::Unary(operation, a) => self.unary(operation, at(a)),
                Node::Binary(operation, a, b) => self.binary(operation, at(a), at(b)),
                Node::Select { condition, then, otherwise } => self.select(at(condition), at(then), at(otherwise)),
            };
        }
        roots.iter().map(|root| image[root.0 as usize]).collect()
    }

    /// The expressions as they are computed, in a graph without [`Unary::Detach`], which speaks to derivatives alone: x −
    /// detach(x) is 0 there, and so is what it was a factor of. None where nothing is detached.
    pub fn settled(&self, roots: &[Expr]) -> Option<(Self, Vec<Expr>)> {
        let needed = self.reachable(roots);
        let is_detached = |index: usize| needed[index] && matches!(self.node(Expr(index as u32)), Node::Unary(Unary::Detach, _));
        (0..needed.len()).any(is_detached).then_some(())?;
        let mut settled = Self::new();
        settled.has_limits = self.has_limits;
        let mut image = vec![Expr(0); needed.len()];
        for index in (0..needed.len()).filter(|&index| needed[index]) {
            let at = |expr: Expr| image[expr.0 as usize];
            image[index] = match self.node(Expr(index as u32)) {
                Node::Const(bits) if f64::from_bits(bits).is_nan() => settled.flag(),
                Node::Const(bits) => settled.constant(f64::from_bits(bits)),
                Node::Leaf(leaf) => settled.leaf(leaf),
                Node::Unary(Unary::Detach, a) => at(a),
                Node::Unary(operation, a) => settled.unary(operation, at(a)),
                Node::Binary(operation, a, b) => settled.binary(operation, at(a), at(b)),
                Node::Select { condition, then, otherwise } => settled.select(at(condition), at(then), at(otherwise)),
            };
        }
        let roots = roots.iter().map(|root| image[root.0 as usize]).collect();
        Some((settled, roots))
    }

    /// The expressions where no variable has moved along its manifold.
    pub fn at_rest(&mut self, roots: &[Expr]) -> Vec<Expr> {
        let zero = self.constant(0.0);
        self.substitute(roots, |leaf| matches!(leaf, Leaf::Step { .. }).then_some(zero))
    }
}
