//! The block-sparse structure of JᵀWJ: which variables meet in an instance, and which instances add to which block.
//!
//! Rows of blocks are the variables of all moving tables, numbered table by table. Of the symmetric matrix the strict
//! lower triangle is kept, in *parts*: the blocks between the variables of two tables, which all have one size. The
//! diagonal blocks lie where those of block-Jacobi do. An instance that names one variable in two slots adds
//! JₐᵀWJ_b + J_bᵀWJ_a to a diagonal block.
//!
//! Rows are sorted by counting, and so are long ones by themselves: the time is linear in instances, pairs of slots and variables, but for
//! the columns of a row, which are sorted by comparison where they do not ascend.

use super::incidence::runs;
use super::table::Site;
use super::touches::{EACH, RUN, Tables, Touches, sort_rows};
use super::{LinkedTable, Links, Table};
use leastwise_base::counting_sort::{Sorted, sort};
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};

/// A table that is solved for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockRows {
    /// Name of the table.
    pub name: String,
    /// The problem's number of the table.
    pub table: u32,
    /// Its first row of blocks, and how many there are.
    pub first: u32,
    /// Number of its rows of blocks: its variables.
    pub count: u32,
    /// Degrees of freedom of a variable.
    pub width: u32,
    /// Its first scalar among all unknowns without gaps; in the device's vectors; among the packed diagonal blocks.
    pub scalar: u32,
    /// Its first element in the device's vectors.
    pub vector: u32,
    /// Its first element among the packed diagonal blocks.
    pub block: u32,
}

impl BlockRows {
    /// A variable's scalars among all unknowns without gaps.
    pub fn scalars_of(&self, variable: u32) -> std::ops::Range<usize> {
        let first = (self.scalar + variable * self.width) as usize;
        first..first + self.width as usize
    }
}

/// The blocks in the rows of one table and the columns of another, or of the same: then below the diagonal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternPart {
    /// Numbers of [`Pattern::tables`], row ≥ column.
    pub row: u32,
    /// Index in [`Pattern::tables`] of the table of columns.
    pub column: u32,
    /// For every variable of the row table, its first block; and one past the last.
    pub starts: Vec<u32>,
    /// For every block, its variable of the column table; ascending within a row.
    pub columns: Vec<u32>,
    /// The first value of its blocks, each of which is stored row by row.
    pub base: u64,
    /// Rows of a block.
    pub rows: u32,
    /// Columns of a block.
    pub width: u32,
}

impl PatternPart {
    /// Number of blocks.
    pub fn blocks(&self) -> u32 {
        self.columns.len() as u32
    }

    /// Scalars of a block.
    pub fn size(&self) -> u32 {
        self.rows * self.width
    }

    /// Values of a row.
    pub fn values_of(&self, variable: u32) -> usize {
        ((self.starts[variable as usize + 1] - self.starts[variable as usize]) * self.size()) as usize
    }

    /// The blocks of a row: their numbers and columns.
    pub fn row(&self, variable: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.starts[variable as usize]..self.starts[variable as usize + 1];
        range.clone().zip(self.columns[range.start as usize..range.end as usize].iter().copied())
    }
}

/// The structure of JᵀWJ.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pattern {
    /// Tables that are solved for.
    pub tables: Vec<BlockRows>,
    /// Off-diagonal blocks, a part for each pair of tables that meet.
    pub parts: Vec<PatternPart>,
    /// Values of all blocks below the diagonal.
    pub values: u64,
    /// All unknowns.
    pub scalars: u32,
    /// Elements of a device's vector, and of its packed diagonal blocks.
    pub vector_len: u32,
    /// Elements of a device's packed diagonal blocks.
    pub blocks_len: u32,
}

/// Where what one chunk stores belongs: an incidence list whose rows are blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockList {
    /// The batch and its chunk.
    pub batch: u32,
    /// The batch's number of the chunk.
    pub chunk: u32,
    /// Blocks that the entries add to.
    pub target: Target,
    /// Blocks that the chunk adds to, ascending: their numbers in the part, or variables of the table.
    pub ids: Vec<u32>,
    /// Where their entries begin; and one past the last.
    pub starts: Vec<u32>,
    /// `instance << bits | 2 · pair | turned`, instances counted within the chunk.
    pub entries: Vec<u32>,
}

/// Blocks of one kind that entries of a chunk add to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// A number of [`Pattern::parts`].
    Part(u32),
    /// The diagonal blocks of a number of [`Pattern::tables`], where an instance names a variable twice.
    Diagonal(u32),
}

/// A batch as the structure sees it: the pairs of its slots, and the index columns that lead to either.
pub struct PatternBatch<'a> {
    /// The problem's number of the batch.
    pub batch: u32,
    /// For every slot that moves, its number in the pattern of the table, and which variable each instance names.
    pub slots: Vec<Option<(u32, &'a [u32])>>,
    /// The slots of every pair.
    pub pairs: Vec<(u32, u32)>,
    /// First instance and count of every chunk.
    pub chunks: Vec<(u32, u32)>,
}

impl PatternBatch<'_> {
    /// Tables and variables of the pairs' slots, with the pairs' numbers.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u32, [(u32, &[u32]); 2])> {
        let slot = |number: u32| self.slots[number as usize];
        (0..).zip(&self.pairs).filter_map(move |(number, &(a, b))| Some((number, [slot(a)?, slot(b)?])))
    }
}

/// Bits that number the entries of an instance in a [`BlockList`]: every pair, either way.
pub fn pair_bits(pairs: usize) -> u32 {
    super::incidence::slot_bits(2 * pairs)
}

impl Pattern {
    /// The tables of a problem, without any block yet.
    pub fn of_tables(tables: &[Table]) -> Self {
        Self::of((0..).zip(tables).filter(|(_, table)| table.moving).map(|(number, table)| (number, &table.name[..], table.site())))
    }

    /// The same of its links.
    pub fn of_links(links: &Links) -> Self {
        Self::of(links.moving().map(|(number, LinkedTable { name, site, .. })| (number, &name[..], *site)))
    }

    fn of<'a>(tables: impl Iterator<Item = (u32, &'a str, Site)>) -> Self {
        let mut pattern = Self::default();
        for (number, name, site) in tables {
            pattern.push(name, number, site.count, site.tangent);
            let last = pattern.tables.last_mut().expect("just pushed");
            (last.vector, last.block) = (site.vector, site.block);
            pattern.vector_len = site.vector + site.unknowns();
            pattern.blocks_len = site.block + site.count * site.packed();
        }
        pattern
    }

    /// One more table, without gaps after those before.
    pub fn push(&mut self, name: &str, table: u32, count: u32, width: u32) {
        self.tables.push(BlockRows {
            name: name.into(),
            table,
            first: self.variables(),
            count,
            width,
            scalar: self.scalars,
            vector: self.vector_len,
            block: self.blocks_len,
        });
        self.scalars += count * width;
        self.vector_len += count * width;
        self.blocks_len += count * (width * (width + 1) / 2);
    }

    /// A device's vector without its gaps.
    pub fn compact(&self, vector: &[f64]) -> Vec<f64> {
        let part = |table: &BlockRows| {
            let len = (table.count * table.width) as usize;
            &vector[table.vector as usize..][..len]
        };
        self.tables.iter().flat_map(part).copied().collect()
    }

    /// The same vector as a device has it.
    pub fn spread(&self, scalars: &[f64]) -> Vec<f64> {
        let mut vector = vec![0.0; self.vector_len as usize];
        for table in &self.tables {
            let len = (table.count * table.width) as usize;
            vector[table.vector as usize..][..len].copy_from_slice(&scalars[table.scalar as usize..][..len]);
        }
        vector
    }

    /// Rows of blocks.
    pub fn variables(&self) -> u32 {
        self.tables.last().map_or(0, |last| last.first + last.count)
    }

    /// The number (in `tables`) of the table that a row of blocks belongs to.
    pub fn table_of(&self, row: u32) -> usize {
        self.tables.partition_point(|table| table.first + table.count <= row)
    }

    /// Adds the blocks of these batches; gives, for every chunk, where its values go.
    pub async fn add(&mut self, batches: &[PatternBatch<'_>], pace: &Pace) -> Result<Vec<BlockList>, Stopped> {
        let chunks: Vec<(u32, u32)> =
            batches.iter().flat_map(|batch| (0..batch.chunks.len() as u32).map(|chunk| (batch.batch, chunk))).collect();
        let mut lists = Vec::new();
        for target in self.targets(batches, pace).await? {
            let [rows, columns] = [target.0, target.1.unwrap_or(target.0)].map(|number| &self.tables[number as usize]);
            let pieces = blocks_of(batches, target, [rows.count, columns.count], chunks.len(), pace).await?;
            let named = match target {
                (_, Some(_)) => Target::Part(self.parts.len() as u32),
                (table, None) => Target::Diagonal(table),
            };
            let mut part = PatternPart {
                row: target.0,
                column: target.1.unwrap_or(target.0),
                starts: Vec::new(),
                columns: Vec::new(),
                base: self.values,
                rows: rows.width,
                width: columns.width,
            };
            let mut of_chunks: Vec<Vec<(ChunkBlocks, u32)>> = chunks.iter().map(|_| Vec::new()).collect();
            let (mut starts, mut all_columns, mut before) = (Vec::new(), Vec::new(), 0);
            for piece in pieces {
                // Diagonal blocks are numbered by their rows.
                let first = if target.1.is_some() { before } else { 0 };
                let of_piece = of_chunks.iter_mut().zip(piece.chunks).filter(|(_, blocks)| !blocks.ids.is_empty());
                of_piece.for_each(|(list, blocks)| list.push((blocks, first)));
                starts.push((piece.starts, before));
                before += piece.columns.len() as u32;
                all_columns.push((piece.columns, 0));
            }
            (part.starts, part.columns) = (parallel::joined(starts), parallel::joined(all_columns));
            for (&(batch, chunk), blocks) in chunks.iter().zip(of_chunks).filter(|(_, blocks)| !blocks.is_empty()) {
                pace.spend(blocks.iter().map(|(of, _)| of.entries.len()).sum()).await?;
                let (mut ids, mut starts, mut entries, mut before) = (Vec::new(), Vec::new(), Vec::new(), 0);
                for (of, first) in blocks {
                    ids.push((of.ids, first));
                    starts.push((of.starts, before));
                    before += of.entries.len() as u32;
                    entries.push((of.entries, 0));
                }
                let [ids, mut starts, entries] = [ids, starts, entries].map(parallel::joined);
                starts.reserve_exact(1);
                starts.push(entries.len() as u32);
                lists.push(BlockList { batch, chunk, target: named, ids, starts, entries });
            }
            if target.1.is_some() {
                self.values += u64::from(part.blocks()) * u64::from(part.size());
                self.parts.push(part);
            }
        }
        Ok(lists)
    }

    /// What there are blocks of: two tables, or (without the second) the diagonal of one.
    async fn targets(&self, batches: &[PatternBatch<'_>], pace: &Pace) -> Result<Vec<Tables>, Stopped> {
        let mut targets: Vec<Tables> = Vec::new();
        for (_, [a, b]) in batches.iter().flat_map(PatternBatch::pairs) {
            targets.push((a.0.max(b.0), Some(a.0.min(b.0))));
            for run in runs(if a.0 == b.0 { a.1.len().min(b.1.len()) } else { 0 }) {
                pace.spend(2 * run.len()).await?;
                if a.1[run.clone()].iter().zip(&b.1[run]).any(|(i, j)| i == j) {
                    targets.push((a.0, None));
                    break;
                }
            }
        }
        targets.sort_unstable();
        targets.dedup();
        Ok(targets)
    }
}

/// Blocks of a range of rows.
struct RowBlocks {
    /// For every row, where its blocks end among these; before the first row of all, 0.
    starts: Vec<u32>,
    columns: Vec<u32>,
    /// For every chunk of all batches, what it adds to.
    chunks: Vec<ChunkBlocks>,
}

/// Blocks of a range of rows that a chunk adds to: their numbers in the range (those of diagonal blocks, of all), where the entries of
/// each begin, and the entries.
#[derive(Clone, Default)]
struct ChunkBlocks {
    ids: Vec<u32>,
    starts: Vec<u32>,
    entries: Vec<u32>,
}

/// The blocks of a target, which has so many rows and columns, in ranges of rows.
async fn blocks_of(
    batches: &[PatternBatch<'_>],
    target: Tables,
    [rows, columns]: [u32; 2],
    chunks: usize,
    pace: &Pace,
) -> Result<Vec<RowBlocks>, Stopped> {
    let sorted = sort(&Touches::new(batches, target), rows, pace).await?;
    let items = sorted.into_iter().map(|of_range| (of_range.keys.clone(), of_range)).collect();
    let made = parallel::ranges(
        items,
        |range, Sorted { ends, items: mut touches, .. }, pace| async move {
            let mut of_chunks = vec![0usize; chunks];
            sort_rows(&mut touches, &ends, columns, &mut of_chunks, &pace).await?;
            let of_chunk = |count: usize| ChunkBlocks {
                ids: Vec::with_capacity(count),
                starts: Vec::with_capacity(count),
                entries: Vec::with_capacity(count),
            };
            let chunks = of_chunks.into_iter().map(of_chunk).collect();
            let mut blocks = RowBlocks { starts: Vec::with_capacity(range.len() + 1), columns: Vec::with_capacity(touches.len()), chunks };
            blocks.starts.extend((range.start == 0).then_some(0));
            let (mut first, mut spent) = (0, 0);
            for (row, end) in range.zip(ends) {
                let mut last = None;
                let of_row = &touches[first as usize..end as usize];
                for run in runs(of_row.len()) {
                    spent += EACH * run.len();
                    if spent >= EACH * RUN as usize {
                        pace.spend(std::mem::take(&mut spent)).await?;
                    }
                    for touch in &of_row[run] {
                        if last != Some(touch.column) {
                            last = Some(touch.column);
                            blocks.columns.push(touch.column);
                        }
                        let id = if target.1.is_some() { blocks.columns.len() as u32 - 1 } else { row };
                        let list = &mut blocks.chunks[touch.chunk as usize];
                        if list.ids.last() != Some(&id) {
                            list.ids.push(id);
                            list.starts.push(list.entries.len() as u32);
                        }
                        list.entries.push(touch.entry);
                    }
                }
                blocks.starts.push(blocks.columns.len() as u32);
                spent += 1;
                first = end;
            }
            // There was room for a block of every touch.
            blocks.columns.shrink_to_fit();
            blocks.chunks.iter_mut().flat_map(|of| [&mut of.ids, &mut of.starts]).for_each(Vec::shrink_to_fit);
            Ok(blocks)
        },
        pace,
    );
    made.await
}
