//! Products of matrices by a library that a device comes with, where it has one ([`Device::multiplies`](super::Device::multiplies)).

use super::Slice;

/// Where the entries of a factor lie: (i, j) of batch b at offset + b·batch + i·rows + j·columns.
///
/// One of `rows` and `columns` is 1, and the other at least as far as the entries beside each other reach.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Strided {
    /// Place of the first entry.
    pub offset: u32,
    /// Distance between matrices of a batch.
    pub batch: u32,
    /// Distance between rows.
    pub rows: u32,
    /// Distance between columns.
    pub columns: u32,
}

/// What becomes of an entry of a product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum After {
    /// It stays as it is.
    Nothing,
    /// + bias(j)
    Bias,
    /// ½x(1 + tanh(√(2/π)(x + 0.044715x³)))
    Gelu,
    /// The bias first, then the function.
    BiasGelu,
}

/// out(b, i, j) = after(Σ_k left(b, i, k)·right(b, k, j)), where `out` has its rows one after the other; no size is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Form {
    /// Products.
    pub batch: u32,
    /// Rows of the left factor.
    pub rows: u32,
    /// Columns of the left factor, rows of the right one.
    pub depth: u32,
    /// Columns of the right factor.
    pub columns: u32,
    /// Where entries of the left factor lie.
    pub left: Strided,
    /// Where entries of the right factor lie.
    pub right: Strided,
    /// What becomes of an entry.
    pub after: After,
    /// Whether factors may be rounded to 10 bits (TF32), which tensor cores multiply several times as fast.
    pub coarse: bool,
}

/// A product and what it is of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Multiply {
    /// Sizes and places.
    pub form: Form,
    /// The left factor.
    pub left: Slice,
    /// The right factor.
    pub right: Slice,
    /// The product.
    pub out: Slice,
    /// A number a column, where the form has a bias.
    pub bias: Option<Slice>,
}

impl Multiply {
    /// All that it reads and writes.
    pub fn slices(&self) -> impl Iterator<Item = &Slice> {
        [&self.left, &self.right, &self.out].into_iter().chain(&self.bias)
    }
}

impl Strided {
    /// One more than the last entry's place, of so many batches, rows and columns.
    pub fn reach(&self, batch: u32, rows: u32, columns: u32) -> u64 {
        let last = |count: u32, stride: u32| u64::from(count.saturating_sub(1)) * u64::from(stride);
        u64::from(self.offset) + last(batch, self.batch) + last(rows, self.rows) + last(columns, self.columns) + 1
    }
}
