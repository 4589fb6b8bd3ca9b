//! Kernels of tensors that are written by hand: what they compute of which shapes.

/// Kernels that are written by hand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Special {
    /// Attention of queries [b, n, d], keys [b, m, d] and values [b, m, e]: the result [b, n, e], and for every query the
    /// logarithm of the sum of exponentials.
    Attend {
        /// True if query i attends to keys 0 … i only.
        causal: bool,
    },
    /// Of those three, of the result's gradient and of the statistics [2, b, n]: the gradient of the queries.
    AttendQueries {
        /// True if query i attends to keys 0 … i only.
        causal: bool,
    },
    /// Of the same: the gradients of keys and values.
    AttendKeys {
        /// True if query i attends to keys 0 … i only.
        causal: bool,
    },
    /// The adjoint of windows: [outer, count, size, inner] to [outer, n, inner].
    Fold {
        /// Length of the axis that windows were taken of.
        n: u32,
        /// Distance of two windows' first elements.
        step: u32,
        /// Distance of two neighbouring elements of a window.
        dilation: u32,
    },
    /// The adjoint of gathering rows: [count, width] and the rows' lists to [rows, width].
    SumRows {
        /// Rows of the result.
        rows: u32,
    },
    /// Running sums along the middle axis of [outer, n, inner].
    Scan {
        /// Elements after which they begin anew.
        chunk: u32,
        /// True for sums from the last element of a chunk on.
        reverse: bool,
    },
    /// Recurrences y[k] = x[k] + a[k]·y[k − 1] along the middle axis of x and a [outer, n, inner]; the first y is x.
    Recur {
        /// True for those from the last element on, of y[k + 1].
        reverse: bool,
    },
    /// A pass of a merge sort of rows: keys [rows, n] and the places that they came from, and both again, merged.
    Merge {
        /// Keys of a sorted run.
        width: u32,
    },
    /// A [`Merge`](Self::Merge) of keys that are whole numbers.
    MergeWords {
        /// Keys of a sorted run.
        width: u32,
    },
    /// Running sums or products of whole numbers along the middle axis of [outer, n, inner].
    ScanWords {
        /// Elements after which they begin anew.
        chunk: u32,
        /// True for products.
        products: bool,
    },
    /// Sums by numbers of whole numbers [outer, m, inner], of numbers in sorted lists [outer, lists, m] and of the places these came from.
    ScatterWords {
        /// Length of the result's axis.
        n: u32,
    },
    /// Elements along the middle axis of [outer, n, inner] by numbers [outer, m, inner].
    Take,
    /// The adjoint of taking: of [outer, m, inner], of numbers in sorted lists [outer, lists, m], of the places these came from, and of
    /// the numbers themselves, which gradients need.
    Scatter {
        /// Length of the result's axis.
        n: u32,
        /// True for the last place with a number in place of the sum, −1 where there is none.
        latest: bool,
    },
    /// X of A X = B, of matrices [b, n, n] and [b, n, k]; the second result is working memory.
    Solve,
    /// The lower triangle L of A = L Lᵀ, of matrices [b, n, n].
    Cholesky,
    /// Q and R of matrices [b, m, n] with m ≥ n; the third result is working memory.
    Qr,
    /// Right singular vectors V of matrices A [b, m, n], in no order, and A V, whose columns are orthogonal.
    Singular,
}

impl Special {
    /// True if its result of that number is of whole numbers.
    pub fn gives_words(self, result: u32) -> bool {
        matches!(self, Self::MergeWords { .. } | Self::ScanWords { .. } | Self::ScatterWords { .. }) && result == 0
    }
}
