//! Exchanges with other ranks within an evaluation: a message goes as soon as its tensors are computed, beside the steps that follow.
//!
//! Elements are copied into one of two buffers, the *slots*, by turns, and out of it when the slot is needed again or all steps are
//! recorded. So a device that has exchanges in the background computes on while two of them are under way.

use super::{Compiled, Devices, Evaluation, Place, Tensors};
use crate::graph::Node;
use crate::plan::Ref;
use crate::ranked::{Message, Part, Sums, cut, messages, place_in};
use leastwise_device::{BufferId, Collective, Command, Exchange, Kind, Recording, Slice};
use leastwise_error::Error;
use std::collections::VecDeque;
use std::sync::Arc;

/// Messages that may be under way at once.
const SLOTS: usize = 2;

/// Exchanges of an evaluation.
pub(super) struct Exchanges {
    messages: VecDeque<Message>,
    /// Elements of each tensor, and its sum.
    given: Vec<Ref>,
    sums: Vec<BufferId>,
    /// Buffers that messages go by in turn, and the number of messages so far.
    slots: Vec<BufferId>,
    sent: usize,
    /// Messages under way, the first one first.
    under_way: VecDeque<(Arc<Collective>, Message)>,
}

impl Tensors {
    /// Sums of results over the ranks of which the main device is one, exchanged between the steps of an evaluation of which nothing is
    /// recorded; and a fingerprint of the messages, which are the same on ranks that have the same one. None where results are elsewhere
    /// than on the main device, or nothing is to be computed: they are summed [afterwards](Self::sum_over_ranks).
    ///
    /// # Errors
    /// [`Error::Device`] where there is no room for them.
    pub fn exchange_within(
        &mut self,
        devices: &mut Devices,
        evaluation: &mut Evaluation,
        tensors: &[Node],
    ) -> Result<Option<(Sums, u64)>, Error> {
        let Some(ready) = self.ready(evaluation, tensors) else { return Ok(None) };
        let (given, steps): (Vec<Ref>, Vec<u32>) = ready.into_iter().unzip();
        let ready: Vec<(u32, u32)> = steps.into_iter().zip(tensors.iter().map(|node| self.graph.size(*node))).collect();
        let messages = messages(&ready);
        let longest = messages.iter().map(Message::len).max().unwrap_or(0);
        if longest == 0 {
            return Ok(None);
        }
        let mut sums = Sums::default();
        let taken = (|| {
            for (_, len) in &ready {
                let block = self.take(devices, Kind::Real, *len)?;
                sums.made.push((block, *len));
            }
            for _ in 0..messages.len().min(SLOTS) {
                sums.messages.push(self.take(devices, Kind::Real, longest)?);
            }
            Ok(())
        })();
        if let Err(error) = taken {
            self.drop_sums(sums);
            return Err(error);
        }
        let fingerprint = Message::fingerprint(&messages);
        evaluation.exchanges = Some(Exchanges {
            messages: messages.into(),
            given,
            sums: sums.made.iter().map(|(block, _)| block.buffer).collect(),
            slots: sums.messages.iter().map(|block| block.buffer).collect(),
            sent: 0,
            under_way: VecDeque::new(),
        });
        Ok(Some((sums, fingerprint)))
    }

    /// Elements of each tensor, and the step that completes them; none where not all of them are on the main device when its steps have
    /// run.
    fn ready(&self, evaluation: &Evaluation, tensors: &[Node]) -> Option<Vec<(Ref, u32)>> {
        let compiled = self.plans.get(&evaluation.key)?;
        if compiled.plan.steps.is_empty() || compiled.route.steps.iter().any(|(place, _)| *place != Place::Device) {
            return None;
        }
        let blocks = |leaf: u32| self.storages.get(&evaluation.leaves[leaf as usize].1).map_or([None; 2], |stored| stored.blocks);
        // What the CPU beside it alone has is brought in the midst.
        let is_beside = |leaf: u32| matches!(blocks(leaf), [None, Some(_)]);
        if (0..evaluation.leaves.len() as u32).any(is_beside) {
            return None;
        }
        let of = |node: &Node| {
            let given = compiled.plan.outputs[evaluation.outputs.binary_search(node).ok()?];
            let step = match given {
                Ref::Buffer(buffer) => compiled.plan.buffers[buffer as usize].first,
                Ref::Leaf(leaf) if blocks(leaf)[Place::Device as usize].is_some() => 0,
                Ref::Leaf(_) => return None,
            };
            Some((given, step))
        };
        tensors.iter().map(of).collect()
    }

    /// Messages whose tensors the steps so far have computed; after the last one also the ends of all.
    pub(super) fn record_exchanges(&self, evaluation: &mut Evaluation, compiled: &Compiled, recording: &mut Recording) {
        let Some(mut exchanges) = evaluation.exchanges.take() else { return };
        let block_of = |given: Ref| match given {
            Ref::Buffer(buffer) => evaluation.buffers[buffer as usize][Place::Device as usize],
            Ref::Leaf(leaf) => self.storages.get(&evaluation.leaves[leaf as usize].1)?.blocks[Place::Device as usize],
        };
        while exchanges.messages.front().is_some_and(|message| (message.step as usize) < evaluation.next) {
            if exchanges.under_way.len() == exchanges.slots.len() {
                exchanges.receive(recording);
            }
            let Some(message) = exchanges.messages.pop_front() else { break };
            let slot = exchanges.slots[exchanges.sent % exchanges.slots.len()];
            for part in &message.parts {
                // What is asked for stays in its block.
                let Some(block) = block_of(exchanges.given[part.tensor as usize]) else { continue };
                let from = cut(Slice { buffer: block.buffer, offset: 0, len: block.class }, part.first, part.len);
                recording.push(Command::Copy { from, to: place_in(slot, part) });
            }
            let whole = Slice { buffer: slot, offset: 0, len: message.len() };
            let collective = Arc::new(Collective::in_background("sums of tensors", vec![Exchange::total(whole)]));
            recording.push(Command::Collective(collective.clone()));
            exchanges.sent += 1;
            exchanges.under_way.push_back((collective, message));
        }
        if evaluation.next == compiled.plan.steps.len() {
            while !exchanges.under_way.is_empty() {
                exchanges.receive(recording);
            }
        } else {
            evaluation.exchanges = Some(exchanges);
        }
    }
}

impl Exchanges {
    /// Copies the sums of the first message under way out of its slot, once they are there.
    fn receive(&mut self, recording: &mut Recording) {
        let Some((collective, message)) = self.under_way.pop_front() else { return };
        let Some(slot) = collective.parts.first().map(Exchange::buffer) else { return };
        recording.push(Command::Await(collective));
        for part @ Part { tensor, first, len, .. } in &message.parts {
            let to = Slice { buffer: self.sums[*tensor as usize], offset: *first, len: *len };
            recording.push(Command::Copy { from: place_in(slot, part), to });
        }
    }
}
