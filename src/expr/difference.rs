//! Differences f(x₁) − f(x₀) without cancellation, by a calculus of finite differences.
//!
//! Where x₁ − x₀ is known better than by subtracting the two, so is f(x₁) − f(x₀): every operation has a rule that gives
//! its difference from those of its operands (b₁a₁ − b₀a₀ = b₁ δa + a₀ δb, eᵇ − eᵃ = eᵃ expm1(b − a), …), as it has one
//! for derivatives.
//!
//! What has no rule falls back. Smooth functions of one operand integrate their slope by Simpson's rule over small steps
//! (|δa| ≤ 10⁻³ min(1, |a|), with a relative error below 10⁻¹²) and subtract over others, which leaves the rounding errors
//! of two values. Powers with a variable exponent, `atan2`, steps (`floor`, …) and a `select` whose
//! branch changes between x₀ and x₁ subtract.

use super::formula::{Scope, Symbol};
use super::{Binary, Expr, Graph, Leaf, Node, Unary};

/// A value at x₀ and x₁, and the difference.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Value at the first point.
    pub from: Expr,
    /// Value at the second point.
    pub to: Expr,
    /// Their difference, without cancellation.
    pub by: Expr,
}

/// The same while its difference is being written.
#[derive(Clone, Copy)]
pub struct Pair<'g> {
    /// Value at the first point.
    pub from: Symbol<'g>,
    /// Value at the second point.
    pub to: Symbol<'g>,
    /// Their difference, without cancellation.
    pub by: Symbol<'g>,
}

impl Graph {
    /// `root` of another graph at two points, which `leaf` gives.
    pub fn difference(&mut self, of: &Graph, root: Expr, leaf: impl Fn(&mut Graph, Leaf) -> Ends) -> Ends {
        let needed = of.reachable(&[root]);
        let zero = self.constant(0.0);
        let mut ends = vec![Ends { from: zero, to: zero, by: zero }; needed.len()];
        for index in (0..needed.len()).filter(|&index| needed[index]) {
            let at = |expr: Expr| ends[expr.0 as usize];
            let node = of.node(Expr(index as u32));
            ends[index] = match node {
                Node::Const(bits) => {
                    let value = self.constant(f64::from_bits(bits));
                    Ends { from: value, to: value, by: zero }
                }
                Node::Leaf(it) => leaf(self, it),
                Node::Unary(operation, a) => {
                    let a = at(a);
                    let (from, to) = (self.unary(operation, a.from), self.unary(operation, a.to));
                    let by = if from == to { zero } else { self.unary_difference(operation, a, from, to) };
                    Ends { from, to, by }
                }
                Node::Binary(operation, a, b) => {
                    let (a, b) = (at(a), at(b));
                    let (from, to) = (self.binary(operation, a.from, b.from), self.binary(operation, a.to, b.to));
                    let by = if from == to { zero } else { self.binary_difference(operation, a, b, from, to) };
                    Ends { from, to, by }
                }
                Node::Select { condition, then, otherwise } => {
                    let (condition, then, otherwise) = (at(condition), at(then), at(otherwise));
                    let from = self.select(condition.from, then.from, otherwise.from);
                    let to = self.select(condition.to, then.to, otherwise.to);
                    let by = if condition.from == condition.to {
                        self.select(condition.from, then.by, otherwise.by)
                    } else {
                        let (both, either) = (self.and(condition.from, condition.to), self.or(condition.from, condition.to));
                        let plain = self.sub(to, from);
                        let rest = self.select(either, plain, otherwise.by);
                        self.select(both, then.by, rest)
                    };
                    Ends { from, to, by }
                }
            };
        }
        ends[root.0 as usize]
    }

    fn unary_difference(&mut self, operation: Unary, a: Ends, from: Expr, to: Expr) -> Expr {
        let by_rule = self.formula(|scope| {
            let by = operation.difference(Pair::new(scope, a), scope.symbol(from), scope.symbol(to));
            by.map(|by| by.expr)
        });
        by_rule.unwrap_or_else(|| self.by_slopes(operation, a, from, to))
    }

    /// ∫ f′ by Simpson's rule over a small step, else f₁ − f₀.
    fn by_slopes(&mut self, operation: Unary, a: Ends, from: Expr, to: Expr) -> Expr {
        let half = self.constant(0.5);
        let sum = self.add(a.from, a.to);
        let middle = self.mul(half, sum);
        let at_middle = self.unary(operation, middle);
        let points = [(a.from, from), (middle, at_middle), (a.to, to)];
        let slopes = points.map(|(a, y)| self.slope_of(operation, a, y));
        self.formula(|scope| {
            let [start, middle, end] = slopes.map(|slope| scope.symbol(slope));
            let [x, by, from, to] = [a.from, a.by, from, to].map(|expr| scope.symbol(expr));
            let small = by.abs().less_equal(1e-3 * x.abs().min(scope.constant(1.0)));
            small.select(by * (start + 4.0 * middle + end) / 6.0, to - from).expr
        })
    }

    fn binary_difference(&mut self, operation: Binary, a: Ends, b: Ends, from: Expr, to: Expr) -> Expr {
        self.formula(|scope| {
            // Before all differences: the numbers of nodes decide the order of operands in kernels.
            scope.constant(0.0);
            let operands = [a, b].map(|ends| Pair::new(scope, ends));
            operation.difference(operands, scope.symbol(from), scope.symbol(to)).expr
        })
    }
}

impl<'g> Pair<'g> {
    fn new(scope: &'g Scope, ends: Ends) -> Self {
        let [from, to, by] = [ends.from, ends.to, ends.by].map(|expr| scope.symbol(expr));
        Self { from, to, by }
    }

    /// The difference by a rule for the lower value, the higher, and the positive step between them.
    pub fn rising(self, rule: impl FnOnce(Symbol<'g>, Symbol<'g>, Symbol<'g>) -> Symbol<'g>) -> Symbol<'g> {
        rising(self.from, self.to, self.by, rule)
    }

    /// (from + to)/2
    pub fn middle(self) -> Symbol<'g> {
        0.5 * (self.from + self.to)
    }
}

/// f(to) − f(from) by a rule for from ≤ to that takes the lower value, the higher, and the step between them, not negative.
pub fn rising<'g>(
    from: Symbol<'g>,
    to: Symbol<'g>,
    by: Symbol<'g>,
    rule: impl FnOnce(Symbol<'g>, Symbol<'g>, Symbol<'g>) -> Symbol<'g>,
) -> Symbol<'g> {
    let falls = by.less(by.scope().constant(0.0));
    let rise = rule(falls.select(to, from), falls.select(from, to), by.abs());
    falls.select(-rise, rise)
}
