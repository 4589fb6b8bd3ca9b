//! Kernels of whole numbers: what they are made of, and their steps.

use super::fuse::{Draft, Fuser, MOST_INSTRUCTIONS, Start, Whole};
use super::stage::{Around, Origin, Stage, Unwritten};
use super::{Kernel, Launch, Ref, Step, Work, layout};
use crate::graph::{Node, Op, Values, elements};
use crate::view::Movement;
use leastwise_device::KernelSource;
use leastwise_program::fused::{Anchor, Fused, HEAD, Stage as KernelStage, TENSOR_SLOTS, WordKernel};
use std::collections::HashMap;

impl Fuser<'_> {
    /// True for nodes that a program of whole numbers computes.
    pub(super) fn is_of_words(&self, node: Node) -> bool {
        let entry = self.graph.entry(node);
        matches!(entry.op, Op::Words(_)) || entry.values == Values::Integers
    }

    /// Stores operands that a kernel of the other kind computes. Where words are taken by places, these are more than f32 tells apart.
    pub(super) fn store_others(&mut self, node: Node) {
        let entry = self.graph.entry(node);
        if !matches!(entry.op, Op::Map(_) | Op::Words(_)) {
            return;
        }
        let is_word = matches!(entry.op, Op::Words(_));
        for &input in &entry.inputs {
            let base = self.base(input);
            let operand = self.graph.entry(base);
            let is_other = match operand.op {
                Op::Map(_) => is_word,
                Op::Words(_) => !is_word,
                Op::Gather => !is_word && operand.values == Values::Integers,
                _ => false,
            };
            if is_other {
                self.store(base);
            }
        }
    }

    /// A kernel of whole numbers, which no other joins.
    pub(super) fn draft_words(&mut self, node: Node) -> Result<(), Unwritten> {
        let entry = self.graph.entry(node);
        let (source, fold) = match &entry.op {
            Op::Reduce { fold, axes } => (entry.inputs[0], Some((*fold, axes.clone()))),
            _ => (node, None),
        };
        if fold.is_none() || !self.is_given(source) {
            let reach = self.reach(source);
            if self.reads_too_much(&reach) {
                return Err(self.divide(source));
            }
        }
        let last = fold.as_ref().map(|(_, axes)| {
            let rank = self.graph.shape(source).len() as u32;
            Movement::Permute((0..rank).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect())
        });
        let (mut stage, none) = (Stage::of_words(), HashMap::new());
        let is_stored = |other: Node| other != node && self.is_given(other);
        let around = Around { graph: self.graph, is_stored: &is_stored, values: &none, last: last.as_ref() };
        let value = stage.write(&around, source)?;
        let steps = stage.words.as_ref().map_or(0, |words| words.len());
        self.visited += stage.visited + steps as u64;
        if steps > MOST_INSTRUCTIONS || stage.tensors().len() + 1 > TENSOR_SLOTS.len() {
            return Err(self.divide(source));
        }
        let mut draft = Draft::new(Start::Words(Box::new(Whole { source, value, fold })), self.graph.shape(node).to_vec());
        draft.reads = stage.tensors();
        draft.stage = stage;
        draft.members.push(node);
        self.push(draft, node);
        Ok(())
    }

    /// The step of a draft of whole numbers: a lane has an element of the result, whatever it folds.
    pub(super) fn word_step(&self, draft: &Draft, whole: &Whole, tables: &mut [Vec<u32>], places: &HashMap<Node, Ref>) -> Step {
        let made = draft.members[0];
        let slots: HashMap<Node, usize> = draft.reads.iter().copied().chain([made]).zip(TENSOR_SLOTS).collect();
        let shape = self.graph.shape(whole.source);
        let axes = whole.fold.as_ref().map_or(&[][..], |(_, axes)| axes);
        let kept = (0..).zip(shape).filter(|(axis, _)| !axes.contains(axis)).map(|(_, &size)| size);
        let inner: Vec<u32> = axes.iter().map(|&axis| shape[axis as usize]).collect();
        let domain: Vec<u32> = kept.chain(inner.iter().copied()).collect();
        let outer = domain.len() - inner.len();
        let layout = layout::stage(&draft.stage.readings, &domain, &[outer, inner.len()], |origin: &Origin| self.source(origin, &slots));
        let (size, each) = (elements(&draft.domain).unwrap_or(0), elements(&inner).unwrap_or(0));
        let mut words = vec![0; HEAD as usize];
        words[..2].copy_from_slice(&[size, each]);
        words.extend(&layout.words);
        let program = draft.stage.words.as_ref().map(|words| words.program(whole.value.0)).unwrap_or_default();
        let steps = program.steps.len() as f64;
        let moved: f64 = draft.reads.iter().chain([&made]).map(|&node| f64::from(self.graph.size(node))).sum();
        let work = Work { elements: moved, operations: f64::from(size) * f64::from(each) * steps, ..Work::default() };
        let kernel = WordKernel {
            stage: KernelStage { rank: layout.rank(), views: layout.views, ..KernelStage::default() },
            program,
            fold: whole.fold.as_ref().map(|(fold, _)| *fold),
            inner: layout.groups[1] as u32,
            to_reals: self.graph.entry(made).values != Values::Integers,
        };
        let what = self.what(draft);
        let finish = KernelStage { outputs: vec![slots[&made]], ..KernelStage::default() };
        let fused = Fused { name: format!("tensor: {what}"), anchor: Anchor::Words(kernel), finish, halves: false };
        let launch = |(target, table): (&super::Target, &mut Vec<u32>)| {
            let table = Some(target.add_words(table, &words));
            let kernel = Kernel { source: KernelSource::of_fused(&fused), table, count: size, words: Default::default() };
            Launch { multiplied: None, kernel: Some(kernel) }
        };
        let launches = self.targets.iter().zip(tables).map(launch).collect();
        let mut bindings: Vec<(usize, Ref)> = slots.iter().map(|(node, &slot)| (slot, places[node])).collect();
        bindings.sort_unstable_by_key(|(slot, _)| *slot);
        Step { what, bindings, constants: None, work, launches }
    }
}
