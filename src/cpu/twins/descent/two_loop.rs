//! Twin of `shaders/descent/two_loop.wgsl`: L-BFGS's two loops over inner products, and conjugate gradients' β.

use crate::Workgroups;
use crate::real::Real;
use crate::twins::line_search::{CONJUGATE_GRADIENTS, GRADIENT_DESCENT};
use crate::twins::reduce::*;
use leastwise_kernels as kernels;
use leastwise_kernels::state::solver::*;

/// The inner products of all vectors, and the coefficients of the next direction.
struct Gram<'a, R> {
    products: &'a mut [R],
    pairs: usize,
    vectors: usize,
    epsilon: R,
}

impl<R: Real> Gram<'_, R> {
    fn at(&self, row: usize, column: usize) -> R {
        self.products[row * self.vectors + column]
    }

    /// The product of Σ cⱼ bⱼ with a vector.
    fn against(&self, column: usize, factors: &[R]) -> R {
        let used = factors.iter().enumerate().filter(|(_, factor)| **factor != R::ZERO);
        used.fold(R::ZERO, |sum, (j, factor)| sum + *factor * self.at(j, column))
    }

    /// sᵀy, unless it is no curvature where limits leave to move.
    fn curvature(&self, pair: usize) -> Option<R> {
        let y = self.pairs + pair;
        let sy = self.at(pair, y);
        (sy > self.epsilon * (self.at(pair, pair) * self.at(y, y)).sqrt()).then_some(sy)
    }

    fn lbfgs(&self, newest: usize, kept: usize, factors: &mut [R]) {
        let pairs = self.pairs;
        let mut along = vec![R::ZERO; pairs];
        let mut scale = None;
        for i in (0..kept).map(|k| (newest + pairs - k) % pairs) {
            if let Some(sy) = self.curvature(i) {
                along[i] = self.against(i, factors) / sy;
                factors[pairs + i] -= along[i];
                scale.get_or_insert(sy / self.at(pairs + i, pairs + i));
            }
        }
        if let Some(scale) = scale {
            factors.iter_mut().for_each(|factor| *factor = *factor * scale);
        }
        for i in (1..=kept).rev().map(|k| (newest + pairs + 1 - k) % pairs) {
            if let Some(sy) = self.curvature(i) {
                factors[i] += along[i] - self.against(pairs + i, factors) / sy;
            }
        }
    }

    fn conjugate(&self, s: usize, factors: &mut [R]) {
        let (y, g) = (self.pairs + s, 2 * self.pairs);
        if let Some(sy) = self.curvature(s) {
            let sg = self.at(s, g);
            let beta = (self.at(y, g) - R::from_f64(2.0) * sg * self.at(y, y) / sy) / sy;
            factors[s] = larger(beta, R::from_f64(0.4) * (sg - sy) / self.at(s, s));
        }
    }
}

/// The next direction as coefficients of s₀ …, y₀ …, g, its slope, and the first α to try.
pub fn two_loop<R: Real>(_: &Workgroups, args: kernels::descent::TwoLoop, bindings: kernels::descent::TwoLoopSlices<R>) {
    let state = bindings.state;
    if state[TURNING as usize] == R::ZERO {
        return;
    }
    let [runs, pairs, rule, all_rows] = [args.runs, args.pairs, args.rule, args.all].map(|word| word as usize);
    let (products, gram, coefficients) = (bindings.products, bindings.gram, bindings.coefficients);
    let vectors = 2 * pairs + 1;
    let newest = state[NEWEST as usize].to_f64() as usize;
    let rows: Vec<usize> = if all_rows != 0 { (0..vectors).collect() } else { vec![newest, pairs + newest, 2 * pairs] };
    for (r, &row) in rows.iter().enumerate() {
        for column in 0..vectors {
            let sum = (0..runs).fold(R::ZERO, |sum, run| sum + products[(run * rows.len() + r) * vectors + column]);
            gram[row * vectors + column] = sum;
            if !rows.contains(&column) {
                gram[column * vectors + row] = sum;
            }
        }
    }
    let (g, kept) = (2 * pairs, state[PAIRS as usize].to_f64() as usize);
    let gram = Gram { products: gram, pairs, vectors, epsilon: state[EPSILON as usize] };
    let mut factors = vec![R::ZERO; vectors];
    factors[g] = -R::ONE;
    if kept > 0 && rule == 0 {
        gram.lbfgs(newest, kept, &mut factors);
    } else if kept > 0 && rule == CONJUGATE_GRADIENTS as usize {
        gram.conjugate(newest, &mut factors);
    }
    let (mut slope, squared) = (gram.against(g, &factors), gram.at(g, g));
    if !(slope.is_finite() && slope < R::ZERO) {
        factors.fill(R::ZERO);
        (factors[g], slope) = (-R::ONE, -squared);
        state[PAIRS as usize] = R::ZERO;
    }
    let (mut length, before) = (R::ONE, state[LENGTH_BEFORE as usize]);
    let has_history = state[PAIRS as usize] > R::ZERO;
    if !has_history || rule != 0 {
        let sy = gram.at(newest, pairs + newest);
        if before > R::ZERO && rule == CONJUGATE_GRADIENTS as usize {
            length = smaller(before * state[SLOPE_BEFORE as usize] / slope, R::from_f64(10.0) * before);
        } else if has_history && rule == GRADIENT_DESCENT as usize && sy > R::ZERO {
            length = gram.at(newest, newest) / sy;
        } else if squared > R::ZERO {
            let (far, cost) = (squared.sqrt(), state[COST as usize].abs());
            length = if cost == R::ZERO { R::ONE / far } else { R::from_f64(2.0) * cost / squared };
            if state[POINT_NORM as usize] > R::ZERO {
                length = smaller(length, state[POINT_NORM as usize] / far);
            }
        }
    }
    coefficients[..vectors].copy_from_slice(&factors);
    state[SLOPE as usize] = slope;
    state[LENGTH as usize] = length;
}
