//! Methods: what they make of the solution of the linear system, and what of a step's outcome.
//!
//! - *Levenberg–Marquardt* with Nielsen's damping (Madsen, Nielsen & Tingleff, *Methods for Non-Linear Least Squares
//!   Problems*, 2nd ed. 2004, section 3.2): the step is the solution; a rejected one raises λ, and the next is solved anew.
//! - *Gauss–Newton*: λ = 0. A step that lowers the cost too little for its promise is halved, and halved again, without
//!   another linear solve (Björck, *Numerical Methods for Least Squares Problems*, 1996, section 9.2.1).
//! - *Newton* for energies, whose JᵀWJ is of projected Hessians (Teran, Sifakis, Irving & Fedkiw, *Robust Quasistatic Finite
//!   Elements and Flesh Simulation*, 2005): λ begins next to 0 and grows, by the same rule, only where a step fails. (A search
//!   along whole steps would not do: where a Hessian is singular, they go anywhere.)
//! - *Dogleg* (Powell 1970; Byrd, Schnabel & Shultz 1988): within the trust region √(sᵀDs) ≤ Δ, a combination of the
//!   steepest descent and the Gauss–Newton step; after a rejected step Δ shrinks and they are combined anew.
//!
//! - Methods without a linear system are [descents](super::descent).
//!
//! All rules are shaders over the state; nothing here knows a number that the device has.

use super::descent::Rule;
use super::linear::pcg;
use super::{Iteration, Workspace, state};
use leastwise_device::{Command, Precision, Slice};
use leastwise_error::Error;
use leastwise_kernels::trust_region;
use leastwise_problem::Problem;

/// Method of a solve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Method {
    /// Levenberg–Marquardt with Nielsen's damping.
    LevenbergMarquardt,
    /// Gauss–Newton: no damping; a step that lowers the cost too little is halved.
    GaussNewton,
    /// Newton's method with projected Hessians, damped only where a step fails.
    Newton,
    /// Powell's dogleg within a trust region.
    Dogleg(Dogleg),
    /// By the gradient alone, without a linear system.
    Descent(Rule),
}

/// Where in the trust region a dogleg step is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dogleg {
    /// Along the path from 0 to the Cauchy point to the Gauss–Newton step.
    Traditional,
    /// In the whole plane of these two.
    Subspace,
}

/// λ of the first step (Ceres' initial radius of 10⁴).
const FIRST_DAMPING: f64 = 1e-4;
/// φ at first, and after an edit: D is not to follow a column that vanishes farther than this (what Ceres'
/// `min_lm_diagonal` is to columns that were scaled at the start).
pub const FIRST_FLOOR: f64 = 1e-6;
/// Δ of the first step (Ceres').
const FIRST_RADIUS: f64 = 1e4;
/// λ of dogleg's Gauss–Newton steps and of Newton's first one, so that free gauges don't matter (Ceres' `min_mu`); in f32 it must be
/// felt at all.
const NEXT_TO_NO_DAMPING: [f64; 2] = [1e-8, 1e-6];

impl Method {
    /// Methods that solve a linear system.
    pub const OF_SYSTEMS: [Self; 4] = [Self::LevenbergMarquardt, Self::GaussNewton, Self::Newton, Self::Dogleg(Dogleg::Traditional)];

    /// The name that options and reports have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LevenbergMarquardt => "lm",
            Self::GaussNewton => "gauss-newton",
            Self::Newton => "newton",
            Self::Dogleg(_) => "dogleg",
            Self::Descent(rule) => rule.name(),
        }
    }

    pub(crate) fn first_damping(self, precision: Precision) -> f64 {
        match self {
            Self::LevenbergMarquardt => FIRST_DAMPING,
            Self::GaussNewton | Self::Descent(_) => 0.0,
            Self::Newton | Self::Dogleg(_) => NEXT_TO_NO_DAMPING[usize::from(precision == Precision::F32)],
        }
    }

    /// The state that the first step finds.
    pub fn start(self, precision: Precision) -> Vec<(u32, f64)> {
        let mut start = vec![(state::DAMPING, self.first_damping(precision)), (state::TOO_FAR, 0.0)];
        start.extend([(state::DAMPING_TAKEN, 0.0), (state::RADIUS_TAKEN, 0.0)]);
        match self {
            Self::LevenbergMarquardt | Self::Newton => start.push((state::GROWTH, 2.0)),
            Self::GaussNewton => start.extend([(state::ALONG_STEEPEST, 0.0), (state::ALONG_NEWTON, 1.0)]),
            Self::Dogleg(_) => start.push((state::RADIUS, FIRST_RADIUS)),
            Self::Descent(rule) => start.extend(rule.start()),
        }
        start
    }

    /// Whether its steps are made of a solution that is kept, so that the step after a rejected one needs no other.
    pub fn keeps_solution(self) -> bool {
        matches!(self, Self::GaussNewton | Self::Dogleg(_))
    }

    /// How directions are made, where no linear system is solved.
    pub fn descent(self) -> Option<Rule> {
        if let Self::Descent(rule) = self { Some(rule) } else { None }
    }

    /// Whether its steps are parts of a whole one.
    pub fn has_length(self) -> bool {
        matches!(self, Self::GaussNewton | Self::Descent(_))
    }

    /// Whether λ may be raised where a system has no solution without.
    pub fn may_damp(self) -> bool {
        self != Self::GaussNewton
    }

    /// Rejections in a row after which there is no progress to be had: λ grows faster than lengths and radii shrink.
    pub fn max_rejections(self) -> u32 {
        match self {
            Self::LevenbergMarquardt | Self::Newton => 12,
            _ => 30,
        }
    }

    /// What is to be tried from the point before a step that led where J or g is not finite, the `times`-th in a row.
    pub fn retreat(self, step: &Iteration, times: u32) -> Vec<(u32, f64)> {
        let less = 0.25f64.powi(times as i32);
        match self {
            Self::LevenbergMarquardt | Self::Newton => {
                vec![(state::DAMPING, (step.damping / less).clamp(1e-20, 1e15)), (state::GROWTH, 2.0)]
            }
            Self::GaussNewton => vec![(state::ALONG_NEWTON, step.length.unwrap_or(1.0) * less)],
            Self::Dogleg(_) => vec![(state::RADIUS, step.radius.unwrap_or(FIRST_RADIUS) * less)],
            // A search takes no point where J is not finite.
            Self::Descent(_) => Vec::new(),
        }
    }

    /// Keeps the solution that the linear solver left in `work.step`, and computes what its combinations need.
    pub fn keep(self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        if !self.keeps_solution() {
            return Ok(());
        }
        let [newton, residual] = work.newton()?;
        commands.push(Command::Copy { from: work.step, to: newton });
        commands.push(Command::Copy { from: work.residual, to: residual });
        if !matches!(self, Self::Dogleg(_)) {
            return Ok(());
        }
        let vector = problem.vector_len();
        commands.push(work.fixed(
            trust_region::Steepest,
            vector,
            trust_region::SteepestBindings { scale: work.scale, gradient: work.gradient, z: work.z },
        ));
        // The product is one of conjugate gradients, whose direction begins at z when β is 0.
        for element in [state::SOLVED, state::BETA] {
            commands.push(Command::Clear { slice: Slice { offset: element, len: 1, ..work.state } });
        }
        pcg::product(work, problem, commands);
        let (sums, partials) = work.partial(
            trust_region::DoglegSums { distance: work.partial_distance, elements: vector },
            vector,
            trust_region::DoglegSumsBindings {
                gradient: work.gradient,
                scale: work.scale,
                d: work.p,
                q: work.q,
                n: newton,
                residual,
                partials: work.partials,
            },
        );
        commands.push(sums);
        commands.push(work.reduce(trust_region::DoglegPlane { partial_count: partials, distance: work.partial_distance }));
        if let Some([d, q]) = work.steepest() {
            commands.push(Command::Copy { from: Slice { len: vector, ..work.p }, to: d });
            commands.push(Command::Copy { from: Slice { len: vector, ..work.q }, to: q });
        }
        Ok(())
    }

    /// Makes the step of what was kept: for Gauss–Newton b·n, for dogleg a·d + b·n.
    pub fn combine(self, work: &Workspace, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        match self {
            Self::LevenbergMarquardt | Self::Newton | Self::Descent(_) => return Ok(()),
            Self::GaussNewton => {}
            Self::Dogleg(Dogleg::Traditional) => commands.push(work.scalars(trust_region::Dogleg)),
            Self::Dogleg(Dogleg::Subspace) => commands.push(work.scalars(trust_region::DoglegSubspace)),
        }
        let [newton, residual] = work.newton()?;
        let [d, q] = work.steepest().unwrap_or([work.p, work.q]);
        commands.push(work.fixed(
            trust_region::Combine,
            problem.vector_len(),
            trust_region::CombineBindings {
                gradient: work.gradient,
                d,
                q,
                n: newton,
                step: work.step,
                residual: work.residual,
                state: work.state,
                newton_residual: residual,
            },
        ));
        Ok(())
    }

    /// What follows from the outcome for the next step.
    pub fn learn(self, work: &Workspace, commands: &mut Vec<Command>) {
        commands.push(match self {
            Self::LevenbergMarquardt | Self::Newton => work.scalars(trust_region::Nielsen),
            Self::GaussNewton => work.scalars(trust_region::StepLength),
            Self::Dogleg(_) => work.scalars(trust_region::TrustRegion),
            Self::Descent(_) => return,
        });
    }
}
