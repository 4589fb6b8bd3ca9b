//! The iterate as the host knows it: the damping of the next step, and what was evaluated at the point and still holds.

use super::super::linear::direct::DampingState;
use leastwise_base::FileError;
use leastwise_device::Command;
use leastwise_problem::Problem;
use leastwise_problem::file::bytes::{Reader, Writer};

/// System of a rejected step in a checkpoint, to be put back when J and g have been computed again.
pub(super) struct CheckpointedSystem {
    pub uploads: Vec<Command>,
    /// D as a linear solver on the host has it.
    pub scale: Option<Vec<f64>>,
    pub damping: DampingState,
}

pub(super) struct Iterate {
    /// λ, φ and η of the next step.
    pub damping: DampingState,
    /// True if a step was accepted since the solver was made, or the problem is linear: only first steps are bounded.
    pub has_moved: bool,
    /// True after a rejected step while nothing has changed: what was differentiated still holds.
    pub step_reused: bool,
    /// Part of a checkpoint for such a step, whose J and g are yet to be computed.
    pub checkpointed_system: Option<CheckpointedSystem>,
    /// True until cost and gradient have been evaluated at the current point (first-order methods).
    pub first_evaluation: bool,
    /// The state's element `LINEARIZED` of a checkpoint, until r and J are evaluated again at its trial point.
    pub restored_linearization: Option<f64>,
    /// True once the first values of the state were uploaded.
    pub state_uploaded: bool,
    /// Revision of the problem that the device's state was made for.
    pub revision: u64,
}

impl Iterate {
    pub fn new(damping: DampingState, has_moved: bool) -> Self {
        Self {
            damping,
            has_moved,
            step_reused: false,
            checkpointed_system: None,
            first_evaluation: true,
            restored_linearization: None,
            state_uploaded: false,
            revision: u64::MAX,
        }
    }

    /// Makes it stale, as after an edit.
    pub fn forget(&mut self) {
        self.revision = u64::MAX;
    }

    /// True if the problem was edited, or another solver has worked on it.
    pub fn is_stale(&self, problem: &Problem, id: u64) -> bool {
        self.revision != problem.revision || problem.linearized_by != Some(id)
    }

    pub fn write(&self, to: &mut Writer, is_stale: bool) {
        self.damping.write(to);
        [self.has_moved, self.state_uploaded, self.first_evaluation, is_stale].into_iter().for_each(|flag| to.flag(flag));
    }

    /// The iterate, stale or of a revision that the file does not tell.
    pub fn read(from: &mut Reader) -> Result<Self, FileError> {
        let damping = DampingState::read(from)?;
        let [has_moved, state_uploaded, first_evaluation, is_stale] = [from.flag()?, from.flag()?, from.flag()?, from.flag()?];
        let first_evaluation = first_evaluation || is_stale || !state_uploaded;
        let revision = if is_stale { u64::MAX } else { 0 };
        Ok(Self { state_uploaded, first_evaluation, revision, ..Self::new(damping, has_moved) })
    }
}
