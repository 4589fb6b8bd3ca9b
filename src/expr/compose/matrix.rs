//! Square matrices of 2 or 3 rows, row by row.

use super::vector;
use crate::{Expr, Graph};

/// Rows of a square matrix of so many scalars.
fn rows(m: &[Expr]) -> usize {
    if m.len() == 4 { 2 } else { 3 }
}

/// m · v, m with any number of rows.
pub fn times_vector(graph: &mut Graph, m: &[Expr], v: &[Expr]) -> Vec<Expr> {
    m.chunks(v.len()).map(|row| graph.dot(row, v)).collect()
}

/// A·B.
pub fn product(graph: &mut Graph, a: &[Expr], b: &[Expr]) -> Vec<Expr> {
    let columns = transpose(b);
    let n = rows(a);
    a.chunks(n).flat_map(|row| columns.chunks(n).map(move |column| (row, column))).map(|(row, column)| graph.dot(row, column)).collect()
}

/// Mᵀ.
pub fn transpose(m: &[Expr]) -> Vec<Expr> {
    let n = rows(m);
    (0..n * n).map(|k| m[k % n * n + k / n]).collect()
}

/// det M.
pub fn determinant(graph: &mut Graph, m: &[Expr]) -> Expr {
    if m.len() == 4 {
        return vector::cross(graph, &m[..2], &m[2..])[0];
    }
    let minors = vector::cross(graph, &m[3..6], &m[6..9]);
    graph.dot(&m[..3], &minors)
}

/// The transposed matrix of cofactors: m · adjugate(m) = det(m) · I.
pub fn adjugate(graph: &mut Graph, m: &[Expr]) -> Vec<Expr> {
    if m.len() == 4 {
        let (b, c) = (graph.neg(m[1]), graph.neg(m[2]));
        return vec![m[3], b, c, m[0]];
    }
    let [a, b, c] = [&m[..3], &m[3..6], &m[6..9]];
    let columns = [vector::cross(graph, b, c), vector::cross(graph, c, a), vector::cross(graph, a, b)].concat();
    transpose(&columns)
}

/// adjugate(m) / det(m)
pub fn inverse(graph: &mut Graph, m: &[Expr]) -> Vec<Expr> {
    let adjugate = adjugate(graph, m);
    let first = if m.len() == 4 { vec![adjugate[0], adjugate[2]] } else { vec![adjugate[0], adjugate[3], adjugate[6]] };
    let determinant = graph.dot(&m[..rows(m)], &first);
    adjugate.into_iter().map(|entry| graph.div(entry, determinant)).collect()
}

/// The rotation (I − [w]ₓ)⁻¹(I + [w]ₓ), by the angle 2 arctan‖w‖ around w (Cayley's form).
pub fn cayley(graph: &mut Graph, w: &[Expr]) -> Vec<Expr> {
    let (one, two) = (graph.constant(1.0), graph.constant(2.0));
    let squared = graph.dot(w, w);
    let sum = graph.add(one, squared);
    let factor = graph.div(two, sum);
    let mut entry = |i: usize, j: usize| {
        // [w]² = wwᵀ − ‖w‖² I
        let outer = graph.mul(w[i], w[j]);
        if i == j {
            let rest = graph.sub(outer, squared);
            let scaled = graph.mul(factor, rest);
            return graph.add(one, scaled);
        }
        let k = 3 - i - j;
        let sum = if (i + 1) % 3 == j { graph.sub(outer, w[k]) } else { graph.add(outer, w[k]) };
        graph.mul(factor, sum)
    };
    (0..9).map(|k| entry(k / 3, k % 3)).collect()
}
