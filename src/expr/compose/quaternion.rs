//! Quaternions x, y, z, w, and rotation vectors (axis times angle).

use super::vector;
use crate::{Expr, Graph, Unary};

/// Below this square of an angle the series are used: their next terms are below f64's resolution.
const SMALL: f64 = 1e-2;

/// p·q.
pub fn product(graph: &mut Graph, p: &[Expr], q: &[Expr]) -> Vec<Expr> {
    // Row by row, which component of p meets x, y, z, w of q, and with which sign.
    const TERMS: [[(usize, bool); 4]; 4] = [
        [(3, false), (2, true), (1, false), (0, false)],
        [(2, false), (3, false), (0, true), (1, false)],
        [(1, true), (0, false), (3, false), (2, false)],
        [(0, true), (1, true), (2, true), (3, false)],
    ];
    let zero = graph.constant(0.0);
    let row = |terms: &[(usize, bool); 4]| {
        terms.iter().zip(q).fold(zero, |sum, (&(component, negative), &factor)| {
            let product = graph.mul(p[component], factor);
            if negative { graph.sub(sum, product) } else { graph.add(sum, product) }
        })
    };
    TERMS.iter().map(row).collect()
}

/// The conjugate: −x, −y, −z, w.
pub fn conjugate(graph: &mut Graph, q: &[Expr]) -> Vec<Expr> {
    vec![graph.neg(q[0]), graph.neg(q[1]), graph.neg(q[2]), q[3]]
}

/// q⁻¹, also of quaternions that are not of unit length.
pub fn inverse(graph: &mut Graph, q: &[Expr]) -> Vec<Expr> {
    let squared = graph.dot(q, q);
    conjugate(graph, q).into_iter().map(|entry| graph.div(entry, squared)).collect()
}

/// q v q⁻¹ for a unit q: v + w t + u × t with t = 2 u × v.
pub fn rotate(graph: &mut Graph, q: &[Expr], v: &[Expr]) -> Vec<Expr> {
    let half = vector::cross(graph, &q[..3], v);
    let t: Vec<Expr> = half.iter().map(|&x| graph.times(x, 2.0)).collect();
    let along = vector::scale(graph, &t, q[3]);
    let around = vector::cross(graph, &q[..3], &t);
    let moved = vector::add(graph, v, &along);
    vector::add(graph, &moved, &around)
}

/// sin θ/θ and cos θ of θ², smooth at 0.
pub fn sinc_cos(graph: &mut Graph, squared: Expr) -> (Expr, Expr) {
    let (small, one) = (graph.constant(SMALL), graph.constant(1.0));
    let near = graph.less(squared, small);
    // Away from 0 in the branch that is not taken, so that no slope of it is infinite.
    let safe = graph.select(near, one, squared);
    let angle = graph.unary(Unary::Sqrt, safe);
    let (sine, cosine) = (graph.unary(Unary::Sin, angle), graph.unary(Unary::Cos, angle));
    let quotient = graph.div(sine, angle);
    let series = series(graph, squared, &[1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0]);
    let sinc = graph.select(near, series, quotient);
    let series = self::series(graph, squared, &[1.0, -0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0]);
    (sinc, graph.select(near, series, cosine))
}

/// (v sin‖v‖/‖v‖, cos‖v‖)
pub fn exp(graph: &mut Graph, v: &[Expr]) -> Vec<Expr> {
    let squared = graph.dot(v, v);
    let (sinc, cosine) = sinc_cos(graph, squared);
    let mut q = vector::scale(graph, v, sinc);
    q.push(cosine);
    q
}

/// The v with exp v = q and ‖v‖ ≤ π, for a unit q: u · atan2(‖u‖, w)/‖u‖. 0 at q = (0, 0, 0, −1), where any axis fits.
pub fn log(graph: &mut Graph, q: &[Expr]) -> Vec<Expr> {
    let (u, w) = (&q[..3], q[3]);
    let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
    let squared = graph.dot(u, u);
    let limit = graph.constant(1e-3);
    let w_squared = graph.square(w);
    let bound = graph.mul(limit, w_squared);
    let (small, ahead) = (graph.less(squared, bound), graph.less(zero, w));
    let near = graph.and(small, ahead);
    // arctan(t)/t for t = ‖u‖/w, over w.
    let safe_w = graph.select(near, w, one);
    let safe_square = graph.square(safe_w);
    let t = graph.div(squared, safe_square);
    let arctan = series(graph, t, &[1.0, -1.0 / 3.0, 0.2, -1.0 / 7.0, 1.0 / 9.0, -1.0 / 11.0]);
    let by_series = graph.div(arctan, safe_w);
    let safe = graph.select(near, one, squared);
    let length = graph.unary(Unary::Sqrt, safe);
    let angle = graph.atan2(length, w);
    let quotient = graph.div_safe(angle, length);
    let factor = graph.select(near, by_series, quotient);
    vector::scale(graph, u, factor)
}

/// Unit quaternion of a rotation vector.
pub fn from_angle_axis(graph: &mut Graph, v: &[Expr]) -> Vec<Expr> {
    let half: Vec<Expr> = v.iter().map(|&x| graph.times(x, 0.5)).collect();
    exp(graph, &half)
}

/// Of the two rotation vectors the one of at most π: q and −q are one rotation.
pub fn to_angle_axis(graph: &mut Graph, q: &[Expr]) -> Vec<Expr> {
    let zero = graph.constant(0.0);
    let turned = graph.less(q[3], zero);
    let short: Vec<Expr> = q
        .iter()
        .map(|&x| {
            let minus = graph.neg(x);
            graph.select(turned, minus, x)
        })
        .collect();
    log(graph, &short).into_iter().map(|x| graph.times(x, 2.0)).collect()
}

/// Rotation matrix of a quaternion.
pub fn to_matrix(graph: &mut Graph, q: &[Expr]) -> Vec<Expr> {
    let (one, two) = (graph.constant(1.0), graph.constant(2.0));
    let mut entry = |i: usize, j: usize| {
        if i == j {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            let (left, right) = (graph.square(q[j]), graph.square(q[k]));
            let sum = graph.add(left, right);
            let doubled = graph.mul(two, sum);
            return graph.sub(one, doubled);
        }
        let k = 3 - i - j;
        let (product, turn) = (graph.mul(q[i], q[j]), graph.mul(q[k], q[3]));
        let sum = if (i + 1) % 3 == j { graph.sub(product, turn) } else { graph.add(product, turn) };
        graph.mul(two, sum)
    };
    (0..9).map(|k| entry(k / 3, k % 3)).collect()
}

/// Shepperd's method ("Quaternion from rotation matrix", 1978): the largest component first, so that nothing cancels.
pub fn from_matrix(graph: &mut Graph, m: &[Expr]) -> Vec<Expr> {
    let one = graph.constant(1.0);
    let mut sum_of = |terms: [(usize, bool); 3]| {
        terms.into_iter().fold(one, |sum, (place, negative)| if negative { graph.sub(sum, m[place]) } else { graph.add(sum, m[place]) })
    };
    // 4x², 4y², 4z², 4w²
    let x = sum_of([(0, false), (4, true), (8, true)]);
    let y = sum_of([(4, false), (0, true), (8, true)]);
    let z = sum_of([(8, false), (0, true), (4, true)]);
    let w = sum_of([(0, false), (4, false), (8, false)]);
    let (xy, xz, yz) = (graph.add(m[1], m[3]), graph.add(m[2], m[6]), graph.add(m[5], m[7]));
    let (xw, yw, zw) = (graph.sub(m[7], m[5]), graph.sub(m[2], m[6]), graph.sub(m[3], m[1]));
    // 4 times the largest component times each.
    let candidates = [(x, [x, xy, xz, xw]), (y, [xy, y, yz, yw]), (z, [xz, yz, z, zw]), (w, [xw, yw, zw, w])];
    let [(mut largest, mut products), others @ ..] = candidates;
    for (size, row) in others {
        let better = graph.less(largest, size);
        largest = graph.select(better, size, largest);
        for (product, other) in products.iter_mut().zip(row) {
            *product = graph.select(better, other, *product);
        }
    }
    let root = graph.unary(Unary::Sqrt, largest);
    let divisor = graph.times(root, 2.0);
    products.iter().map(|&product| graph.div(product, divisor)).collect()
}

/// Σ cₖ xᵏ by Horner's rule.
fn series(graph: &mut Graph, x: Expr, coefficients: &[f64]) -> Expr {
    let zero = graph.constant(0.0);
    coefficients.iter().rev().fold(zero, |sum, &coefficient| {
        let product = graph.mul(sum, x);
        let coefficient = graph.constant(coefficient);
        graph.add(product, coefficient)
    })
}
