//! Structure of a Schur complement that is formed on the device: for every block of S, which eliminated variables join its two kept ones.

use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_linear::elimination::{Elimination, Neighbour};
use leastwise_linear::schur::{Reduced, Refused};
use leastwise_problem::{BlockRows, Links, Pattern};
use std::iter;
use std::ops::Range;

/// Pairs of blocks that lists may have: eight bytes each.
pub const MOST_PAIRS: f64 = (1 << 24) as f64;
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
    /// Pairs of blocks that an eliminated variable joins.
    pub pairs: f64,
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
    /// Three words a block (`shaders/reduced/solved_blocks.wgsl`), in pieces.
    pub words: Vec<Vec<u32>>,
}

impl SolvedWords {
    /// Number of words.
    pub fn len(&self) -> usize {
        self.words.iter().map(Vec::len).sum()
    }
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
    /// For every segment its first pair, one more than there are segments; and the pairs, in pieces.
    starts: Vec<u32>,
    pairs: Vec<Vec<u32>>,
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

    /// Number of words.
    pub fn len(&self) -> usize {
        [&self.segments, &self.origins, &self.starts].into_iter().chain(&self.pairs).map(Vec::len).sum()
    }

    /// All words in pieces, and where they are.
    pub fn words(self) -> (Vec<Vec<u32>>, Places) {
        let [origins, starts] = [self.segments.len(), self.segments.len() + self.origins.len()];
        let places = Places { segments: 0, origins: origins as u32, starts: starts as u32, pairs: (starts + self.starts.len()) as u32 };
        (iter::chain([self.segments, self.origins, self.starts], self.pairs).collect(), places)
    }

    /// One more block, with its pairs.
    fn push(&mut self, origin: u32, pairs: &[[u32; 2]]) {
        self.origins.push(origin);
        let all = self.pairs.last_mut().expect("a list has a piece for its pairs");
        for segment in pairs.chunks(SEGMENT) {
            all.extend(segment.as_flattened());
            self.starts.push((all.len() / 2) as u32);
        }
        self.segments.push(self.starts.len() as u32 - 1);
    }

    /// The blocks of another list behind those that are here.
    fn append(&mut self, other: Self) {
        for (starts, more) in [(&mut self.segments, other.segments), (&mut self.starts, other.starts)] {
            let before = *starts.last().expect("a list begins with a start");
            starts.extend(more[1..].iter().map(|start| before + start));
        }
        self.origins.extend(other.origins);
        self.pairs.extend(other.pairs);
    }
}

/// Why it is formed on the host instead, if it is.
type Instead = String;

impl Plan {
    /// The plan for eliminating these tables of the pattern, where a factor of S takes so many multiplications at most. `pairs` is how many
    /// pairs of blocks they join ([`work`](leastwise_linear::elimination::work)).
    pub async fn new(
        links: &Links,
        pattern: &Pattern,
        tables: &[u32],
        (room, pairs, most_work): (Room, f64, f64),
        pace: &Pace,
    ) -> Result<Result<Self, Instead>, Stopped> {
        if pairs > MOST_PAIRS {
            return Ok(Err(format!("{pairs:.1e} pairs of blocks, more than {MOST_PAIRS:.1e}")));
        }
        let stopped = |refused: Refused| match refused {
            Refused::Stopped => Err(Stopped),
            _ => Ok(Err("a factor of what is left is too large".into())),
        };
        let elimination = match Elimination::new(pattern, tables, pace).await {
            Ok(elimination) => elimination,
            Err(refused) => return stopped(refused),
        };
        let solver = match Reduced::new(&elimination.reduced, most_work, pace).await {
            Ok(solver) => solver,
            Err(refused) => return stopped(refused),
        };
        let solved = solved(pattern, &elimination, pace).await?;
        let products = products_of(pattern, &elimination, pace).await?;
        let words = products.iter().map(ProductWords::len).chain(solved.iter().map(SolvedWords::len)).max().unwrap_or(0) as u64;
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
            pairs,
            y,
            partials,
            solved,
            products,
            solver,
        }))
    }
}

/// Approximate operations of one item for threads.
const PIECE: usize = 1 << 18;

/// The blocks of Y, of every eliminated table those of every kept one.
async fn solved(pattern: &Pattern, elimination: &Elimination, pace: &Pace) -> Result<Vec<SolvedWords>, Stopped> {
    let kept = &elimination.reduced.tables;
    let mut lists = Vec::new();
    for group in &elimination.groups {
        let neighbours = |variables: &Range<u32>| {
            let [first, last] = [variables.start, variables.end].map(|own| elimination.starts[(group.first + own) as usize]);
            (last - first) as usize
        };
        let each = (neighbours(&(0..group.count)) / group.count.max(1) as usize).max(1);
        let run = (PIECE / (8 * each)).max(1);
        let runs = (0..group.count).step_by(run).map(|first| first..group.count.min(first.saturating_add(run as u32)));
        let words_of = |_: &mut (), variables: Range<u32>| {
            let mut words: Vec<Vec<u32>> = vec![Vec::new(); kept.len()];
            if let [words] = &mut words[..] {
                words.reserve_exact(3 * neighbours(&variables));
            }
            for variable in variables {
                for neighbour in elimination.neighbours_of(group.first + variable) {
                    let of = &mut words[elimination.reduced.table_of(neighbour.variable)];
                    of.extend([block_of(pattern, elimination, neighbour), variable, neighbour.y]);
                }
            }
            words
        };
        let pieces = parallel::map(runs.collect(), |run| 8 * neighbours(run), || (), words_of, pace).await?;
        let list = |kept: &BlockRows| SolvedWords {
            table: pattern.tables[group.table as usize].table,
            rows: kept.width,
            columns: group.width,
            words: Vec::new(),
        };
        let mut mine: Vec<SolvedWords> = kept.iter().map(list).collect();
        for piece in pieces {
            let of_list = mine.iter_mut().zip(piece).filter(|(_, words)| !words.is_empty());
            of_list.for_each(|(list, words)| list.words.push(words));
        }
        lists.extend(mine.into_iter().filter(|list| !list.words.is_empty()));
    }
    Ok(lists)
}

/// First element of a block of E, and which rows it has.
fn block_of(pattern: &Pattern, elimination: &Elimination, neighbour: &Neighbour) -> u32 {
    let border = &elimination.borders[neighbour.border as usize];
    let part = &pattern.parts[border.part as usize];
    let first = part.base as u32 + neighbour.block * part.size();
    first | if border.turned { KEPT_ROWS } else { 0 }
}

/// Products that blocks of S take.
async fn products_of(pattern: &Pattern, elimination: &Elimination, pace: &Pace) -> Result<Vec<ProductWords>, Stopped> {
    let made = || Products::new(pattern, elimination);
    let of_rows = |products: &mut Products<'_>, rows: Range<u32>| {
        products.lists = empty_lists(elimination);
        rows.for_each(|row| products.row(row));
        std::mem::take(&mut products.lists)
    };
    let rows = elimination.runs_of_rows(PIECE);
    let pieces = parallel::map(rows, |rows| 4 * elimination.operations(rows), made, of_rows, pace).await?;
    let mut lists = empty_lists(elimination);
    for piece in pieces {
        for (list, more) in lists.iter_mut().flatten().zip(piece.into_iter().flatten()) {
            list.append(more);
        }
    }
    Ok(lists.into_iter().flatten().filter(|list| !list.origins.is_empty()).collect())
}

/// Of every eliminated table: lists of the diagonal blocks of the kept tables, then of the parts of S, without any block yet.
fn empty_lists(elimination: &Elimination) -> Vec<Vec<ProductWords>> {
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
            pairs: vec![Vec::new()],
            ..ProductWords::default()
        };
        let diagonal = reduced.tables.iter().map(|table| list(true, table.width, table.width, table.block));
        diagonal.chain(reduced.parts.iter().map(|part| list(false, part.rows, part.width, part.base as u32))).collect()
    });
    lists.collect()
}

/// Lists of products while they are made, row of S by row.
struct Products<'a> {
    pattern: &'a Pattern,
    elimination: &'a Elimination,
    lists: Vec<Vec<ProductWords>>,
    /// For every kept variable, which of the row's blocks it is in; the diagonal one is last.
    places: Vec<u32>,
    /// List and origin of each of the row's blocks.
    blocks: Vec<(usize, u32)>,
    /// Pairs of the row with their blocks, in the order of eliminated variables; of every block the place behind its last one; the pairs
    /// block by block.
    found: Vec<(u32, [u32; 2])>,
    ends: Vec<u32>,
    pairs: Vec<[u32; 2]>,
}

impl<'a> Products<'a> {
    fn new(pattern: &'a Pattern, elimination: &'a Elimination) -> Self {
        let places = vec![NONE; elimination.reduced.variables() as usize];
        let (lists, blocks, found, ends, pairs) = Default::default();
        Self { pattern, elimination, lists, places, blocks, found, ends, pairs }
    }

    /// Finds the blocks of a row of S.
    fn find_blocks(&mut self, row: u32) {
        let Self { pattern, elimination, places, blocks, .. } = self;
        let reduced = &elimination.reduced;
        let number = reduced.table_of(row);
        let (table, full) = (&reduced.tables[number], &pattern.tables[elimination.kept[number] as usize]);
        let variable = row - table.first;
        blocks.clear();
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
        places[row as usize] = blocks.len() as u32;
        blocks.push((number, full.block + variable * (table.width * (table.width + 1) / 2)));
    }

    /// Adds the blocks of a row of S to the lists.
    fn row(&mut self, row: u32) {
        self.find_blocks(row);
        let Self { pattern, elimination, lists, places, blocks, found, ends, pairs } = self;
        // Eliminated variables ascend, so those of a table lie next to each other.
        let mut incident = elimination.incident(row);
        for (group, lists) in elimination.groups.iter().zip(lists) {
            let count = incident.partition_point(|(eliminated, _)| *eliminated < group.first + group.count);
            let (mine, others) = incident.split_at(count);
            incident = others;
            found.clear();
            ends.clear();
            ends.resize(blocks.len(), 0);
            for &(eliminated, place) in mine {
                let own = elimination.neighbours[place as usize].y;
                for neighbour in &elimination.neighbours[elimination.starts[eliminated as usize] as usize..=place as usize] {
                    let to = places[neighbour.variable as usize];
                    ends[to as usize] += 1;
                    found.push((to, [own, block_of(pattern, elimination, neighbour)]));
                }
            }
            let mut first = 0;
            for end in ends.iter_mut() {
                (*end, first) = (first, first + *end);
            }
            pairs.clear();
            pairs.resize(found.len(), [0; 2]);
            for &(to, pair) in found.iter() {
                let end = &mut ends[to as usize];
                pairs[*end as usize] = pair;
                *end += 1;
            }
            let mut first = 0;
            for (&(list, origin), &end) in blocks.iter().zip(ends.iter()) {
                lists[list].push(origin, &pairs[first..end as usize]);
                first = end as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_a_block_are_cut_into_segments_in_their_order() {
        let empty =
            || ProductWords { rows: 2, columns: 3, segments: vec![0], starts: vec![0], pairs: vec![Vec::new()], ..ProductWords::default() };
        let many: Vec<[u32; 2]> = (0..2 * SEGMENT as u32 + 5).map(|pair| [2 * pair, 2 * pair + 1]).collect();
        let (mut list, mut more) = (empty(), empty());
        list.push(7, &many);
        more.push(NONE, &[]);
        more.push(30, &many[..1]);
        list.append(more);
        assert_eq!((list.size(), list.counts(), list.len()), (6, [3, 4], 4 + 3 + 5 + 2 * (many.len() + 1)));
        let (words, places) = list.words();
        let (words, many) = (words.concat(), many.as_flattened());
        let of = |first: u32, len: usize| &words[first as usize..][..len];
        assert_eq!(of(places.segments, 4), [0, 3, 3, 4]);
        assert_eq!(of(places.origins, 3), [7, NONE, 30]);
        assert_eq!(of(places.starts, 5), [0, 64, 128, 133, 134]);
        assert_eq!(of(places.pairs, many.len() + 2), [many, &many[..2]].concat());
    }
}
