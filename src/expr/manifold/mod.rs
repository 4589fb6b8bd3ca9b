//! Manifolds: variables whose scalars are not free of each other, as unit vectors, rotations and rigid motions are.
//!
//! A solver knows nothing of them but x ⊕ δ, the point that a step δ in the tangent space at x leads to, with x ⊕ 0 = x.
//! Residuals are differentiated with respect to δ at 0 — ∂r/∂δ = ∂r/∂x · P(x), with P(x) = ∂(x ⊕ δ)/∂δ — and a step is
//! tried at x ⊕ δ (Absil, Mahony & Sepulchre, *Optimization Algorithms on Matrix Manifolds*, 2008, chapter 4; Hertzberg
//! et al. 2013). All of it is symbolic: P comes from the same expressions as x ⊕ δ, its constants fold and its zeros
//! stay zeros.

mod part;

pub use part::{MAX_WIDTH, Part};

use super::tape::TapeError;
use super::{Expr, Graph, Leaf};
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// How far from the manifold given values may be: half a rounding of numbers with four digits.
const TOLERANCE: f64 = 1e-3;

/// What is wrong with a shape, or with values of it.
#[derive(Debug, thiserror::Error, PartialEq, Clone)]
#[expect(missing_docs, reason = "the message above a variant says what it is, and what its fields are")]
pub enum ManifoldError {
    #[error("{part} {problem}")]
    Part { part: String, problem: String },
    #[error("an instance has 1 to {MAX_WIDTH} scalars, not {0}")]
    Width(u64),
    #[error("the retraction: {0}")]
    Tape(TapeError),
    #[error("the retraction is too large to be differentiated scalar by scalar: 65536 operations are allowed")]
    TooLarge,
    #[error("the retraction returns {got} scalars, but an instance has {ambient}")]
    Outputs { got: usize, ambient: u32 },
    #[error("component {0} of a step moves nothing: leave it out of the tangent")]
    Idle(u32),
    #[error(
        "instance {instance}: its {what} has a length of {length}, but must be of unit length (within {TOLERANCE}): divide it by its length"
    )]
    Length { instance: usize, what: &'static str, length: f64 },
    #[error("instance {instance}: its scale is {value}, but must be positive")]
    Scale { instance: usize, value: f64 },
    #[error(
        "instance {instance}: a step of 0 moves component {component} from {from} to {to}: the retraction must give back x where d is 0, and values must lie on the manifold (within {TOLERANCE})"
    )]
    Rest { instance: usize, component: usize, from: f64, to: f64 },
}

impl ManifoldError {
    /// The instance whose values are wrong.
    pub fn instance(&self) -> Option<u32> {
        match *self {
            Self::Length { instance, .. } | Self::Scale { instance, .. } | Self::Rest { instance, .. } => u32::try_from(instance).ok(),
            _ => None,
        }
    }
}

/// A product of [`Part`]s that is not simply a space of vectors.
#[derive(Clone)]
pub struct Manifold {
    /// Scalars of an instance, and its degrees of freedom.
    pub ambient: u32,
    /// Degrees of freedom of an instance.
    pub tangent: u32,
    /// By this the engine's registry knows it: 1, 2, …
    pub number: u32,
    parts: Vec<Part>,
    /// Leaves are the scalars and the step of slot 0.
    graph: Graph,
    /// x ⊕ δ; and with unit vectors made of unit length again, whatever rounding did to them.
    moved: Vec<Expr>,
    renewed: Vec<Expr>,
    /// For every component of δ, the scalars that it moves and how fast: the columns of P.
    plus: Vec<Vec<(u32, Expr)>>,
    /// x ⊕ 0 for every scalar of which the symbols do not prove that it is x.
    at_rest: Vec<(u32, Expr)>,
    /// What tells it from others.
    key: Vec<u32>,
}

impl std::fmt::Debug for Manifold {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        self.parts.fmt(f)
    }
}

impl PartialEq for Manifold {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Manifold {}

impl Hash for Manifold {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

/// Scalars of all parts together; an error where a part, or their number, is none.
pub fn width(parts: &[Part]) -> Result<u32, ManifoldError> {
    parts.iter().try_for_each(Part::validate)?;
    let width = parts.iter().map(|part| u64::from(part.ambient())).sum();
    u32::try_from(width).ok().filter(|width| (1..=MAX_WIDTH).contains(width)).ok_or(ManifoldError::Width(width))
}

impl Manifold {
    /// None where x ⊕ δ is x + δ.
    pub fn new(parts: Vec<Part>) -> Result<Option<Self>, ManifoldError> {
        let ambient = width(&parts)?;
        let tangent = parts.iter().map(Part::tangent).sum();
        let mut graph = Graph::new();
        let x: Vec<Expr> = (0..ambient).map(|component| graph.leaf(Leaf::Slot { slot: 0, component })).collect();
        let delta: Vec<Expr> = (0..tangent).map(|component| graph.leaf(Leaf::Step { slot: 0, component })).collect();
        let (mut moved, mut steps) = (Vec::new(), &delta[..]);
        for part in &parts {
            let (mine, rest) = steps.split_at(part.tangent() as usize);
            moved.extend(part.moved(&mut graph, &x[moved.len()..][..part.ambient() as usize], mine)?);
            steps = rest;
        }
        let sums: Vec<Expr> = x.iter().zip(&delta).map(|(&x, &step)| graph.add(x, step)).collect();
        if moved == sums {
            return Ok(None);
        }
        let mut renewed = moved.clone();
        for range in units(&parts) {
            let length = super::compose::vector::norm(&mut graph, &moved[range.clone()]);
            renewed[range].iter_mut().for_each(|x| *x = graph.div(*x, length));
        }
        let mut plus = vec![Vec::new(); tangent as usize];
        for (scalar, &root) in (0..).zip(&moved) {
            let slopes = graph.gradient(root, &delta);
            for (column, slope) in plus.iter_mut().zip(graph.at_rest(&slopes)) {
                if graph.value(slope) != Some(0.0) {
                    column.push((scalar, slope));
                }
            }
        }
        if let Some(idle) = plus.iter().position(Vec::is_empty) {
            return Err(ManifoldError::Idle(idle as u32));
        }
        let rest = graph.at_rest(&moved);
        let at_rest = (0..).zip(rest).filter(|&(scalar, rest)| rest != x[scalar as usize]).collect();
        let kind = |leaf| match leaf {
            Leaf::Step { component, .. } => 1 << 31 | component,
            Leaf::Slot { component, .. } => component,
            _ => u32::MAX,
        };
        let mut key = graph.canonical(&[&moved[..], &renewed].concat(), kind).words;
        key.extend([ambient, tangent]);
        Ok(Some(Self { ambient, tangent, number: 0, parts, graph, moved, renewed, plus, at_rest, key }))
    }

    /// What tells it from others: equal words are equal manifolds.
    pub fn key(&self) -> &[u32] {
        &self.key
    }

    /// x ⊕ δ in another graph, for the variable in this slot and its [`Leaf::Step`].
    pub fn moved(&self, graph: &mut Graph, slot: u32) -> Vec<Expr> {
        graph.insert(&self.graph, &self.moved, in_slot(slot))
    }

    /// The columns of P in another graph, for the variable in this slot: which scalars move, and how fast.
    pub fn plus(&self, graph: &mut Graph, slot: u32) -> Vec<Vec<(u32, Expr)>> {
        let slopes: Vec<Expr> = self.plus.iter().flatten().map(|entry| entry.1).collect();
        let mut slopes = graph.insert(&self.graph, &slopes, in_slot(slot)).into_iter();
        self.plus.iter().map(|column| column.iter().map(|entry| entry.0).zip(&mut slopes).collect()).collect()
    }

    /// P at an instance's scalars, row by row.
    pub fn slopes(&self, x: &[f64]) -> Vec<f64> {
        let entries: Vec<Expr> = self.plus.iter().flatten().map(|entry| entry.1).collect();
        let values = self.graph.evaluate(&entries, &mut Vec::new(), |leaf| match leaf {
            Leaf::Slot { component, .. } => x[component as usize],
            _ => 0.0,
        });
        let tangent = self.tangent as usize;
        let mut slopes = vec![0.0; self.ambient as usize * tangent];
        let places = self.plus.iter().enumerate().flat_map(|(along, column)| column.iter().map(move |entry| (entry.0 as usize, along)));
        places.zip(values).for_each(|((scalar, along), value)| slopes[scalar * tangent + along] = value);
        slopes
    }

    /// The one part of it that is, or has, a point in the plane or in space: its first scalar and its dimensions.
    pub fn point(&self) -> Option<(usize, usize)> {
        let firsts = self.parts.iter().scan(0, |next, part| {
            *next += part.ambient() as usize;
            Some(*next - part.ambient() as usize)
        });
        let mut points = self.parts.iter().zip(firsts).filter_map(|(part, first)| match *part {
            Part::Euclidean(dimensions @ (2 | 3)) => Some((first, dimensions as usize)),
            Part::Se2 => Some((first + 2, 2)),
            Part::Se3 | Part::Sim3 => Some((first + 4, 3)),
            _ => None,
        });
        points.next().filter(|_| points.next().is_none())
    }

    /// The degrees of freedom whose fixing holds these scalars where they are, and nothing else: those that move no other
    /// scalar. An error names a scalar that would still move.
    pub fn holding(&self, components: &[u32]) -> Result<Vec<u32>, u32> {
        let within = |along: &u32| self.plus[*along as usize].iter().all(|(scalar, _)| components.contains(scalar));
        let held: Vec<u32> = (0..self.tangent).filter(within).collect();
        let mut graph = self.graph.clone();
        match components.iter().find(|component| !self.rests(&mut graph, **component, &held)) {
            Some(&component) => Err(component),
            None => Ok(held),
        }
    }

    /// Whether a scalar stays where it is if these components of a step are 0, whatever the others are.
    fn rests(&self, graph: &mut Graph, scalar: u32, held: &[u32]) -> bool {
        let moved = [self.moved[scalar as usize]];
        let zero = graph.constant(0.0);
        let is_held = |leaf| matches!(leaf, Leaf::Step { component, .. } if held.contains(&component));
        graph.substitute(&moved, |leaf| is_held(leaf).then_some(zero)) == graph.at_rest(&moved)
    }

    /// What a kernel stores as the trial point, in a graph of its own; flagged where it is not defined. What does not
    /// move keeps its bits.
    pub fn retraction(&self) -> (Graph, Vec<Expr>) {
        let mut graph = self.graph.clone();
        let mut kept = Vec::new();
        for (scalar, &moved) in (0..).zip(&self.renewed) {
            let x = graph.leaf(Leaf::Slot { slot: 0, component: scalar });
            let still = self.still(&mut graph, scalar);
            kept.push(graph.select(still, x, moved));
        }
        let roots = graph.flagged(&kept);
        (graph, roots)
    }

    /// Whether a step leaves a scalar where it is: of the components that move it at x all are 0, or of all if it takes more.
    fn still(&self, graph: &mut Graph, scalar: u32) -> Expr {
        let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
        let moves = |along: &u32| self.plus[*along as usize].iter().any(|entry| entry.0 == scalar);
        let mut movers: Vec<u32> = (0..self.tangent).filter(moves).collect();
        if !self.rests(graph, scalar, &movers) {
            movers = (0..self.tangent).collect();
        }
        movers.into_iter().fold(one, |still, component| {
            let step = graph.leaf(Leaf::Step { slot: 0, component });
            let at_rest = graph.equal(step, zero);
            graph.and(still, at_rest)
        })
    }

    /// x ⊕ δ in numbers, for a step along one degree of freedom.
    pub fn displaced(&self, x: &[f64], along: u32, by: f64) -> Vec<f64> {
        self.graph.evaluate(&self.moved, &mut Vec::new(), |leaf| match leaf {
            Leaf::Step { component, .. } if component == along => by,
            Leaf::Slot { component, .. } => x[component as usize],
            _ => 0.0,
        })
    }

    /// x ⊕ δ in numbers.
    pub fn retracted(&self, x: &[f64], step: &[f64]) -> Vec<f64> {
        self.graph.evaluate(&self.moved, &mut Vec::new(), |leaf| match leaf {
            Leaf::Step { component, .. } => step[component as usize],
            Leaf::Slot { component, .. } => x[component as usize],
            _ => 0.0,
        })
    }

    /// Brings given values onto the manifold, or says which instance is not near it. Unit vectors are divided by their
    /// lengths, unless these are 1 to rounding: what was read and is given back stays as it is, to the bit. Where a traced retraction with a step of 0 leads, there its values lie. `named` gives the instance's name.
    pub fn settle(&self, values: &mut [f64], named: impl Fn(usize) -> usize) -> Result<(), ManifoldError> {
        let mut memory = Vec::new();
        let roots: Vec<Expr> = self.at_rest.iter().map(|entry| entry.1).collect();
        for (place, x) in values.chunks_mut(self.ambient as usize).enumerate() {
            let instance = named(place);
            let mut first = 0;
            for part in &self.parts {
                let own = &mut x[first..first + part.ambient() as usize];
                first += own.len();
                if let Some(value) = part.positive().map(|place| own[place]).filter(|value| *value <= 0.0) {
                    return Err(ManifoldError::Scale { instance, value });
                }
                let Some((range, what)) = part.unit() else { continue };
                let length = own[range.clone()].iter().map(|x| x * x).sum::<f64>().sqrt();
                if (length - 1.0).abs() > TOLERANCE {
                    return Err(ManifoldError::Length { instance, what, length });
                }
                let rounding = (range.len() + 4) as f64 * f64::EPSILON;
                if (length - 1.0).abs() > rounding {
                    own[range].iter_mut().for_each(|x| *x /= length);
                }
            }
            if roots.is_empty() {
                continue;
            }
            let rest = self.graph.evaluate(&roots, &mut memory, |leaf| match leaf {
                Leaf::Slot { component, .. } => x[component as usize],
                _ => 0.0,
            });
            for (&(component, _), to) in self.at_rest.iter().zip(rest) {
                let from = x[component as usize];
                let off = (to - from).abs();
                if off.is_nan() || off > TOLERANCE * from.abs().max(1.0) {
                    return Err(ManifoldError::Rest { instance, component: component as usize, from, to });
                }
                x[component as usize] = to;
            }
        }
        Ok(())
    }
}

/// Where the unit vectors of all parts are.
fn units(parts: &[Part]) -> impl Iterator<Item = Range<usize>> {
    let places = parts.iter().scan(0, |next, part| {
        *next += part.ambient() as usize;
        Some((*next - part.ambient() as usize, part.unit()))
    });
    places.filter_map(|(first, unit)| unit.map(|(unit, _)| first + unit.start..first + unit.end))
}

/// Leaves of slot 0 as those of another.
fn in_slot(slot: u32) -> impl Fn(&mut Graph, Leaf) -> Expr {
    move |graph, leaf| match leaf {
        Leaf::Slot { component, .. } => graph.leaf(Leaf::Slot { slot, component }),
        Leaf::Step { component, .. } => graph.leaf(Leaf::Step { slot, component }),
        other => graph.leaf(other),
    }
}
