//! Structure of a Schur complement that is formed on the device: for every block of S, which eliminated variables join its two kept ones.

use leastwise_base::task::{Pace, Stopped};
use leastwise_linear::elimination::{self, Elimination, Neighbour};
use leastwise_linear::schur::{Reduced, Refused};
use leastwise_problem::{Links, Pattern};

/// Pairs of blocks that lists may have: eight bytes each.
const MOST_PAIRS: f64 = (1 << 24) as f64;
/// Pairs that one lane adds up.
const SEGMENT: usize = 64;
/// Marks blocks of E whose rows are those of the kept variable.
const KEPT_ROWS: u32 = 1 << 31;
/// No block.
const NONE: u32 = u32::MAX;

/// Limits of the device.
#[derive(Clone, Copy)]
pub struct Room {
    /// Bytes of a buffer binding, and of a real.
    pub binding: u64,
    /// Bytes of a real.
    pub real: u64,
}

/// A Schur complement to be formed on the device, before it has buffers.
pub struct Plan {
    /// For every table of the problem, whether it is eliminated.
    pub tables: Vec<bool>,
    /// Batches whose instances link kept variables with eliminated ones.
    pub batches: Vec<usize>,
    /// Structure of S.
    pub pattern: Pattern,
    /// First elements of the kept tables in vectors, in the order of the pattern's tables.
    pub kept: Vec<u32>,
    /// Elements of Y.
    pub y: u64,
    /// Elements of the segments' sums.
    pub partials: u64,
    /// Blocks of Y.
    pub solved: Vec<SolvedWords>,
    /// Products that blocks of S take.
    pub products: Vec<ProductWords>,
    /// Factor of S.
    pub solver: Reduced,
}

/// The blocks of Y of an eliminated and a kept table.
pub struct SolvedWords {
    /// The problem's number of the eliminated table.
    pub table: u32,
    /// Unknowns of a kept and of an eliminated variable.
    pub rows: u32,
    /// Unknowns of an eliminated variable.
    pub columns: u32,
    /// Three words a block (`shaders/reduced/solved_blocks.wgsl`).
    pub words: Vec<u32>,
}

/// The products that blocks of S take of an eliminated table: of the diagonal blocks of a kept table, or of a part.
#[derive(Default)]
pub struct ProductWords {
    /// True for diagonal blocks, which are packed.
    pub packed: bool,
    /// True for the second and later eliminated tables.
    pub again: bool,
    pub rows: u32,
    pub columns: u32,
    pub inner: u32,
    /// First element of the blocks of S.
    pub first: u32,
    /// For every block its first segment, one more than there are blocks; and its first element in B.
    segments: Vec<u32>,
    origins: Vec<u32>,
    /// For every segment its first pair, one more than there are segments; and the pairs.
    starts: Vec<u32>,
    pairs: Vec<u32>,
}

/// Places of the parts of a list in its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    pub segments: u32,
    pub origins: u32,
    pub starts: u32,
    pub pairs: u32,
}

impl ProductWords {
    /// Entries of a block.
    pub fn size(&self) -> u32 {
        if self.packed { self.rows * (self.rows + 1) / 2 } else { self.rows * self.columns }
    }

    /// Blocks of S, and segments.
    pub fn counts(&self) -> [u32; 2] {
        [self.origins.len() as u32, self.starts.len() as u32 - 1]
    }

    /// All words, and where they are.
    pub fn words(self) -> (Vec<u32>, Places) {
        let mut words = self.segments;
        let mut put = |more: Vec<u32>| {
            let at = words.len() as u32;
            words.extend(more);
            at
        };
        let (origins, starts, pairs) = (put(self.origins), put(self.starts), put(self.pairs));
        (words, Places { segments: 0, origins, starts, pairs })
    }

    /// One more block, with its pairs.
    fn push(&mut self, origin: u32, pairs: &[u32]) {
        self.origins.push(origin);
        for segment in pairs.chunks(2 * SEGMENT) {
            self.pairs.extend(segment);
            self.starts.push((self.pairs.len() / 2) as u32);
        }
        self.segments.push(self.starts.len() as u32 - 1);
    }
}

/// Why it is formed on the host instead, if it is.
type Instead = String;

impl Plan {
    /// The plan for eliminating these tables of the pattern.
    pub async fn new(links: &Links, pattern: &Pattern, tables: &[u32], room: Room, pace: &Pace) -> Result<Result<Self, Instead>, Stopped> {
        let products = elimination::work(pattern, tables);
        if products > MOST_PAIRS {
            return Ok(Err(format!("{products:.1e} pairs of blocks, more than {MOST_PAIRS:.1e}")));
        }
        let stopped = |refused: Refused| match refused {
            Refused::Stopped => Err(Stopped),
            _ => Ok(Err("what is left is too large".into())),
        };
        let elimination = match Elimination::new(pattern, tables, pace).await {
            Ok(elimination) => elimination,
            Err(refused) => return stopped(refused),
        };
        let solver = match Reduced::new(&elimination.reduced, pace).await {
            Ok(solver) => solver,
            Err(refused) => return stopped(refused),
        };
        let solved = solved(pattern, &elimination, pace).await?;
        let products = Products::new(pattern, &elimination).all(pace).await?;
        let words = products.iter().map(|list| list.pairs.len() + list.starts.len() + list.segments.len() + list.origins.len());
        let words = words.chain(solved.iter().map(|list| list.words.len())).max().unwrap_or(0) as u64;
        let partials = products.iter().map(|list| u64::from(list.counts()[1]) * u64::from(list.size())).max().unwrap_or(0);
        let (y, left) = (elimination.y as u64, elimination.reduced.values as u64);
        let bytes = (4 * words).max(room.real * partials.max(y).max(left));
        if bytes > room.binding {
            return Ok(Err(format!("{bytes} bytes of pairs, sums or S, more than a buffer of this device holds ({})", room.binding)));
        }
        let mut gone = vec![false; links.tables.len()];
        tables.iter().for_each(|&table| gone[pattern.tables[table as usize].table as usize] = true);
        let is_linking = |moving: Vec<(u32, u32, &[u32])>| {
            let any = |is_gone: bool| moving.iter().any(|(_, table, _)| gone[*table as usize] == is_gone);
            any(true) && any(false)
        };
        Ok(Ok(Self {
            batches: links.batches.iter().filter(|batch| is_linking(batch.moving_slots())).map(|batch| batch.number).collect(),
            tables: gone,
            kept: elimination.kept.iter().map(|&table| pattern.tables[table as usize].vector).collect(),
            pattern: elimination.reduced,
            y,
            partials,
            solved,
            products,
            solver,
        }))
    }
}

/// The blocks of Y, of every eliminated table those of every kept one.
async fn solved(pattern: &Pattern, elimination: &Elimination, pace: &Pace) -> Result<Vec<SolvedWords>, Stopped> {
    let mut lists = Vec::new();
    for group in &elimination.groups {
        let mut mine: Vec<SolvedWords> = elimination
            .reduced
            .tables
            .iter()
            .map(|kept| SolvedWords {
                table: pattern.tables[group.table as usize].table,
                rows: kept.width,
                columns: group.width,
                words: Vec::new(),
            })
            .collect();
        for variable in 0..group.count {
            let neighbours = elimination.neighbours_of(group.first + variable);
            for neighbour in neighbours {
                let list = &mut mine[elimination.reduced.table_of(neighbour.variable)];
                list.words.extend([block_of(pattern, neighbour), variable, neighbour.y as u32]);
            }
            pace.spend(8 * neighbours.len() + 1).await?;
        }
        lists.extend(mine.into_iter().filter(|list| !list.words.is_empty()));
    }
    Ok(lists)
}

/// First element of a block of E, and which rows it has.
fn block_of(pattern: &Pattern, neighbour: &Neighbour) -> u32 {
    let part = &pattern.parts[neighbour.part as usize];
    let first = part.base as u32 + neighbour.block * part.size();
    first | if neighbour.turned { KEPT_ROWS } else { 0 }
}

/// Lists of products while they are made, row of S by row.
struct Products<'a> {
    pattern: &'a Pattern,
    elimination: &'a Elimination,
    /// Of every eliminated table: lists of the diagonal blocks of the kept tables, then of the parts of S.
    lists: Vec<Vec<ProductWords>>,
    /// For every kept variable, which of the row's blocks it is in.
    places: Vec<u32>,
    /// Of each of the row's blocks, the diagonal one last, its pairs.
    pairs: Vec<Vec<u32>>,
}

impl<'a> Products<'a> {
    fn new(pattern: &'a Pattern, elimination: &'a Elimination) -> Self {
        let reduced = &elimination.reduced;
        let lists = (0..).zip(&elimination.groups).map(|(number, group)| {
            let list = |packed: bool, rows: u32, columns: u32, first: u32| ProductWords {
                packed,
                again: number > 0,
                rows,
                columns,
                inner: group.width,
                first,
                segments: vec![0],
                starts: vec![0],
                ..ProductWords::default()
            };
            let diagonal = reduced.tables.iter().map(|table| list(true, table.width, table.width, table.block));
            diagonal.chain(reduced.parts.iter().map(|part| list(false, part.rows, part.width, part.base as u32))).collect()
        });
        let places = vec![NONE; reduced.variables() as usize];
        Self { pattern, elimination, lists: lists.collect(), places, pairs: Vec::new() }
    }

    async fn all(mut self, pace: &Pace) -> Result<Vec<ProductWords>, Stopped> {
        for row in 0..self.elimination.reduced.variables() {
            let spent = self.row(row);
            pace.spend(spent).await?;
        }
        Ok(self.lists.into_iter().flatten().filter(|list| !list.origins.is_empty()).collect())
    }

    /// The blocks of a row of S; gives the operations that took.
    fn row(&mut self, row: u32) -> usize {
        let Self { pattern, elimination, lists, places, pairs } = self;
        let reduced = &elimination.reduced;
        let number = reduced.table_of(row);
        let (table, full) = (&reduced.tables[number], &pattern.tables[elimination.kept[number] as usize]);
        let variable = row - table.first;
        // Lists and origins of the row's blocks.
        let mut blocks: Vec<(usize, u32)> = Vec::new();
        for (part_number, (part, (origin, origins))) in reduced.parts.iter().zip(&elimination.origins).enumerate() {
            if part.row as usize != number {
                continue;
            }
            let first = reduced.tables[part.column as usize].first;
            for (block, column) in part.row(variable) {
                places[(first + column) as usize] = blocks.len() as u32;
                let known = origin.zip(origins[block as usize]);
                let from = known.map_or(NONE, |(of, block)| pattern.parts[of as usize].base as u32 + block * part.size());
                blocks.push((reduced.tables.len() + part_number, from));
            }
        }
        blocks.push((number, full.block + variable * (table.width * (table.width + 1) / 2)));
        pairs.resize_with(pairs.len().max(blocks.len()), Vec::new);
        let mut spent = 8 * blocks.len();
        for (group, lists) in elimination.groups.iter().zip(lists) {
            let of_group = group.first..group.first + group.count;
            for &(eliminated, place) in elimination.incident(row).iter().filter(|(eliminated, _)| of_group.contains(eliminated)) {
                let own = elimination.neighbours[place as usize].y as u32;
                let before = (place - elimination.starts[eliminated as usize]) as usize;
                let neighbours = &elimination.neighbours_of(eliminated)[..=before];
                for (k, neighbour) in neighbours.iter().enumerate() {
                    let to = if k == before { blocks.len() - 1 } else { places[neighbour.variable as usize] as usize };
                    pairs[to].extend([own, block_of(pattern, neighbour)]);
                }
                spent += 8 * neighbours.len();
            }
            for (&(list, origin), pairs) in blocks.iter().zip(pairs.iter_mut()) {
                lists[list].push(origin, pairs);
                pairs.clear();
            }
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_a_block_are_cut_into_segments_in_their_order() {
        let mut list = ProductWords { rows: 2, columns: 3, segments: vec![0], starts: vec![0], ..ProductWords::default() };
        let many: Vec<u32> = (0..2 * (2 * SEGMENT as u32 + 5)).collect();
        list.push(7, &many);
        list.push(NONE, &[]);
        list.push(30, &many[..2]);
        assert_eq!((list.size(), list.counts()), (6, [3, 4]));
        let (words, places) = list.words();
        let of = |first: u32, len: usize| &words[first as usize..][..len];
        assert_eq!(of(places.segments, 4), [0, 3, 3, 4]);
        assert_eq!(of(places.origins, 3), [7, NONE, 30]);
        assert_eq!(of(places.starts, 5), [0, 64, 128, 133, 134]);
        assert_eq!(of(places.pairs, many.len() + 2), [&many[..], &many[..2]].concat());
    }
}
