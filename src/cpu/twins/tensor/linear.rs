//! The twins of `solve`, `cholesky`, `qr` and `singular`: a workgroup of the shaders has a matrix, and so has a task.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;
use std::ops::Range;

/// The matrices of the workgroups to do.
fn batches(work: &Workgroups, batches: u32) -> Range<usize> {
    work.groups.start as usize..work.groups.end.min(batches) as usize
}

/// Elements of one of them among all.
fn of(batch: usize, size: usize) -> Range<usize> {
    batch * size..(batch + 1) * size
}

/// Solutions by elimination with partial pivoting.
pub fn solve<R: Real>(work: &Workgroups, args: kernels::tensor::Solve, bindings: kernels::tensor::SolveSlices<R>) {
    let [n, k] = [args.size, args.columns].map(|word| word as usize);
    let all = batches(work, args.batches);
    let (mut results, mut factors) = (Pieces::new(bindings.results), Pieces::new(bindings.factors));
    let elements = all.len() * n * n * (n + k);
    let tasks: Vec<_> = all.map(|batch| (batch, results.take(of(batch, n * k)), factors.take(of(batch, n * n)))).collect();
    threads::each(tasks, elements, |(batch, x, a)| {
        a.copy_from_slice(&bindings.matrices[of(batch, n * n)]);
        x.copy_from_slice(&bindings.right[of(batch, n * k)]);
        for p in 0..n {
            let mut pivot = p;
            for r in p + 1..n {
                if a[r * n + p].abs() > a[pivot * n + p].abs() {
                    pivot = r;
                }
            }
            if pivot != p {
                (p..n).for_each(|c| a.swap(p * n + c, pivot * n + c));
                (0..k).for_each(|c| x.swap(p * k + c, pivot * k + c));
            }
            let (above, below) = a.split_at_mut((p + 1) * n);
            let (x_above, x_below) = x.split_at_mut((p + 1) * k);
            let (row, x_row) = (&above[p * n..], &x_above[p * k..]);
            for r in 0..n - 1 - p {
                let lower = &mut below[r * n..][..n];
                let factor = lower[p] / row[p];
                lower[p + 1..].iter_mut().zip(&row[p + 1..]).for_each(|(a, b)| *a -= factor * *b);
                x_below[r * k..][..k].iter_mut().zip(x_row).for_each(|(a, b)| *a -= factor * *b);
            }
        }
        for p in (0..n).rev() {
            let (above, row) = x.split_at_mut(p * k);
            let row = &mut row[..k];
            row.iter_mut().for_each(|x| *x = *x / a[p * n + p]);
            for r in 0..p {
                above[r * k..][..k].iter_mut().zip(&*row).for_each(|(a_, b)| *a_ -= a[r * n + p] * *b);
            }
        }
    });
}

/// Lower triangles.
pub fn cholesky<R: Real>(work: &Workgroups, args: kernels::tensor::Cholesky, bindings: kernels::tensor::CholeskySlices<R>) {
    let n = args.size as usize;
    let all = batches(work, args.batches);
    let mut results = Pieces::new(bindings.results);
    let elements = all.len() * n * n * n;
    let tasks: Vec<_> = all.map(|batch| (batch, results.take(of(batch, n * n)))).collect();
    threads::each(tasks, elements, |(batch, l)| {
        let a = &bindings.matrices[of(batch, n * n)];
        for (e, l) in l.iter_mut().enumerate() {
            *l = if e % n > e / n { R::ZERO } else { a[e] };
        }
        for p in 0..n {
            let pivot = l[p * n + p];
            let root = if pivot > R::ZERO { pivot.sqrt() } else { R::from_f64(f64::NAN) };
            l[p * n + p] = root;
            (p + 1..n).for_each(|r| l[r * n + p] = l[r * n + p] / root);
            for r in p + 1..n {
                for c in p + 1..=r {
                    let product = l[r * n + p] * l[c * n + p];
                    l[r * n + c] -= product;
                }
            }
        }
    });
}

/// Column c less its part along reflection j, times the reflection's factor.
fn reflect<R: Real>(q: &mut [R], (m, n): (usize, usize), j: usize, c: usize, factor: R) {
    let mut along = q[j * n + c];
    for i in j + 1..m {
        along += q[i * n + j] * q[i * n + c];
    }
    along = along * factor;
    q[j * n + c] -= along;
    for i in j + 1..m {
        let part = q[i * n + j] * along;
        q[i * n + c] -= part;
    }
}

/// Q and R.
pub fn qr<R: Real>(work: &Workgroups, args: kernels::tensor::Qr, bindings: kernels::tensor::QrSlices<R>) {
    let [m, n] = [args.rows, args.columns].map(|word| word as usize);
    let all = batches(work, args.batches);
    let (mut orthogonal, mut factors, mut triangular) =
        (Pieces::new(bindings.orthogonal), Pieces::new(bindings.factors), Pieces::new(bindings.triangular));
    let elements = all.len() * 2 * m * n * n;
    let tasks: Vec<_> = all
        .map(|batch| {
            let (q, r) = (orthogonal.take(of(batch, m * n)), triangular.take(of(batch, n * n)));
            (batch, q, factors.take(of(batch, n)), r)
        })
        .collect();
    threads::each(tasks, elements, |(batch, q, factors, r)| {
        q.copy_from_slice(&bindings.matrices[of(batch, m * n)]);
        for j in 0..n {
            let first = q[j * n + j];
            let largest = (j + 1..m).fold(first.abs(), |most, i| if q[i * n + j].abs() > most { q[i * n + j].abs() } else { most });
            let unit = if largest == R::ZERO { R::ONE } else { largest };
            let below = (j + 1..m).fold(R::ZERO, |sum, i| sum + q[i * n + j] / unit * (q[i * n + j] / unit));
            let length = unit * (first / unit * (first / unit) + below).sqrt();
            let is_done = below == R::ZERO;
            let diagonal = if is_done {
                first
            } else if first < R::ZERO {
                length
            } else {
                -length
            };
            factors[j] = if is_done { R::ZERO } else { (diagonal - first) / diagonal };
            let scale = if is_done { R::ONE } else { first - diagonal };
            (j + 1..m).for_each(|i| q[i * n + j] = q[i * n + j] / scale);
            q[j * n + j] = diagonal;
            (j + 1..n).for_each(|c| reflect(q, (m, n), j, c, factors[j]));
        }
        for (e, r) in r.iter_mut().enumerate() {
            *r = if e / n > e % n { R::ZERO } else { q[e] };
        }
        for j in (0..n).rev() {
            let factor = factors[j];
            (j + 1..n).for_each(|c| reflect(q, (m, n), j, c, factor));
            (0..j).for_each(|i| q[i * n + j] = R::ZERO);
            q[j * n + j] = R::ONE - factor;
            (j + 1..m).for_each(|i| q[i * n + j] = -factor * q[i * n + j]);
        }
    });
}

/// Right singular vectors V, and A V.
pub fn singular<R: Real>(work: &Workgroups, args: kernels::tensor::Singular, bindings: kernels::tensor::SingularSlices<R>) {
    let [m, n] = [args.rows, args.columns].map(|word| word as usize);
    let all = batches(work, args.batches);
    let (mut vectors, mut products) = (Pieces::new(bindings.vectors), Pieces::new(bindings.products));
    let elements = all.len() * args.sweeps as usize * 4 * m * n * n;
    let tasks: Vec<_> = all.map(|batch| (batch, vectors.take(of(batch, n * n)), products.take(of(batch, m * n)))).collect();
    // Cosine of an angle that turning would not change.
    let least = R::from_f64(1e-18);
    threads::each(tasks, elements, |(batch, v, w)| {
        w.copy_from_slice(&bindings.matrices[of(batch, m * n)]);
        v.fill(R::ZERO);
        (0..n).for_each(|i| v[i * n + i] = R::ONE);
        let round = (n + n % 2).saturating_sub(1);
        for _ in 0..args.sweeps {
            let mut is_done = true;
            for at in 0..round {
                for pair in 0..n.div_ceil(2) {
                    let one = if pair == 0 { round } else { (at + pair) % round };
                    let other = (at + round - pair) % round;
                    let (p, q) = (one.min(other), one.max(other));
                    if q < n {
                        is_done &= !turn(w, v, (m, n), (p, q), least);
                    }
                }
            }
            if is_done {
                break;
            }
        }
    });
}

/// Makes two columns orthogonal; false if they were.
fn turn<R: Real>(w: &mut [R], v: &mut [R], (m, n): (usize, usize), (p, q): (usize, usize), least: R) -> bool {
    let (mut first, mut second, mut both) = (R::ZERO, R::ZERO, R::ZERO);
    for row in w.chunks_exact(n) {
        let (x, y) = (row[p], row[q]);
        first += x * x;
        second += y * y;
        both += x * y;
    }
    debug_assert_eq!(w.len(), m * n);
    // Not of NaN, which all that it meets becomes.
    if both.abs() <= least * first.sqrt() * second.sqrt() {
        return false;
    }
    let cotangent = (second - first) / (R::from_f64(2.0) * both);
    let size = cotangent.abs();
    let small = if size > R::from_f64(1e8) { R::from_f64(0.5) / size } else { R::ONE / (size + (R::ONE + size * size).sqrt()) };
    let tangent = if cotangent < R::ZERO { -small } else { small };
    let cosine = R::ONE / (R::ONE + tangent * tangent).sqrt();
    let sine = cosine * tangent;
    for row in w.chunks_exact_mut(n).chain(v.chunks_exact_mut(n)) {
        let (x, y) = (row[p], row[q]);
        (row[p], row[q]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
    true
}
