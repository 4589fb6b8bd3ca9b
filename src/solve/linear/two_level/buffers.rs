//! The buffers of the levels: their matrices, and what a cycle takes.

use super::hierarchy::{self, Rows};
use super::lists::{Making, Words};
use super::space::Space;
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::Slice;
use leastwise_error::Error;

/// A matrix, the inverses of its diagonal blocks, and the vectors of its nodes: right-hand side and solution.
pub(super) struct Matrix {
    pub(super) nodes: u32,
    pub(super) values: Slice,
    pub(super) inverse: Slice,
    pub(super) right: Slice,
    pub(super) solution: Slice,
    /// Rows of the inverse alone.
    pub(super) own: List,
    pub(super) lists: Slice,
}

impl Matrix {
    pub(super) fn new(making: &mut Making, space: &Space, nodes: u32, blocks: u32, own: List, lists: Slice) -> Result<Self, Error> {
        let (size, area) = (space.motions, space.motions * space.motions);
        Ok(Self {
            nodes,
            values: making.reals(blocks * area, "patches' matrix")?,
            inverse: making.reals(nodes * area, "inverses of patches")?,
            right: making.reals(nodes * size, "residual of patches")?,
            solution: making.reals(nodes * size, "motions of patches")?,
            own,
            lists,
        })
    }
}

/// Where a list's row starts and entries begin.
#[derive(Clone, Copy, Default)]
pub(super) struct List {
    pub(super) starts: u32,
    pub(super) entries: u32,
    pub(super) rows: u32,
    /// Number of entries.
    pub(super) count: u32,
    pub(super) bases: u32,
}

/// A level with another one above it.
pub(super) struct LevelBuffers {
    pub(super) matrix: Matrix,
    pub(super) parents: u32,
    pub(super) centers: Slice,
    /// Points of the nodes that a node above is made of: starts, and elements of the centres.
    pub(super) children: List,
    pub(super) frames: Slice,
    pub(super) moved: Slice,
    pub(super) smoothed: Slice,
    pub(super) image: Slice,
    pub(super) relaxed: Slice,
    pub(super) scaled: Slice,
    pub(super) twice: Slice,
    pub(super) radius: Slice,
    pub(super) vectors: [Slice; 4],
    pub(super) lists: LevelLists,
    pub(super) full: Option<FullBuffers>,
}

/// The cycle of a level as a matrix: its lists, C′Gᵀ and C.
pub(super) struct FullBuffers {
    pub(super) lists: FullLists,
    pub(super) through: Slice,
    pub(super) cycle: Slice,
}

#[derive(Clone, Copy)]
pub(super) struct FullLists {
    pub(super) through: List,
    pub(super) sums: List,
    pub(super) whole: List,
}

/// The words of a level, before it has buffers.
pub(super) struct LevelWords {
    nodes: u32,
    blocks: u32,
    words: Words,
    parents: u32,
    own: List,
    children: List,
    lists: LevelLists,
    full: Option<FullLists>,
}

impl LevelWords {
    pub(super) async fn new(space: &Space, level: &hierarchy::Level, above: u32, pace: &Pace) -> Result<Self, Stopped> {
        let mut words = Words::default();
        let parents = words.push(level.parents.iter().copied());
        let own = words.list(&diagonal(level.nodes));
        let [starts, entries] = words.by_owner(above, &level.parents, space.coordinates, pace).await?;
        let children = List { starts, entries, rows: above, count: level.nodes, bases: 0 };
        let whole = words.list(&level.whole);
        // Blocks of D⁻¹A are numbered by rows.
        let columns = level.whole.entries.iter().zip(0..).flat_map(|(&[_, column], number)| [number, column]);
        let scaled_rows = List { entries: words.push(columns), ..whole };
        let mut lists = Vec::new();
        for rows in [&level.moved, &level.image, &level.above, &level.scaled, &level.down, &level.up] {
            pace.spend(4 * rows.entries.len()).await?;
            lists.push(words.list(rows));
        }
        let mut products = Vec::new();
        for product in [&level.smoothed, &level.relaxed, &level.twice] {
            pace.spend(4 * product.rows.entries.len()).await?;
            products.push(words.product(product));
        }
        let lists = LevelLists {
            whole,
            scaled_rows,
            moved: lists[0],
            image: lists[1],
            above: lists[2],
            scaled: lists[3],
            down: lists[4],
            up: lists[5],
            smoothed: products[0],
            relaxed: products[1],
            twice: products[2],
        };
        let mut full = None;
        if let Some(cycle) = &level.full {
            pace.spend(4 * (cycle.through.entries.len() + cycle.sums.rows.entries.len() + cycle.whole.entries.len())).await?;
            let [through, whole] = [words.list(&cycle.through), words.list(&cycle.whole)];
            full = Some(FullLists { through, sums: words.product(&cycle.sums), whole });
        }
        Ok(Self { nodes: level.nodes, blocks: level.blocks, words, parents, own, children, lists, full })
    }
}

impl LevelBuffers {
    pub(super) fn new(making: &mut Making, space: &Space, level: LevelWords) -> Result<Self, Error> {
        let LevelWords { nodes, blocks: all, words, parents, own, children, lists, full } = level;
        let (size, area, above) = (space.motions, space.motions * space.motions, children.rows);
        let words = making.words(words, "lists of a level")?;
        let mut blocks = |list: List, label: &str| making.reals(list.rows * area, label);
        let [moved, smoothed] = [blocks(lists.moved, "AT")?, blocks(lists.smoothed, "P")?];
        let [image, relaxed] = [blocks(lists.image, "AP")?, blocks(lists.relaxed, "G")?];
        let [scaled, twice] = [blocks(lists.scaled, "D⁻¹A")?, blocks(lists.twice, "smoother")?];
        let full = match full {
            Some(lists) => {
                let (through, cycle) = (blocks(lists.through, "C′Gᵀ")?, blocks(lists.sums, "cycle")?);
                Some(FullBuffers { lists, through, cycle })
            }
            None => None,
        };
        let mut vector = || making.reals(nodes * size, "power method");
        let vectors = [vector()?, vector()?, vector()?, vector()?];
        Ok(Self {
            matrix: Matrix::new(making, space, nodes, all, own, words)?,
            parents,
            centers: making.reals(above * space.coordinates, "centres")?,
            children,
            frames: making.reals(nodes * area, "T")?,
            radius: making.reals(1, "spectral radius")?,
            moved,
            smoothed,
            image,
            relaxed,
            scaled,
            twice,
            vectors,
            lists,
            full,
        })
    }
}

pub(super) struct LevelLists {
    pub(super) whole: List,
    pub(super) moved: List,
    pub(super) smoothed: List,
    pub(super) image: List,
    pub(super) relaxed: List,
    pub(super) above: List,
    pub(super) scaled: List,
    pub(super) scaled_rows: List,
    pub(super) twice: List,
    pub(super) down: List,
    pub(super) up: List,
}

/// Rows of a block diagonal matrix.
pub(super) fn diagonal(nodes: u32) -> Rows {
    Rows { starts: (0..=nodes).collect(), entries: (0..nodes).map(|node| [node, node]).collect() }
}
