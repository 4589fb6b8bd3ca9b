//! Sums and means of tensors over all ranks of a session that is one of them: each gives its own, and all get the same.

use super::Session;
use super::clusters::meet;
use super::job::{Ended, Job, Progress, Step};
use super::tensors::TensorRun;
use leastwise_collective::{Communicator, Fault, Fingerprint, failed_elsewhere};
use leastwise_device::{Device, DeviceError, Play, Recording};
use leastwise_error::Error;
use leastwise_outer::Turn;
use leastwise_tensor::graph::{Node, Values};
use leastwise_tensor::ranked::{Given, Sums};
use std::collections::HashMap;
use std::sync::Arc;

/// A sum or mean on its way.
struct RankedSum {
    ranks: Arc<dyn Communicator>,
    double: bool,
    /// Tensors of this rank, which are held.
    tensors: Vec<Node>,
    mean: bool,
    stage: Stage,
    /// Those of the tensors that are not on the device, each as often as it is among them.
    read: Vec<Node>,
    /// Communicator that the device had before it became one of the ranks; none before it did.
    before: Option<Option<Arc<dyn Communicator>>>,
    /// True once ranks know of its end.
    is_over: bool,
}

enum Stage {
    /// Nothing was done yet; or there is nothing to give, for a reason that only this rank has.
    Fresh(Option<Error>),
    Evaluating(Box<TensorRun>),
    /// The CPU beside the device, or the host, has some of them: they are read.
    Reading(Box<TensorRun>),
    Exchanging(Sums, Box<Play>),
    Over,
}

impl RankedSum {
    /// Elements that this rank gives, once tensors are computed; or progress.
    fn given(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Result<Vec<Given>, Progress>, Error> {
        loop {
            let run = match &mut self.stage {
                Stage::Fresh(reason) => {
                    if let Some(reason) = reason.take() {
                        return Err(reason);
                    }
                    self.check(session)?;
                    let run = TensorRun::new(self.double, self.held(session, &self.tensors)?, Vec::new());
                    self.stage = Stage::Evaluating(Box::new(run));
                    continue;
                }
                Stage::Evaluating(run) | Stage::Reading(run) => run,
                Stage::Exchanging(..) | Stage::Over => return Err(Error::Internal("tensors were given already")),
            };
            let values = match session.resume_tensors(task, run, deadline)? {
                Progress::Values(values) => values,
                progress => return Ok(Err(progress)),
            };
            let was_reading = matches!(self.stage, Stage::Reading(_));
            self.end_run(session, task);
            if was_reading {
                return self.collected(session, &values).map(Ok);
            }
            self.read = self.elsewhere(session)?;
            if self.read.is_empty() {
                return self.collected(session, &[]).map(Ok);
            }
            let run = TensorRun::new(self.double, Vec::new(), self.held(session, &self.read)?);
            self.stage = Stage::Reading(Box::new(run));
        }
    }

    /// Refuses what has no sum.
    fn check(&self, session: &mut Session) -> Result<(), Error> {
        let graph = &session.tensors(self.double)?.graph;
        if self.tensors.iter().any(|node| graph.entry(*node).values != Values::Reals || graph.entry(*node).half) {
            return Err(Error::Dtype("sums over ranks are of tensors in f32 or f64: cast(\"f32\") makes one of others".into()));
        }
        if !graph.pulls(&self.tensors).is_empty() {
            return Err(Error::Internal("gradients through a solve were not computed first"));
        }
        Ok(())
    }

    /// Tensors for an evaluation, which lets go of them.
    fn held(&self, session: &mut Session, nodes: &[Node]) -> Result<Vec<Node>, Error> {
        let graph = &mut session.tensors(self.double)?.graph;
        Ok(nodes.iter().map(|node| graph.hold(*node)).collect())
    }

    /// Tensors that are not on the device.
    fn elsewhere(&self, session: &mut Session) -> Result<Vec<Node>, Error> {
        let tensors = session.tensors(self.double)?;
        Ok(self.tensors.iter().copied().filter(|node| tensors.view(*node).is_none()).collect())
    }

    /// Elements of all tensors; `values` are those that were read, one tensor after the other.
    fn collected(&self, session: &mut Session, values: &[f64]) -> Result<Vec<Given>, Error> {
        let tensors = session.tensors(self.double)?;
        let mut read = HashMap::new();
        let mut first = 0;
        for node in &self.read {
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

    /// Ends an evaluation, if there is one.
    fn end_run(&mut self, session: &mut Session, task: u32) {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Evaluating(run) | Stage::Reading(run) => session.end_tensors(task, *run),
            other => self.stage = other,
        }
    }

    /// Makes the device one of the ranks, and what is to be played.
    fn prepare(&mut self, session: &mut Session, given: Vec<Given>) -> Result<(Recording, Sums), Error> {
        let ranks = self.ranks.clone();
        let (tensors, mut devices) = session.tensor_devices(self.double)?;
        self.before = Some(devices.main.join(Some(ranks))?);
        tensors.sum_over_ranks(&mut devices, given)
    }

    /// Begins the exchange once all ranks have their elements, of the same tensors; else tells all.
    fn begin(&mut self, session: &mut Session, given: Result<Vec<Given>, Error>) -> Result<(), Error> {
        // Ranks meet by the device of the tensors, unless one of them has none to give.
        if Device::has_to_meet(&*self.ranks) {
            let device = match &given {
                Ok(_) => session.tensor_devices(self.double).map(|(_, devices)| devices.main),
                Err(error) => Err(error.clone()),
            };
            meet(device, &self.ranks)?;
        }
        let made = given.and_then(|given| self.prepare(session, given));
        let others = failed_elsewhere(&*self.ranks, &made);
        let (recording, sums) = made?;
        let graph = &session.tensors(self.double)?.graph;
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(&[u8::from(self.double), u8::from(self.mean)]);
        for node in &self.tensors {
            let sizes: Vec<u8> = graph.shape(*node).iter().flat_map(|size| size.to_le_bytes()).collect();
            fingerprint.add(&sizes);
        }
        let agreed = others.and_then(|()| self.ranks.agree("shapes of tensors", fingerprint.0));
        let (tensors, devices) = session.tensor_devices(self.double)?;
        if let Err(fault) = agreed {
            tensors.drop_sums(sums);
            return Err(fault.into());
        }
        self.stage = Stage::Exchanging(sums, Box::new(devices.main.start(recording)));
        Ok(())
    }

    /// Sums as new tensors, packed.
    fn kept(&self, session: &mut Session, sums: Sums) -> Result<Vec<u32>, Error> {
        let tensors = session.tensors(self.double)?;
        let shapes = self.tensors.iter().map(|node| tensors.graph.shape(*node).to_vec()).collect();
        let sums = tensors.keep_sums(sums, shapes);
        let graph = &mut tensors.graph;
        sums.iter().for_each(|node| {
            graph.hold(*node);
        });
        if !self.mean {
            return session.packed(self.double, &sums);
        }
        let means = graph.made(|graph| {
            let count = graph.constant(f64::from(self.ranks.size()), &[]);
            sums.iter().map(|sum| graph.apply("div", &[*sum, count])).collect::<Result<Vec<_>, Error>>()
        });
        sums.iter().for_each(|node| graph.release(*node));
        session.packed(self.double, &means?)
    }

    fn advance(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Progress, Error> {
        if !matches!(self.stage, Stage::Exchanging(..)) {
            let given = match self.given(session, task, deadline) {
                Ok(Err(progress)) => return Ok(progress),
                Ok(Ok(given)) => Ok(given),
                Err(error) => Err(error),
            };
            self.end_run(session, task);
            self.begin(session, given)?;
        }
        if let Stage::Exchanging(_, play) = &mut self.stage {
            let (_, devices) = session.tensor_devices(self.double)?;
            if let Err(turn) = Turn::from(devices.main.resume(play, deadline)?).outcome() {
                return Ok(Progress::of(turn, Progress::Values));
            }
        }
        let Stage::Exchanging(sums, _) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Err(Error::Internal("an exchange of tensors is gone"));
        };
        let packed = self.kept(session, sums)?;
        Ok(Progress::Values(packed.into_iter().map(f64::from).collect()))
    }

    fn give_up(&self, message: String) {
        self.ranks.give_up(Fault::Broken { rank: self.ranks.rank(), size: self.ranks.size(), message });
    }
}

impl Job for RankedSum {
    fn resume(&mut self, session: &mut Session, task: u32, deadline: f64) -> Result<Step, Error> {
        if session.is_behind(task) {
            return Ok(Progress::Yielded.into());
        }
        let progress = self.advance(session, task, deadline);
        if let Err(error) = &progress
            && matches!(self.stage, Stage::Exchanging(..))
            && !matches!(error, Error::Device(DeviceError::Ranks(_)))
        {
            // An exchange has no call in which others would hear of it.
            self.give_up(error.to_string());
        }
        self.is_over = matches!(progress, Ok(Progress::Values(_)) | Err(_));
        progress.map(Step::from)
    }

    fn free(mut self: Box<Self>, session: &mut Session, task: u32) {
        if !self.is_over {
            // First of all: what is on a GPU may wait for others, and ends with this.
            self.give_up("its sum of tensors was given up".into());
        }
        let before = self.before.take();
        if before.is_none() && self.tensors.is_empty() {
            return;
        }
        self.end_run(session, task);
        let Ok((tensors, devices)) = session.tensor_devices(self.double) else { return };
        if let Some(before) = before {
            // A device that is gone says so with its next use.
            let _ = devices.main.join(before);
        }
        if let Stage::Exchanging(sums, _) = std::mem::replace(&mut self.stage, Stage::Over) {
            tensors.drop_sums(sums);
        }
        self.tensors.iter().for_each(|node| tensors.graph.release(*node));
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
        let known = tensors.ok_or_else(|| Error::InvalidOption("this rank has no tensors to give".into()));
        let known = known.and_then(|ids| self.held_tensors(ids));
        let ranks = self.ranks.clone().filter(|_| self.followers.is_none());
        let Some(ranks) = ranks else {
            let (double, tensors) = known?;
            let graph = &mut self.tensors(double)?.graph;
            let made = graph.made(|graph| tensors.iter().map(|node| graph.operation("detach", &[*node], &[])).collect::<Result<_, _>>());
            tensors.iter().for_each(|node| graph.release(*node));
            let packed = self.packed(double, &made?)?;
            return Ok(self.add_task(Ended::with(packed.into_iter().map(f64::from).collect())));
        };
        let (reason, (double, tensors)) = match known {
            Ok(known) => (None, known),
            Err(error) => (Some(error), (false, Vec::new())),
        };
        let stage = Stage::Fresh(reason);
        Ok(self.add_task(RankedSum { ranks, double, tensors, mean, stage, read: Vec::new(), before: None, is_over: false }))
    }

    /// Tensors of one precision, each with another handle.
    fn held_tensors(&mut self, ids: &[u32]) -> Result<(bool, Vec<Node>), Error> {
        let (double, nodes) = Self::nodes(ids, false)?;
        let graph = &mut self.tensors(double)?.graph;
        if nodes.iter().any(|node| graph.get(*node).is_none()) {
            return Err(Error::Disposed("tensor"));
        }
        nodes.iter().for_each(|node| {
            graph.hold(*node);
        });
        Ok((double, nodes))
    }
}
