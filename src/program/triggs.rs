//! How a term's rows are weighted: by w, and by what its loss makes of w.
//!
//! With s = ‖r‖², the cost ½ w ρ(s) has the gradient w ρ′ r and the Hessian w (ρ′ I + 2ρ″ r rᵀ) with respect to r. So
//! r and J stay what they are, Jᵀ u of u = w ρ′ r is the gradient, and what is between J and Jᵀ is
//!
//! W = w (ρ′ I + κ r rᵀ),
//!
//! Triggs' second-order correction (Triggs, McLauchlan, Hartley & Fitzgibbon, *Bundle Adjustment — A Modern Synthesis*,
//! 2000, section 4.3), applied to u = J p instead of to J. κ is 2ρ″, but never so negative that the curvature along r falls
//! below [`LEAST_CURVATURE`] of that across: beyond an inflection of ρ(x²) the true one is negative. Where r is 0, so is
//! the correction.

use super::LossKind;
use super::loss::Step;
use leastwise_expr::{Expr, Graph, Leaf, Scope, Symbol, Unary};
use std::sync::Arc;

/// The least curvature along r, as a part of ρ′. 1 would be to leave the correction out where ρ″ < 0, as Ceres does, 0 to
/// have nothing but damping where ρ(x²) is concave: then steps are too long, and rejected. What was measured stands in
/// docs/LOSSES.md.
pub const LEAST_CURVATURE: f64 = 0.9;

/// A loss whose parameters are the data columns from `first` on, each a scalar.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RobustShape {
    /// The loss.
    pub kind: Arc<LossKind>,
    /// First of its parameters among the shared values.
    pub first: u32,
}

impl RobustShape {
    /// The parameters as scalars of a graph.
    fn parameters<'g>(&self, scope: &'g Scope) -> Vec<Symbol<'g>> {
        let columns = (self.first..).take(self.kind.parameters());
        columns.map(|column| scope.build(|graph| graph.leaf(Leaf::Data { column, component: 0 }))).collect()
    }

    /// What a formula over s and the parameters gives.
    fn of(&self, graph: &mut Graph, s: Expr, formula: impl for<'g> Fn(Symbol<'g>, &[Symbol<'g>]) -> Symbol<'g>) -> Expr {
        graph.formula(|scope| formula(scope.symbol(s), &self.parameters(scope)).expr)
    }

    pub(super) fn value(&self, graph: &mut Graph, s: Expr) -> Expr {
        self.of(graph, s, |s, p| self.kind.value(s, p))
    }

    pub(super) fn slope(&self, graph: &mut Graph, s: Expr) -> Expr {
        self.of(graph, s, |s, p| self.kind.slope(s, p))
    }

    /// ρ′ and κ.
    pub(super) fn curvature(&self, graph: &mut Graph, squared: Expr) -> (Expr, Expr) {
        graph.formula(|scope| {
            let (s, parameters) = (scope.symbol(squared), self.parameters(scope));
            let (zero, bend) = (scope.constant(0.0), 2.0 * self.kind.bend(s, &parameters));
            let slope = self.kind.slope(s, &parameters);
            // A traced loss may fall, but a model of the cost must not.
            let slope = if self.kind.is_built_in() { slope } else { slope.max(zero) };
            let most = (1.0 - LEAST_CURVATURE) * slope;
            let least = -most.over_positive(s);
            let along = (most + bend * s).less(zero).select(least, bend);
            (slope.expr, along.expr)
        })
    }
}

/// The weights of the rows of an instance, in a graph over what is stored.
pub(super) struct Weighting<'a> {
    weight: Expr,
    r: Vec<Expr>,
    squared: Expr,
    loss: Option<&'a RobustShape>,
    /// ρ′ and κ, once they are needed.
    curvature: Option<(Expr, Expr)>,
}

impl<'a> Weighting<'a> {
    /// Weighting of `rows` stored residuals by weight and loss.
    pub fn new(linear: &mut Graph, rows: u32, loss: Option<&'a RobustShape>) -> Self {
        let weight = linear.leaf(Leaf::Weight);
        let r: Vec<Expr> = (0..rows).map(|row| linear.leaf(Leaf::Stored(row))).collect();
        let squared = linear.dot(&r, &r);
        Self { weight, r, squared, loss, curvature: None }
    }

    /// ½ w ρ(‖r‖²), flagged where a row is that may be, or where a traced loss is not defined.
    pub fn energy(&self, linear: &mut Graph, may_be_flagged: impl Iterator<Item = bool>) -> Expr {
        let half = linear.constant(0.5);
        let scale = linear.mul(half, self.weight);
        let loss = self.loss.map_or(self.squared, |loss| loss.value(linear, self.squared));
        let value = linear.mul(scale, loss);
        let all = linear.constant(1.0);
        let finite = self.r.iter().zip(may_be_flagged).filter(|(_, may)| *may).fold(all, |all, (&r, _)| {
            let finite = linear.unary(Unary::Finite, r);
            linear.and(all, finite)
        });
        let defined = defined(linear, self.loss, loss);
        let defined = linear.and(finite, defined);
        linear.flagged_unless(defined, value)
    }

    /// w ρ′ r
    pub fn gradient(&self, linear: &mut Graph) -> Vec<Expr> {
        let scale = match self.loss {
            None => self.weight,
            Some(loss) => {
                let slope = loss.slope(linear, self.squared);
                linear.mul(self.weight, slope)
            }
        };
        self.r.iter().map(|&r| linear.mul(scale, r)).collect()
    }

    /// W u
    pub fn rows(&mut self, linear: &mut Graph, u: &[Expr]) -> Vec<Expr> {
        let Some((slope, along)) = self.curvature(linear) else {
            return u.iter().map(|&u| linear.mul(self.weight, u)).collect();
        };
        // In this order, so that without curvature along r nothing overflows that would not without a loss.
        let dot = linear.dot(&self.r, u);
        let scaled = linear.mul(along, dot);
        let weighed = u.iter().zip(&self.r).map(|(&u, &r)| {
            let (across, along) = (linear.mul(slope, u), linear.mul(scaled, r));
            let sum = linear.add(across, along);
            linear.mul(self.weight, sum)
        });
        weighed.collect()
    }

    /// aᵀ W b for two columns of J, given as rows, in ascending order, and entries that are not 0.
    pub fn pair(&mut self, linear: &mut Graph, a: &[(usize, Expr)], b: &[(usize, Expr)]) -> Expr {
        let mut rest = a.iter().copied().peekable();
        let both = b.iter().filter_map(|&(row, b)| {
            while rest.next_if(|entry| entry.0 < row).is_some() {}
            Some((rest.next_if(|entry| entry.0 == row)?.1, b))
        });
        let (of_both, from_b): (Vec<Expr>, Vec<Expr>) = both.unzip();
        let dot = linear.dot(&of_both, &from_b);
        let Some((slope, along)) = self.curvature(linear) else {
            return linear.mul(self.weight, dot);
        };
        let mut along_r = |column: &[(usize, Expr)]| {
            let (r, entries): (Vec<Expr>, Vec<Expr>) = column.iter().map(|&(row, entry)| (self.r[row], entry)).unzip();
            linear.dot(&r, &entries)
        };
        let (left, right) = (along_r(a), along_r(b));
        let across = linear.mul(slope, dot);
        let product = linear.mul(left, right);
        let product = linear.mul(along, product);
        let sum = linear.add(across, product);
        linear.mul(self.weight, sum)
    }

    /// ρ′ and κ, of a loss.
    fn curvature(&mut self, linear: &mut Graph) -> Option<(Expr, Expr)> {
        let loss = self.loss?;
        let squared = self.squared;
        Some(*self.curvature.get_or_insert_with(|| loss.curvature(linear, squared)))
    }
}

/// ρ′ and κ in numbers, for those who have r and J on the host.
pub struct Curvature {
    graph: Graph,
    roots: [Expr; 2],
    values: Vec<f64>,
}

impl Curvature {
    /// Curvature of a loss: graph and values.
    pub fn new(loss: &RobustShape) -> Self {
        let mut graph = Graph::new();
        let squared = graph.leaf(Leaf::Stored(0));
        let (slope, along) = loss.curvature(&mut graph, squared);
        Self { graph, roots: [slope, along], values: Vec::new() }
    }

    /// √W = √w (√ρ′ I + γ r rᵀ) at s = ‖r‖², whose eigenvalues are √ρ′ across r and √(ρ′ + κs) along it: √ρ′ and γ.
    /// `data` gives the loss's parameters by their columns.
    pub fn root(&mut self, s: f64, data: impl Fn(u32) -> f64) -> (f64, f64) {
        let leaf = |leaf: Leaf| if let Leaf::Data { column, .. } = leaf { data(column) } else { s };
        let values = self.graph.evaluate(&self.roots, &mut self.values, leaf);
        let (across, along) = (values[0].max(0.0).sqrt(), (values[0] + values[1] * s).max(0.0).sqrt());
        (across, if s > 0.0 { (along - across) / s } else { 0.0 })
    }
}

/// Where ρ is defined: everywhere, unless it was traced.
fn defined(graph: &mut Graph, loss: Option<&RobustShape>, value: Expr) -> Expr {
    match loss {
        Some(loss) if !loss.kind.is_built_in() => graph.defined(&[value]),
        _ => graph.constant(1.0),
    }
}

/// ½ w (ρ(‖r′‖²) − ρ(‖r‖²)), with r′ evaluated anew and r as stored: the difference of two nearly equal costs without
/// their rounding errors, from ‖r′‖² − ‖r‖² = Σ (r′ − r)(r′ + r).
pub(super) fn change(graph: &mut Graph, residual: &[Expr], loss: Option<&RobustShape>) -> Expr {
    let half = graph.constant(0.5);
    let mut sum = graph.constant(0.0);
    let old: Vec<Expr> = (0..residual.len() as u32).map(|row| graph.leaf(Leaf::Stored(row))).collect();
    for (&new, &old) in residual.iter().zip(&old) {
        let difference = graph.sub(new, old);
        let total = graph.add(new, old);
        let product = graph.mul(difference, total);
        sum = graph.add(sum, product);
    }
    let mut defined = graph.defined(residual);
    if let Some(loss) = loss {
        let (from, to) = (graph.dot(&old, &old), graph.dot(residual, residual));
        if !loss.kind.is_built_in() {
            let value = loss.value(graph, to);
            let of_loss = self::defined(graph, Some(loss), value);
            defined = graph.and(defined, of_loss);
        }
        sum = graph.formula(|scope| {
            let step = Step { from: scope.symbol(from), to: scope.symbol(to), by: scope.symbol(sum) };
            loss.kind.difference(step, &loss.parameters(scope)).expr
        });
    }
    let weight = graph.leaf(Leaf::Weight);
    let scale = graph.mul(half, weight);
    let change = graph.mul(scale, sum);
    graph.flagged_unless(defined, change)
}
