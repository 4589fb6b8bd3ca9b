//! Covariances of what was solved for: σ²(JᵀWJ)⁻¹ at the accepted values, in f64 whatever the device computes in.
//!
//! J and W are those of the Gauss–Newton model at a [snapshot](leastwise_problem::Problem::snapshot) of the problem, on the CPU
//! ([`linearised`]): derivatives with respect to steps in tangent spaces, with the weights that losses come to at these
//! residuals. Few unknowns are solved for by the singular values of √W J ([`dense`]), many by a sparse factor
//! ([`sparse`]), of which the blocks that are asked for are taken. What is fixed, or held at a limit, has a variance of 0.
//! Something that residuals leave free is named ([`null_space`]). Equality constraints hold Ax = 0 ([`equalities`]).

mod blocks;
mod dense;
pub(super) mod equalities;
mod held;
pub(super) mod jacobi;
mod linearised;
pub(super) mod null_space;
pub(super) mod sparse;
mod subset;
mod touching;

pub use blocks::{Blocks, Form, Pair};
pub use equalities::{Equalities, EqualityRow};
pub use linearised::{Derivatives, Linearised, Linearising};
pub use null_space::NullSpacePart;

use dense::Dense;
use equalities::Independent;
use leastwise_base::task::{Pace, Stopped};
use leastwise_error::Error;
use leastwise_expr::Manifold;
use leastwise_problem::{BlockRows, Pattern, Problem};
use null_space::Points;
use serde::Serialize;
use sparse::{Refused, Sparse};
use std::sync::Arc;

/// Singular values of √W J, its columns brought to length 1, that count as 0 next to the largest.
const RANK_TOLERANCE: f64 = 1e-10;

/// How a covariance is made; what is not there is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct CovarianceOptions {
    /// σ², the variance of a residual of weight 1; estimated where it is not given.
    pub variance: Option<f64>,
    /// Whether what no residual sees is left out, and not refused.
    pub pseudo_inverse: bool,
    /// Eigenvalues of JᵀWJ, scaled to a diagonal of ones, that count as 0: a part of the largest; default: 10⁻¹⁰.
    pub rank_tolerance: Option<f64>,
}

/// What is known of a covariance as a whole.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Rows of residuals that weigh something, and unknowns that are neither fixed nor held by a limit.
    pub residuals: u64,
    /// Unknowns that are neither fixed nor held by a limit.
    pub unknowns: u32,
    /// Unknowns that are fixed, and others that are held by a limit.
    pub fixed: u32,
    /// Unknowns that are held by a limit.
    pub at_limits: u32,
    /// Independent directions that no residual sees, and what they move.
    pub deficiency: u32,
    /// Variables that move in the null space.
    pub unseen: Vec<NullSpacePart>,
    /// Rows of constraints that hold with equality.
    pub equalities: u32,
    /// Rows of them that depend on others, and agree with those.
    pub redundant: u32,
    /// Largest violation of a constraint.
    pub violation: f64,
    /// ½ Σ w ρ(‖r‖²)
    pub cost: f64,
    /// σ², and whether it was estimated.
    pub variance: f64,
    /// True if σ² was estimated: 2·cost / (residuals − unknowns + independent rows of equalities + deficiency).
    pub estimated: bool,
    /// `"dense"` or `"sparse"`.
    pub method: &'static str,
}

/// The inverse of a problem's JᵀWJ.
pub struct Covariance {
    /// Facts about the covariance as a whole.
    pub summary: Summary,
    pattern: Arc<Pattern>,
    inverse: Inverse,
    /// What instances lie on, and where, of the tables that have a manifold.
    tangents: Vec<Option<(Arc<Manifold>, Vec<f64>)>>,
    /// Scalars of an instance, by table.
    widths: Vec<usize>,
}

enum Inverse {
    Dense(Dense),
    Sparse(Box<Sparse>),
}

/// Constraints that hold with equality at the accepted values.
pub struct Held {
    /// Their rows.
    pub equalities: Equalities,
    /// Gradient of the Lagrangian, over all unknowns without gaps.
    pub gradient: Vec<f64>,
    /// For every unknown, whether it is neither fixed nor held by a limit that the Lagrangian's gradient pushes against.
    pub free: Vec<bool>,
    /// True for an unknown that its user has fixed.
    pub fixed: Vec<bool>,
    /// Structure of JᵀWJ with that of AᵀA; none where terms sum over entries.
    pub pattern: Option<Arc<Pattern>>,
}

/// Size of an unknown as a part of its table's largest, at least: one at 0 has the units of its neighbours.
const LEAST_SIZE: f64 = 1e-3;

/// Values of the snapshot that outlive it.
pub struct Values {
    tangents: Vec<Option<(Arc<Manifold>, Vec<f64>)>>,
    widths: Vec<usize>,
    /// Sizes of unknowns: |x|, and at least a part of the table's largest. One for all of a table on a manifold.
    sizes: Vec<Vec<f64>>,
    pub(super) points: Vec<Points>,
}

impl Values {
    /// Of a snapshot that has no place on a device yet.
    pub fn of(snapshot: &Problem) -> Self {
        let tables = || snapshot.moving().filter_map(|table| Some((table, table.initial_values()?)));
        let tangents = tables().map(|(table, values)| Some((table.manifold.clone()?, values.to_vec())));
        let points = tables().enumerate().filter_map(|(number, (table, values))| {
            let (scalar, dimensions) = match &table.manifold {
                None => (0, table.width as usize),
                Some(manifold) => manifold.point()?,
            };
            matches!(dimensions, 2 | 3).then(|| {
                let instances = || values.chunks_exact(table.width as usize);
                let slopes = |manifold: &Arc<Manifold>| {
                    let own = scalar * table.tangent as usize..(scalar + dimensions) * table.tangent as usize;
                    instances().flat_map(|x| manifold.slopes(x)[own.clone()].to_vec()).collect()
                };
                let places = instances().flat_map(|x| x[scalar..scalar + dimensions].to_vec()).collect();
                Points { table: number, dimensions, places, slopes: table.manifold.as_ref().map(slopes) }
            })
        });
        let size = |values: &[f64], is_flat: bool| {
            let largest = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            if is_flat { values.iter().map(|x| x.abs().max(LEAST_SIZE * largest)).collect() } else { vec![largest] }
        };
        Self {
            widths: tables().map(|(table, _)| table.width as usize).collect(),
            sizes: tables().map(|(table, values)| size(values, table.manifold.is_none())).collect(),
            points: points.collect(),
            tangents: tangents.collect(),
        }
    }

    /// Size of every unknown: |x|, and at least a part of the table's largest; for a table on a manifold the largest.
    pub fn sizes(&self, pattern: &Pattern) -> Vec<f64> {
        let of_table = |(sizes, table): (&Vec<f64>, &BlockRows)| match (table.count * table.width) as usize {
            count if count == sizes.len() => sizes.clone(),
            count => vec![sizes.iter().copied().fold(0.0, f64::max); count],
        };
        self.sizes.iter().zip(&pattern.tables).flat_map(of_table).collect()
    }
}

impl CovarianceOptions {
    /// Refuses a variance that is not positive, and a rank tolerance outside of [0, 1).
    pub fn validate(&self) -> Result<(), Error> {
        let refuse = |message: String| Err(Error::InvalidOption(message));
        if let Some(variance) = self.variance.filter(|variance| !(variance.is_finite() && *variance > 0.0)) {
            return refuse(format!("variance must be a positive number or \"estimated\", not {variance}"));
        }
        match self.rank_tolerance.filter(|tolerance| !(0.0..1.0).contains(tolerance)) {
            Some(tolerance) => refuse(format!("rankTolerance must be at least 0 and less than 1, not {tolerance}")),
            None => Ok(()),
        }
    }
}

impl Covariance {
    /// The covariance σ²(JᵀWJ)⁻¹ at the linearised point, or with constraints σ² Z (ZᵀJᵀWJZ)⁻¹Zᵀ. `values` are those of the variables.
    ///
    /// # Errors
    /// [`Error`] for derivatives that are not finite, and for a singular JᵀWJ unless a pseudo-inverse is wanted.
    pub async fn new(
        linearised: Linearised,
        held: Option<&Held>,
        values: &Values,
        options: &CovarianceOptions,
        pace: &Pace,
    ) -> Result<Self, Error> {
        let Linearised { mut pattern, free, fixed, cost, rows, mut derivatives } = linearised;
        let diagonal = derivatives.diagonal();
        if let Some(unknown) = diagonal.iter().zip(&free).position(|(value, free)| *free && !value.is_finite()) {
            return Err(not_finite(&pattern, unknown, diagonal[unknown]));
        }
        let tolerance = options.rank_tolerance.unwrap_or(RANK_TOLERANCE);
        let sizes = values.sizes(&pattern);
        let mut equalities = held.map(|held| held.equalities.clone().settled(&diagonal, &free, &sizes));
        if let (Some(held), Some(settled)) = (held, equalities.take()) {
            let point = touching::Point { gradient: &held.gradient, free: &free, sizes: &sizes, pattern: held.pattern.as_ref() };
            equalities = Some(touching::without(settled, &derivatives, &diagonal, &point, tolerance, pace).await?);
        }
        let equalities = equalities.as_ref();
        let reach = equalities.map_or(vec![0.0; free.len()], |equalities| equalities.reach(free.len()));
        let is_touched = |unknown: usize| diagonal[unknown] != 0.0 || reach[unknown] != 0.0;
        let untouched: Vec<bool> = free.iter().enumerate().map(|(unknown, free)| *free && !is_touched(unknown)).collect();
        if let (Some(equalities), Some(Held { pattern: Some(wide), .. }), Derivatives::Blocks(matrix)) =
            (equalities, held, &mut derivatives)
        {
            let widened = equalities::widened(matrix, wide, pace).await?;
            *matrix = equalities::stiffened(widened, equalities, &free, 1.0, pace).await?.0;
            pattern = wide.clone();
        }
        let dense = |(dense, null, found): (Dense, Vec<Vec<f64>>, Independent)| (Inverse::Dense(dense), null, found);
        let (inverse, null, Independent { pivots, step }) = match derivatives {
            Derivatives::Triangle(columns) => dense(Dense::new(columns, false, &free, tolerance, equalities, pace).await?),
            Derivatives::Whole(columns) => dense(Dense::new(columns, true, &free, tolerance, equalities, pace).await?),
            Derivatives::Blocks(matrix) => {
                let (mut sparse, null) = Sparse::new(matrix, &free, tolerance, pace).await.map_err(refused)?;
                let found = match equalities {
                    Some(equalities) => sparse.hold(&equalities.among(&free), pace).await.map_err(refused)?,
                    None => Independent::default(),
                };
                (Inverse::Sparse(Box::new(sparse)), null, found)
            }
        };
        let rank = pivots.len() as u32;
        let unknowns = free.iter().filter(|free| **free).count() as u32;
        let of_nothing = untouched.iter().filter(|untouched| **untouched).count() as u32;
        let deficiency = match &inverse {
            Inverse::Dense(_) => null.len() as u32,
            Inverse::Sparse(_) => null.len() as u32 + of_nothing,
        };
        let unseen = null_space::describe(&pattern, &null, &untouched, &values.points, pace).await?;
        if deficiency > 0 && !options.pseudo_inverse {
            return Err(Error::RankDeficient(deficient(deficiency, &unseen)));
        }
        let left = rows as f64 - f64::from(unknowns - rank - deficiency);
        if options.variance.is_none() && left <= 0.0 {
            return Err(Error::InvalidOption(format!(
                "the variance can't be estimated: {rows} rows of residuals leave nothing over for {} unknowns; give the variance of a residual of weight 1, as in {{ variance: 1 }}",
                unknowns - rank - deficiency
            )));
        }
        let free_and_fixed = free.iter().zip(&fixed);
        let counted = equalities.map_or(0, |equalities| equalities.rows.len() as u32);
        let summary = Summary {
            residuals: rows,
            unknowns,
            fixed: fixed.iter().filter(|fixed| **fixed).count() as u32,
            at_limits: free_and_fixed.filter(|(free, fixed)| !**free && !**fixed).count() as u32,
            deficiency,
            unseen,
            equalities: counted,
            redundant: counted - rank - equalities.map_or(0, |equalities| equalities.contradicting(&pivots, &step, &sizes)),
            violation: equalities.map_or(0.0, |equalities| equalities.violation),
            cost,
            variance: options.variance.unwrap_or(2.0 * cost / left),
            estimated: options.variance.is_none(),
            method: if matches!(inverse, Inverse::Dense(_)) { "dense" } else { "sparse" },
        };
        Ok(Self { summary, pattern, inverse, tangents: values.tangents.clone(), widths: values.widths.clone() })
    }
}

impl Derivatives {
    /// That of JᵀWJ.
    fn diagonal(&self) -> Vec<f64> {
        match self {
            Self::Triangle(columns) => columns.iter().map(|column| jacobi::dot(column, column)).collect(),
            Self::Whole(columns) => columns.iter().enumerate().map(|(k, column)| column[k]).collect(),
            Self::Blocks(matrix) => sparse::diagonal(matrix),
        }
    }
}

fn refused(refused: Refused) -> Error {
    match refused {
        Refused::Stopped => Stopped.into(),
        Refused::TooLarge => {
            Error::Limits("covariance: the factor of JᵀWJ is too large to be kept: fix what is far from what you ask for".into())
        }
        Refused::TooManyRows(rows) => Error::Limits(format!(
            "covariance: {rows} rows of constraints are too many beside a sparse factor ({} rows, and {} values of rows times unknowns): fix what they hold, or ask of a part of the problem",
            equalities::MOST_ROWS,
            equalities::MOST_VALUES
        )),
        Refused::TooMany => Error::RankDeficient(format!(
            "JᵀWJ is rank-deficient: more than {} directions move nothing that a residual sees, as where a problem falls apart; hold each part of it somewhere with fix() or with residuals",
            sparse::MOST
        )),
        Refused::Singular => Error::RankDeficient(
            "JᵀWJ is not positive definite in f64, though no direction of it is 0: scales or weights are too far apart".into(),
        ),
    }
}

fn deficient(deficiency: u32, unseen: &[NullSpacePart]) -> String {
    let directions = if deficiency == 1 { "1 direction moves" } else { &format!("{deficiency} directions move") };
    let named = unseen.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ");
    format!(
        "JᵀWJ is rank-deficient: {directions} nothing that a residual sees, so there is no covariance: {named}. Fix as much (x.fix([0])), add residuals that hold it, or ask for {{ deficient: \"pseudo-inverse\" }}"
    )
}

fn not_finite(pattern: &Pattern, unknown: usize, value: f64) -> Error {
    let number = pattern.tables.partition_point(|table| (table.scalar + table.count * table.width) as usize <= unknown);
    let table = &pattern.tables[number];
    let place = unknown as u32 - table.scalar;
    Error::NonFinite {
        term: None,
        instance: Some(place / table.width),
        what: format!("the derivative of the residuals with respect to \"{}\"", table.name),
        position: (place % table.width) as usize,
        value: value.to_string(),
    }
}
