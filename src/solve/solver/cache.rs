//! Recordings of steps, which are kept while the structure of the problem and the selection of its terms stay.

use leastwise_device::Command;
use leastwise_problem::Problem;

/// Kinds of steps.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Whole,
    /// After one that was rejected: the point has not moved.
    Again,
    Live,
}

pub(super) struct StepCache {
    pub structure: u64,
    pub selection: u64,
    /// The commands of every [`Kind`] of step.
    recordings: [Option<Vec<Command>>; 3],
}

impl StepCache {
    pub fn new(problem: &Problem) -> Self {
        Self { structure: problem.structure, selection: problem.selection, recordings: [None, None, None] }
    }

    pub fn clear(&mut self) {
        self.recordings = [None, None, None];
    }

    /// Forgets the recordings if other terms are enabled than before.
    pub fn follow(&mut self, problem: &Problem) {
        if self.selection != problem.selection {
            self.selection = problem.selection;
            self.clear();
        }
    }

    /// Takes a recording out, to be put back.
    pub fn take(&mut self, kind: Kind) -> Option<Vec<Command>> {
        self.recordings[kind as usize].take()
    }

    pub fn put(&mut self, kind: Kind, commands: Vec<Command>) {
        self.recordings[kind as usize] = Some(commands);
    }
}
