//! What an expression that is not stored reads, found once a node.

use super::fuse::Fuser;
use super::stage::Unwritten;
use crate::graph::{Node, Op};
use crate::view::Movement;
use leastwise_program::fused::TENSOR_SLOTS;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Roots and leaves below a node.
#[derive(Default)]
pub(super) struct Reach {
    /// In ascending order, and whether each is read element by element alone.
    pub reads: Vec<(Node, bool)>,
    /// Whether every movement on the way is a view of whatever lies below.
    is_view: bool,
}

impl Reach {
    fn add(&mut self, reads: &[(Node, bool)], is_even: bool) {
        let own = std::mem::take(&mut self.reads);
        let (mut left, mut right) = (own.into_iter().peekable(), reads.iter().map(|&(node, even)| (node, even && is_even)).peekable());
        while let (Some(&(a, is_a_even)), Some(&(b, is_b_even))) = (left.peek(), right.peek()) {
            self.reads.push(match a.cmp(&b) {
                std::cmp::Ordering::Less => (a, is_a_even),
                std::cmp::Ordering::Greater => (b, is_b_even),
                std::cmp::Ordering::Equal => (a, is_a_even && is_b_even),
            });
            if a <= b {
                left.next();
            }
            if b <= a {
                right.next();
            }
        }
        self.reads.extend(left);
        self.reads.extend(right);
    }
}

/// Reaches of nodes that are not stored. Operands have smaller numbers than what uses them, so a new root changes later ones only.
#[derive(Default)]
pub(super) struct Reaches(BTreeMap<Node, Arc<Reach>>);

impl Reaches {
    /// Forgets what a new root is part of.
    pub fn forget_from(&mut self, root: Node) {
        self.0.split_off(&root);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Fuser<'_> {
    pub(super) fn is_given(&self, node: Node) -> bool {
        self.roots.contains(&node) || self.is_leaf(node)
    }

    /// Whether an element of a node needs just that element of its operands.
    fn is_even(&self, node: Node) -> bool {
        matches!(self.graph.entry(node).op, Op::Map(_) | Op::Words(_) | Op::Detach)
    }

    /// Roots and leaves that a node reads, itself written here.
    pub(super) fn reach(&mut self, node: Node) -> Arc<Reach> {
        let mut stack = self.graph.entry(node).inputs.clone();
        while let Some(&below) = stack.last() {
            if self.is_given(below) || self.reaches.0.contains_key(&below) {
                stack.pop();
                continue;
            }
            let before = stack.len();
            let open = self.graph.entry(below).inputs.iter();
            stack.extend(open.filter(|input| !self.is_given(**input) && !self.reaches.0.contains_key(input)));
            if stack.len() == before {
                let reach = self.reach_of(below);
                self.reaches.0.insert(below, Arc::new(reach));
                stack.pop();
            }
        }
        Arc::new(self.reach_of(node))
    }

    /// The same, where those of the operands are known.
    fn reach_of(&mut self, node: Node) -> Reach {
        let (is_even, entry) = (self.is_even(node), self.graph.entry(node));
        let mut reach = Reach {
            reads: Vec::new(),
            is_view: !matches!(entry.op, Op::Move(Movement::Reshape(_) | Movement::Window { .. }) | Op::Gather),
        };
        for input in &entry.inputs {
            match self.reaches.0.get(input).filter(|_| !self.is_given(*input)) {
                Some(below) => {
                    reach.is_view &= below.is_view;
                    reach.add(&below.reads, is_even);
                }
                None => reach.add(&[(*input, true)], is_even),
            }
        }
        // Sixteen of a list take about what a node does.
        self.visited += 1 + reach.reads.len() as u64 / 16;
        reach
    }

    /// Whether an expression could be written, but surely reads more than a kernel of its own may.
    pub(super) fn reads_too_much(&self, reach: &Reach) -> bool {
        reach.is_view && reach.reads.len() + 1 > TENSOR_SLOTS.len()
    }

    /// What to store of an expression that reads too much: the part that reads the most, but not all.
    pub(super) fn divide(&mut self, root: Node) -> Unwritten {
        let all = self.reach(root).reads.len();
        let mut open: Vec<Node> = self.graph.entry(root).inputs.clone();
        let mut seen = HashSet::new();
        let mut best = (0, root);
        while let Some(node) = open.pop() {
            if self.is_given(node) || !seen.insert(node) {
                continue;
            }
            if matches!(self.graph.entry(node).op, Op::Map(_) | Op::Words(_)) {
                let reads = self.reaches.0.get(&node).map_or(0, |reach| reach.reads.len());
                if reads > best.0 && (reads < all || best.1 == root) {
                    best = (reads, node);
                }
            }
            open.extend(&self.graph.entry(node).inputs);
        }
        self.visited += seen.len() as u64;
        Unwritten(best.1)
    }
}
