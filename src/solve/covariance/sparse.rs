//! (JᵀWJ)⁻¹ of many unknowns, by a sparse Cholesky factor: columns by solving with unit vectors, or the blocks that a factor
//! has places for by its [`Subset`].
//!
//! The matrix is scaled to a diagonal of ones. What no residual sees, or next to nothing, is found by inverse iteration with
//! JᵀWJ + μI, a block of vectors at a time: a direction n counts as unseen where nᵀHn is what rounding makes of 0. Then as
//! many unknowns as there are such directions are held, those that are told apart best, which gives an inverse G on the
//! rest; (I − NNᵀ)G(I − NNᵀ) is the pseudo-inverse.

use super::equalities::{Equalities, Independent, RangeSpace};
use super::jacobi::{add, dot, length, orthogonalise, orthonormal, scale, unit};
use super::subset::Subset;
use leastwise_base::task::{Pace, Stopped};
use leastwise_linear::left_looking::LeftLooking;
use leastwise_linear::matrix::{BlockMatrix, System, Unsolved, packed};
use leastwise_linear::sparse::{Ordering, SparseCholesky, TooLarge, Unfactorised};
use std::sync::OnceLock;

/// Directions that are looked for at first, and at most; and rounds of inverse iteration.
const FIRST: usize = 8;
pub const MOST: usize = 64;
const ROUNDS: usize = 4;

/// Part of a variance that subtracting what rows take away leaves with enough digits.
const ENOUGH: f64 = 1e-6;
/// Part of a variance that rounding leaves of 0 after projections: the square of that of a deviation.
const ROUNDING: f64 = 1e-26;

/// Entries of a factor at most: in a page memory ends early.
const MOST_ENTRIES: f64 = if cfg!(target_arch = "wasm32") { 1e8 } else { 2e9 };

pub struct Sparse {
    cholesky: SparseCholesky<LeftLooking>,
    /// D⁻¹ of the scaled matrix D⁻¹HD⁻¹; 0 for what may not move.
    inverse: Vec<f64>,
    subset: OnceLock<Subset>,
    /// N, GN and NᵀGN.
    null: Vec<Vec<f64>>,
    across: Vec<Vec<f64>>,
    along: Vec<Vec<f64>>,
    /// The part that equalities take away: L⁻¹AG of (AGAᵀ) = LLᵀ, a row for each unknown, of so many values.
    taken: Vec<f64>,
    rank: usize,
    /// These equalities, and what solves with AGAᵀ.
    held: Option<(Equalities, RangeSpace)>,
    /// True for unknowns that their structure holds; none without equalities.
    at_rest: Vec<bool>,
}

/// Why there is no inverse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// More directions than are looked for.
    TooMany,
    /// Not positive definite, for all that was found.
    Singular,
    TooLarge,
    /// More rows of constraints, so many, than beside a sparse factor.
    TooManyRows(usize),
    /// The work was told to end.
    Stopped,
}

impl From<Unsolved> for Refused {
    fn from(unsolved: Unsolved) -> Self {
        match unsolved {
            Unsolved::Singular => Self::Singular,
            Unsolved::Stopped => Self::Stopped,
            Unsolved::OutOfMemory(_) => Self::TooLarge,
        }
    }
}

impl From<Stopped> for Refused {
    fn from(_: Stopped) -> Self {
        Self::Stopped
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

impl From<TooLarge> for Refused {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

impl Sparse {
    /// Of a matrix; and an orthonormal basis of what no residual sees, of what some residual touches.
    pub async fn new(mut matrix: BlockMatrix, free: &[bool], tolerance: f64, pace: &Pace) -> Result<(Self, Vec<Vec<f64>>), Refused> {
        if Ordering::new(&matrix.pattern, pace).await?.fill > MOST_ENTRIES {
            return Err(Refused::TooLarge);
        }
        let mut inverse = diagonal(&matrix);
        for (value, &free) in inverse.iter_mut().zip(free) {
            *value = if free && *value > 0.0 { 1.0 / value.sqrt() } else { 0.0 };
        }
        rescale(&mut matrix, &inverse, pace).await?;
        let mut cholesky = SparseCholesky::<LeftLooking>::made(&matrix.pattern, pace).await?;
        let unseen = null_space(&matrix, &inverse, &mut cholesky, tolerance, &pace.part(0.0..0.6)).await?;
        // Ĥ n̂ = 0 of Ĥ = D⁻¹HD⁻¹ is Hn = 0 of n = D⁻¹n̂.
        let mut null = unseen.clone();
        null.iter_mut().for_each(|direction| scale(direction, &inverse));
        let null = orthonormal(null, pace).await?;
        for held in told_apart(unseen) {
            inverse[held] = 0.0;
        }
        hold(&mut matrix, &inverse, pace).await?;
        let none = vec![0.0; inverse.len()];
        cholesky.factorized(&System { matrix: &matrix, damping: &none, right: &none }, &pace.part(0.6..1.0)).await?;
        let mut sparse = Self {
            cholesky,
            inverse,
            subset: OnceLock::new(),
            across: Vec::new(),
            along: Vec::new(),
            null: null.clone(),
            taken: Vec::new(),
            rank: 0,
            held: None,
            at_rest: Vec::new(),
        };
        for direction in &null {
            let solved = sparse.solved(direction.clone(), pace).await?;
            sparse.across.push(solved);
        }
        sparse.along = null.iter().map(|n| sparse.across.iter().map(|gn| dot(n, gn)).collect()).collect();
        Ok((sparse, null))
    }

    /// Unknowns, free or not.
    pub fn unknowns(&self) -> usize {
        self.inverse.len()
    }

    /// Holds Ax = 0: the inverse is that on the null space from here on. Gives the rows of A that are independent.
    pub async fn hold(&mut self, equalities: &Equalities, pace: &Pace) -> Result<Independent, Refused> {
        let unknowns = self.inverse.len();
        let (range, columns) = RangeSpace::new(equalities, self, unknowns, true, pace).await?;
        self.rank = columns.len();
        for unknown in 0..unknowns {
            self.taken.extend(range.forward(columns.iter().map(|column| column[unknown])));
            pace.spend(2 * self.rank * self.rank + 1).await?;
        }
        let step = self.solve(&equalities.across(&range.solve(&equalities.values()), unknowns), pace).await?;
        let pivots = range.pivots.clone();
        self.at_rest = equalities.held(&pivots, unknowns);
        self.held = Some((equalities.clone(), range));
        Ok(Independent { pivots, step })
    }

    /// G x.
    async fn solved(&self, mut x: Vec<f64>, pace: &Pace) -> Result<Vec<f64>, Stopped> {
        scale(&mut x, &self.inverse);
        self.cholesky.factorization().solved(&mut x, pace).await?;
        scale(&mut x, &self.inverse);
        Ok(x)
    }

    /// The pseudo-inverse's product with a vector.
    pub async fn solve(&self, x: &[f64], pace: &Pace) -> Result<Vec<f64>, Stopped> {
        let across = |x: &mut Vec<f64>| {
            for n in &self.null {
                let along = dot(n, x);
                add(x, -along, n);
            }
        };
        let mut x = x.to_vec();
        across(&mut x);
        let mut y = self.solved(x, pace).await?;
        across(&mut y);
        Ok(y)
    }

    /// Operations of a solve with one vector, and of a subset, about.
    pub fn work(&self) -> (f64, f64) {
        let factor = self.cholesky.factorization();
        let subset = factor.panels().iter().map(|panel| {
            let (width, height) = (panel.columns.len() as f64, factor.rows(panel).len() as f64);
            2.0 * width * ((height - width).powi(2) + width * height)
        });
        (4.0 * factor.values().len() as f64, subset.sum())
    }

    /// Has all blocks that the factor has places for.
    pub async fn make_subset(&self, pace: &Pace) -> Result<(), Stopped> {
        if self.subset.get().is_none() {
            // Somebody else may have been as fast.
            let _ = self.subset.set(Subset::new(self.cholesky.factorization(), pace).await?);
        }
        Ok(())
    }

    /// A column of G.
    pub async fn column(&self, column: usize, pace: &Pace) -> Result<Vec<f64>, Stopped> {
        self.solved(unit(self.inverse.len(), column), pace).await
    }

    /// An entry of G, if it is among those that are known.
    pub fn known(&self, row: usize, column: usize) -> Option<f64> {
        let value = self.subset.get()?.at(self.cholesky.factorization(), row, column)?;
        Some(value * self.inverse[row] * self.inverse[column])
    }

    /// An entry of the pseudo-inverse, of one of G.
    pub fn corrected(&self, entry: f64, row: usize, column: usize) -> f64 {
        let mut sum = entry - self.taken(row, column);
        for (a, n) in self.null.iter().enumerate() {
            sum -= n[row] * self.across[a][column] + self.across[a][row] * n[column];
            sum += self.null.iter().zip(&self.along[a]).map(|(other, along)| n[row] * along * other[column]).sum::<f64>();
        }
        sum
    }

    /// The part of an entry that rows take away.
    fn taken(&self, row: usize, column: usize) -> f64 {
        let [row, column] = [row, column].map(|unknown| &self.taken[unknown * self.rank..][..self.rank]);
        dot(row, column)
    }

    /// True for an unknown that rows hold by their structure: its variance and covariances are 0.
    pub fn is_at_rest(&self, unknown: usize) -> bool {
        self.at_rest.get(unknown) == Some(&true)
    }

    /// True if rows take nearly all of a diagonal entry of G: the difference has too few digits.
    pub fn is_taken(&self, entry: f64, unknown: usize) -> bool {
        let by_rows = self.taken(unknown, unknown);
        by_rows > 0.0 && self.corrected(entry, unknown, unknown) <= ENOUGH * by_rows
    }

    /// A column of the inverse on Ax = 0, which projections keep the digits of: z = Gw, w = e − Aᵀy with AGw = 0. A second projection is
    /// one of what the first has left, beside which its rounding is small (Parlett, *The Symmetric Eigenvalue Problem*, 1980, section 6.9).
    /// What rows hold is 0: wᵀGw, which no projection makes larger, says so after the first.
    pub async fn projected(&self, unknown: usize, pace: &Pace) -> Result<Vec<f64>, Stopped> {
        let mut w = unit(self.inverse.len(), unknown);
        let mut z = self.solve(&w, pace).await?;
        let Some((equalities, range)) = &self.held else { return Ok(z) };
        for _ in 0..2 {
            let y = range.solve(&equalities.along(&z));
            let across = equalities.across(&y, w.len());
            add(&mut w, -1.0, &across);
            z = self.solve(&w, pace).await?;
            pace.spend(2 * self.rank * self.rank).await?;
            z[unknown] = dot(&w, &z);
            if z[unknown] < ROUNDING * self.taken(unknown, unknown) {
                z.fill(0.0);
                break;
            }
        }
        Ok(z)
    }
}

/// The diagonal, scalar by scalar.
pub fn diagonal(matrix: &BlockMatrix) -> Vec<f64> {
    let mut diagonal = Vec::with_capacity(matrix.pattern.scalars as usize);
    for table in &matrix.pattern.tables {
        for variable in 0..table.count {
            let block = matrix.diagonal(table, variable);
            diagonal.extend((0..table.width as usize).map(|k| block[packed(k, k)]));
        }
    }
    diagonal
}

/// Rows and columns where D⁻¹ is 0 become those of the identity.
async fn hold(matrix: &mut BlockMatrix, inverse: &[f64], pace: &Pace) -> Result<(), Stopped> {
    let mask: Vec<f64> = inverse.iter().map(|&value| f64::from(u8::from(value > 0.0))).collect();
    matrix.mask(&mask, pace).await
}

/// H becomes D⁻¹HD⁻¹, and the identity where D⁻¹ is 0.
async fn rescale(matrix: &mut BlockMatrix, inverse: &[f64], pace: &Pace) -> Result<(), Stopped> {
    matrix.change(|r, c, value| value * (inverse[r] * inverse[c]), pace).await?;
    hold(matrix, inverse, pace).await
}

/// Orthonormal directions n of the scaled matrix with nᵀHn next to 0.
async fn null_space(
    matrix: &BlockMatrix,
    inverse: &[f64],
    cholesky: &mut SparseCholesky<LeftLooking>,
    tolerance: f64,
    pace: &Pace,
) -> Result<Vec<Vec<f64>>, Refused> {
    let movable = inverse.iter().filter(|scale| **scale > 0.0).count();
    // The same numbers in every run (Park & Miller 1988).
    let mut state = 1u64;
    let mut vector = || {
        let mut x = vec![0.0; inverse.len()];
        for (x, _) in x.iter_mut().zip(inverse).filter(|(_, scale)| **scale > 0.0) {
            state = state * 48_271 % 2_147_483_647;
            *x = state as f64 / 2_147_483_647.0 - 0.5;
        }
        x
    };
    let mut y = vec![0.0; inverse.len()];
    let (mut x, mut largest) = (vector(), 1.0f64);
    for _ in 0..10 {
        let size = length(&x).max(f64::MIN_POSITIVE);
        x.iter_mut().for_each(|x| *x /= size);
        matrix.multiply_in_slices(&x, &mut y, pace).await?;
        std::mem::swap(&mut x, &mut y);
        largest = length(&x).max(1.0);
    }
    let mut shift = 1e-12 * largest;
    loop {
        let shifted = System { matrix, damping: &vec![shift; inverse.len()], right: &y };
        match cholesky.factorized(&shifted, &pace.part(0.0..0.6)).await {
            Ok(()) => break,
            Err(Unsolved::Singular) if 100.0 * shift < 1e-6 * largest => shift *= 100.0,
            Err(unsolved) => return Err(unsolved.into()),
        }
    }
    let unseen = largest * (tolerance * tolerance).max(32.0 * f64::EPSILON);
    let mut count = FIRST;
    loop {
        let mut basis = orthonormal((0..count.min(movable)).map(|_| vector()).collect(), pace).await?;
        for round in 0..ROUNDS {
            pace.part(0.6..1.0).tell(round, ROUNDS);
            for x in &mut basis {
                cholesky.factorization().solved(x, pace).await?;
                x.iter_mut().zip(inverse).filter(|(_, scale)| **scale == 0.0).for_each(|(x, _)| *x = 0.0);
            }
            basis = orthonormal(basis, pace).await?;
        }
        let mut projected: Vec<Vec<f64>> = Vec::new();
        for x in &basis {
            matrix.multiply_in_slices(x, &mut y, pace).await?;
            projected.push(basis.iter().map(|x| dot(x, &y)).collect());
            pace.spend(2 * basis.len() * y.len()).await?;
        }
        let right = orthogonalise(&mut projected, pace).await?;
        let mut flat = Vec::new();
        for (turn, _) in right.iter().zip(&projected).filter(|(_, column)| length(column) <= unseen) {
            let mut direction = vec![0.0; inverse.len()];
            basis.iter().zip(turn).for_each(|(x, by)| add(&mut direction, *by, x));
            flat.push(direction);
            pace.spend(2 * basis.len() * inverse.len()).await?;
        }
        if flat.len() < count || count >= movable {
            return Ok(flat);
        }
        if count >= MOST {
            return Err(Refused::TooMany);
        }
        count *= 2;
    }
}

/// As many unknowns as there are directions, such that holding them leaves none of these: by elimination, largest entries
/// first.
fn told_apart(mut left: Vec<Vec<f64>>) -> Vec<usize> {
    let mut held = Vec::new();
    while !left.is_empty() {
        let (mut best, mut place) = (0, 0);
        for (k, direction) in left.iter().enumerate() {
            for (row, value) in direction.iter().enumerate() {
                if value.abs() > left[best][place].abs() {
                    (best, place) = (k, row);
                }
            }
        }
        let pivot = left.swap_remove(best);
        for other in &mut left {
            let by = -other[place] / pivot[place];
            add(other, by, &pivot);
        }
        held.push(place);
    }
    held
}
