//! A solver with what drives it, live steps for frame loops, and counts of what became of them some frames ago.

use crate::set_up::LONG;
use crate::{Devices, SavedOuter};
use leastwise_base::clock::now_ms;
use leastwise_device::{BufferId, Device, Glance, Play, Playing, Signal, Slice};
use leastwise_error::Error;
use leastwise_problem::{Problem, Registry};
use leastwise_solve::{Settings, Solver};

/// A solver, the live step that it was left in, and the kernels that were compiled for it.
pub struct Driven {
    /// The solver.
    pub solver: Solver,
    /// A live step that the CPU is in the midst of.
    live: Option<Play>,
    live_steps: LiveSteps,
    /// Structure, selection of terms, and whether tables are combined, that the kernels of live steps are compiled for, on a GPU.
    compiled: Option<(u64, u64, bool)>,
    /// Structure that the kernels of edits were compiled for.
    edits_of: Option<u64>,
    /// True from a report on until the kernels of live steps are compiled: whoever waits for a report before a frame loop loses
    /// no frame.
    awaits_live: bool,
    /// The outer iteration of a constrained solve that a checkpoint left it in the midst of.
    pub outer: Option<SavedOuter>,
}

impl Driven {
    /// A solver of a problem; of a large one, its first task sets it up.
    pub fn new(device: &mut Device, registry: &mut Registry, problem: &mut Problem, settings: Settings) -> Result<Self, Error> {
        let solver = if problem.instances() < LONG {
            Solver::new(device, registry, problem, settings)?
        } else {
            Solver::unprepared(device, problem, settings)?
        };
        Ok(Self::of(solver))
    }

    /// A solver that its first task sets up, whatever the problem's size.
    pub fn unprepared(device: &Device, problem: &mut Problem, settings: Settings) -> Result<Self, Error> {
        Ok(Self::of(Solver::unprepared(device, problem, settings)?))
    }

    fn of(solver: Solver) -> Self {
        Self { solver, live: None, live_steps: LiveSteps::default(), compiled: None, edits_of: None, awaits_live: false, outer: None }
    }

    /// Begins to compile the kernels of live steps of a prepared solver on a GPU; gives the signal to wait for until they are there.
    pub fn compile_live(&mut self, device: &mut Device, problem: &Problem) -> Result<Option<Signal>, Error> {
        let version = (problem.structure, problem.selection, problem.combines());
        if !device.is_queue() || self.compiled == Some(version) {
            return Ok(None);
        }
        let unready = device.compile(&self.solver.live_kernels(problem)?)?;
        if unready.is_none() {
            self.compiled = Some(version);
        }
        Ok(unready)
    }

    /// Signal to wait for before a report that comes ahead of a frame loop.
    pub(crate) fn await_live(&mut self, device: &mut Device, problem: &Problem) -> Result<Option<Signal>, Error> {
        if !self.awaits_live {
            return Ok(None);
        }
        let unready = device.compile(&self.solver.live_kernels(problem)?)?;
        self.awaits_live = unready.is_some();
        Ok(unready)
    }

    /// Begins to compile the kernels of edits, once for a structure.
    pub(crate) fn compile_edits(&mut self, device: &mut Device, problem: &Problem) -> Result<(), Error> {
        if self.edits_of != Some(problem.structure) {
            self.edits_of = Some(problem.structure);
            device.compile(&self.solver.edit_kernels(problem)?)?;
        }
        Ok(())
    }

    /// Starts the recording of a report between live steps.
    pub(crate) fn report(&mut self, device: &mut Device, problem: &mut Problem) -> Result<Play, Error> {
        self.awaits_live = device.is_queue() && self.compiled.is_none();
        let recording = self.solver.report_now(problem)?;
        Ok(device.start(recording))
    }

    /// True in the midst of a live step.
    pub fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Finishes a live step that was left: dropped within its commit, it would leave half a step.
    pub fn finish_live(&mut self, device: &mut Device) -> Result<(), Error> {
        if let Some(mut play) = self.live.take() {
            device.resume(&mut play, f64::INFINITY)?;
        }
        Ok(())
    }

    /// Live use: a GPU gets `iterations` steps enqueued at once and nothing is read back; the CPU works until the deadline or until
    /// the steps are done, and goes on within a step the next time.
    ///
    /// While kernels are being compiled or the solver is being set up, a call makes no step. Gives what is known of the solver's
    /// steps: on the CPU all, on a GPU what was known some calls ago, and nothing before that has come.
    pub fn advance(
        &mut self,
        devices: &mut Devices,
        problem: &mut Problem,
        iterations: u32,
        deadline: f64,
    ) -> Result<Option<Advanced>, Error> {
        let device = &mut devices.main;
        if device.has_refused() || !self.solver.is_of(problem.structure) || !problem.has_enabled_terms() {
            self.finish_live(device)?;
            // A large problem's solver is set up over several calls.
            let until = if problem.instances() >= LONG { deadline } else { f64::INFINITY };
            if !self.solver.prepare_until(device, &mut devices.registry, problem, until)? {
                return Ok(self.live_steps.known(false));
            }
        }
        // Before a step is recorded: what it takes from the problem is uploaded once.
        if self.compile_live(device, problem)?.is_some() {
            return Ok(self.live_steps.known(self.live.is_some()));
        }
        self.solver.begin_step(device);
        for _ in 0..iterations {
            if device.is_queue() {
                let recording = self.solver.live_step(problem)?;
                device.enqueue(&recording)?;
                self.live_steps.enqueue();
                continue;
            }
            let mut play = match self.live.take() {
                Some(play) => play,
                None => {
                    let recording = self.solver.live_step(problem)?;
                    device.start(recording)
                }
            };
            if let Playing::Yielded = device.resume(&mut play, deadline)? {
                self.live = Some(play);
                break;
            }
            if now_ms() > deadline {
                break;
            }
        }
        self.live_steps.look(device, self.solver.step_counts())?;
        Ok(self.live_steps.known(self.live.is_some()))
    }

    /// Has the solver give up the system that it is solving, and plays what that leaves.
    pub fn give_up(&mut self, device: &mut Device) {
        let recording = self.solver.give_up();
        if !recording.commands.is_empty() {
            let mut play = device.start(recording);
            // Nobody waits for it any more.
            let _ = device.resume(&mut play, f64::INFINITY);
        }
    }

    /// Destroys the solver. What it was in the midst of is finished first (CPU): a dropped play may hold the only upload of some
    /// values, or half a commit.
    pub fn free(mut self, device: &mut Device) {
        // Whatever goes wrong here, the solver is gone afterwards.
        let _ = self.finish_live(device);
        self.give_up(device);
        self.solver.buffers().into_iter().for_each(|buffer| device.free(buffer));
    }
}

/// Steps of a solver since it was made, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// Steps that lowered the cost.
    pub accepted: u32,
    /// Steps that were rejected.
    pub rejected: u32,
    /// Steps that were begun and whose outcome is not known yet: on a GPU they may be over.
    pub unfinished: u32,
}

/// Known outcomes of a solver's live steps, and the glance that will tell more.
#[derive(Default)]
struct LiveSteps {
    /// The buffer that counts; steps that another one counted before it.
    buffer: Option<BufferId>,
    before: Advanced,
    known: Option<Advanced>,
    /// Steps enqueued, and those that what is known includes.
    enqueued: u32,
    included: u32,
    glance: Option<(Glance, u32)>,
}

impl LiveSteps {
    /// Counts a step that was begun.
    pub fn enqueue(&mut self) {
        self.enqueued = self.enqueued.wrapping_add(1);
    }

    /// Takes what has come of the last glance, and asks for another.
    pub fn look(&mut self, device: &mut Device, counts: Slice) -> Result<(), Error> {
        if self.buffer != Some(counts.buffer) {
            // What the old buffer counted stays as far as it is known.
            self.before = self.known.unwrap_or_default();
            (self.buffer, self.glance, self.included) = (Some(counts.buffer), None, self.enqueued);
        }
        self.take(device)?;
        if self.glance.is_none() {
            self.glance = Some((device.glance(counts)?, self.enqueued));
            self.take(device)?;
        }
        Ok(())
    }

    fn take(&mut self, device: &mut Device) -> Result<(), Error> {
        let Some((glance, enqueued)) = &mut self.glance else { return Ok(()) };
        let Some(values) = device.seen(glance)? else { return Ok(()) };
        let [taken, .., tried] = values[..] else { return Ok(()) };
        let (accepted, rejected) = (taken as u32, (tried - taken) as u32);
        self.known = Some(Advanced { accepted: self.before.accepted + accepted, rejected: self.before.rejected + rejected, unfinished: 0 });
        self.included = *enqueued;
        self.glance = None;
        Ok(())
    }

    /// The known outcomes; `in_midst`: a step that the CPU is in the midst of.
    pub fn known(&self, in_midst: bool) -> Option<Advanced> {
        let unfinished = self.enqueued.wrapping_sub(self.included) + u32::from(in_midst);
        self.known.map(|known| Advanced { unfinished, ..known })
    }
}
