//! Rotations, rigid motions and similarities moved along their groups: x · exp δ.
//!
//! With ω a rotation vector, K = [ω]ₓ and σ the logarithm of a scale, the translation of exp(ω, v, σ) is W v with
//! W = ∫₀¹ e^{σu} exp(uK) du = A I + B K + C K² (Eade, *Lie Groups for 2D and 3D Transformations*, 2013; Strasdat,
//! *Local Accuracy and Global Consistency for Efficient Visual SLAM*, 2012, appendix A).

use super::quaternion::{self, sinc_cos};
use super::vector;
use crate::{Expr, Graph, Unary};

/// Below this square of |σ + i‖ω‖| a series is used: no more than a digit and a half cancels above it.
const NEAR: f64 = 0.25;
/// Its terms: what is left out is below f64's resolution there.
const TERMS: u32 = 13;

/// The unit complex number (c, s), turned by an angle.
pub fn turned(graph: &mut Graph, x: &[Expr], angle: Expr) -> Vec<Expr> {
    let (cosine, sine) = (graph.unary(Unary::Cos, angle), graph.unary(Unary::Sin, angle));
    rotated(graph, &[cosine, sine], x)
}

/// A 2-vector, rotated by a unit complex number.
pub fn rotated(graph: &mut Graph, by: &[Expr], v: &[Expr]) -> Vec<Expr> {
    let minus = graph.neg(by[1]);
    vec![graph.dot(&[by[0], minus], v), graph.dot(&[by[1], by[0]], v)]
}

/// q · exp(ω/2): the rotation q after one by the vector ω, which is in q's own frame.
pub fn rotated_by(graph: &mut Graph, q: &[Expr], omega: &[Expr]) -> Vec<Expr> {
    let turn = quaternion::from_angle_axis(graph, omega);
    quaternion::product(graph, q, &turn)
}

/// The translation of exp(θ, v) in the plane: sinc θ · v + (1 − cos θ)/θ · v⊥.
pub fn planar_translation(graph: &mut Graph, angle: Expr, v: &[Expr]) -> Vec<Expr> {
    let squared = graph.square(angle);
    let (sinc, _) = sinc_cos(graph, squared);
    let quarter = graph.times(squared, 0.25);
    // (1 − cos θ)/θ = θ sinc²(θ/2)/2
    let (half, _) = sinc_cos(graph, quarter);
    let half = graph.square(half);
    let half = graph.times(half, 0.5);
    let across = graph.mul(angle, half);
    rotated(graph, &[sinc, across], v)
}

/// W v.
pub fn translation(graph: &mut Graph, omega: &[Expr], sigma: Expr, v: &[Expr]) -> Vec<Expr> {
    let [a, b, c] = coefficients(graph, omega, sigma);
    let once = vector::cross(graph, omega, v);
    let twice = vector::cross(graph, omega, &once);
    (0..3).map(|k| graph.dot(&[a, b, c], &[v[k], once[k], twice[k]])).collect()
}

/// A, B and C.
fn coefficients(graph: &mut Graph, omega: &[Expr], sigma: Expr) -> [Expr; 3] {
    let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
    let theta = graph.dot(omega, omega);
    let stretch = graph.square(sigma);
    let size = graph.add(theta, stretch);

    // W = Σ (σ + K)ᵏ/(k + 1)! by Horner's rule, with K³ = −θ² K.
    let mut series = [one, zero, zero];
    for k in (1..=TERMS).rev() {
        let [a, b, c] = series;
        let share = 1.0 / f64::from(k + 1);
        let scaled = [a, b, c].map(|x| graph.mul(sigma, x));
        let back = graph.mul(theta, c);
        let once = graph.sub(a, back);
        let product = [scaled[0], graph.add(scaled[1], once), graph.add(scaled[2], b)];
        let [a, b, c] = product.map(|x| graph.times(x, share));
        series = [graph.add(one, a), b, c];
    }

    // By its real and imaginary parts: ∫ e^{σu} cos(uθ) du and ∫ e^{σu} sin(uθ) du.
    let near = {
        let limit = graph.constant(NEAR);
        graph.less(size, limit)
    };
    let safe = graph.select(near, one, size);
    let (sinc, cosine) = sinc_cos(graph, theta);
    let quarter = graph.times(theta, 0.25);
    let (half, _) = sinc_cos(graph, quarter);
    let half = graph.square(half);
    let growth = graph.unary(Unary::Exp, sigma);
    let a = {
        let at_rest = graph.equal(sigma, zero);
        let divisor = graph.select(at_rest, one, sigma);
        let more = graph.unary(Unary::Expm1, sigma);
        let quotient = graph.div(more, divisor);
        graph.select(at_rest, one, quotient)
    };
    let [turned, stretched] = [cosine, sinc].map(|x| graph.mul(growth, x));
    let b = {
        let rise = graph.mul(sigma, stretched);
        let left = graph.sub(one, turned);
        let sum = graph.add(rise, left);
        graph.div(sum, safe)
    };
    // (1 − cos θ)/θ² = sinc²(θ/2)/2
    let c = {
        let bend = graph.times(half, 0.5);
        let grown = graph.mul(sigma, growth);
        let bent = graph.mul(grown, bend);
        let rest = graph.sub(a, stretched);
        let sum = graph.add(bent, rest);
        graph.div(sum, safe)
    };
    let far = [a, b, c];
    [0, 1, 2].map(|k| graph.select(near, series[k], far[k]))
}

/// A point of the unit sphere moved along a great circle. δ is in the tangent plane's basis that a reflection makes of
/// the first axes (Hertzberg et al., "Integrating generic sensor fusion algorithms with sound state representations
/// through encapsulation of manifolds", 2013): with s the sign of x's last component, H = I − v vᵀ/(1 + |xₙ|) and
/// v = x + s eₙ, x ⊕ δ = H (sinc‖δ‖ δ, −s cos‖δ‖).
pub fn along_sphere(graph: &mut Graph, x: &[Expr], delta: &[Expr]) -> Vec<Expr> {
    let (zero, one, minus) = (graph.constant(0.0), graph.constant(1.0), graph.constant(-1.0));
    let squared = graph.dot(delta, delta);
    let (sinc, cosine) = sinc_cos(graph, squared);
    let aside = vector::scale(graph, delta, sinc);
    let (&last, others) = x.split_last().expect("a sphere is not empty");
    let below = graph.less(last, zero);
    let sign = graph.select(below, minus, one);
    let height = graph.unary(Unary::Abs, last);
    let divisor = graph.add(one, height);
    let along = graph.dot(others, &aside);
    let share = graph.div(along, divisor);
    let factor = graph.sub(cosine, share);
    let mut moved: Vec<Expr> = others
        .iter()
        .zip(&aside)
        .map(|(&x, &aside)| {
            let shrunk = graph.mul(x, factor);
            graph.add(shrunk, aside)
        })
        .collect();
    let shrunk = graph.mul(last, cosine);
    let lifted = graph.mul(sign, along);
    moved.push(graph.sub(shrunk, lifted));
    moved
}
