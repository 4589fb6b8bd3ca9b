//! Twin of `shaders/system/psd_blocks.wgsl`, in working memory of its own: several matrices abreast, each with the arithmetic that it
//! would have alone.

use crate::Workgroups;
use crate::real::Real;
use crate::threads;
use crate::twins::pcg::block_jacobi::row_start;
use leastwise_kernels as kernels;
use leastwise_program::NEGATIVE;
use std::ops::Range;

const SWEEPS: usize = 16;

/// Matrices abreast: what a processor's registers hold, several times over, since square roots and quotients wait long.
const ABREAST: usize = 8;

/// One entry of each of these matrices.
type Lanes<R> = [R; ABREAST];

fn each<R: Real>(value: impl Fn(usize) -> R) -> Lanes<R> {
    std::array::from_fn(value)
}

/// What is asked of the eigenvalues.
#[derive(Clone, Copy)]
struct Wanted<R> {
    width: usize,
    absolute: bool,
    epsilon: R,
    tolerance: R,
}

/// Matrices of a task.
const TASK: usize = 256;

/// Eigenvalues λ of packed symmetric matrices become max(λ, ε) or max(|λ|, ε).
pub fn psd_blocks<R: Real>(work: &Workgroups, args: kernels::system::PsdBlocks, bindings: kernels::system::PsdBlocksSlices<R>) {
    let (width, absolute, first) = (args.width, args.absolute, args.column);
    let (width, first, count) = (width as usize, first as usize, work.params.count as usize);
    let limits: &[R] = bindings.limits;
    let wanted = Wanted { width, absolute: absolute != 0, epsilon: limits[0], tolerance: limits[1] };
    let (map, columns, blocks) = (bindings.map, bindings.columns, bindings.blocks);
    let packed = row_start(width);
    let items = work.items();
    let tasks: Vec<Range<usize>> = items.clone().step_by(TASK).map(|start| start..items.end.min(start + TASK)).collect();
    // A matrix is worth many elements of a vector.
    let projected = threads::map(tasks.clone(), items.len() * packed * packed, |items| {
        let len = items.len();
        let mut results = vec![R::ZERO; packed * len];
        for (k, &code) in map[..packed].iter().enumerate() {
            let result = &mut results[k * len..][..len];
            let column = match code & !NEGATIVE {
                0 => continue,
                column => &columns[(column as usize - 1) * count..][items.clone()],
            };
            let is_negative = code & NEGATIVE != 0;
            result.iter_mut().zip(column).for_each(|(result, value)| *result = if is_negative { -*value } else { *value });
        }
        // Most need no rotation; those that do are turned together.
        let mut abreast = Abreast::new(width);
        let mut lacking: Vec<usize> = Vec::new();
        for start in (0..len).step_by(ABREAST) {
            let places: [usize; ABREAST] = std::array::from_fn(|lane| (start + lane).min(len - 1));
            abreast.take(&results, len, &places);
            let changes = abreast.lack(wanted);
            lacking.extend((0..ABREAST.min(len - start)).filter(|lane| changes[*lane]).map(|lane| start + lane));
        }
        for some in lacking.chunks(ABREAST) {
            let places: [usize; ABREAST] = std::array::from_fn(|lane| some[lane.min(some.len() - 1)]);
            abreast.take(&results, len, &places);
            abreast.project(wanted);
            for (k, entry) in abreast.given.iter().enumerate() {
                some.iter().zip(entry).for_each(|(place, value)| results[k * len + place] = *value);
            }
        }
        results
    });
    for (items, results) in tasks.into_iter().zip(projected) {
        for k in 0..packed {
            blocks[(first + k) * count + items.start..][..items.len()].copy_from_slice(&results[k * items.len()..][..items.len()]);
        }
    }
}

/// Packed matrices side by side.
struct Abreast<R> {
    given: Vec<Lanes<R>>,
    block: Vec<Lanes<R>>,
    /// Eigenvectors, row by row.
    vectors: Vec<Lanes<R>>,
    /// The largest entry of each.
    largest: Lanes<R>,
}

impl<R: Real> Abreast<R> {
    fn new(width: usize) -> Self {
        let packed = row_start(width);
        let zeros = |len: usize| vec![[R::ZERO; ABREAST]; len];
        Self { given: zeros(packed), block: zeros(packed), vectors: zeros(width * width), largest: [R::ZERO; ABREAST] }
    }

    /// Takes matrices that stand in columns of so many.
    fn take(&mut self, columns: &[R], len: usize, places: &[usize; ABREAST]) {
        for (entry, column) in self.given.iter_mut().zip(columns.chunks(len)) {
            *entry = each(|lane| column[places[lane]]);
        }
        self.largest = [R::ZERO; ABREAST];
        for entry in &self.given {
            for (largest, value) in self.largest.iter_mut().zip(entry) {
                *largest = if value.abs() > *largest { value.abs() } else { *largest };
            }
        }
    }

    /// Which of them have an eigenvalue that is too small. One with an entry that is not finite stays as it is.
    fn lack(&mut self, Wanted { width, epsilon, tolerance, .. }: Wanted<R>) -> [bool; ABREAST] {
        let finite: [bool; ABREAST] = std::array::from_fn(|lane| self.given.iter().all(|entry| entry[lane].is_finite()));
        self.block.copy_from_slice(&self.given);
        let semidefinite = are_semidefinite(&mut self.block, width, epsilon, &each(|lane| tolerance * self.largest[lane]));
        std::array::from_fn(|lane| finite[lane] && !semidefinite[lane])
    }

    fn project(&mut self, wanted: Wanted<R>) {
        let Wanted { width, absolute, epsilon, tolerance } = wanted;
        self.block.copy_from_slice(&self.given);
        let least = each(|lane| R::from_f64(0.0625) * tolerance * self.largest[lane]);
        diagonalise(&mut self.block, &mut self.vectors, width, &least);
        for k in 0..width {
            let eigenvalue = self.block[row_start(k) + k];
            let lacking = each(|lane| {
                let kept = if absolute { eigenvalue[lane].abs() } else { eigenvalue[lane] };
                (if kept > epsilon { kept } else { epsilon }) - eigenvalue[lane]
            });
            for r in 0..width {
                for c in 0..=r {
                    let (u, v, entry) = (&self.vectors[r * width + k], &self.vectors[c * width + k], &mut self.given[row_start(r) + c]);
                    for lane in 0..ABREAST {
                        entry[lane] += lacking[lane] * u[lane] * v[lane];
                    }
                }
            }
        }
    }
}

/// Whether a − εI has a factor L Lᵀ up to `least`; L takes the place of a.
fn are_semidefinite<R: Real>(a: &mut [Lanes<R>], width: usize, epsilon: R, least: &Lanes<R>) -> [bool; ABREAST] {
    let mut holds = [true; ABREAST];
    for r in 0..width {
        for c in 0..=r {
            let mut value = a[row_start(r) + c];
            if r == c {
                value.iter_mut().for_each(|value| *value -= epsilon);
            }
            for k in 0..c {
                let (u, v) = (a[row_start(r) + k], a[row_start(c) + k]);
                for lane in 0..ABREAST {
                    value[lane] -= u[lane] * v[lane];
                }
            }
            if r == c {
                for lane in 0..ABREAST {
                    holds[lane] &= value[lane] >= -least[lane];
                    // What is no pivot may have any root.
                    let root = value[lane].abs().sqrt();
                    value[lane] = if value[lane] > least[lane] { root } else { R::ZERO };
                }
            } else {
                let pivot = a[row_start(c) + c];
                for lane in 0..ABREAST {
                    let is_pivot = pivot[lane] > R::ZERO;
                    holds[lane] &= is_pivot || value[lane].abs() <= least[lane];
                    value[lane] = if is_pivot { value[lane] / pivot[lane] } else { R::ZERO };
                }
            }
            a[row_start(r) + c] = value;
        }
    }
    holds
}

/// a becomes diagonal, as far as entries exceed `least`; the columns of v are its eigenvectors. Where an entry is small already,
/// a matrix stays: its rotation is by 0.
fn diagonalise<R: Real>(a: &mut [Lanes<R>], v: &mut [Lanes<R>], width: usize, least: &Lanes<R>) {
    let at = |r: usize, c: usize| row_start(r.max(c)) + r.min(c);
    let unit = |k: usize| if k / width == k % width { R::ONE } else { R::ZERO };
    v.iter_mut().enumerate().for_each(|(k, entry)| *entry = [unit(k); ABREAST]);
    for _ in 0..SWEEPS {
        let mut done = true;
        for q in 1..width {
            for p in 0..q {
                let off = a[at(q, p)];
                let turns: [bool; ABREAST] = std::array::from_fn(|lane| off[lane].abs() > least[lane]);
                if turns == [false; ABREAST] {
                    continue;
                }
                done = false;
                let (app, aqq) = (a[at(p, p)], a[at(q, q)]);
                let (mut s, mut h, mut shift) = ([R::ZERO; ABREAST], [R::ZERO; ABREAST], [R::ZERO; ABREAST]);
                for lane in 0..ABREAST {
                    // Another number than 0 is divided by where nothing is to be turned.
                    let divisor = if turns[lane] { off[lane] } else { R::ONE };
                    let cotangent = R::from_f64(0.5) * (aqq[lane] - app[lane]) / divisor;
                    let size = R::ONE / (cotangent.abs() + (cotangent * cotangent + R::ONE).sqrt());
                    let t = if cotangent < R::ZERO { -size } else { size };
                    let c = R::ONE / (t * t + R::ONE).sqrt();
                    let sine = t * c;
                    s[lane] = if turns[lane] { sine } else { R::ZERO };
                    h[lane] = if turns[lane] { sine / (R::ONE + c) } else { R::ZERO };
                    shift[lane] = if turns[lane] { t * off[lane] } else { R::ZERO };
                }
                a[at(p, p)] = each(|lane| app[lane] - shift[lane]);
                a[at(q, q)] = each(|lane| aqq[lane] + shift[lane]);
                a[at(q, p)] = each(|lane| if turns[lane] { R::ZERO } else { off[lane] });
                let turned = |x: Lanes<R>, y: Lanes<R>| {
                    (
                        each(|lane| x[lane] - s[lane] * (y[lane] + h[lane] * x[lane])),
                        each(|lane| y[lane] + s[lane] * (x[lane] - h[lane] * y[lane])),
                    )
                };
                for r in 0..width {
                    if r != p && r != q {
                        (a[at(r, p)], a[at(r, q)]) = turned(a[at(r, p)], a[at(r, q)]);
                    }
                    (v[r * width + p], v[r * width + q]) = turned(v[r * width + p], v[r * width + q]);
                }
            }
        }
        if done {
            return;
        }
    }
}
