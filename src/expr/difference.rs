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

use super::formula::Symbol;
use super::{Binary, Expr, Graph, Leaf, Node, Unary};

/// A value at x₀ and x₁, and the difference.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    pub from: Expr,
    pub to: Expr,
    pub by: Expr,
}

/// The same while its difference is being written.
#[derive(Clone, Copy)]
struct Pair<'g> {
    from: Symbol<'g>,
    to: Symbol<'g>,
    by: Symbol<'g>,
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
        let smooth = match operation {
            Unary::Floor | Unary::Ceil | Unary::Round | Unary::Not | Unary::Finite => return self.sub(to, from),
            Unary::Neg => return self.neg(a.by),
            Unary::Detach => return a.by,
            Unary::Cbrt | Unary::Tan | Unary::Asin | Unary::Acos | Unary::Asinh | Unary::Acosh | Unary::Atanh | Unary::Erf => {
                self.by_slopes(operation, a, from, to)
            }
            _ => from,
        };
        self.formula(|scope| {
            let [from, to, smooth] = [from, to, smooth].map(|expr| scope.symbol(expr));
            let a = Pair { from: scope.symbol(a.from), to: scope.symbol(a.to), by: scope.symbol(a.by) };
            let result = match operation {
                Unary::Abs => {
                    let same = (a.from * a.to).less(scope.constant(0.0));
                    same.select(to - from, a.from.less(scope.constant(0.0)).select(-a.by, a.by))
                }
                Unary::Sqrt => a.by.over_positive(from + to),
                Unary::Exp | Unary::Expm1 => a.rising(|_, high, by| -(high.exp() * (-by).expm1())),
                Unary::Exp2 => a.rising(|_, high, by| -((high * std::f64::consts::LN_2).exp() * (by * -std::f64::consts::LN_2).expm1())),
                Unary::Log => a.rising(|low, _, by| (by / low).log1p()),
                Unary::Log1p => a.rising(|low, _, by| (by / (1.0 + low)).log1p()),
                // By 2 cos((a + b)/2) sin((b − a)/2) and its like.
                Unary::Sin => 2.0 * a.middle().cos() * (0.5 * a.by).sin(),
                Unary::Cos => -2.0 * a.middle().sin() * (0.5 * a.by).sin(),
                Unary::Sinh => 2.0 * a.middle().cosh() * (0.5 * a.by).sinh(),
                Unary::Cosh => 2.0 * a.middle().sinh() * (0.5 * a.by).sinh(),
                // tanh x = 2/(1 + e⁻²ˣ) − 1
                Unary::Tanh => 2.0 * a.rising(|low, high, by| sigmoid_rise(2.0 * low, 2.0 * high, 2.0 * by)),
                Unary::Atan => a.by.atan2(1.0 + a.from * a.to),
                Unary::Sigmoid => a.rising(sigmoid_rise),
                Unary::Softplus => a.rising(softplus_rise),
                _ => smooth,
            };
            result.expr
        })
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
            let pair = |ends: Ends| Pair { from: scope.symbol(ends.from), to: scope.symbol(ends.to), by: scope.symbol(ends.by) };
            let still = scope.constant(0.0).expr;
            let (a, b, from, to) = (pair(a), pair(b), scope.symbol(from), scope.symbol(to));
            let result = match operation {
                Binary::Add => a.by + b.by,
                Binary::Sub => a.by - b.by,
                Binary::Mul if a.from.expr == b.from.expr && a.to.expr == b.to.expr => a.by * (a.from + a.to),
                Binary::Mul => a.by * b.to + a.from * b.by,
                Binary::Div => (a.by - from * b.by) / b.to,
                Binary::Pow if b.by.expr == still => {
                    let by = a.rising(|low, _, by| {
                        low.scope().build(|graph| graph.binary(Binary::Pow, low.expr, b.from.expr)) * (b.from * (by / low).log1p()).expm1()
                    });
                    scope.constant(0.0).less(a.from.min(a.to)).select(by, to - from)
                }
                Binary::Pow | Binary::Atan2 | Binary::Lt | Binary::Le | Binary::And | Binary::Or => to - from,
            };
            result.expr
        })
    }
}

impl<'g> Pair<'g> {
    /// The difference by a rule for the lower value, the higher, and the positive step between them.
    fn rising(self, rule: impl FnOnce(Symbol<'g>, Symbol<'g>, Symbol<'g>) -> Symbol<'g>) -> Symbol<'g> {
        rising(self.from, self.to, self.by, rule)
    }

    fn middle(self) -> Symbol<'g> {
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

/// 1/(1 + e⁻ᵇ) − 1/(1 + e⁻ᵃ) for a ≤ b.
fn sigmoid_rise<'g>(a: Symbol<'g>, b: Symbol<'g>, by: Symbol<'g>) -> Symbol<'g> {
    -(b.sigmoid() * (-a).sigmoid() * (-by).expm1())
}

/// ln(1 + eᵇ) − ln(1 + eᵃ) for a ≤ b: by the form that neither overflows nor cancels.
pub fn softplus_rise<'g>(a: Symbol<'g>, b: Symbol<'g>, by: Symbol<'g>) -> Symbol<'g> {
    let scope = a.scope();
    let far_below = (a.sigmoid() * by.min(scope.constant(1.0)).expm1()).log1p();
    let below = by.less(scope.constant(1.0)).select(far_below, b.softplus() - a.softplus());
    let above = by + ((-a).sigmoid() * (-by).expm1()).log1p();
    scope.constant(0.0).less(a).select(above, below)
}
