//! The Schur complement: variables that touch no other of their kind are eliminated, one small block each, and what is
//! left is solved by a factor of its own (Triggs et al., "Bundle adjustment — a modern synthesis", section 6.1;
//! Agarwal et al., "Bundle adjustment in the large", 2010).
//!
//! With H + λD = [C Fᵀ; F E], where E is block-diagonal: for every eliminated variable E = LLᵀ and Y = L⁻¹F; then
//! S = C − YᵀY, S x = c − YᵀL⁻¹e, and back, x_e = L⁻ᵀ(L⁻¹e − Yx). Eliminated variables are worked on in pieces, rows
//! of S one by one; each has its own results, so that the bits are the same on any number of threads.

use crate::Computed;
use crate::dense::DenseCholesky;
use crate::elimination::{Elimination, Group, Linked};
use crate::matrix::{BlockMatrix, System, Unsolved, packed};
use crate::sparse::{Ordering, SparseCholesky, Unfactorised};
use leastwise_base::parallel;
use leastwise_base::task::{Pace, Stopped};
use leastwise_cpu::block::{Instructions, SimdKernel};
use leastwise_problem::Pattern;
use std::ops::Range;
use std::sync::Arc;

/// Eliminated variables that a thread takes at a time.
const PIECE: u32 = 256;
/// Unknowns of what is left that are factorised as a whole unless a sparse factor takes a fraction of it; more are when most of the matrix
/// is filled.
const DENSE: u32 = 1500;
const DENSE_WHEN_FULL: u32 = 6000;
/// Multiplications of a whole factor for one of a sparse one that takes as long: it is made of smaller pieces.
const SPARSE: f64 = 8.0;

/// Schur complement: eliminates the variables that no block connects, and factorises the reduced system.
pub struct Schur {
    elimination: Elimination,
    /// S, and its factor.
    reduced: BlockMatrix,
    solver: Reduced,
    factors: Vec<f64>,
    /// L⁻¹e, and Y.
    half: Vec<f64>,
    y: Vec<f64>,
}

/// Solver of what an elimination leaves.
pub enum Reduced {
    /// A factor of the whole matrix, made anew for each system.
    Dense,
    /// A sparse factor.
    Sparse(Box<SparseCholesky>),
}

impl Reduced {
    /// The one that takes less for a structure, where it takes so many multiplications a factor at most.
    pub fn new<'a>(left: &'a Pattern, most: f64, pace: &'a Pace) -> Computed<'a, Result<Self, Refused>> {
        Box::pin(async move {
            let scalars = f64::from(left.scalars);
            let (whole, is_full) = (scalars.powi(3) / 3.0, 2.0 * left.values as f64 > 0.25 * scalars * scalars);
            // Multiplications of a factor are half the squares of its columns' lengths, which are longer than the matrix's.
            let least = (left.values as f64 + scalars).powi(2) / (2.0 * scalars.max(1.0));
            if least > most {
                return Err(Refused::TooLarge);
            }
            if is_full && left.scalars <= DENSE_WHEN_FULL {
                return if whole <= most { Ok(Self::Dense) } else { Err(Refused::TooLarge) };
            }
            let ordering = Ordering::new(left, pace).await?;
            if left.scalars <= DENSE && SPARSE * ordering.work >= whole && whole <= SPARSE * most {
                return Ok(Self::Dense);
            }
            if ordering.work > most {
                return Err(Refused::TooLarge);
            }
            Ok(Self::Sparse(Box::new(SparseCholesky::ordered(left, &ordering, pace).await?)))
        })
    }

    /// `right` becomes the solution.
    pub fn solve<'a>(&'a mut self, left: &'a System<'a>, right: &'a mut [f64], pace: &'a Pace) -> Computed<'a, Result<(), Unsolved>> {
        Box::pin(async move {
            match self {
                Self::Dense => DenseCholesky::new(left, pace).await?.solve(right, pace).await?,
                Self::Sparse(solver) => {
                    solver.factorize(left, pace).await?;
                    solver.solve(right, pace).await?;
                }
            }
            Ok(())
        })
    }
}

/// Why there is no Schur complement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// An instance touches variables of two tables that were to be eliminated, or two variables of one.
    Linked(Linked),
    /// The complement, or what makes it, exceeds its limits.
    TooLarge,
    /// The work was told to end.
    Stopped,
}

impl From<Linked> for Refused {
    fn from(linked: Linked) -> Self {
        Self::Linked(linked)
    }
}

impl From<Unfactorised> for Refused {
    fn from(unfactorised: Unfactorised) -> Self {
        match unfactorised {
            Unfactorised::TooLarge => Self::TooLarge,
            Unfactorised::Stopped => Self::Stopped,
        }
    }
}

impl From<Stopped> for Refused {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// A run of eliminated variables of one group, and where their results go.
struct Piece<'a> {
    group: &'a Group,
    variables: Range<u32>,
    factors: &'a mut [f64],
    half: &'a mut [f64],
    y: &'a mut [f64],
}

impl Schur {
    /// Eliminates tables, given by their numbers in the pattern.
    pub fn new<'a>(pattern: &'a Pattern, tables: &'a [u32], pace: &'a Pace) -> Computed<'a, Result<Self, Refused>> {
        Box::pin(async move {
            let elimination = Elimination::new(pattern, tables, pace).await?;
            let solver = Reduced::new(&elimination.reduced, f64::INFINITY, pace).await?;
            let reduced = BlockMatrix::zero(Arc::new(elimination.reduced.clone()));
            let (factors, half, y) = (vec![0.0; elimination.factors], vec![0.0; elimination.scalars], vec![0.0; elimination.y]);
            Ok(Self { elimination, reduced, solver, factors, half, y })
        })
    }

    /// The structure of what is left.
    pub fn reduced(&self) -> &Pattern {
        &self.elimination.reduced
    }

    /// x = (H + λD)⁻¹ right.
    pub fn solve<'a>(&'a mut self, system: &'a System<'a>, x: &'a mut [f64], pace: &'a Pace) -> Computed<'a, Result<(), Unsolved>> {
        Box::pin(async move {
            self.eliminate(system, pace).await?;
            let mut right = self.reduce(system, pace).await?;
            let pattern = &system.matrix.pattern;
            let mut damping = Vec::with_capacity(right.len());
            for &table in &self.elimination.kept {
                let table = &pattern.tables[table as usize];
                damping.extend(&system.damping[table.scalar as usize..][..(table.count * table.width) as usize]);
            }
            let left = System { matrix: &self.reduced, damping: &damping, right: &right.clone() };
            self.solver.solve(&left, &mut right, pace).await?;
            for (&table, kept) in self.elimination.kept.iter().zip(&self.elimination.reduced.tables) {
                let len = (kept.count * kept.width) as usize;
                x[pattern.tables[table as usize].scalar as usize..][..len].copy_from_slice(&right[kept.scalar as usize..][..len]);
            }
            Ok(self.substitute(pattern, &right, x, pace).await?)
        })
    }

    /// L, L⁻¹e and Y of every eliminated variable.
    async fn eliminate(&mut self, system: &System<'_>, pace: &Pace) -> Result<(), Unsolved> {
        let Self { elimination, factors, half, y, .. } = self;
        let (mut factors, mut half, mut y) = (&mut factors[..], &mut half[..], &mut y[..]);
        let mut pieces = Vec::new();
        for group in &elimination.groups {
            for first in (0..group.count).step_by(PIECE as usize) {
                let variables = first..group.count.min(first + PIECE);
                let (count, width) = (variables.len(), group.width as usize);
                let neighbours = elimination.starts[(group.first + variables.start) as usize] as usize
                    ..elimination.starts[(group.first + variables.end) as usize] as usize;
                let values = elimination.neighbours[neighbours].iter().map(|neighbour| width * elimination.width_of(neighbour)).sum();
                let expect = "the arrays hold all eliminated variables";
                pieces.push(Piece {
                    group,
                    variables,
                    factors: factors.split_off_mut(..count * packed(width, 0)).expect(expect),
                    half: half.split_off_mut(..count * width).expect(expect),
                    y: y.split_off_mut(..values).expect(expect),
                });
            }
        }
        let elimination = &*elimination;
        let definite = parallel::map(
            pieces,
            |piece: &Piece| 4 * piece.y.len() * piece.group.width as usize,
            || (),
            |(), piece| {
                let mut definite = true;
                Instructions::best().run(Eliminate { elimination, system, piece, definite: &mut definite });
                definite
            },
            pace,
        );
        if definite.await?.into_iter().all(|definite| definite) { Ok(()) } else { Err(Unsolved::Singular) }
    }

    /// S without its damping, and its right-hand side.
    async fn reduce(&mut self, system: &System<'_>, pace: &Pace) -> Result<Vec<f64>, Stopped> {
        let elimination = &self.elimination;
        let variables = elimination.reduced.variables();
        let (half, y) = (&self.half, &self.y);
        // The last rows are the longest: those first.
        let rows: Vec<u32> = (0..variables).rev().collect();
        let state = || vec![0u32; variables as usize];
        // Of every eliminated variable that the row meets, the products with half of its neighbours.
        let operations = |row: &u32| {
            let of = |&(eliminated, _): &(u32, u32)| elimination.starts[eliminated as usize + 1] - elimination.starts[eliminated as usize];
            let width = elimination.reduced.tables[elimination.reduced.table_of(*row)].width as usize;
            elimination.incident(*row).iter().map(|incident| of(incident) as usize).sum::<usize>() * 3 * width * width
        };
        let reduce = |places: &mut Vec<u32>, row| {
            let mut result = Row::default();
            Instructions::best().run(ReduceRow { elimination, system, half, y, places, row, result: &mut result });
            result
        };
        let results = parallel::map(rows, operations, state, reduce, pace).await?;
        let reduced = &elimination.reduced;
        let mut right = vec![0.0; reduced.scalars as usize];
        for (row, result) in (0..variables).rev().zip(results) {
            let table = &reduced.tables[reduced.table_of(row)];
            let (variable, width) = (row - table.first, table.width as usize);
            right[table.scalar as usize + variable as usize * width..][..width].copy_from_slice(&result.right);
            let diagonal = &mut self.reduced.diagonal[table.block as usize + variable as usize * packed(width, 0)..];
            for r in 0..width {
                for c in 0..=r {
                    diagonal[packed(r, c)] = result.diagonal[r * width + c];
                }
            }
            let mut values = &result.blocks[..];
            for part in reduced.parts.iter().filter(|part| reduced.tables[part.row as usize].first == table.first) {
                let size = part.size() as usize;
                let range = part.starts[variable as usize] as usize * size..part.starts[variable as usize + 1] as usize * size;
                let (mine, rest) = values.split_at(range.len());
                self.reduced.lower[part.base as usize..][range].copy_from_slice(mine);
                values = rest;
            }
            pace.spend(result.blocks.len()).await?;
        }
        Ok(right)
    }

    /// The eliminated variables, from those that were kept.
    async fn substitute(&self, pattern: &Pattern, kept: &[f64], x: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        let elimination = &self.elimination;
        let mut pieces = Vec::new();
        let mut order: Vec<(u32, u32)> =
            elimination.groups.iter().map(|group| pattern.tables[group.table as usize].scalar).zip(0..).collect();
        order.sort_unstable();
        let (mut rest, mut at) = (x, 0);
        for (_, number) in order {
            let group = &elimination.groups[number as usize];
            let start = pattern.tables[group.table as usize].scalar as usize;
            let expect = "x holds all tables, one after the other";
            rest.split_off_mut(..start - at).expect(expect);
            at = start + (group.count * group.width) as usize;
            for first in (0..group.count).step_by(PIECE as usize) {
                let variables = first..group.count.min(first + PIECE);
                let mine = rest.split_off_mut(..variables.len() * group.width as usize).expect(expect);
                pieces.push((group, variables, mine));
            }
        }
        let neighbours = |group: &Group, variables: &Range<u32>| {
            let [start, end] = [variables.start, variables.end].map(|place| elimination.starts[(group.first + place) as usize]);
            (end - start) as usize
        };
        parallel::map(
            pieces,
            |(group, variables, _): &(&Group, Range<u32>, &mut [f64])| 32 * group.width as usize * neighbours(group, variables),
            || (),
            |(), (group, variables, x): (&Group, Range<u32>, &mut [f64])| {
                let width = group.width as usize;
                for (variable, x) in variables.zip(x.chunks_exact_mut(width)) {
                    x.copy_from_slice(&self.half[group.scalar + variable as usize * width..][..width]);
                    for neighbour in elimination.neighbours_of(group.first + variable) {
                        let table = &elimination.reduced.tables[elimination.reduced.table_of(neighbour.variable)];
                        let other = table.width as usize;
                        let at = table.scalar as usize + (neighbour.variable - table.first) as usize * other;
                        let y = &self.y[neighbour.y as usize..][..width * other];
                        for (x, y) in x.iter_mut().zip(y.chunks_exact(other)) {
                            *x -= y.iter().zip(&kept[at..]).map(|(y, kept)| y * kept).sum::<f64>();
                        }
                    }
                    let factor = &self.factors[group.factor + variable as usize * packed(width, 0)..][..packed(width, 0)];
                    for r in (0..width).rev() {
                        x[r] /= factor[packed(r, r)];
                        for k in 0..r {
                            x[k] -= factor[packed(r, k)] * x[r];
                        }
                    }
                }
            },
            pace,
        )
        .await
        .map(|_| ())
    }
}

/// L, L⁻¹e and Y of a piece.
struct Eliminate<'a, 'b> {
    elimination: &'a Elimination,
    system: &'a System<'a>,
    piece: Piece<'b>,
    definite: &'a mut bool,
}

impl SimdKernel for Eliminate<'_, '_> {
    #[inline(always)]
    fn run(self) {
        let Self { elimination, system, piece, definite } = self;
        let Piece { group, variables, factors, half, y } = piece;
        let table = &system.matrix.pattern.tables[group.table as usize];
        let width = group.width as usize;
        // The variables before may have no neighbours, so this is the first of the piece's, whosoever it is.
        let place = elimination.starts[(group.first + variables.start) as usize] as usize;
        let first = elimination.neighbours.get(place).map_or(0, |neighbour| neighbour.y as usize);
        let own = factors.chunks_exact_mut(packed(width, 0)).zip(half.chunks_exact_mut(width));
        for (variable, (factor, half)) in variables.zip(own) {
            let at = table.scalar as usize + variable as usize * width;
            factor.copy_from_slice(system.matrix.diagonal(table, variable));
            *definite &= cholesky(factor, &system.damping[at..at + width]);
            half.copy_from_slice(&system.right[at..at + width]);
            for r in 0..width {
                for k in 0..r {
                    half[r] -= factor[packed(r, k)] * half[k];
                }
                half[r] /= factor[packed(r, r)];
            }
            for neighbour in elimination.neighbours_of(group.first + variable) {
                let border = &elimination.borders[neighbour.border as usize];
                let other = border.width as usize;
                let y = &mut y[neighbour.y as usize - first..][..width * other];
                let part = &system.matrix.pattern.parts[border.part as usize];
                let block = &system.matrix.lower[part.base as usize + neighbour.block as usize * width * other..][..width * other];
                match (width, other) {
                    (3, 9) => half_solve::<3, 9>(factor, block, border.turned, y, 3, 9),
                    (3, 6) => half_solve::<3, 6>(factor, block, border.turned, y, 3, 6),
                    (3, _) => half_solve::<3, 0>(factor, block, border.turned, y, 3, other),
                    _ => half_solve::<0, 0>(factor, block, border.turned, y, width, other),
                }
            }
        }
    }
}

/// A packed block plus damping becomes its factor; whether it is positive definite.
#[inline(always)]
fn cholesky(block: &mut [f64], damping: &[f64]) -> bool {
    for r in 0..damping.len() {
        for c in 0..=r {
            let mut value = block[packed(r, c)];
            if r == c {
                value += damping[r];
            }
            for k in 0..c {
                value -= block[packed(r, k)] * block[packed(c, k)];
            }
            if r > c {
                block[packed(r, c)] = value / block[packed(c, c)];
            } else if value > 0.0 && value.is_finite() {
                block[packed(r, r)] = value.sqrt();
            } else {
                return false;
            }
        }
    }
    true
}

/// Y = L⁻¹F. Sizes that are not 0 are known when this is compiled.
#[inline(always)]
fn half_solve<const P: usize, const W: usize>(factor: &[f64], block: &[f64], turned: bool, y: &mut [f64], p: usize, w: usize) {
    let (p, w) = (if P > 0 { P } else { p }, if W > 0 { W } else { w });
    let (block, y) = (&block[..p * w], &mut y[..p * w]);
    if turned {
        for r in 0..p {
            for c in 0..w {
                y[r * w + c] = block[c * p + r];
            }
        }
    } else {
        y.copy_from_slice(block);
    }
    for r in 0..p {
        let (above, rest) = y.split_at_mut(r * w);
        let row = &mut rest[..w];
        for k in 0..r {
            let l = factor[packed(r, k)];
            row.iter_mut().zip(&above[k * w..]).for_each(|(entry, above)| *entry -= l * above);
        }
        let inverse = 1.0 / factor[packed(r, r)];
        row.iter_mut().for_each(|entry| *entry *= inverse);
    }
}

/// A row of S: its blocks part by part, its diagonal block whole, its right-hand side.
#[derive(Default)]
struct Row {
    blocks: Vec<f64>,
    diagonal: Vec<f64>,
    right: Vec<f64>,
}

struct ReduceRow<'a> {
    elimination: &'a Elimination,
    system: &'a System<'a>,
    half: &'a [f64],
    y: &'a [f64],
    /// For every kept variable, where its block is in the row.
    places: &'a mut [u32],
    row: u32,
    result: &'a mut Row,
}

impl SimdKernel for ReduceRow<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { elimination, system, half, y, places, row, result } = self;
        let (matrix, reduced) = (system.matrix, &elimination.reduced);
        let number = reduced.table_of(row);
        let (table, full) = (&reduced.tables[number], &matrix.pattern.tables[elimination.kept[number] as usize]);
        let (variable, width) = (row - table.first, table.width as usize);
        let at = full.scalar as usize + variable as usize * width;
        let mut right = system.right[at..at + width].to_vec();
        let own = matrix.diagonal(full, variable);
        let mut diagonal: Vec<f64> =
            (0..width * width).map(|k| (k / width, k % width)).map(|(r, c)| own[packed(r.max(c), r.min(c))]).collect();
        let mut blocks: Vec<f64> = Vec::new();
        for (part, (origin, origins)) in reduced.parts.iter().zip(&elimination.origins).filter(|(part, _)| part.row as usize == number) {
            let size = part.size() as usize;
            let first = reduced.tables[part.column as usize].first;
            for (block, column) in part.row(variable) {
                places[(first + column) as usize] = blocks.len() as u32;
                match (origin, origins[block as usize]) {
                    (Some(origin), Some(known)) => {
                        let base = matrix.pattern.parts[*origin as usize].base as usize;
                        blocks.extend(&matrix.lower[base + known as usize * size..][..size]);
                    }
                    _ => blocks.resize(blocks.len() + size, 0.0),
                }
            }
        }
        for &(eliminated, place) in elimination.incident(row) {
            let neighbours = elimination.neighbours_of(eliminated);
            let own = &elimination.neighbours[place as usize];
            let before = (place - elimination.starts[eliminated as usize]) as usize;
            let group = elimination.group_of(eliminated);
            let p = group.width as usize;
            let half = &half[group.scalar + (eliminated - group.first) as usize * p..][..p];
            let mine = &y[own.y as usize..][..p * width];
            for (half, mine) in half.iter().zip(mine.chunks_exact(width)) {
                right.iter_mut().zip(mine).for_each(|(right, mine)| *right -= mine * half);
            }
            for other in &neighbours[..before] {
                let to = &mut blocks[places[other.variable as usize] as usize..];
                subtract(to, mine, &y[other.y as usize..], p, width, elimination.width_of(other));
            }
            subtract(&mut diagonal, mine, mine, p, width, width);
        }
        *result = Row { blocks, diagonal, right };
    }
}

/// to −= aᵀb, for p rows of a and b.
#[inline(always)]
fn subtract(to: &mut [f64], a: &[f64], b: &[f64], p: usize, rows: usize, columns: usize) {
    match (p, rows, columns) {
        (3, 9, 9) => subtract_sized::<3, 9, 9>(to, a, b, 3, 9, 9),
        (3, 6, 6) => subtract_sized::<3, 6, 6>(to, a, b, 3, 6, 6),
        (3, ..) => subtract_sized::<3, 0, 0>(to, a, b, 3, rows, columns),
        _ => subtract_sized::<0, 0, 0>(to, a, b, p, rows, columns),
    }
}

#[inline(always)]
fn subtract_sized<const P: usize, const R: usize, const C: usize>(
    to: &mut [f64],
    a: &[f64],
    b: &[f64],
    p: usize,
    rows: usize,
    columns: usize,
) {
    let (p, rows, columns) = (if P > 0 { P } else { p }, if R > 0 { R } else { rows }, if C > 0 { C } else { columns });
    let (to, a, b) = (&mut to[..rows * columns], &a[..p * rows], &b[..p * columns]);
    for r in 0..rows {
        let row = &mut to[r * columns..(r + 1) * columns];
        for c in 0..columns {
            let mut sum = 0.0;
            for k in 0..p {
                sum += a[k * rows + r] * b[k * columns + c];
            }
            row[c] -= sum;
        }
    }
}
