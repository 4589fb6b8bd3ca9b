//! Preconditioners of conjugate gradients: names, linear solvers and documentation.

use super::two_level::{self, space::Space};
use super::{Linear, Planning, choose};
use leastwise_base::task::Pace;
use leastwise_device::Device;
use leastwise_error::Error;
use leastwise_linear::conjugate::{self, Blocks, Inexact, Solution};
use leastwise_linear::matrix::{System, Unsolved};
use leastwise_problem::Problem;

/// Table of preconditioners: variant, name, linear solvers with the usual one first, M⁻¹ and what it is good for, as
/// `docs/SOLVERS.md` has them, and the lines of its documentation in TypeScript.
macro_rules! preconditioners {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, [$($linear:ident),+], $row:expr, $description:expr;)*) => {
        /// Preconditioner of conjugate gradients.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Preconditioner { $($(#[$doc])* $variant),* }

        impl Preconditioner {
            /// All preconditioners, in the order of their table.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Name in options and reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Linear solvers that it is for, the usual one first.
            pub fn linears(self) -> &'static [Linear] {
                match self { $(Self::$variant => &[$(Linear::$linear),+]),* }
            }

            /// Cells of its line in `docs/SOLVERS.md`: M⁻¹, and what it is good for.
            pub fn row(self) -> [&'static str; 2] {
                match self { $(Self::$variant => $row),* }
            }

            /// Lines in the documentation of `SolveOptions.preconditioner`.
            pub fn description(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &$description),* }
            }
        }
    };
}

preconditioners! {
    /// The inverted diagonal blocks.
    BlockJacobi = "block-jacobi", [Pcg, AssembledPcg, SchurPcg],
        ["B⁻¹: the inverted diagonal blocks, each variable by itself", "few unknowns, large λ, what has no neighbours"],
        ["the inverted diagonal blocks of JᵀWJ + λD, each variable by itself."];
    /// The same, and the motions of patches: see [`two_level`](super::two_level).
    TwoLevel = "two-level", [Pcg], ["B⁻¹ + T C Tᵀ: the same, and the motions of patches", "meshes, nets, grids"], [
        "the same, and the motions of patches of some 64 variables, by smoothed aggregation: a fraction of the inner",
        "iterations on meshes, hardly more of them on finer ones. Where variables are points, of which residuals see differences,",
        "patches move as rigid bodies. It refuses terms made by `sumOver`, and more than 6 degrees of freedom without points.",
    ];
    /// The inverted diagonal blocks of the Schur complement: see [`reduced`](super::reduced).
    SchurJacobi = "schur-jacobi", [SchurPcg],
        ["the inverted diagonal blocks of S = B − E C⁻¹ Eᵀ, each kept variable by itself", "bundle adjustment"],
    [
        "the inverted diagonal blocks of the Schur complement, each kept variable by itself; the usual one there.",
    ];
    /// A sparse factor of what the matrix was some steps ago: see [`frozen`](leastwise_linear::frozen).
    FrozenFactor = "frozen-factor", [AssembledPcg],
        ["(L Lᵀ)⁻¹, a sparse Cholesky factor of what JᵀWJ + λD was some steps ago", "steps after small edits"],
    [
        "a sparse Cholesky factor that stays from step to step and from edit to edit, until it takes more",
        "than 24 iterations; then a new one is made (`report.factorizations`). For `step()` after every edit of a problem that has a factor.",
    ];
}

impl Preconditioner {
    /// Begins to plan what it adds to the diagonal blocks on the device; none where these are all of it.
    pub fn plan(self, device: &Device, problem: &Problem) -> Result<Option<Planning>, Error> {
        match self {
            Self::TwoLevel if choose::has_sums(problem) => Err(two_level::refused(two_level::OF_SUMS)),
            Self::TwoLevel => {
                let space = Space::new(problem).map_err(|why| two_level::refused(&why))?;
                Ok(Some(two_level::plan(device, problem, space)))
            }
            Self::BlockJacobi | Self::SchurJacobi | Self::FrozenFactor => Ok(None),
        }
    }

    /// Solves a system on the host by conjugate gradients, with a preconditioner that is made of that system.
    pub async fn solve(self, system: &System<'_>, inexact: Inexact, pace: &Pace) -> Result<Solution, Unsolved> {
        match self {
            Self::BlockJacobi => conjugate::solve(system, inexact, &mut Blocks::new(system, pace).await?, pace).await,
            Self::TwoLevel | Self::SchurJacobi => unreachable!("they are the device's"),
            Self::FrozenFactor => unreachable!("its factor outlives the system"),
        }
    }
}
