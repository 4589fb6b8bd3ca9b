//! One form for all expressions of one structure.
//!
//! Two residuals share their kernels when they differ only in which leaves stand where, in numbers, and in the order of
//! what commutes: an edge a–b and an edge b–a, a star whose neighbours were added up in another order. [`Graph::canonical`]
//! numbers operations in an order that does not depend on how the graph was built, and leaves by where they are first
//! met. The result is a list of words: equal words mean equal structure, whatever a hash says. Hashes only choose
//! the order in which the operands of a sum or a product are met. They see what is below a node and, for leaves, what is
//! above them (colour refinement, as in Weisfeiler & Leman, 1968). Where two operands look alike to them although they
//! are not, the worst that can happen is that two equal residuals get two kernels.

use super::{Binary, Expr, Graph, Leaf, Node, Unary};
use std::collections::HashMap;

/// What is equal for all expressions of one structure, and what is not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Canonical {
    /// The structure.
    pub words: Vec<u32>,
    /// The leaves in the order in which they are met; a word of the structure names them by place.
    pub leaves: Vec<Leaf>,
}

/// Mixes two hashes (the finaliser of SplitMix64).
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(29) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The words of operations come after those of other nodes.
const FIRST: u32 = 3;

/// The operation of a node as a word.
fn tag(node: Node) -> u32 {
    match node {
        Node::Const(_) => 0,
        Node::Leaf(_) => 1,
        Node::Select { .. } => 2,
        Node::Unary(operation, _) => FIRST + operation.number(),
        Node::Binary(operation, ..) => FIRST + operation.number(),
    }
}

fn commutes(node: Node) -> bool {
    matches!(node, Node::Binary(operation, ..) if operation.commutes())
}

impl Graph {
    /// The structure of `roots`. Leaves of different `kind` are never taken for each other.
    pub fn canonical(&self, roots: &[Expr], kind: impl Fn(Leaf) -> u32) -> Canonical {
        let needed = self.reachable(roots);
        let mut colours: Vec<u64> = vec![0; needed.len()];
        let leaf_colour = |colours: &mut [u64], index: usize, colour: u64| colours[index] = colour;
        for index in (0..needed.len()).filter(|&index| needed[index]) {
            if let Node::Leaf(leaf) = self.node(Expr(index as u32)) {
                leaf_colour(&mut colours, index, mix(1, kind(leaf).into()));
            }
        }
        // Twice: what surrounds a leaf tells it from another of its kind.
        for _ in 0..2 {
            let below = self.colours_below(&needed, &colours);
            let above = self.colours_above(roots, &needed, &below);
            for index in (0..needed.len()).filter(|&index| needed[index]) {
                if matches!(self.node(Expr(index as u32)), Node::Leaf(_)) {
                    colours[index] = mix(colours[index], above[index]);
                }
            }
        }
        let below = self.colours_below(&needed, &colours);
        self.written(roots, &below, kind)
    }

    /// A colour for every node by what it is made of.
    fn colours_below(&self, needed: &[bool], leaves: &[u64]) -> Vec<u64> {
        let mut colours = vec![0; needed.len()];
        for index in (0..needed.len()).filter(|&index| needed[index]) {
            let node = self.node(Expr(index as u32));
            let at = |expr: Expr| colours[expr.0 as usize];
            colours[index] = match node {
                Node::Const(bits) => mix(0, bits),
                Node::Leaf(_) => leaves[index],
                Node::Unary(_, a) => mix(tag(node).into(), at(a)),
                Node::Binary(_, a, b) if commutes(node) => mix(tag(node).into(), mix(5, at(a)).wrapping_add(mix(5, at(b)))),
                Node::Binary(_, a, b) => mix(mix(tag(node).into(), at(a)), at(b)),
                Node::Select { condition, then, otherwise } => mix(mix(mix(2, at(condition)), at(then)), at(otherwise)),
            };
        }
        colours
    }

    /// A colour for every node by where it is used.
    fn colours_above(&self, roots: &[Expr], needed: &[bool], below: &[u64]) -> Vec<u64> {
        let mut above = vec![0u64; needed.len()];
        for (place, root) in roots.iter().enumerate() {
            above[root.0 as usize] = above[root.0 as usize].wrapping_add(mix(7, place as u64));
        }
        for index in (0..needed.len()).rev().filter(|&index| needed[index]) {
            let node = self.node(Expr(index as u32));
            let here = mix(above[index], mix(tag(node).into(), below[index]));
            for (place, operand) in self.operands(Expr(index as u32)).enumerate() {
                let place = if commutes(node) { 0 } else { place as u64 };
                let use_of_it = mix(here, place);
                above[operand.0 as usize] = above[operand.0 as usize].wrapping_add(use_of_it);
            }
        }
        above
    }

    /// Depth first, operands before what uses them, those of a sum or product by colour.
    fn written(&self, roots: &[Expr], colours: &[u64], kind: impl Fn(Leaf) -> u32) -> Canonical {
        let mut words = Vec::new();
        let mut leaves = Vec::new();
        let mut numbers: Vec<Option<u32>> = vec![None; colours.len()];
        let mut written = 0;
        let operands_of = |expr: Expr| {
            let mut operands: Vec<Expr> = self.operands(expr).collect();
            if commutes(self.node(expr)) && colours[operands[1].0 as usize] < colours[operands[0].0 as usize] {
                operands.swap(0, 1);
            }
            operands
        };
        let mut stack: Vec<Expr> = Vec::new();
        for &root in roots {
            stack.push(root);
            while let Some(&expr) = stack.last() {
                if numbers[expr.0 as usize].is_some() {
                    stack.pop();
                    continue;
                }
                let operands = operands_of(expr);
                let before = stack.len();
                // The first operand on top of the stack.
                stack.extend(operands.iter().rev().filter(|operand| numbers[operand.0 as usize].is_none()));
                if stack.len() > before {
                    continue;
                }
                let node = self.node(expr);
                words.push(tag(node));
                match node {
                    Node::Const(bits) => words.extend([bits as u32, (bits >> 32) as u32]),
                    Node::Leaf(leaf) => {
                        words.extend([kind(leaf), leaves.len() as u32]);
                        leaves.push(leaf);
                    }
                    _ => words.extend(operands.iter().map(|operand| numbers[operand.0 as usize].unwrap_or(u32::MAX))),
                }
                numbers[expr.0 as usize] = Some(written);
                written += 1;
                stack.pop();
            }
        }
        words.extend(roots.iter().map(|root| numbers[root.0 as usize].unwrap_or(u32::MAX)));
        Canonical { words, leaves }
    }
}

impl Canonical {
    /// The expressions anew, in a graph of their own, with `leaf(k)` for the k-th leaf: the same graph for all
    /// expressions of this structure.
    pub fn rebuild(&self, roots: usize, leaf: impl Fn(u32) -> Leaf) -> (Graph, Vec<Expr>) {
        let mut graph = Graph::new();
        let mut values: Vec<Expr> = Vec::new();
        let (nodes, ends) = self.words.split_at(self.words.len() - roots);
        let mut rest = nodes;
        let operations = operations();
        while let [tag, tail @ ..] = rest {
            let at = |word: usize| values[tail[word] as usize];
            let (value, used) = match *tag {
                0 => (graph.constant(f64::from_bits(u64::from(tail[0]) | u64::from(tail[1]) << 32)), 2),
                1 => (graph.leaf(leaf(tail[1])), 2),
                2 => (graph.select(at(0), at(1), at(2)), 3),
                tag => match operations[&tag] {
                    Operation::Unary(operation) => (graph.unary(operation, at(0)), 1),
                    Operation::Binary(operation) => (graph.binary(operation, at(0), at(1)), 2),
                },
            };
            values.push(value);
            rest = &tail[used..];
        }
        let roots = ends.iter().map(|&number| values[number as usize]).collect();
        (graph, roots)
    }
}

enum Operation {
    Unary(Unary),
    Binary(Binary),
}

fn operations() -> HashMap<u32, Operation> {
    let unary = Unary::ALL.into_iter().map(|operation| (FIRST + operation.number(), Operation::Unary(operation)));
    unary.chain(Binary::ALL.into_iter().map(|operation| (FIRST + operation.number(), Operation::Binary(operation)))).collect()
}
