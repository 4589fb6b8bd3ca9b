//! Robust losses ρ(s) of a residual's squared norm s = ‖r‖², which costs ½ w ρ(s).
//!
//! Formulas and parameters are those of Ceres' `loss_function.h` where it has the loss; Geman–McClure's and Welsch's are
//! those of Zhang, *Parameter estimation techniques* (1997), table 1, whose ½ρ the others are, too; Barron's is
//! *A General and Adaptive Robust Loss Function* (2019), equation (8), times 2c². Parameters are data of a term: only the
//! kind of a loss is part of its kernels. [LOSSES.md](../../docs/LOSSES.md) has them all in one table.
//!
//! Every loss says how much it *rises* from s₀ to s₁ in terms of s₁ − s₀, without cancellation: differences of costs are
//! summed that way, in f32, where they are 10⁻⁹ of the costs.

use super::losses::BuiltInLoss;
use leastwise_expr::{Canonical, Ends, Expr, Graph, Leaf, Symbol, rising};
use std::sync::Arc;

/// A loss without the values of its parameters, which are listed here in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LossKind {
    /// s
    Trivial,
    /// Its own.
    BuiltIn(BuiltInLoss),
    /// The factor, then those of what it scales.
    Scaled(Arc<LossKind>),
    /// Those of the outer one, then those of the inner: ρ(s) = outer(inner(s)).
    Composed(Arc<LossKind>, Arc<LossKind>),
    /// Its numbers, in the order of the structure.
    Traced(Arc<TracedLoss>),
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

    // A function of its own, which a page without such a loss does not load.
    #[inline(never)]
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
    /// s at the start.
    pub from: Symbol<'g>,
    /// s at the end.
    pub to: Symbol<'g>,
    /// Their difference.
    pub by: Symbol<'g>,
}

impl LossKind {
    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        match self {
            Self::Trivial => 0,
            Self::BuiltIn(loss) => loss.parameters().len(),
            Self::Scaled(inner) => 1 + inner.parameters(),
            Self::Composed(outer, inner) => outer.parameters() + inner.parameters(),
            Self::Traced(traced) => traced.parameters,
        }
    }

    /// For messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::BuiltIn(loss) => loss.name(),
            Self::Scaled(_) => "scaled",
            Self::Composed(..) => "composed",
            Self::Traced(_) => "traced",
        }
    }

    /// Its number on the wire: `src/session/surface.idl` has those that are not a built-in loss's.
    fn number(&self) -> u32 {
        match self {
            Self::Trivial => 0,
            Self::BuiltIn(loss) => loss.number(),
            Self::Scaled(_) => 10,
            Self::Composed(..) => 11,
            Self::Traced(_) => 12,
        }
    }

    /// Appends words that are equal for equal kinds alone.
    pub fn write_words(&self, words: &mut Vec<u32>) {
        words.push(self.number());
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
        match self {
            Self::Trivial => s,
            Self::BuiltIn(loss) => loss.value(s, parameters),
            Self::Scaled(inner) => parameters[0] * inner.value(s, &parameters[1..]),
            Self::Composed(outer, inner) => {
                let (of_outer, of_inner) = parameters.split_at(outer.parameters());
                outer.value(inner.value(s, of_inner), of_outer)
            }
            Self::Traced(traced) => traced.derivative(0, s, parameters),
        }
    }

    /// ρ′(s)
    pub fn slope<'g>(&self, s: Symbol<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        let scope = s.scope();
        // Before all slopes: numbers of nodes decide the order of operands in kernels.
        scope.constant(0.0);
        match self {
            Self::Trivial => scope.constant(1.0),
            Self::BuiltIn(loss) => loss.slope(s, parameters),
            Self::Scaled(inner) => parameters[0] * inner.slope(s, &parameters[1..]),
            Self::Composed(outer, inner) => {
                let (of_outer, of_inner) = parameters.split_at(outer.parameters());
                outer.slope(inner.value(s, of_inner), of_outer) * inner.slope(s, of_inner)
            }
            Self::Traced(traced) => traced.derivative(1, s, parameters),
        }
    }

    /// ρ″(s)
    pub fn bend<'g>(&self, s: Symbol<'g>, parameters: &[Symbol<'g>]) -> Symbol<'g> {
        let zero = s.scope().constant(0.0);
        match self {
            Self::Trivial => zero,
            Self::BuiltIn(loss) => loss.bend(s, parameters),
            Self::Scaled(inner) => parameters[0] * inner.bend(s, &parameters[1..]),
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
            Self::BuiltIn(loss) => rising(s.from, s.to, s.by, |low, high, by| loss.rise(low, high, by, parameters)),
            Self::Scaled(inner) => parameters[0] * inner.difference(s, &parameters[1..]),
            Self::Composed(outer, inner) => {
                let (of_outer, of_inner) = parameters.split_at(outer.parameters());
                let (from, to) = (inner.value(s.from, of_inner), inner.value(s.to, of_inner));
                outer.difference(Step { from, to, by: inner.difference(s, of_inner) }, of_outer)
            }
            Self::Traced(traced) => traced.difference(s, parameters),
        }
    }
}
