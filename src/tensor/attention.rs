//! Launches of the kernels behind attention, windows and gathering: which one, over how many items, with which words.
//!
//! Attention is O = softmax(Q·Kᵀ)·V, batch by batch (a head is a batch): Q is `[batches, queries, depth]`, scaled by 1/√depth already,
//! K is `[batches, keys, depth]`, V and O have `width` entries a row; all rows lie one after the other. Beside O the forward kernel
//! leaves L = ln Σ_j e^(q·k_j), a number for every query, of which the backward kernels make the weights anew.
//! Neither ever stores a matrix of queries and keys (Dao, Fu, Ermon, Rudra & Ré 2022: *FlashAttention*; the softmax that is made on
//! the way is Milakov & Gimelshein's, 2018).
//!
//! | kernel | queries | keys | values | slopes | statistics | results |
//! |---|---|---|---|---|---|---|
//! | [`Attention::forward`] | Q | K | V | | | O, L |
//! | [`Attention::of_queries`] | Q | K | V | dO | L, then D | dQ |
//! | [`Attention::of_keys`] | Q | K | V | dO | L, then D | dK, dV |
//!
//! D is Σ_c dO_c·O_c, a number for every query. How long rows are is not limited: a workgroup makes 64 entries of a sum, and where
//! rows are longer, several workgroups make the same weights.

use leastwise_cpu::twins;
use leastwise_device::{Arguments, Limits, PARAM_WORDS};
use leastwise_kernels::{StaticKernel, tensor};

/// A dispatch without its bindings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Kernel of the dispatch.
    pub kernel: StaticKernel,
    /// Items of the dispatch.
    pub count: u32,
    /// Arguments of the kernel.
    pub words: [u32; PARAM_WORDS],
}

impl Launch {
    /// `None` where a device with these limits can't have so many items in a dispatch.
    pub(crate) fn new<K: Arguments>(args: K, items: u64, limits: &Limits) -> Option<Self> {
        let count = u32::try_from(items).ok().filter(|_| items <= limits.max_items())?;
        Some(Self { kernel: K::KERNEL, count, words: args.words() })
    }
}

/// The shape of an attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attention {
    /// Times heads.
    pub batches: u32,
    /// Number of queries of a batch.
    pub queries: u32,
    /// At least one: nothing can be attended to where there is nothing.
    pub keys: u32,
    /// Entries of a query and of a key; at least one.
    pub depth: u32,
    /// Entries of a value; at least one.
    pub width: u32,
    /// Whether query i sees keys 0 … i only (with other numbers of queries and keys, too: PyTorch's `is_causal`).
    pub causal: bool,
}

impl Attention {
    /// O and L. As of all three, `None` without keys or entries, and where the device can't have so many workgroups: then batches
    /// are to be cut.
    pub fn forward(&self, limits: &Limits) -> Option<Launch> {
        let Self { batches, queries, keys, depth, width: value_width, causal } = *self;
        let args = tensor::Attend { queries, keys, width: depth, value_width, causal: causal.into(), batches };
        self.launch(args, queries, value_width, limits)
    }

    /// dQ
    pub fn of_queries(&self, limits: &Limits) -> Option<Launch> {
        let Self { batches, queries, keys, depth, width: value_width, causal } = *self;
        let args = tensor::AttendQueries { queries, keys, width: depth, value_width, causal: causal.into(), batches };
        self.launch(args, queries, depth, limits)
    }

    /// dK and dV
    pub fn of_keys(&self, limits: &Limits) -> Option<Launch> {
        let Self { batches, queries, keys, depth, width: value_width, causal } = *self;
        let args = tensor::AttendKeys { queries, keys, width: depth, value_width, causal: causal.into(), batches };
        self.launch(args, keys, depth.max(value_width), limits)
    }

    /// A workgroup has a tile of rows, and a stretch of the entries of what it sums up.
    fn launch<K: Arguments>(&self, args: K, rows: u32, entries: u32, limits: &Limits) -> Option<Launch> {
        if self.keys == 0 || self.depth == 0 || self.width == 0 {
            return None;
        }
        let tiles = u64::from(rows).div_ceil(twins::tall(limits.group_size) as u64);
        let stretches = u64::from(entries).div_ceil(twins::STRETCH as u64);
        let groups = [tiles, stretches, limits.group_size.into()].into_iter().try_fold(u64::from(self.batches), u64::checked_mul)?;
        Launch::new(args, groups, limits)
    }
}

/// Windows along one axis of an array, all others before or behind it: window w has the elements w·step + k·dilation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Elements of all axes before.
    pub outer: u32,
    /// Length of the axis.
    pub length: u32,
    /// Elements of all axes behind.
    pub inner: u32,
    /// How many windows there are, and elements of each.
    pub count: u32,
    /// Elements of a window.
    pub size: u32,
    /// Both at least 1.
    pub step: u32,
    /// Distance of two neighbouring elements of a window.
    pub dilation: u32,
}

impl Windows {
    /// The adjoint of taking windows: `[outer, count, size, inner]` is added up to `[outer, length, inner]`.
    pub fn fold(&self, limits: &Limits) -> Option<Launch> {
        let items = [self.length, self.inner].into_iter().try_fold(u64::from(self.outer), |all, n| all.checked_mul(n.into()))?;
        let Self { outer, length, inner, count, size, step, dilation } = *self;
        Launch::new(tensor::Fold { outer, windows: count, window: size, inner, length, step, dilation }, items, limits)
    }
}

/// The adjoint of gathering rows of `width` entries: every row of the result is the sum of the rows of `[count, width]` that
/// were gathered from it. The table says which: where each row's members begin, where all end, and the
/// members, each row's in ascending order.
pub fn sum_rows(rows: u32, width: u32, limits: &Limits) -> Option<Launch> {
    Launch::new(tensor::SumRows { rows, width }, u64::from(rows) * u64::from(width), limits)
}
