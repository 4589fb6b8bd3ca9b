//! Which operations share a kernel.
//!
//! A *root* is stored: what is asked for, what reductions, products and hand-written kernels make, what several kernels
//! need, and what can't be read where it is used (a view that is none, too many tensors at once). Everything else is
//! written into the kernels of its users. A root joins a kernel before it where it is over the same elements and reads
//! the kernel's own results element by element.

use super::stage::{Around, Prologue, Stage, Unwritten};
use super::{Plan, Request, Target};
use crate::graph::{Graph, Groups, Node, Op};
use crate::view::{Movement, View};
use leastwise_error::Error;
use leastwise_expr::Expr;
use leastwise_program::fused::{Fold, TENSOR_SLOTS};
use std::collections::{HashMap, HashSet};

/// Instructions of an elementwise kernel, and of what follows a product, which is written once an entry of a lane.
const MOST_INSTRUCTIONS: usize = 400;
const MOST_AFTER_PRODUCT: usize = 80;

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
        prologue: Prologue,
        axes: Vec<u32>,
    },
    Product {
        node: Node,
        groups: Groups,
        factors: [(Node, View); 2],
    },
    Special {
        node: Node,
    },
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
}

impl Draft {
    /// Tensors that it reads.
    pub fn reads(&self) -> Vec<Node> {
        let mut all = self.stage.tensors();
        match &self.start {
            Start::Reduction { prologue, .. } => all.extend(prologue.stage.tensors()),
            Start::Product { factors, .. } => all.extend(factors.iter().map(|(node, _)| *node)),
            Start::Nothing | Start::Halves | Start::Special { .. } => {}
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
    unfused: bool,
    roots: HashSet<Node>,
    pub(super) drafts: Vec<Draft>,
    /// Which draft computes a root.
    maker: HashMap<Node, usize>,
}

impl<'a> Fuser<'a> {
    pub fn new(graph: &'a Graph, request: &'a Request, outputs: &'a [Node], targets: &'a [Target], unfused: bool) -> Self {
        Self { graph, request, outputs, targets, unfused, roots: HashSet::new(), drafts: Vec::new(), maker: HashMap::new() }
    }

    pub fn plan(mut self) -> Result<Plan, Error> {
        self.choose_roots();
        // Whatever can't be written is stored, and all begins anew: that ends, since every node is stored at last.
        while let Err(Unwritten(node)) = self.draft_all() {
            if !self.roots.insert(node) {
                return Err(Error::Limits(format!(
                    "an operation on tensors reads more than the {} tensors, or has more than the {MOST_INSTRUCTIONS} instructions, that a kernel can have",
                    TENSOR_SLOTS.len()
                )));
            }
        }
        self.finish()
    }

    fn is_leaf(&self, node: Node) -> bool {
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

    fn choose_roots(&mut self) {
        let mut users: HashMap<Node, u32> = HashMap::new();
        for &node in &self.request.order {
            for &input in &self.graph.entry(node).inputs {
                *users.entry(input).or_default() += 1;
            }
        }
        let asked: Vec<Node> = self.outputs.iter().copied().filter(|&output| !self.is_leaf(output)).collect();
        self.roots.extend(asked);
        let mut lengths: HashMap<Node, u32> = HashMap::new();
        for &node in &self.request.order {
            let entry = self.graph.entry(node);
            match &entry.op {
                Op::Reduce { .. } | Op::Product(_) | Op::Special(_) | Op::Part(_) => {
                    self.roots.insert(node);
                    if !matches!(entry.op, Op::Reduce { .. }) {
                        for &input in &entry.inputs {
                            let base = self.base(input);
                            self.store(base);
                        }
                    }
                }
                // Its elements are those that are kept, wherever they are needed.
                Op::Half => {
                    self.roots.insert(node);
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
                        self.roots.insert(base);
                    }
                }
                Op::Map(_) if self.unfused => {
                    self.roots.insert(node);
                }
                Op::Map(_) if users.get(&node).is_some_and(|users| *users > 1) && self.reaches_tensors(node) => {
                    self.roots.insert(node);
                }
                _ => {}
            }
            self.cut_long(node, &mut lengths);
        }
    }

    /// Stores an expression that has become long; `lengths` are operations of those before it.
    fn cut_long(&mut self, node: Node, lengths: &mut HashMap<Node, u32>) {
        let entry = self.graph.entry(node);
        let before = entry.inputs.iter().filter_map(|input| lengths.get(input)).fold(0, |sum: u32, length| sum.saturating_add(*length));
        let length = match &entry.op {
            Op::Map(formula) => before.saturating_add(formula.operations()),
            Op::Move(Movement::Pad { .. }) => before.saturating_add(4),
            Op::Move(_) | Op::Detach => before,
            _ => 0,
        };
        if length > LONG && matches!(entry.op, Op::Map(_)) {
            self.roots.insert(node);
        }
        lengths.insert(node, if self.roots.contains(&node) { 0 } else { length });
    }

    fn store(&mut self, node: Node) {
        if !self.is_leaf(node) {
            self.roots.insert(node);
        }
    }

    /// Whether elements come from anywhere but numbers.
    fn reaches_tensors(&self, node: Node) -> bool {
        let mut open = vec![node];
        let mut seen = HashSet::new();
        while let Some(node) = open.pop() {
            let entry = self.graph.entry(node);
            match entry.op {
                Op::Constant(_) | Op::Count => {}
                Op::Map(_) | Op::Move(_) | Op::Detach if !self.roots.contains(&node) || seen.is_empty() => {
                    if seen.insert(node) {
                        open.extend(&entry.inputs);
                    }
                }
                _ => return true,
            }
        }
        false
    }

    fn draft_all(&mut self) -> Result<(), Unwritten> {
        self.drafts.clear();
        self.maker.clear();
        for &node in &self.request.order {
            if self.roots.contains(&node) {
                self.draft(node)?;
            }
        }
        Ok(())
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
                for &input in &entry.inputs {
                    self.plain_base(input)?;
                }
                self.add(Start::Special { node }, node, None);
            }
            Op::Product(groups) => {
                let [left, right] = [entry.inputs[0], entry.inputs[1]].map(|input| self.factor(input));
                let (left, right) = (left?, right?);
                self.add(Start::Product { node, groups: *groups, factors: [left, right] }, node, Some(node));
            }
            Op::Reduce { fold, axes } => {
                let source = entry.inputs[0];
                let rank = self.graph.shape(source).len() as u32;
                let order = (0..rank).filter(|axis| !axes.contains(axis)).chain(axes.iter().copied()).collect();
                let last = Movement::Permute(order);
                let mut stage = Stage::default();
                let none = HashMap::new();
                let is_stored = |node: Node| self.roots.contains(&node) || self.is_leaf(node);
                let around = Around { graph: self.graph, is_stored: &is_stored, values: &none, last: Some(&last) };
                let value = stage.write(&around, source)?;
                let is_long = stage.program(&[value], 0).instructions.len() > MOST_INSTRUCTIONS;
                if is_long || stage.tensors().len() + 1 > TENSOR_SLOTS.len() {
                    return Err(self.divide(source));
                }
                let start = Start::Reduction { node, fold: *fold, prologue: Prologue { stage, value }, axes: axes.clone() };
                self.add(start, node, Some(node));
            }
            _ => self.draft_elements(node)?,
        }
        Ok(())
    }

    fn add(&mut self, start: Start, node: Node, made: Option<Node>) {
        let mut stage = Stage::default();
        let mut values = HashMap::new();
        if let Some(node) = made {
            let expr = stage.made();
            values.insert(node, expr);
        }
        let domain = self.graph.shape(node).to_vec();
        self.drafts.push(Draft { start, domain, stage, values, members: vec![node] });
        self.maker.insert(node, self.drafts.len() - 1);
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

    /// Roots and leaves that an elementwise root reads, and whether each is read element by element alone.
    fn dependencies(&self, root: Node) -> HashMap<Node, bool> {
        let mut found: HashMap<Node, bool> = HashMap::new();
        let mut seen = HashSet::new();
        let mut open: Vec<(Node, bool)> = self.graph.entry(root).inputs.iter().map(|&input| (input, self.is_even(root))).collect();
        while let Some((node, even)) = open.pop() {
            if !seen.insert((node, even)) {
                continue;
            }
            if self.roots.contains(&node) || self.is_leaf(node) {
                *found.entry(node).or_insert(true) &= even;
                continue;
            }
            let entry = self.graph.entry(node);
            open.extend(entry.inputs.iter().map(|&input| (input, even && self.is_even(node))));
        }
        found
    }

    /// Whether an element of a node needs just that element of its operands.
    fn is_even(&self, node: Node) -> bool {
        matches!(self.graph.entry(node).op, Op::Map(_) | Op::Detach)
    }

    fn draft_elements(&mut self, root: Node) -> Result<(), Unwritten> {
        let is_half = matches!(self.graph.entry(root).op, Op::Half);
        let dependencies = self.dependencies(root);
        let made_last = dependencies.keys().filter_map(|node| self.maker.get(node)).max().copied();
        let first = made_last.unwrap_or(0);
        // A word has two halves, and so a kernel that writes them goes over pairs.
        if !self.unfused && !is_half {
            for number in first..self.drafts.len() {
                let is_own = |node: &Node| self.maker.get(node) == Some(&number);
                let fits = self.drafts[number].domain == self.graph.shape(root)
                    && dependencies.iter().all(|(node, &even)| even || !is_own(node))
                    && match self.drafts[number].start {
                        Start::Special { .. } | Start::Halves => false,
                        Start::Nothing => {
                            let reads = self.drafts[number].reads();
                            dependencies.keys().any(|node| is_own(node) || reads.contains(node))
                        }
                        Start::Reduction { .. } | Start::Product { .. } => dependencies.keys().any(is_own),
                    };
                if fits && let Some(draft) = self.joined(&self.drafts[number], root) {
                    self.drafts[number] = draft;
                    self.maker.insert(root, number);
                    return Ok(());
                }
            }
        }
        let empty = Draft {
            start: if is_half { Start::Halves } else { Start::Nothing },
            domain: self.graph.shape(root).to_vec(),
            stage: Stage::default(),
            values: HashMap::new(),
            members: Vec::new(),
        };
        let draft = self.with_member(&empty, root)?;
        match self.fits(&draft) {
            true => {
                self.drafts.push(draft);
                self.maker.insert(root, self.drafts.len() - 1);
                Ok(())
            }
            false => Err(self.divide(root)),
        }
    }

    fn joined(&self, draft: &Draft, root: Node) -> Option<Draft> {
        self.with_member(draft, root).ok().filter(|draft| self.fits(draft))
    }

    fn with_member(&self, draft: &Draft, root: Node) -> Result<Draft, Unwritten> {
        let mut draft = draft.clone();
        let own: HashSet<Node> = draft.members.iter().copied().collect();
        // Its own results are values; the root itself is what is being written.
        let is_stored = |node: Node| node != root && !own.contains(&node) && (self.roots.contains(&node) || self.is_leaf(node));
        let around = Around { graph: self.graph, is_stored: &is_stored, values: &draft.values, last: None };
        let value = draft.stage.write(&around, root)?;
        draft.values.insert(root, value);
        draft.members.push(root);
        Ok(draft)
    }

    fn fits(&self, draft: &Draft) -> bool {
        let stores: Vec<Expr> = draft.members.iter().filter_map(|node| draft.values.get(node)).copied().collect();
        let most = if matches!(draft.start, Start::Product { .. }) { MOST_AFTER_PRODUCT } else { MOST_INSTRUCTIONS };
        draft.reads().len() + draft.members.len() <= TENSOR_SLOTS.len() && draft.stage.program(&stores, 0).instructions.len() <= most
    }

    /// What to store of an expression that reads too much: the part that reads the most, but not all.
    fn divide(&self, root: Node) -> Unwritten {
        let all = self.dependencies(root).len();
        let mut open: Vec<Node> = self.graph.entry(root).inputs.clone();
        let mut seen = HashSet::new();
        let mut best = (0, root);
        while let Some(node) = open.pop() {
            if !seen.insert(node) || self.roots.contains(&node) || self.is_leaf(node) {
                continue;
            }
            if matches!(self.graph.entry(node).op, Op::Map(_)) {
                let reads = self.dependencies(node).len();
                if reads > best.0 && (reads < all || best.1 == root) {
                    best = (reads, node);
                }
            }
            open.extend(&self.graph.entry(node).inputs);
        }
        Unwritten(best.1)
    }
}
