//! The engine's whole surface, in plain Rust: handles in, values and errors out.
//!
//! A [`Session`] is one device and the problems on it. What takes time is a *task*: [`Session::resume`] goes on with it
//! for a time slice (CPU) or until the GPU must be waited for, and says which. `src/js/` wraps this one to one, and the addon
//! does in a [`Threaded`] session.
//!
//! It decides nothing that a user could see: methods, terms and devices do.
//!
//! ```
//! use leastwise_device::{Device, Limits, Precision, cpu::CpuDevice};
//! use leastwise_problem::Reals;
//! use leastwise_session::Session;
//!
//! let mut session = Session::new(Device::Cpu(CpuDevice::new(Precision::F64, Limits::SMALL)));
//! let problem = session.problem();
//! session.table(problem, "x", 1, Reals::F64(&[1.0, 2.0]), true)?;
//! assert_eq!(session.problems(), [problem]);
//! # Ok::<(), leastwise_error::Error>(())
//! ```

mod bits;
mod calibration;
mod checkpoints;
mod clusters;
mod compress;
mod covariances;
mod differentiation;
mod entry;
mod evaluations;
mod fetched;
mod fits;
#[cfg(not(target_arch = "wasm32"))]
mod followers;
mod graphs;
mod indices;
mod job;
mod lending;
mod merging;
mod normals;
#[cfg(not(target_arch = "wasm32"))]
mod parts;
#[cfg(not(target_arch = "wasm32"))]
mod ranked;
#[cfg(not(target_arch = "wasm32"))]
mod ranked_checkpoints;
#[cfg(not(target_arch = "wasm32"))]
mod ranked_tensors;
mod reach;
mod reads;
mod searches;
mod solvers;
mod solving;
pub mod surface;
mod tensors;
#[cfg(not(target_arch = "wasm32"))]
mod threaded;
pub mod wire;

pub use compress::CompressOptions;
pub use covariances::Covaried;
pub use fits::FitSpec;
pub use indices::{Answer, singles};
pub use job::Progress;
pub use leastwise_outer::{
    Advanced, BackwardOptions, Gradients, Graduated, HessianForm, Measured, OfTable, OfTerm, SolveMode, Suspect, Traffic,
};
pub use lending::Meeting;
pub use tensors::{TensorSettings, TensorStatistics};
#[cfg(not(target_arch = "wasm32"))]
pub use threaded::{Failure, Outcome, Threaded};

use entry::Entry;
#[cfg(not(target_arch = "wasm32"))]
use followers::Followers;
use indices::Indices;
use job::Job;
use leastwise_base::slab::Slab;
use leastwise_device::{Command, Counters, Device, Recording, Slice};
use leastwise_error::Error;
use leastwise_outer::{Devices, Driven};
use leastwise_problem::{Loss, Problem, RaggedSpec, Reals, Relation, Shape, Stats, SummedSpec, TermSpec, Weight};
use std::collections::HashMap;

/// A solver and its problem.
struct SolverEntry {
    problem: u32,
    driven: Driven,
    /// Options of a solver of ranks.
    #[cfg(not(target_arch = "wasm32"))]
    options: Option<Box<leastwise_solve::Options>>,
    /// File from which the next solve by ranks goes on.
    #[cfg(not(target_arch = "wasm32"))]
    restored: Option<std::sync::Arc<leastwise_ranks::Restored>>,
}

impl SolverEntry {
    fn new(problem: u32, driven: Driven) -> Self {
        Self {
            problem,
            driven,
            #[cfg(not(target_arch = "wasm32"))]
            options: None,
            #[cfg(not(target_arch = "wasm32"))]
            restored: None,
        }
    }
}

/// The engine: devices, problems, solvers, indices, tensors and tasks, all by handle.
///
/// # Errors
/// Every method refuses a handle that was freed ([`Error::Disposed`]), and an edit that a running task forbids ([`Error::Busy`]).
pub struct Session {
    devices: Devices,
    problems: Slab<Box<Entry>>,
    solvers: Slab<Box<SolverEntry>>,
    tasks: HashMap<u32, Box<dyn Job>>,
    next_task: u32,
    indices: Indices,
    covariances: HashMap<u32, covariances::Entry>,
    next_covariance: u32,
    normals: Slab<Box<normals::Normals>>,
    fits: Slab<Box<leastwise_fits::Fitting>>,
    fit_sets: Slab<Box<leastwise_fits::FitSet>>,
    /// Tensors of f32, and of f64.
    tensor_contexts: [Option<Box<tensors::TensorContext>>; 2],
    /// The ranks, of which it is one.
    #[cfg(not(target_arch = "wasm32"))]
    ranks: Option<std::sync::Arc<dyn leastwise_collective::Communicator>>,
    /// Ranks of this process that do what it does. They are waited for once its own device is gone.
    #[cfg(not(target_arch = "wasm32"))]
    followers: Option<Followers>,
}

/// Statistics of a term's kernels.
#[derive(serde::Serialize, Debug, Clone, Copy, Default)]
#[serde(rename_all = "camelCase")]
pub struct TermDescription {
    /// Rows of one instance's residual.
    pub residuals: u32,
    /// Columns of one instance's Jacobian.
    pub inputs: u32,
    /// Stored columns besides the residual: distinct non-constant Jacobian entries.
    pub jacobian_columns: u32,
    /// Columns that hold an instance's contributions to gradients and products.
    pub contribution_columns: u32,
    /// Chunks of its batches.
    pub chunks: u32,
    /// Instructions of all six programs, of every batch.
    pub instructions: u32,
    /// Batches that its instances are in, and how many other parts of terms are in them.
    pub batches: u32,
    /// Other parts of terms in its batches.
    pub neighbours: u32,
}

impl Session {
    /// A session on a device, without problems.
    pub fn new(device: Device) -> Self {
        Self {
            devices: Devices::new(device),
            problems: Slab::default(),
            solvers: Slab::default(),
            tasks: HashMap::new(),
            next_task: 0,
            indices: Indices::default(),
            covariances: HashMap::new(),
            next_covariance: 0,
            normals: Slab::default(),
            fits: Slab::default(),
            fit_sets: Slab::default(),
            tensor_contexts: [None, None],
            #[cfg(not(target_arch = "wasm32"))]
            ranks: None,
            #[cfg(not(target_arch = "wasm32"))]
            followers: None,
        }
    }

    /// The device that problems are on.
    pub fn device(&self) -> &Device {
        &self.devices.main
    }

    /// Counters of all its devices.
    pub fn counters(&self) -> Counters {
        let own = self.devices.counters();
        #[cfg(not(target_arch = "wasm32"))]
        {
            self.followers.iter().flat_map(Followers::counters).fold(own, |all, other| all.with(&other))
        }
        #[cfg(target_arch = "wasm32")]
        {
            own
        }
    }

    /// The device that problems are on, to be used directly.
    pub fn device_mut(&mut self) -> &mut Device {
        &mut self.devices.main
    }

    /// Sets if a solve may go on in mixed precision where f32 stops it; by default it does on WebGPU.
    pub fn set_refines(&mut self, refines: bool) {
        self.devices.refines = refines;
    }

    /// An empty problem; returns its handle.
    pub fn problem(&mut self) -> u32 {
        let entry = Entry {
            #[cfg(not(target_arch = "wasm32"))]
            ranked: self.ranks.clone().map(|ranks| Box::new(parts::Parts::new(ranks, self.followers.as_mut()))),
            ..Entry::new()
        };
        self.problems.insert(Box::new(entry))
    }

    /// Refuses what one device has, where it is one of several ranks.
    #[cfg(not(target_arch = "wasm32"))]
    fn refuse_ranks(&self, what: &str) -> Result<(), Error> {
        if self.is_ranked() { Err(ranked::refused(what)) } else { Ok(()) }
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn is_ranked(&self) -> bool {
        self.ranks.is_some()
    }

    #[cfg(target_arch = "wasm32")]
    fn is_ranked(&self) -> bool {
        false
    }

    /// Modules have no ranks.
    #[cfg(target_arch = "wasm32")]
    fn refuse_ranks(&self, _: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Counts of structures that were compiled, and of those that were known.
    pub fn stats(&self) -> Stats {
        self.devices.registry.stats()
    }

    fn entry(&mut self, problem: u32) -> Result<(&mut Entry, &mut Devices), Error> {
        let entry = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        Ok((entry, &mut self.devices))
    }

    /// The problem, if nothing is running on it.
    fn idle(&mut self, problem: u32) -> Result<(&mut Entry, &mut Devices), Error> {
        self.finish_live(problem)?;
        let parts = self.entry(problem)?;
        if parts.0.is_busy() {
            return Err(Error::Busy);
        }
        Ok(parts)
    }

    /// The handles of all problems.
    pub fn problems(&self) -> Vec<u32> {
        self.problems.handles()
    }

    /// Destroys the problem, its solvers and everything they have on the device.
    pub fn free_problem(&mut self, problem: u32) {
        let Some(mut entry) = self.problems.remove(problem) else { return };
        let solvers: Vec<u32> = self.solvers.iter().filter(|(_, entry)| entry.problem == problem).map(|(solver, _)| solver).collect();
        solvers.into_iter().for_each(|solver| self.free_solver(solver));
        entry.running.into_iter().chain(std::mem::take(&mut entry.reads)).for_each(|task| self.drop_task(task));
        let lenders = if entry.problem.is_lending() { entry.problem.take_lenders() } else { Vec::new() };
        entry.problem.dispose(&mut self.devices.main);
        #[cfg(not(target_arch = "wasm32"))]
        entry.ranked.iter_mut().for_each(|parts| parts.dispose(&mut self.devices.main));
        if !lenders.is_empty() {
            self.release_tensors(&lenders);
        }
        let normals: Vec<u32> = self.normals.iter().filter(|(_, entry)| entry.problem == problem).map(|(normals, _)| normals).collect();
        normals.into_iter().for_each(|normals| self.free_normals(normals));
        self.covariances.retain(|_, entry| entry.problem != problem);
    }

    /// Destroys normals of vertices, and their buffers.
    pub fn free_normals(&mut self, normals: u32) {
        if let Some(normals) = self.normals.remove(normals) {
            normals.buffers().into_iter().for_each(|buffer| self.devices.main.free(buffer));
        }
    }

    /// A table of instances of so many scalars.
    pub fn table(&mut self, problem: u32, name: &str, width: u32, values: Reals, moving: bool) -> Result<u32, Error> {
        self.table_of(problem, name, vec![Shape::Euclidean(width)], values, moving)
    }

    /// A table of instances that are made of these shapes, one after the other.
    pub fn table_of(&mut self, problem: u32, name: &str, shapes: Vec<Shape>, values: Reals, moving: bool) -> Result<u32, Error> {
        let (entry, devices) = self.idle(problem)?;
        entry.add_table(devices, name, shapes, values, moving)
    }

    /// Overwrites values of a table: all instances, or the rows `at`. `values` are row-major.
    ///
    /// # Errors
    /// [`Error`] for another number of values, rows that are not there, and values that are not finite or not on the manifold.
    pub fn write_table(&mut self, problem: u32, table: u32, values: Reals, at: Option<&[u32]>) -> Result<(), Error> {
        let (entry, devices) = self.entry(problem)?;
        entry.write_table(devices, table, values, at)?;
        self.let_go(problem);
        Ok(())
    }

    /// Lets go of what a problem had of tensors and has no more.
    fn let_go(&mut self, problem: u32) {
        if self.problems.get_mut(problem).is_some_and(|entry| entry.problem.is_lending()) {
            self.return_lenders();
        }
    }

    /// Overwrites a table by Σ factor · source, on the device, behind all that was begun.
    pub fn combine_tables(&mut self, problem: u32, table: u32, sources: &[u32], factors: &[f64]) -> Result<(), Error> {
        self.refuse_ranks("tables that are combined")?;
        let (entry, devices) = self.entry(problem)?;
        // The kernel may be one that a GPU has to compile first, for which a running solve does not wait.
        if entry.is_busy() {
            return Err(Error::Busy);
        }
        entry.problem.combine(&mut devices.main, table, sources, factors)
    }

    /// Fixes components (all, or those given) of the instances in `at` (or of all).
    pub fn fix_table(&mut self, problem: u32, table: u32, at: Option<&[u32]>, components: Option<&[u32]>) -> Result<(), Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.ranks.is_some() {
            return self.fix_parts(problem, table, at, components);
        }
        self.constrained(problem, table, false)?.fix(table, at, components)
    }

    /// Lets the instances in `at` (or all) move again.
    pub fn unfix_table(&mut self, problem: u32, table: u32, at: Option<&[u32]>) -> Result<(), Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.ranks.is_some() {
            return self.unfix_parts(problem, table, at);
        }
        self.entry(problem)?.0.problem.unfix(table, at)
    }

    /// Bounds a table's components; what is not given stays as it was.
    pub fn bound_table(&mut self, problem: u32, table: u32, lower: Option<Reals>, upper: Option<Reals>) -> Result<(), Error> {
        #[cfg(not(target_arch = "wasm32"))]
        if self.ranks.is_some() {
            self.bound_parts(problem, table, lower, upper)?;
        }
        let precision = self.devices.main.precision();
        self.constrained(problem, table, true)?.bound(table, precision, lower, upper)
    }

    /// The problem, about to be constrained: for the first time only if nothing is running on it, since that makes buffers or commands.
    fn constrained(&mut self, problem: u32, table: u32, bounds: bool) -> Result<&mut Problem, Error> {
        let lacking = self.entry(problem)?.0.problem.lacks_bounds(table, bounds);
        let (entry, ..) = if lacking { self.idle(problem)? } else { self.entry(problem)? };
        Ok(&mut entry.problem)
    }

    /// Slice of a table in the arena's buffer (elements).
    pub fn view_table(&mut self, problem: u32, table: u32) -> Result<Slice, Error> {
        let (entry, Devices { main: device, .. }) = self.entry(problem)?;
        let buffer = entry.problem.share(device)?;
        let slice = |entry: &Entry| {
            let table = entry.problem.table(table)?;
            Ok(Slice { buffer, offset: table.arena, len: table.elements() })
        };
        if entry.is_busy() {
            return slice(entry);
        }
        // Whoever draws from the buffer must not see zeros: what waits to be uploaded goes now. Combinations of tables whose
        // kernel is not compiled yet go with the next recording, and so does what comes behind them.
        let mut recording = Recording { commands: entry.problem.take_uploads() };
        if device.compile(&recording)?.is_some() {
            let is_upload = |command: &Command| !matches!(command, Command::Dispatch(_));
            let uploads = recording.commands.iter().take_while(|command| is_upload(command)).count();
            entry.problem.upload_later(recording.commands.split_off(uploads));
        }
        let mut play = device.start(recording);
        device.resume(&mut play, f64::INFINITY)?;
        slice(entry)
    }

    /// Adds a term to a problem; returns its number ([`Problem::add_term`]).
    pub fn term(&mut self, problem: u32, spec: TermSpec) -> Result<u32, Error> {
        let (entry, devices) = self.idle(problem)?;
        entry.add_term(devices, spec)
    }

    /// A term that is a constraint: its tape is c, which is compared with 0.
    pub fn constraint(&mut self, problem: u32, spec: TermSpec, relation: Relation) -> Result<u32, Error> {
        self.refuse_ranks("constraints")?;
        let (entry, Devices { main: device, registry, .. }) = self.idle(problem)?;
        entry.problem.add_constraint(device, registry, spec, relation)
    }

    /// Adds a ragged term to a problem; returns its number ([`Problem::add_ragged`]).
    pub fn ragged_term(&mut self, problem: u32, spec: RaggedSpec) -> Result<u32, Error> {
        self.refuse_ranks("terms over rows")?;
        let (entry, Devices { main: device, registry, .. }) = self.idle(problem)?;
        entry.problem.add_ragged(device, registry, spec)
    }

    /// The same of a constraint ([`Problem::add_ragged_constraint`]).
    pub fn ragged_constraint(&mut self, problem: u32, spec: RaggedSpec, relation: Relation) -> Result<u32, Error> {
        self.refuse_ranks("constraints")?;
        let (entry, Devices { main: device, registry, .. }) = self.idle(problem)?;
        entry.problem.add_ragged_constraint(device, registry, spec, relation)
    }

    /// Adds a term over sums of rows to a problem; returns its number ([`Problem::add_summed`]).
    pub fn summed_term(&mut self, problem: u32, spec: SummedSpec) -> Result<u32, Error> {
        self.refuse_ranks("terms over sums of rows")?;
        let (entry, Devices { main: device, registry, .. }) = self.idle(problem)?;
        entry.problem.add_summed(device, registry, spec)
    }

    /// Replaces the values of a term's data column; possible during a solve ([`Problem::set_column`]).
    pub fn set_column(&mut self, problem: u32, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        let (entry, devices) = self.entry(problem)?;
        entry.set_column(devices, term, column, values)?;
        self.let_go(problem);
        Ok(())
    }

    /// Replaces a term's weight; possible during a solve ([`Problem::set_weight`]).
    pub fn set_weight(&mut self, problem: u32, term: u32, weight: Weight) -> Result<(), Error> {
        self.entry(problem)?.0.set_weight(term, weight)?;
        self.let_go(problem);
        Ok(())
    }

    /// Replaces the parameters of a term's loss; possible during a solve ([`Problem::set_loss`]).
    pub fn set_loss(&mut self, problem: u32, term: u32, loss: &Loss) -> Result<(), Error> {
        self.entry(problem)?.0.set_loss(term, loss)
    }

    /// Includes a term in the cost, or excludes it ([`Problem::set_enabled`]).
    pub fn set_enabled(&mut self, problem: u32, term: u32, enabled: bool) -> Result<(), Error> {
        self.refuse_ranks("terms that are switched on and off")?;
        self.idle(problem)?.0.problem.set_enabled(term, enabled)
    }

    /// Removes a term and what it has on the device.
    pub fn free_term(&mut self, problem: u32, term: u32) -> Result<(), Error> {
        self.refuse_ranks("terms that are removed")?;
        let (entry, devices) = self.idle(problem)?;
        entry.problem.remove_term(&mut devices.main, term)?;
        self.let_go(problem);
        Ok(())
    }

    /// Sizes of a term, of its programs and of its batches, once the problem is laid out.
    pub fn describe_term(&mut self, problem: u32, term: u32) -> Result<TermDescription, Error> {
        self.refuse_ranks("descriptions of terms")?;
        let (entry, Devices { main: device, registry, .. }) = self.idle(problem)?;
        entry.problem.lay_out(device, registry)?;
        let parts = &entry.problem.term(term)?.parts;
        let batches = parts.iter().filter_map(|part| entry.problem.batches().get(part.place?.batch as usize));
        let (residuals, inputs) = entry.problem.term(term)?.shape(entry.problem.tables());
        let mut description = TermDescription { inputs, ..TermDescription::default() };
        for batch in batches {
            let programs = &batch.programs;
            let all = programs.all();
            description = TermDescription {
                residuals,
                inputs,
                jacobian_columns: description.jacobian_columns.max(programs.stored - programs.rows),
                contribution_columns: description.contribution_columns.max(programs.contributions),
                chunks: description.chunks + batch.chunks.len() as u32,
                instructions: description.instructions + all.iter().map(|program| program.instructions.len() as u32).sum::<u32>(),
                batches: description.batches + 1,
                neighbours: description.neighbours + batch.members.len() as u32 - 1,
            };
        }
        Ok(description)
    }

    /// Destroys everything, the device last.
    pub fn dispose(&mut self) {
        self.problems.handles().into_iter().for_each(|problem| self.free_problem(problem));
        self.tasks.clear();
        self.covariances.clear();
        self.fits = Slab::default();
        self.indices = Indices::default();
        self.tensor_contexts = [None, None];
        #[cfg(not(target_arch = "wasm32"))]
        {
            self.ranks.take();
            self.followers.iter().for_each(Followers::end);
        }
        self.devices.dispose();
    }
}

/// Ranks leave together: followers end before the session's device does.
#[cfg(not(target_arch = "wasm32"))]
impl Drop for Session {
    fn drop(&mut self) {
        self.followers.iter().for_each(Followers::end);
    }
}
