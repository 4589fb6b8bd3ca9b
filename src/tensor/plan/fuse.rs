//! Which operations share a kernel.
//!
//! A *root* is stored: what is asked for, what reductions, products and hand-written kernels make, what several kernels
//! need, and what can't be read where it is used (a view that is none, too many tensors at once). Everything else is
//! written into the kernels of its users. A root joins a kernel before it where it is over the same elements and reads
//! the kernel's own results element by element.

use super::reach::{Reach, Reaches};
use super::stage::{Around, Prologue, Stage, Unwritten};
use super::{Plan, Request, Target};
use crate::graph::{Graph, Groups, Node, Op};
use crate::view::{Movement, View};
use leastwise_base::task::{Pace, Stopped};
use leastwise_error::Error;
use leastwise_expr::Expr;
use leastwise_program::fused::{Fold, TENSOR_SLOTS};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Kernels that an operation is tried to join, of those that have room.
const MOST_TRIED: usize = 256;

/// Instructions of an elementwise kernel, and of what follows a product, which is written once an entry of a lane.
pub(super) const MOST_INSTRUCTIONS: usize = 400;
const MOST_AFTER_PRODUCT: usize = 80;

/// How often kernels are drafted at most.
const MOST_PASSES: usize = 4;

/// Operations of the host for every node that is looked at.
pub(super) const OPERATIONS: usize = 1 << 10;

/// Operations of an expression from which on it is stored, so that long ones are divided evenly and at once.
const LONG: u32 = MOST_INSTRUCTIONS as u32 / 2;

/// What a kernel begins with.
#[derive(Clone)]
pub(super) enum Start {
    Nothing,
    /// Nothing; what is made is rounded to halves.
    Halves,
    Reduction {
        node: Node,
        fold: Fold,
        prologue: Box<Prologue>,
        axes: Vec<u32>,
    },
    Product {
        node: Node,
        groups: Groups,
        factors: [(Node, View); 2],
    },
    /// A stage of whole numbers, folded or not.
    Words(Box<Whole>),
    Special {
        node: Node,
        /// What its operands are read from.
        bases: Vec<Node>,
    },
}

/// A value of whole numbers, and over which axes it is folded.
#[derive(Clone)]
pub(super) struct Whole {
    pub source: Node,
    pub value: Expr,
    pub fold: Option<(Fold, Vec<u32>)>,
}

/// A kernel while it is being made.
#[derive(Clone)]
pub(super) struct Draft {
    pub start: Start,
    pub domain: Vec<u32>,
    pub stage: Stage,
    /// What it computes, element by element of its domain.
    pub values: HashMap<Node, Expr>,
    /// In the order in which they came.
    pub members: Vec<Node>,
    /// Tensors that it reads.
    pub reads: Vec<Node>,
}

impl Draft {
    pub(super) fn new(start: Start, domain: Vec<u32>) -> Self {
        let mut draft = Self { start, domain, stage: Stage::default(), values: HashMap::new(), members: Vec::new(), reads: Vec::new() };
        draft.reads = draft.tensors();
        draft
    }

    /// Whether every slot has a tensor.
    fn is_full(&self) -> bool {
        self.reads.len() + self.members.len() >= TENSOR_SLOTS.len()
    }

    /// Tensors that it reads, those of a hand-written kernel too.
    pub(super) fn all_reads(&self) -> impl Iterator<Item = Node> {
        let bases = if let Start::Special { bases, .. } = &self.start { &bases[..] } else { &[] };
        self.reads.iter().chain(bases).copied()
    }

    fn tensors(&self) -> Vec<Node> {
        let mut all = self.stage.tensors();
        match &self.start {
            Start::Reduction { prologue, .. } => all.extend(prologue.stage.tensors()),
            Start::Product { factors, .. } => all.extend(factors.iter().map(|(node, _)| *node)),
            Start::Nothing | Start::Halves | Start::Words(_) | Start::Special { .. } => {}
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

pub struct Fuser<'a> {
    pub(super) graph: &'a Graph,
    pub(super) request: &'a Request,
    pub(super) outputs: &'a [Node],
    pub(super) targets: &'a [Target],
    pub(super) unfused: bool,
    pub(super) roots: HashSet<Node>,
    pub(super) drafts: Vec<Draft>,
    /// Which draft computes a root.
    pub(super) maker: HashMap<Node, usize>,
    /// Elementwise drafts with room for one more tensor, by what they read.
    open: HashMap<Node, BTreeSet<usize>>,
    pub(super) reaches: Reaches,
    /// Nodes that are made of numbers alone.
    untied: HashSet<Node>,
    /// Nodes and expressions that were looked at.
    pub(super) visited: u64,
}

impl<'a> Fuser<'a> {
    pub fn new(graph: &'a Graph, request: &'a Request, outputs: &'a [Node], targets: &'a [Target], unfused: bool) -> Self {
        Self {
            graph,
            request,
            outputs,
            targets,
            unfused,
            roots: HashSet::new(),
            drafts: Vec::new(),
            maker: HashMap::new(),
            open: HashMap::new(),
            reaches: Reaches::default(),
            untied: HashSet::new(),
            visited: 0,
        }
    }

    pub async fn plan(mut self, pace: &Pace) -> Result<Plan, Error> {
        self.choose_roots(pace).await?;
        // Parts that turn out to be stored are drafted late, and in their places the next time.
        for _ in 0..MOST_PASSES {
            if self.draft_all(pace).await? {
                break;
            }
        }
        self.finish(pace).await
    }

    /// Drafts all roots; false if more nodes were stored than were roots.
    async fn draft_all(&mut self, pace: &Pace) -> Result<bool, Error> {
        self.drafts.clear();
        self.maker.clear();
        self.open.clear();
        let roots = self.roots.len();
        for &node in &self.request.order {
            if self.roots.contains(&node) {
                self.draft_with_parts(node, pace).await?;
                self.reaches.clear();
            }
        }
        Ok(roots == self.roots.len())
    }

    /// Drafts a root. Of what can't be written, a part is stored before it: that ends, since every node is stored at last.
    async fn draft_with_parts(&mut self, root: Node, pace: &Pace) -> Result<(), Error> {
        let mut stack = vec![root];
        while let Some(&node) = stack.last() {
            let before = self.visited;
            let drafted = self.draft(node);
            pace.spend(OPERATIONS * (self.visited - before) as usize).await?;
            match drafted {
                Ok(()) => {
                    stack.pop();
                }
                Err(Unwritten(part)) => {
                    if !self.store(part) {
                        return Err(Error::Limits(format!(
                            "an operation on tensors reads more than the {} tensors, or has more than the {MOST_INSTRUCTIONS} instructions, that a kernel can have",
                            TENSOR_SLOTS.len()
                        )));
                    }
                    stack.push(part);
                }
            }
        }
        Ok(())
    }

    pub(super) fn is_leaf(&self, node: Node) -> bool {
        matches!(self.graph.entry(node).op, Op::Stored)
    }

    /// What a chain of movements begins at.
    pub(super) fn base(&self, mut node: Node) -> Node {
        loop {
            let entry = self.graph.entry(node);
            match entry.op {
                Op::Move(_) | Op::Detach if !self.roots.contains(&node) => node = entry.inputs[0],
                _ => return node,
            }
        }
    }

    async fn choose_roots(&mut self, pace: &Pace) -> Result<(), Stopped> {
        let mut users: HashMap<Node, u32> = HashMap::new();
        for &node in &self.request.order {
            for &input in &self.graph.entry(node).inputs {
                *users.entry(input).or_default() += 1;
            }
        }
        for &output in self.outputs {
            self.store(output);
        }
        let mut lengths: HashMap<Node, u32> = HashMap::new();
        for &node in &self.request.order {
            pace.spend(OPERATIONS).await?;
            let entry = self.graph.entry(node);
            match &entry.op {
                Op::Reduce { .. } | Op::Product(_) | Op::Special(_) | Op::Part(_) => {
                    self.store(node);
                    if !matches!(entry.op, Op::Reduce { .. }) {
                        for &input in &entry.inputs {
                            let base = self.base(input);
                            self.store(base);
                        }
                    }
                }
                // Its elements are those that are kept, wherever they are needed.
                Op::Half => {
                    self.store(node);
                }
                Op::Gather => {
                    for &input in &entry.inputs {
                        self.store(input);
                    }
                }
                // What is repeated is computed once, where it is more than a sum or two.
                Op::Move(Movement::Expand(_) | Movement::Window { .. }) => {
                    let base = self.base(node);
                    if let Op::Map(formula) = &self.graph.entry(base).op
                        && self.reaches_tensors(base)
                        && (formula.is_costly() || self.graph.entry(base).inputs.len() > 2)
                    {
                        self.store(base);
                    }
                }
                Op::Map(_) | Op::Words(_) if self.unfused => {
                    self.store(node);
                }
                Op::Map(_) | Op::Words(_) if users.get(&node).is_some_and(|users| *users > 1) && self.reaches_tensors(node) => {
                    self.store(node);
                }
                _ => {}
            }
            self.store_others(node);
            self.cut_long(node, &mut lengths);
        }
        Ok(())
    }

    /// Stores an expression that has become long; `lengths` are operations of those before it.
    fn cut_long(&mut self, node: Node, lengths: &mut HashMap<Node, u32>) {
        let entry = self.graph.entry(node);
        let before = entry.inputs.iter().filter_map(|input| lengths.get(input)).fold(0, |sum: u32, length| sum.saturating_add(*length));
        let length = match &entry.op {
            Op::Map(formula) => before.saturating_add(formula.operations()),
            Op::Words(formula) => before.saturating_add(formula.operations()),
            Op::Move(Movement::Pad { .. }) => before.saturating_add(4),
            Op::Move(_) | Op::Detach => before,
            _ => 0,
        };
        if length > LONG && matches!(entry.op, Op::Map(_) | Op::Words(_)) {
            self.store(node);
        }
        lengths.insert(node, if self.roots.contains(&node) { 0 } else { length });
    }

    /// Makes a root of a node; false if it was one, or is a leaf.
    pub(super) fn store(&mut self, node: Node) -> bool {
        if self.is_leaf(node) || !self.roots.insert(node) {
            return false;
        }
        self.reaches.forget_from(node);
        if self.untied.contains(&node) {
            self.untied.clear();
        }
        true
    }

    /// Whether elements come from anywhere but numbers.
    fn reaches_tensors(&mut self, node: Node) -> bool {
        let mut open = vec![node];
        let mut seen = HashSet::new();
        while let Some(node) = open.pop() {
            if self.untied.contains(&node) && !seen.is_empty() {
                continue;
            }
            let entry = self.graph.entry(node);
            match entry.op {
                Op::Constant(_) | Op::Count => {}
                Op::Map(_) | Op::Words(_) | Op::Move(_) | Op::Detach if !self.roots.contains(&node) || seen.is_empty() => {
                    if seen.insert(node) {
                        open.extend(&entry.inputs);
                    }
                }
                _ => return true,
            }
        }
        self.untied.extend(seen.iter().filter(|node| !self.roots.contains(node)));
        false
    }

    fn draft(&mut self, node: Node) -> Result<(), Unwritten> {
        let entry = self.graph.entry(node);
        match &entry.op {
            Op::Part(_) => {
                let made_by = self.maker[&entry.inputs[0]];
                self.maker.insert(node, made_by);
                return Ok(());
            }
            Op::Special(_) => {
                let bases = entry.inputs.iter().map(|&input| self.plain_base(input)).collect::<Result<_, _>>()?;
                self.add(Start::Special { node, bases }, node, None);
            }
            Op::Product(groups) => {
                let [left, right] = [entry.inputs[0], entry.inputs[1]].map(|input| self.factor(input));
                let (left, right) = (left?, right?);
                self.add(Start::Product { node, groups: *groups, factors: [left, right] }, node, Some(node));
            }
            _ if self.is_of_words(node) => self.draft_words(node)?,
            Op::Reduce { fold, axes } => {
                let source = entry.inputs[0];
                if !self.is_given(source) {
                    let reach = self.reach(source);
                    if self.reads_too_much(&reach) {
                        return Err(self.divide(source));
                    }
                }
                let rank = self.graph.shape(source).len() as u32;
                let order = (0..rank).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect();
                let last = Movement::Permute(order);
                let mut stage = Stage::default();
                let none = HashMap::new();
                let is_stored = |node: Node| self.roots.contains(&node) || self.is_leaf(node);
                let around = Around { graph: self.graph, is_stored: &is_stored, values: &none, last: Some(&last) };
                let value = stage.write(&around, source)?;
                let instructions = stage.program(&[value], 0).instructions.len();
                self.visited += stage.visited + instructions as u64;
                if instructions > MOST_INSTRUCTIONS || stage.tensors().len() + 1 > TENSOR_SLOTS.len() {
                    return Err(self.divide(source));
                }
                let start = Start::Reduction { node, fold: *fold, prologue: Box::new(Prologue { stage, value }), axes: axes.clone() };
                self.add(start, node, Some(node));
            }
            _ => self.draft_elements(node)?,
        }
        Ok(())
    }

    fn add(&mut self, start: Start, node: Node, made: Option<Node>) {
        let mut draft = Draft::new(start, self.graph.shape(node).to_vec());
        if let Some(node) = made {
            let expr = draft.stage.made();
            draft.values.insert(node, expr);
        }
        draft.members.push(node);
        self.push(draft, node);
    }

    pub(super) fn push(&mut self, draft: Draft, root: Node) {
        self.drafts.push(draft);
        self.put(self.drafts.len() - 1, root);
    }

    /// A draft makes a root from now on, and reads what that reads.
    fn put(&mut self, number: usize, root: Node) {
        self.maker.insert(root, number);
        let draft = &self.drafts[number];
        if !matches!(draft.start, Start::Nothing) {
            return;
        }
        for &read in &draft.reads {
            let open = self.open.entry(read).or_default();
            if draft.is_full() {
                open.remove(&number);
            } else {
                open.insert(number);
            }
        }
    }

    /// What a factor of a product is read from, and how.
    fn factor(&self, node: Node) -> Result<(Node, View), Unwritten> {
        let base = self.base(node);
        let mut chain = Vec::new();
        let mut at = node;
        while at != base {
            chain.push(at);
            at = self.graph.entry(at).inputs[0];
        }
        let mut view = View::contiguous(self.graph.shape(base));
        for &step in chain.iter().rev() {
            if let Op::Move(movement) = &self.graph.entry(step).op {
                view = view.moved(movement).ok_or(Unwritten(self.graph.entry(step).inputs[0]))?;
            }
        }
        // Products read what is there.
        if view.is_masked() { Err(Unwritten(node)) } else { Ok((base, view)) }
    }

    /// What a hand-written kernel reads from: the whole of a tensor, in order.
    fn plain_base(&self, node: Node) -> Result<Node, Unwritten> {
        let (base, view) = self.factor(node)?;
        if view.is_contiguous() { Ok(base) } else { Err(Unwritten(node)) }
    }

    fn draft_elements(&mut self, root: Node) -> Result<(), Unwritten> {
        let is_half = matches!(self.graph.entry(root).op, Op::Half);
        let reach = self.reach(root);
        // A word has two halves, and so a kernel that writes them goes over pairs.
        if !self.unfused && !is_half {
            for number in self.candidates(root, &reach) {
                if let Some(draft) = self.joined(number, root) {
                    self.drafts[number] = draft;
                    self.put(number, root);
                    return Ok(());
                }
            }
        }
        if self.reads_too_much(&reach) {
            return Err(self.divide(root));
        }
        let start = if is_half { Start::Halves } else { Start::Nothing };
        let empty = Draft::new(start, self.graph.shape(root).to_vec());
        let draft = self.with_member(empty, root)?;
        match self.fits(&draft) {
            true => {
                self.push(draft, root);
                Ok(())
            }
            false => Err(self.divide(root)),
        }
    }

    /// Drafts that a root may join, in order: none before one that it depends on, and those that read or make what it reads.
    fn candidates(&mut self, root: Node, reach: &Reach) -> Vec<usize> {
        let made_last = reach.reads.iter().filter_map(|(node, _)| self.maker.get(node)).max().copied();
        let first = made_last.unwrap_or(0);
        let mut numbers: BTreeSet<usize> = made_last.into_iter().collect();
        for (read, _) in &reach.reads {
            numbers.extend(self.open.get(read).into_iter().flat_map(|open| open.range(first..)).take(MOST_TRIED));
        }
        self.visited += numbers.len() as u64;
        let shape = self.graph.shape(root);
        let fits = |number: &usize| {
            let draft = &self.drafts[*number];
            let is_own = |node: &Node| self.maker.get(node) == Some(number);
            let more = reach.reads.iter().filter(|(node, _)| !is_own(node) && draft.reads.binary_search(node).is_err()).count();
            !matches!(draft.start, Start::Special { .. } | Start::Halves | Start::Words(_))
                && draft.domain == shape
                && draft.reads.len() + more + draft.members.len() < TENSOR_SLOTS.len()
                && reach.reads.iter().all(|(node, even)| *even || !is_own(node))
        };
        numbers.into_iter().filter(fits).take(MOST_TRIED).collect()
    }

    fn joined(&mut self, number: usize, root: Node) -> Option<Draft> {
        let draft = self.with_member(self.drafts[number].clone(), root).ok()?;
        self.fits(&draft).then_some(draft)
    }

    fn with_member(&mut self, mut draft: Draft, root: Node) -> Result<Draft, Unwritten> {
        let before = draft.stage.visited;
        // Its own results are values; the root itself is what is being written.
        let is_stored = |node: Node| node != root && self.is_given(node) && !draft.members.contains(&node);
        let around = Around { graph: self.graph, is_stored: &is_stored, values: &draft.values, last: None };
        let value = draft.stage.write(&around, root)?;
        draft.values.insert(root, value);
        draft.members.push(root);
        draft.reads = draft.tensors();
        self.visited += draft.stage.visited - before;
        Ok(draft)
    }

    fn fits(&mut self, draft: &Draft) -> bool {
        let stores: Vec<Expr> = draft.members.iter().filter_map(|node| draft.values.get(node)).copied().collect();
        let most = if matches!(draft.start, Start::Product { .. }) { MOST_AFTER_PRODUCT } else { MOST_INSTRUCTIONS };
        let instructions = draft.stage.program(&stores, 0).instructions.len();
        self.visited += instructions as u64;
        draft.reads.len() + draft.members.len() <= TENSOR_SLOTS.len() && instructions <= most
    }
}
