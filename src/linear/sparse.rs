//! Sparse Cholesky factors on the host. What does not depend on values — the order of elimination, the factor's
//! structure, the place of every block — is found out once, while the structure stays. Natively factors are made front by
//! front on all threads ([`Multifrontal`](crate::multifrontal)), in wasm panel by panel ([`LeftLooking`](crate::left_looking)), in code of
//! a tenth of the size.
//!
//! The order is that of approximate minimum degree on the *blocks*: a variable's scalars have the same neighbours, so
//! ordering them one by one would only be slower.

use crate::Computed;
use crate::left_looking::LeftLooking;
use crate::matrix::{System, Unsolved};
use crate::minimum_degree;
use leastwise_base::task::{Pace, Stopped, UNIT};
use leastwise_problem::Pattern;

#[cfg(target_arch = "wasm32")]
pub use crate::left_looking::LeftLooking as Best;
#[cfg(not(target_arch = "wasm32"))]
pub use crate::multifrontal::Multifrontal as Best;

/// Algorithm that makes factors of matrices of one structure, and solves with the last one.
pub trait Factorization: Sized + Send {
    /// Factors of matrices of this structure.
    fn new(structure: Structure<'_>, pace: &Pace) -> impl Future<Output = Result<Self, Unfactorised>> + Send;

    /// Factorises the matrix of a system.
    fn factorize(&mut self, system: &System<'_>, pace: &Pace) -> impl Future<Output = Result<(), Unsolved>> + Send;

    /// x becomes the solution of the last matrix for the right-hand side x.
    fn solve(&mut self, x: &mut [f64], pace: &Pace) -> impl Future<Output = Result<(), Stopped>> + Send;
}

/// Structure of a matrix, of which factors are to be made.
#[derive(Clone, Copy)]
pub struct Structure<'a> {
    /// Tables and blocks.
    pub pattern: &'a Pattern,
    /// The same blocks by columns.
    pub blocks: &'a BlockColumns,
    /// Order of minimum degree.
    pub ordering: &'a Ordering,
}

impl Structure<'_> {
    /// First scalars of all variables, and one past the last.
    pub fn scalars(&self) -> Vec<u32> {
        let mut first = Vec::with_capacity(self.pattern.variables() as usize + 1);
        for table in &self.pattern.tables {
            first.extend((0..table.count).map(|variable| table.scalar + variable * table.width));
        }
        first.push(self.pattern.scalars);
        first
    }
}

/// A factor's structure, and the last factor.
pub struct SparseCholesky<F = Best> {
    factorization: F,
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
pub struct BlockColumns {
    starts: Vec<u32>,
    /// Row variable, part, number of the block; ascending by row.
    blocks: Vec<(u32, u32, u32)>,
}

/// Neighbours of all variables, ascending.
pub struct Graph {
    /// First neighbour of each variable, and one past the last.
    pub starts: Vec<u32>,
    /// Variables.
    pub neighbours: Vec<u32>,
}

impl Graph {
    /// Neighbours of a variable.
    pub fn of(&self, variable: u32) -> &[u32] {
        &self.neighbours[self.starts[variable as usize] as usize..self.starts[variable as usize + 1] as usize]
    }
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

    /// Row variable, part and number of each block in the column of a variable; ascending by row.
    pub fn of(&self, variable: u32) -> &[(u32, u32, u32)] {
        &self.blocks[self.starts[variable as usize] as usize..self.starts[variable as usize + 1] as usize]
    }

    /// The graph of which the blocks are edges.
    ///
    /// # Errors
    /// [`Unfactorised::TooLarge`] where lists that are made of it could not be numbered.
    pub async fn graph(&self, pace: &Pace) -> Result<Graph, Unfactorised> {
        let n = self.starts.len() - 1;
        let mut starts = vec![0u32; n + 1];
        for variable in 0..n as u32 {
            let below = self.of(variable);
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
            self.of(column).iter().for_each(|&(row, ..)| put(row, column));
            pace.spend(4 * (self.of(column).len() + 1)).await?;
        }
        for column in 0..n as u32 {
            self.of(column).iter().for_each(|&(row, ..)| put(column, row));
            pace.spend(4 * (self.of(column).len() + 1)).await?;
        }
        Ok(Graph { starts, neighbours })
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
        let Graph { starts, neighbours } = blocks.graph(pace).await?;
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
        Self::of(Structure { pattern, blocks: &blocks, ordering: &ordering }, pace).await
    }

    /// The same in an order that was found.
    pub async fn ordered(pattern: &Pattern, ordering: &Ordering, pace: &Pace) -> Result<Self, Unfactorised> {
        let blocks = BlockColumns::new(pattern, pace).await?;
        Self::of(Structure { pattern, blocks: &blocks, ordering }, pace).await
    }

    async fn of(structure: Structure<'_>, pace: &Pace) -> Result<Self, Unfactorised> {
        pace.spend(UNIT).await?;
        Ok(Self { factorization: F::new(structure, pace).await? })
    }

    /// Factorises the matrix of a system of the same structure.
    pub async fn factorize(&mut self, system: &System<'_>, pace: &Pace) -> Result<(), Unsolved> {
        self.factorization.factorize(system, pace).await
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
