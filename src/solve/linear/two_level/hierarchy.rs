//! The structure of the coarse matrices: which blocks there are, and of which products they are made. All in numbers of blocks;
//! the values are the device's.
//!
//! A level's matrix A is symmetric and has the blocks of its diagonal first, then those below, row by row. The next level's nodes are
//! groups of this one's. Their motions T are smoothed, P = T − 4/(3ρ) D⁻¹AT, and the matrix of the next level is PᵀAP (*smoothed
//! aggregation*: Vaněk, Mandel & Brezina, *Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems*,
//! Computing 56, 1996).

use super::aggregate::{Graph, NONE};
use leastwise_base::task::{Pace, Stopped};

/// The bit of a block's number that says that it is meant transposed.
pub const TURNED: u32 = 1 << 31;
/// Nodes of a group.
const GROUP: u32 = 8;
/// So few nodes are one group.
const FEW: u32 = 24;
/// Operations that an entry of a row takes, about.
const EACH: usize = 16;
/// Levels at most; each has about an eighth of the nodes of the one before.
const MOST_LEVELS: usize = 12;
/// Nodes of a level up to which its cycle is one full matrix.
const FULL: u32 = 128;

/// Rows of pairs of numbers.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// First entry of every row, and the end of the last.
    pub starts: Vec<u32>,
    /// Entries, row after row.
    pub entries: Vec<[u32; 2]>,
}

impl Rows {
    fn new() -> Self {
        Self { starts: vec![0], entries: Vec::new() }
    }

    fn end(&mut self) {
        self.starts.push(self.entries.len() as u32);
    }

    /// Rows of one entry each.
    fn single(entries: Vec<[u32; 2]>) -> Self {
        Self { starts: (0..=entries.len() as u32).collect(), entries }
    }

    /// Rows of so many entries, to be filled with [`Self::put`], and the place of each row's first.
    fn of_lens(lens: &[u32]) -> (Self, Vec<u32>) {
        let mut made = Self::new();
        made.starts.extend(lens.iter().scan(0, |end, len| {
            *end += len;
            Some(*end)
        }));
        made.entries.resize(made.starts[lens.len()] as usize, [0; 2]);
        let next = made.starts[..lens.len()].to_vec();
        (made, next)
    }

    fn put(&mut self, next: &mut u32, entry: [u32; 2]) {
        self.entries[*next as usize] = entry;
        *next += 1;
    }

    /// Number of rows.
    pub fn count(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    fn range(&self, row: u32) -> std::ops::Range<u32> {
        self.starts[row as usize]..self.starts[row as usize + 1]
    }

    /// Entries of a row.
    pub fn row(&self, row: u32) -> &[[u32; 2]] {
        let range = self.range(row);
        &self.entries[range.start as usize..range.end as usize]
    }
}

/// The blocks below the diagonal of a symmetric matrix: columns of each row, ascending.
#[derive(Clone, Debug)]
pub struct Lower {
    /// First block of every row, and the end of the last.
    pub starts: Vec<u32>,
    /// Columns of the blocks, row after row.
    pub columns: Vec<u32>,
}

impl Lower {
    /// Of pairs row > column, in ascending order.
    pub fn new(nodes: u32, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0u32; nodes as usize + 1];
        pairs.iter().for_each(|&(row, _)| starts[row as usize + 1] += 1);
        for row in 0..nodes as usize {
            starts[row + 1] += starts[row];
        }
        Self { starts, columns: pairs.iter().map(|pair| pair.1).collect() }
    }

    /// Structure of lists of pairs row > column in any order. Several may have the same pair.
    pub(super) fn of(nodes: u32, lists: &[&[(u32, u32)]]) -> Self {
        let pairs = || lists.iter().copied().flatten();
        let mut starts = vec![0u32; nodes as usize + 1];
        pairs().for_each(|&(row, _)| starts[row as usize + 1] += 1);
        for row in 0..nodes as usize {
            starts[row + 1] += starts[row];
        }
        let (mut next, mut all) = (starts.clone(), vec![0; starts[nodes as usize] as usize]);
        for &(row, column) in pairs() {
            all[next[row as usize] as usize] = column;
            next[row as usize] += 1;
        }
        let (mut columns, mut start) = (Vec::with_capacity(all.len()), 0);
        for end in &mut starts[1..] {
            let row = &mut all[std::mem::replace(&mut start, *end as usize)..*end as usize];
            row.sort_unstable();
            columns.extend(row.chunk_by(|a, b| a == b).map(|same| same[0]));
            *end = columns.len() as u32;
        }
        Self { starts, columns }
    }

    /// Number of rows.
    pub fn nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Blocks, those of the diagonal included.
    pub fn blocks(&self) -> u32 {
        self.nodes() + self.columns.len() as u32
    }

    /// The number of the block of a row and a column ≤ row.
    pub fn block(&self, row: u32, column: u32) -> u32 {
        if row == column {
            return row;
        }
        let range = self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize;
        let place = self.columns[range.clone()].partition_point(|&other| other < column);
        self.nodes() + (range.start + place) as u32
    }

    /// Structure with every block there is.
    fn full(nodes: u32) -> Self {
        let starts = (0..=nodes).map(|row| row * row.saturating_sub(1) / 2).collect();
        Self { starts, columns: (0..nodes).flat_map(|row| 0..row).collect() }
    }

    /// All blocks of all rows, by ascending column: number and column.
    fn whole(&self) -> Rows {
        let range = |row: u32| self.starts[row as usize]..self.starts[row as usize + 1];
        let mut lens: Vec<u32> = self.starts.windows(2).map(|ends| ends[1] - ends[0] + 1).collect();
        self.columns.iter().for_each(|&column| lens[column as usize] += 1);
        let (mut rows, mut next) = Rows::of_lens(&lens);
        // Rows come in ascending order, so columns of what is above the diagonal do, too.
        for row in 0..self.nodes() {
            for place in range(row) {
                let (block, column) = (self.nodes() + place, self.columns[place as usize]);
                rows.put(&mut next[row as usize], [block, column]);
                rows.put(&mut next[column as usize], [block | TURNED, row]);
            }
            rows.put(&mut next[row as usize], [row, row]);
        }
        rows
    }
}

/// A level that has another one above it.
pub struct Level {
    /// Nodes: rows of A.
    pub nodes: u32,
    /// Blocks of A.
    pub blocks: u32,
    /// The blocks of A by rows: number and column.
    pub whole: Rows,
    /// The node above.
    pub parents: Vec<u32>,
    /// What products are made of: for every block of the result the blocks of both factors.
    pub moved: Rows,
    /// Blocks of the smoothed motions P = T − 4/(3ρ) D⁻¹AT: D⁻¹ and AT by block, and T.
    pub smoothed: Product,
    /// Blocks of Q = AP: blocks of A and of P.
    pub image: Rows,
    /// Blocks of G = P − SQ: D⁻¹ and Q by block, and P.
    pub relaxed: Product,
    /// Blocks of the matrix above, PᵀAP: blocks of P and of Q.
    pub above: Rows,
    /// Blocks of D⁻¹A, by rows of A.
    pub scaled: Rows,
    /// Blocks of S̄ = 2S − SAS, on and below the diagonal.
    pub twice: Product,
    /// Gᵀ by rows of the level above, and G by rows of this one: block and column.
    pub down: Rows,
    /// G by rows of this level: block and column.
    pub up: Rows,
    /// The cycle as a matrix, where there are few nodes.
    pub full: Option<Full>,
}

/// The cycle of a level as one symmetric matrix, C = S̄ + G C′ Gᵀ.
pub struct Full {
    /// Blocks of K = C′ Gᵀ, row by row: blocks of C′ and of G.
    pub through: Rows,
    /// Blocks of C on and below the diagonal: blocks of G and of K, and S̄.
    pub sums: Product,
    /// All blocks of C by rows: number and column.
    pub whole: Rows,
}

/// A product that is subtracted from other blocks, where there are any.
pub struct Product {
    /// Factors of every block of the result.
    pub rows: Rows,
    /// Block that the product is subtracted from; [`NONE`] for zero.
    pub bases: Vec<u32>,
}

/// Structure of the matrices of all levels.
#[derive(Default)]
pub struct Hierarchy {
    /// Levels from the finest on, the coarsest excluded.
    pub levels: Vec<Level>,
    /// Nodes of the coarsest level, and blocks of its matrix.
    pub last: [u32; 2],
}

impl Hierarchy {
    /// Groups nodes level by level, until groups would hardly be fewer than nodes.
    pub async fn new(mut matrix: Lower, pace: &Pace) -> Result<Self, Stopped> {
        let mut levels = Vec::new();
        while levels.len() < MOST_LEVELS {
            let Some((level, above)) = Level::new(&matrix, pace).await? else { break };
            levels.push(level);
            matrix = above;
        }
        // On the coarsest level a cycle is D⁻¹.
        let mut above = Rows::single((0..matrix.nodes()).map(|node| [node, node]).collect());
        for level in levels.iter_mut().rev().take_while(|level| level.nodes <= FULL) {
            let full = level.full_cycle(&above, pace).await?;
            above = full.whole.clone();
            level.full = Some(full);
        }
        Ok(Self { levels, last: [matrix.nodes(), matrix.blocks()] })
    }

    /// Nodes of the levels, the finest first.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.levels.iter().map(|level| level.nodes).chain([self.last[0]])
    }
}

impl Level {
    /// The level of a matrix, and the matrix above; none where groups would be hardly fewer than nodes.
    async fn new(matrix: &Lower, pace: &Pace) -> Result<Option<(Self, Lower)>, Stopped> {
        let nodes = matrix.nodes();
        let whole = matrix.whole();
        pace.spend(EACH * whole.entries.len()).await?;
        let graph = Graph { starts: whole.starts.clone(), neighbours: whole.entries.iter().map(|entry| entry[1]).collect() };
        let (parents, count) = graph.patches(if nodes <= FEW { nodes } else { GROUP }, |_| true, pace).await?;
        if matrix.columns.is_empty() || 4 * count > 3 * nodes {
            return Ok(None);
        }
        let parent = |node: u32| parents[node as usize];
        // W = AT and P: the groups that a node's row reaches.
        let (mut moved, mut smoothed, mut reached) = (Rows::new(), Product::new(), Rows::new());
        let mut groups = Groups::new(count);
        for node in 0..nodes {
            let row = whole.row(node);
            groups.entries.extend(row.iter().map(|&[block, column]| [parent(column), block, column]));
            pace.spend(EACH * row.len()).await?;
            groups.append(&mut moved, |place, group| {
                smoothed.push([node, place], (group == parent(node)).then_some(node));
                reached.entries.push([place, group]);
            });
            reached.end();
        }
        // Q = AP and G = P − SQ.
        let (mut image, mut relaxed, mut up) = (Rows::new(), Product::new(), Rows::new());
        for node in 0..nodes {
            for &[block, column] in whole.row(node) {
                groups.entries.extend(reached.row(column).iter().map(|&[other, above]| [above, block, other]));
            }
            pace.spend(EACH * groups.entries.len()).await?;
            groups.append(&mut image, |place, group| {
                let base = reached.row(node).iter().find(|entry| entry[1] == group).map(|entry| entry[0]);
                relaxed.push([node, place], base);
                up.entries.push([place, group]);
            });
            up.end();
        }
        let (above, next) = normal(&reached, &up, &mut groups, pace).await?;
        let of_row = |node: u32| whole.row(node).iter().map(move |&[block, _]| [node, block]);
        let scaled = Rows::single((0..nodes).flat_map(of_row).collect());
        pace.spend(EACH * scaled.entries.len()).await?;
        // Blocks of D⁻¹A by rows, of which S̄ takes those on and below the diagonal: the first of each row.
        let mut twice = Product::new();
        let below = |row: u32| matrix.starts[row as usize]..matrix.starts[row as usize + 1];
        (0..nodes).for_each(|node| twice.push([whole.range(node).start + below(node).len() as u32, node], Some(node)));
        for row in 0..nodes {
            let columns = &matrix.columns[below(row).start as usize..below(row).end as usize];
            whole.range(row).zip(columns).for_each(|(number, &column)| twice.push([number, column], None));
        }
        pace.spend(EACH * twice.bases.len()).await?;
        let down = turned(&up, count);
        pace.spend(EACH * up.entries.len()).await?;
        let full = None;
        let level =
            Self { nodes, blocks: matrix.blocks(), whole, parents, moved, smoothed, image, relaxed, above, scaled, twice, down, up, full };
        Ok(Some((level, next)))
    }

    /// Rows of the longest list that workgroups share.
    pub(super) fn most_rows(&self) -> usize {
        let products = [&self.smoothed.rows, &self.relaxed.rows, &self.twice.rows];
        let lists = products.into_iter().chain([&self.moved, &self.image, &self.above, &self.scaled, &self.whole]);
        lists.map(|rows| rows.count() as usize).max().unwrap_or(0)
    }

    /// Structure of the cycle as a matrix, of that of the level above by rows.
    async fn full_cycle(&self, above: &Rows, pace: &Pace) -> Result<Full, Stopped> {
        let nodes = self.nodes;
        let (mut through, mut known) = (Rows::new(), vec![NONE; above.count() as usize]);
        for row in 0..above.count() {
            known.fill(NONE);
            above.row(row).iter().for_each(|&[block, column]| known[column as usize] = block);
            for node in 0..nodes {
                let up = self.up.row(node).iter().filter(|entry| known[entry[1] as usize] != NONE);
                through.entries.extend(up.map(|&[block, column]| [known[column as usize], block | TURNED]));
                through.end();
            }
            pace.spend(EACH * self.up.entries.len()).await?;
        }
        let mut sums = Product::new();
        let mut push = |row: u32, column: u32, base: Option<u32>| {
            sums.rows.entries.extend(self.up.row(row).iter().map(|&[block, above]| [block, above * nodes + column]));
            sums.rows.end();
            sums.bases.push(base.unwrap_or(NONE));
        };
        (0..nodes).for_each(|node| push(node, node, Some(node)));
        let mut own = vec![NONE; nodes as usize];
        for row in 0..nodes {
            own.fill(NONE);
            self.whole.row(row).iter().for_each(|&[block, column]| own[column as usize] = block);
            for column in 0..row {
                push(row, column, Some(own[column as usize]).filter(|block| *block != NONE));
            }
            pace.spend(EACH * (row as usize + 1) * self.up.row(row).len()).await?;
        }
        Ok(Full { through, sums, whole: Lower::full(nodes).whole() })
    }
}

impl Product {
    fn new() -> Self {
        Self { rows: Rows::new(), bases: Vec::new() }
    }

    /// One more block: of one product.
    fn push(&mut self, factors: [u32; 2], base: Option<u32>) {
        self.rows.entries.push(factors);
        self.rows.end();
        self.bases.push(base.unwrap_or(NONE));
    }
}

/// Entries in groups.
struct Groups {
    /// Group of each entry, and the entry.
    entries: Vec<[u32; 3]>,
    /// Entries of every group, zeros between two rows.
    lens: Vec<u32>,
    found: Vec<u32>,
}

impl Groups {
    fn new(groups: u32) -> Self {
        Self { entries: Vec::new(), lens: vec![0; groups as usize], found: Vec::new() }
    }

    /// Appends a row for each group that has entries, by ascending group. A group's entries keep their order. The function is given
    /// every row and its group.
    fn append(&mut self, rows: &mut Rows, mut with: impl FnMut(u32, u32)) {
        for &[group, ..] in &self.entries {
            let len = &mut self.lens[group as usize];
            if *len == 0 {
                self.found.push(group);
            }
            *len += 1;
        }
        self.found.sort_unstable();
        let mut end = rows.entries.len() as u32;
        rows.entries.resize(rows.entries.len() + self.entries.len(), [0; 2]);
        for &group in &self.found {
            with(rows.count(), group);
            // A length becomes the place of the next entry.
            let start = end;
            end += std::mem::replace(&mut self.lens[group as usize], start);
            rows.starts.push(end);
        }
        for &[group, first, second] in &self.entries {
            rows.put(&mut self.lens[group as usize], [first, second]);
        }
        self.found.drain(..).for_each(|group| self.lens[group as usize] = 0);
        self.entries.clear();
    }
}

/// The transpose of a matrix by rows: its blocks, meant transposed, and their rows.
fn turned(rows: &Rows, columns: u32) -> Rows {
    let mut lens = vec![0; columns as usize];
    rows.entries.iter().for_each(|&[_, column]| lens[column as usize] += 1);
    let (mut made, mut next) = Rows::of_lens(&lens);
    for row in 0..rows.count() {
        rows.row(row).iter().for_each(|&[block, column]| made.put(&mut next[column as usize], [block | TURNED, row]));
    }
    made
}

/// PᵀQ on and below the diagonal: of what each of its blocks is made, and where they are.
async fn normal(p: &Rows, q: &Rows, groups: &mut Groups, pace: &Pace) -> Result<(Rows, Lower), Stopped> {
    let (mut diagonal, mut below, mut pairs) = (Rows::new(), Rows::new(), Vec::new());
    let nodes = groups.lens.len() as u32;
    let columns = turned(p, nodes);
    pace.spend(EACH * p.entries.len()).await?;
    for node in 0..nodes {
        for &[block, row] in columns.row(node) {
            for &[other, column] in q.row(row).iter().take_while(|entry| entry[1] <= node) {
                if column == node { diagonal.entries.push([block, other]) } else { groups.entries.push([column, block, other]) }
            }
        }
        diagonal.end();
        pace.spend(EACH * groups.entries.len()).await?;
        groups.append(&mut below, |_, column| pairs.push((node, column)));
    }
    let offset = diagonal.entries.len() as u32;
    diagonal.starts.extend(below.starts[1..].iter().map(|start| start + offset));
    diagonal.entries.append(&mut below.entries);
    Ok((diagonal, Lower::new(nodes, &pairs)))
}
