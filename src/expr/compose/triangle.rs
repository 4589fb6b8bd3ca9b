//! Triangles in 2-D and 3-D.

use super::vector;
use crate::{Expr, Graph, Unary};

/// (b − a) × (c − a)
fn doubled(graph: &mut Graph, a: &[Expr], b: &[Expr], c: &[Expr]) -> Vec<Expr> {
    let (u, v) = (vector::sub(graph, b, a), vector::sub(graph, c, a));
    vector::cross(graph, &u, &v)
}

/// Half the length of the cross product of two sides; in 2-D signed, positive counter-clockwise.
pub fn area(graph: &mut Graph, a: &[Expr], b: &[Expr], c: &[Expr]) -> Expr {
    let doubled = doubled(graph, a, b, c);
    let size = if doubled.len() == 1 { doubled[0] } else { vector::norm(graph, &doubled) };
    graph.times(size, 0.5)
}

/// The unit normal, 0 for a triangle without area.
pub fn normal(graph: &mut Graph, a: &[Expr], b: &[Expr], c: &[Expr]) -> Vec<Expr> {
    let doubled = doubled(graph, a, b, c);
    vector::normalize(graph, &doubled)
}

/// The angle by which the triangles abc and dcb are folded along e = c − b: atan2(e·(n₁ × n₂)/‖e‖, n₁·n₂) with
/// n₁ = e × (a − b) and n₂ = (d − b) × e. 0 when they are flat, and when one of them has no area.
pub fn dihedral(graph: &mut Graph, a: &[Expr], b: &[Expr], c: &[Expr], d: &[Expr]) -> Expr {
    let [edge, left, right] = [c, a, d].map(|end| vector::sub(graph, end, b));
    let (first, second) = (vector::cross(graph, &edge, &left), vector::cross(graph, &right, &edge));
    let crossed = vector::cross(graph, &first, &second);
    let axis = vector::normalize(graph, &edge);
    let (sine, cosine) = (graph.dot(&axis, &crossed), graph.dot(&first, &second));
    graph.atan2(sine, cosine)
}

/// The cotangent of the angle at a: u·v/‖u × v‖ for the sides u, v; 0 for a triangle without area.
pub fn cotangent(graph: &mut Graph, a: &[Expr], b: &[Expr], c: &[Expr]) -> Expr {
    let (u, v) = (vector::sub(graph, b, a), vector::sub(graph, c, a));
    let crossed = vector::cross(graph, &u, &v);
    let sine = if crossed.len() == 1 { graph.unary(Unary::Abs, crossed[0]) } else { vector::norm(graph, &crossed) };
    let cosine = graph.dot(&u, &v);
    graph.div_safe(cosine, sine)
}
