//! The adjoint system H z = v: what differentiating through a solve comes down to.
//!
//! Where a point x* is stationary, ∇C(x*, θ) = 0, and H = ∇²C is invertible, x* is a function of θ near by, with the slope
//! −H⁻¹ ∂∇C/∂θ (implicit function theorem: Krantz & Parks, *The Implicit Function Theorem*, 2002, theorem 3.3.1). So of
//! L(x*(θ)) with v = ∂L/∂x*, dL/dθ = −zᵀ ∂∇C/∂θ with H z = v: one linear system, whatever the number of θ (Blondel et al.,
//! *Efficient and Modular Implicit Differentiation*, 2022, section 2.1).
//!
//! H is the Hessian itself, with the second derivatives of residuals and losses: JᵀWJ would give the slope of Gauss and
//! Newton's iteration, not of its limit. What is fixed, or held by a limit, is no unknown here.

pub(super) mod constrained;

use super::assembly::Structure;
use super::covariance::jacobi::{add, dot, length, orthogonalise, orthonormal, scale, unit};
use super::covariance::null_space::{self, Points};
use super::covariance::sparse::{self, Refused, Sparse};
use super::covariance::{Equalities, EqualityRow, NullSpacePart, Values};
use constrained::Constrained;
use leastwise_base::task::{Pace, Stopped};
use leastwise_device::Precision;
use leastwise_error::Error;
use leastwise_linear::matrix::{BlockMatrix, packed};
use leastwise_problem::Pattern;
use std::collections::HashMap;
use std::sync::Arc;

/// Unknowns of a whole matrix: beyond, it is kept sparse.
const DENSE: u32 = 200;

/// A degree of freedom: the number of its table in the pattern, its instance, and its component.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unknown {
    /// Index in [`Pattern::tables`] of its table.
    pub table: usize,
    /// Instance of the table.
    pub instance: u32,
    /// Degree of freedom of the instance.
    pub component: u32,
}

/// The sum of all instances' Hessians, block by block.
pub struct ExactHessian {
    matrix: BlockMatrix,
    /// By the tables of rows and columns.
    parts: HashMap<(usize, usize), usize>,
}

impl ExactHessian {
    /// Without any value yet, of the structure of JᵀWJ.
    pub fn new((pattern, _): Structure) -> Self {
        let parts = pattern.parts.iter().enumerate().map(|(number, part)| ((part.row as usize, part.column as usize), number));
        Self { parts: parts.collect(), matrix: BlockMatrix::zero(Arc::new(pattern)) }
    }

    /// The diagonal, unknown by unknown.
    pub fn diagonal(&self) -> Vec<f64> {
        sparse::diagonal(&self.matrix)
    }

    /// Structure of the matrix.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.matrix.pattern
    }

    /// Adds an entry of an instance's Hessian, which stands for that across the diagonal, too.
    pub fn add(&mut self, a: Unknown, b: Unknown, value: f64) {
        let BlockMatrix { pattern, diagonal, lower } = &mut self.matrix;
        if (a.table, a.instance) == (b.table, b.instance) {
            let table = &pattern.tables[a.table];
            let block = table.block as usize + a.instance as usize * packed(table.width as usize, 0);
            let (row, column) = (a.component.max(b.component), a.component.min(b.component));
            diagonal[block + packed(row as usize, column as usize)] += value;
            return;
        }
        let (a, b) = if (a.table, a.instance) > (b.table, b.instance) { (a, b) } else { (b, a) };
        // The pattern has every pair of unknowns that an instance has.
        let part = &pattern.parts[self.parts[&(a.table, b.table)]];
        let range = part.starts[a.instance as usize] as usize..part.starts[a.instance as usize + 1] as usize;
        let place = part.columns[range.clone()].binary_search(&b.instance).expect("a block of the pattern");
        let (block, width) = (range.start + place, part.width as usize);
        lower[part.base as usize + block * part.size() as usize + a.component as usize * width + b.component as usize] += value;
    }

    /// Without any value again.
    pub fn clear(&mut self) {
        self.matrix.diagonal.fill(0.0);
        self.matrix.lower.fill(0.0);
    }

    /// H x, of all unknowns.
    pub async fn multiply(&self, x: &[f64], pace: &Pace) -> Result<Vec<f64>, Stopped> {
        let mut y = vec![0.0; x.len()];
        self.matrix.multiply_in_slices(x, &mut y, pace).await?;
        Ok(y)
    }
}

/// What becomes of directions along which H is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Deficient {
    /// Refused, unless v has no part along them: then L does not change there, whichever of the solutions x* is.
    #[default]
    Error,
    /// The part of v along them is left out.
    LeastNorm,
}

/// How the system is solved.
#[derive(Clone, Copy, Debug)]
pub struct AdjointOptions {
    /// Treatment of directions in which H is singular.
    pub deficient: Deficient,
    /// Eigenvalues of H, scaled to a diagonal of ones, that count as 0, as a part of the largest.
    pub rank_tolerance: Option<f64>,
}

/// What was found.
pub struct Adjoint {
    /// z, with zeros for what may not move.
    pub z: Vec<f64>,
    /// H⁻¹g: how far the nearest stationary point is, to first order.
    pub step: Vec<f64>,
    /// The constraints' part, if there are any.
    pub multipliers: Option<Multipliers>,
    /// Dimension of the null space of H.
    pub deficiency: u32,
    /// Variables that move in the null space.
    pub unseen: Vec<NullSpacePart>,
    /// `"dense"` or `"sparse"`.
    pub method: &'static str,
}

/// The constraints' part, row by row of A.
pub struct Multipliers {
    /// y of [H Aᵀ; A 0][z; y] = [v; 0]; 0 for rows that depend on others.
    pub y: Vec<f64>,
    /// Distance of λ from that of the nearest solution, to first order.
    pub step: Vec<f64>,
    /// u, along which each row that depends on no others changes by about its own length: (Au)ᵢ = sign(yᵢ) ‖aᵢ‖.
    pub direction: Vec<f64>,
    /// k′/k of every row: wk′²(Au) = y; 0 where y is.
    pub rescaled: Vec<f64>,
    /// Values of c that a row is shown with, of about ‖a‖‖x‖: where other values have no more digits.
    pub levels: Vec<f64>,
    /// Those rows.
    pub pivots: Vec<usize>,
    /// ‖AᵀΔλ‖ of that distance, as a part of what the gradient is made of: ‖Aᵀλ‖ there, and ‖diag(H) x‖.
    pub distance: f64,
    /// Rows that depend on others and contradict them.
    pub contradicting: u32,
}

impl AdjointOptions {
    /// Refuses a rank tolerance outside of [0, 1).
    pub fn validate(&self) -> Result<(), Error> {
        match self.rank_tolerance.filter(|tolerance| !(0.0..1.0).contains(tolerance)) {
            Some(tolerance) => Err(Error::InvalidOption(format!("rankTolerance must be at least 0 and less than 1, not {tolerance}"))),
            None => Ok(()),
        }
    }

    /// Rank tolerance; default: what values in this precision leave of a 0, since a gauge is one at a stationary point alone.
    fn tolerance(&self, precision: Precision) -> f64 {
        self.rank_tolerance.unwrap_or(if precision == Precision::F32 { 1e-5 } else { 1e-10 })
    }
}

/// Solves H z = v, and H s = g, on what is free; with equalities on Az = 0, and As = c.
#[expect(clippy::too_many_arguments, reason = "a system with all that it is of")]
pub async fn solve(
    hessian: &ExactHessian,
    free: &[bool],
    [v, g]: [&[f64]; 2],
    equalities: Option<&Equalities>,
    values: &Values,
    precision: Precision,
    options: &AdjointOptions,
    pace: &Pace,
) -> Result<Adjoint, Error> {
    let pattern = hessian.pattern();
    let diagonal = sparse::diagonal(&hessian.matrix);
    let is_finite = hessian.matrix.diagonal.iter().chain(&hessian.matrix.lower).all(|value| value.is_finite());
    if !is_finite {
        let message = "a second derivative of the cost is not finite at the present values: guard the expression with select()";
        return Err(Error::InvalidOption(format!("backward(): {message}")));
    }
    let mut masked = hessian.matrix.clone();
    masked.mask(&free.iter().map(|free| f64::from(u8::from(*free))).collect::<Vec<f64>>(), pace).await?;
    let on_free = |x: &[f64]| x.iter().zip(free).map(|(x, free)| if *free { *x } else { 0.0 }).collect::<Vec<f64>>();
    let (v, g) = (on_free(v), on_free(g));
    let tolerance = options.tolerance(precision);
    let all = equalities;
    let equalities = equalities.map(|equalities| equalities.among(free));
    let reach = equalities.as_ref().map_or(vec![0.0; free.len()], |equalities| equalities.reach(free.len()));
    let is_untouched = |k: usize| free[k] && diagonal[k] == 0.0 && reach[k] == 0.0;
    let untouched: Vec<bool> = (0..free.len()).map(is_untouched).collect();
    // Beside what a sparse factor has no places for there may be any number of unknowns that nothing touches: these are counted, for as
    // vectors they would fill the memory and be compared each with each.
    let apart = || (0..free.len()).filter(|&k| untouched[k]).collect::<Vec<usize>>();
    let is_small = pattern.scalars <= DENSE;
    let (null, apart, z, step, multipliers, method) = if let Some(equalities) = &equalities {
        let (system, null) = if is_small {
            Constrained::few(whole(&masked, pace).await?, free, equalities, tolerance, pace).await?
        } else {
            Constrained::many(&masked, free, equalities, tolerance.sqrt(), pace).await.map_err(refused)?
        };
        let (z, y) = system.solve(equalities, &v, &vec![0.0; equalities.rows.len()], pace).await?;
        let (step, of_multipliers) = system.solve(equalities, &g, &equalities.values(), pace).await?;
        let (sizes, pivots) = (values.sizes(pattern), system.pivots().to_vec());
        let (direction, rescaled) = direction(&system, equalities, &y, pace).await?;
        let levels = equalities.rows.iter().map(|row| row.length() * row.largest(&sizes)).collect();
        let distance = distance(equalities, &of_multipliers, &on_free(&diagonal), &sizes);
        let contradicting = all.map_or(0, |all| all.contradicting(&pivots, &step, &sizes));
        let multipliers = Multipliers { y, step: of_multipliers, direction, rescaled, levels, pivots, distance, contradicting };
        let apart = if is_small { Vec::new() } else { apart() };
        (null, apart, z, step, Some(multipliers), system.method())
    } else if is_small {
        let whole = Whole::new(whole(&masked, pace).await?, free, tolerance, pace).await?;
        (whole.null.clone(), Vec::new(), whole.solve(&v), whole.solve(&g), None, "dense")
    } else {
        // A diagonal that is negative bends downwards all alone.
        if diagonal.iter().zip(free).any(|(value, free)| *free && *value < 0.0) {
            return Err(refused(Refused::Singular));
        }
        let (sparse, null) = Sparse::new(masked, free, tolerance.sqrt(), pace).await.map_err(refused)?;
        let (z, step) = (sparse.solve(&v, pace).await?, sparse.solve(&g, pace).await?);
        (null, apart(), z, step, None, "sparse")
    };
    let unseen = null_space::describe(pattern, &null, &untouched, points(values), pace).await?;
    let along = null.iter().map(|direction| dot(direction, &v)).chain(apart.iter().map(|&k| v[k]));
    let along = along.map(|part| part * part).sum::<f64>().sqrt();
    let deficiency = null.len() + apart.len();
    if options.deficient == Deficient::Error && along > tolerance.sqrt() * length(&v) {
        return Err(Error::RankDeficient(deficient(deficiency, &unseen)));
    }
    Ok(Adjoint { z, step, multipliers, deficiency: deficiency as u32, unseen, method })
}

/// u, and k′/k of every row. All rows share one u: were wk²(Au) = y with the rows' own k, one of small k or large y would hide the
/// others' digits in it.
async fn direction(system: &Constrained, equalities: &Equalities, y: &[f64], pace: &Pace) -> Result<(Vec<f64>, Vec<f64>), Stopped> {
    let along: Vec<f64> = y.iter().zip(&equalities.rows).map(|(y, row)| if *y == 0.0 { 0.0 } else { row.length().copysign(*y) }).collect();
    let u = system.point(equalities, &along, pace).await?;
    // Au itself has what rounding made of u.
    let found = equalities.along(&u);
    let rescale = |((y, row), (found, along)): ((&f64, &EqualityRow), (&f64, &f64))| {
        let along = if found * along > 0.0 { found } else { along };
        if *along == 0.0 { 0.0 } else { (y / along / row.stiffness).sqrt() }
    };
    let rescaled = y.iter().zip(&equalities.rows).zip(found.iter().zip(&along)).map(rescale).collect();
    Ok((u, rescaled))
}

/// ‖AᵀΔλ‖ / (‖Aᵀ(λ − Δλ)‖ + ‖diag(H) (|x| + ε)‖), where ε is the tolerance: near 0 an absolute one.
fn distance(equalities: &Equalities, step: &[f64], diagonal: &[f64], sizes: &[f64]) -> f64 {
    let next: Vec<f64> = equalities.rows.iter().zip(step).map(|(row, step)| row.multiplier - step).collect();
    let [moved, pull] = [step, &next].map(|y| length(&equalities.across(y, diagonal.len())));
    let pulled = length(&diagonal.iter().zip(sizes).map(|(diagonal, size)| diagonal * (size + equalities.tolerance)).collect::<Vec<f64>>());
    if moved == 0.0 { 0.0 } else { moved / (pull + pulled) }
}

/// A matrix column by column.
async fn whole(matrix: &BlockMatrix, pace: &Pace) -> Result<Vec<Vec<f64>>, Stopped> {
    let n = matrix.pattern.scalars as usize;
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(n);
    for k in 0..n {
        let mut column = vec![0.0; n];
        matrix.multiply_in_slices(&unit(n, k), &mut column, pace).await?;
        columns.push(column);
    }
    Ok(columns)
}

/// The columns of a symmetric matrix, and D⁻¹ that brings its diagonal to ones; 0 for what may not move, or has no value.
fn scaled(columns: Vec<Vec<f64>>, free: &[bool]) -> (Vec<Vec<f64>>, Vec<f64>) {
    // What is large elsewhere in its row counts as well: at a saddle a diagonal may be 0.
    let size = |k: usize| columns[k][k].abs().max(length(&columns[k]) * f64::EPSILON.sqrt());
    let mut inverse: Vec<f64> = (0..columns.len()).map(|k| if free[k] && size(k) > 0.0 { 1.0 / size(k).sqrt() } else { 0.0 }).collect();
    inverse.iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = 0.0);
    (columns, inverse)
}

fn points(values: &Values) -> &[Points] {
    &values.points
}

/// A symmetric matrix by its singular values, which may be those of a saddle, too.
pub(super) struct Whole {
    /// H V, column by column, of the scaled matrix; V; and the squares of the singular values, 0 where they count as 0.
    images: Vec<Vec<f64>>,
    right: Vec<Vec<f64>>,
    squares: Vec<f64>,
    /// D⁻¹ of the scaled matrix D⁻¹HD⁻¹; 0 for what may not move.
    inverse: Vec<f64>,
    null: Vec<Vec<f64>>,
}

impl Whole {
    async fn new(columns: Vec<Vec<f64>>, free: &[bool], tolerance: f64, pace: &Pace) -> Result<Self, Stopped> {
        let n = free.len();
        let (mut columns, inverse) = scaled(columns, free);
        for (column, by) in columns.iter_mut().zip(&inverse) {
            scale(column, &inverse);
            column.iter_mut().for_each(|value| *value *= by);
        }
        let right = orthogonalise(&mut columns, pace).await?;
        let sizes: Vec<f64> = columns.iter().map(|column| length(column)).collect();
        let least = tolerance.max(32.0 * f64::EPSILON * (n as f64).sqrt()) * sizes.iter().fold(0.0, |top: f64, size| top.max(*size));
        let squares: Vec<f64> = sizes.iter().map(|size| if *size > least { size * size } else { 0.0 }).collect();
        let flat = right.iter().zip(&squares).filter(|(_, square)| **square == 0.0).map(|(direction, _)| {
            let mut direction = direction.clone();
            scale(&mut direction, &inverse);
            direction
        });
        let flat = flat.filter(|direction| length(direction) > 0.0);
        let untouched = (0..n).filter(|&k| free[k] && inverse[k] == 0.0).map(|k| unit(n, k));
        let null = orthonormal(untouched.chain(flat).collect(), pace).await?;
        Ok(Self { images: columns, right, squares, inverse, null })
    }

    fn across(&self, x: &mut [f64]) {
        for direction in &self.null {
            let along = dot(direction, x);
            add(x, -along, direction);
        }
    }

    /// H⁺ x: of A = UΣVᵀ, A⁺ = VΣ⁻¹Uᵀ.
    fn solve(&self, x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        self.across(&mut x);
        scale(&mut x, &self.inverse);
        let mut y = vec![0.0; x.len()];
        for ((image, direction), square) in self.images.iter().zip(&self.right).zip(&self.squares).filter(|(_, square)| **square > 0.0) {
            add(&mut y, dot(image, &x) / square, direction);
        }
        scale(&mut y, &self.inverse);
        self.across(&mut y);
        y
    }
}

fn refused(refused: Refused) -> Error {
    match refused {
        Refused::Stopped => Stopped.into(),
        Refused::TooLarge => Error::Limits("backward(): the factor of the Hessian is too large to be kept: fix what L does not depend on".into()),
        Refused::TooManyRows(rows) => Error::Limits(format!(
            "backward(): {rows} rows of constraints are too many beside a sparse factor, which takes {}: fix what they hold",
            super::covariance::equalities::MOST_ROWS
        )),
        Refused::TooMany => Error::RankDeficient(format!(
            "the Hessian of the cost is singular: more than {} directions leave it as it is, as where a problem falls apart; hold each part of it somewhere with fix() or with residuals",
            sparse::MOST
        )),
        Refused::Singular => Error::RankDeficient(
            "the Hessian of the cost is not positive definite at the present values, so they are not at a minimum that depends smoothly on data: solve to convergence first, or leave this point by another start".into(),
        ),
    }
}

fn deficient(deficiency: usize, unseen: &[NullSpacePart]) -> String {
    let directions = if deficiency == 1 { "1 direction leaves" } else { &format!("{deficiency} directions leave") };
    let named = unseen.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ");
    format!(
        "the Hessian of the cost is singular: {directions} the cost as it is, while the cotangent changes along them, so there is no gradient: {named}. Fix as much (x.fix([0])), add residuals that hold it, or ask for {{ deficient: \"least-norm\" }}"
    )
}
