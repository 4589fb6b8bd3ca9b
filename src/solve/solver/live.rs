//! Steps of live solving: recordings that end without a readback.

use super::super::state;
use super::Solver;
use super::cache::Kind;
use leastwise_device::{Recording, Slice};
use leastwise_error::Error;
use leastwise_kernels::trust_region;
use leastwise_problem::Problem;

impl Solver {
    /// One live step, without reading back.
    pub fn live_step(&mut self, problem: &mut Problem) -> Result<Recording, Error> {
        if self.resources.descent.is_some() {
            return Ok(Recording { commands: self.trial_commands(problem)? });
        }
        let mut commands = problem.take_uploads();
        self.refresh_state(problem, &mut commands)?;
        self.go_back(problem, &mut commands)?;
        commands.extend(self.resources.on_device.iter_mut().flat_map(|solver| solver.take_uploads()));
        // The host does not know where a live step comes from, so the next one can't be undone.
        self.rollback.forget();
        (self.iterate.checkpointed_system, self.stopping.resumes) = (None, false);
        self.record(problem, Kind::Live, &mut commands)?;
        Ok(Recording { commands })
    }

    /// The kernels that a step names after an edit, besides its own, in a recording that is compiled and never played.
    pub fn edit_kernels(&self, problem: &Problem) -> Result<Recording, Error> {
        let mut commands = vec![self.resources.work.scalars(trust_region::ResetDamping)];
        self.resources.work.clamp_to_bounds(problem, &mut commands)?;
        if self.resources.descent.is_none() {
            self.resources.work.retreat(problem, &[], &mut commands)?;
        }
        Ok(Recording { commands })
    }

    /// All kernels that live steps name, in such a recording.
    pub fn live_kernels(&self, problem: &Problem) -> Result<Recording, Error> {
        let Recording { mut commands } = self.edit_kernels(problem)?;
        commands.extend(problem.combination_kernel());
        match &self.resources.descent {
            Some(descent) => {
                descent.set_out(&self.resources.work, problem, &mut commands)?;
                descent.trial(&self.resources.work, problem, &mut commands)?;
            }
            None => commands.extend(self.step_commands(problem, Kind::Live)?),
        }
        Ok(Recording { commands })
    }

    /// The device's counts of steps: the first element is those accepted, the last those tried.
    pub fn step_counts(&self) -> Slice {
        Slice { offset: self.resources.work.state.offset + state::TAKEN, len: state::STEPS - state::TAKEN + 1, ..self.resources.work.state }
    }
}
