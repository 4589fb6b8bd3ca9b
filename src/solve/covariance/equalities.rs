//! Equality constraints of a covariance, or of a gradient through a solve: rows of A = ∂c/∂x, and what solves with them.
//!
//! A quadratic model with the matrix H, on Ax = 0, has the inverse Z (ZᵀHZ)⁻¹Zᵀ, with a basis Z of the null space of A: the (1, 1) block
//! of the inverse of [H Aᵀ; A 0] (Nocedal & Wright, *Numerical Optimization*, 2nd ed. 2006, sections 16.1 and 16.2). Of few unknowns Z
//! comes of a factorisation AᵀΠ = QR with pivoting ([`RowSpace`]). Of many, a sparse factor of G⁻¹ = H + AᵀEA, of which the inverse on
//! Ax = 0 is the same whatever E ≥ 0 is, gives it as G − GAᵀ(AGAᵀ)⁻¹AG ([`RangeSpace`]).
//!
//! Rows that depend on others are found by pivoting, and left out: they change nothing.

use super::jacobi::{add, dot, length, scale, unit};
use super::sparse::{Refused, Sparse};
use leastwise_base::task::{Pace, Stopped};
use leastwise_linear::matrix::{BlockMatrix, packed};
use leastwise_problem::Pattern;
use std::collections::HashMap;
use std::sync::Arc;

/// A row of A that counts.
#[derive(Clone, Debug)]
pub struct EqualityRow {
    /// Number of the constraint's term.
    pub term: u32,
    /// Row among all of the term.
    pub place: u32,
    /// Unknowns, counted over all tables without gaps and ascending, with ∂c/∂x.
    pub entries: Vec<(u32, f64)>,
    /// c
    pub value: f64,
    /// Scale k.
    pub scale: f64,
    /// wk², with the row's weight w.
    pub stiffness: f64,
    /// λ
    pub multiplier: f64,
    /// True for a row c ≤ 0, which may only touch.
    pub is_inequality: bool,
}

/// Constraints at a point: equalities, and inequalities that hold with equality.
#[derive(Clone, Debug, Default)]
pub struct Equalities {
    /// Rows of A.
    pub rows: Vec<EqualityRow>,
    /// A row of which no more than this part is its own depends on others.
    pub tolerance: f64,
    /// Part of what a component of the gradient is made of that rounding may be.
    pub rounding: f64,
    /// Largest violation of all constraints.
    pub violation: f64,
}

/// The least pivot of AGAᵀ, scaled to a diagonal of ones: in f64 this, and the square of the rows' tolerance where that is more.
const LEAST_PIVOT: f64 = 1e-10;
/// Part of a diagonal entry that stays, at least, where a negative one is stiffened: less is what rounding makes of 0.
const LEAST_STIFFENED: f64 = 0.1;
/// Rows beside a sparse factor: their matrix is whole. And values of GAᵀ where it is kept.
pub const MOST_ROWS: usize = 4096;
pub const MOST_VALUES: usize = if cfg!(target_arch = "wasm32") { 1 << 24 } else { 1 << 27 };

impl Equalities {
    /// The rows without inequalities that only touch: those are of the free side.
    ///
    /// An inequality holds if its λ|∂c/∂xₖ| is above rounding for one xₖ that may move. The gradient there is made of the largest
    /// λ|∂c/∂xₖ| of all rows and Hₖₖ|x|, what the cost's gradient is when x moves by itself.
    pub fn settled(mut self, diagonal: &[f64], free: &[bool], sizes: &[f64]) -> Self {
        let mut made: Vec<f64> = diagonal.iter().zip(sizes).map(|(diagonal, size)| diagonal.abs() * size).collect();
        for row in &self.rows {
            row.entries.iter().for_each(|&(unknown, slope)| {
                let made = &mut made[unknown as usize];
                *made = made.max((row.multiplier * slope).abs());
            });
        }
        let (rounding, mut violation) = (self.rounding, self.violation);
        self.rows.retain(|row| {
            let mut movable = row.entries.iter().filter(|(unknown, _)| free[*unknown as usize]).peekable();
            let is_above = |&(unknown, slope): &(u32, f64)| (row.multiplier * slope).abs() > rounding * made[unknown as usize];
            let holds = !row.is_inequality || movable.peek().is_none() || movable.any(is_above);
            violation = violation.max(if holds { row.value.abs() } else { row.value });
            holds
        });
        Self { violation, ..self }
    }

    /// Numbers of dependent rows that no x meets together with the others, of a model in which s is a step that meets those.
    pub fn contradicting(&self, pivots: &[usize], s: &[f64], sizes: &[f64]) -> u32 {
        let lengths: Vec<f64> = self.rows.iter().map(EqualityRow::length).collect();
        let apart = self.rows.iter().zip(&lengths).filter(|(_, length)| **length > 0.0).map(|(row, length)| row.value.abs() / length);
        let farthest = apart.fold(0.0, f64::max);
        let mut is_pivot = vec![false; self.rows.len()];
        pivots.iter().for_each(|&pivot| is_pivot[pivot] = true);
        let contradicts = |((row, length), is_pivot): &((&EqualityRow, &f64), bool)| {
            let size = farthest.max(row.largest(sizes)) + self.tolerance;
            // A row without slopes has no length to be compared with.
            let most = if **length > 0.0 { self.tolerance * **length * size } else { self.tolerance };
            !is_pivot && (row.along(s) - row.value).abs() > most
        };
        self.rows.iter().zip(&lengths).zip(is_pivot).filter(contradicts).count() as u32
    }

    /// A x
    pub fn along(&self, x: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| row.along(x)).collect()
    }

    /// Aᵀ y, over so many unknowns.
    pub fn across(&self, y: &[f64], unknowns: usize) -> Vec<f64> {
        let mut x = vec![0.0; unknowns];
        for (row, y) in self.rows.iter().zip(y) {
            row.entries.iter().for_each(|&(unknown, slope)| x[unknown as usize] += slope * y);
        }
        x
    }

    /// The same rows of what may move alone.
    pub fn among(&self, free: &[bool]) -> Self {
        let of = |row: &EqualityRow| {
            let entries = row.entries.iter().copied().filter(|(unknown, _)| free[*unknown as usize]);
            EqualityRow { entries: entries.collect(), ..*row }
        };
        Self { rows: self.rows.iter().map(of).collect(), ..*self }
    }

    /// Values of c, row by row.
    pub fn values(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.value).collect()
    }

    /// ‖column of A‖ of every unknown, of rows of length 1.
    pub fn reach(&self, unknowns: usize) -> Vec<f64> {
        let mut reach = vec![0.0; unknowns];
        for row in &self.rows {
            let size = row.entries.iter().map(|(_, slope)| slope * slope).sum::<f64>();
            row.entries.iter().filter(|_| size > 0.0).for_each(|&(unknown, slope)| reach[unknown as usize] += slope * slope / size);
        }
        reach.iter().map(|square: &f64| square.sqrt()).collect()
    }
}

impl EqualityRow {
    /// ‖a‖
    pub fn length(&self) -> f64 {
        self.entries.iter().map(|(_, slope)| slope * slope).sum::<f64>().sqrt()
    }

    /// Largest among the sizes of its unknowns.
    pub fn largest(&self, sizes: &[f64]) -> f64 {
        self.entries.iter().fold(0.0, |most: f64, (unknown, _)| most.max(sizes[*unknown as usize]))
    }

    fn along(&self, x: &[f64]) -> f64 {
        self.entries.iter().map(|&(unknown, slope)| slope * x[unknown as usize]).sum()
    }
}

/// Rows that depend on none of the others, and a step s with As = c in them.
#[derive(Default)]
pub struct Independent {
    /// Numbers of the rows.
    pub pivots: Vec<usize>,
    /// s, over all unknowns.
    pub step: Vec<f64>,
}

/// QR of Âᵀ with pivoting, of rows Â = A T that are brought to length 1.
pub struct RowSpace {
    /// Rows that depend on none of the others here.
    pub pivots: Vec<usize>,
    /// Q, and R column by column.
    basis: Vec<Vec<f64>>,
    triangle: Vec<Vec<f64>>,
    /// Lengths of all rows of A T.
    lengths: Vec<f64>,
    unknowns: usize,
}

impl RowSpace {
    /// Of unknowns x = T x̂, where T is 0 for what may not move.
    pub async fn new(equalities: &Equalities, scales: &[f64], pace: &Pace) -> Result<Self, Stopped> {
        let (mut rows, mut lengths) = (Vec::new(), Vec::new());
        for EqualityRow { entries, .. } in &equalities.rows {
            let mut row = vec![0.0; scales.len()];
            entries.iter().for_each(|&(unknown, slope)| row[unknown as usize] += slope * scales[unknown as usize]);
            let size = length(&row);
            row.iter_mut().filter(|_| size > 0.0).for_each(|value| *value /= size);
            rows.push(row);
            lengths.push(size);
            pace.spend(scales.len()).await?;
        }
        let (basis, pivots) = pivoted(rows.clone(), &[], usize::MAX, equalities.tolerance, pace).await?;
        let column = |(number, &pivot): (usize, &usize)| basis[..=number].iter().map(|q| dot(q, &rows[pivot])).collect();
        let triangle = pivots.iter().enumerate().map(column).collect();
        Ok(Self { pivots, basis, triangle, lengths, unknowns: scales.len() })
    }

    /// Orthonormal basis of the null space of Â, among what may move.
    pub async fn complement(&self, scales: &[f64], pace: &Pace) -> Result<Vec<Vec<f64>>, Stopped> {
        let n = scales.len();
        let units: Vec<Vec<f64>> = (0..n).filter(|&k| scales[k] > 0.0).map(|k| unit(n, k)).collect();
        let most = units.len() - self.pivots.len();
        Ok(pivoted(units, &self.basis, most, 0.0, pace).await?.0)
    }

    /// The shortest x̂ with Ax = b in the pivots' rows.
    pub fn point(&self, right: &[f64]) -> Vec<f64> {
        let mut along: Vec<f64> = Vec::new();
        for (number, &pivot) in self.pivots.iter().enumerate() {
            let column = &self.triangle[number];
            along.push((right[pivot] / self.lengths[pivot] - dot(&column[..number], &along)) / column[number]);
        }
        let mut x = vec![0.0; self.unknowns];
        self.basis.iter().zip(along).for_each(|(q, by)| add(&mut x, by, q));
        x
    }

    /// The y with T Aᵀy = x̂ as far as can be, which is 0 but for the pivots' rows.
    pub fn multipliers(&self, x: &[f64]) -> Vec<f64> {
        let mut left: Vec<f64> = self.basis.iter().map(|q| dot(q, x)).collect();
        let mut y = vec![0.0; self.lengths.len()];
        for (number, &pivot) in self.pivots.iter().enumerate().rev() {
            let column = &self.triangle[number];
            let value = left[number] / column[number];
            left.iter_mut().zip(column).for_each(|(left, entry)| *left -= entry * value);
            y[pivot] = value / self.lengths[pivot];
        }
        y
    }
}

/// Orthonormal vectors, at most so many, that span what these do and `against` does not, and which they are of: always the one of which
/// most is left comes next, until that is no more than the tolerance.
async fn pivoted(
    mut left: Vec<Vec<f64>>,
    against: &[Vec<f64>],
    most: usize,
    tolerance: f64,
    pace: &Pace,
) -> Result<(Vec<Vec<f64>>, Vec<usize>), Stopped> {
    let height = left.first().map_or(0, Vec::len);
    for vector in &mut left {
        for known in against.iter().chain(against) {
            let along = dot(known, vector);
            add(vector, -along, known);
        }
        pace.spend(8 * against.len() * height).await?;
    }
    let (mut basis, mut order): (Vec<Vec<f64>>, Vec<usize>) = (Vec::new(), Vec::new());
    while basis.len() < most {
        let (mut place, mut largest) = (0, 0.0);
        for (number, vector) in left.iter().enumerate() {
            let size = length(vector);
            if size > largest {
                (place, largest) = (number, size);
            }
        }
        if largest <= tolerance {
            break;
        }
        let mut vector = std::mem::take(&mut left[place]);
        for known in against.iter().chain(&basis) {
            let along = dot(known, &vector);
            add(&mut vector, -along, known);
        }
        let size = length(&vector);
        vector.iter_mut().for_each(|value| *value /= size);
        for other in left.iter_mut().filter(|other| !other.is_empty()) {
            let along = dot(&vector, other);
            add(other, -along, &vector);
        }
        pace.spend(6 * (left.len() + basis.len() + against.len()) * height).await?;
        basis.push(vector);
        order.push(place);
    }
    Ok((basis, order))
}

/// Cholesky factor of AGAᵀ with pivoting, with the inverse G of a sparse factor.
pub struct RangeSpace {
    /// Rows that depend on none of the others here.
    pub pivots: Vec<usize>,
    /// Rows of L.
    factor: Vec<Vec<f64>>,
    /// Scales of AGAᵀ to a diagonal of ones, of all rows.
    scales: Vec<f64>,
}

impl RangeSpace {
    /// Of the factor; and, if they are wanted, the columns of GAᵀ for the pivots.
    pub async fn new(
        equalities: &Equalities,
        sparse: &Sparse,
        unknowns: usize,
        keep: bool,
        pace: &Pace,
    ) -> Result<(Self, Vec<Vec<f64>>), Refused> {
        let rows = &equalities.rows;
        if rows.len() > MOST_ROWS || keep && rows.len() * unknowns > MOST_VALUES {
            return Err(Refused::TooManyRows(rows.len()));
        }
        let (mut columns, mut products) = (Vec::new(), Vec::with_capacity(rows.len()));
        for (number, row) in rows.iter().enumerate() {
            pace.tell(number, 2 * rows.len());
            let mut column = vec![0.0; unknowns];
            row.entries.iter().for_each(|&(unknown, slope)| column[unknown as usize] += slope);
            let solved = sparse.solve(&column, pace).await?;
            products.push(rows[..=number].iter().map(|row| row.along(&solved)).collect::<Vec<f64>>());
            if keep {
                columns.push(solved);
            }
        }
        let inverse_root = |number: usize| Some(products[number][number]).filter(|size| *size > 0.0).map_or(0.0, |size| 1.0 / size.sqrt());
        let scales: Vec<f64> = (0..rows.len()).map(inverse_root).collect();
        let (mut lower, mut pivots) = (vec![Vec::new(); rows.len()], Vec::new());
        let mut left: Vec<f64> = scales.iter().map(|scale| f64::from(u8::from(*scale > 0.0))).collect();
        let least = LEAST_PIVOT.max(equalities.tolerance * equalities.tolerance);
        while let Some(pivot) = (0..rows.len()).reduce(|a, b| if left[b] > left[a] { b } else { a }).filter(|&pivot| left[pivot] > least) {
            pace.tell(rows.len() + pivots.len(), 2 * rows.len());
            let (root, own) = (left[pivot].sqrt(), std::mem::take(&mut lower[pivot]));
            for other in 0..rows.len() {
                if other == pivot || left[other] <= 0.0 {
                    continue;
                }
                let product = products[pivot.max(other)][pivot.min(other)] * scales[pivot] * scales[other];
                let entry = (product - dot(&own, &lower[other])) / root;
                lower[other].push(entry);
                left[other] -= entry * entry;
            }
            pace.spend(4 * rows.len() * (own.len() + 1)).await?;
            lower[pivot] = own;
            lower[pivot].push(root);
            left[pivot] = f64::NEG_INFINITY;
            pivots.push(pivot);
        }
        let factor = pivots.iter().map(|&pivot| std::mem::take(&mut lower[pivot])).collect();
        let columns = if keep { pivots.iter().map(|&pivot| std::mem::take(&mut columns[pivot])).collect() } else { columns };
        Ok((Self { pivots, factor, scales }, columns))
    }

    /// L⁻¹ b of the pivots' rows, scaled.
    pub fn forward(&self, right: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(self.pivots.len());
        for ((row, &pivot), right) in self.factor.iter().zip(&self.pivots).zip(right) {
            let known = dot(&row[..x.len()], &x);
            x.push((self.scales[pivot] * right - known) / row[x.len()]);
        }
        x
    }

    /// (AGAᵀ)⁻¹ b in the pivots' rows, and 0 in others.
    pub fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x = self.forward(self.pivots.iter().map(|&pivot| right[pivot]));
        for number in (0..x.len()).rev() {
            x[number] /= self.factor[number][number];
            let value = x[number];
            add(&mut x[..number], -value, &self.factor[number][..number]);
        }
        let mut y = vec![0.0; self.scales.len()];
        self.pivots.iter().zip(x).for_each(|(&pivot, value)| y[pivot] = self.scales[pivot] * value);
        y
    }
}

/// A matrix with another one's pattern besides, whose places are found by unknowns.
struct Placed {
    matrix: BlockMatrix,
    /// By the tables of rows and columns.
    parts: HashMap<(usize, usize), usize>,
}

impl Placed {
    fn new(matrix: BlockMatrix) -> Self {
        let parts = matrix.pattern.parts.iter().enumerate().map(|(number, part)| ((part.row as usize, part.column as usize), number));
        Self { parts: parts.collect(), matrix }
    }

    /// Adds to the entries of a row and a column, and of the column and the row.
    fn add(&mut self, a: usize, b: usize, value: f64) {
        let (row, column) = (a.max(b), a.min(b));
        let BlockMatrix { pattern, diagonal, lower } = &mut self.matrix;
        let locate = |unknown: usize| {
            let number = pattern.tables.partition_point(|table| (table.scalar + table.count * table.width) as usize <= unknown);
            let table = &pattern.tables[number];
            let place = unknown as u32 - table.scalar;
            (number, place / table.width, (place % table.width) as usize)
        };
        let ((of_row, variable, r), (of_column, other, c)) = (locate(row), locate(column));
        if (of_row, variable) == (of_column, other) {
            let table = &pattern.tables[of_row];
            diagonal[table.block as usize + variable as usize * packed(table.width as usize, 0) + packed(r, c)] += value;
            return;
        }
        // The pattern has every pair of unknowns that a constraint's instance has.
        let part = &pattern.parts[self.parts[&(of_row, of_column)]];
        let range = part.starts[variable as usize] as usize..part.starts[variable as usize + 1] as usize;
        let block = range.start + part.columns[range].binary_search(&other).expect("a block of the pattern");
        lower[part.base as usize + block * part.size() as usize + r * part.width as usize + c] += value;
    }
}

/// H in a pattern that has places for AᵀA as well.
pub async fn widened(matrix: &BlockMatrix, pattern: &Arc<Pattern>, pace: &Pace) -> Result<BlockMatrix, Stopped> {
    let mut wide = Placed::new(BlockMatrix::zero(pattern.clone()));
    for (from, to) in matrix.pattern.tables.iter().zip(&pattern.tables) {
        let len = from.count as usize * packed(from.width as usize, 0);
        wide.matrix.diagonal[to.block as usize..][..len].copy_from_slice(&matrix.diagonal[from.block as usize..][..len]);
        pace.spend(len).await?;
    }
    for part in &matrix.pattern.parts {
        let [rows, columns] = [part.row, part.column].map(|number| &matrix.pattern.tables[number as usize]);
        let target = &pattern.parts[wide.parts[&(part.row as usize, part.column as usize)]];
        for variable in 0..rows.count {
            for (block, column) in part.row(variable) {
                let range = target.starts[variable as usize] as usize..target.starts[variable as usize + 1] as usize;
                let place = range.start + target.columns[range].binary_search(&column).expect("a block of the wider pattern");
                let len = (rows.width * columns.width) as usize;
                let to = target.base as usize + place * len;
                let from = part.base as usize + block as usize * len;
                wide.matrix.lower[to..to + len].copy_from_slice(&matrix.lower[from..from + len]);
            }
            pace.spend(4 * part.values_of(variable)).await?;
        }
    }
    Ok(wide.matrix)
}

/// H + AᵀEA, and E: what each row adds is, in units in which H has a diagonal of ones, so many times one.
pub async fn stiffened(
    matrix: BlockMatrix,
    equalities: &Equalities,
    free: &[bool],
    times: f64,
    pace: &Pace,
) -> Result<(BlockMatrix, Vec<f64>), Stopped> {
    let own = super::sparse::diagonal(&matrix);
    let (mut placed, mut stiffness) = (Placed::new(matrix), Vec::new());
    for row in &equalities.rows {
        let entries: Vec<(usize, f64)> =
            row.entries.iter().map(|&(unknown, slope)| (unknown as usize, slope)).filter(|(unknown, _)| free[*unknown]).collect();
        let most = entries.iter().fold(0.0, |most: f64, (unknown, _)| most.max(own[*unknown].abs()));
        let per = |&(unknown, slope): &(usize, f64)| slope * slope / if most > 0.0 { own[unknown].abs().max(1e-8 * most) } else { 1.0 };
        let size: f64 = entries.iter().map(per).sum();
        let by = if size > 0.0 { times / size } else { 0.0 };
        stiffness.push(by);
        for (number, &(a, slope)) in entries.iter().enumerate() {
            entries[..=number].iter().for_each(|&(b, other)| placed.add(a, b, by * slope * other));
        }
        pace.spend(32 * entries.len() * entries.len()).await?;
    }
    Ok((placed.matrix, stiffness))
}

/// True if rows added next to nothing but what a negative entry of the diagonal takes away: then rounding is all that is left.
pub fn is_undone(own: &[f64], stiff: &[f64], free: &[bool]) -> bool {
    let undone = |((own, stiff), free): ((&f64, &f64), &bool)| *free && *own < 0.0 && *stiff < LEAST_STIFFENED * own.abs();
    own.iter().zip(stiff).zip(free).any(undone)
}

/// Scales of what has none of its own, since no cost touches it: by the constraints that do.
pub fn borrow_scales(scales: &mut [f64], free: &[bool], equalities: &Equalities) {
    let reach = equalities.reach(scales.len());
    for ((value, free), reach) in scales.iter_mut().zip(free).zip(reach) {
        if *free && *value == 0.0 {
            *value = if reach > 0.0 { 1.0 / reach } else { 1.0 };
        }
    }
}

/// Direction of a space with a basis, given by its parts, in the scales of its unknowns.
pub fn lifted(basis: &[Vec<f64>], parts: &[f64], scales: &[f64]) -> Vec<f64> {
    let mut direction = vec![0.0; scales.len()];
    basis.iter().zip(parts).for_each(|(vector, by)| add(&mut direction, *by, vector));
    scale(&mut direction, scales);
    direction
}
