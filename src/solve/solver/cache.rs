//! Recordings of steps, which are kept while the structure of the problem and the selection of its terms stay.

use leastwise_device::{Command, Sequence};
use leastwise_problem::Problem;
use std::sync::Arc;

/// Kinds of recordings.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A step.
    Whole,
    /// A step after one that was rejected: the point has not moved.
    Again,
    Live,
    /// The first half of a step whose system the host solves.
    Assembly,
    /// Commands by which the device forms S of an assembled matrix, for one λ.
    Forming,
    /// The second half, and that after a rejected step.
    Solved,
    SolvedAgain,
}

const KINDS: usize = 7;

pub(super) struct StepCache {
    pub structure: u64,
    pub selection: u64,
    /// The commands of every [`Kind`].
    recordings: [Option<Arc<Sequence>>; KINDS],
    /// Recordings that were made so far.
    pub made: u64,
}

impl StepCache {
    pub fn new(problem: &Problem) -> Self {
        Self { structure: problem.structure, selection: problem.selection, recordings: [const { None }; KINDS], made: 0 }
    }

    pub fn clear(&mut self) {
        self.recordings = [const { None }; KINDS];
    }

    /// Forgets the recordings if other terms are enabled than before.
    pub fn follow(&mut self, problem: &Problem) {
        if self.selection != problem.selection {
            self.selection = problem.selection;
            self.clear();
        }
    }

    /// A recording that was made before.
    pub fn get(&self, kind: Kind) -> Option<Arc<Sequence>> {
        self.recordings[kind as usize].clone()
    }

    /// Keeps a recording.
    pub fn keep(&mut self, kind: Kind, commands: Vec<Command>) -> Arc<Sequence> {
        self.made += 1;
        self.recordings[kind as usize].insert(Arc::new(Sequence::new(commands))).clone()
    }
}

/// Appends a recording: as it is on the CPU, command by command on a GPU, which has ways of its own to play what repeats.
pub(super) fn append(commands: &mut Vec<Command>, sequence: Arc<Sequence>, is_cpu: bool) {
    if is_cpu {
        commands.push(Command::Sequence(sequence));
    } else {
        commands.extend(sequence.commands().iter().cloned());
    }
}
