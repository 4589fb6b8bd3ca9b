//! Runs of commands as CUDA graphs: a solver's step is the same recording again and again. They are enqueued one by one the first
//! two times and become a graph the third; what comes once or twice is not worth one.

use super::{CudaDevice, failed};
use cudarc::driver::{CudaGraph, DriverError, sys};
use leastwise_recording::{BufferId, Command, DeviceError, Slice};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Graphs that are kept; when there are more, all go and are made anew as needed.
const MAX_GRAPHS: usize = 256;

/// Hashes that are kept of what was played once.
const MAX_ONCE: usize = 1 << 12;

/// Bodies of a graph at most. Chunks of a `Repeat` are made of graphs of 1, 2, 4, … bodies, so that there are few.
const MOST_BODIES: u32 = 32;

/// Held to write while a device captures, to read where one allocates, frees, or loads modules.
static CAPTURES: RwLock<()> = RwLock::new(());

/// Keeps captures of this process's other devices away: the driver ends a capture where another thread asks for what concerns all of a
/// context, or takes memory that the capturing stream had before. Not to be asked for twice by one thread.
pub(super) fn between_captures() -> RwLockReadGuard<'static, ()> {
    CAPTURES.read().unwrap_or_else(PoisonError::into_inner)
}

/// Runs of commands that were played before.
#[derive(Default)]
pub(super) struct Graphs {
    /// By the commands themselves: equality decides, not a hash.
    known: HashMap<u64, Vec<Run>>,
    count: usize,
    /// Hashes of what was played once.
    once: HashSet<u64>,
}

struct Run {
    commands: Vec<Command>,
    bodies: u32,
    graph: Option<CudaGraph>,
    dispatches: u64,
}

// SAFETY: a graph is launched and destroyed by its device alone, which binds the context to the thread that it is on.
unsafe impl Send for Run {}

impl Graphs {
    /// Drops the graphs that use a buffer which is going to be freed.
    pub fn forget(&mut self, buffer: BufferId) {
        let uses = |slice: &Slice| slice.buffer == buffer;
        let named = |command: &Command| match command {
            Command::Dispatch(dispatch) => dispatch.bindings.iter().flatten().any(uses),
            Command::Multiply(multiply) => multiply.slices().any(uses),
            Command::Copy { from, to } => uses(from) || uses(to),
            Command::Clear { slice } => uses(slice),
            _ => false,
        };
        for runs in self.known.values_mut() {
            runs.retain(|run| !run.commands.iter().any(named));
        }
        self.known.retain(|_, runs| !runs.is_empty());
        self.count = self.known.values().map(Vec::len).sum();
    }
}

impl CudaDevice {
    /// Enqueues `bodies` times the same commands, as graphs of 1, 2, 4, … of them.
    pub(super) fn run_bodies(&mut self, commands: &[Command], bodies: u32) -> Result<(), DeviceError> {
        let mut left = bodies;
        while left > 0 {
            let now = (1 << left.ilog2()).min(MOST_BODIES);
            self.run(commands, now)?;
            left -= now;
        }
        Ok(())
    }

    /// Enqueues `bodies` times the same commands, as a graph from the third time on.
    pub(super) fn run(&mut self, commands: &[Command], bodies: u32) -> Result<(), DeviceError> {
        let mut hasher = DefaultHasher::new();
        commands.iter().for_each(|command| hash(command, &mut hasher));
        bodies.hash(&mut hasher);
        let key = hasher.finish();
        let known = self.graphs.known.get(&key);
        let known = known.and_then(|runs| runs.iter().position(|run| run.bodies == bodies && run.commands == commands));
        self.counters.submissions += 1;
        let Some(known) = known else {
            if self.graphs.count >= MAX_GRAPHS {
                self.graphs = Graphs::default();
            }
            let dispatches = self.enqueue_all(commands, bodies)?;
            self.counters.dispatches += dispatches;
            self.enqueued(dispatches as u32)?;
            if self.graphs.once.len() >= MAX_ONCE {
                self.graphs.once.clear();
            }
            // The second time.
            if !self.graphs.once.insert(key) {
                self.graphs.once.remove(&key);
                let run = Run { commands: commands.to_vec(), bodies, graph: None, dispatches };
                self.graphs.known.entry(key).or_default().push(run);
                self.graphs.count += 1;
            }
            return Ok(());
        };
        if self.graphs.known.get(&key).is_some_and(|runs| runs[known].graph.is_none()) {
            self.settle()?;
            let graph = self.capture(commands, bodies)?;
            if let Some(run) = self.graphs.known.get_mut(&key).and_then(|runs| runs.get_mut(known)) {
                run.graph = graph;
            }
        }
        let run = self.graphs.known.get(&key).and_then(|runs| runs.get(known));
        if let Some(Run { graph: Some(graph), dispatches, .. }) = run {
            graph.launch().map_err(failed)?;
            self.counters.dispatches += dispatches;
            return self.enqueued(1);
        }
        // One by one, and the next time as a graph perhaps.
        let dispatches = self.enqueue_all(commands, bodies)?;
        self.counters.dispatches += dispatches;
        self.enqueued(dispatches as u32)
    }

    /// The graph of commands; none where somebody outside of this engine spoiled the capture. Nothing that is captured runs, so nothing is
    /// lost then.
    fn capture(&self, commands: &[Command], bodies: u32) -> Result<Option<CudaGraph>, DeviceError> {
        let _alone = CAPTURES.write().unwrap_or_else(PoisonError::into_inner);
        // Of this thread: what others do in the meantime is their own.
        self.stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(failed)?;
        let enqueued = self.enqueue_all(commands, bodies);
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
        match (self.stream.end_capture(flags), enqueued) {
            (Err(DriverError(sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)), _) => Ok(None),
            (Err(error), _) => Err(failed(error)),
            (Ok(_), Err(error)) => Err(error),
            (Ok(graph), Ok(_)) => Ok(graph),
        }
    }
}

fn hash(command: &Command, hasher: &mut DefaultHasher) {
    match command {
        Command::Dispatch(dispatch) => dispatch.hash(hasher),
        Command::Multiply(multiply) => multiply.hash(hasher),
        Command::Copy { from, to } => (from, to).hash(hasher),
        Command::Clear { slice } => slice.hash(hasher),
        _ => {}
    }
}
