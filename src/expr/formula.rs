//! Formulas written as formulas: scalars of a graph with operators.

use super::{Expr, Graph, Unary};
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The graph that a formula is written into.
pub struct Scope(RefCell<Graph>);

/// A scalar of a [`Scope`].
#[derive(Clone, Copy)]
pub struct Symbol<'g> {
    scope: &'g Scope,
    /// The node.
    pub expr: Expr,
}

impl Graph {
    /// Lets `write` compute with this graph's scalars by operators.
    pub fn formula<T>(&mut self, write: impl for<'g> FnOnce(&'g Scope) -> T) -> T {
        let scope = Scope(RefCell::new(std::mem::take(self)));
        let result = write(&scope);
        *self = scope.0.into_inner();
        result
    }
}

impl Scope {
    /// A node as a symbol.
    pub fn symbol(&self, expr: Expr) -> Symbol<'_> {
        Symbol { scope: self, expr }
    }

    /// A constant.
    pub fn constant(&self, value: f64) -> Symbol<'_> {
        self.build(|graph| graph.constant(value))
    }

    /// What `build` makes of the graph.
    pub fn build(&self, build: impl FnOnce(&mut Graph) -> Expr) -> Symbol<'_> {
        self.symbol(build(&mut self.0.borrow_mut()))
    }
}

impl<'g> Symbol<'g> {
    /// Scope that the symbol belongs to.
    pub fn scope(self) -> &'g Scope {
        self.scope
    }

    fn unary(self, operation: Unary) -> Self {
        self.scope.build(|graph| graph.unary(operation, self.expr))
    }

    fn with(self, other: Self, build: impl FnOnce(&mut Graph, Expr, Expr) -> Expr) -> Self {
        self.scope.build(|graph| build(graph, self.expr, other.expr))
    }

    /// x².
    pub fn square(self) -> Self {
        self * self
    }

    /// √x.
    pub fn sqrt(self) -> Self {
        self.unary(Unary::Sqrt)
    }

    /// |x|.
    pub fn abs(self) -> Self {
        self.unary(Unary::Abs)
    }

    /// eˣ.
    pub fn exp(self) -> Self {
        self.unary(Unary::Exp)
    }

    /// eˣ − 1
    pub fn expm1(self) -> Self {
        self.unary(Unary::Expm1)
    }

    /// ln(1 + x)
    pub fn log1p(self) -> Self {
        self.unary(Unary::Log1p)
    }

    /// sin x.
    pub fn sin(self) -> Self {
        self.unary(Unary::Sin)
    }

    /// cos x.
    pub fn cos(self) -> Self {
        self.unary(Unary::Cos)
    }

    /// sinh x.
    pub fn sinh(self) -> Self {
        self.unary(Unary::Sinh)
    }

    /// cosh x.
    pub fn cosh(self) -> Self {
        self.unary(Unary::Cosh)
    }

    /// arctan x.
    pub fn atan(self) -> Self {
        self.unary(Unary::Atan)
    }

    /// The angle of the point (x, self).
    pub fn atan2(self, x: Self) -> Self {
        self.with(x, Graph::atan2)
    }

    /// 1/(1 + e⁻ˣ)
    pub fn sigmoid(self) -> Self {
        self.unary(Unary::Sigmoid)
    }

    /// ln(1 + eˣ)
    pub fn softplus(self) -> Self {
        self.unary(Unary::Softplus)
    }

    /// −1, 0 or 1.
    pub fn sign(self) -> Self {
        self.scope.build(|graph| graph.sign(self.expr))
    }

    /// The smaller of two.
    pub fn min(self, other: Self) -> Self {
        self.with(other, Graph::min)
    }

    /// The larger of two.
    pub fn max(self, other: Self) -> Self {
        self.with(other, Graph::max)
    }

    /// self / other where other > 0, else 0.
    pub fn over_positive(self, other: Self) -> Self {
        self.with(other, Graph::div_safe)
    }

    /// Whether self < other.
    pub fn less(self, other: Self) -> Self {
        self.with(other, Graph::less)
    }

    /// Whether self ≤ other.
    pub fn less_equal(self, other: Self) -> Self {
        self.with(other, Graph::less_equal)
    }

    /// Where this truth value holds `then`, else `otherwise`.
    pub fn select(self, then: Self, otherwise: Self) -> Self {
        self.scope.build(|graph| graph.select(self.expr, then.expr, otherwise.expr))
    }
}

impl Neg for Symbol<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.unary(Unary::Neg)
    }
}

macro_rules! operators {
    ($($operator:ident :: $method:ident => $build:ident;)*) => {$(
        impl<'g> $operator for Symbol<'g> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.with(other, Graph::$build)
            }
        }

        impl<'g> $operator<f64> for Symbol<'g> {
            type Output = Self;

            fn $method(self, other: f64) -> Self {
                $operator::$method(self, self.scope.constant(other))
            }
        }

        impl<'g> $operator<Symbol<'g>> for f64 {
            type Output = Symbol<'g>;

            fn $method(self, other: Symbol<'g>) -> Symbol<'g> {
                $operator::$method(other.scope.constant(self), other)
            }
        }
    )*};
}

operators! {
    Add::add => add;
    Sub::sub => sub;
    Mul::mul => mul;
    Div::div => div;
}
