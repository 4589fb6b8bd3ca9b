//! Products of matrices on the CPU: values against sums in higher precision, and the same bits however the work is cut.

use leastwise::device::cpu::block::Instructions;
use leastwise::device::cpu::product::{DEPTH, Factor, Values, multiply, multiply_with};
use leastwise::device::cpu::real::Real;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Numbers that are new in every run unless `LEASTWISE_TEST_SEED` is set.
struct Random(u64);

impl Random {
    fn new(name: &str) -> Self {
        let given = std::env::var("LEASTWISE_TEST_SEED").ok().map(|seed| seed.parse().expect("LEASTWISE_TEST_SEED is a number"));
        let seed: u64 = given.unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock after 1970");
            now.as_nanos() as u64
        });
        println!("{name}: LEASTWISE_TEST_SEED={seed}");
        let mut hasher = DefaultHasher::new();
        (seed, name).hash(&mut hasher);
        Self(hasher.finish())
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn below(&mut self, end: usize) -> usize {
        ((self.uniform() + 1.0) / 2.0 * end as f64) as usize
    }

    /// Of all sizes, so that another order of additions shows.
    fn numbers<R: Real>(&mut self, len: usize) -> Vec<R> {
        (0..len).map(|_| R::from_f64(self.uniform() * f64::powi(2.0, self.below(8) as i32))).collect()
    }
}

/// A factor with storage of its own.
struct Matrix<R> {
    values: Vec<R>,
    rows: Vec<u32>,
    columns: Vec<u32>,
}

/// How a matrix lies in its storage.
#[derive(Clone, Copy, Debug)]
enum Layout {
    RowMajor,
    Transposed,
    /// Neither axis consecutive, and the rows from last to first.
    Strided,
    /// Every row the same.
    OneRow,
    /// Every column the same.
    OneColumn,
    /// Rows are places of an image that is so wide and columns are 3×3 neighbours in each channel, as a convolution has them.
    Windows,
    /// The same, transposed.
    WindowsTransposed,
    /// Addresses that start again at zero in the midst of rows.
    Wrapping,
}

use Layout::*;
const LAYOUTS: [Layout; 8] = [RowMajor, Transposed, Strided, OneRow, OneColumn, Windows, WindowsTransposed, Wrapping];

impl<R: Real> Matrix<R> {
    fn new(random: &mut Random, layout: Layout, rows: usize, columns: usize) -> Self {
        let offsets = |count: usize, stride: usize| (0..count).map(|i| (i * stride) as u32).collect::<Vec<_>>();
        let (rows, columns) = match layout {
            RowMajor => (offsets(rows, columns), offsets(columns, 1)),
            Transposed => (offsets(rows, 1), offsets(columns, rows)),
            Strided => (offsets(rows, 2 * columns + 3).into_iter().rev().collect(), offsets(columns, 2)),
            OneRow => (vec![0; rows], offsets(columns, 1)),
            OneColumn => (offsets(rows, 1), vec![0; columns]),
            Windows => (places(rows), windows(columns, rows)),
            WindowsTransposed => (windows(rows, columns), places(columns)),
            Wrapping => {
                let back = (columns / 2) as u32;
                (offsets(rows, columns), (0..columns as u32).map(|j| j.wrapping_sub(back)).collect())
            }
        };
        // What lies before zero is at the end of the numbers of 32 bits: the first row begins where the others go on.
        let rows: Vec<u32> = match layout {
            Wrapping => rows.iter().map(|row| row + (columns.len() / 2) as u32).collect(),
            _ => rows,
        };
        let all = rows.iter().flat_map(|row| columns.iter().map(|column| row.wrapping_add(*column)));
        let len = all.max().map_or(0, |last| last as usize + 1);
        Self { values: random.numbers(len), rows, columns }
    }

    fn factor(&self) -> Factor<'_, R> {
        Factor { values: Values::Reals(&self.values), rows: &self.rows, columns: &self.columns }
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.values[self.rows[i].wrapping_add(self.columns[j]) as usize].to_f64()
    }
}

const WIDTH: usize = 11;

fn places(count: usize) -> Vec<u32> {
    (0..count).map(|i| (i / (WIDTH - 2) * WIDTH + i % (WIDTH - 2)) as u32).collect()
}

fn windows(count: usize, places: usize) -> Vec<u32> {
    let channel = (places / (WIDTH - 2) + 4) * WIDTH;
    (0..count).map(|k| (k / 9 * channel + k % 9 / 3 * WIDTH + k % 3) as u32).collect()
}

/// Σ a·b and Σ |a·b| with Kahan's and Babuška's compensation, and products exact to twice the precision.
fn reference<R: Real>(a: &Matrix<R>, b: &Matrix<R>, i: usize, j: usize) -> (f64, f64) {
    let [mut sum, mut lost, mut size] = [0.0f64; 3];
    for p in 0..a.columns.len() {
        let (x, y) = (a.at(i, p), b.at(p, j));
        let product = x * y;
        let next = sum + product;
        let rounded = if sum.abs() >= product.abs() { sum - next + product } else { product - next + sum };
        lost += rounded + x.mul_add(y, -product);
        sum = next;
        size += product.abs();
    }
    (sum + lost, size)
}

fn poisoned<R: Real>(len: usize) -> Vec<R> {
    vec![R::from_f64(f64::NAN); len]
}

fn bits<R: Real>(values: &[R]) -> Vec<u64> {
    values.iter().map(|value| value.to_f64().to_bits()).collect()
}

/// The product with both sets of instructions, whose bits are the same.
fn product<R: Real>(a: &Matrix<R>, b: &Matrix<R>) -> Vec<R> {
    let mut c = poisoned(a.rows.len() * b.columns.len());
    multiply(a.factor(), b.factor(), &mut c);
    let mut other = poisoned(c.len());
    multiply_with(Instructions::Baseline, a.factor(), b.factor(), &mut other);
    assert_eq!(bits(&c), bits(&other), "other bits with other instructions");
    c
}

/// Every entry within k·ε·Σ|a·b| of what it is, or a share of them where there are many.
fn check<R: Real>(random: &mut Random, layouts: [Layout; 2], [m, k, n]: [usize; 3]) {
    let a = Matrix::<R>::new(random, layouts[0], m, k);
    let b = Matrix::<R>::new(random, layouts[1], k, n);
    let c = product(&a, &b);
    let epsilon = if size_of::<R>() == 8 { f64::EPSILON } else { f32::EPSILON.into() };
    assert!(c.iter().all(|entry| entry.is_finite()), "{layouts:?}, {m}×{k}×{n}: an entry that was not written");
    let sample = (m * n * k > 1 << 20).then(|| (1 << 20) / k);
    for number in 0..sample.unwrap_or(m * n) {
        let place = if sample.is_some() { random.below(m * n) } else { number };
        let (expected, size) = reference(&a, &b, place / n, place % n);
        let error = (c[place].to_f64() - expected).abs();
        let bound = (k + 1) as f64 * epsilon * size;
        assert!(error <= bound, "{layouts:?}, {m}×{k}×{n}, entry {}, {}: off by {error:e} of {bound:e}", place / n, place % n);
    }
}

const SIZES: [usize; 12] = [0, 1, 2, 3, 5, 7, 16, 17, 63, 65, 127, 257];

fn all_sizes<R: Real>(name: &str) {
    let mut random = Random::new(name);
    for m in SIZES {
        for n in SIZES {
            let k = SIZES[random.below(SIZES.len())];
            let layouts = [0; 2].map(|_| LAYOUTS[random.below(LAYOUTS.len())]);
            check::<R>(&mut random, layouts, [m, k, n]);
        }
    }
    // Several blocks of rows, of depth, of columns.
    for sizes in [[500, 500, 500], [1, 1031, 499], [499, 1031, 1], [7, 3, 4099], [401, DEPTH, 33], [19, 2 * DEPTH + 1, 2053]] {
        check::<R>(&mut random, [RowMajor; 2], sizes);
    }
}

#[test]
fn ragged_sizes_in_single_precision() {
    all_sizes::<f32>("ragged_sizes_in_single_precision");
}

#[test]
fn ragged_sizes_in_double_precision() {
    all_sizes::<f64>("ragged_sizes_in_double_precision");
}

#[test]
fn every_layout_with_every_other() {
    let mut random = Random::new("every_layout_with_every_other");
    for left in LAYOUTS {
        for right in LAYOUTS {
            let sizes = [1 + random.below(70), 1 + random.below(600), 1 + random.below(70)];
            check::<f32>(&mut random, [left, right], sizes);
            check::<f64>(&mut random, [left, right], sizes);
        }
    }
}

/// Sums of blocks that are added up, and nothing else: an implementation of another order fails.
fn in_order<R: Real>(name: &str) {
    let mut random = Random::new(name);
    let (m, k, n) = (23, 2 * DEPTH + 77, 37);
    let (a, b) = (Matrix::<R>::new(&mut random, RowMajor, m, k), Matrix::<R>::new(&mut random, Transposed, k, n));
    let mut expected = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let mut blocks = (0..k).step_by(DEPTH).map(|top| {
                let products = (top..k.min(top + DEPTH)).map(|p| R::from_f64(a.at(i, p)) * R::from_f64(b.at(p, j)));
                products.fold(R::ZERO, |sum, product| sum + product)
            });
            let first = blocks.next().unwrap();
            expected.push(blocks.fold(first, |sum, block| sum + block));
        }
    }
    assert_eq!(bits(&product(&a, &b)), bits(&expected));
}

#[test]
fn sums_are_in_the_documented_order() {
    in_order::<f32>("sums_are_in_the_documented_order, single");
    in_order::<f64>("sums_are_in_the_documented_order, double");
}

#[test]
fn threads_and_rows_apart_give_the_same_bits() {
    let mut random = Random::new("threads_and_rows_apart_give_the_same_bits");
    // High, low and wide, and small.
    for [m, k, n] in [[611, 300, 129], [3, 700, 2500], [5, 9, 4]] {
        let (a, b) = (Matrix::<f32>::new(&mut random, RowMajor, m, k), Matrix::<f32>::new(&mut random, RowMajor, k, n));
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut c = poisoned(m * n);
            pool.install(|| multiply(a.factor(), b.factor(), &mut c));
            c
        };
        let whole = on(1);
        for threads in [2, 3, 8] {
            assert_eq!(bits(&on(threads)), bits(&whole), "{m}×{k}×{n} on {threads} threads");
        }
        let cut = random.below(m + 1);
        let mut parts = poisoned(m * n);
        let (upper, lower) = parts.split_at_mut(cut * n);
        multiply(Factor { rows: &a.rows[..cut], ..a.factor() }, b.factor(), upper);
        multiply(Factor { rows: &a.rows[cut..], ..a.factor() }, b.factor(), lower);
        assert_eq!(bits(&parts), bits(&whole), "{m}×{k}×{n}, cut after {cut} rows");
    }
}

#[test]
fn nothing_summed_is_zero_and_what_is_not_finite_stays_in_its_row_and_column() {
    let mut c = poisoned::<f32>(6);
    multiply(
        Factor { values: Values::Reals(&[]), rows: &[0; 2], columns: &[] },
        Factor { values: Values::Reals(&[]), rows: &[], columns: &[0; 3] },
        &mut c,
    );
    assert_eq!(c, [0.0; 6]);

    let mut random = Random::new("nothing_summed_is_zero");
    let (m, k, n) = (9, 5, 19);
    let mut a = Matrix::<f32>::new(&mut random, RowMajor, m, k);
    let mut b = Matrix::<f32>::new(&mut random, RowMajor, k, n);
    a.values[4 * k + 2] = f32::NAN;
    b.values[n + 17] = f32::INFINITY;
    let c = product(&a, &b);
    for (place, entry) in c.iter().enumerate() {
        assert_eq!(!entry.is_finite(), place / n == 4 || place % n == 17, "row {}, column {}", place / n, place % n);
    }
}

fn panics(a: Factor<f32>, b: Factor<f32>, len: usize) -> bool {
    std::panic::catch_unwind(|| multiply(a, b, &mut vec![0.0; len])).is_err()
}

#[test]
fn what_does_not_fit_panics() {
    let values = [1.0; 12];
    let a = Factor { values: Values::Reals(&values), rows: &[0, 4, 8], columns: &[0, 1, 2, 3] };
    let b = Factor { values: Values::Reals(&values), rows: &[0, 3, 6, 9], columns: &[0, 1, 2] };
    assert!(!panics(a, b, 9));
    assert!(panics(a, b, 10));
    assert!(panics(a, a, 12));
    // One address past the end, seen by each way of packing.
    assert!(panics(Factor { rows: &[0, 4, 9], ..a }, b, 9));
    assert!(panics(a, Factor { columns: &[0, 1, 3], ..b }, 9));
    assert!(panics(a, Factor { rows: &[0, 3, 6, 10], ..b }, 9));
    assert!(panics(a, Factor { rows: &[u32::MAX, 3, 6, 9], columns: &[0, 1, 2], ..b }, 9));
}
