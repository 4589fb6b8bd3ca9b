//! (JᵀWJ)⁻¹ of many unknowns, by a sparse Cholesky factor: columns by solving with unit vectors, or the blocks that a factor
//! has places for by its [`Subset`].
//!
//! The matrix is scaled to a diagonal of ones. What no residual sees, or next to nothing, is found by inverse iteration with
//! JᵀWJ + μI, a block of vectors at a time: a direction n counts as unseen where nᵀHn is what rounding makes of 0. Then as
//! many unknowns as there are such directions are held, those that are told apart best, which gives an inverse G on the
//! rest; (I − NNᵀ)G(I − NNᵀ) is the pseudo-inverse.

use super::super::linear::left_looking::LeftLooking;
use super::super::linear::matrix::{BlockMatrix, Singular, System, packed};
use super::super::linear::sparse::{SparseCholesky, TooLarge};
use super::jacobi::{dot, length, orthogonalise, orthonormal};
use super::subset::Subset;

/// Directions that are looked for at first, and at most; and rounds of inverse iteration.
const FIRST: usize = 8;
pub const MOST: usize = 64;
const ROUNDS: usize = 4;

pub struct Sparse {
    cholesky: SparseCholesky<LeftLooking>,
    /// D⁻¹ of the scaled matrix D⁻¹HD⁻¹; 0 for what may not move.
    inverse: Vec<f64>,
    subset: Option<Subset>,
    /// N, GN and NᵀGN.
    null: Vec<Vec<f64>>,
    across: Vec<Vec<f64>>,
    along: Vec<Vec<f64>>,
}

/// Why there is no inverse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// More directions than are looked for.
    TooMany,
    /// Not positive definite, for all that was found.
    Singular,
    TooLarge,
}

impl From<Singular> for Refused {
    fn from(_: Singular) -> Self {
        Self::Singular
    }
}

impl From<TooLarge> for Refused {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

impl Sparse {
    /// Of a matrix; and an orthonormal basis of what no residual sees, of what some residual touches.
    pub fn new(matrix: &BlockMatrix, free: &[bool], tolerance: f64) -> Result<(Self, Vec<Vec<f64>>), Refused> {
        let mut inverse: Vec<f64> = diagonal(matrix).into_iter().map(|value| if value > 0.0 { 1.0 / value.sqrt() } else { 0.0 }).collect();
        inverse.iter_mut().zip(free).filter(|(_, free)| !**free).for_each(|(value, _)| *value = 0.0);
        let mut scaled = matrix.clone();
        scale(&mut scaled, &inverse);
        let mut cholesky = SparseCholesky::<LeftLooking>::new(&matrix.pattern)?;
        let unseen = null_space(&scaled, &inverse, &mut cholesky, tolerance)?;
        // Ĥ n̂ = 0 of Ĥ = D⁻¹HD⁻¹ is Hn = 0 of n = D⁻¹n̂.
        let unscaled = unseen.iter().map(|direction| direction.iter().zip(&inverse).map(|(n, scale)| n * scale).collect());
        let null = orthonormal(unscaled.collect());
        for held in told_apart(&unseen) {
            inverse[held] = 0.0;
        }
        let mask: Vec<f64> = inverse.iter().map(|&value| f64::from(u8::from(value > 0.0))).collect();
        scaled.mask(&mask);
        let none = vec![0.0; inverse.len()];
        cholesky.factorize(&System { matrix: &scaled, damping: &none, right: &none })?;
        let mut sparse = Self { cholesky, inverse, subset: None, across: Vec::new(), along: Vec::new(), null: null.clone() };
        sparse.across = null.iter().map(|direction| sparse.solved(direction.clone())).collect();
        sparse.along = null.iter().map(|n| sparse.across.iter().map(|gn| dot(n, gn)).collect()).collect();
        Ok((sparse, null))
    }

    /// G x.
    fn solved(&mut self, mut x: Vec<f64>) -> Vec<f64> {
        x.iter_mut().zip(&self.inverse).for_each(|(x, scale)| *x *= scale);
        self.cholesky.solve(&mut x);
        x.iter_mut().zip(&self.inverse).for_each(|(x, scale)| *x *= scale);
        x
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
    pub fn make_subset(&mut self) {
        if self.subset.is_none() {
            self.subset = Some(Subset::new(self.cholesky.factorization()));
        }
    }

    /// A column of G.
    pub fn column(&mut self, column: usize) -> Vec<f64> {
        let mut unit = vec![0.0; self.inverse.len()];
        unit[column] = 1.0;
        self.solved(unit)
    }

    /// An entry of G, if it is among those that are known.
    pub fn known(&self, row: usize, column: usize) -> Option<f64> {
        let value = self.subset.as_ref()?.at(self.cholesky.factorization(), row, column)?;
        Some(value * self.inverse[row] * self.inverse[column])
    }

    /// What makes an entry of the pseudo-inverse of one of G.
    pub fn correction(&self, row: usize, column: usize) -> f64 {
        let mut sum = 0.0;
        for (a, n) in self.null.iter().enumerate() {
            sum -= n[row] * self.across[a][column] + self.across[a][row] * n[column];
            sum += self.null.iter().zip(&self.along[a]).map(|(other, along)| n[row] * along * other[column]).sum::<f64>();
        }
        sum
    }
}

/// The diagonal, scalar by scalar.
pub fn diagonal(matrix: &BlockMatrix) -> Vec<f64> {
    let tables = matrix.pattern.tables.iter();
    let of_table = tables.flat_map(|table| (0..table.count).map(move |variable| (table, variable)));
    of_table.flat_map(|(table, variable)| (0..table.width as usize).map(move |k| matrix.diagonal(table, variable)[packed(k, k)])).collect()
}

/// H becomes D⁻¹HD⁻¹, and the identity where D⁻¹ is 0.
fn scale(matrix: &mut BlockMatrix, inverse: &[f64]) {
    let BlockMatrix { pattern, diagonal, lower } = matrix;
    for table in &pattern.tables {
        let width = table.width as usize;
        for variable in 0..table.count as usize {
            let own = &inverse[table.scalar as usize + variable * width..][..width];
            let block = &mut diagonal[table.block as usize + variable * packed(width, 0)..];
            for r in 0..width {
                for c in 0..=r {
                    block[packed(r, c)] *= own[r] * own[c];
                }
            }
        }
    }
    for part in &pattern.parts {
        let [rows, columns] = [part.row, part.column].map(|number| &pattern.tables[number as usize]);
        let (height, width) = (part.rows as usize, part.width as usize);
        for variable in 0..rows.count {
            let above = &inverse[rows.scalar as usize + variable as usize * height..][..height];
            for (block, column) in part.row(variable) {
                let across = &inverse[columns.scalar as usize + column as usize * width..][..width];
                let values = &mut lower[part.base as usize + block as usize * height * width..][..height * width];
                values.iter_mut().enumerate().for_each(|(place, value)| *value *= above[place / width] * across[place % width]);
            }
        }
    }
    let mask: Vec<f64> = inverse.iter().map(|&value| f64::from(u8::from(value > 0.0))).collect();
    matrix.mask(&mask);
}

/// Orthonormal directions n of the scaled matrix with nᵀHn next to 0.
fn null_space(
    matrix: &BlockMatrix,
    inverse: &[f64],
    cholesky: &mut SparseCholesky<LeftLooking>,
    tolerance: f64,
) -> Result<Vec<Vec<f64>>, Refused> {
    let movable = inverse.iter().filter(|scale| **scale > 0.0).count();
    // The same numbers in every run (Park & Miller 1988).
    let mut state = 1u64;
    let mut vector = || -> Vec<f64> {
        let mut next = || {
            state = state * 48_271 % 2_147_483_647;
            state as f64 / 2_147_483_647.0 - 0.5
        };
        inverse.iter().map(|&scale| if scale > 0.0 { next() } else { 0.0 }).collect()
    };
    let product = |x: &[f64]| {
        let mut y = vec![0.0; x.len()];
        matrix.multiply(x, &mut y);
        y
    };
    let mut largest = 1.0;
    let mut x = vector();
    for _ in 0..10 {
        let size = length(&x).max(f64::MIN_POSITIVE);
        x.iter_mut().for_each(|x| *x /= size);
        x = product(&x);
        largest = length(&x).max(1.0);
    }
    let none = vec![0.0; inverse.len()];
    let shifted = [1e-12, 1e-10, 1e-8].into_iter().any(|shift| {
        let damping = vec![shift * largest; inverse.len()];
        cholesky.factorize(&System { matrix, damping: &damping, right: &none }).is_ok()
    });
    if !shifted {
        return Err(Refused::Singular);
    }
    let unseen = largest * (tolerance * tolerance).max(32.0 * f64::EPSILON);
    let mut count = FIRST;
    loop {
        let mut basis = orthonormal((0..count.min(movable)).map(|_| vector()).collect());
        for _ in 0..ROUNDS {
            basis.iter_mut().for_each(|x| {
                cholesky.solve(x);
                x.iter_mut().zip(inverse).filter(|(_, scale)| **scale == 0.0).for_each(|(x, _)| *x = 0.0);
            });
            basis = orthonormal(basis);
        }
        let products: Vec<Vec<f64>> = basis.iter().map(|x| product(x)).collect();
        let mut projected: Vec<Vec<f64>> = products.iter().map(|y| basis.iter().map(|x| dot(x, y)).collect()).collect();
        let turn = orthogonalise(&mut projected);
        let flat = turn.iter().zip(&projected).filter(|(_, column)| length(column) <= unseen).map(|(turn, _)| {
            let mut direction = vec![0.0; inverse.len()];
            for (x, by) in basis.iter().zip(turn) {
                direction.iter_mut().zip(x).for_each(|(sum, x)| *sum += by * x);
            }
            direction
        });
        let flat: Vec<Vec<f64>> = flat.collect();
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
fn told_apart(directions: &[Vec<f64>]) -> Vec<usize> {
    let mut left = directions.to_vec();
    let mut held = Vec::new();
    while !left.is_empty() {
        let entries =
            left.iter().enumerate().flat_map(|(k, direction)| direction.iter().enumerate().map(move |(row, value)| (k, row, value.abs())));
        let (k, row, _) = entries.fold((0, 0, -1.0), |best, entry| if entry.2 > best.2 { entry } else { best });
        let pivot = left.swap_remove(k);
        for other in &mut left {
            let by = other[row] / pivot[row];
            other.iter_mut().zip(&pivot).for_each(|(value, pivot)| *value -= by * pivot);
        }
        held.push(row);
    }
    held
}
