//! The hash-consing, simplifying builder.

use super::operation::Symmetry;
use super::{Binary, Unary};
use std::collections::HashMap;

/// A scalar of a [`Graph`]; equal numbers mean equal expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Expr(pub u32);

/// Where a scalar enters a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Leaf {
    /// A component of the variable or constant in a slot.
    Slot {
        /// Number of the slot.
        slot: u32,
        /// Scalar of the instance.
        component: u32,
    },
    /// A component of a data column.
    Data {
        /// Number of the column.
        column: u32,
        /// Scalar of the instance's row.
        component: u32,
    },
    /// A number of the traced function, lifted out so that residuals that differ in it share their kernels.
    Literal(u32),
    /// The instance's weight w in ½ w ‖r‖².
    Weight,
    /// A residual or Jacobian entry that an earlier kernel stored.
    Stored(u32),
    /// A component, at a slot, of the vector that the Jacobian is multiplied with.
    Direction {
        /// Number of the slot.
        slot: u32,
        /// Degree of freedom of the instance.
        component: u32,
    },
    /// A row of the vector that the transposed Jacobian is multiplied with.
    Row(u32),
    /// A degree of freedom of the variable in a slot: how far it has moved along its manifold.
    Step {
        /// Number of the slot.
        slot: u32,
        /// Degree of freedom of the instance.
        component: u32,
    },
}

/// A node of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// The bits of an f64 (never −0: it is made +0, so that equal means equal).
    Const(u64),
    /// An input.
    Leaf(Leaf),
    /// An operation of one operand.
    Unary(Unary, Expr),
    /// An operation of two operands.
    Binary(Binary, Expr, Expr),
    /// One of two, by a condition.
    Select {
        /// `then` where it is not 0.
        condition: Expr,
        /// Value where the condition is not 0.
        then: Expr,
        /// Value where it is 0.
        otherwise: Expr,
    },
}

/// A directed acyclic graph of scalars without duplicates.
#[derive(Clone, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    known: HashMap<Node, Expr>,
    /// How deep [`under_mask`](Self::under_mask) is in itself.
    mask_depth: u32,
    /// True if slopes are limits: infinite or NaN at the edges of domains and outside of them, and products by a masked 0 are those of
    /// IEEE 754.
    pub has_limits: bool,
}

/// Masks inside masks that products are pushed through; deeper ones (only hostile tapes have them) stay outside.
const MAX_MASK_DEPTH: u32 = 32;

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of a number.
    pub fn node(&self, expr: Expr) -> Node {
        self.nodes[expr.0 as usize]
    }

    /// The value of a constant.
    pub fn value(&self, expr: Expr) -> Option<f64> {
        match self.node(expr) {
            Node::Const(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// The expression without its sign, and whether it had a minus: x and −x are stored once.
    pub fn unsigned(&self, expr: Expr) -> (Expr, bool) {
        match self.node(expr) {
            Node::Unary(Unary::Neg, inner) => (inner, true),
            _ => (expr, false),
        }
    }

    fn intern(&mut self, node: Node) -> Expr {
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            Expr(self.nodes.len() as u32 - 1)
        })
    }

    /// A constant; −0 becomes +0.
    pub fn constant(&mut self, value: f64) -> Expr {
        self.intern(Node::Const((value + 0.0).to_bits()))
    }

    /// What stands for a value that is not defined. Nothing may be computed with it: it is only ever stored.
    pub fn flag(&mut self) -> Expr {
        self.intern(Node::Const(f64::NAN.to_bits()))
    }

    /// A leaf.
    pub fn leaf(&mut self, leaf: Leaf) -> Expr {
        self.intern(Node::Leaf(leaf))
    }

    /// Folds an operation on constants, unless the result leaves f32's range: that is left to run, where what is not
    /// finite is reported with its term and instance.
    fn folded(&mut self, value: f64) -> Option<Expr> {
        (value.abs() <= f64::from(f32::MAX)).then(|| self.constant(value))
    }

    /// −a.
    pub fn neg(&mut self, a: Expr) -> Expr {
        match self.node(a) {
            Node::Const(bits) => self.constant(-f64::from_bits(bits)),
            Node::Unary(Unary::Neg, inner) => inner,
            Node::Binary(Binary::Sub, x, y) => self.sub(y, x),
            _ => self.intern(Node::Unary(Unary::Neg, a)),
        }
    }

    /// a + b.
    pub fn add(&mut self, a: Expr, b: Expr) -> Expr {
        if let (Some(x), Some(y)) = (self.value(a), self.value(b))
            && let Some(folded) = self.folded(x + y)
        {
            return folded;
        }
        if self.value(a) == Some(0.0) {
            return b;
        }
        if self.value(b) == Some(0.0) {
            return a;
        }
        match (self.unsigned(a), self.unsigned(b)) {
            ((x, true), (y, true)) => {
                let sum = self.add(x, y);
                self.neg(sum)
            }
            ((_, false), (y, true)) => self.sub(a, y),
            ((x, true), (_, false)) => self.sub(b, x),
            _ => self.intern(Node::Binary(Binary::Add, a.min(b), a.max(b))),
        }
    }

    /// a − b.
    pub fn sub(&mut self, a: Expr, b: Expr) -> Expr {
        if a == b {
            return self.constant(0.0);
        }
        if let (Some(x), Some(y)) = (self.value(a), self.value(b))
            && let Some(folded) = self.folded(x - y)
        {
            return folded;
        }
        if self.value(b) == Some(0.0) {
            return a;
        }
        match (self.value(a), self.unsigned(a), self.unsigned(b)) {
            (Some(0.0), _, _) => self.neg_plain(b),
            (_, (x, true), (y, true)) => self.sub(y, x),
            (_, (x, true), (_, false)) => {
                let sum = self.add(x, b);
                self.neg_plain(sum)
            }
            (_, (_, false), (y, true)) => self.add(a, y),
            // The order that came first: the other is its negative, so a − b and b − a are one stored value.
            _ => match self.known.get(&Node::Binary(Binary::Sub, b, a)) {
                Some(&opposite) => self.intern(Node::Unary(Unary::Neg, opposite)),
                None => self.intern(Node::Binary(Binary::Sub, a, b)),
            },
        }
    }

    /// A negation that does not turn a difference round again.
    fn neg_plain(&mut self, a: Expr) -> Expr {
        match self.node(a) {
            Node::Const(bits) => self.constant(-f64::from_bits(bits)),
            Node::Unary(Unary::Neg, inner) => inner,
            _ => self.intern(Node::Unary(Unary::Neg, a)),
        }
    }

    /// a·b.
    pub fn mul(&mut self, a: Expr, b: Expr) -> Expr {
        let (x, y) = (self.value(a), self.value(b));
        if let (Some(x), Some(y)) = (x, y)
            && let Some(folded) = self.folded(x * y)
        {
            return folded;
        }
        if x == Some(0.0) || y == Some(0.0) {
            return self.constant(0.0);
        }
        if x == Some(1.0) {
            return b;
        }
        if y == Some(1.0) {
            return a;
        }
        if x == Some(-1.0) {
            return self.neg_plain(b);
        }
        if y == Some(-1.0) {
            return self.neg_plain(a);
        }
        if let Some(masked) = self.under_mask(a, |graph, inner| graph.mul(inner, b)) {
            return masked;
        }
        if let Some(masked) = self.under_mask(b, |graph, inner| graph.mul(a, inner)) {
            return masked;
        }
        match (self.unsigned(a), self.unsigned(b)) {
            ((x, s), (y, t)) if s || t => {
                let product = self.mul(x, y);
                if s == t { product } else { self.neg_plain(product) }
            }
            _ => self.intern(Node::Binary(Binary::Mul, a.min(b), a.max(b))),
        }
    }

    /// a/b.
    pub fn div(&mut self, a: Expr, b: Expr) -> Expr {
        let (x, y) = (self.value(a), self.value(b));
        if let (Some(x), Some(y)) = (x, y)
            && let Some(folded) = self.folded(x / y)
        {
            return folded;
        }
        if x == Some(0.0) && y != Some(0.0) {
            return a;
        }
        if y == Some(1.0) {
            return a;
        }
        if let Some(masked) = self.under_mask(a, |graph, inner| graph.div(inner, b)) {
            return masked;
        }
        match (self.unsigned(a), self.unsigned(b)) {
            ((x, s), (y, t)) if s || t => {
                let quotient = self.div(x, y);
                if s == t { quotient } else { self.neg_plain(quotient) }
            }
            _ => self.intern(Node::Binary(Binary::Div, a, b)),
        }
    }

    /// `select(c, x, 0) ∘ y` becomes `select(c, x ∘ y, 0)`: whatever y is where the branch is not taken (it may well
    /// be NaN: 0·∞), the result is exactly 0 there. Masked adjoints of the reverse sweep have this form.
    fn under_mask(&mut self, a: Expr, operation: impl FnOnce(&mut Self, Expr) -> Expr) -> Option<Expr> {
        let Node::Select { condition, then, otherwise } = self.node(a) else { return None };
        if self.has_limits || self.mask_depth == MAX_MASK_DEPTH {
            return None;
        }
        self.mask_depth += 1;
        let masked = match (self.value(then), self.value(otherwise)) {
            (_, Some(0.0)) => {
                let inner = operation(self, then);
                Some(self.select(condition, inner, otherwise))
            }
            (Some(0.0), _) => {
                let inner = operation(self, otherwise);
                Some(self.select(condition, then, inner))
            }
            _ => None,
        };
        self.mask_depth -= 1;
        masked
    }

    /// a + b, which is 0 by a mask where both are: an adjoint that several branches give to stays one that
    /// [`under_mask`](Self::under_mask) knows.
    pub fn add_masked(&mut self, a: Expr, b: Expr) -> Expr {
        let (of_a, x) = self.masks(a);
        let (of_b, y) = self.masks(b);
        if of_a.is_empty() || of_b.is_empty() {
            return self.add(a, b);
        }
        let (common, of_a): (Vec<Expr>, Vec<Expr>) = of_a.into_iter().partition(|condition| of_b.contains(condition));
        let of_b: Vec<Expr> = of_b.into_iter().filter(|condition| !common.contains(condition)).collect();
        let (x, y) = (self.under(&of_a, x), self.under(&of_b, y));
        let mut sum = self.add(x, y);
        if !of_a.is_empty() && !of_b.is_empty() {
            let [all_of_a, all_of_b] = [of_a, of_b].map(|masks| masks[1..].iter().fold(masks[0], |all, &mask| self.and(all, mask)));
            let either = self.or(all_of_a, all_of_b);
            sum = self.under(&[either], sum);
        }
        self.under(&common, sum)
    }

    /// The distinct conditions c, d, … and x where `a` is `select(c, select(d, … x, 0), 0)`, up to signs and the order
    /// of branches.
    fn masks(&mut self, a: Expr) -> (Vec<Expr>, Expr) {
        let (mut conditions, mut inner) = (Vec::new(), a);
        for _ in 0..MAX_MASK_DEPTH {
            let (unsigned, negative) = self.unsigned(inner);
            let Node::Select { condition, then, otherwise } = self.node(unsigned) else { break };
            let (condition, value) = match (self.value(then), self.value(otherwise)) {
                (_, Some(0.0)) => (condition, then),
                (Some(0.0), _) => (self.not(condition), otherwise),
                _ => break,
            };
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
            inner = if negative { self.neg(value) } else { value };
        }
        (conditions, inner)
    }

    /// `a` where all conditions hold, else 0; the first is the outermost.
    fn under(&mut self, conditions: &[Expr], a: Expr) -> Expr {
        let zero = self.constant(0.0);
        conditions.iter().rev().fold(a, |inner, &condition| self.select(condition, inner, zero))
    }

    /// a².
    pub fn square(&mut self, a: Expr) -> Expr {
        self.mul(a, a)
    }

    /// An operation of one operand, simplified.
    pub fn unary(&mut self, operation: Unary, a: Expr) -> Expr {
        if operation == Unary::Neg {
            return self.neg(a);
        }
        if let Some(x) = self.value(a)
            && let Some(folded) = self.folded(operation.apply(x))
        {
            return folded;
        }
        if let Some(simpler) = operation.simpler(self, a) {
            return simpler;
        }
        match (operation.symmetry(), self.unsigned(a)) {
            (Symmetry::Even, (x, true)) => self.intern(Node::Unary(operation, x)),
            (Symmetry::Odd, (x, true)) => {
                let mirrored = self.intern(Node::Unary(operation, x));
                self.neg_plain(mirrored)
            }
            _ => self.intern(Node::Unary(operation, a)),
        }
    }

    /// Whether the value is always 0 or 1.
    pub fn is_truth(&self, a: Expr) -> bool {
        match self.node(a) {
            Node::Const(bits) => matches!(f64::from_bits(bits), 0.0 | 1.0),
            Node::Unary(operation, _) => operation.is_truth(),
            Node::Binary(operation, ..) => operation.is_truth(),
            Node::Leaf(_) | Node::Select { .. } => false,
        }
    }

    /// 1 if a = 0, else 0.
    pub fn not(&mut self, a: Expr) -> Expr {
        self.unary(Unary::Not, a)
    }

    /// 1 if neither is 0, else 0.
    pub fn and(&mut self, a: Expr, b: Expr) -> Expr {
        self.binary(Binary::And, a, b)
    }

    /// 1 if one of them is not 0, else 0.
    pub fn or(&mut self, a: Expr, b: Expr) -> Expr {
        self.binary(Binary::Or, a, b)
    }

    /// 1 if a < b, else 0.
    pub fn less(&mut self, a: Expr, b: Expr) -> Expr {
        self.binary(Binary::Lt, a, b)
    }

    /// 1 if a ≤ b, else 0.
    pub fn less_equal(&mut self, a: Expr, b: Expr) -> Expr {
        self.binary(Binary::Le, a, b)
    }

    /// An operation of two operands, simplified.
    pub fn binary(&mut self, operation: Binary, a: Expr, b: Expr) -> Expr {
        match operation {
            Binary::Add => self.add(a, b),
            Binary::Sub => self.sub(a, b),
            Binary::Mul => self.mul(a, b),
            Binary::Div => self.div(a, b),
            _ => {
                if let (Some(x), Some(y)) = (self.value(a), self.value(b))
                    && let Some(folded) = self.folded(operation.apply(x, y))
                {
                    return folded;
                }
                if let Some(simpler) = operation.simpler(self, a, b) {
                    return simpler;
                }
                let (a, b) = if operation.commutes() { (a.min(b), a.max(b)) } else { (a, b) };
                self.intern(Node::Binary(operation, a, b))
            }
        }
    }

    /// `then` where the condition is not 0, else `otherwise`.
    pub fn select(&mut self, condition: Expr, then: Expr, otherwise: Expr) -> Expr {
        match self.value(condition) {
            Some(value) if value != 0.0 => then,
            Some(_) => otherwise,
            None if then == otherwise => then,
            None => self.intern(Node::Select { condition, then, otherwise }),
        }
    }

    /// Σ aᵢ·bᵢ.
    pub fn dot(&mut self, a: &[Expr], b: &[Expr]) -> Expr {
        let mut sum = self.constant(0.0);
        for (&x, &y) in a.iter().zip(b) {
            let product = self.mul(x, y);
            sum = self.add(sum, product);
        }
        sum
    }

    /// `a / b` where b > 0, else 0: the quotient that makes √x, ‖x‖ and x/‖x‖ safe at 0. Where slopes are limits, `a / b`.
    pub fn div_safe(&mut self, a: Expr, b: Expr) -> Expr {
        if self.has_limits {
            return self.div(a, b);
        }
        let zero = self.constant(0.0);
        let positive = self.binary(Binary::Lt, zero, b);
        let quotient = self.div(a, b);
        self.select(positive, quotient, zero)
    }

    /// The expressions with leaves replaced where `replace` gives something else for them.
    pub fn substitute(&mut self, roots: &[Expr], replace: impl Fn(Leaf) -> Option<Expr>) -> Vec<Expr> {
        let needed = self.reachable(roots);
        let mut image: Vec<Expr> = (0..needed.len() as u32).map(Expr).collect();
        for index in (0..needed.len()).filter(|&index| needed[index]) {
            let at = |expr: Expr| image[expr.0 as usize];
            image[index] = match self.nodes[index] {
                Node::Const(_) => continue,
                Node::Leaf(leaf) => replace(leaf).unwrap_or(image[index]),
                Node::Unary(operation, a) => self.unary(operation, at(a)),
                Node::Binary(operation, a, b) => self.binary(operation, at(a), at(b)),
                Node::Select { condition, then, otherwise } => self.select(at(condition), at(then), at(otherwise)),
            };
        }
        roots.iter().map(|root| image[root.0 as usize]).collect()
    }

    /// Expressions of another graph in this one, with what `leaf` gives for its leaves.
    pub fn import(&mut self, of: &Graph, roots: &[Expr], leaf: impl Fn(&mut Graph, Leaf) -> Expr) -> Vec<Expr> {
        let needed = of.reachable(roots);
        let mut image = vec![Expr(0); needed.len()];
        for index in (0..needed.len()).filter(|&index| needed[index]) {
            let at = |expr: Expr| image[expr.0 as usize];
            image[index] = match of.nodes[index] {
                Node::Const(bits) => self.intern(Node::Const(bits)),
                Node::Leaf(it) => leaf(self, it),
                Node::Unary(operation, a) => self.unary(operation, at(a)),
                Node::Binary(operation, a, b) => self.binary(operation, at(a), at(b)),
                Node::Select { condition, then, otherwise } => self.select(at(condition), at(then), at(otherwise)),
            };
        }
        roots.iter().map(|root| image[root.0 as usize]).collect()
    }

    /// Which nodes the roots depend on, up to the last of them.
    pub fn reachable(&self, roots: &[Expr]) -> Vec<bool> {
        let mut needed = vec![false; roots.iter().max().map_or(0, |last| last.0 as usize + 1)];
        roots.iter().for_each(|root| needed[root.0 as usize] = true);
        for index in (0..needed.len()).rev() {
            if needed[index] {
                self.operands(Expr(index as u32)).for_each(|operand| needed[operand.0 as usize] = true);
            }
        }
        needed
    }

    /// Whether an expression has a leaf in it.
    pub fn needs(&self, expr: Expr, leaf: Leaf) -> bool {
        let Some(&leaf) = self.known.get(&Node::Leaf(leaf)) else { return false };
        let mut reached = vec![false; expr.0 as usize + 1];
        reached[expr.0 as usize] = true;
        for index in (0..=expr.0).rev() {
            if reached[index as usize] {
                self.operands(Expr(index)).for_each(|operand| reached[operand.0 as usize] = true);
            }
        }
        reached.get(leaf.0 as usize).copied().unwrap_or(false)
    }

    /// The operands of a node, in order.
    pub fn operands(&self, expr: Expr) -> impl Iterator<Item = Expr> + use<> {
        let operands = match self.node(expr) {
            Node::Const(_) | Node::Leaf(_) => [None; 3],
            Node::Unary(_, a) => [Some(a), None, None],
            Node::Binary(_, a, b) => [Some(a), Some(b), None],
            Node::Select { condition, then, otherwise } => [Some(condition), Some(then), Some(otherwise)],
        };
        operands.into_iter().flatten()
    }
}
