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

mod backward;
mod calibration;
mod checkpoints;
mod clusters;
mod compress;
mod constrained;
mod costs;
mod covariances;
mod differences;
mod entries;
mod graduated;
mod hessians;
mod indices;
mod inspect;
mod live;
mod measure;
mod mirrors;
mod refined;
mod searches;
mod solvers;
pub mod surface;
mod task;
mod tensors;
#[cfg(not(target_arch = "wasm32"))]
mod threaded;
mod tune;
mod windows;
pub mod wire;

pub use backward::{BackwardOptions, Gradients, OfTable, OfTerm};
pub use compress::CompressOptions;
pub use covariances::Covaried;
pub use graduated::{Graduated, Suspect};
pub use hessians::HessianForm;
pub use indices::{Answer, singles};
pub use live::Advanced;
pub use measure::{Measured, Traffic};
pub use task::{Progress, SolveMode};
pub use tensors::{TensorSettings, TensorStatistics};
#[cfg(not(target_arch = "wasm32"))]
pub use threaded::{Failure, Outcome, Threaded};

use costs::Costs;
use indices::Indices;
use inspect::{Inspection, Wanted};
use leastwise_base::slab::Slab;
use leastwise_device::{Counters, Device, KernelSource, Kind, Playing, Slice};
use leastwise_error::Error;
use leastwise_kernel::Fixed;
use leastwise_problem::{Loss, Problem, RaggedSpec, Reals, Registry, Relation, Shape, Stats, SummedSpec, TermSpec, Weight};
use leastwise_solve::{Options, Settings, Solver, Summing, state};
use live::LiveSteps;
use std::collections::HashMap;
use task::Task;

/// A problem, and who is working on it.
struct Entry {
    problem: Problem,
    /// What nothing else may run beside.
    running: Option<u32>,
    /// Reads in turn; others may come while they wait.
    reads: Vec<u32>,
}

impl Entry {
    fn is_busy(&self) -> bool {
        self.running.is_some() || !self.reads.is_empty()
    }
}

/// A solver, and the step it was left in by `advance` on the CPU.
struct SolverEntry {
    problem: u32,
    solver: Solver,
    /// A live step that the CPU is in the midst of.
    live: Option<leastwise_device::Play>,
    /// Structure and selection of terms that the kernels of live steps are compiled for, on a GPU.
    compiled: Option<(u64, u64)>,
    /// Structure that the kernels of edits were compiled for.
    edits_of: Option<u64>,
    live_steps: LiveSteps,
    /// True from a report on until the kernels of live steps are compiled: whoever waits for a report before a frame loop loses no frame.
    awaits_live: bool,
}

/// A device beside the session's own, and what is compiled for it.
struct SideDevice {
    device: Device,
    registry: Registry,
}

/// What most calls work on.
type Parts<'a> = (&'a mut Entry, &'a mut Device, &'a mut Registry);

pub struct Session {
    device: Device,
    /// In f32, beside one that is not.
    single: Option<Device>,
    /// In f64 on the CPU, beside one that is not.
    double: Option<SideDevice>,
    /// On WebGPU in f32, its sibling in mixed precision.
    mixed: Option<SideDevice>,
    /// Whether solves that f32 stops go on there.
    refines: bool,
    registry: Registry,
    problems: Slab<Box<Entry>>,
    solvers: Slab<Box<SolverEntry>>,
    tasks: HashMap<u32, Task>,
    next_task: u32,
    indices: Indices,
    covariances: HashMap<u32, covariances::Entry>,
    next_covariance: u32,
    /// Tensors of f32, and of f64.
    worlds: [Option<Box<tensors::World>>; 2],
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
    pub contribution_columns: u32,
    pub chunks: u32,
    /// Instructions of all six programs, of every batch.
    pub instructions: u32,
    /// Batches that its instances are in, and how many other parts of terms are in them.
    pub batches: u32,
    pub neighbours: u32,
}

impl Session {
    pub fn new(device: Device) -> Self {
        Self {
            device,
            single: None,
            double: None,
            mixed: None,
            refines: true,
            registry: Registry::default(),
            problems: Slab::default(),
            solvers: Slab::default(),
            tasks: HashMap::new(),
            next_task: 0,
            indices: Indices::default(),
            covariances: HashMap::new(),
            next_covariance: 0,
            worlds: [None, None],
        }
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What its devices have done.
    pub fn counters(&self) -> Counters {
        let beside = [&self.double, &self.mixed].into_iter().flatten().map(|side| &side.device);
        let others = self.single.iter().chain(beside);
        others.fold(self.device.counters(), |own, other| own.with(&other.counters()))
    }

    pub fn device_mut(&mut self) -> &mut Device {
        &mut self.device
    }

    pub fn problem(&mut self) -> u32 {
        self.problems.insert(Box::new(Entry { problem: Problem::new(), running: None, reads: Vec::new() }))
    }

    /// What was compiled and what was found to be known.
    pub fn stats(&self) -> Stats {
        self.registry.stats()
    }

    fn entry(&mut self, problem: u32) -> Result<Parts<'_>, Error> {
        let entry = self.problems.get_mut(problem).ok_or(Error::Disposed("problem"))?;
        Ok((entry, &mut self.device, &mut self.registry))
    }

    /// The problem, if nothing is running on it.
    fn idle(&mut self, problem: u32) -> Result<Parts<'_>, Error> {
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
        entry.problem.dispose(&mut self.device);
        self.covariances.retain(|_, entry| entry.problem != problem);
    }

    /// A table of instances of so many scalars.
    pub fn table(&mut self, problem: u32, name: &str, width: u32, values: Reals, moving: bool) -> Result<u32, Error> {
        self.table_of(problem, name, vec![Shape::Euclidean(width)], values, moving)
    }

    /// A table of instances that are made of these shapes, one after the other.
    pub fn table_of(&mut self, problem: u32, name: &str, shapes: Vec<Shape>, values: Reals, moving: bool) -> Result<u32, Error> {
        let (entry, device, registry) = self.idle(problem)?;
        entry.problem.add_table(device, registry, name, shapes, values, moving)
    }

    pub fn write_table(&mut self, problem: u32, table: u32, values: Reals, at: Option<&[u32]>) -> Result<(), Error> {
        let (entry, ..) = self.entry(problem)?;
        entry.problem.write_table(table, values, at)
    }

    /// Fixes components (all, or those given) of the instances in `at` (or of all).
    pub fn fix_table(&mut self, problem: u32, table: u32, at: Option<&[u32]>, components: Option<&[u32]>) -> Result<(), Error> {
        self.constrained(problem, false)?.fix(table, at, components)
    }

    /// Lets the instances in `at` (or all) move again.
    pub fn unfix_table(&mut self, problem: u32, table: u32, at: Option<&[u32]>) -> Result<(), Error> {
        self.entry(problem)?.0.problem.unfix(table, at)
    }

    /// Bounds a table's components; what is not given stays as it was.
    pub fn bound_table(&mut self, problem: u32, table: u32, lower: Option<Reals>, upper: Option<Reals>) -> Result<(), Error> {
        let precision = self.device.precision();
        self.constrained(problem, true)?.bound(table, precision, lower, upper)
    }

    /// The problem, about to be constrained: for the first time only if nothing is running on it, since that makes buffers.
    fn constrained(&mut self, problem: u32, bounds: bool) -> Result<&mut Problem, Error> {
        let lacking = self.entry(problem)?.0.problem.lacks_constraints(bounds);
        let (entry, ..) = if lacking { self.idle(problem)? } else { self.entry(problem)? };
        Ok(&mut entry.problem)
    }

    /// Where a table lies in the arena's buffer (elements).
    pub fn view_table(&mut self, problem: u32, table: u32) -> Result<Slice, Error> {
        let (entry, device, _) = self.entry(problem)?;
        let buffer = entry.problem.share(device)?;
        let slice = |entry: &Entry| {
            let table = entry.problem.table(table)?;
            Ok(Slice { buffer, offset: table.arena, len: table.elements() })
        };
        if entry.is_busy() {
            return slice(entry);
        }
        // Whoever draws from the buffer must not see zeros: what waits to be uploaded goes now.
        let mut play = device.start(leastwise_device::Recording { commands: entry.problem.take_uploads() });
        device.resume(&mut play, f64::INFINITY)?;
        slice(entry)
    }

    pub fn term(&mut self, problem: u32, spec: TermSpec) -> Result<u32, Error> {
        let (entry, device, registry) = self.idle(problem)?;
        entry.problem.add_term(device, registry, spec)
    }

    /// A term that is a constraint: its tape is c, which is compared with 0.
    pub fn constraint(&mut self, problem: u32, spec: TermSpec, relation: Relation) -> Result<u32, Error> {
        let (entry, device, registry) = self.idle(problem)?;
        entry.problem.add_constraint(device, registry, spec, relation)
    }

    pub fn ragged_term(&mut self, problem: u32, spec: RaggedSpec) -> Result<u32, Error> {
        let (entry, device, registry) = self.idle(problem)?;
        entry.problem.add_ragged(device, registry, spec)
    }

    pub fn summed_term(&mut self, problem: u32, spec: SummedSpec) -> Result<u32, Error> {
        let (entry, device, registry) = self.idle(problem)?;
        entry.problem.add_summed(device, registry, spec)
    }

    pub fn set_column(&mut self, problem: u32, term: u32, column: u32, values: Reals) -> Result<(), Error> {
        self.entry(problem)?.0.problem.set_column(term, column, values)
    }

    pub fn set_weight(&mut self, problem: u32, term: u32, weight: Weight) -> Result<(), Error> {
        self.entry(problem)?.0.problem.set_weight(term, weight)
    }

    pub fn set_loss(&mut self, problem: u32, term: u32, loss: &Loss) -> Result<(), Error> {
        self.entry(problem)?.0.problem.set_loss(term, loss)
    }

    pub fn set_enabled(&mut self, problem: u32, term: u32, enabled: bool) -> Result<(), Error> {
        self.idle(problem)?.0.problem.set_enabled(term, enabled)
    }

    pub fn free_term(&mut self, problem: u32, term: u32) -> Result<(), Error> {
        let (entry, device, _) = self.idle(problem)?;
        entry.problem.remove_term(device, term)
    }

    pub fn describe_term(&mut self, problem: u32, term: u32) -> Result<TermDescription, Error> {
        let (entry, device, registry) = self.idle(problem)?;
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

    /// The last values of a table that the host knows, also when the device is gone.
    pub fn known_table(&mut self, problem: u32, table: u32) -> Result<Vec<f64>, Error> {
        Ok(self.entry(problem)?.0.problem.known(table)?.to_vec())
    }

    /// A task that reads a table's accepted values. Several may be under way: they are played in turn.
    pub fn read_table(&mut self, problem: u32, number: u32) -> Result<u32, Error> {
        let part = self.entry(problem)?.0.problem.table(number)?;
        let part = part.arena..part.arena + part.elements();
        if let Some(glimpse) = self.glimpse(problem, part)? {
            return Ok(self.add_task(Task::Glimpse(Box::new(glimpse))));
        }
        let running = self.entry(problem)?.0.running;
        let aside = running.and_then(|task| self.tasks.get(&task)).is_some_and(Task::is_between_steps);
        if running.is_some() && !aside {
            return Err(Error::Busy);
        }
        if !aside {
            self.finish_live(problem)?;
        }
        let (entry, device, _) = self.entry(problem)?;
        // Values are there before terms are.
        entry.problem.lay_out_values(device)?;
        let (point, _) = entry.problem.arenas()?;
        let table = entry.problem.table(number)?;
        let slice = Slice { buffer: point.buffer, offset: table.arena, len: table.elements() };
        let revision = entry.problem.revision;
        let mut recording = leastwise_device::Recording { commands: entry.problem.take_uploads() };
        recording.push(leastwise_device::Command::Read { slice });
        let mut play = device.start(recording);
        if !aside {
            let task = self.add_task(Task::Read { problem, table: number, revision, play });
            self.entry(problem)?.0.reads.push(task);
            return Ok(task);
        }
        // Before the solve goes on: here it is played, or enqueued ahead of the next step.
        match device.resume(&mut play, f64::INFINITY)? {
            Playing::Finished(values) => Ok(self.add_task(Task::Values(values))),
            Playing::Yielded | Playing::Waiting(_) => Ok(self.add_task(Task::Read { problem, table: number, revision, play })),
        }
    }

    /// A task that evaluates ½ w ‖r‖² of every instance of a term at the accepted values.
    pub fn term_costs(&mut self, problem: u32, term: u32) -> Result<u32, Error> {
        self.idle(problem)?.0.problem.term(term)?;
        self.once_laid_out(problem, move |session| {
            let (entry, device, _) = session.entry(problem)?;
            Ok(Task::Costs(Costs::of_term(device, &entry.problem, problem, term)?))
        })
    }

    /// A task: r and J of every instance of a term at the accepted values, as the device has them. First all residuals,
    /// then all Jacobians, instance by instance and row by row; columns are the scalars of the term's variables, slot by
    /// slot. Last the Hessians of ½ w ‖r‖², whole, if they are wanted.
    pub fn evaluate_term(&mut self, problem: u32, term: u32, hessian: Option<HessianForm>) -> Result<u32, Error> {
        self.inspect(problem, term, Wanted::Values(hessian))
    }

    /// A task: the entry of J that is furthest from differences of r, as error, instance, row, slot, component,
    /// derivative, difference.
    pub fn check_term(&mut self, problem: u32, term: u32) -> Result<u32, Error> {
        self.inspect(problem, term, Wanted::Check)
    }

    fn inspect(&mut self, problem: u32, term: u32, wanted: Wanted) -> Result<u32, Error> {
        self.idle(problem)?.0.problem.term(term)?;
        self.once_laid_out(problem, move |session| {
            let (entry, device, registry) = session.entry(problem)?;
            let inspection = Inspection::new(device, registry, &entry.problem, problem, term, wanted)?;
            // It linearises at the accepted point whatever the solvers know of it.
            entry.problem.linearized_by = None;
            Ok(Task::Inspect(Box::new(inspection)))
        })
    }

    fn start_task(&mut self, problem: u32, task: Task) -> Result<u32, Error> {
        self.entry(problem)?.0.running = Some(self.next_task);
        Ok(self.add_task(task))
    }

    fn add_task(&mut self, task: Task) -> u32 {
        self.tasks.insert(self.next_task, task);
        self.next_task += 1;
        self.next_task - 1
    }

    pub fn solver(&mut self, problem: u32, options: &Options) -> Result<u32, Error> {
        let settings = options.settings()?;
        self.add_solver(problem, settings)
    }

    fn add_solver(&mut self, problem: u32, settings: Settings) -> Result<u32, Error> {
        let (entry, device, registry) = self.idle(problem)?;
        // A large problem's is set up by its first task.
        let solver = if entry.problem.instances() < solvers::LONG {
            Solver::new(device, registry, &mut entry.problem, settings)?
        } else {
            Solver::unprepared(device, &mut entry.problem, settings)?
        };
        Ok(self.solvers.insert(Box::new(SolverEntry {
            problem,
            solver,
            live: None,
            compiled: None,
            edits_of: None,
            live_steps: LiveSteps::default(),
            awaits_live: false,
        })))
    }

    /// Destroys everything, the device last.
    pub fn dispose(&mut self) {
        self.problems.handles().into_iter().for_each(|problem| self.free_problem(problem));
        self.tasks.clear();
        self.covariances.clear();
        self.indices = Indices::default();
        self.worlds = [None, None];
        // Siblings of the adapter first.
        (self.single, self.mixed, self.double) = (None, None, None);
        match &mut self.device {
            Device::Wgpu(device) => device.dispose(),
            Device::Cpu(device) => device.dispose(),
            #[cfg(feature = "cuda")]
            Device::Cuda(_) => {}
        }
    }

    /// A buffer of one kind for a task of its own, all 0.
    fn scratch(device: &mut Device, len: u32, label: &str) -> Result<Slice, Error> {
        let buffer = device.allocate(Kind::Real, len, label)?;
        Ok(Slice { buffer, offset: 0, len })
    }

    /// What evaluates terms outside of a solver: so many elements of scratch columns, and a state of its own.
    fn summing(device: &mut Device, scratch: u32) -> Result<Summing, Error> {
        let [gather] = device.kernels(&[KernelSource::of_fixed(Fixed::Gather)])?[..] else { return Err(Error::Disposed("kernel")) };
        let scratch = Self::scratch(device, scratch, "scratch columns")?;
        let state = Self::scratch(device, state::STATE_LEN, "state").inspect_err(|_| device.free(scratch.buffer))?;
        Ok(Summing { gather, scratch, state })
    }
}
