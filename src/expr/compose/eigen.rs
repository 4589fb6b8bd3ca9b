//! Eigenvalues of a symmetric 3×3 matrix and the rotation closest to a matrix, with derivatives.
//!
//! Both are found by numbers alone first: Jacobi's rotations (Golub & Van Loan, *Matrix Computations*, 4th ed.,
//! section 8.5), unrolled and detached from differentiation. Then symbols carry the derivatives and change the numbers by
//! rounding errors at most: eigenvalues by perturbation theory, vectors and rotations by steps of a quadratically
//! convergent iteration, of which one is exact to first order and two are exact to third. So nothing is differentiated
//! through the iterations, and no closed form loses its digits at equal eigenvalues.

use super::{matrix, vector};
use crate::{Expr, Graph, Unary};

/// Sweeps of three rotations; a 3×3 matrix needs four for f64.
const SWEEPS: usize = 5;

/// Three eigenvalues in ascending order, then the unit eigenvector of each. Only the symmetric part counts.
///
/// Derivatives of a vector are those of the eigenvalues' gaps; between equal eigenvalues, where they do not exist, the
/// vectors are held. The sign of a vector is that of the iteration: the same for the same matrix.
pub fn symmetric(graph: &mut Graph, m: &[Expr]) -> Vec<Expr> {
    let m = symmetric_part(graph, m);
    let numbers = detached_eigenvectors(graph, &m);
    let values = perturbed(graph, &m, &numbers);
    let basis = improved(graph, &m, &numbers);
    let vectors = improved(graph, &m, &basis);
    [values.to_vec(), matrix::transpose(&vectors)].concat()
}

/// Eigenvalues next to a matrix whose eigenvectors are the `basis` of numbers, to second order in the change of the matrix
/// (Golub & Van Loan, section 7.2): λᵢ = bᵢᵢ + Σⱼ cᵢⱼ²/(bᵢᵢ − bⱼⱼ), B = VᵀMV, where c = b − detach(b) is 0 and has the
/// derivatives of b. What rounding left in bᵢⱼ is in no derivative: the first is vᵢ ⊗ vᵢ at every gap, and the second
/// 2 Σⱼ (vᵢᵀ dM vⱼ)²/(λᵢ − λⱼ), without the pairs whose gap is rounding. Both eigenvalues of a pair have the same
/// quotient with opposite signs, so that sums over equal eigenvalues lose it before anything is computed.
fn perturbed(graph: &mut Graph, m: &[Expr], basis: &[Expr]) -> [Expr; 3] {
    let b = diagonalised(graph, m, basis);
    let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
    // All that rounding left off the diagonal, on both sides of it.
    let rounding = [1, 2, 3, 5, 6, 7].into_iter().fold(zero, |sum, k| {
        let size = graph.unary(Unary::Abs, b[k]);
        graph.add(sum, size)
    });
    let mut values = [b[0], b[4], b[8]];
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        let off = b[3 * i + j];
        let still = graph.unary(Unary::Detach, off);
        let change = graph.sub(off, still);
        let gap = graph.sub(b[4 * j], b[4 * i]);
        let inverse = quotient_if_small(graph, one, rounding, gap);
        let inverse = graph.unary(Unary::Detach, inverse);
        let squared = graph.square(change);
        let share = graph.mul(squared, inverse);
        values[i] = graph.sub(values[i], share);
        values[j] = graph.add(values[j], share);
    }
    values
}

/// The rotation R that maximises tr(RᵀM), det R = 1 even where det M < 0 (Kabsch, 1976): R = U Vᵀ from the singular
/// vectors, the third ones chosen right-handed. Not unique where the two smallest singular values are 0 (or, with
/// det M < 0, equal); there one is taken.
pub fn closest_rotation(graph: &mut Graph, m: &[Expr]) -> Vec<Expr> {
    let numbers = detached(graph, m);
    let transposed = matrix::transpose(&numbers);
    let gram = matrix::product(graph, &transposed, &numbers);
    let right = detached_eigenvectors(graph, &gram);
    // The columns of the two largest singular values.
    let column = |basis: &[Expr], k: usize| [basis[k], basis[3 + k], basis[6 + k]];
    let (v1, v2) = (column(&right, 2), column(&right, 1));
    let u1 = {
        let image = matrix::times_vector(graph, &numbers, &v1);
        unit_or(graph, &image, &v1, 0.0)
    };
    let u2 = {
        let image = matrix::times_vector(graph, &numbers, &v2);
        let image = perpendicular(graph, &image, &u1);
        // Without a second singular value any direction across u₁ does.
        let (second, first) = (perpendicular(graph, &v2, &u1), perpendicular(graph, &v1, &u1));
        let across = unit_or(graph, &first, &v2, 0.0);
        let other = unit_or(graph, &second, &across, 1e-2);
        unit_or(graph, &image, &other, 0.0)
    };
    let (u3, v3) = (vector::cross(graph, &u1, &u2), vector::cross(graph, &v1, &v2));
    let left = matrix::transpose(&[u1, u2, u3].concat());
    let right = [v1.to_vec(), v2.to_vec(), v3].concat();
    let mut rotation = matrix::product(graph, &left, &right);
    for _ in 0..2 {
        rotation = aligned(graph, m, &rotation);
    }
    rotation
}

/// One Newton step on rotations towards a symmetric RᵀM: (tr(S) I − S) w = axis of RᵀM − MᵀR, S its symmetric part.
fn aligned(graph: &mut Graph, m: &[Expr], rotation: &[Expr]) -> Vec<Expr> {
    let transposed = matrix::transpose(rotation);
    let stretch = matrix::product(graph, &transposed, m);
    let s = symmetric_part(graph, &stretch);
    let axis = [(7, 5), (2, 6), (3, 1)].map(|(i, j)| graph.sub(stretch[i], stretch[j]));
    let partial = graph.add(s[0], s[4]);
    let trace = graph.add(partial, s[8]);
    let system: Vec<Expr> = (0..9)
        .map(|k| match k % 4 {
            0 => graph.sub(trace, s[k]),
            _ => graph.neg(s[k]),
        })
        .collect();
    let adjugate = matrix::adjugate(graph, &system);
    let determinant = graph.dot(&system[..3], &[adjugate[0], adjugate[3], adjugate[6]]);
    let turn = matrix::times_vector(graph, &adjugate, &axis);
    let half = turn.iter().map(|&x| {
        let x = graph.times(x, 0.5);
        small_quotient(graph, x, determinant)
    });
    let half: Vec<Expr> = half.collect();
    let step = matrix::cayley(graph, &half);
    matrix::product(graph, rotation, &step)
}

/// One step of the quadratically convergent rotation of a basis (columns) into eigenvectors: the generator's entries
/// are bᵢⱼ/(bⱼⱼ − bᵢᵢ) for B = VᵀMV.
fn improved(graph: &mut Graph, m: &[Expr], basis: &[Expr]) -> Vec<Expr> {
    let b = diagonalised(graph, m, basis);
    // [w]ₓ has −w₂, w₁, −w₀ above its diagonal.
    let mut generator = |i: usize, j: usize| {
        let gap = graph.sub(b[4 * j], b[4 * i]);
        let half = graph.times(b[3 * i + j], 0.5);
        small_quotient(graph, half, gap)
    };
    let (w0, w1, w2) = (generator(1, 2), generator(0, 2), generator(0, 1));
    let (w0, w2) = (graph.neg(w0), graph.neg(w2));
    let step = matrix::cayley(graph, &[w0, w1, w2]);
    matrix::product(graph, basis, &step)
}

/// VᵀMV
fn diagonalised(graph: &mut Graph, m: &[Expr], basis: &[Expr]) -> Vec<Expr> {
    let image = matrix::product(graph, m, basis);
    let transposed = matrix::transpose(basis);
    matrix::product(graph, &transposed, &image)
}

/// a/b where b is at least eight times |a|, else 0: a step that is not small comes from rounding errors of a singular
/// problem.
fn small_quotient(graph: &mut Graph, a: Expr, b: Expr) -> Expr {
    let size = graph.unary(Unary::Abs, a);
    quotient_if_small(graph, a, size, b)
}

/// a/b where b is at least eight times `size`, else 0.
fn quotient_if_small(graph: &mut Graph, a: Expr, size: Expr, b: Expr) -> Expr {
    let (zero, bound) = (graph.constant(0.0), graph.times(size, 8.0));
    let small = graph.less(bound, b);
    let quotient = graph.div(a, b);
    graph.select(small, quotient, zero)
}

fn symmetric_part(graph: &mut Graph, m: &[Expr]) -> Vec<Expr> {
    let mut s = m.to_vec();
    for (i, j) in [(1, 3), (2, 6), (5, 7)] {
        let sum = graph.add(m[i], m[j]);
        s[i] = graph.times(sum, 0.5);
        s[j] = s[i];
    }
    s
}

fn detached(graph: &mut Graph, m: &[Expr]) -> Vec<Expr> {
    m.iter().map(|&x| graph.unary(Unary::Detach, x)).collect()
}

/// Eigenvectors as columns, ascending, of the detached symmetric matrix; a rotation or a reflection.
fn detached_eigenvectors(graph: &mut Graph, m: &[Expr]) -> Vec<Expr> {
    let zero = graph.constant(0.0);
    let one = graph.constant(1.0);
    let numbers = detached(graph, m);
    let largest = numbers.iter().fold(zero, |largest, &x| {
        let size = graph.unary(Unary::Abs, x);
        graph.max(largest, size)
    });
    // Of unit size, so that squares neither vanish nor overflow.
    let mut a: Vec<Expr> = numbers.iter().map(|&x| graph.div_safe(x, largest)).collect();
    let mut v: Vec<Expr> = (0..9).map(|k| if k % 4 == 0 { one } else { zero }).collect();
    for _ in 0..SWEEPS {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            rotate(graph, &mut a, &mut v, p, q);
        }
    }
    let mut pairs: Vec<(Expr, [Expr; 3])> = (0..3).map(|k| (a[4 * k], [v[k], v[3 + k], v[6 + k]])).collect();
    for (low, high) in [(0, 1), (1, 2), (0, 1)] {
        let swap = graph.less(pairs[high].0, pairs[low].0);
        let (first, second) = (pairs[low], pairs[high]);
        let mut choose = |x: Expr, y: Expr| graph.select(swap, x, y);
        pairs[low] = (choose(second.0, first.0), std::array::from_fn(|k| choose(second.1[k], first.1[k])));
        pairs[high] = (choose(first.0, second.0), std::array::from_fn(|k| choose(first.1[k], second.1[k])));
    }
    let rows: Vec<Expr> = pairs.iter().flat_map(|pair| pair.1).collect();
    matrix::transpose(&rows)
}

/// One of Jacobi's rotations: a[p][q] becomes 0.
fn rotate(graph: &mut Graph, a: &mut [Expr], v: &mut [Expr], p: usize, q: usize) {
    let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
    let r = 3 - p - q;
    let off = a[3 * p + q];
    let gap = graph.sub(a[4 * q], a[4 * p]);
    // tan of the smaller angle: 2b·sgn(d)/(|d| + √(d² + 4b²))
    let doubled = graph.times(off, 2.0);
    let hypotenuse = {
        let squared = graph.dot(&[gap, doubled], &[gap, doubled]);
        graph.unary(Unary::Sqrt, squared)
    };
    let size = graph.unary(Unary::Abs, gap);
    let divisor = graph.add(size, hypotenuse);
    let minus = graph.neg(doubled);
    let numerator = graph.if_less(gap, zero, minus, doubled);
    let t = graph.div_safe(numerator, divisor);
    let squared = graph.square(t);
    let sum = graph.add(one, squared);
    let root = graph.unary(Unary::Sqrt, sum);
    let c = graph.div(one, root);
    let s = graph.mul(t, c);
    let mut turn = |x: Expr, y: Expr| {
        let (cx, sy, sx, cy) = (graph.mul(c, x), graph.mul(s, y), graph.mul(s, x), graph.mul(c, y));
        (graph.sub(cx, sy), graph.add(sx, cy))
    };
    (a[3 * r + p], a[3 * r + q]) = turn(a[3 * r + p], a[3 * r + q]);
    for row in 0..3 {
        (v[3 * row + p], v[3 * row + q]) = turn(v[3 * row + p], v[3 * row + q]);
    }
    (a[3 * p + r], a[3 * q + r]) = (a[3 * r + p], a[3 * r + q]);
    let shift = graph.mul(t, off);
    a[4 * p] = graph.sub(a[4 * p], shift);
    a[4 * q] = graph.add(a[4 * q], shift);
    (a[3 * p + q], a[3 * q + p]) = (zero, zero);
}

/// a less its part along the unit vector u.
fn perpendicular(graph: &mut Graph, a: &[Expr], u: &[Expr]) -> Vec<Expr> {
    let along = graph.dot(a, u);
    let part = vector::scale(graph, u, along);
    vector::sub(graph, a, &part)
}

/// a/‖a‖ where ‖a‖ exceeds `least`, else `other`.
fn unit_or(graph: &mut Graph, a: &[Expr], other: &[Expr], least: f64) -> Vec<Expr> {
    let length = vector::norm(graph, a);
    let least = graph.constant(least);
    let long = graph.less(least, length);
    a.iter()
        .zip(other)
        .map(|(&x, &fallback)| {
            let quotient = graph.div_safe(x, length);
            graph.select(long, quotient, fallback)
        })
        .collect()
}
