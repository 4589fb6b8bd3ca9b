//! Operations: what they ask of shapes, and what they are made of. Names and broadcasting are NumPy's.

mod along;
mod elementwise;
mod integers;
mod linear;
mod matrices;
mod movements;
mod named;
mod networks;
mod reductions;
mod words;

pub(super) use elementwise::is_extreme;
pub use elementwise::{ELEMENTWISE, Takes, elementwise, gelu};
pub use integers::{TYPED, is_comparison, keeps_integers};
pub use named::NAMED;

use super::graph::{Graph, Node, elements};
use leastwise_error::Error;

pub(super) fn refuse<T>(name: &str, message: String) -> Result<T, Error> {
    Err(Error::Shape { name: name.into(), message })
}

/// A shape as people write it.
pub fn shown(shape: &[u32]) -> String {
    let sizes: Vec<String> = shape.iter().map(u32::to_string).collect();
    format!("[{}]", sizes.join(", "))
}

impl Graph {
    /// The number of an axis, counted from the end where it is negative.
    pub(super) fn axis(name: &str, axis: f64, rank: usize) -> Result<usize, Error> {
        let rank = rank as f64;
        let counted = if axis < 0.0 { axis + rank } else { axis };
        if counted.fract() != 0.0 || !(0.0..rank).contains(&counted) {
            return refuse(name, format!("there is no axis {axis}: the tensor has {rank} (−{rank} to {})", rank - 1.0));
        }
        Ok(counted as usize)
    }

    /// A shape that has few enough elements.
    pub(super) fn checked(name: &str, shape: Vec<u32>) -> Result<Vec<u32>, Error> {
        match elements(&shape) {
            Some(_) => Ok(shape),
            None => refuse(name, format!("{} are more elements than 2³² − 1", shown(&shape))),
        }
    }

    /// The shape that two shapes broadcast to: axes from the last on are equal, or one is 1.
    pub(super) fn broadcast(name: &str, shapes: &[&[u32]]) -> Result<Vec<u32>, Error> {
        let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
        let mut result = vec![1u32; rank];
        for shape in shapes {
            for (axis, &size) in (rank - shape.len()..).zip(*shape) {
                match result[axis] {
                    1 => result[axis] = size,
                    known if size == 1 || size == known => {}
                    _ => {
                        let all: Vec<String> = shapes.iter().map(|shape| shown(shape)).collect();
                        return refuse(
                            name,
                            format!("shapes {} do not broadcast: axes from the last on must be equal, or 1", all.join(" and ")),
                        );
                    }
                }
            }
        }
        Self::checked(name, result)
    }

    /// The node, of a whole number that is given.
    pub(super) fn whole(name: &str, what: &str, value: f64, least: f64) -> Result<u32, Error> {
        if value.fract() != 0.0 || value < least || value > f64::from(u32::MAX) {
            return refuse(name, format!("{what} must be a whole number from {least} on, not {value}"));
        }
        Ok(value as u32)
    }

    pub(super) fn known(&self, node: Node) -> Result<Node, Error> {
        self.get(node).map(|_| node).ok_or(Error::Disposed("tensor"))
    }
}
