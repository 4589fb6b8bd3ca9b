//! Keeping up with what the problem has become: its structure, its values, and other solvers of it.

use super::super::descent::Descent;
use super::super::linear::two_level::TwoLevel;
use super::super::linear::{Choice, Linear, auto};
use super::super::method::FIRST_FLOOR;
use super::super::{Workspace, state};
use super::setup::{Made, SetUp};
use super::{Settings, Solver, first_knobs, is_linear};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Device};
use leastwise_error::Error;
use leastwise_kernel::Fixed;
use leastwise_problem::{Problem, Registry};

impl Solver {
    /// A solver that [`prepare_until`](Self::prepare_until) sets up in time slices. What tables and terms tell is refused at once.
    pub fn unprepared(device: &Device, problem: &mut Problem, settings: Settings) -> Result<Self, Error> {
        match settings.method.descent() {
            Some(rule) => drop(Descent::pairs(device, problem, rule)?),
            None => auto::check(&settings.linear, problem)?,
        }
        let choice = Choice { linear: Linear::None, why: String::new(), preconditioner: None };
        let made = Made { work: Workspace::empty(device), choice, host: None, two_level: None, descent: None };
        Ok(Self { structure: u64::MAX, has_moved: false, ..Self::made(device, problem, settings, made) })
    }

    /// Brings buffers and recordings up to date with what the problem has become. Before anything else is asked.
    pub fn prepare(&mut self, device: &mut Device, registry: &mut Registry, problem: &mut Problem) -> Result<(), Error> {
        self.prepare_until(device, registry, problem, f64::INFINITY).map(|_| ())
    }

    /// The same until a deadline; true when it is done. The problem is laid out as far as it was when it is asked for again.
    pub fn prepare_until(
        &mut self,
        device: &mut Device,
        registry: &mut Registry,
        problem: &mut Problem,
        deadline_ms: f64,
    ) -> Result<bool, Error> {
        if !problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        problem.drop_refused(device);
        if device.refuses(self.buffers().into_iter()) {
            self.structure = u64::MAX;
        }
        if self.is_ready(problem) {
            return Ok(true);
        }
        if !problem.lay_out_until(device, registry, deadline_ms)? {
            return Ok(false);
        }
        let started = now_ms();
        let mut setup = match self.setup.take() {
            Some(setup) if setup.is_of(problem) => setup,
            _ => Box::new(SetUp::new(&self.settings, device, problem)),
        };
        let made = setup.resume(&self.settings, (device, registry, problem), deadline_ms)?;
        let is_first = self.work.is_empty();
        if is_first {
            self.compile_ms += now_ms() - started;
        }
        let Some(Made { work, choice, host, two_level, descent }) = made else {
            self.setup = Some(setup);
            return Ok(false);
        };
        self.has_moved |= is_first && is_linear(problem);
        let old = std::mem::replace(&mut self.work, work);
        let of_descent = std::mem::replace(&mut self.descent, descent);
        let freed = old.buffers().into_iter().chain(of_descent.iter().flat_map(Descent::buffers));
        freed.for_each(|buffer| device.free(buffer));
        self.forget_host(device);
        let old = std::mem::replace(&mut self.two_level, two_level);
        old.iter().flat_map(TwoLevel::buffers).for_each(|buffer| device.free(*buffer));
        (self.choice, self.host) = (choice, host);
        (self.structure, self.selection) = (problem.structure, problem.selection);
        self.knobs = first_knobs(&self.settings, self.precision);
        (self.fresh_state, self.revision, self.recordings) = (false, u64::MAX, [None, None, None]);
        self.moved = [0; 2];
        Ok(true)
    }

    /// Why a set-up that takes so long since then is to end, if it is. A limit of 0 ends the solve itself, with a report.
    pub fn ends_set_up(&self, since_ms: f64) -> Option<String> {
        let limit = self.settings.time_limit_ms;
        let late = (limit > 0.0 && now_ms() - since_ms >= limit).then(|| format!("timeLimitMs = {limit} ms were over"));
        self.stop.clone().or(late)
    }

    /// Counts the time since then as the solve's.
    pub fn began(&mut self, since_ms: f64) {
        self.started_ms = Some(since_ms);
    }

    /// Whether something was made for the terms that are enabled.
    fn has_lists(&self) -> bool {
        self.host.is_some() || self.two_level.is_some()
    }

    /// Destroys what the linear solver on the host has on the device.
    fn forget_host(&mut self, device: &mut Device) {
        let Some(host) = self.host.take() else { return };
        self.returned = (self.returned.0 + host.readbacks, self.returned.1 + host.elements);
        host.buffers().into_iter().for_each(|buffer| device.free(buffer));
    }

    /// Whether its buffers and lists were made for what the problem is now.
    pub fn is_ready(&self, problem: &Problem) -> bool {
        self.is_of(problem.structure) && (!self.has_lists() || self.selection == problem.selection)
    }

    /// Whether its buffers were made for this structure of the problem.
    pub fn is_of(&self, structure: u64) -> bool {
        self.structure == structure
    }

    /// Uploads what of the state an edit, or another solver of the same problem, has made stale, and moves the point into
    /// its limits.
    pub(super) fn refresh_state(&mut self, problem: &mut Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        if self.revision != problem.revision || problem.linearized_by != Some(self.id) {
            self.revision = problem.revision;
            problem.linearized_by = Some(self.id);
            (self.arrival, self.retreats) = (None, 0);
            (self.again, self.sets_out) = (false, true);
            self.upload_state(commands);
            self.work.project_point(problem, commands)?;
        }
        Ok(())
    }

    /// The state at the start, or after an edit: what is known of the point is stale, the damping only where rest drove it.
    fn upload_state(&mut self, commands: &mut Vec<Command>) {
        let mut values = vec![(state::LINEARIZED, 0.0), (state::FLOOR, FIRST_FLOOR)];
        commands.push(Command::Clear { slice: self.work.peak });
        if self.fresh_state {
            commands.push(self.work.scalars(Fixed::Wake));
        } else {
            self.fresh_state = true;
            let [least, most] = self.settings.forcing;
            values.extend(self.settings.method.start(self.precision));
            values.extend([(state::FORCING, most), (state::FORCING_LEAST, least), (state::FORCING_MOST, most)]);
            values.extend([(state::EPSILON, self.precision.epsilon()), (state::INNER_EPSILON, self.inner_precision.epsilon())]);
            values.push((state::WINDOW, self.settings.nonmonotone.into()));
        }
        let upload =
            |(element, value): (u32, f64)| Command::UploadReals { buffer: self.work.state.buffer, offset: element, data: vec![value] };
        commands.extend(values.into_iter().map(upload));
        if self.work.best.is_some() {
            self.work.forget_history(commands);
        }
    }
}
