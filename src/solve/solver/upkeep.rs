//! Keeping up with what the problem has become: its structure, its values, and other solvers of it.

use super::super::descent::Descent;
use super::super::linear::choose;
use super::super::method::FIRST_FLOOR;
use super::super::state;
use super::cache::StepCache;
use super::resources::{Resources, SetUp};
use super::{Settings, Solver, first_damping, is_linear};
use leastwise_base::clock::now_ms;
use leastwise_device::{Command, Device};
use leastwise_error::Error;
use leastwise_kernels::trust_region;
use leastwise_problem::{Problem, Registry};

impl Solver {
    /// A solver that [`prepare_until`](Self::prepare_until) sets up in time slices. What tables and terms tell is refused at once.
    pub fn unprepared(device: &Device, problem: &mut Problem, settings: Settings) -> Result<Self, Error> {
        match settings.method.descent() {
            Some(rule) => drop(Descent::pairs(device, problem, rule)?),
            None => choose::check(&settings.linear, problem)?,
        }
        let mut solver = Self::with(device, problem, settings, Resources::none(device));
        (solver.cache.structure, solver.iterate.has_moved) = (u64::MAX, false);
        Ok(solver)
    }

    /// Brings buffers and recordings up to date with what the problem has become. Before anything else is asked.
    pub fn prepare(&mut self, device: &mut Device, registry: &mut Registry, problem: &mut Problem) -> Result<(), Error> {
        self.prepare_until(device, registry, problem, f64::INFINITY).map(|_| ())
    }

    /// The same until a deadline; true when it is done. A later call goes on where this one ended.
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
            self.cache.structure = u64::MAX;
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
            _ => {
                self.discard(device);
                Box::new(SetUp::new(&self.settings, device, problem))
            }
        };
        let made = setup.resume(&self.settings, (device, registry, problem), deadline_ms)?;
        if !self.was_ready {
            self.compile_ms += now_ms() - started;
        }
        let Some(made) = made else {
            self.setup = Some(setup);
            return Ok(false);
        };
        self.iterate.has_moved |= !self.was_ready && is_linear(problem);
        (self.resources, self.was_ready) = (made, true);
        self.cache = StepCache::new(problem);
        self.iterate.damping = first_damping(&self.settings, self.precision);
        self.iterate.state_uploaded = false;
        self.iterate.forget();
        self.history.moved = [0; 2];
        Ok(true)
    }

    /// Frees what was made for a structure that the problem no longer has, before it is weighed what there is room for.
    fn discard(&mut self, device: &mut Device) {
        let old = std::mem::replace(&mut self.resources, Resources::none(device));
        if let Some(host) = &old.host {
            self.history.returned = self.history.returned.plus((host.readbacks, host.elements));
        }
        old.buffers().into_iter().for_each(|buffer| device.free(buffer));
        // Nothing is ready, whatever the problem becomes.
        self.cache.structure = u64::MAX;
    }

    /// Reason that a set-up which began at a time is to end, if it is. A limit of 0 ends the solve itself, with a report.
    pub fn ends_set_up(&self, since_ms: f64) -> Option<String> {
        let limit = self.settings.time_limit_ms;
        let late = (limit > 0.0 && now_ms() - since_ms >= limit).then(|| format!("timeLimitMs = {limit} ms were over"));
        self.stopping.request.clone().or(late)
    }

    /// Counts the time since then as the solve's.
    pub fn began(&mut self, since_ms: f64) {
        self.stopping.started_ms = Some(since_ms);
    }

    /// True if its buffers and lists were made for the problem as it is now.
    pub fn is_ready(&self, problem: &Problem) -> bool {
        self.is_of(problem.structure) && (!self.resources.has_lists() || self.cache.selection == problem.selection)
    }

    /// True if its buffers were made for this structure of the problem.
    pub fn is_of(&self, structure: u64) -> bool {
        self.cache.structure == structure
    }

    /// Uploads what of the state an edit, or another solver of the same problem, has made stale, and moves the point into
    /// its limits.
    pub(super) fn refresh_state(&mut self, problem: &mut Problem, commands: &mut Vec<Command>) -> Result<(), Error> {
        if self.iterate.is_stale(problem, self.id) {
            self.iterate.revision = problem.revision;
            problem.linearized_by = Some(self.id);
            self.rollback.forget();
            (self.iterate.step_reused, self.iterate.first_evaluation) = (false, true);
            self.upload_state(commands);
            self.resources.work.clamp_to_bounds(problem, commands)?;
        }
        Ok(())
    }

    /// Forgets what steps have taught: the next one finds damping, radius, lengths and histories as the first did.
    pub fn reset(&mut self) {
        self.iterate.damping = first_damping(&self.settings, self.precision);
        (self.iterate.state_uploaded, self.iterate.checkpointed_system) = (false, None);
        self.iterate.forget();
    }

    /// The state at the start, or after an edit: what is known of the point is stale, the damping only where rest drove it.
    fn upload_state(&mut self, commands: &mut Vec<Command>) {
        let mut values = vec![(state::LINEARIZED, 0.0), (state::FLOOR, FIRST_FLOOR)];
        commands.push(Command::Clear { slice: self.resources.work.peak });
        if self.iterate.state_uploaded {
            commands.push(self.resources.work.scalars(trust_region::ResetDamping));
        } else {
            self.iterate.state_uploaded = true;
            let [least, most] = self.settings.forcing;
            values.extend(self.settings.method.start(self.precision));
            values.extend([(state::FORCING, most), (state::FORCING_LEAST, least), (state::FORCING_MOST, most)]);
            values.extend([(state::EPSILON, self.precision.epsilon()), (state::INNER_EPSILON, self.inner_precision.epsilon())]);
            values.push((state::WINDOW, self.settings.nonmonotone.into()));
        }
        let upload = |(element, value): (u32, f64)| Command::UploadReals {
            buffer: self.resources.work.state.buffer,
            offset: element,
            data: vec![value],
        };
        commands.extend(values.into_iter().map(upload));
        if self.resources.work.best.is_some() {
            self.resources.work.forget_history(commands);
        }
    }
}
