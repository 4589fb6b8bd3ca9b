//! Robust losses ρ(s) of a residual's squared norm s = ‖r‖², which costs ½ w ρ(s).
//!
//! Formulas and parameters are those of Ceres' `loss_function.h` where it has the loss; Geman–McClure's and Welsch's are
//! those of Zhang, *Parameter estimation techniques* (1997), table 1, whose ½ρ the others are, too; Barron's is
//! *A General and Adaptive Robust Loss Function* (2019), equation (8), times 2c². Parameters are data of a term: only the
//! kind of a loss is part of its kernels. [LOSSES.md](../../docs/LOSSES.md) has them all in one table.
//!
//! Every loss says how much it *rises* from s₀ to s₁ in terms of s₁ − s₀, without cancellation: differences of costs are
//! summed that way, in f32, where they are 10⁻⁹ of the costs.

use super::loss_code::LossCode;
use leastwise_expr::{Canonical, Ends, Expr, Graph, Leaf, Symbol, rising, softplus_rise};
use std::sync::Arc;

/// A loss without the values of its parameters, which are listed here in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LossKind {
    /// s
    Trivial,
    /// δ
    Huber,
    /// c
    SoftL1,
    /// c
    Cauchy,
    /// a
    Arctan,
    /// c
    Tukey,
    /// c
    GemanMcClure,
    /// c
    Welsch,
    /// a, b
    Tolerant,
    /// α, c
    Barron,
    /// The factor, then those of what it scales.
    Scaled(Arc<LossKind>),
    /// Those of the outer one, then those of the inner: ρ(s) = outer(inner(s)).
    Composed(Arc<LossKind>, Arc<LossKind>),
    /// Its numbers, in the order of the structure.
    Traced(Arc<TracedLoss>),
}

/// Values that a parameter may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Range {
    /// Positive, and its square is squared in f32.
    Scale,
    NotNegative,
    /// At most 1e6, or −∞.
    Exponent,
}

/// A function of s that was traced: the same for all that differ in their numbers alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TracedLoss {
    canonical: Canonical,
    parameters: usize,
}

/// s and the parameters in the graph of a [`TracedLoss`].
const SQUARED: Leaf = Leaf::Slot { slot: 0, component: 0 };

fn parameter(number: usize) -> Leaf {
    Leaf::Data { column: number as u32, component: 0 }
}

/// |α − 2| below which Barron's loss is s itself.
const BARRON_SQUARE: f64 = 1e-15;

impl TracedLoss {
    /// Of an expression in which s is `squared`; gives the leaves that are its parameters, too. `None` where it does not
    /// depend on s.
    pub fn new(graph: &Graph, value: Expr, squared: Leaf) -> Option<(Self, Vec<Leaf>)> {
        let mut canonical = graph.canonical(&[value], |leaf| u32::from(leaf == squared));
        if !canonical.leaves.contains(&squared) {
            return None;
        }
        let parameters: Vec<Leaf> = canonical.leaves.iter().copied().filter(|leaf| *leaf != squared).collect();
        let mut next = 0;
        for leaf in &mut canonical.leaves {
            *leaf = if *leaf == squared {
                SQUARED
            } else {
                next += 1;
                parameter(next - 1)
            };
        }
        Some((Self { canonical, parameters: parameters.len() }, parameters))
    }

    /// ρ in a graph of its own.
    fn graph(&self) -> (Graph, Expr) {
        let (graph, roots) = self.canonical.rebuild(1, |leaf| self.canonical.leaves[leaf as usize]);
        (graph, roots[0])
    }

    /// The `order`-th derivative at s.
    fn derivative<'g>(&self, order: usize, s: Symbol<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        let (mut graph, mut value) = self.graph();
        let squared = graph.leaf(SQUARED);
        for _ in 0..order {
            value = graph.gradient(value, &[squared])[0];
        }
        let leaf = |leaf: Leaf| if let Leaf::Data { column, .. } = leaf { parameters[column as usize].expr } else { s.expr };
        s.scope().build(|into| into.import(&graph, &[value], |_, it| leaf(it))[0])
    }

    fn difference<'g>(&self, s: Step<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        let (graph, value) = self.graph();
        s.by.scope().build(|into| {
            let leaf = |into: &mut Graph, leaf: Leaf| match leaf {
                Leaf::Data { column, .. } => {
                    let still = parameters[column as usize].expr;
                    Ends { from: still, to: still, by: into.constant(0.0) }
                }
                _ => Ends { from: s.from.expr, to: s.to.expr, by: s.by.expr },
            };
            into.difference(&graph, value, leaf).by
        })
    }
}

/// A step of s: from s₀ to s₁, and by how much, which is known better than their difference.
#[derive(Clone, Copy)]
pub struct Step<'g> {
    pub from: Symbol<'g>,
    pub to: Symbol<'g>,
    pub by: Symbol<'g>,
}

/// What Barron's loss is made of: c², |α − 2| (never 0) and what is chosen where that is next to nothing.
struct Barron<'g> {
    alpha: Symbol<'g>,
    b: Symbol<'g>,
    beta: Symbol<'g>,
}

impl<'g> Barron<'g> {
    fn new(alpha: Symbol<'g>, c: Symbol<'g>) -> Self {
        let beta = (alpha - 2.0).abs().max(alpha.scope().constant(BARRON_SQUARE));
        Self { alpha, b: c.square(), beta }
    }

    /// `general` unless α is 2.
    fn unless_square(&self, general: Symbol<'g>, square: Symbol<'g>) -> Symbol<'g> {
        (self.alpha - 2.0).abs().less_equal(self.alpha.scope().constant(BARRON_SQUARE)).select(square, general)
    }

    /// s/(c²|α − 2|)
    fn scaled(&self, s: Symbol<'g>) -> Symbol<'g> {
        s / self.b / self.beta
    }

    /// (1 + s/(c²|α − 2|)) to the power of α/2 − 1 − `less`.
    fn power(&self, s: Symbol<'g>, less: f64) -> Symbol<'g> {
        ((0.5 * self.alpha - (1.0 + less)) * self.scaled(s).log1p()).exp()
    }

    /// c²|α − 2| (1 + s₀/…)^(α/2) L (e^(αL/2) − 1)/(αL/2) with L the logarithm of (1 + s₁/…)/(1 + s₀/…): so for every α,
    /// 0 included, and for α → −∞ it comes to Welsch's by itself.
    fn rise(&self, low: Symbol<'g>, by: Symbol<'g>) -> Symbol<'g> {
        let half = 0.5 * self.alpha;
        let start = self.scaled(low);
        let logarithm = (self.scaled(by) / (1.0 + start)).log1p();
        let exponent = half * logarithm;
        let scope = by.scope();
        let tiny = exponent.abs().less_equal(scope.constant(1e-30));
        let growth = tiny.select(scope.constant(1.0), exponent.expm1() / exponent);
        let general = self.b * (self.beta * logarithm) * ((half * start.log1p()).exp() * growth);
        self.unless_square(general, by)
    }
}

impl LossKind {
    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        match self {
            Self::Scaled(inner) => 1 + inner.parameters(),
            Self::Composed(outer, inner) => outer.parameters() + inner.parameters(),
            Self::Traced(traced) => traced.parameters,
            plain => plain.code().parameters().len(),
        }
    }

    /// A kind with no others inside it.
    pub fn plain(code: LossCode) -> Option<Self> {
        Some(match code {
            LossCode::Trivial => Self::Trivial,
            LossCode::Huber => Self::Huber,
            LossCode::SoftL1 => Self::SoftL1,
            LossCode::Cauchy => Self::Cauchy,
            LossCode::Arctan => Self::Arctan,
            LossCode::Tukey => Self::Tukey,
            LossCode::GemanMcClure => Self::GemanMcClure,
            LossCode::Welsch => Self::Welsch,
            LossCode::Tolerant => Self::Tolerant,
            LossCode::Barron => Self::Barron,
            LossCode::Scaled | LossCode::Composed | LossCode::Traced => return None,
        })
    }

    /// Range of one of a plain kind's parameters.
    pub fn range(&self, parameter: usize) -> Range {
        match (self, parameter) {
            (Self::Tolerant, 0) => Range::NotNegative,
            (Self::Barron, 0) => Range::Exponent,
            _ => Range::Scale,
        }
    }

    fn code(&self) -> LossCode {
        match self {
            Self::Trivial => LossCode::Trivial,
            Self::Huber => LossCode::Huber,
            Self::SoftL1 => LossCode::SoftL1,
            Self::Cauchy => LossCode::Cauchy,
            Self::Arctan => LossCode::Arctan,
            Self::Tukey => LossCode::Tukey,
            Self::GemanMcClure => LossCode::GemanMcClure,
            Self::Welsch => LossCode::Welsch,
            Self::Tolerant => LossCode::Tolerant,
            Self::Barron => LossCode::Barron,
            Self::Scaled(_) => LossCode::Scaled,
            Self::Composed(..) => LossCode::Composed,
            Self::Traced(_) => LossCode::Traced,
        }
    }

    /// For messages.
    pub fn name(&self) -> &'static str {
        self.code().name()
    }

    /// Appends words that are equal for equal kinds alone.
    pub fn write_words(&self, words: &mut Vec<u32>) {
        words.push(self.code() as u32);
        match self {
            Self::Scaled(inner) => inner.write_words(words),
            Self::Composed(outer, inner) => {
                outer.write_words(words);
                inner.write_words(words);
            }
            Self::Traced(traced) => {
                // The words say which leaf is s.
                words.push(traced.canonical.words.len() as u32);
                words.extend(&traced.canonical.words);
            }
            _ => {}
        }
    }

    /// Whether it is defined for every s ≥ 0 and never falls: all that are not traced.
    pub fn is_built_in(&self) -> bool {
        match self {
            Self::Scaled(inner) => inner.is_built_in(),
            Self::Composed(outer, inner) => outer.is_built_in() && inner.is_built_in(),
            Self::Traced(_) => false,
            _ => true,
        }
    }

    /// ρ(s)
    pub fn value<'g>(&self, s: Symbol<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        let p = |number: usize| parameters[number];
        match self {
            Self::Trivial => s,
            Self::Huber => {
                let b = p(0).square();
                s.less_equal(b).select(s, 2.0 * p(0) * s.sqrt() - b)
            }
            Self::Scaled(inner) => p(0) * inner.value(s, &parameters[1..]),
            Self::Composed(outer, inner) => {
                let (of_outer, of_inner) = parameters.split_at(outer.parameters());
                outer.value(inner.value(s, of_inner), of_outer)
            }
            Self::Traced(traced) => traced.derivative(0, s, parameters),
            // They are 0 at 0.
            _ => self.rise(s.scope().constant(0.0), s, s, parameters),
        }
    }

    /// ρ′(s)
    pub fn slope<'g>(&self, s: Symbol<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        let p = |number: usize| parameters[number];
        let scope = s.scope();
        let zero = scope.constant(0.0);
        match self {
            Self::Trivial => scope.constant(1.0),
            Self::Huber => {
                let b = p(0).square();
                s.less_equal(b).select(scope.constant(1.0), p(0) / s.max(b).sqrt())
            }
            Self::SoftL1 => 1.0 / (1.0 + s / p(0).square()).sqrt(),
            Self::Cauchy => 1.0 / (1.0 + s / p(0).square()),
            Self::Arctan => 1.0 / (1.0 + (s / p(0)).square()),
            Self::Tukey => (1.0 - s / p(0).square()).max(zero).square(),
            Self::GemanMcClure => (1.0 / (1.0 + s / p(0).square())).square(),
            Self::Welsch => (-(s / p(0).square())).exp(),
            Self::Tolerant => ((s - p(0)) / p(1)).sigmoid(),
            Self::Barron => {
                let barron = Barron::new(p(0), p(1));
                barron.unless_square(barron.power(s, 0.0), scope.constant(1.0))
            }
            Self::Scaled(inner) => p(0) * inner.slope(s, &parameters[1..]),
            Self::Composed(outer, inner) => {
                let (of_outer, of_inner) = parameters.split_at(outer.parameters());
                outer.slope(inner.value(s, of_inner), of_outer) * inner.slope(s, of_inner)
            }
            Self::Traced(traced) => traced.derivative(1, s, parameters),
        }
    }

    /// ρ″(s)
    pub fn bend<'g>(&self, s: Symbol<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        let p = |number: usize| parameters[number];
        let scope = s.scope();
        let zero = scope.constant(0.0);
        let slope = || self.slope(s, parameters);
        match self {
            Self::Trivial => zero,
            Self::Huber => {
                let b = p(0).square();
                s.less_equal(b).select(zero, -(slope() / (2.0 * s.max(b))))
            }
            Self::SoftL1 => -(slope() / (2.0 * (p(0).square() + s))),
            Self::Cauchy => -(slope() / (p(0).square() + s)),
            Self::Arctan => -2.0 * (s / p(0)) / p(0) * slope().square(),
            Self::Tukey => -2.0 * (1.0 - s / p(0).square()).max(zero) / p(0).square(),
            Self::GemanMcClure => -2.0 * slope() / (p(0).square() + s),
            Self::Welsch => -(slope() / p(0).square()),
            Self::Tolerant => slope() * ((p(0) - s) / p(1)).sigmoid() / p(1),
            Self::Barron => {
                let barron = Barron::new(p(0), p(1));
                (p(0) - 2.0).sign() * (0.5 / barron.b) * barron.power(s, 1.0)
            }
            Self::Scaled(inner) => p(0) * inner.bend(s, &parameters[1..]),
            Self::Composed(outer, inner) => {
                let (of_outer, of_inner) = parameters.split_at(outer.parameters());
                let (value, slope) = (inner.value(s, of_inner), inner.slope(s, of_inner));
                outer.bend(value, of_outer) * slope.square() + outer.slope(value, of_outer) * inner.bend(s, of_inner)
            }
            Self::Traced(traced) => traced.derivative(2, s, parameters),
        }
    }

    /// ρ(s₁) − ρ(s₀), without cancellation.
    pub fn difference<'g>(&self, s: Step<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        match self {
            Self::Trivial => s.by,
            Self::Scaled(inner) => parameters[0] * inner.difference(s, &parameters[1..]),
            Self::Composed(outer, inner) => {
                let (of_outer, of_inner) = parameters.split_at(outer.parameters());
                let (from, to) = (inner.value(s.from, of_inner), inner.value(s.to, of_inner));
                outer.difference(Step { from, to, by: inner.difference(s, of_inner) }, of_outer)
            }
            Self::Traced(traced) => traced.difference(s, parameters),
            _ => rising(s.from, s.to, s.by, |low, high, by| self.rise(low, high, by, parameters)),
        }
    }

    /// ρ(high) − ρ(low) for a built-in loss and low ≤ high = low + by.
    fn rise<'g>(&self, low: Symbol<'g>, high: Symbol<'g>, by: Symbol<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        let p = |number: usize| parameters[number];
        let zero = by.scope().constant(0.0);
        match self {
            // Across δ² the parts below and above count with 1 and 2δ/(√high + δ): as by times the latter, and a rest of
            // second order.
            Self::Huber => {
                let b = p(0).square();
                let root = high.sqrt();
                let above = 2.0 * p(0) * by / (root + low.max(b).sqrt());
                let rest = (b - low) * (high - b) / (root + p(0)).square();
                let beyond = low.less_equal(b).select(above + rest, above);
                high.less_equal(b).select(by, beyond)
            }
            Self::SoftL1 => {
                let b = p(0).square();
                2.0 * by / ((1.0 + low / b).sqrt() + (1.0 + high / b).sqrt())
            }
            Self::Cauchy => {
                let b = p(0).square();
                b * (by / (b + low)).log1p()
            }
            // By tan(x − y) = (tan x − tan y)/(1 + tan x tan y).
            Self::Arctan => p(0) * (by / p(0) / (1.0 + low / p(0) * (high / p(0)))).atan(),
            // (p³ − q³)/3 with p and q the distances to c², in units of it.
            Self::Tukey => {
                let b = p(0).square();
                let inside = |s: Symbol<'g>| (1.0 - s / b).max(zero);
                let (p, q) = (inside(low), inside(high));
                by.min((b - low).max(zero)) / 3.0 * (p.square() + p * q + q.square())
            }
            Self::GemanMcClure => {
                let b = p(0).square();
                by / ((1.0 + low / b) * (1.0 + high / b))
            }
            Self::Welsch => {
                let b = p(0).square();
                -(b * (-(low / b)).exp() * (-(by / b)).expm1())
            }
            Self::Tolerant => {
                let scaled = |s: Symbol<'g>| (s - p(0)) / p(1);
                p(1) * softplus_rise(scaled(low), scaled(high), by / p(1))
            }
            Self::Barron => Barron::new(p(0), p(1)).rise(low, by),
            Self::Trivial | Self::Scaled(_) | Self::Composed(..) | Self::Traced(_) => unreachable!("they have differences of their own"),
        }
    }
}
