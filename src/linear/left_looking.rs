//! Sparse Cholesky factors in little code, for wasm: columns of (nearly) the same structure are a panel, from which all
//! panels before it that reach it are subtracted when its turn comes (Ng & Peyton, "Block sparse Cholesky algorithms on
//! advanced uniprocessor computers", 1993).

use crate::Computed;
use crate::by_columns::ByColumns;
use crate::matrix::{System, Unsolved};
use crate::panels;
use crate::sparse::{Factorization, Structure, TooLarge, Unfactorised};
use faer::sparse::SymbolicSparseColMatRef;
use leastwise_base::task::{Pace, Stopped, UNIT};
use std::ops::Range;

/// Columns of the matrix whose entries are placed at a time.
const COLUMNS: usize = 1024;
/// No panel.
const NONE: u32 = u32::MAX;

/// Left-looking sparse Cholesky factorisation, by panels of columns of the same structure.
pub struct LeftLooking {
    matrix: ByColumns,
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

/// Columns of one structure, as a dense block of the factor.
pub struct Panel {
    /// Columns of the factor.
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

    /// Range of its values in the factor.
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

    /// True for a system without unknowns.
    pub fn is_empty(&self) -> bool {
        self.inverse.is_empty()
    }

    /// All panels, ascending by column.
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

    /// Values of the factor, panel by panel.
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

/// Row and column of the upper triangle in the order of elimination, for every entry of some columns of a lower triangle in any.
fn ordered(lower: SymbolicSparseColMatRef<'_, u32>, inverse: &[u32], columns: Range<usize>) -> impl Iterator<Item = (u32, u32)> {
    let entries = columns.flat_map(move |column| lower.row_idx_of_col_raw(column).iter().map(move |&row| (row as usize, column)));
    entries.map(|(row, column)| (inverse[row].min(inverse[column]), inverse[row].max(inverse[column])))
}

/// Columns of a triangle: where each begins, and the rows of its entries.
struct Columns {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Columns {
    fn of(&self, column: usize) -> &[u32] {
        &self.rows[self.starts[column] as usize..self.starts[column + 1] as usize]
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The upper triangle in the order of elimination, of a lower triangle in any.
    async fn upper(lower: SymbolicSparseColMatRef<'_, u32>, inverse: &[u32], pace: &Pace) -> Result<Self, Stopped> {
        let n = inverse.len();
        let runs = || (0..n).step_by(COLUMNS).map(|first| first..n.min(first + COLUMNS));
        let entries = |columns: &Range<usize>| columns.clone().map(|column| lower.row_idx_of_col_raw(column).len()).sum::<usize>();
        let mut starts = vec![0u32; n + 1];
        for columns in runs() {
            pace.spend(4 * entries(&columns)).await?;
            ordered(lower, inverse, columns).for_each(|(_, column)| starts[column as usize + 1] += 1);
        }
        for column in 0..n {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut rows = vec![0u32; starts[n] as usize];
        for columns in runs() {
            pace.spend(8 * entries(&columns)).await?;
            for (row, column) in ordered(lower, inverse, columns) {
                rows[next[column as usize] as usize] = row;
                next[column as usize] += 1;
            }
        }
        Ok(Self { starts, rows })
    }

    /// The factor of a matrix with this upper triangle, rows ascending from the diagonal: row by row, each by the paths from its entries
    /// up the tree of elimination, which is found on the way (Davis, *Algorithm 849: a concise sparse Cholesky factorization package*,
    /// 2005).
    async fn factor(&self, pace: &Pace) -> Result<Self, Unfactorised> {
        let n = self.count();
        let (mut parent, mut seen) = (vec![NONE; n], vec![NONE; n]);
        let mut starts = vec![0u32; n + 1];
        let mut all = n as u64;
        for row in 0..n as u32 {
            seen[row as usize] = row;
            let before = all;
            for &entry in self.of(row as usize) {
                let mut column = entry as usize;
                while seen[column] != row {
                    seen[column] = row;
                    starts[column + 1] += 1;
                    all += 1;
                    if parent[column] == NONE {
                        parent[column] = row;
                    }
                    column = parent[column] as usize;
                }
            }
            if all > i32::MAX as u64 {
                return Err(TooLarge.into());
            }
            pace.spend(8 * ((all - before) as usize + self.of(row as usize).len() + 1)).await?;
        }
        for column in 0..n {
            starts[column + 1] += starts[column] + 1;
        }
        let (mut next, mut rows) = (starts.clone(), vec![0u32; all as usize]);
        seen.fill(NONE);
        for row in 0..n as u32 {
            let mut found = 1;
            let mut put = |column: usize| {
                rows[next[column] as usize] = row;
                next[column] += 1;
            };
            seen[row as usize] = row;
            put(row as usize);
            for &entry in self.of(row as usize) {
                let mut column = entry as usize;
                while seen[column] != row {
                    seen[column] = row;
                    put(column);
                    found += 1;
                    column = parent[column] as usize;
                }
            }
            pace.spend(8 * (found + self.of(row as usize).len())).await?;
        }
        Ok(Self { starts, rows })
    }
}

/// Whether so many columns, of whose panel this part would be zeros, are worth being together: the fewer they are, the less
/// it is that they lose (as in CHOLMOD: Chen, Davis, Hager & Rajamanickam 2008, section 2.3).
fn is_worth(columns: usize, zeros: f64) -> bool {
    columns <= 4 || columns <= 16 && zeros < 0.8 || columns <= 48 && zeros < 0.1 || zeros < 0.05
}

/// The columns of every panel of a factor.
async fn together(factor: &Columns, pace: &Pace) -> Result<Vec<Range<usize>>, Stopped> {
    // Columns, and entries of the factor that are not zeros.
    let mut panels: Vec<(Range<usize>, usize)> = Vec::new();
    for column in 0..factor.count() {
        let mut own = (column..column + 1, factor.of(column).len());
        while let Some((before, entries)) = panels.last() {
            // Their rows are among this one's if the first one below is.
            if factor.of(before.end - 1).get(1).is_none_or(|&parent| parent as usize != own.0.start) {
                break;
            }
            let both = (before.start..own.0.end, entries + own.1);
            let (width, below) = (both.0.len(), factor.of(column).len() - 1);
            let stored = width * (width + 1) / 2 + width * below;
            if !is_worth(width, 1.0 - both.1 as f64 / stored as f64) {
                break;
            }
            own = both;
            panels.pop();
        }
        panels.push(own);
        pace.spend(32).await?;
    }
    Ok(panels.into_iter().map(|(columns, _)| columns).collect())
}

impl Factorization for LeftLooking {
    async fn new(structure: Structure<'_>, pace: &Pace) -> Result<Self, Unfactorised> {
        let scalars = structure.scalars();
        let matrix = ByColumns::new(structure, &scalars, pace).await?;
        let (lower, mut inverse) = (matrix.structure(), vec![0u32; structure.pattern.scalars as usize]);
        let of_variable = |&variable: &u32| scalars[variable as usize]..scalars[variable as usize + 1];
        (0..).zip(structure.ordering.forward.iter().flat_map(of_variable)).for_each(|(place, scalar)| inverse[scalar as usize] = place);
        let structure = Columns::upper(lower, &inverse, pace).await?.factor(pace).await?;
        let (mut panels, mut rows, mut first, mut panel_of) = (Vec::new(), Vec::new(), 0, Vec::new());
        for columns in together(&structure, pace).await? {
            let begin = rows.len();
            rows.extend(columns.clone().map(|column| column as u32));
            rows.extend(&structure.of(columns.end - 1)[1..]);
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
            places.extend(ordered(lower, &inverse, columns).map(place));
            // A search each.
            pace.spend(32 * (places.len() - before)).await?;
        }
        let mut factor = Vec::with_capacity(first);
        while factor.len() < first {
            factor.resize(first.min(factor.len() + UNIT / 2), 0.0);
            pace.spend(UNIT / 2).await?;
        }
        let scratch = Scratch { place: vec![0; n], product: Vec::new() };
        Ok(Self { matrix, inverse, panels, panel_of, rows, places, factor, scratch })
    }

    async fn factorize(&mut self, system: &System<'_>, pace: &Pace) -> Result<(), Unsolved> {
        self.matrix.fill(system, pace).await?;
        let Self { matrix, panels, panel_of, rows, places, factor, scratch, .. } = self;
        for piece in factor.chunks_mut(UNIT) {
            piece.fill(0.0);
            pace.spend(piece.len() / 2).await?;
        }
        for (places, values) in places.chunks(UNIT / 4).zip(matrix.values().chunks(UNIT / 4)) {
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
    pub fn solved<'a>(&'a self, x: &'a mut [f64], pace: &'a Pace) -> Computed<'a, Result<(), Stopped>> {
        Box::pin(async move {
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
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastwise_base::task::Task;
    use std::collections::BTreeSet;

    /// The factor's columns of a lower triangle, in slices that end at every look at the clock; and how many those were.
    fn sliced(starts: &[u32], rows: &[u32], inverse: &[u32]) -> (Columns, usize) {
        let n = inverse.len();
        let lower = SymbolicSparseColMatRef::new_checked(n, n, starts, None, rows);
        let mut work = Task::new(|pace| async move { Columns::upper(lower, inverse, &pace).await?.factor(&pace).await });
        let mut slices = 1;
        loop {
            match work.resume(f64::NEG_INFINITY) {
                Some(found) => {
                    assert!(work.largest_unit() < 2 * UNIT, "{} operations", work.largest_unit());
                    return (found.unwrap_or_else(|_| panic!("refused")), slices);
                }
                None => slices += 1,
            }
        }
    }

    #[test]
    fn structures_are_those_of_elimination() {
        let mut state = 7u32;
        let mut below = |most: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % most
        };
        for _ in 0..200 {
            let n = 1 + below(40);
            let mut columns: Vec<BTreeSet<usize>> = (0..n).map(|column| BTreeSet::from([column])).collect();
            for _ in 0..below(3 * n + 1) {
                let (a, b) = (below(n), below(n));
                columns[a.min(b)].insert(a.max(b));
            }
            let mut inverse: Vec<u32> = (0..n as u32).collect();
            (1..n).rev().for_each(|place| inverse.swap(place, below(place + 1)));
            let mut starts = vec![0];
            columns.iter().for_each(|rows| starts.push(starts[starts.len() - 1] + rows.len() as u32));
            let rows: Vec<u32> = columns.iter().flatten().map(|&row| row as u32).collect();
            // Eliminating a column links all that are below it.
            let mut wanted: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); n];
            for (column, rows) in columns.iter().enumerate() {
                for &row in rows {
                    let [a, b] = [inverse[row], inverse[column]];
                    wanted[a.min(b) as usize].insert(a.max(b));
                }
            }
            for column in 0..n {
                let below: Vec<u32> = wanted[column].iter().copied().filter(|&row| row > column as u32).collect();
                for (k, &row) in below.iter().enumerate() {
                    wanted[row as usize].extend(&below[k + 1..]);
                }
            }
            let (found, _) = sliced(&starts, &rows, &inverse);
            for (column, wanted) in wanted.iter().enumerate() {
                assert!(found.of(column).iter().eq(wanted), "column {column} of {n}: {:?}, not {wanted:?}", found.of(column));
            }
        }
    }

    #[test]
    fn structures_are_found_in_slices() {
        // An arrow: the first column is next to all others, so that the factor is dense.
        let n = 1500u32;
        let starts: Vec<u32> = (0..=n).map(|column| if column == 0 { 0 } else { n + column - 1 }).collect();
        let rows: Vec<u32> = (0..n).chain(1..n).collect();
        let (found, slices) = sliced(&starts, &rows, &(0..n).collect::<Vec<_>>());
        assert_eq!(found.rows.len(), (n * (n + 1) / 2) as usize);
        assert!(slices > 8, "{slices} slices");
    }
}
