//! What a solve says of itself.

use super::{Feasibility, NonFiniteResidual};
use leastwise_cpu::{Evaluation, Evaluator, Linking};
use leastwise_device::{Counters, Device, KernelId};
use leastwise_problem::{Batch, Freedom, Schedule, TermKernels};
use serde::Serialize;

/// One step, accepted or not.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Iteration {
    /// Number of the step, from 0 on.
    pub index: u32,
    /// ½ Σ w ‖r‖² after the step, if it was accepted, else before it.
    pub cost: f64,
    /// Cost at the trial point minus cost before; negative is better.
    pub cost_change: f64,
    /// max |gᵢ| before the step.
    pub gradient_norm: f64,
    /// ‖s‖.
    pub step_norm: f64,
    /// λ that the linear system was solved with.
    pub damping: f64,
    /// Dogleg: the radius Δ of the trust region √(sᵀDs) ≤ Δ that the step was looked for in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Gauss–Newton: the part of the whole step that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
    /// Achieved decrease over the decrease that the quadratic model predicted, between −10 and 10; 0 where one of the two
    /// is not finite. Where steps may go uphill, the decrease since the reference where that is more.
    pub gain_ratio: f64,
    /// Conjugate-gradient iterations.
    pub inner_iterations: u32,
    /// True if the step was accepted.
    pub accepted: bool,
    /// Milliseconds that the step took.
    pub ms: f64,
}

/// Why a solve ended.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Termination {
    /// A convergence test was met: cost, gradient or step.
    Converged,
    /// The greatest number of steps was reached.
    MaxIterations,
    /// The time limit was reached.
    TimeLimit,
    /// The solve was stopped from outside.
    Stopped,
    /// No step is accepted any more, and no convergence test was met.
    NoProgress,
    /// The arithmetic's precision, not the tolerance, ended it.
    Precision,
    /// The linear system has no solution.
    Singular,
    /// Constraints can't be met from where the solve began.
    Infeasible,
    /// An energy falls without end.
    Unbounded,
}

impl Termination {
    /// All terminations.
    pub const ALL: [Self; 9] = [
        Self::Converged,
        Self::MaxIterations,
        Self::TimeLimit,
        Self::Stopped,
        Self::NoProgress,
        Self::Precision,
        Self::Singular,
        Self::Infeasible,
        Self::Unbounded,
    ];
}

impl Termination {
    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIterations => "max-iterations",
            Self::TimeLimit => "time-limit",
            Self::Stopped => "stopped",
            Self::NoProgress => "no-progress",
            Self::Precision => "precision",
            Self::Singular => "singular",
            Self::Infeasible => "infeasible",
            Self::Unbounded => "unbounded",
        }
    }
}

/// What became of going on in more precision.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum RefinementState {
    /// f32 is not what ended the solve, or it was not in f32.
    NotNeeded,
    /// It went on, and came to an end of its own.
    Done,
    /// There was more to be had, but not here.
    Refused,
    /// It was to go on, and that went wrong: what f32 came to stands.
    Failed,
    /// It was ended from outside, by a limit or a stop.
    Ended,
}

/// Whether a solve went on in more precision than f32, and why not.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Refinement {
    /// Outcome of the refinement.
    pub state: RefinementState,
    /// For programs, of what was refused, failed or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// Reason of the outcome, in words.
    pub reason: String,
}

impl Refinement {
    /// A refinement's account.
    pub fn new(state: RefinementState, code: Option<&'static str>, reason: impl Into<String>) -> Self {
        Self { state, code, reason: reason.into() }
    }

    /// Of a solve in this precision that asked for no more.
    pub fn not_needed(precision: &str) -> Self {
        let reason = if precision == "f32" { "f32 is not what ended it".into() } else { format!("it was solved in {precision}") };
        Self::new(RefinementState::NotNeeded, None, reason)
    }
}

/// How the products JᵀWJ·p of the instances of one structure are computed.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ProductReport {
    /// The first of the terms that share the kernel.
    pub term: String,
    /// Instances of the batch.
    pub instances: u32,
    /// Schedule of the product.
    pub schedule: Schedule,
    /// Why it is this one.
    pub reason: String,
    /// What the tuning table calls the product.
    pub key: String,
}

impl ProductReport {
    /// The account of a batch's products.
    pub fn of(batch: &Batch) -> Self {
        let product = &batch.product;
        Self {
            term: batch.name.clone(),
            instances: batch.count(),
            schedule: product.schedule,
            reason: product.why.clone(),
            key: product.key.clone(),
        }
    }
}

/// How the CPU runs a program, where there is a choice.
#[derive(Clone, Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EvaluatorReport {
    /// The first of the terms that share the kernel, and what the program computes.
    pub program: String,
    /// Items that the program is run on.
    pub instances: u32,
    /// Evaluator of the program.
    pub evaluator: Evaluator,
    /// Whether its module was there at the end; until then the interpreter goes on.
    pub module: Linking,
    /// Why it is this one.
    pub reason: String,
    /// What the tuning table calls the program.
    pub key: String,
}

impl EvaluatorReport {
    /// Of the programs that steps run for a batch, its product included or not.
    pub fn of(device: &Device, batch: &Batch, product: bool) -> Vec<Self> {
        let TermKernels { linearize, energy, change, gradient, diagonal, .. } = batch.kernels;
        let programs = [("linearize", linearize), ("energy", energy), ("change", change), ("gradient", gradient), ("diagonal", diagonal)];
        let product = product.then_some(("product", batch.product.kernel));
        let of = |(name, kernel): (&str, KernelId)| {
            // Chunks are of one length, but for the last.
            let instances = batch.chunks.first()?.count;
            let Evaluation { key, evaluator, module, why } = device.evaluation(kernel, instances)?;
            Some(Self { program: format!("{}: {name}", batch.name), instances, evaluator, module, reason: why, key })
        };
        programs.into_iter().chain(product).filter_map(of).collect()
    }
}

/// The account of a whole solve. Not converging is a report, never an error.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Reason of the end, for programs.
    pub termination: Termination,
    /// True for [`Termination::Converged`].
    pub converged: bool,
    /// Reason of the end, in words.
    pub reason: String,
    /// Cost at the start: ½ Σ w ρ(‖r‖²), and energies.
    pub initial_cost: f64,
    /// Cost at the end.
    pub cost: f64,
    /// Steps that were tried.
    pub iterations: Vec<Iteration>,
    /// Cost at the end by the names of the enabled terms.
    #[serde(serialize_with = "as_map")]
    pub cost_by_term: Vec<(String, f64)>,
    /// Where there are constraints, how well they are met; they have no part in the costs above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feasibility: Option<Feasibility>,
    /// Components that were outside of their limits before a step, and were moved to the nearest point inside.
    pub moved_into_bounds: u32,
    /// Steps that were rejected because the residual was not finite where they led, and where it was the first time.
    pub non_finite: u32,
    /// Step, term and instance of the first non-finite residual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_non_finite: Option<NonFiniteResidual>,
    /// Milliseconds of layout and compilation.
    pub compile_ms: f64,
    /// Milliseconds of the solve, compilation excluded.
    pub solve_ms: f64,
    /// Backend of the device.
    pub backend: &'static str,
    /// Precision in users' words: `"f32"`, `"mixed"`, `"f32x2"` or `"f64"`.
    pub precision: &'static str,
    /// Account of the continuation in more precision.
    pub refinement: Refinement,
    /// Name of the method.
    pub method: &'static str,
    /// Name of the linear solver.
    pub linear: &'static str,
    /// Why it is this linear solver.
    pub linear_reason: String,
    /// What conjugate gradients were preconditioned by, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditioner: Option<&'static str>,
    /// Reason for the preconditioner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preconditioner_reason: Option<String>,
    /// How often a `"frozen-factor"` was made since the solver was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factorizations: Option<u64>,
    /// Unknowns that nothing holds: the linear system is singular there, and damping keeps them where they are.
    pub gauge: Vec<Freedom>,
    /// How the products of each batch are computed by `"pcg"`.
    pub products: Vec<ProductReport>,
    /// How programs are run, where the CPU has a choice.
    pub evaluators: Vec<EvaluatorReport>,
    /// What the device did in this call.
    pub counters: Counters,
    /// Dispatches of this call that found the linear system solved already; of steps whose numbers came back.
    pub idle_dispatches: u64,
}

fn as_map<S: serde::Serializer>(costs: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(costs.iter().map(|(name, cost)| (name, cost)))
}
