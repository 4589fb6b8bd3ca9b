//! Where an expression is defined, as an expression.
//!
//! WGSL promises nothing of NaN and infinity, so no result outside of a domain (√−1, ln 0, 1/0) is left to the
//! hardware: whether every operation that counts is within its domain is computed by comparisons, and what is not is
//! replaced by one flag at the very end, where nothing is computed with it any more. A branch of a `select` counts
//! only where it is taken. Signs that the symbols prove (squares, sums of squares, …) need no comparison.

use super::{Binary, Expr, Graph, Leaf, Node, Unary};

/// Sign of a value, as far as it is known, wherever it is defined.
#[derive(Clone, Copy, Default)]
pub struct KnownSign {
    /// True if the value is at least 0.
    pub not_negative: bool,
    /// True if the value is greater than 0.
    pub positive: bool,
}

impl KnownSign {
    /// At least 0.
    pub const NOT_NEGATIVE: Self = Self { not_negative: true, positive: false };
    /// Greater than 0.
    pub const POSITIVE: Self = Self { not_negative: true, positive: true };
}

/// An operand, and what its structure says of it.
#[derive(Clone, Copy)]
pub struct Operand {
    /// The operand.
    pub expr: Expr,
    /// Its sign.
    pub sign: KnownSign,
    /// True if it has a derivative by some variable.
    pub moves: bool,
}

impl Leaf {
    /// True unless it is a number that stays the same while variables move.
    fn moves(self) -> bool {
        !matches!(self, Self::Data { .. } | Self::Literal(_) | Self::Weight)
    }
}

impl Graph {
    /// An expression that is 1 where every one of `roots` is defined, else 0.
    pub fn defined(&mut self, roots: &[Expr]) -> Expr {
        let truth = self.constant(1.0);
        self.defined_each(roots).into_iter().fold(truth, |all, defined| self.and(all, defined))
    }

    /// For every one of `roots` an expression that is 1 where it is defined, else 0; by one pass for all.
    pub fn defined_each(&mut self, roots: &[Expr]) -> Vec<Expr> {
        let truth = self.constant(1.0);
        let Some(last) = roots.iter().max().map(|root| root.0 as usize) else { return Vec::new() };
        let needed = self.reachable(roots);
        let mut signs = vec![KnownSign::default(); last + 1];
        let mut moves = vec![false; last + 1];
        let mut valid = vec![truth; last + 1];
        for index in (0..=last).filter(|&index| needed[index]) {
            let node = self.node(Expr(index as u32));
            signs[index] = self.sign_of(node, &signs);
            moves[index] = self.moves(node, &moves);
            let at = |expr: Expr| valid[expr.0 as usize];
            valid[index] = match node {
                Node::Const(_) | Node::Leaf(_) => continue,
                Node::Unary(operation, a) => {
                    let within = self.unary_domain(operation, a, signs[a.0 as usize]);
                    self.and(at(a), within)
                }
                Node::Binary(operation, a, b) => {
                    let operands = [a, b].map(|expr| Operand { expr, sign: signs[expr.0 as usize], moves: moves[expr.0 as usize] });
                    let within = self.binary_domain(operation, operands);
                    let operands = self.and(at(a), at(b));
                    self.and(operands, within)
                }
                Node::Select { condition, then, otherwise } => {
                    let branch = self.defined_branch(condition, at(then), at(otherwise));
                    self.and(at(condition), branch)
                }
            };
        }
        roots.iter().map(|root| valid[root.0 as usize]).collect()
    }

    /// Each value where it is defined, else the flag, which is not finite.
    pub fn flagged(&mut self, values: &[Expr]) -> Vec<Expr> {
        let defined = self.defined_each(values);
        values.iter().zip(defined).map(|(&value, defined)| self.flagged_unless(defined, value)).collect()
    }

    /// The value where `defined` is not 0, else the flag of an undefined residual.
    pub fn flagged_unless(&mut self, defined: Expr, value: Expr) -> Expr {
        let flag = self.flag();
        self.select(defined, value, flag)
    }

    // The constants come before all domains: the numbers of nodes decide the order of operands in kernels.

    fn unary_domain(&mut self, operation: Unary, a: Expr, sign: KnownSign) -> Expr {
        for value in [0.0, 1.0, -1.0] {
            self.constant(value);
        }
        operation.domain(self, a, sign)
    }

    fn binary_domain(&mut self, operation: Binary, operands: [Operand; 2]) -> Expr {
        for value in [0.0, 1.0] {
            self.constant(value);
        }
        operation.domain(self, operands)
    }

    /// True if the value of a node has a derivative by some variable, seen by its structure alone.
    fn moves(&self, node: Node, moves: &[bool]) -> bool {
        let at = |expr: Expr| moves[expr.0 as usize];
        match node {
            Node::Const(_) => false,
            Node::Leaf(leaf) => leaf.moves(),
            Node::Unary(operation, a) => !operation.is_flat() && at(a),
            Node::Binary(operation, a, b) => !operation.is_truth() && (at(a) || at(b)),
            Node::Select { then, otherwise, .. } => at(then) || at(otherwise),
        }
    }

    /// select(condition, then, otherwise) over truths, less what the condition itself says of its branches.
    fn defined_branch(&mut self, condition: Expr, then: Expr, otherwise: Expr) -> Expr {
        let one = self.constant(1.0);
        let then = if self.implies(condition, then) { one } else { then };
        let otherwise = if self.contradicts(condition, otherwise) { one } else { otherwise };
        if then == one && otherwise == one {
            return one;
        }
        if then == one {
            return self.or(condition, otherwise);
        }
        if otherwise == one {
            let not = self.not(condition);
            return self.or(not, then);
        }
        self.select(condition, then, otherwise)
    }

    /// Whether `fact` plainly holds where `condition` does.
    fn implies(&self, condition: Expr, fact: Expr) -> bool {
        condition == fact
            || match (self.node(fact), self.node(condition)) {
                (Node::Binary(Binary::Or, a, b), _) if a == condition || b == condition => true,
                (Node::Binary(Binary::Le, a, b), Node::Binary(Binary::Lt, x, y)) => (a, b) == (x, y),
                (_, Node::Binary(Binary::And, a, b)) => a == fact || b == fact,
                _ => false,
            }
    }

    /// Whether `fact` plainly holds where `condition` does not.
    fn contradicts(&self, condition: Expr, fact: Expr) -> bool {
        match (self.node(condition), self.node(fact)) {
            (Node::Unary(Unary::Not, inner), _) => self.implies(inner, fact),
            (Node::Binary(Binary::Lt, a, b), Node::Binary(Binary::Le, x, y)) => (a, b) == (y, x),
            (Node::Binary(Binary::Le, a, b), Node::Binary(Binary::Lt, x, y)) => (a, b) == (y, x),
            (Node::Binary(Binary::Le, a, b), Node::Binary(Binary::Or, x, y)) => {
                [x, y].into_iter().any(|part| self.node(part) == Node::Binary(Binary::Lt, b, a))
            }
            _ => false,
        }
    }

    fn sign_of(&self, node: Node, signs: &[KnownSign]) -> KnownSign {
        let at = |expr: Expr| signs[expr.0 as usize];
        match node {
            Node::Const(bits) if f64::from_bits(bits) > 0.0 => KnownSign::POSITIVE,
            Node::Const(bits) => KnownSign { not_negative: f64::from_bits(bits) == 0.0, positive: false },
            Node::Leaf(_) => KnownSign::default(),
            Node::Unary(operation, a) => operation.sign(at(a)),
            Node::Binary(operation, a, b) => operation.sign([at(a), at(b)], a == b),
            Node::Select { then, otherwise, .. } => KnownSign {
                not_negative: at(then).not_negative && at(otherwise).not_negative,
                positive: at(then).positive && at(otherwise).positive,
            },
        }
    }
}
