//! Kernels of tensors: a program of scalars between views that are read, perhaps a sum or a product of matrices, and
//! tensors that are written.
//!
//! A *stage* runs its program for every element of a domain; a [`ViewCode`] says how the element's coordinates become an
//! address. Sizes and strides are words of the layout table (binding `index`), so tensors of any size share a kernel:
//! what is in the kernel's text is only which strides are 0 and 1, and which axes are masked.

use super::Program;
use super::words::WordProgram;
use crate::{Access, binding};

/// Slots that tensors may be bound to: all but the constants' and the layout table's.
pub const TENSOR_SLOTS: [usize; 6] =
    [binding::ARENA, binding::VECTOR_IN, binding::JACOBIAN, binding::STATE, binding::VECTOR_OUT, binding::PARTIALS];

/// What is read at an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// An element of what is bound there.
    Slot(usize),
    /// The same, where halves are, two in a word.
    Half(usize),
    /// The same, where int32s are, a word each.
    Word(usize),
    /// The address itself: a tensor that counts.
    Address,
    /// 1: a tensor of ones, of which masks make paddings.
    One,
}

/// How far an address moves along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stride {
    /// No way: every coordinate has the same element.
    Zero,
    /// One element a coordinate.
    One,
    /// As a word of the layout table says.
    Word,
}

/// What a view is in a kernel's text.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ViewCode {
    /// Operand that is read.
    pub source: Source,
    /// Stride of each axis of the domain.
    pub strides: Vec<Stride>,
    /// Axes along which there is 0 outside of a range, two words each: where it begins, and its length.
    pub masked: Vec<bool>,
    /// Whether addresses begin elsewhere than at 0.
    pub offset: bool,
    /// An earlier view of the stage whose value is the number of a row, of so many (a word), so far apart (a word).
    pub row: Option<u32>,
}

/// A program over a domain. [`Load::Given(k)`](super::Load::Given) is the k-th view's element, the number after the last
/// view's what the anchor made; [`Store::Column(k)`](super::Store::Column) is stored to the k-th output.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Stage {
    /// Axes of the domain.
    pub rank: u32,
    /// Views of operands.
    pub views: Vec<ViewCode>,
    /// Elementwise program.
    pub program: Program,
    /// The slots of what is written, element i of the domain to element i.
    pub outputs: Vec<usize>,
}

/// How values along an axis become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Fold {
    /// Σ of the values; 0 of none.
    Sum,
    /// Largest value; NaN if one is.
    Max,
    /// Smallest value; NaN if one is.
    Min,
}

/// Division of a fold: a lane an element of the result, a workgroup an element, or a workgroup a strip of elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Folding {
    /// A lane folds all values of an element.
    Lane,
    /// The lanes of a workgroup fold the values of an element together, along a tree.
    Group,
    /// A workgroup folds a strip of [`STRIP`] neighbouring elements, whose values lie side by side: as many lanes read next to each
    /// other, and rows of lanes share an element's values. On a GPU; a lane an element on the CPU.
    Strip,
}

/// Elements of a strip: the lanes that read one line of memory.
pub const STRIP: u32 = 32;

/// Scope of a phase of [rows](Rows).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    /// Values of every element of a row.
    Elements,
    /// Values that a row has one of.
    Rows,
    /// Fold of one value of every element of a row.
    Fold(Fold),
}

/// Programs of a kernel of rows run one after the other. What their stores make is numbered through, and the value made with
/// number k is [`Load::Given`](super::Load::Given)`(MADE + k)` in later ones; smaller numbers are views' elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Phase {
    /// Elements or rows.
    pub scope: Scope,
    /// Program whose stores are made.
    pub program: Program,
}

/// Number of the first value that phases make.
pub const MADE: u32 = 1 << 16;

/// Folds along the last axes, and what is computed of the same rows element by element. Lanes keep their elements of a row in
/// registers meanwhile. On GPUs alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rows {
    /// Views over the domain, and the slots of what is written; its program is empty.
    pub stage: Stage,
    /// Axes of a row: the last ones of the domain.
    pub inner: u32,
    /// Phases in their order.
    pub phases: Vec<Phase>,
    /// Number of the made value that each slot is given.
    pub stored: Vec<u32>,
    /// Lanes of a row: a power of two.
    pub lanes: u32,
    /// Elements of a lane at most.
    pub each: u32,
    /// The first ones of them that every lane has: these are never looked for behind the row's end.
    pub whole: u32,
}

/// A factor of a product: which slot it is in, and the axes of its three groups (batch, rows, columns), of which
/// sizes stand in the table once for both factors.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FactorCode {
    /// Slot of the operand.
    pub slot: usize,
    /// Whether halves are there, two in a word.
    pub half: bool,
    /// Strides of the axes of the batch.
    pub batch: Vec<Stride>,
    /// Strides of the axes of rows.
    pub rows: Vec<Stride>,
    /// Strides of the axes of columns.
    pub columns: Vec<Stride>,
    /// True if it does not begin at element 0.
    pub offset: bool,
}

/// What comes before the last stage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Anchor {
    /// Nothing: the elements of the domain stand for themselves, so many to a lane of a GPU.
    None {
        /// Elements of a lane.
        each: u32,
    },
    /// The prologue's value over the last `inner` axes of its domain.
    Reduce {
        /// Operation that folds.
        fold: Fold,
        /// Lanes that fold an element.
        folding: Folding,
        /// Stage that computes the values to be folded.
        prologue: Stage,
        /// Axes that are folded: the last ones of the prologue's domain.
        inner: u32,
    },
    /// A product of matrices.
    Product(Product),
    /// A program of whole numbers, whose result is all that is stored: the last stage has no more than its slot.
    Words(WordKernel),
    /// Folds of rows, and values of their elements; the last stage is empty.
    Rows(Rows),
}

/// Whole numbers of views, perhaps folded over the last axes of the domain. Of views of reals they are the whole parts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WordKernel {
    /// Views over a domain; its program is empty.
    pub stage: Stage,
    /// Program over the views' elements.
    pub program: WordProgram,
    /// Operation that folds what it gives: in any order, since sums wrap.
    pub fold: Option<Fold>,
    /// Axes that are folded: the last ones of the domain.
    pub inner: u32,
    /// True if the result is stored as reals, else as words.
    pub to_reals: bool,
}

/// Σ_k left(b, m, k)·right(b, k, n); axes of k are the left factor's columns and the right one's rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Product {
    /// Left factor.
    pub left: FactorCode,
    /// Right factor.
    pub right: FactorCode,
    /// Fours of rows and of columns that a lane has on a GPU: 1 or 2.
    pub fours: [u32; 2],
    /// Lanes of a workgroup there: a power of two.
    pub lanes: u32,
}

impl Product {
    /// The rows and columns that lanes stand in.
    pub fn lanes(&self) -> (u32, u32) {
        let columns = 1 << (self.lanes.trailing_zeros() / 2);
        (self.lanes / columns, columns)
    }
}

/// A kernel of tensors. Its name is for messages: equal kernels may have different ones.
#[derive(Clone, Debug)]
pub struct Fused {
    /// Name for labels and messages.
    pub name: String,
    /// Operation that the kernel is about.
    pub anchor: Anchor,
    /// Elementwise stage after it.
    pub finish: Stage,
    /// Whether the one result is kept as halves: then an item is two elements, whose halves are a word, so that no two lanes write
    /// one. Only without an anchor.
    pub halves: bool,
}

impl Fused {
    fn named_by_nothing(&self) -> (&Anchor, &Stage, bool) {
        (&self.anchor, &self.finish, self.halves)
    }
}

impl PartialEq for Fused {
    fn eq(&self, other: &Self) -> bool {
        self.named_by_nothing() == other.named_by_nothing()
    }
}

impl Eq for Fused {}

impl std::hash::Hash for Fused {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.named_by_nothing().hash(state);
    }
}

/// Words of the layout table before anything else: without an anchor, how many elements; of a reduction and of whole numbers, how many
/// results and how many elements each; of rows, how many and how many elements each; of a product, m, n, k, and tiles along m and n; of
/// halves, how many there are.
pub const HEAD: u32 = 5;

/// Where a view's words are in the layout table.
#[derive(Clone, Debug, Default)]
pub struct ViewWords {
    /// Word of the offset; none where it is 0.
    pub offset: Option<u32>,
    /// Word of each stride; none where it is a constant.
    pub strides: Vec<Option<u32>>,
    /// First word of each mask.
    pub masks: Vec<Option<u32>>,
    /// Word of the row.
    pub row: Option<u32>,
}

/// Where a stage's words are: the sizes of its axes from `sizes` on.
#[derive(Clone, Debug, Default)]
pub struct StageWords {
    /// First word of the axes' sizes.
    pub sizes: u32,
    /// Words of each view.
    pub views: Vec<ViewWords>,
}

/// Where a factor's words are.
#[derive(Clone, Debug, Default)]
pub struct FactorWords {
    /// Word of the offset; none where it is 0.
    pub offset: Option<u32>,
    /// Words of the strides of the batch.
    pub batch: Vec<Option<u32>>,
    /// Words of the strides of rows.
    pub rows: Vec<Option<u32>>,
    /// Words of the strides of columns.
    pub columns: Vec<Option<u32>>,
}

/// The layout of the layout table.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Words of the stage before the operation.
    pub prologue: StageWords,
    /// Of a product: where the sizes of the axes of batch, rows, depth and columns begin.
    pub groups: [u32; 4],
    /// Words of the left factor.
    pub left: FactorWords,
    /// Words of the right factor.
    pub right: FactorWords,
    /// Words of the stage after the operation.
    pub finish: StageWords,
    /// Number of words.
    pub len: u32,
}

struct Counter(u32);

impl Counter {
    fn take(&mut self, count: u32) -> u32 {
        self.0 += count;
        self.0 - count
    }

    fn when(&mut self, wanted: bool, count: u32) -> Option<u32> {
        wanted.then(|| self.take(count))
    }

    fn strides(&mut self, strides: &[Stride]) -> Vec<Option<u32>> {
        strides.iter().map(|stride| self.when(*stride == Stride::Word, 1)).collect()
    }

    fn stage(&mut self, stage: &Stage) -> StageWords {
        let sizes = self.take(stage.rank);
        let view = |view: &ViewCode| ViewWords {
            offset: self.when(view.offset, 1),
            strides: self.strides(&view.strides),
            masks: view.masked.iter().map(|masked| self.when(*masked, 2)).collect(),
            row: self.when(view.row.is_some(), 2),
        };
        StageWords { sizes, views: stage.views.iter().map(view).collect() }
    }

    fn factor(&mut self, factor: &FactorCode) -> FactorWords {
        FactorWords {
            offset: self.when(factor.offset, 1),
            batch: self.strides(&factor.batch),
            rows: self.strides(&factor.rows),
            columns: self.strides(&factor.columns),
        }
    }
}

impl Fused {
    /// Places of sizes, strides and offsets in the words that a dispatch brings along.
    pub fn words(&self) -> Words {
        let mut words = Words::default();
        let mut counter = Counter(HEAD);
        match &self.anchor {
            Anchor::None { .. } => {}
            Anchor::Words(WordKernel { stage, .. }) | Anchor::Rows(Rows { stage, .. }) => words.prologue = counter.stage(stage),
            Anchor::Reduce { prologue, .. } => words.prologue = counter.stage(prologue),
            Anchor::Product(Product { left, right, .. }) => {
                let ranks = [left.batch.len(), left.rows.len(), left.columns.len(), right.columns.len()];
                words.groups = ranks.map(|rank| counter.take(rank as u32));
                words.left = counter.factor(left);
                words.right = counter.factor(right);
            }
        }
        words.finish = counter.stage(&self.finish);
        words.len = counter.0;
        words
    }

    /// All stages, in the order in which they run.
    pub fn stages(&self) -> impl Iterator<Item = &Stage> {
        let prologue = match &self.anchor {
            Anchor::Reduce { prologue: stage, .. } | Anchor::Words(WordKernel { stage, .. }) | Anchor::Rows(Rows { stage, .. }) => {
                Some(stage)
            }
            Anchor::None { .. } | Anchor::Product(_) => None,
        };
        prologue.into_iter().chain([&self.finish])
    }

    /// Which slots are used, and how.
    pub fn access(&self) -> [Access; binding::COUNT] {
        let mut access = [Access::Unused; binding::COUNT];
        access[binding::INDEX] = Access::Read;
        for stage in self.stages() {
            if stage.program.access()[binding::DATA] == Access::Read {
                access[binding::DATA] = Access::Read;
            }
            for view in &stage.views {
                if let Source::Slot(slot) | Source::Half(slot) | Source::Word(slot) = view.source {
                    access[slot] = Access::Read;
                }
            }
            stage.outputs.iter().for_each(|&slot| access[slot] = Access::ReadWrite);
        }
        match &self.anchor {
            Anchor::Product(Product { left, right, .. }) => [left, right].into_iter().for_each(|factor| access[factor.slot] = Access::Read),
            Anchor::Rows(Rows { phases, .. }) if phases.iter().any(|phase| phase.program.access()[binding::DATA] == Access::Read) => {
                access[binding::DATA] = Access::Read;
            }
            _ => {}
        }
        access
    }

    /// True for slots of words: halves, or int32s.
    pub fn has_words(&self, slot: usize) -> bool {
        let is_read = |stage: &Stage| stage.views.iter().any(|view| [Source::Half(slot), Source::Word(slot)].contains(&view.source));
        let is_factor = |product: &Product| [&product.left, &product.right].into_iter().any(|factor| factor.half && factor.slot == slot);
        let makes_words = self.halves || matches!(self.anchor, Anchor::Words(WordKernel { to_reals: false, .. }));
        makes_words && self.finish.outputs.contains(&slot)
            || self.stages().any(is_read)
            || matches!(&self.anchor, Anchor::Product(product) if is_factor(product))
    }
}
