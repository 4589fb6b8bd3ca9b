//! The normal equations of a block of fits, scaled to a diagonal of 1: factors, steps, predictions and standard errors, a fit a lane.

use super::sums::Sums;
use super::{row_of, zeros};
use crate::block::lanes::{LANES, Lanes};
use crate::real::Real;
use leastwise_program::{FitLayout, FitProgram};

/// The scaled normal equations of a block.
pub(super) struct System<R> {
    n: usize,
    /// Scales to a diagonal of 1; 0 for parameters that stay.
    pub s: Vec<Lanes<R>>,
    /// The scaled matrix below its diagonal, and its factor with the diagonal; row by row.
    c: Vec<Lanes<R>>,
    l: Vec<Lanes<R>>,
    /// Right-hand side, and the scaled step.
    b: Vec<Lanes<R>>,
    pub step: Vec<Lanes<R>>,
}

impl<R: Real> System<R> {
    pub fn new(n: usize) -> Self {
        let [c, l] = [(); 2].map(|()| zeros(row_of(n)));
        let [s, b, step] = [(); 3].map(|()| zeros(n));
        Self { n, s, c, l, b, step }
    }

    pub fn scale(&mut self, at: &Sums<R>, layout: &FitLayout, values: &[Lanes<R>], lower: &[Lanes<R>], upper: &[Lanes<R>]) {
        let least = R::from_f64(FitProgram::LEAST_CURVATURE);
        for (j, &number) in layout.free.iter().enumerate() {
            let (h, d, value) = (&at.normal[row_of(j) + j], &at.gradient[j], &values[number as usize]);
            let (lower, upper, s) = (&lower[j], &upper[j], &mut self.s[j]);
            for lane in 0..LANES {
                let stays = (value[lane] <= lower[lane]) & (d[lane] > R::ZERO) | (value[lane] >= upper[lane]) & (d[lane] < R::ZERO);
                let floored = if h[lane] > least { h[lane] } else { least };
                let scale = R::ONE / floored.sqrt();
                s[lane] = if (h[lane] > least) & !stays { scale } else { R::ZERO };
            }
        }
        for i in 0..self.n {
            for j in 0..i {
                let (c, h) = (&mut self.c[row_of(i) + j], &at.normal[row_of(i) + j]);
                let (si, sj) = (&self.s[i], &self.s[j]);
                for lane in 0..LANES {
                    c[lane] = h[lane] * si[lane] * sj[lane];
                }
            }
        }
    }

    /// The Cholesky factor of the matrix with this diagonal; true where every pivot is above `least`.
    pub fn factor(&mut self, diagonal: &Lanes<R>, least: &Lanes<R>) -> [bool; LANES] {
        let mut regular = [true; LANES];
        for j in 0..self.n {
            let mut pivot = *diagonal;
            for k in 0..j {
                let l = &self.l[row_of(j) + k];
                for lane in 0..LANES {
                    pivot[lane] -= l[lane] * l[lane];
                }
            }
            for lane in 0..LANES {
                let above = pivot[lane] > least[lane];
                regular[lane] &= above;
                pivot[lane] = if above { pivot[lane] } else { R::ONE }.sqrt();
            }
            self.l[row_of(j) + j] = pivot;
            for i in j + 1..self.n {
                let mut entry = self.c[row_of(i) + j];
                for k in 0..j {
                    let (a, b) = (&self.l[row_of(i) + k], &self.l[row_of(j) + k]);
                    for lane in 0..LANES {
                        entry[lane] -= a[lane] * b[lane];
                    }
                }
                for lane in 0..LANES {
                    entry[lane] = entry[lane] / pivot[lane];
                }
                self.l[row_of(i) + j] = entry;
            }
        }
        regular
    }

    /// The scaled step of the factored matrix.
    pub fn solve(&mut self, at: &Sums<R>) {
        for j in 0..self.n {
            for lane in 0..LANES {
                self.b[j][lane] = -at.gradient[j][lane] * self.s[j][lane];
            }
            let mut y = self.b[j];
            for k in 0..j {
                let (l, known) = (&self.l[row_of(j) + k], &self.step[k]);
                for lane in 0..LANES {
                    y[lane] -= l[lane] * known[lane];
                }
            }
            let pivot = &self.l[row_of(j) + j];
            for lane in 0..LANES {
                y[lane] = y[lane] / pivot[lane];
            }
            self.step[j] = y;
        }
        for j in (0..self.n).rev() {
            let mut z = self.step[j];
            for k in j + 1..self.n {
                let (l, known) = (&self.l[row_of(k) + j], &self.step[k]);
                for lane in 0..LANES {
                    z[lane] -= l[lane] * known[lane];
                }
            }
            let pivot = &self.l[row_of(j) + j];
            for lane in 0..LANES {
                z[lane] = z[lane] / pivot[lane];
            }
            self.step[j] = z;
        }
    }

    /// The reduction of F that the model predicts for the step.
    pub fn predicted(&self, half: R) -> Lanes<R> {
        let (mut linear, mut squares, mut products) = ([R::ZERO; LANES], [R::ZERO; LANES], [R::ZERO; LANES]);
        for i in 0..self.n {
            let (b, m) = (&self.b[i], &self.step[i]);
            for lane in 0..LANES {
                linear[lane] += b[lane] * m[lane];
                squares[lane] += m[lane] * m[lane];
            }
            for j in 0..i {
                let (c, other) = (&self.c[row_of(i) + j], &self.step[j]);
                for lane in 0..LANES {
                    products[lane] += c[lane] * m[lane] * other[lane];
                }
            }
        }
        std::array::from_fn(|lane| linear[lane] - (half * squares[lane] + products[lane]))
    }

    /// √ of the diagonal of the inverse of the factored matrix, in the parameters' units, of some lanes; 0 of the others.
    pub fn errors(&self, lanes: &[bool; LANES]) -> Vec<Lanes<R>> {
        let (mut errors, mut w) = (zeros(self.n), vec![R::ZERO; self.n]);
        for lane in (0..LANES).filter(|lane| lanes[*lane]) {
            for j in 0..self.n {
                let mut sum = R::ZERO;
                for i in j..self.n {
                    let right = if i == j { R::ONE } else { R::ZERO };
                    let known = (j..i).fold(right, |right, k| right - self.l[row_of(i) + k][lane] * w[k]);
                    w[i] = known / self.l[row_of(i) + i][lane];
                    sum += w[i] * w[i];
                }
                errors[j][lane] = self.s[j][lane] * sum.sqrt();
            }
        }
        errors
    }
}
