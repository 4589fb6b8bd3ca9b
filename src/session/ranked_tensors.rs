//! Sums and means of tensors over all ranks of a session that is one of them: each gives its own, and all get the same.
//!
//! A task computes what is to be summed, and exchanges messages between the steps of that evaluation where all ranks can, or after it.
//! Then it evaluates what is asked for of the sums, which a device enqueues behind the exchanges: the host waits for neither before the
//! last values.

use super::Session;
use super::job::{Ended, Job, Progress, Step};
use super::tensors::TensorRun;
use leastwise_collective::{Communicator, Fault, Fingerprint, everybody, failed_elsewhere, told};
use leastwise_device::{Command, DeviceError, Play, Recording};
use leastwise_error::Error;
use leastwise_outer::Turn;
use leastwise_tensor::graph::Node;
use leastwise_tensor::ranked::{Given, Sums};
use leastwise_tensor::routing::Place;
use leastwise_tensor::runtime::Next;
use std::collections::HashMap;
use std::sync::Arc;

/// An evaluation of what depends on sums over ranks.
struct RankedEvaluation {
    ranks: Arc<dyn Communicator>,
    double: bool,
    /// Tensors that are asked for and that are read; this task holds them until their own evaluation begins.
    outputs: Vec<Node>,
    read: Vec<Node>,
    /// True where the answer is the outputs, packed, which may still be functions of sums.
    is_packed: bool,
    /// Distinguishes means from sums, for ranks to compare.
    mean: bool,
    stage: Stage,
    /// Reason, which only this rank has, that there is nothing to give.
    reason: Option<Error>,
    /// Sums that are being computed, and the tensors that they are of.
    sums: Vec<Node>,
    tensors: Vec<Node>,
    run: Option<Box<TensorRun>>,
    /// Recording of the tensors, if there is anything to play, until ranks have agreed; and true once it was made.
    recording: Option<(Place, Recording)>,
    is_recorded: bool,
    /// Buffers of sums that are exchanged within the evaluation, and a fingerprint of the messages.
    within: Option<(Sums, u64)>,
    /// Sums that are exchanged after it.
    after: Option<(Sums, Box<Play>)>,
    /// Those of the tensors that are not on the device, each as often as it is among them.
    elsewhere: Vec<Node>,
    /// Communicator that the device had before it became one of the ranks; none before it did.
    before: Option<Option<Arc<dyn Communicator>>>,
    /// True once ranks know of its end.
    is_over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Sums are looked for that are not computed.
    Looking,
    /// The tensors' plan is made, recorded and compiled.
    Preparing,
    /// The tensors are computed, and exchanged if that is within.
    Computing,
    /// The CPU beside the device, or the host, has some of them: they are read.
    Reading,
    Exchanging,
    /// All sums are there.
    Finishing,
}

impl RankedEvaluation {
    fn new(ranks: Arc<dyn Communicator>, double: bool, outputs: Vec<Node>, read: Vec<Node>) -> Self {
        Self {
            ranks,
            double,
            outputs,
            read,
            is_packed: false,
            mean: false,
            stage: Stage::Looking,
            reason: None,
            sums: Vec::new(),
            tensors: Vec::new(),
            run: None,
            recording: None,
            is_recorded: false,
            within: None,
            after: None,
            elsewhere: Vec::new(),
            before: None,
            is_over: false,
        }
    }

    /// Finds the sums that are next, and begins to evaluate what they are of.
    fn look(&mut self, session: &mut Session) -> Result<(), Error> {
        let graph = &session.tensors(self.double)?.graph;
        let wanted: Vec<Node> = self.outputs.iter().chain(&self.read).copied().collect();
        self.sums = graph.sums_over_ranks(&wanted);
        if self.sums.is_empty() {
            self.stage = Stage::Finishing;
            return Ok(());
        }
        self.tensors = self.sums.iter().map(|sum| graph.entry(*sum).inputs[0]).collect();
        self.stage = Stage::Preparing;
        Ok(())
    }

    /// Makes the device one of the ranks.
    fn join(&mut self, session: &mut Session) -> Result<(), Error> {
        if self.before.is_some() {
            return Ok(());
        }
        let ranks = self.ranks.clone();
        let (_, devices) = session.tensor_devices(self.double)?;
        self.before = Some(devices.main.join(Some(ranks))?);
        Ok(())
    }

    /// True if the device can join without further calls of all ranks.
    fn has_met(&self, session: &mut Session) -> Result<bool, Error> {
        let (_, devices) = session.tensor_devices(self.double)?;
        Ok(devices.main.has_met(&self.ranks))
    }

    /// Has ranks meet by a device that is not the engine's own, once all have what they give; and makes it one of them.
    fn meet(&mut self, session: &mut Session) -> Result<(), Error> {
        let (_, devices) = session.tensor_devices(self.double)?;
        devices.main.meet(&self.ranks)?;
        let joined = self.join(session);
        everybody(&*self.ranks, joined)
    }

    /// Tensors for an evaluation, which lets go of them.
    fn held(&self, session: &mut Session, nodes: &[Node]) -> Result<Vec<Node>, Error> {
        let graph = &mut session.tensors(self.double)?.graph;
        Ok(nodes.iter().map(|node| graph.hold(*node)).collect())
    }

    /// Plan, buffers, recording and kernels of the tensors: all that may fail before ranks exchange anything. Progress, or nothing once
    /// they are there.
    fn prepare(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Option<Progress>, Error> {
        if let Some(reason) = self.reason.take() {
            return Err(reason);
        }
        if self.run.is_none() {
            if !session.tensors(self.double)?.graph.pulls(&self.tensors).is_empty() {
                return Err(Error::Internal("gradients through a solve were not computed first"));
            }
            if self.has_met(session)? {
                self.join(session)?;
            }
            self.run = Some(Box::new(TensorRun::new(self.double, self.held(session, &self.tensors)?, Vec::new())));
        }
        let Some(run) = &mut self.run else { return Ok(None) };
        if !self.is_recorded {
            if let Some(progress) = session.ready_tensors(task, run, deadline)? {
                return Ok(Some(progress));
            }
            let (tensors, mut devices) = session.tensor_devices(self.double)?;
            let Some(evaluation) = run.evaluation() else { return Err(Error::Internal("an evaluation was not made")) };
            self.within = tensors.exchange_within(&mut devices, evaluation, &self.tensors)?;
            match tensors.advance(&mut devices, evaluation, Vec::new())? {
                Next::Run(place, recording) => self.recording = Some((place, recording)),
                Next::Done(values) => run.end(values),
            }
            self.is_recorded = true;
        }
        let (_, mut devices) = session.tensor_devices(self.double)?;
        let Some((place, recording)) = &self.recording else { return Ok(None) };
        Ok(devices.at(*place).compile(recording)?.map(Progress::Waiting))
    }

    /// Compares with all ranks what each has, in one call. Gives whether all can exchange within the evaluation, and whether all devices
    /// have met.
    fn agree(&self, session: &mut Session, made: &Result<(), Error>) -> Result<(bool, bool), Error> {
        let words = match made {
            Ok(()) => self.words(session).map(Some),
            Err(_) => Ok(None),
        };
        let all = told(&*self.ranks, "shapes of tensors", words.as_ref().ok().copied().flatten());
        words?;
        let all = all?;
        let differs = |word: usize| all.iter().position(|words| words[word] != all[0][word]);
        for (word, what) in ["shapes of tensors", "numbers of steps"].into_iter().enumerate() {
            if let Some(rank) = differs(word) {
                return Err(Fault::Differs { what, rank: rank as u32 }.into());
            }
        }
        Ok((differs(2).is_none() && all.iter().all(|words| words[2] != 0), all.iter().all(|words| words[3] != 0)))
    }

    /// What ranks compare: shapes, the step, messages, and if this one's device has met the others'.
    fn words(&self, session: &mut Session) -> Result<[u64; 4], Error> {
        let graph = &session.tensors(self.double)?.graph;
        let step = self.sums.first().map_or(0, |sum| graph.step_over_ranks(*sum));
        let messages = self.within.as_ref().map_or(0, |(_, messages)| *messages);
        Ok([self.fingerprint(session)?, step.into(), messages, self.has_met(session)?.into()])
    }

    /// Fingerprint of precision and shapes, and of how many sums are to be computed after these.
    fn fingerprint(&self, session: &mut Session) -> Result<u64, Error> {
        let graph = &session.tensors(self.double)?.graph;
        let mut fingerprint = Fingerprint::default();
        let wanted: Vec<Node> = self.outputs.iter().chain(&self.read).copied().collect();
        let all = graph.all_sums_over_ranks(&wanted);
        fingerprint.add(&[u8::from(self.double), u8::from(self.mean)]);
        fingerprint.add(&all.to_le_bytes());
        for node in &self.tensors {
            let sizes: Vec<u8> = graph.shape(*node).iter().flat_map(|size| size.to_le_bytes()).collect();
            fingerprint.add(&sizes);
        }
        Ok(fingerprint.0)
    }

    /// Begins to compute once all ranks can.
    fn begin(&mut self, session: &mut Session, made: Result<(), Error>) -> Result<(), Error> {
        let agreed = self.agree(session, &made);
        made?;
        let (is_within, have_met) = agreed?;
        if !have_met {
            self.meet(session)?;
        }
        // From here on others wait for messages.
        (self.stage, self.is_recorded) = (Stage::Computing, false);
        let (tensors, mut devices) = session.tensor_devices(self.double)?;
        let (Some((place, mut recording)), Some(run)) = (self.recording.take(), &mut self.run) else { return Ok(()) };
        if !is_within && let Some((sums, _)) = self.within.take() {
            tensors.leave_out(&mut recording, sums);
        }
        if let Some((sums, _)) = &self.within
            && self.read.is_empty()
        {
            // Nothing else waits for the exchanges: whoever gets the sums is to know that no rank was gone.
            recording.commands.extend(sums.any().map(|slice| Command::Read { slice }));
        }
        run.play(place, devices.at(place).start(recording));
        Ok(())
    }

    /// Goes on with the evaluation; its values, or progress.
    fn evaluated(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Result<Vec<f64>, Progress>, Error> {
        let Some(run) = &mut self.run else { return Err(Error::Internal("an evaluation of tensors is gone")) };
        let values = match session.resume_tensors(task, run, deadline)? {
            Progress::Values(values) => values,
            progress => return Ok(Err(progress)),
        };
        self.end_run(session, task);
        Ok(Ok(values))
    }

    /// Elements that this rank gives after the evaluation, once they are where they can be had; or progress.
    fn given(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Result<Vec<Given>, Progress>, Error> {
        if self.stage == Stage::Computing {
            if let Err(progress) = self.evaluated(session, task, deadline)? {
                return Ok(Err(progress));
            }
            let tensors = session.tensors(self.double)?;
            self.elsewhere = self.tensors.iter().copied().filter(|node| tensors.view(*node).is_none()).collect();
            if self.elsewhere.is_empty() {
                return self.collected(session, &[]).map(Ok);
            }
            let run = TensorRun::new(self.double, Vec::new(), self.held(session, &self.elsewhere)?);
            self.run = Some(Box::new(run));
            self.stage = Stage::Reading;
        }
        match self.evaluated(session, task, deadline)? {
            Ok(values) => self.collected(session, &values).map(Ok),
            Err(progress) => Ok(Err(progress)),
        }
    }

    /// Elements of all tensors; `values` are those that were read, one tensor after the other.
    fn collected(&self, session: &mut Session, values: &[f64]) -> Result<Vec<Given>, Error> {
        let tensors = session.tensors(self.double)?;
        let mut read = HashMap::new();
        let mut first = 0;
        for node in &self.elsewhere {
            let next = first + tensors.graph.size(*node) as usize;
            read.insert(*node, first..next);
            first = next;
        }
        let given = self.tensors.iter().map(|node| match (read.get(node), tensors.view(*node)) {
            (Some(range), _) => Ok(Given::Host(values[range.clone()].to_vec())),
            (None, Some((slice, _))) => Ok(Given::Here(slice)),
            (None, None) => Err(Error::Internal("a tensor was not evaluated before it was summed")),
        });
        given.collect()
    }

    /// Begins the exchange after the evaluation once all ranks have their elements; else tells all.
    fn begin_after(&mut self, session: &mut Session, given: Result<Vec<Given>, Error>) -> Result<(), Error> {
        let made = given.and_then(|given| {
            let (tensors, mut devices) = session.tensor_devices(self.double)?;
            tensors.sum_over_ranks(&mut devices, given)
        });
        let others = failed_elsewhere(&*self.ranks, &made);
        let (recording, sums) = made?;
        let (tensors, devices) = session.tensor_devices(self.double)?;
        if let Err(fault) = others {
            tensors.drop_sums(sums);
            return Err(fault.into());
        }
        self.after = Some((sums, Box::new(devices.main.start(recording))));
        self.stage = Stage::Exchanging;
        Ok(())
    }

    /// Stores sums, and looks for what is left.
    fn store(&mut self, session: &mut Session, sums: Sums) -> Result<(), Error> {
        session.tensors(self.double)?.store_sums(sums, &self.sums);
        self.stage = Stage::Looking;
        Ok(())
    }

    /// Ends an evaluation, if there is one.
    fn end_run(&mut self, session: &mut Session, task: u32) {
        if let Some(run) = self.run.take() {
            session.end_tensors(task, *run);
        }
    }

    fn advance(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Progress, Error> {
        loop {
            match self.stage {
                Stage::Looking if self.reason.is_some() => self.stage = Stage::Preparing,
                Stage::Looking => self.look(session)?,
                Stage::Preparing => {
                    let made = match self.prepare(session, task, deadline) {
                        Ok(Some(progress)) => return Ok(progress),
                        Ok(None) => Ok(()),
                        Err(error) => Err(error),
                    };
                    self.begin(session, made)?;
                }
                Stage::Computing if self.within.is_some() => {
                    if let Err(progress) = self.evaluated(session, task, deadline)? {
                        return Ok(progress);
                    }
                    if let Some((sums, _)) = self.within.take() {
                        self.store(session, sums)?;
                    }
                }
                Stage::Computing | Stage::Reading => {
                    let given = match self.given(session, task, deadline) {
                        Ok(Err(progress)) => return Ok(progress),
                        Ok(Ok(given)) => Ok(given),
                        Err(error) => Err(error),
                    };
                    self.end_run(session, task);
                    self.begin_after(session, given)?;
                }
                Stage::Exchanging => {
                    let Some((_, play)) = &mut self.after else { return Err(Error::Internal("an exchange of tensors is gone")) };
                    let (_, devices) = session.tensor_devices(self.double)?;
                    if let Err(turn) = Turn::from(devices.main.resume(play, deadline)?).outcome() {
                        return Ok(Progress::of(turn, Progress::Values));
                    }
                    if let Some((sums, _)) = self.after.take() {
                        self.store(session, sums)?;
                    }
                }
                Stage::Finishing if self.is_packed => {
                    let packed = session.packed(self.double, &std::mem::take(&mut self.outputs))?;
                    return Ok(Progress::Values(packed.into_iter().map(f64::from).collect()));
                }
                Stage::Finishing => {
                    if self.run.is_none() {
                        let (outputs, read) = (std::mem::take(&mut self.outputs), std::mem::take(&mut self.read));
                        self.run = Some(Box::new(TensorRun::new(self.double, outputs, read)));
                    }
                    return Ok(self.evaluated(session, task, deadline)?.map_or_else(|progress| progress, Progress::Values));
                }
            }
        }
    }

    /// True while other ranks may wait for messages of this one, of which no call tells them that they won't come.
    fn is_exchanging(&self) -> bool {
        self.stage == Stage::Exchanging || self.stage == Stage::Computing && self.within.is_some()
    }

    fn give_up(&self, message: String) {
        self.ranks.give_up(Fault::Broken { rank: self.ranks.rank(), size: self.ranks.size(), message });
    }
}

impl Job for RankedEvaluation {
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error> {
        if session.is_behind(task) {
            return Ok(Progress::Yielded.into());
        }
        let progress = self.advance(session, task, deadline);
        if let Err(error) = &progress
            && self.is_exchanging()
            && !matches!(error, Error::Device(DeviceError::Ranks(_)))
        {
            self.give_up(error.to_string());
        }
        self.is_over = matches!(progress, Ok(Progress::Values(_)) | Err(_));
        progress.map(Step::from)
    }

    fn free(mut self: Box<Self>, session: &mut Session, task: u32) {
        if !self.is_over && self.stage != Stage::Finishing {
            // First of all: what is on a GPU may wait for others, and ends with this.
            self.give_up("its sum of tensors was given up".into());
        }
        let before = self.before.take();
        if before.is_none() && self.run.is_none() && self.outputs.is_empty() && self.read.is_empty() {
            return;
        }
        self.end_run(session, task);
        let Ok((tensors, devices)) = session.tensor_devices(self.double) else { return };
        if let Some(before) = before {
            // A device that is gone says so with its next use.
            let _ = devices.main.join(before);
        }
        let sums = self.within.take().map(|(sums, _)| sums).into_iter().chain(self.after.take().map(|(sums, _)| sums));
        sums.for_each(|sums| tensors.drop_sums(sums));
        self.outputs.iter().chain(&self.read).for_each(|node| tensors.graph.release(*node));
        session.collect_tensors();
    }

    fn is_collective(&self) -> bool {
        true
    }
}

impl Session {
    /// A task: sums of tensors over all ranks, or their means, as new tensors. Its values are these, packed. All ranks make it, of tensors
    /// of the same shapes and precision, and get the same bits: sums are added in the order of ranks. No gradient goes through them. A
    /// session that is no rank, and one over several devices, gives the tensors themselves, detached.
    ///
    /// A rank that could not make its tensors gives none: its task fails, and those of all others do, which then know of it.
    ///
    /// # Errors
    /// [`Fault::Differs`] where ranks have tensors of other shapes, [`Fault::Refused`] where another rank has none to give, and over NCCL
    /// where some have engines of another precision; [`Error::Dtype`] for halves, int32s and truths.
    /// All can go on.
    pub fn sum_over_ranks(&mut self, tensors: Option<&[u32]>, mean: bool) -> Result<u32, Error> {
        let none = || Error::InvalidOption("this rank has no tensors to give".into());
        let Some(ranks) = self.as_rank() else {
            let (double, detached) = self.of_tensors(tensors.ok_or_else(none)?, |graph, tensors| {
                tensors.iter().map(|node| graph.operation("detach", &[*node], &[])).collect()
            })?;
            let packed = self.packed(double, &detached)?;
            return Ok(self.add_task(Ended::with(packed.into_iter().map(f64::from).collect())));
        };
        let size = ranks.size();
        let some = tensors.filter(|ids| !ids.is_empty());
        let made = some.ok_or_else(none).and_then(|ids| self.of_tensors(ids, |graph, tensors| graph.over_ranks(tensors, size, mean, 0)));
        let (reason, (double, outputs)) = match made {
            Ok(made) => (None, made),
            Err(error) => (Some(error), (false, Vec::new())),
        };
        let job = RankedEvaluation { is_packed: true, mean, reason, ..RankedEvaluation::new(ranks, double, outputs, Vec::new()) };
        Ok(self.add_task(job))
    }

    /// Means of tensors over all ranks as new tensors, packed, which the first [evaluation](Self::evaluate_tensors) of something that
    /// depends on them computes. That is a task of all ranks, then: each makes it, or tells the others that it has none by
    /// [`sum_over_ranks`](Self::sum_over_ranks) without tensors. Of a session that is no rank, and of one over several devices: nothing.
    /// `step` is the number of steps that this rank has made, which all compare: one that failed in what it does alone is behind.
    ///
    /// # Errors
    /// [`Error::Dtype`] for halves, int32s and truths; those of the task are those of `sum_over_ranks`, and [`Fault::Differs`] where ranks
    /// have made other numbers of steps.
    pub fn means_over_ranks(&mut self, tensors: &[u32], step: u32) -> Result<Vec<u32>, Error> {
        let Some(size) = self.as_rank().map(|ranks| ranks.size()) else { return Ok(Vec::new()) };
        let (double, made) = self.of_tensors(tensors, |graph, tensors| graph.over_ranks(tensors, size, true, step))?;
        self.packed(double, &made)
    }

    /// A task that evaluates tensors that depend on sums over ranks. They are held already.
    pub(super) fn evaluate_over_ranks(&mut self, double: bool, outputs: Vec<Node>, read: Vec<Node>) -> Result<u32, Error> {
        let ranks = self.as_rank().ok_or(Error::Internal("sums over ranks of a session that is none"))?;
        Ok(self.add_task(RankedEvaluation::new(ranks, double, outputs, read)))
    }

    /// Communicator of a session that is itself one of the ranks of its tensors.
    fn as_rank(&self) -> Option<Arc<dyn Communicator>> {
        self.ranks.clone().filter(|_| self.followers.is_none())
    }

    /// Tensors that are made of some of one precision, with a handle each.
    fn of_tensors(
        &mut self,
        ids: &[u32],
        make: impl FnOnce(&mut leastwise_tensor::graph::Graph, &[Node]) -> Result<Vec<Node>, Error>,
    ) -> Result<(bool, Vec<Node>), Error> {
        let (double, nodes) = Self::nodes(ids, false)?;
        let graph = &mut self.tensors(double)?.graph;
        if nodes.iter().any(|node| graph.get(*node).is_none()) {
            return Err(Error::Disposed("tensor"));
        }
        let made = graph.made(|graph| make(graph, &nodes))?;
        Ok((double, made))
    }
}
