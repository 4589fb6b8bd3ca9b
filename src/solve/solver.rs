//! The solver's state machine, the same for every method and linear solver.
//!
//! A step is: linearise where the point moved, solve a linear system, make a step of its solution, try it, and accept it
//! or not. [`step`](super::step) has the commands that are always the same, [`linear`](super::linear) those of the linear
//! system. All is decided on the device: a step is one recording whose end reads the state back, and only the tests for
//! termination ([`super::termination`]) are made here.
//!
//! A linear solver on the host cuts a step in two recordings, between which it works in time slices: see [`super::linear`].

mod checkpoint;
mod descending;
mod ending;
mod live;
mod reporting;
mod setup;
mod start;
mod succession;
mod systems;
mod upkeep;

pub use checkpoint::{Part, Saved};
pub use succession::Spent;

use super::descent::Descent;
use super::linear::host::{Host, Knobs};
use super::linear::two_level::TwoLevel;
use super::linear::{Choice, Inner};
use super::method::FIRST_FLOOR;
use super::offender::Offenders;
use super::options::Settings;
use super::term_costs::TermCosts;
use super::termination::{Scale, Tests};
use super::waste::Waste;
use super::{Iteration, Method, Needs, Report, Termination, Workspace, state};
use checkpoint::Kept;
use leastwise_base::clock::now_ms;
use leastwise_device::{BufferId, Command, Counters, Device, Precision, Recording};
use leastwise_error::Error;
use leastwise_kernel::Entry;
use leastwise_problem::{Problem, Registry};
use setup::{Made, SetUp};
use start::Start;
use systems::{Arrived, Solving};

/// What a solver wants next.
pub enum Next {
    /// Play this and come back with what it read.
    Run(Recording),
    /// The time slice is over, and the host not done: ask again.
    Yielded,
    /// One iteration is complete; ask again for the next recording.
    Iteration(Iteration),
    /// The residual is not finite at the accepted values: find out where.
    Blame,
    Done(Box<Report>),
}

enum Phase {
    /// Before a step, or after one was reported.
    Ready,
    /// The system of a step is being assembled, for a linear solver on the host.
    Assembling { started_ms: f64 },
    /// It is being solved on the host.
    Solving(Solving),
    /// A step is being played.
    Stepping { started_ms: f64 },
    /// The instance that was not finite at the trial point is being looked for.
    Searching(Iteration),
    /// The costs of the terms are being summed for the report.
    Reporting(Termination, String),
}

/// Kinds of steps.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    /// After one that was rejected: the point has not moved.
    Again,
    Live,
}

pub struct Solver {
    settings: Settings,
    work: Workspace,
    choice: Choice,
    /// The linear solver, if it is on the host.
    host: Option<Box<Host>>,
    /// What conjugate gradients are preconditioned by besides the diagonal blocks.
    two_level: Option<TwoLevel>,
    /// What a method has that solves no linear system.
    descent: Option<Descent>,
    /// What is being made anew for the problem as it is now.
    setup: Option<Box<SetUp>>,
    /// Whether such a method knows nothing of the point.
    sets_out: bool,
    /// After being restored: r and J are to be made again at the trial point, and whether they then are those of the point.
    stale: Option<f64>,
    /// How often systems came back for hosts before it, and how many elements.
    returned: (u64, u64),
    /// The same of all hosts when the present call began.
    returned_before: (u64, u64),
    /// λ, φ and η of the next step, as far as the host knows.
    knobs: Knobs,
    /// Whether a step was accepted since the solver was made, as far as the host knows, or the problem is linear: only
    /// first steps are bounded.
    has_moved: bool,
    precision: Precision,
    /// That of what conjugate gradients do in every inner iteration.
    inner_precision: Precision,
    phase: Phase,
    iterations: Vec<Iteration>,
    initial_cost: Option<f64>,
    start: Start,
    tests: Tests,
    /// The least cost tolerance of this solve, if it is one of several.
    slack: f64,
    /// The first iteration since the last report.
    first_iteration: u32,
    /// True until something was done: what making the solver took belongs to the first call.
    fresh: bool,
    /// True after a report, until the next step: what it told of is over.
    concluded: bool,
    /// Components that were moved into their limits since the solver was made, and until the last report.
    moved: [u32; 2],
    /// The step that led to the point, while nothing else has touched it; and how many such steps in a row, and the last of
    /// them, led where J or g is not finite.
    arrival: Option<Iteration>,
    retreats: u32,
    retreat: Option<Iteration>,
    /// Steps since the solver was (re)opened.
    tried: u32,
    started_ms: Option<f64>,
    stop: Option<String>,
    /// Whether the inner iterations of the step that is being played were ended.
    hurried: bool,
    ending: Option<(Termination, String)>,
    /// Whether the last step was rejected and nothing has changed since: what was differentiated still holds.
    again: bool,
    /// What a checkpoint brought for such a step, whose J and g are yet to be computed.
    kept: Option<Kept>,
    /// Whether a checkpoint left it in the midst of a solve, within which the next call goes on.
    resuming: bool,
    /// What of the problem the recording and the device's state were made for.
    revision: u64,
    structure: u64,
    selection: u64,
    /// Which of the problem's solvers this is.
    id: u64,
    /// The commands of every [`Kind`] of step, while the structure stays.
    recordings: [Option<Vec<Command>>; 3],
    /// Whether the first values of the state were uploaded.
    fresh_state: bool,
    costs: TermCosts,
    offenders: Offenders,
    waste: Waste,
    before: Counters,
    backend: &'static str,
    pub compile_ms: f64,
}

impl Solver {
    pub fn new(device: &mut Device, registry: &mut Registry, problem: &mut Problem, settings: Settings) -> Result<Self, Error> {
        let before = device.counters();
        problem.lay_out(device, registry)?;
        let started = now_ms();
        let made = SetUp::new(&settings, device, problem).resume(&settings, (device, registry, problem), f64::INFINITY)?;
        let made = made.ok_or(Error::Disposed("solver"))?;
        let compile_ms = now_ms() - started;
        Ok(Self { before, compile_ms, ..Self::made(device, problem, settings, made) })
    }

    fn made(device: &Device, problem: &mut Problem, settings: Settings, made: Made) -> Self {
        let Made { work, choice, host, two_level, descent } = made;
        let precision = device.precision();
        problem.solvers += 1;
        Self {
            work,
            choice,
            host,
            two_level,
            descent,
            setup: None,
            sets_out: true,
            stale: None,
            returned: (0, 0),
            returned_before: (0, 0),
            knobs: first_knobs(&settings, precision),
            has_moved: is_linear(problem),
            settings,
            precision,
            inner_precision: device.inner_precision(),
            phase: Phase::Ready,
            iterations: Vec::new(),
            initial_cost: None,
            start: Start::default(),
            tests: Tests::default(),
            slack: 0.0,
            first_iteration: 0,
            fresh: true,
            concluded: false,
            moved: [0; 2],
            arrival: None,
            retreats: 0,
            retreat: None,
            started_ms: None,
            stop: None,
            hurried: false,
            ending: None,
            again: false,
            kept: None,
            resuming: false,
            revision: u64::MAX,
            structure: problem.structure,
            selection: problem.selection,
            id: problem.solvers,
            tried: 0,
            recordings: [None, None, None],
            fresh_state: false,
            costs: TermCosts::default(),
            offenders: Offenders::default(),
            waste: Waste::default(),
            before: device.counters(),
            backend: device.backend(),
            compile_ms: 0.0,
        }
    }

    /// The solver's buffers, for measuring its parts.
    pub fn workspace(&self) -> &Workspace {
        &self.work
    }

    /// The assembly of JᵀWJ, where the linear solver has one: what prepares it once, and itself.
    pub fn assembly(&mut self, problem: &Problem) -> Result<[Vec<Command>; 2], Error> {
        self.host.as_mut().map_or(Ok(Default::default()), |host| host.assembly(&self.work, problem))
    }

    pub fn buffers(&self) -> Vec<BufferId> {
        let of_descent = self.descent.iter().flat_map(Descent::buffers);
        let of_two_level = self.two_level.iter().flat_map(|two_level| two_level.buffers().to_vec());
        let of_host = self.host.iter().flat_map(|host| host.buffers());
        self.work.buffers().into_iter().chain(of_host).chain(of_two_level).chain(of_descent).collect()
    }

    /// Goes on with what the last recording read back, on the host until the deadline.
    pub fn advance(&mut self, problem: &mut Problem, device: &Device, readback: &mut Vec<f64>, deadline_ms: f64) -> Result<Next, Error> {
        let started = *self.started_ms.get_or_insert_with(now_ms);
        match std::mem::replace(&mut self.phase, Phase::Ready) {
            Phase::Assembling { started_ms } => {
                let host = self.host.as_mut().ok_or(Error::Disposed("solver"))?;
                let (cost, knobs) = host.arrived(readback);
                if !cost.is_finite() {
                    return Ok(Next::Blame);
                }
                self.knobs = knobs;
                let mut arrived = Arrived { readback: std::mem::take(readback), is_masked: self.work.free().is_some(), scale: None };
                let mut commands = Vec::new();
                if let Some(kept) = self.kept.take().filter(|_| self.again) {
                    commands.extend(kept.uploads);
                    self.knobs = kept.knobs;
                    arrived.scale = kept.scale;
                }
                let solving = self.solve_system(Some(arrived), commands, started_ms)?;
                self.go_on(problem, solving, deadline_ms)
            }
            Phase::Solving(solving) => self.go_on(problem, solving, deadline_ms),
            Phase::Stepping { started_ms } if self.descent.is_some() => self.read_trial(problem, device, readback, started_ms),
            Phase::Stepping { started_ms } => {
                let Some((iteration, scale)) = self.read_step(readback, now_ms() - started_ms) else { return Ok(Next::Blame) };
                self.tried += 1;
                self.waste.note(device.counters(), readback);
                if let Some(iteration) = self.turn_back(&iteration) {
                    self.iterations.push(iteration);
                    return Ok(Next::Iteration(iteration));
                }
                // A step whose inner iterations were cut short says nothing when it is small.
                if !std::mem::take(&mut self.hurried) {
                    let tolerances = self.tolerances_of(&iteration);
                    self.ending = self.tests.judge(self.settings.method, &tolerances, &iteration, &scale);
                }
                self.iterations.push(iteration);
                let straight = || self.tests.is_straight(&self.iterations, scale.initial_cost, scale.epsilon);
                self.ending = self.ending.take().or_else(straight);
                if !iteration.cost_change.is_finite() && self.offenders.count(iteration.index) {
                    return self.search(problem, iteration);
                }
                Ok(Next::Iteration(iteration))
            }
            Phase::Searching(iteration) => {
                self.offenders.look(problem, readback)?;
                self.search(problem, iteration)
            }
            Phase::Reporting(termination, reason) => {
                let report = self.report(device, problem, (termination, reason), readback, started);
                // Accepted values always have a finite cost, so it is those that the solve began with.
                if report.cost.is_finite() { self.settle(problem, report) } else { Ok(Next::Blame) }
            }
            Phase::Ready => {
                if self.ending.is_none() {
                    self.ending = self.limit(started, self.tried);
                }
                if let Some(ending) = self.ending.clone() {
                    return self.end(problem, ending);
                }
                self.waste.begin(device.counters());
                self.begin(problem, deadline_ms)
            }
        }
    }

    /// What the report is made of, for a solve that ends so.
    fn end(&mut self, problem: &mut Problem, (termination, reason): (Termination, String)) -> Result<Next, Error> {
        self.start.may_return = true;
        self.phase = Phase::Reporting(termination, reason);
        Ok(Next::Run(self.report_recording(problem)?))
    }

    /// A step, or its first half: the assembly of a system that the host is to solve.
    fn begin(&mut self, problem: &mut Problem, deadline_ms: f64) -> Result<Next, Error> {
        let started_ms = now_ms();
        if self.descent.is_some() {
            return self.try_point(problem, started_ms);
        }
        let mut commands = problem.take_uploads();
        self.refresh_state(problem, &mut commands)?;
        self.go_back(problem, &mut commands)?;
        self.keep_start(problem, &mut commands)?;
        commands.extend(self.two_level.iter_mut().flat_map(TwoLevel::take_uploads));
        let (again, restored) = (self.again, self.kept.is_some());
        let assembles = !again || restored && !self.settings.method.keeps_solution();
        match &mut self.host {
            Some(_) if !assembles && !self.settings.method.keeps_solution() => {
                let solving = self.solve_system(None, commands, started_ms)?;
                self.go_on(problem, solving, deadline_ms)
            }
            Some(host) if assembles => {
                self.work.differentiate(problem, &mut commands)?;
                self.work.scale_damping(problem, &mut commands);
                host.assemble(&self.work, problem, &mut commands)?;
                self.phase = Phase::Assembling { started_ms };
                Ok(Next::Run(Recording { commands }))
            }
            _ => {
                if let Some(kept) = self.kept.take().filter(|_| again) {
                    self.work.differentiate(problem, &mut commands)?;
                    commands.extend(kept.uploads);
                }
                self.record(problem, Kind::Whole, &mut commands)?;
                commands.push(Command::Read { slice: self.work.state });
                self.phase = Phase::Stepping { started_ms };
                Ok(Next::Run(Recording { commands }))
            }
        }
    }

    /// Looks for what is not finite at the trial point, then gives the step.
    fn search(&mut self, problem: &Problem, iteration: Iteration) -> Result<Next, Error> {
        Ok(match self.offenders.next(&self.work, problem)? {
            Some(recording) => {
                self.phase = Phase::Searching(iteration);
                Next::Run(recording)
            }
            None => Next::Iteration(iteration),
        })
    }

    /// Appends a step; one of kind `Whole` becomes `Again` where that is enough.
    fn record(&mut self, problem: &mut Problem, kind: Kind, commands: &mut Vec<Command>) -> Result<(), Error> {
        if self.selection != problem.selection {
            self.selection = problem.selection;
            self.recordings = [None, None, None];
        }
        let kind = if self.again && matches!(kind, Kind::Whole) { Kind::Again } else { kind };
        self.again = false;
        let cached = match self.recordings[kind as usize].take() {
            Some(cached) => cached,
            None => self.step_commands(problem, kind)?,
        };
        commands.extend(cached.iter().cloned());
        self.recordings[kind as usize] = Some(cached);
        Ok(())
    }

    fn step_commands(&self, problem: &Problem, kind: Kind) -> Result<Vec<Command>, Error> {
        let (work, method, mut commands) = (&self.work, self.settings.method, Vec::new());
        let again = matches!(kind, Kind::Again);
        if !again {
            work.differentiate(problem, &mut commands)?;
        }
        if !again || !method.keeps_solution() {
            work.scale_damping(problem, &mut commands);
            let inner = if matches!(kind, Kind::Live) { Inner::Live } else { Inner::ToTolerance };
            let two_level = self.two_level.as_ref();
            self.choice.linear.append(work, problem, two_level, inner, self.settings.max_inner_iterations, &mut commands)?;
            method.keep(work, problem, &mut commands)?;
        }
        method.combine(work, problem, &mut commands)?;
        work.attempt(problem, &mut commands)?;
        if !self.has_moved && !matches!(kind, Kind::Live) {
            work.measure_reach(problem, &mut commands)?;
        }
        work.decide(method, problem, &mut commands)?;
        Ok(commands)
    }

    /// What a step brought back; `None` when the cost before it is not finite.
    fn read_step(&mut self, readback: &[f64], ms: f64) -> Option<(Iteration, Scale)> {
        let at = |element: u32| readback.get(element as usize).copied().unwrap_or(f64::NAN);
        let accepted = at(state::ACCEPTED) != 0.0;
        let cost = at(state::COST);
        let before = if accepted { cost - at(state::CHANGE) } else { cost };
        if !before.is_finite() {
            return None;
        }
        self.initial_cost.get_or_insert(before);
        self.moved[0] = at(state::MOVED) as u32;
        self.again = !accepted;
        self.knobs = Knobs::of(readback);
        if accepted && !self.has_moved {
            self.has_moved = true;
            self.recordings = [None, None, None];
        }
        let method = self.settings.method;
        let initial_cost = self.initial_cost.unwrap_or(before);
        let is_cut = matches!(method, Method::Dogleg(_)) && at(state::SCALED_NORM) > 0.99 * at(state::RADIUS_BEFORE);
        let (model, point_norm) = (at(state::MODEL), at(state::POINT_NORM));
        let scale = Scale { model, point_norm, initial_cost, epsilon: self.precision.epsilon(), is_cut };
        let iteration = Iteration {
            index: self.iterations.len() as u32,
            cost,
            cost_change: at(state::CHANGE),
            gradient_norm: at(state::GRADIENT_MAX),
            step_norm: at(state::STEP_NORM),
            damping: at(state::DAMPING_BEFORE),
            radius: matches!(method, Method::Dogleg(_)).then(|| at(state::RADIUS_BEFORE)),
            length: method.has_length().then(|| at(state::LENGTH_BEFORE)),
            gain_ratio: at(state::GAIN),
            inner_iterations: at(state::INNER) as u32,
            accepted,
            ms,
        };
        Some((iteration, scale))
    }

    /// Where J or g is not finite at a point that a step led to, the step counts as rejected, and the next recording begins
    /// with going back.
    fn turn_back(&mut self, iteration: &Iteration) -> Option<Iteration> {
        let arrival = std::mem::replace(&mut self.arrival, iteration.accepted.then_some(*iteration));
        if iteration.gradient_norm.is_finite() {
            self.retreats = if arrival.is_some() { 0 } else { self.retreats };
            return None;
        }
        let arrival = arrival.filter(|_| self.retreats < self.settings.method.max_rejections())?;
        self.retreats += 1;
        self.retreat = Some(arrival);
        let cost = arrival.cost - arrival.cost_change;
        Some(Iteration { cost, gradient_norm: arrival.gradient_norm, gain_ratio: 0.0, accepted: false, ..*iteration })
    }

    /// Appends the way back, if there is one to go.
    fn go_back(&mut self, problem: &Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        if let Some(step) = self.retreat.take() {
            self.again = false;
            self.work.retreat(problem, &self.settings.method.retreat(&step, self.retreats), commands)?;
        }
        Ok(())
    }
}

fn first_knobs(settings: &Settings, precision: Precision) -> Knobs {
    Knobs { damping: settings.method.first_damping(precision), floor: FIRST_FLOOR, forcing: settings.forcing[1] }
}

/// Whether the model of the cost is exact.
fn is_linear(problem: &Problem) -> bool {
    let known = |entry: &Entry| !matches!(entry, Entry::Stored { .. });
    problem.enabled_batches().all(|batch| batch.is_plain() && batch.programs.entries.iter().all(known))
}

fn needs(settings: &Settings) -> Needs {
    let method = settings.method;
    Needs { keeps_solution: method.keeps_solution(), keeps_best: settings.nonmonotone > 0, descends: method.descent().is_some() }
}
