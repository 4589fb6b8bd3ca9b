//! The code `pq`: product quantisation (Jégou, Douze and Schmid, 2011), a byte for each group of coordinates.

use super::columns::{least, squared_distances};
use super::{Fields, PADDING, Reach};
use half::f16;
use leastwise_base::random::SplitMix64;
use leastwise_base::task::Pace;
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_cpu::threads;

/// Words of a codebook.
pub const WORDS: usize = 256;

/// Rows that codebooks are trained on.
const SAMPLE: usize = 8192;

const ITERATIONS: usize = 10;

/// Model of the code `pq`: a codebook of [`WORDS`] words for each group of coordinates.
pub struct Product {
    /// Groups of about equal width.
    pub groups: usize,
    dim: usize,
    /// The words of group after group: for each of its coordinates 256 values.
    pub books: Vec<f16>,
    values: Vec<f32>,
}

fn span(dim: usize, groups: usize, group: usize) -> std::ops::Range<usize> {
    group * dim / groups..(group + 1) * dim / groups
}

impl Product {
    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        2 * self.books.capacity() + 4 * self.values.capacity()
    }

    /// # Panics
    /// When there are not [`WORDS`] words a coordinate.
    pub fn new(dim: usize, groups: usize, books: Vec<f16>) -> Self {
        assert_eq!(books.len(), dim * WORDS, "words of product quantisation");
        let values = books.iter().map(|value| value.to_f32()).collect();
        Self { groups, dim, books, values }
    }

    /// Codebooks of a sample (row-major, `dim` values a row), by Lloyd's iteration from a random choice of its rows.
    pub async fn train(sample: &[f32], dim: usize, groups: usize, seed: u64, pace: &Pace) -> Self {
        let stride = (sample.len() / dim).div_ceil(SAMPLE).max(1);
        let rows: Vec<&[f32]> = sample.chunks_exact(dim).step_by(stride).collect();
        let mut books = Vec::with_capacity(dim * WORDS);
        let together = threads::count();
        for first in (0..groups).step_by(together) {
            let mut training: Vec<Training> = (first..groups.min(first + together))
                .map(|group| {
                    let span = span(dim, groups, group);
                    let points = rows.iter().flat_map(|row| &row[span.clone()]).copied().collect();
                    Training::new(points, span.len(), seed ^ group as u64)
                })
                .collect();
            for iteration in 0..ITERATIONS {
                pace.rest(first * ITERATIONS + iteration, groups * ITERATIONS).await;
                let numbers = training.iter().map(|training| training.points.len()).sum::<usize>();
                threads::each(training.iter_mut().collect(), numbers * WORDS, |training| Instructions::best().run(Iterate { training }));
            }
            books.extend(training.into_iter().flat_map(|training| training.book).map(f16::from_f32));
        }
        Self::new(dim, groups, books)
    }

    pub(super) fn fields(&self) -> Fields {
        let of_group = |group: usize| {
            let words = WORDS as u32;
            span(self.dim, self.groups, group).map(move |coordinate| [8 * group as u32, words - 1, coordinate as u32 * words])
        };
        Fields {
            places: (0..self.groups).flat_map(of_group).collect(),
            spreads: vec![1.0; self.dim],
            lows: vec![0.0; self.dim],
            levels: self.values.clone(),
            is_scaled: false,
        }
    }

    /// Bytes of a row: one a group.
    pub(crate) fn row_bytes(&self) -> usize {
        self.groups
    }

    /// From the least value of all words to the largest.
    pub(super) fn reach(&self) -> Reach {
        let of_words = |start: f32, better: fn(f32, f32) -> f32| {
            self.values.chunks_exact(WORDS).map(|words| words.iter().copied().fold(start, better)).collect()
        };
        Reach::new(of_words(f32::INFINITY, f32::min), of_words(f32::NEG_INFINITY, f32::max))
    }

    /// Number of the nearest word of every group; `row` has [`row_bytes`](Self::row_bytes) bytes.
    #[inline(always)]
    pub fn encode(&self, residual: &[f32], row: &mut [u8]) {
        for (group, code) in row.iter_mut().enumerate() {
            let span = span(self.dim, self.groups, group);
            *code = nearest_word(&residual[span.clone()], &self.values[span.start * WORDS..span.end * WORDS]) as u8;
        }
    }

    /// Words of padded rows, by coordinates.
    #[inline(always)]
    pub fn decode(&self, rows: &[u8], columns: &mut [f32]) {
        let count = columns.len() / self.dim;
        for group in 0..self.groups {
            for coordinate in span(self.dim, self.groups, group) {
                let words = &self.values[coordinate * WORDS..][..WORDS];
                for (out, row) in columns[coordinate * count..][..count].iter_mut().zip(rows.chunks_exact(self.groups + PADDING)) {
                    *out = words[usize::from(row[group])];
                }
            }
        }
    }
}

/// The nearest word; of equally near ones the first.
#[inline(always)]
fn nearest_word(values: &[f32], book: &[f32]) -> usize {
    let mut distances = [0.0_f32; WORDS];
    squared_distances(values, book, &mut distances);
    least(&distances)
}

/// A codebook on its way: Lloyd's iteration from a random choice of rows.
struct Training {
    points: Vec<f32>,
    coordinates: usize,
    book: Vec<f32>,
}

impl Training {
    fn new(points: Vec<f32>, coordinates: usize, seed: u64) -> Self {
        let mut book = vec![0.0; coordinates * WORDS];
        let rows = points.len() / coordinates;
        let mut order: Vec<usize> = (0..rows).collect();
        let mut random = SplitMix64(seed);
        for word in 0..if rows > 0 { WORDS } else { 0 } {
            let place = word % rows;
            let other = place + (random.next_u64() % (rows - place) as u64) as usize;
            order.swap(place, other);
            for (coordinate, words) in book.chunks_exact_mut(WORDS).enumerate() {
                words[word] = points[order[place] * coordinates + coordinate];
            }
        }
        Self { points, coordinates, book }
    }
}

/// One iteration.
struct Iterate<'a> {
    training: &'a mut Training,
}

impl SimdKernel for Iterate<'_> {
    #[inline(always)]
    fn run(self) {
        let Training { points, coordinates, book } = self.training;
        let mut sums = vec![0.0_f64; book.len()];
        let mut counts = [0_u32; WORDS];
        for point in points.chunks_exact(*coordinates) {
            let word = nearest_word(point, book);
            counts[word] += 1;
            for (coordinate, value) in point.iter().enumerate() {
                sums[coordinate * WORDS + word] += f64::from(*value);
            }
        }
        for (place, value) in book.iter_mut().enumerate() {
            let count = counts[place % WORDS];
            if count > 0 {
                *value = (sums[place] / f64::from(count)) as f32;
            }
        }
    }
}
