//! What is to be played next: commands of a clustering in their order, chunk by chunk where not all points fit the device.

use super::points::Points;
use super::workspace::{Chunk, Workspace};
use super::{Iteration, Log, state};
use leastwise_device::{BufferId, Command, Recording, Slice};
use std::collections::VecDeque;

/// Whether a phase is over.
pub enum Step {
    /// More is in the script.
    Going,
    Finished,
}

enum Item {
    Commands(Vec<Command>),
    Upload(Chunk),
}

/// The rest of a script, and the workspace that it is for.
pub struct Script {
    pub work: Workspace,
    /// Buffers of a workspace that was outgrown: they are freed once the copies from them were played.
    pub retired: Vec<BufferId>,
    items: VecDeque<Item>,
    open: Vec<Command>,
}

impl Script {
    pub fn new(work: Workspace) -> Self {
        Self { work, retired: Vec::new(), items: VecDeque::new(), open: Vec::new() }
    }

    /// Everything that it has on the device.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        self.work.buffers().into_iter().chain(self.retired.iter().copied())
    }

    /// The next recording.
    pub fn next(&mut self, points: &Points) -> Option<Recording> {
        self.flush();
        self.items.pop_front().map(|item| Recording {
            commands: match item {
                Item::Commands(commands) => commands,
                Item::Upload(chunk) => self.work.uploads(chunk, points),
            },
        })
    }

    fn flush(&mut self) {
        if !self.open.is_empty() {
            self.items.push_back(Item::Commands(std::mem::take(&mut self.open)));
        }
    }

    pub fn push(&mut self, command: Command) {
        self.open.push(command);
    }

    pub fn with(&mut self, write: impl FnOnce(&Workspace, &mut Vec<Command>)) {
        write(&self.work, &mut self.open);
    }

    /// The same for every chunk, whose points are brought first if they are not there.
    pub fn each_chunk(&mut self, write: impl Fn(&Workspace, Chunk, &mut Vec<Command>)) {
        for chunk in self.work.chunks.clone() {
            if !self.work.resident {
                self.upload(chunk);
            }
            write(&self.work, chunk, &mut self.open);
        }
    }

    /// Whether nothing is left to be played.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.open.is_empty()
    }

    /// Forgets what was still to be played.
    pub fn clear(&mut self) {
        self.items.clear();
        self.open.clear();
    }

    fn upload(&mut self, chunk: Chunk) {
        self.flush();
        self.items.push_back(Item::Upload(chunk));
    }

    /// Brings all points, if there is room for all.
    pub fn upload_all(&mut self) {
        if self.work.resident {
            self.work.chunks.clone().into_iter().for_each(|chunk| self.upload(chunk));
        }
    }

    /// Several times the same, until it is done; once, where points have to be brought each time.
    pub fn repeat(&mut self, times: u32, write: impl FnOnce(&mut Self)) -> u32 {
        if !self.work.resident || times <= 1 {
            write(self);
            return 1;
        }
        self.flush();
        write(self);
        let body = std::mem::take(&mut self.open);
        let until = (self.work.state.buffer, state::DONE);
        self.open.push(Command::Repeat { body, max: times, until });
        times
    }

    pub fn read(&mut self, slice: Slice) {
        self.open.push(Command::Read { slice });
        self.flush();
    }

    pub fn read_state(&mut self) {
        self.read(self.work.state);
    }

    /// Reads the anchors of a piece; false when there is no such piece.
    pub fn read_anchors(&mut self, clusters: u32, piece: usize) -> bool {
        let Some((piece, here)) = self.work.pieces_of(clusters).nth(piece) else { return false };
        self.read(Workspace::part(piece.anchors, 0, here * self.work.dimensions));
        true
    }

    pub fn read_labels(&mut self) {
        let labels = Workspace::part(self.work.table, self.work.places.labels, self.work.count);
        self.read(labels);
    }
}

impl Log {
    /// Takes the iterations that a state has and this log has not.
    pub fn take(&mut self, values: &[f64]) -> bool {
        let at = |element: u32| values.get(element as usize).copied().unwrap_or(0.0);
        let count = at(state::ITERATION) as u32;
        for number in self.seen.max(count.saturating_sub(state::HISTORY_LEN))..count {
            let entry = state::HISTORY + 3 * (number % state::HISTORY_LEN);
            self.iterations.push(Iteration {
                energy: at(entry),
                changed: at(entry + 1),
                temperature: at(entry + 2),
                clusters: self.clusters,
            });
        }
        self.seen = count;
        at(state::DONE) != 0.0
    }
}
