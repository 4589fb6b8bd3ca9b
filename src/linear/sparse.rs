//! Sparse Cholesky factors on the host, by faer. What does not depend on values — the order of elimination, the factor's
//! structure, the place of every block — is found out once, while the structure stays. Natively factors are made block by
//! block ([`Supernodal`](crate::supernodal)), in wasm panel by panel ([`LeftLooking`](crate::left_looking)), in code of a tenth of the size.
//!
//! The order is that of approximate minimum degree on the *blocks*: a variable's scalars have the same neighbours, so
//! ordering them one by one would only be slower.

use crate::Computed;
use crate::left_looking::LeftLooking;
use crate::matrix::{BlockMatrix, System, Unsolved, packed};
use crate::minimum_degree;
use faer::perm::PermRef;
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_problem::Pattern;

#[cfg(target_arch = "wasm32")]
pub use crate::left_looking::LeftLooking as Best;
#[cfg(not(target_arch = "wasm32"))]
pub use crate::supernodal::Supernodal as Best;

/// What makes factors of matrices of one structure, and solves with the last one.
pub trait Factorization: Sized + Send {
    /// For matrices of which the lower triangle has this structure. The order is that of elimination.
    fn new(
        lower: SymbolicSparseColMatRef<'_, u32>,
        order: PermRef<'_, u32>,
        pace: &Pace,
    ) -> impl Future<Output = Result<Self, Unfactorised>> + Send;

    /// Factorises a matrix, given by its lower triangle, whose values are finite.
    fn factorize(&mut self, lower: SparseColMatRef<'_, u32, f64>, pace: &Pace) -> impl Future<Output = Result<(), Unsolved>> + Send;

    /// x becomes the solution of the last matrix for the right-hand side x.
    fn solve(&mut self, x: &mut [f64], pace: &Pace) -> impl Future<Output = Result<(), Stopped>> + Send;
}

/// A factor's structure, and the last factor.
pub struct SparseCholesky<F = Best> {
    factorization: F,
    /// The lower triangle by columns: where each begins, the rows of its entries, their values.
    starts: Vec<u32>,
    rows: Vec<u32>,
    values: Vec<f64>,
    /// For every block of every part, how many entries of its first column come before it.
    before: Vec<Vec<u32>>,
}

/// Why there is no factor's structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

/// The same, or the work was told to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfactorised {
    /// The factor exceeds its limit.
    TooLarge,
    /// The work was told to end.
    Stopped,
}

impl From<TooLarge> for Unfactorised {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

impl From<Stopped> for Unfactorised {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// The order in which variables are eliminated: number of the variable that comes k-th, and its inverse.
pub struct Ordering {
    /// Variable that is eliminated k-th, for each k.
    pub forward: Vec<u32>,
    /// Position of each variable in the order.
    pub inverse: Vec<u32>,
    /// Entries of the factor, about.
    pub fill: f64,
    /// Multiplications that it takes, about.
    pub work: f64,
}

/// The columns of the lower triangle, variable by variable.
struct BlockColumns {
    starts: Vec<u32>,
    /// Row variable, part, number of the block; ascending by row.
    blocks: Vec<(u32, u32, u32)>,
}

/// Blocks between two counts of what was done.
const RUN: usize = 1 << 14;

impl BlockColumns {
    async fn new(pattern: &Pattern, pace: &Pace) -> Result<Self, Stopped> {
        let variables = pattern.variables() as usize;
        let mut starts = vec![0u32; variables + 1];
        for part in &pattern.parts {
            let first = pattern.tables[part.column as usize].first;
            for columns in part.columns.chunks(RUN) {
                pace.spend(4 * columns.len()).await?;
                columns.iter().for_each(|column| starts[(first + column) as usize + 1] += 1);
            }
        }
        for place in 0..variables {
            starts[place + 1] += starts[place];
        }
        let mut next = starts.clone();
        let mut blocks = vec![(0, 0, 0); starts[variables] as usize];
        // Parts in the order of their row tables, rows ascending: so are the blocks of a column.
        let mut order: Vec<(u32, u32)> = pattern.parts.iter().map(|part| part.row).zip(0..).collect();
        order.sort_unstable();
        for (_, number) in order {
            let part = &pattern.parts[number as usize];
            let [rows, columns] = [part.row, part.column].map(|table| pattern.tables[table as usize].first);
            for row in 0..part.starts.len() as u32 - 1 {
                let before = part.starts[row as usize];
                for (block, column) in part.row(row) {
                    let place = &mut next[(columns + column) as usize];
                    blocks[*place as usize] = (rows + row, number, block);
                    *place += 1;
                }
                pace.spend(4 + 8 * (part.starts[row as usize + 1] - before) as usize).await?;
            }
        }
        Ok(Self { starts, blocks })
    }

    fn of(&self, variable: u32) -> &[(u32, u32, u32)] {
        &self.blocks[self.starts[variable as usize] as usize..self.starts[variable as usize + 1] as usize]
    }
}

impl Ordering {
    /// Approximate minimum degree of a pattern's variables, and what it leads to.
    pub async fn new(pattern: &Pattern, pace: &Pace) -> Result<Self, Unfactorised> {
        let blocks = BlockColumns::new(pattern, pace).await?;
        Self::of(pattern, &blocks, pace).await
    }

    async fn of(pattern: &Pattern, blocks: &BlockColumns, pace: &Pace) -> Result<Self, Unfactorised> {
        let n = pattern.variables() as usize;
        let mut starts = vec![0u32; n + 1];
        for variable in 0..n as u32 {
            let below = blocks.of(variable);
            starts[variable as usize + 1] += below.len() as u32;
            below.iter().for_each(|&(row, ..)| starts[row as usize + 1] += 1);
            pace.spend(4 * (below.len() + 1)).await?;
        }
        let all: u64 = starts.iter().map(|&count| u64::from(count)).sum();
        // Places in lists, with room to work in, are signed.
        if all + all / 5 + n as u64 > i32::MAX as u64 {
            return Err(TooLarge.into());
        }
        for variable in 0..n {
            starts[variable + 1] += starts[variable];
        }
        // Ascending: columns come in order, and so do the rows of each.
        let (mut next, mut neighbours) = (starts.clone(), vec![0u32; all as usize]);
        let mut put = |at: u32, other: u32| {
            neighbours[next[at as usize] as usize] = other;
            next[at as usize] += 1;
        };
        for column in 0..n as u32 {
            blocks.of(column).iter().for_each(|&(row, ..)| put(row, column));
            pace.spend(4 * (blocks.of(column).len() + 1)).await?;
        }
        for column in 0..n as u32 {
            blocks.of(column).iter().for_each(|&(row, ..)| put(column, row));
            pace.spend(4 * (blocks.of(column).len() + 1)).await?;
        }
        let minimum_degree::Found { order: forward, divisions, multiplications } =
            minimum_degree::order(&starts, &neighbours, pace).await?;
        let mut inverse = vec![0u32; n];
        (0..).zip(&forward).for_each(|(place, &variable)| inverse[variable as usize] = place);
        // Divisions are entries of the factor of blocks below its diagonal.
        let mean = f64::from(pattern.scalars) / n.max(1) as f64;
        let fill = divisions * mean * mean + f64::from(pattern.scalars) * (mean + 1.0) / 2.0;
        Ok(Self { forward, inverse, fill, work: multiplications * mean * mean * mean + fill * mean })
    }
}

/// What solvers call of a factor: [computations](Computed) of this crate.
macro_rules! computed {
    ($factorization:ty) => {
        impl SparseCholesky<$factorization> {
            /// The structure of a pattern's factor.
            pub fn made<'a>(pattern: &'a Pattern, pace: &'a Pace) -> Computed<'a, Result<Self, Unfactorised>> {
                Box::pin(Self::new(pattern, pace))
            }

            /// Factorises the matrix of a system of the same structure.
            pub fn factorized<'a>(&'a mut self, system: &'a System<'a>, pace: &'a Pace) -> Computed<'a, Result<(), Unsolved>> {
                Box::pin(self.factorize(system, pace))
            }

            /// x becomes (H + λD)⁻¹x, by the last factor.
            pub fn solved<'a>(&'a mut self, x: &'a mut [f64], pace: &'a Pace) -> Computed<'a, Result<(), Stopped>> {
                Box::pin(self.solve(x, pace))
            }
        }
    };
}

computed!(LeftLooking);
#[cfg(not(target_arch = "wasm32"))]
computed!(Best);

impl<F: Factorization> SparseCholesky<F> {
    /// The structure of a pattern's factor.
    pub async fn new(pattern: &Pattern, pace: &Pace) -> Result<Self, Unfactorised> {
        let blocks = BlockColumns::new(pattern, pace).await?;
        let ordering = Ordering::of(pattern, &blocks, pace).await?;
        pace.spend(UNIT).await?;
        let n = pattern.scalars as usize;
        let mut starts = vec![0u32; n + 1];
        let mut rows: Vec<u32> = Vec::new();
        let mut before: Vec<Vec<u32>> = pattern.parts.iter().map(|part| vec![0; part.columns.len()]).collect();
        // Scalars of variables, in order.
        let mut first = Vec::with_capacity(pattern.variables() as usize + 1);
        for table in &pattern.tables {
            first.extend((0..table.count).map(|variable| table.scalar + variable * table.width));
        }
        first.push(pattern.scalars);
        for variable in 0..pattern.variables() {
            let own = first[variable as usize]..first[variable as usize + 1];
            for column in own.clone() {
                let start = rows.len();
                rows.extend(column..own.end);
                for &(row, part, block) in blocks.of(variable) {
                    if column == own.start {
                        before[part as usize][block as usize] = (rows.len() - start) as u32;
                    }
                    rows.extend(first[row as usize]..first[row as usize + 1]);
                }
                starts[column as usize + 1] = u32::try_from(rows.len()).map_err(|_| TooLarge)?;
            }
            pace.spend(8 * own.len() * (blocks.of(variable).len() + 1)).await?;
        }
        let spread = |order: &[u32]| order.iter().flat_map(|&variable| first[variable as usize]..first[variable as usize + 1]).collect();
        let forward: Vec<u32> = spread(&ordering.forward);
        let mut inverse = vec![0u32; n];
        forward.iter().enumerate().for_each(|(place, &scalar)| inverse[scalar as usize] = place as u32);
        let structure = SymbolicSparseColMatRef::new_checked(n, n, &starts, None, &rows);
        let factorization = F::new(structure, PermRef::new_checked(&forward, &inverse, n), pace).await?;
        Ok(Self { factorization, values: vec![0.0; rows.len()], starts, rows, before })
    }

    /// Factorises the matrix of a system of the same structure.
    pub async fn factorize(&mut self, system: &System<'_>, pace: &Pace) -> Result<(), Unsolved> {
        self.fill(system.matrix, system.damping, pace).await?;
        // Pivots are only tested for their sign.
        for values in self.values.chunks(UNIT) {
            if values.iter().any(|value| !value.is_finite()) {
                return Err(Unsolved::Singular);
            }
            pace.spend(values.len()).await?;
        }
        let n = self.starts.len() - 1;
        let structure = SymbolicSparseColMatRef::new_checked(n, n, &self.starts, None, &self.rows);
        self.factorization.factorize(SparseColMatRef::new(structure, &self.values[..]), pace).await
    }

    /// The values by columns.
    async fn fill(&mut self, matrix: &BlockMatrix, damping: &[f64], pace: &Pace) -> Result<(), Stopped> {
        let pattern = &matrix.pattern;
        for table in &pattern.tables {
            let width = table.width as usize;
            for variable in 0..table.count {
                let at = table.scalar as usize + variable as usize * width;
                let block = matrix.diagonal(table, variable);
                for c in 0..width {
                    let start = self.starts[at + c] as usize;
                    for r in c..width {
                        self.values[start + r - c] = block[packed(r, c)];
                    }
                    self.values[start] += damping[at + c];
                }
                pace.spend(4 * width * width).await?;
            }
        }
        for (part, before) in pattern.parts.iter().zip(&self.before) {
            let columns = &pattern.tables[part.column as usize];
            let (height, width) = (part.rows as usize, part.width as usize);
            let blocks = matrix.lower[part.base as usize..].chunks_exact(height * width);
            for ((values, column), before) in blocks.zip(&part.columns).zip(before) {
                let at = columns.scalar as usize + *column as usize * width;
                for c in 0..width {
                    // Every column of the variable has one entry of the diagonal block less than the one before.
                    let start = self.starts[at + c] as usize + *before as usize - c;
                    for r in 0..height {
                        self.values[start + r] = values[r * width + c];
                    }
                }
                pace.spend(4 * height * width).await?;
            }
        }
        Ok(())
    }

    /// The factorisation, for solves with many right-hand sides.
    pub fn factorization(&self) -> &F {
        &self.factorization
    }

    /// x becomes (H + λD)⁻¹x, by the last factor.
    pub async fn solve(&mut self, x: &mut [f64], pace: &Pace) -> Result<(), Stopped> {
        self.factorization.solve(x, pace).await
    }
}
