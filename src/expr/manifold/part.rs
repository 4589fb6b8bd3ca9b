//! The manifolds that there are, and what they are made of.
//!
//! | part | scalars | degrees of freedom | x ⊕ δ |
//! |---|---|---|---|
//! | Euclidean(n) | n | n | x + δ |
//! | Subset(n, constant) | n | those that are not constant, in order | x + δ there |
//! | Sphere(n) | a unit vector | n − 1 | along the great circle in the direction δ, by ‖δ‖ |
//! | Quaternion | x, y, z, w of unit length | 3 | q · exp(δ/2): by the rotation vector δ, in q's own frame |
//! | So2 | cos φ, sin φ | 1 | φ + δ |
//! | Se2 | cos φ, sin φ, x, y | 3: angle, translation | T · exp δ |
//! | Se3 | quaternion, translation | 6: rotation vector, translation | T · exp δ |
//! | Sim3 | quaternion, translation, scale > 0 | 7: rotation vector, translation, logarithm of the scale | S · exp δ |
//! | Traced | as many as are said | as many as are said | what the tape says of x (source 0) and δ (source 1) |
//!
//! Steps are on the right, as in Sophus and GTSAM (Ceres' quaternions take them on the left, of half the size), and in
//! the order in which the scalars are stored. Exponentials are those of the groups, so that a step of a rigid motion is a
//! screw; Solà, Deray & Atchuthan, "A micro Lie theory for state estimation in robotics", 2018, has them all.

use super::ManifoldError;
use crate::compose::{motion, quaternion, vector};
use crate::{Expr, Graph, Leaf, Unary, tape};
use std::ops::Range;

/// Scalars that one instance may have.
pub const MAX_WIDTH: u32 = 1024;
/// Expressions of a traced retraction, and those that its scalars depend on, one by one: so they are differentiated.
const MAX_TRACED: usize = 1 << 16;
const MAX_DEPENDENCES: usize = 1 << 20;

/// Factor of a product of manifolds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// Vectors.
    Euclidean(u32),
    /// Vectors some of whose components stay as they are.
    Subset {
        /// Scalars that are stored.
        width: u32,
        /// Components that stay, ascending.
        constant: Vec<u32>,
    },
    /// Unit vectors.
    Sphere(u32),
    /// Rotations of space.
    Quaternion,
    /// Rotations of the plane.
    So2,
    /// Rigid motions of the plane.
    Se2,
    /// Rigid motions of space.
    Se3,
    /// Similarities of space.
    Sim3,
    /// A traced retraction.
    Traced {
        /// Scalars that are stored.
        ambient: u32,
        /// Degrees of freedom.
        tangent: u32,
        /// The retraction's tape.
        tape: Vec<u32>,
        /// Values of the tape that are the retraction's result.
        outputs: Vec<u32>,
    },
}

impl Part {
    /// Scalars that are stored.
    pub fn ambient(&self) -> u32 {
        match *self {
            Self::Euclidean(n) | Self::Sphere(n) | Self::Subset { width: n, .. } => n,
            Self::So2 => 2,
            Self::Quaternion | Self::Se2 => 4,
            Self::Se3 => 7,
            Self::Sim3 => 8,
            Self::Traced { ambient, .. } => ambient,
        }
    }

    /// Degrees of freedom.
    pub fn tangent(&self) -> u32 {
        match self {
            Self::Euclidean(n) => *n,
            Self::Subset { width, constant } => width - constant.len() as u32,
            Self::Sphere(n) => n - 1,
            Self::So2 => 1,
            Self::Quaternion | Self::Se2 => 3,
            Self::Se3 => 6,
            Self::Sim3 => 7,
            Self::Traced { tangent, .. } => *tangent,
        }
    }

    /// Name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Euclidean(n) => n.to_string(),
            Self::Subset { width, .. } => format!("subset({width}, …)"),
            Self::Sphere(n) => format!("sphere({n})"),
            Self::Quaternion => "quaternion".into(),
            Self::So2 => "so2".into(),
            Self::Se2 => "se2".into(),
            Self::Se3 => "se3".into(),
            Self::Sim3 => "sim3".into(),
            Self::Traced { .. } => "manifold(…)".into(),
        }
    }

    /// Its scalars that form a vector of unit length, and what this is called.
    pub fn unit(&self) -> Option<(Range<usize>, &'static str)> {
        match self {
            Self::Sphere(n) => Some((0..*n as usize, "vector on the sphere")),
            Self::Quaternion | Self::Se3 | Self::Sim3 => Some((0..4, "quaternion")),
            Self::So2 | Self::Se2 => Some((0..2, "(cos, sin)")),
            Self::Euclidean(_) | Self::Subset { .. } | Self::Traced { .. } => None,
        }
    }

    /// Its scalar that must be positive.
    pub fn positive(&self) -> Option<usize> {
        (*self == Self::Sim3).then_some(7)
    }

    /// Refuses what no instance could be.
    pub fn validate(&self) -> Result<(), ManifoldError> {
        let refuse = |problem: String| Err(ManifoldError::Part { part: self.name(), problem });
        match self {
            Self::Subset { width, constant } => {
                if let Some(component) = constant.iter().find(|component| *component >= width) {
                    return refuse(format!("has {width} components (0 to {}), so {component} can't be constant", width.saturating_sub(1)));
                }
                if !constant.is_sorted_by(|a, b| a < b) {
                    return refuse("must name its constant components once each, in ascending order".into());
                }
                if constant.len() as u32 == *width {
                    return refuse("has only constant components: use constants for what never moves".into());
                }
            }
            // Of vectors alone the width of all counts.
            Self::Euclidean(1..) => return Ok(()),
            Self::Sphere(n) if *n < 2 => return refuse(format!("must have 2 components or more, not {n}")),
            Self::Traced { ambient, tangent, .. } if *tangent == 0 || tangent > ambient => {
                return refuse(format!("has {ambient} scalars, so it has 1 to {ambient} degrees of freedom, not {tangent}"));
            }
            _ => {}
        }
        match self.ambient() {
            1..=MAX_WIDTH => Ok(()),
            width => Err(ManifoldError::Width(width.into())),
        }
    }

    /// x ⊕ δ for an x on the manifold.
    pub fn moved(&self, graph: &mut Graph, x: &[Expr], delta: &[Expr]) -> Result<Vec<Expr>, ManifoldError> {
        Ok(match self {
            Self::Euclidean(_) => vector::add(graph, x, delta),
            Self::Subset { constant, .. } => {
                let mut steps = delta.iter();
                let component = |(place, &x): (usize, &Expr)| match constant.contains(&(place as u32)) {
                    true => x,
                    false => steps.next().map_or(x, |&step| graph.add(x, step)),
                };
                x.iter().enumerate().map(component).collect()
            }
            Self::Sphere(_) => motion::along_sphere(graph, x, delta),
            Self::Quaternion => motion::rotated_by(graph, x, delta),
            Self::So2 => motion::turned(graph, x, delta[0]),
            Self::Se2 => {
                let mut moved = motion::turned(graph, &x[..2], delta[0]);
                let along = motion::planar_translation(graph, delta[0], &delta[1..]);
                let along = motion::rotated(graph, &x[..2], &along);
                moved.extend(vector::add(graph, &x[2..], &along));
                moved
            }
            Self::Se3 => {
                let still = graph.constant(0.0);
                rigid(graph, x, delta, still).0
            }
            Self::Sim3 => {
                let (mut moved, along) = rigid(graph, x, delta, delta[6]);
                let along = vector::scale(graph, &along, x[7]);
                moved.truncate(4);
                moved.extend(vector::add(graph, &x[4..7], &along));
                let growth = graph.unary(Unary::Exp, delta[6]);
                moved.push(graph.mul(x[7], growth));
                moved
            }
            Self::Traced { ambient, tangent, tape, outputs } => traced(graph, x, delta, [*ambient, *tangent], tape, outputs)?,
        })
    }
}

/// Of the quaternion and translation x, moved by (ω, v, σ), and R W v.
fn rigid(graph: &mut Graph, x: &[Expr], delta: &[Expr], sigma: Expr) -> (Vec<Expr>, Vec<Expr>) {
    let mut moved = motion::rotated_by(graph, &x[..4], &delta[..3]);
    let along = motion::translation(graph, &delta[..3], sigma, &delta[3..6]);
    let along = quaternion::rotate(graph, &x[..4], &along);
    moved.extend(vector::add(graph, &x[4..7], &along));
    (moved, along)
}

/// Reads a retraction from its tape.
fn traced(
    graph: &mut Graph,
    x: &[Expr],
    delta: &[Expr],
    [ambient, tangent]: [u32; 2],
    words: &[u32],
    outputs: &[u32],
) -> Result<Vec<Expr>, ManifoldError> {
    let mut own = Graph::new();
    let sources = [
        tape::Source { leaf: Leaf::Slot { slot: 0, component: 0 }, width: ambient },
        tape::Source { leaf: Leaf::Step { slot: 0, component: 0 }, width: tangent },
    ];
    let checked = tape::check_literals(words, f32::MAX.into());
    let moved = checked.and_then(|()| tape::read(&mut own, words, outputs, &sources)).map_err(ManifoldError::Tape)?;
    if own.len() > MAX_TRACED {
        return Err(ManifoldError::TooLarge);
    }
    let dependences = |root: &Expr| own.reachable(&[*root]).into_iter().filter(|needed| *needed).count();
    if moved.iter().map(dependences).sum::<usize>() > MAX_DEPENDENCES {
        return Err(ManifoldError::TooLarge);
    }
    if moved.len() != ambient as usize {
        return Err(ManifoldError::Outputs { got: moved.len(), ambient });
    }
    Ok(graph.insert(&own, &moved, |_, leaf| match leaf {
        Leaf::Step { component, .. } => delta[component as usize],
        Leaf::Slot { component, .. } => x[component as usize],
        _ => unreachable!("a tape has no other sources"),
    }))
}
