//! Sparse Cholesky factors in little code, for wasm: columns of (nearly) the same structure are a panel, from which all
//! panels before it that reach it are subtracted when its turn comes (Ng & Peyton, "Block sparse Cholesky algorithms on
//! advanced uniprocessor computers", 1993). The structure of the factor is faer's.

use super::matrix::Unsolved;
use super::panels;
use super::sparse::{Factorization, TooLarge, Unfactorised};
use crate::work::{Pace, Stopped, UNIT};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::perm::PermRef;
use faer::sparse::linalg::cholesky::simplicial::{
    SymbolicSimplicialCholesky, factorize_simplicial_symbolic_cholesky, factorize_simplicial_symbolic_cholesky_scratch,
    prefactorize_symbolic_cholesky, prefactorize_symbolic_cholesky_scratch,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use std::ops::Range;

/// Columns of the matrix whose entries are placed at a time.
const COLUMNS: usize = 1024;
/// No panel.
const NONE: u32 = u32::MAX;

pub struct LeftLooking {
    /// Where a row of the matrix is in the order of elimination.
    inverse: Vec<u32>,
    panels: Vec<Panel>,
    /// The panel that a column is in.
    panel_of: Vec<u32>,
    /// The panels' rows, ascending: the first ones are those of their own columns.
    rows: Vec<u32>,
    /// For every entry of the lower triangle, which one of the factor it is.
    places: Vec<u32>,
    /// The panels by columns.
    factor: Vec<f64>,
    scratch: Scratch,
}

pub struct Panel {
    pub columns: Range<usize>,
    rows: Range<usize>,
    /// Where its values begin in the factor.
    pub first: usize,
}

#[derive(Default)]
struct Scratch {
    /// Where a row is in the current panel.
    place: Vec<u32>,
    product: Vec<f64>,
}

impl Panel {
    fn height(&self) -> usize {
        self.rows.len()
    }

    pub fn values(&self) -> Range<usize> {
        self.first..self.first + self.height() * self.columns.len()
    }
}

/// The factor, for those who look at it.
impl LeftLooking {
    /// Rows of the matrix.
    pub fn len(&self) -> usize {
        self.inverse.len()
    }

    pub fn is_empty(&self) -> bool {
        self.inverse.is_empty()
    }

    pub fn panels(&self) -> &[Panel] {
        &self.panels
    }

    /// A panel's rows, in the order of elimination.
    pub fn rows(&self, panel: &Panel) -> &[u32] {
        &self.rows[panel.rows.clone()]
    }

    /// The panel of a column, in the order of elimination.
    pub fn panel_of(&self, column: u32) -> usize {
        self.panel_of[column as usize] as usize
    }

    pub fn values(&self) -> &[f64] {
        &self.factor
    }

    /// Where the entry for a row and a column of the matrix is among the values, if there is one.
    pub fn place(&self, row: usize, column: usize) -> Option<usize> {
        let (row, column) = (self.inverse[row].max(self.inverse[column]), self.inverse[row].min(self.inverse[column]));
        let panel = &self.panels[self.panel_of(column)];
        let place = self.rows(panel).binary_search(&row).ok()?;
        Some(panel.first + (column as usize - panel.columns.start) * panel.height() + place)
    }
}

/// Row and column of the upper triangle in the order of elimination, for every entry of a lower triangle in any.
fn ordered(lower: SymbolicSparseColMatRef<'_, u32>, inverse: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    ordered_columns(lower, inverse, 0..inverse.len())
}

/// The same for some columns of that.
fn ordered_columns(lower: SymbolicSparseColMatRef<'_, u32>, inverse: &[u32], columns: Range<usize>) -> impl Iterator<Item = (u32, u32)> {
    let entries = columns.flat_map(move |column| lower.row_idx_of_col_raw(column).iter().map(move |&row| (row as usize, column)));
    entries.map(|(row, column)| (inverse[row].min(inverse[column]), inverse[row].max(inverse[column])))
}

/// The factor's structure, column by column.
fn structure(lower: SymbolicSparseColMatRef<'_, u32>, inverse: &[u32]) -> Result<SymbolicSimplicialCholesky<u32>, TooLarge> {
    let n = inverse.len();
    let mut starts = vec![0u32; n + 1];
    ordered(lower, inverse).for_each(|(_, column)| starts[column as usize + 1] += 1);
    for column in 0..n {
        starts[column + 1] += starts[column];
    }
    let mut next = starts.clone();
    let mut rows = vec![0u32; starts[n] as usize];
    for (row, column) in ordered(lower, inverse) {
        rows[next[column as usize] as usize] = row;
        next[column as usize] += 1;
    }
    let upper = SymbolicSparseColMatRef::new_unsorted_checked(n, n, &starts, None, &rows);
    let memory = prefactorize_symbolic_cholesky_scratch::<u32>(n, rows.len()).or(factorize_simplicial_symbolic_cholesky_scratch::<u32>(n));
    let mut memory = MemBuffer::try_new(memory).map_err(|_| TooLarge)?;
    let (mut tree, mut counts) = (vec![0i32; n], vec![0u32; n]);
    let tree = prefactorize_symbolic_cholesky(&mut tree, &mut counts, upper, MemStack::new(&mut memory));
    if counts.iter().map(|&count| u64::from(count)).sum::<u64>() > i32::MAX as u64 {
        return Err(TooLarge);
    }
    factorize_simplicial_symbolic_cholesky(upper, tree, &counts, MemStack::new(&mut memory)).map_err(|_| TooLarge)
}

/// Whether so many columns, of whose panel this part would be zeros, are worth being together: the fewer they are, the less
/// it is that they lose (as in CHOLMOD: Chen, Davis, Hager & Rajamanickam 2008, section 2.3).
fn is_worth(columns: usize, zeros: f64) -> bool {
    columns <= 4 || columns <= 16 && zeros < 0.8 || columns <= 48 && zeros < 0.1 || zeros < 0.05
}

/// The columns of every panel.
fn together(structure: &SymbolicSimplicialCholesky<u32>) -> Vec<Range<usize>> {
    let (starts, rows) = (structure.col_ptr(), structure.row_idx());
    let of = |column: usize| &rows[starts[column] as usize..starts[column + 1] as usize];
    // Columns, and entries of the factor that are not zeros.
    let mut panels: Vec<(Range<usize>, usize)> = Vec::new();
    for column in 0..structure.ncols() {
        let mut own = (column..column + 1, of(column).len());
        while let Some((before, entries)) = panels.last() {
            // Their rows are among this one's if the first one below is.
            if of(before.end - 1).get(1).is_none_or(|&parent| parent as usize != own.0.start) {
                break;
            }
            let both = (before.start..own.0.end, entries + own.1);
            let (width, below) = (both.0.len(), of(column).len() - 1);
            let stored = width * (width + 1) / 2 + width * below;
            if !is_worth(width, 1.0 - both.1 as f64 / stored as f64) {
                break;
            }
            own = both;
            panels.pop();
        }
        panels.push(own);
    }
    panels.into_iter().map(|(columns, _)| columns).collect()
}

impl Factorization for LeftLooking {
    async fn new(lower: SymbolicSparseColMatRef<'_, u32>, order: PermRef<'_, u32>, pace: &Pace) -> Result<Self, Unfactorised> {
        let inverse = order.arrays().1.to_vec();
        let structure = structure(lower, &inverse)?;
        pace.spend(UNIT).await?;
        let (mut panels, mut rows, mut first, mut panel_of) = (Vec::new(), Vec::new(), 0, Vec::new());
        for columns in together(&structure) {
            let [start, end] = [columns.end - 1, columns.end].map(|column| structure.col_ptr()[column] as usize);
            let begin = rows.len();
            rows.extend(columns.clone().map(|column| column as u32));
            rows.extend(&structure.row_idx()[start + 1..end]);
            panel_of.resize(columns.end, panels.len() as u32);
            let panel = Panel { columns, rows: begin..rows.len(), first };
            first = panel.values().end;
            pace.spend(4 * panel.height()).await?;
            panels.push(panel);
        }
        if first > u32::MAX as usize {
            return Err(Unfactorised::TooLarge);
        }
        let place = |(column, row): (u32, u32)| {
            let panel: &Panel = &panels[panel_of[column as usize] as usize];
            let place = rows[panel.rows.clone()].binary_search(&row).expect("the factor's structure has the matrix's");
            (panel.first + (column as usize - panel.columns.start) * panel.height() + place) as u32
        };
        let n = inverse.len();
        let mut places = Vec::with_capacity(lower.row_idx().len());
        for columns in (0..n).step_by(COLUMNS).map(|first| first..n.min(first + COLUMNS)) {
            let before = places.len();
            places.extend(ordered_columns(lower, &inverse, columns).map(place));
            // A search each.
            pace.spend(32 * (places.len() - before)).await?;
        }
        let mut factor = Vec::with_capacity(first);
        while factor.len() < first {
            factor.resize(first.min(factor.len() + UNIT / 2), 0.0);
            pace.spend(UNIT / 2).await?;
        }
        let scratch = Scratch { place: vec![0; n], product: Vec::new() };
        Ok(Self { inverse, panels, panel_of, rows, places, factor, scratch })
    }

    async fn factorize(&mut self, lower: SparseColMatRef<'_, u32, f64>, pace: &Pace) -> Result<(), Unsolved> {
        let Self { panels, panel_of, rows, places, factor, scratch, .. } = self;
        for piece in factor.chunks_mut(UNIT) {
            piece.fill(0.0);
            pace.spend(piece.len() / 2).await?;
        }
        for (places, values) in places.chunks(UNIT / 4).zip(lower.val().chunks(UNIT / 4)) {
            places.iter().zip(values).for_each(|(&place, &value)| factor[place as usize] = value);
            pace.spend(4 * places.len()).await?;
        }
        // Of every panel: the first of those that reach it next, the next one after it in that list, and how many of its
        // rows are behind it.
        let mut reaching = vec![NONE; panels.len()];
        let mut following = vec![NONE; panels.len()];
        let mut done: Vec<usize> = panels.iter().map(|panel| panel.columns.len()).collect();
        for (number, panel) in panels.iter().enumerate() {
            pace.tell(number, panels.len());
            let height = panel.height();
            rows[panel.rows.clone()].iter().zip(0..).for_each(|(&row, place)| scratch.place[row as usize] = place);
            let mut next = reaching[number];
            let (before, rest) = factor.split_at_mut(panel.first);
            let own = &mut rest[..panel.values().len()];
            // Hands a panel on to that which the next of its rows is in.
            let mut pass = |other: usize, done: usize, following: &mut [u32]| {
                if let Some(&row) = rows[panels[other].rows.clone()].get(done) {
                    following[other] = std::mem::replace(&mut reaching[panel_of[row as usize] as usize], other as u32);
                }
            };
            while next != NONE {
                let other = next as usize;
                next = following[other];
                let source = &panels[other];
                let below = &rows[source.rows.clone()][done[other]..];
                let count = below.partition_point(|&row| (row as usize) < panel.columns.end);
                scratch.product.resize(scratch.product.len().max(below.len() * count), 0.0);
                panels::negative_product(&mut scratch.product, &before[source.values()], source.height(), done[other], count, pace).await?;
                for (column, product) in scratch.product.chunks_exact(below.len()).take(count).enumerate() {
                    let target = &mut own[(below[column] as usize - panel.columns.start) * height..][..height];
                    for (&row, value) in below[column..].iter().zip(&product[column..]) {
                        target[scratch.place[row as usize] as usize] += value;
                    }
                }
                pace.spend(2 * below.len() * count).await?;
                done[other] += count;
                pass(other, done[other], &mut following);
            }
            panels::factorize(own, height, pace).await?;
            pass(number, done[number], &mut following);
        }
        Ok(())
    }

    async fn solve(&mut self, x: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        self.solved(x, pace).await
    }
}

impl LeftLooking {
    /// x becomes the solution of the last matrix for the right-hand side x.
    pub async fn solved(&self, x: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        let Self { inverse, panels, rows, factor, .. } = self;
        // In the order of elimination.
        let mut y = vec![0.0; x.len()];
        inverse.iter().zip(&*x).for_each(|(&place, &value)| y[place as usize] = value);
        for panel in panels {
            let rows = &rows[panel.rows.clone()];
            for (k, column) in factor[panel.values()].chunks_exact(rows.len()).enumerate() {
                let value = y[rows[k] as usize] / column[k];
                y[rows[k] as usize] = value;
                rows[k + 1..].iter().zip(&column[k + 1..]).for_each(|(&row, entry)| y[row as usize] -= entry * value);
            }
            pace.spend(2 * panel.values().len()).await?;
        }
        for panel in panels.iter().rev() {
            let rows = &rows[panel.rows.clone()];
            for (k, column) in factor[panel.values()].chunks_exact(rows.len()).enumerate().rev() {
                let known: f64 = rows[k + 1..].iter().zip(&column[k + 1..]).map(|(&row, entry)| entry * y[row as usize]).sum();
                y[rows[k] as usize] = (y[rows[k] as usize] - known) / column[k];
            }
            pace.spend(2 * panel.values().len()).await?;
        }
        inverse.iter().zip(x).for_each(|(&place, value)| *value = y[place as usize]);
        Ok(())
    }
}
