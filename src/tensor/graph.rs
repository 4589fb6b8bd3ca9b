//! The graph of what is to be computed: operations are noted, and run when somebody wants values.

use super::formula::{Formula, Slopes};
use super::integers::WordFormula;
use super::operations::elementwise;
pub use super::special::Special;
use super::view::Movement;
use leastwise_cpu::half;
use leastwise_program::fused::Fold;
use std::collections::HashMap;
use std::sync::Arc;

/// A tensor's number. Never given twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Node(pub u32);

/// The number of what a tensor's elements are stored in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Storage(pub u32);

/// How many axes of a product's factors are which: the left one is batch, rows, depth, the right one batch, depth, columns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Groups {
    /// Axes that both factors share and the result keeps.
    pub batch: usize,
    /// Rows of the left factor.
    pub rows: usize,
    /// Axes that are summed over: columns of the left factor, rows of the right one.
    pub depth: usize,
    /// Columns of the right factor.
    pub columns: usize,
}

/// Operation that a node is the result of.
#[derive(Clone, Debug)]
pub enum Op {
    /// What is there.
    Stored,
    /// Everywhere the same number.
    Constant(f64),
    /// 0, 1, 2… in row-major order.
    Count,
    /// Element by element, of operands of one shape.
    Map(Arc<Formula>),
    /// Whole numbers, element by element, of operands of one shape: of reals the whole parts.
    Words(Arc<WordFormula>),
    /// The operand's elements, rearranged.
    Move(Movement),
    /// Rows of the first operand, by the numbers in the second.
    Gather,
    /// Axes in ascending order, which the result does not have.
    Reduce {
        /// Operation that folds.
        fold: Fold,
        /// Axes that are folded.
        axes: Vec<u32>,
    },
    /// Product of two factors, whose axes come in these groups.
    Product(Groups),
    /// A kernel written by hand.
    Special(Special),
    /// A result of an operation that has several.
    Part(u32),
    /// The operand, of which gradients know nothing.
    Detach,
    /// The operand, rounded to halves, which are what is kept.
    Half,
    /// Gradients through a solve, of which the operand is the cotangent: whoever evaluates this fills it first.
    Implicit(Solve),
    /// Sum of the operand over all ranks, of which gradients know nothing: a task of all ranks computes it before what needs it.
    #[cfg(not(target_arch = "wasm32"))]
    OverRanks {
        /// A number that all ranks are to give alike with the operand.
        step: u32,
    },
}

/// Elements that come from the host.
#[derive(Clone, Debug)]
pub enum Data {
    /// Values in f32.
    Singles(Arc<Vec<f32>>),
    /// Values in f64.
    Doubles(Vec<f64>),
    /// Whole numbers: of a tensor of integers, the bits of int32s.
    Indices(Vec<u32>),
    /// So many halves, two in a word.
    Halves(Vec<u32>, u32),
}

impl Data {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Singles(values) => values.len(),
            Self::Doubles(values) => values.len(),
            Self::Indices(values) => values.len(),
            Self::Halves(_, count) => *count as usize,
        }
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Values of a tensor's elements.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Values {
    /// 0 and 1, which are kept as reals: comparisons run in the kernels of what uses them.
    Booleans,
    /// int32s, kept as words.
    Integers,
    /// Real numbers.
    Reals,
}

/// Values that a solve found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Solve {
    /// Number of the problem.
    pub problem: u32,
    /// Number of the solve, which no other has.
    pub number: u32,
    /// Number of the table of variables.
    pub table: u32,
}

/// A shorter way to a gradient than through the operations that a result is made of.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Of images [b, c, h, w] (with their padding) and filters [o, c, i, j].
    Convolution {
        /// Tensor of the images, padding included.
        images: Node,
        /// Tensor of the filters.
        filters: Node,
        /// Strides of the windows, down and across.
        step: [u32; 2],
        /// Distances of neighbouring elements of a window, down and across.
        dilation: [u32; 2],
    },
    /// Of singular values or eigenvalues [b, n] of matrices: uᵢ vᵢᵀ, by no way through the vectors, whose own slopes are as large as
    /// values are close.
    Values {
        /// Tensor of the matrices [b, m, n].
        matrices: Node,
        /// Left vectors as columns [b, m, n].
        left: Node,
        /// Right vectors as columns [b, n, n].
        right: Node,
        /// True if the left ones are as long as the values.
        is_scaled: bool,
    },
    /// Gradient of a solution with respect to data of its problem, by the implicit function theorem.
    Solution {
        /// Solve that found it.
        solve: Solve,
        /// Tensors of the data.
        data: Vec<Node>,
    },
}

impl Rule {
    /// Tensors that the rule needs.
    fn needs(&self) -> Vec<Node> {
        match self {
            Self::Convolution { images, filters, .. } => vec![*images, *filters],
            Self::Values { matrices, left, right, .. } => vec![*matrices, *left, *right],
            Self::Solution { data, .. } => data.clone(),
        }
    }
}

/// A tensor: the operation that makes it, and what is known of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Operation.
    pub op: Op,
    /// Operands.
    pub inputs: Vec<Node>,
    /// Sizes of the axes.
    pub shape: Vec<u32>,
    /// Whether it is kept as halves.
    pub half: bool,
    /// Values of its elements; gradients go through reals alone.
    pub values: Values,
    /// Shapes of all results, of an operation that has several.
    pub parts: Vec<Vec<u32>>,
    /// Rule for its gradient, in place of its operations'.
    pub rule: Option<Rule>,
    /// Handles to it, and operations that use it.
    pub held: u32,
    /// Operations that use it.
    pub used: u32,
    /// Storage of its elements, once it was computed or uploaded.
    pub storage: Option<Storage>,
    /// What will be in the storage, until there is one.
    pub data: Option<Data>,
    /// Whole numbers that the host knows, of which rows are gathered.
    pub numbers: Option<Arc<Vec<u32>>>,
    /// Whether it was computed, and how is forgotten: gradients do not go through it.
    pub computed: bool,
}

/// Elements of a shape; `None` where a `u32` can't count them.
pub fn elements(shape: &[u32]) -> Option<u32> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u32, |product, &size| product.checked_mul(size))
}

/// Tensors of one precision that are held or needed.
#[derive(Default)]
pub struct Graph {
    entries: HashMap<Node, Entry>,
    next: u32,
    /// Storages that nothing needs any more.
    pub released: Vec<Storage>,
    /// Formulas of operations that were applied, with their slopes.
    formulas: HashMap<String, Arc<Formula>>,
    /// Slopes of gradients that are asked for.
    pub slopes: Slopes,
    /// True for f64, false for f32.
    is_double: bool,
    /// True once gradients went through a solve.
    pub(crate) has_solves: bool,
    /// Sums over ranks that are not computed.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) open_sums: u32,
}

impl Graph {
    /// A graph of tensors whose elements have so many bytes.
    pub fn new(bytes_of_real: u64) -> Self {
        Self { is_double: bytes_of_real == 8, ..Self::default() }
    }

    /// Distance of 1 and the next larger number.
    pub(crate) fn epsilon(&self) -> f64 {
        if self.is_double { f64::EPSILON } else { f32::EPSILON.into() }
    }

    /// The entry of a node.
    ///
    /// # Panics
    /// If the node was released.
    pub fn entry(&self, node: Node) -> &Entry {
        &self.entries[&node]
    }

    /// The entry of a node, unless it was released.
    pub fn get(&self, node: Node) -> Option<&Entry> {
        self.entries.get(&node)
    }

    /// Sizes of a node's axes.
    ///
    /// # Panics
    /// If the node was released.
    pub fn shape(&self, node: Node) -> &[u32] {
        &self.entries[&node].shape
    }

    /// Number of elements of a node.
    ///
    /// # Panics
    /// If the node was released.
    pub fn size(&self, node: Node) -> u32 {
        elements(self.shape(node)).unwrap_or(u32::MAX)
    }

    /// Elements of the buffer that a tensor is kept in: words, where they are halves.
    pub fn stored_size(&self, node: Node) -> u32 {
        let size = self.size(node);
        if self.entries[&node].half { half::words(size) } else { size }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A node that nobody holds yet. Its shape fits its operands.
    pub fn add(&mut self, op: Op, inputs: Vec<Node>, shape: Vec<u32>) -> Node {
        for input in &inputs {
            if let Some(entry) = self.entries.get_mut(input) {
                entry.used += 1;
            }
        }
        let values = self.values_of(&op, &inputs);
        let node = Node(self.next);
        self.next += 1;
        let entry = Entry {
            half: matches!(op, Op::Half),
            values,
            op,
            inputs,
            shape,
            parts: Vec::new(),
            rule: None,
            held: 0,
            used: 0,
            storage: None,
            data: None,
            numbers: None,
            computed: false,
        };
        self.entries.insert(node, entry);
        node
    }

    /// Values of an operation's result: what is moved, and extremes, are what their operand is.
    fn values_of(&self, op: &Op, inputs: &[Node]) -> Values {
        let operand = inputs.first().and_then(|input| self.entries.get(input));
        let of_operand = operand.map_or(Values::Reals, |entry| entry.values);
        match (op, operand.map(|entry| &entry.op)) {
            (Op::Special(special), _) if special.gives_words(0) => Values::Integers,
            (Op::Part(number), Some(Op::Special(special))) if special.gives_words(*number) => Values::Integers,
            (Op::Words(_), _) => Values::Integers,
            (Op::Reduce { fold: Fold::Sum, .. }, _) if of_operand == Values::Booleans => Values::Reals,
            (Op::Move(_) | Op::Detach | Op::Gather | Op::Reduce { .. }, _) => of_operand,
            _ => Values::Reals,
        }
    }

    /// Elements that come from the host.
    pub fn stored(&mut self, data: Data, shape: Vec<u32>) -> Node {
        let node = self.add(Op::Stored, Vec::new(), shape);
        self.change(node, |entry| {
            entry.half = matches!(data, Data::Halves(..));
            entry.data = Some(data);
        });
        node
    }

    /// Whole numbers of rows, of which gradients can be taken.
    pub fn numbers(&mut self, numbers: Vec<u32>, shape: Vec<u32>) -> Node {
        let values = numbers.iter().map(|&number| f64::from(number)).collect();
        let node = self.stored(Data::Doubles(values), shape);
        self.change(node, |entry| entry.numbers = Some(Arc::new(numbers)));
        node
    }

    /// For every row, which of these numbers name it: where its list begins, row by row and the end, and then the lists, in
    /// ascending order. `None` where the host does not know the numbers.
    pub fn lists(&mut self, numbers: Node, rows: u32) -> Option<Node> {
        let numbers = self.entry(numbers).numbers.clone()?;
        let mut starts = vec![0u32; rows as usize + 1];
        let row_of = |number: u32| number.min(rows - 1) as usize;
        numbers.iter().for_each(|&number| starts[row_of(number) + 1] += 1);
        for row in 0..rows as usize {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut members = vec![0; numbers.len()];
        for (place, &number) in (0..).zip(numbers.iter()) {
            let at = &mut next[row_of(number)];
            members[*at as usize] = place;
            *at += 1;
        }
        starts.extend(members);
        let shape = vec![starts.len() as u32];
        Some(self.stored(Data::Indices(starts), shape))
    }

    /// An operation with several results, and they.
    pub fn add_parts(&mut self, op: Op, inputs: Vec<Node>, parts: Vec<Vec<u32>>) -> Vec<Node> {
        let whole = self.add(op, inputs, parts[0].clone());
        self.change(whole, |entry| entry.parts.clone_from(&parts));
        (0..).zip(parts).map(|(number, shape)| self.add(Op::Part(number), vec![whole], shape)).collect()
    }

    /// Changes the entry of a node, unless it was released.
    pub fn change(&mut self, node: Node, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(&node) {
            change(entry);
        }
    }

    /// The host's elements of what is about to be stored.
    pub fn take_data(&mut self, node: Node) -> Option<Data> {
        self.entries.get_mut(&node)?.data.take()
    }

    /// Numbers of the solves that gradients can still go through.
    pub fn solves(&self) -> Vec<u32> {
        let of = |entry: &Entry| match (&entry.rule, &entry.op) {
            (Some(Rule::Solution { solve, .. }), _) | (_, Op::Implicit(solve)) => Some(solve.number),
            _ => None,
        };
        self.entries.values().filter_map(of).collect()
    }

    /// Elements of a node that somebody else computed; how is forgotten.
    pub(crate) fn supply(&mut self, node: Node, data: Data) {
        let Some(entry) = self.entries.get_mut(&node) else { return };
        let inputs = std::mem::take(&mut entry.inputs);
        (entry.op, entry.data, entry.computed) = (Op::Stored, Some(data), true);
        let open = self.unuse(inputs, None);
        self.collect(open);
    }

    /// A rule for gradients, with what it needs.
    pub fn set_rule(&mut self, node: Node, rule: Rule) {
        rule.needs().into_iter().for_each(|needed| self.change(needed, |entry| entry.used += 1));
        self.change(node, |entry| entry.rule = Some(rule));
    }

    /// One more handle to a node.
    pub fn hold(&mut self, node: Node) -> Node {
        self.change(node, |entry| entry.held += 1);
        node
    }

    /// Lets go of a handle; what nothing else needs goes with it.
    pub fn release(&mut self, node: Node) {
        self.change(node, |entry| entry.held = entry.held.saturating_sub(1));
        self.collect(vec![node]);
    }

    fn collect(&mut self, mut open: Vec<Node>) {
        while let Some(node) = open.pop() {
            if !self.entries.get(&node).is_some_and(|entry| entry.held == 0 && entry.used == 0) {
                continue;
            }
            let Some(entry) = self.entries.remove(&node) else { continue };
            #[cfg(not(target_arch = "wasm32"))]
            if matches!(entry.op, Op::OverRanks { .. }) {
                self.open_sums -= 1;
            }
            self.released.extend(entry.storage);
            open.extend(self.unuse(entry.inputs, entry.rule));
        }
    }

    fn unuse(&mut self, inputs: Vec<Node>, rule: Option<Rule>) -> Vec<Node> {
        let mut all = inputs;
        all.extend(rule.iter().flat_map(Rule::needs));
        all.iter().for_each(|&input| self.change(input, |entry| entry.used = entry.used.saturating_sub(1)));
        all
    }

    /// Makes tensors to hold; what was made on the way and nobody needs goes at once.
    pub fn made<E>(&mut self, make: impl FnOnce(&mut Self) -> Result<Vec<Node>, E>) -> Result<Vec<Node>, E> {
        let first = self.next;
        let made = make(self);
        made.iter().flatten().for_each(|&node| self.change(node, |entry| entry.held += 1));
        self.collect((first..self.next).map(Node).collect());
        made
    }

    /// What was computed stands for itself from now on.
    pub fn store(&mut self, node: Node, storage: Storage) {
        let Some(entry) = self.entries.get(&node) else { return };
        // What was detached had no history to begin with, rounded or not.
        let given = match entry.op {
            Op::Half => matches!(self.entry(entry.inputs[0]).op, Op::Detach | Op::Constant(_)),
            #[cfg(not(target_arch = "wasm32"))]
            Op::OverRanks { .. } => true,
            _ => matches!(entry.op, Op::Detach | Op::Stored),
        };
        let Some(entry) = self.entries.get_mut(&node) else { return };
        #[cfg(not(target_arch = "wasm32"))]
        if matches!(entry.op, Op::OverRanks { .. }) {
            self.open_sums -= 1;
        }
        let (inputs, rule) = (std::mem::take(&mut entry.inputs), entry.rule.take());
        // Gradients don't go through whole numbers and truths.
        entry.computed = !given && entry.values == Values::Reals;
        (entry.op, entry.storage) = (Op::Stored, Some(storage));
        let open = self.unuse(inputs, rule);
        self.collect(open);
    }

    /// The formula of an elementwise operation, made once.
    pub fn formula(&mut self, name: &str) -> Option<Arc<Formula>> {
        if let Some(known) = self.formulas.get(name) {
            return Some(known.clone());
        }
        let formula = elementwise(name)?;
        self.formulas.insert(name.into(), formula.clone());
        Some(formula)
    }

    /// Operations and shapes of some nodes, without elements.
    pub fn excerpt(&self, nodes: &[Node]) -> Self {
        let of = |entry: &Entry| Entry {
            op: entry.op.clone(),
            inputs: entry.inputs.clone(),
            shape: entry.shape.clone(),
            parts: entry.parts.clone(),
            rule: None,
            data: None,
            numbers: None,
            ..*entry
        };
        let entries = nodes.iter().map(|&node| (node, of(self.entry(node)))).collect();
        Self { entries, next: self.next, ..Self::default() }
    }

    /// What these need, operands first.
    pub fn order(&self, outputs: &[Node]) -> Vec<Node> {
        let mut done: HashMap<Node, bool> = HashMap::new();
        let mut order = Vec::new();
        let mut stack: Vec<Node> = outputs.iter().rev().copied().collect();
        while let Some(&node) = stack.last() {
            match done.get(&node) {
                Some(true) => {
                    stack.pop();
                }
                Some(false) => {
                    done.insert(node, true);
                    order.push(node);
                    stack.pop();
                }
                None => {
                    done.insert(node, false);
                    let open = self.entry(node).inputs.iter().rev().filter(|input| !done.contains_key(input));
                    stack.extend(open.copied().collect::<Vec<_>>());
                }
            }
        }
        order
    }
}
