//! Solvers' state machine, the same for every method and linear solver.
//!
//! A step is: linearise where the point moved, solve a linear system, make a step of its solution, try it, and accept it
//! or not. [`step`](super::step) has the commands that are always the same, [`linear`](super::linear) those of the linear
//! system. All is decided on the device: a step is one recording whose end reads the state back, and only the tests for
//! termination ([`super::termination`]) are made here.
//!
//! A linear solver on the host cuts a step in two recordings, between which it works in time slices: see [`super::linear`].
//!
//! | part | contents |
//! |---|---|
//! | `Resources` | buffers and the linear solver |
//! | `Phase` | place within a step |
//! | `Iterate` | damping, and what was evaluated at the point |
//! | `Stopping` | tests for termination and limits |
//! | `History` | iterations, and what the next report tells |
//! | `Rollback` | steps that are undone |
//! | `Start` | the point that a solve began at |
//! | `StepCache` | recordings of steps |
//!
//! A [checkpoint](Saved) is what these parts write of themselves.

mod cache;
mod checkpoint;
mod descending;
mod ending;
mod history;
mod iterate;
mod live;
mod reporting;
mod resources;
mod rollback;
mod saved;
mod start;
mod stepping;
mod stopping;
mod succession;
mod systems;
mod upkeep;

pub use checkpoint::{Over, Part, Saved};
pub use stepping::Next;
pub use succession::Spent;

use super::linear::direct::DampingState;
#[cfg(not(target_arch = "wasm32"))]
use super::linear::{Choice, Linear, Preconditioner};
use super::method::FIRST_FLOOR;
use super::options::Settings;
#[cfg(not(target_arch = "wasm32"))]
use super::ranks::Exchanged;
use super::term_costs::TermCosts;
use super::{Needs, Workspace};
use cache::StepCache;
use history::History;
use iterate::Iterate;
use leastwise_base::clock::now_ms;
use leastwise_device::{BufferId, Command, Device, Precision};
use leastwise_error::Error;
use leastwise_problem::{Problem, Registry};
use leastwise_program::Entry;
use resources::{Resources, SetUp};
use rollback::Rollback;
use start::Start;
use stepping::Phase;
use stopping::Stopping;

/// A solve as a state machine: it gives recordings, and goes on with what they read.
pub struct Solver {
    settings: Settings,
    resources: Resources,
    /// Resources that are being made for the problem as it is now.
    setup: Option<Box<SetUp>>,
    /// True once it was ready for a structure of the problem.
    was_ready: bool,
    phase: Phase,
    iterate: Iterate,
    stopping: Stopping,
    history: History,
    rollback: Rollback,
    start: Start,
    cache: StepCache,
    /// Costs of terms in the recording of a report.
    costs: TermCosts,
    precision: Precision,
    /// Precision of inner iterations.
    inner_precision: Precision,
    /// Number of this one among the problem's solvers.
    id: u64,
    backend: &'static str,
    /// Milliseconds of layout, compilation and set-up that no report has yet.
    pub compile_ms: f64,
}

impl Solver {
    /// A solver of the problem as it is now, laid out and set up at once.
    ///
    /// # Errors
    /// [`Error`] for an empty problem, for settings that do not suit it, and for buffers that do not fit.
    pub fn new(device: &mut Device, registry: &mut Registry, problem: &mut Problem, settings: Settings) -> Result<Self, Error> {
        let before = device.counters();
        problem.lay_out(device, registry)?;
        let started = now_ms();
        let resources = SetUp::new(&settings, device, problem).resume(&settings, (device, registry, problem), f64::INFINITY)?;
        let resources = resources.ok_or(Error::Internal("a solver was not set up"))?;
        let compile_ms = now_ms() - started;
        let solver = Self::with(device, problem, settings, resources);
        Ok(Self { history: History::new(before), compile_ms, was_ready: true, ..solver })
    }

    fn with(device: &Device, problem: &mut Problem, settings: Settings, resources: Resources) -> Self {
        let precision = device.precision();
        problem.solvers += 1;
        Self {
            iterate: Iterate::new(first_damping(&settings, precision), is_linear(problem)),
            settings,
            resources,
            setup: None,
            was_ready: false,
            phase: Phase::Ready,
            stopping: Stopping::default(),
            history: History::new(device.counters()),
            rollback: Rollback::default(),
            start: Start::default(),
            cache: StepCache::new(problem),
            costs: TermCosts::default(),
            precision,
            inner_precision: device.inner_precision(),
            id: problem.solvers,
            backend: device.backend(),
            compile_ms: 0.0,
        }
    }

    /// The solver's buffers, for measuring its parts.
    pub fn workspace(&self) -> &Workspace {
        &self.resources.work
    }

    /// Sizes of what ranks exchange; none where there are no ranks.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn exchanged(&self) -> Option<Exchanged> {
        let Choice { linear, preconditioner, .. } = &self.resources.choice;
        let has_blocks = preconditioner.as_ref().is_some_and(|(preconditioner, _)| *preconditioner == Preconditioner::SchurJacobi);
        self.resources.work.exchanged([*linear == Linear::SchurPcg, has_blocks])
    }

    /// The assembly of JᵀWJ, where the linear solver has one: what prepares it once, and itself.
    pub fn assembly(&mut self, problem: &Problem) -> Result<[Vec<Command>; 2], Error> {
        let Resources { host, work, .. } = &mut self.resources;
        host.as_mut().map_or(Ok(Default::default()), |host| host.assembly(work, problem))
    }

    /// Recordings of steps that were made so far; a step that repeats plays one that is there.
    pub fn recordings_made(&self) -> u64 {
        self.cache.made
    }

    fn is_cpu(&self) -> bool {
        self.backend == "cpu"
    }

    /// Every buffer that it owns.
    pub fn buffers(&self) -> Vec<BufferId> {
        self.resources.buffers()
    }
}

fn first_damping(settings: &Settings, precision: Precision) -> DampingState {
    DampingState { damping: settings.method.first_damping(precision), floor: FIRST_FLOOR, forcing: settings.forcing[1] }
}

/// True if the model of the cost is exact.
fn is_linear(problem: &Problem) -> bool {
    let known = |entry: &Entry| !matches!(entry, Entry::Stored { .. });
    // Ranks have other terms, and must agree: no part of a problem is taken for linear.
    !super::ranks::is_ranked(problem) && problem.enabled_batches().all(|batch| batch.is_plain() && batch.programs.entries.iter().all(known))
}

fn needs(settings: &Settings) -> Needs {
    let method = settings.method;
    Needs { keeps_solution: method.keeps_solution(), keeps_best: settings.nonmonotone > 0, descends: method.descent().is_some() }
}
