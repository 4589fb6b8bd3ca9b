//! Keeping up with what the problem has become: its structure, its values, and other solvers of it.

use super::super::descent::Descent;
use super::super::linear::host::Host;
use super::super::linear::two_level::TwoLevel;
use super::super::linear::{Choice, auto};
use super::super::method::FIRST_FLOOR;
use super::super::{Workspace, state};
use super::{Settings, Solver, first_knobs, needs};
use crate::device::{Command, Device};
use crate::error::Error;
use crate::kernel::Fixed;
use crate::problem::{Problem, Registry};

/// All that a solver has on the device and for its linear systems.
pub(super) struct Made {
    pub work: Workspace,
    pub choice: Choice,
    pub host: Option<Box<Host>>,
    pub two_level: Option<TwoLevel>,
    pub descent: Option<Descent>,
}

/// Makes it for a problem that is laid out; nothing is left behind when that fails.
pub(super) fn make(settings: &Settings, device: &mut Device, registry: &mut Registry, problem: &Problem) -> Result<Made, Error> {
    let work = Workspace::new(device, problem, needs(settings))?;
    let made = match settings.method.descent() {
        None => auto::make(&settings.linear, device, registry, problem).map(|made| (made, None)),
        Some(rule) => Descent::new(device, problem, rule, &work)
            .map(|descent| (auto::Made { choice: descent.choice(), host: None, two_level: None }, Some(descent))),
    };
    match made {
        Ok((auto::Made { choice, host, two_level }, descent)) => Ok(Made { work, choice, host, two_level, descent }),
        Err(error) => {
            work.buffers().into_iter().for_each(|buffer| device.free(buffer));
            Err(error)
        }
    }
}

impl Solver {
    /// Brings buffers and recordings up to date with what the problem has become. Before anything else is asked.
    pub fn prepare(&mut self, device: &mut Device, registry: &mut Registry, problem: &mut Problem) -> Result<(), Error> {
        if !problem.has_enabled_terms() {
            return Err(Error::EmptyProblem("enabled residual terms"));
        }
        problem.drop_refused(device);
        if device.refuses(self.buffers().into_iter()) {
            self.structure = u64::MAX;
        }
        if self.is_of(problem.structure) && (!self.has_lists() || self.selection == problem.selection) {
            return Ok(());
        }
        problem.lay_out(device, registry)?;
        let Made { work, choice, host, two_level, descent } = make(&self.settings, device, registry, problem)?;
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
        Ok(())
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
