//! Vectors.

use crate::{Expr, Graph, Unary};

/// a + b.
pub fn add(graph: &mut Graph, a: &[Expr], b: &[Expr]) -> Vec<Expr> {
    a.iter().zip(b).map(|(&x, &y)| graph.add(x, y)).collect()
}

/// a − b.
pub fn sub(graph: &mut Graph, a: &[Expr], b: &[Expr]) -> Vec<Expr> {
    a.iter().zip(b).map(|(&x, &y)| graph.sub(x, y)).collect()
}

/// a·factor.
pub fn scale(graph: &mut Graph, a: &[Expr], factor: Expr) -> Vec<Expr> {
    a.iter().map(|&x| graph.mul(x, factor)).collect()
}

/// ‖a‖, whose derivative at 0 is 0.
pub fn norm(graph: &mut Graph, a: &[Expr]) -> Expr {
    let squared = graph.dot(a, a);
    graph.unary(Unary::Sqrt, squared)
}

/// a / ‖a‖, and 0 at 0.
pub fn normalize(graph: &mut Graph, a: &[Expr]) -> Vec<Expr> {
    let length = norm(graph, a);
    a.iter().map(|&x| graph.div_safe(x, length)).collect()
}

/// a × b; one scalar for two 2-vectors.
pub fn cross(graph: &mut Graph, a: &[Expr], b: &[Expr]) -> Vec<Expr> {
    let mut minor = |i: usize, j: usize| {
        let left = graph.mul(a[i], b[j]);
        let right = graph.mul(a[j], b[i]);
        graph.sub(left, right)
    };
    if a.len() == 2 { vec![minor(0, 1)] } else { vec![minor(1, 2), minor(2, 0), minor(0, 1)] }
}

/// atan2(‖a × b‖, a · b): exact for nearly parallel vectors, where arccos is not (Kahan, "How futile are mindless
/// assessments of roundoff", 2006).
pub fn angle_between(graph: &mut Graph, a: &[Expr], b: &[Expr]) -> Expr {
    let crossed = cross(graph, a, b);
    let sine = if crossed.len() == 1 { graph.unary(Unary::Abs, crossed[0]) } else { norm(graph, &crossed) };
    let cosine = graph.dot(a, b);
    graph.atan2(sine, cosine)
}

/// Rz(angles.z) · Ry(angles.y) · Rx(angles.x) · v
pub fn rotate_xyz(graph: &mut Graph, angles: &[Expr], v: &[Expr]) -> Vec<Expr> {
    let mut turned = v.to_vec();
    for (axis, &angle) in angles.iter().enumerate() {
        let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
        let (cosine, sine) = (graph.unary(Unary::Cos, angle), graph.unary(Unary::Sin, angle));
        let mut combine = |x: Expr, y: Expr| {
            let (first, second) = (graph.mul(cosine, x), graph.mul(sine, y));
            (first, second)
        };
        let (ci, sj) = combine(turned[i], turned[j]);
        let (cj, si) = combine(turned[j], turned[i]);
        turned[i] = graph.sub(ci, sj);
        turned[j] = graph.add(si, cj);
    }
    turned
}
