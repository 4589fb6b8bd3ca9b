//! Levenberg–Marquardt with Nielsen's damping (Madsen, Nielsen & Tingleff, *Methods for Non-Linear Least Squares
//! Problems*, 2nd ed. 2004, section 3.2) and inexact steps.
//!
//! A step is one recording: linearise where the point moved, solve (JᵀWJ + λD) s = −g, try x + s, and accept or not —
//! all decided on the device. Its end reads the state back, and only the tests for termination are made here.

use super::options::Settings;
use super::term_costs::TermCosts;
use super::workspace::Gathered;
use super::{Iteration, Report, Termination, Workspace, linear::pcg, state};
use crate::clock::now_ms;
use crate::device::{BufferId, Command, Counters, Device, Precision, Recording, binding::*};
use crate::error::Error;
use crate::kernel::Fixed;
use crate::problem::{Problem, Registry, Table};

/// λ of the first step (Ceres' initial radius of 10⁴).
const FIRST_DAMPING: f64 = 1e-4;
/// η of the first step's inner solver; `accept` moves it between 0.001 and 0.1 by how well the model did.
const FORCING: f64 = 0.1;
/// Rejections in a row after which there is no progress to be had.
const MAX_REJECTIONS: u32 = 12;

/// Inner iterations of a live step.
const LIVE_INNER: u32 = 24;

/// What a solver wants next.
pub enum Next {
    /// Play this and come back with what it read.
    Run(Recording),
    /// One iteration is complete; ask again for the next recording.
    Iteration(Iteration),
    /// The residual is not finite at the accepted values: find out where.
    Blame,
    Done(Box<Report>),
}

/// How long the inner solver may go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inner {
    ToTolerance,
    /// A bounded number of iterations, for frame loops: they are enqueued without knowing when the system is solved.
    Live,
}

enum Phase {
    /// Before a step, or after one was reported.
    Ready,
    /// A step is being played.
    Stepping { started_ms: f64 },
    /// The costs of the terms are being summed for the report.
    Reporting(Termination, String),
}

pub struct Levenberg {
    settings: Settings,
    work: Workspace,
    precision: Precision,
    phase: Phase,
    iterations: Vec<Iteration>,
    initial_cost: Option<f64>,
    model: f64,
    point_norm: f64,
    /// The first iteration since the last report.
    first_iteration: u32,
    rejections: u32,
    /// Steps since the solver was (re)opened.
    tried: u32,
    started_ms: Option<f64>,
    stop: Option<String>,
    ending: Option<(Termination, String)>,
    /// The damping that the step being played is computed with.
    damping: f64,
    /// What of the problem the recording and the device's state were made for.
    revision: u64,
    structure: u64,
    selection: u64,
    /// Which of the problem's solvers this is.
    id: u64,
    /// The step's commands for either kind of [`Inner`], while the structure stays.
    recordings: [Option<Vec<Command>>; 2],
    /// Whether the first values of the state were uploaded.
    fresh_state: bool,
    costs: TermCosts,
    before: Counters,
    backend: &'static str,
    pub compile_ms: f64,
}

impl Levenberg {
    pub fn new(device: &mut Device, registry: &mut Registry, problem: &mut Problem, settings: Settings) -> Result<Self, Error> {
        let before = device.counters();
        problem.lay_out(device, registry)?;
        let started = now_ms();
        let work = Workspace::new(device, problem)?;
        Ok(Self {
            settings,
            work,
            precision: device.precision(),
            phase: Phase::Ready,
            iterations: Vec::new(),
            initial_cost: None,
            model: f64::NAN,
            point_norm: f64::NAN,
            first_iteration: 0,
            rejections: 0,
            started_ms: None,
            stop: None,
            ending: None,
            damping: FIRST_DAMPING,
            revision: u64::MAX,
            structure: problem.structure,
            selection: problem.selection,
            id: {
                problem.solvers += 1;
                problem.solvers
            },
            tried: 0,
            recordings: [None, None],
            fresh_state: false,
            costs: TermCosts::default(),
            before,
            backend: if matches!(device, Device::Cpu(_)) { "cpu" } else { "webgpu" },
            compile_ms: now_ms() - started,
        })
    }

    /// The solver's buffers, for measuring its parts.
    pub fn workspace(&self) -> &Workspace {
        &self.work
    }

    pub fn buffers(&self) -> Vec<BufferId> {
        self.work.buffers()
    }

    /// Ends the solve after the step that is being played.
    pub fn stop(&mut self, reason: &str) {
        self.stop = Some(reason.to_string());
    }

    /// Forgets how the last solve ended, were it in the midst of a step, so that the solver can go on.
    pub fn reopen(&mut self) {
        self.phase = Phase::Ready;
        (self.stop, self.ending, self.rejections, self.tried) = (None, None, 0, 0);
        self.started_ms = None;
    }

    /// Goes on with what the last recording read back.
    pub fn advance(&mut self, problem: &mut Problem, device: &Device, readback: &[f64]) -> Result<Next, Error> {
        let started = *self.started_ms.get_or_insert_with(now_ms);
        match std::mem::replace(&mut self.phase, Phase::Ready) {
            Phase::Stepping { started_ms } => {
                let Some(iteration) = self.read_step(readback, now_ms() - started_ms) else { return Ok(Next::Blame) };
                self.judge(&iteration);
                self.iterations.push(iteration);
                Ok(Next::Iteration(iteration))
            }
            Phase::Reporting(termination, reason) => Ok(Next::Done(Box::new(self.report(device, termination, reason, readback, started)))),
            Phase::Ready => {
                if self.ending.is_none() {
                    self.ending = self.limit(started);
                }
                if let Some((termination, reason)) = self.ending.clone() {
                    self.phase = Phase::Reporting(termination, reason);
                    return Ok(Next::Run(self.report_recording(problem)?));
                }
                self.phase = Phase::Stepping { started_ms: now_ms() };
                let mut recording = self.step(problem, Inner::ToTolerance)?;
                recording.push(Command::Read { slice: self.work.state });
                Ok(Next::Run(recording))
            }
        }
    }

    /// The commands of the report alone, for a solver that was advanced without readbacks.
    pub fn report_now(&mut self, problem: &mut Problem) -> Result<Recording, Error> {
        self.phase = Phase::Reporting(Termination::Stopped, "a report was asked for between live steps".into());
        self.started_ms.get_or_insert_with(now_ms);
        self.report_recording(problem)
    }

    /// One LM step, without reading back.
    pub fn step(&mut self, problem: &mut Problem, inner: Inner) -> Result<Recording, Error> {
        let mut commands = problem.take_uploads();
        self.refresh_state(problem, &mut commands);
        if self.selection != problem.selection {
            self.selection = problem.selection;
            self.recordings = [None, None];
        }
        let cached = match self.recordings[inner as usize].take() {
            Some(cached) => cached,
            None => self.step_commands(problem, inner)?,
        };
        commands.extend(cached.iter().cloned());
        self.recordings[inner as usize] = Some(cached);
        Ok(Recording { commands })
    }

    /// Brings buffers and recordings up to date with what the problem has become. Before anything else is asked.
    pub fn prepare(&mut self, device: &mut Device, registry: &mut Registry, problem: &mut Problem) -> Result<(), Error> {
        if !problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        if self.is_of(problem.structure) {
            return Ok(());
        }
        problem.lay_out(device, registry)?;
        let work = Workspace::new(device, problem)?;
        let old = std::mem::replace(&mut self.work, work);
        old.buffers().into_iter().for_each(|buffer| device.free(buffer));
        self.structure = problem.structure;
        (self.fresh_state, self.revision, self.recordings) = (false, u64::MAX, [None, None]);
        Ok(())
    }

    /// Whether its buffers were made for this structure of the problem.
    pub fn is_of(&self, structure: u64) -> bool {
        self.structure == structure
    }

    /// Uploads what of the state an edit, or another solver of the same problem, has made stale.
    fn refresh_state(&mut self, problem: &mut Problem, commands: &mut Vec<Command>) {
        if self.revision != problem.revision || problem.linearized_by != Some(self.id) {
            self.revision = problem.revision;
            problem.linearized_by = Some(self.id);
            self.upload_state(commands);
        }
    }

    /// The state at the start, or after an edit: what is known of the point is stale, the damping is not.
    fn upload_state(&mut self, commands: &mut Vec<Command>) {
        let mut upload = |element: u32, value: f64| {
            commands.push(Command::UploadReals { buffer: self.work.state.buffer, offset: element, data: vec![value] });
        };
        if !self.fresh_state {
            self.fresh_state = true;
            upload(state::DAMPING, FIRST_DAMPING);
            upload(state::GROWTH, 2.0);
            upload(state::FORCING, FORCING);
            upload(state::EPSILON, self.epsilon());
        }
        upload(state::LINEARIZED, 0.0);
    }

    fn step_commands(&self, problem: &Problem, inner: Inner) -> Result<Vec<Command>, Error> {
        let work = &self.work;
        let (point, trial) = problem.arenas()?;
        let mut commands = Vec::new();
        problem.enabled_batches().for_each(|batch| work.linearize(batch, point, &mut commands));
        let sums = work.sum_batches(problem, |batch| batch.kernels.energy, point, &mut commands);
        commands.push(work.reduce(Fixed::Cost, &[sums, work.partial_distance]));
        // g and the diagonal blocks are made anew also after a rejected step: a rejection is rare, a guard is not free.
        for (to, slice) in [(Gathered::Vector(work.gradient), work.gradient), (Gathered::Blocks, work.blocks)] {
            commands.push(Command::Clear { slice });
            let is_diagonal = matches!(to, Gathered::Blocks);
            for batch in problem.enabled_batches() {
                let kernel = if is_diagonal { batch.kernels.diagonal } else { batch.kernels.gradient };
                for chunk in &batch.chunks {
                    commands.push(work.generated(kernel, chunk, point, work.step));
                    work.gather(chunk, to, state::ALWAYS, &mut commands);
                }
                if is_diagonal {
                    work.diagonal_of_entries(batch, &mut commands);
                } else {
                    work.backward(batch, work.gradient, state::ALWAYS, &mut commands);
                }
            }
        }
        let elements = |table: &Table| (table.unknowns(), vec![table.vector, table.tangent, table.block]);
        let bindings = [(VECTOR_IN, work.blocks), (VECTOR_OUT, work.scale)];
        work.over_tables(Fixed::Damping, problem, elements, &bindings, &mut commands);

        let max = match inner {
            Inner::ToTolerance => pcg::max_iterations(problem),
            Inner::Live => LIVE_INNER,
        };
        pcg::solve(work, problem, max, &mut commands);

        let bindings = [
            (ARENA, point),
            (DATA, work.scale),
            (INDEX, work.gradient),
            (VECTOR_IN, work.step),
            (VECTOR_OUT, trial),
            (JACOBIAN, work.residual),
            (PARTIALS, work.partials),
        ];
        let words = |table: &Table, partial: u32| {
            (table.elements(), vec![work.partial_distance, table.arena, table.vector, partial, table.elements()])
        };
        let partials = work.partial_over_tables(Fixed::Trial, problem, words, &bindings, &mut commands);
        commands.push(work.reduce(Fixed::Model, &[partials, work.partial_distance]));
        work.evaluate_sums(problem, trial, &mut commands);
        let sums = work.sum_batches(problem, |batch| batch.kernels.change, trial, &mut commands);
        commands.push(work.reduce(Fixed::Accept, &[sums, work.partial_distance]));
        let words = |table: &Table| (table.elements(), vec![table.arena]);
        let bindings = [(VECTOR_IN, trial), (VECTOR_OUT, point), (STATE, work.state)];
        work.over_tables(Fixed::Commit, problem, words, &bindings, &mut commands);
        Ok(commands)
    }

    /// What a step brought back; `None` when the cost before it is not finite.
    fn read_step(&mut self, readback: &[f64], ms: f64) -> Option<Iteration> {
        let at = |element: u32| readback.get(element as usize).copied().unwrap_or(f64::NAN);
        let accepted = at(state::ACCEPTED) != 0.0;
        let cost = at(state::COST);
        let before = if accepted { cost - at(state::CHANGE) } else { cost };
        if !before.is_finite() {
            return None;
        }
        self.initial_cost.get_or_insert(before);
        let damping = std::mem::replace(&mut self.damping, at(state::DAMPING));
        (self.model, self.point_norm) = (at(state::MODEL), at(state::POINT_NORM));
        Some(Iteration {
            index: self.iterations.len() as u32,
            cost,
            cost_change: at(state::CHANGE),
            gradient_norm: at(state::GRADIENT_MAX),
            step_norm: at(state::STEP_NORM),
            damping,
            gain_ratio: at(state::GAIN),
            inner_iterations: at(state::INNER) as u32,
            accepted,
            ms,
        })
    }

    /// Tests for termination after a step: those of Ceres on accepted steps, and on rejected ones whether the precision,
    /// not the model, refused them.
    fn judge(&mut self, step: &Iteration) {
        let s = &self.settings;
        let converged = |reason: String| Some((Termination::Converged, reason));
        self.tried += 1;
        self.rejections = if step.accepted { 0 } else { self.rejections + 1 };
        // A decrease that this precision cannot tell from 0 is not progress, whatever the damping.
        let noise = self.epsilon() * step.cost.abs();
        self.ending = if !step.gradient_norm.is_finite() {
            let reason = "the residual is finite, but its derivative is not: guard the expression with select()";
            Some((Termination::NoProgress, reason.into()))
        } else if step.gradient_norm <= s.gradient_tolerance {
            converged(format!("gradient: max |gᵢ| = {:.3e} ≤ gradientTolerance = {:e}", step.gradient_norm, s.gradient_tolerance))
        } else if step.accepted && -step.cost_change <= s.cost_tolerance * step.cost {
            let relative = -step.cost_change / step.cost;
            converged(format!("cost: |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}", s.cost_tolerance))
        } else if step.accepted && step.step_norm <= s.step_tolerance * (self.point_norm + s.step_tolerance) {
            let relative = step.step_norm / self.point_norm;
            converged(format!("step: ‖s‖ / ‖x‖ = {relative:.3e} ≤ stepTolerance = {:e}", s.step_tolerance))
        } else if self.rejections == 1 && self.model.max(step.cost_change.abs()) <= s.cost_tolerance * step.cost {
            // The damping was not raised yet, so the model's promise is that of a full step; what was found instead of
            // it is rounding. (After more rejections a small promise only says that the damping is large.)
            let relative = self.model / step.cost;
            converged(format!(
                "cost: predicted |Δcost| / cost = {relative:.3e} ≤ costTolerance = {:e}, and what was found is within it",
                s.cost_tolerance
            ))
        } else if !step.accepted && self.model <= noise {
            let reason = format!(
                "the predicted decrease of {:.3e} is below what this precision resolves in a cost of {:.6e}",
                self.model, step.cost
            );
            Some((Termination::Precision, reason))
        } else if self.rejections >= MAX_REJECTIONS {
            Some((Termination::NoProgress, format!("{MAX_REJECTIONS} steps in a row were rejected")))
        } else {
            None
        };
    }

    /// What the arithmetic resolves of 1.
    fn epsilon(&self) -> f64 {
        if self.precision == Precision::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
    }

    /// Limits that end a solve between steps.
    fn limit(&self, started: f64) -> Option<(Termination, String)> {
        if let Some(reason) = &self.stop {
            return Some((Termination::Stopped, reason.clone()));
        }
        if self.tried >= self.settings.max_iterations {
            return Some((Termination::MaxIterations, format!("maxIterations = {} steps were tried", self.settings.max_iterations)));
        }
        let elapsed = now_ms() - started;
        (elapsed >= self.settings.time_limit_ms)
            .then(|| (Termination::TimeLimit, format!("timeLimitMs = {} ms are over", self.settings.time_limit_ms)))
    }

    /// The cost of every enabled term at the accepted point, as partial sums.
    fn report_recording(&mut self, problem: &mut Problem) -> Result<Recording, Error> {
        let mut commands = problem.take_uploads();
        let (point, _) = problem.arenas()?;
        self.refresh_state(problem, &mut commands);
        problem.enabled_batches().for_each(|batch| self.work.linearize(batch, point, &mut commands));
        self.costs = self.work.sum_by_term(problem, point, &mut commands);
        Ok(Recording { commands })
    }

    fn report(&mut self, device: &Device, termination: Termination, reason: String, readback: &[f64], started: f64) -> Report {
        let cost_by_term = self.costs.read(readback);
        let cost = cost_by_term.iter().map(|term| term.1).sum();
        let first_iteration = std::mem::replace(&mut self.first_iteration, self.iterations.len() as u32);
        let steps_ms = self.iterations[first_iteration as usize..].iter().map(|step| step.ms).sum();
        Report {
            termination,
            converged: termination == Termination::Converged,
            reason,
            initial_cost: self.initial_cost.take().unwrap_or(cost),
            cost,
            iterations: self.iterations[first_iteration as usize..].to_vec(),
            cost_by_term,
            compile_ms: self.compile_ms,
            // Steps made one by one have their time, too.
            solve_ms: (now_ms() - started).max(steps_ms),
            backend: self.backend,
            precision: if self.precision == Precision::F32 { "f32" } else { "f64" },
            method: "lm",
            linear: "pcg",
            counters: device.counters().since(&self.before),
        }
    }
}
