//! Where an expression is defined, as an expression.
//!
//! WGSL promises nothing of NaN and infinity, so no result outside of a domain (√−1, ln 0, 1/0) is left to the
//! hardware: whether every operation that counts is within its domain is computed by comparisons, and what is not is
//! replaced by one flag at the very end, where nothing is computed with it any more. A branch of a `select` counts
//! only where it is taken. Signs that the symbols prove (squares, sums of squares, …) need no comparison.

use super::{Binary, Expr, Graph, Leaf, Node, Unary};

/// Sign of a value, as far as it is known, wherever it is defined.
#[derive(Clone, Copy, Default)]
struct Sign {
    not_negative: bool,
    positive: bool,
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
        let mut signs = vec![Sign::default(); last + 1];
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
                    let within = match operation {
                        Binary::Pow => self.power_domain((a, signs[a.0 as usize]), (b, moves[b.0 as usize])),
                        _ => self.binary_domain(operation, b, &signs),
                    };
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

    pub fn flagged_unless(&mut self, defined: Expr, value: Expr) -> Expr {
        let flag = self.flag();
        self.select(defined, value, flag)
    }

    fn unary_domain(&mut self, operation: Unary, a: Expr, sign: Sign) -> Expr {
        let (zero, one, minus_one) = (self.constant(0.0), self.constant(1.0), self.constant(-1.0));
        match operation {
            Unary::Sqrt if !sign.not_negative => self.less_equal(zero, a),
            Unary::Log if !sign.positive => self.less(zero, a),
            Unary::Log1p if !sign.not_negative => self.less(minus_one, a),
            Unary::Asin | Unary::Acos => {
                let (low, high) = (self.less_equal(minus_one, a), self.less_equal(a, one));
                self.and(low, high)
            }
            Unary::Acosh => self.less_equal(one, a),
            Unary::Atanh => {
                let (low, high) = (self.less(minus_one, a), self.less(a, one));
                self.and(low, high)
            }
            _ => one,
        }
    }

    /// True if the value of a node has a derivative by some variable, seen by its structure alone.
    fn moves(&self, node: Node, moves: &[bool]) -> bool {
        let at = |expr: Expr| moves[expr.0 as usize];
        match node {
            Node::Const(_) => false,
            Node::Leaf(leaf) => leaf.moves(),
            Node::Unary(Unary::Floor | Unary::Ceil | Unary::Round | Unary::Not | Unary::Finite | Unary::Detach, _) => false,
            Node::Unary(_, a) => at(a),
            Node::Binary(Binary::Lt | Binary::Le | Binary::And | Binary::Or, ..) => false,
            Node::Binary(_, a, b) => at(a) || at(b),
            Node::Select { then, otherwise, .. } => at(then) || at(otherwise),
        }
    }

    /// Where aᵇ is defined: above 0, at 0 for b ≥ 0, and below for a whole b that does not move. Of an exponent that moves, a
    /// negative base has no power next to the whole ones.
    fn power_domain(&mut self, (a, sign): (Expr, Sign), (b, moves): (Expr, bool)) -> Expr {
        let (zero, one) = (self.constant(0.0), self.constant(1.0));
        if sign.positive {
            return one;
        }
        let above = self.less(zero, a);
        let (at_zero, exponent) = (self.less_equal(zero, a), self.less_equal(zero, b));
        let edge = self.and(at_zero, exponent);
        let within = self.or(above, edge);
        if sign.not_negative || moves {
            return within;
        }
        let below = self.less(a, zero);
        let floor = self.unary(Unary::Floor, b);
        let whole = self.equal(b, floor);
        let below = self.and(below, whole);
        self.or(within, below)
    }

    fn binary_domain(&mut self, operation: Binary, b: Expr, signs: &[Sign]) -> Expr {
        let (zero, one) = (self.constant(0.0), self.constant(1.0));
        match operation {
            Binary::Div if self.value(b).is_some_and(|value| value != 0.0) || signs[b.0 as usize].positive => one,
            Binary::Div => {
                let above = self.less(zero, b);
                if signs[b.0 as usize].not_negative {
                    return above;
                }
                let below = self.less(b, zero);
                self.or(above, below)
            }
            _ => one,
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

    fn sign_of(&self, node: Node, signs: &[Sign]) -> Sign {
        let at = |expr: Expr| signs[expr.0 as usize];
        let not_negative = Sign { not_negative: true, positive: false };
        let positive = Sign { not_negative: true, positive: true };
        let only_if = |holds: bool, sign: Sign| if holds { sign } else { Sign::default() };
        match node {
            Node::Const(bits) if f64::from_bits(bits) > 0.0 => positive,
            Node::Const(bits) => only_if(f64::from_bits(bits) == 0.0, not_negative),
            Node::Leaf(_) => Sign::default(),
            Node::Unary(operation, a) => match operation {
                Unary::Sqrt => Sign { not_negative: true, ..at(a) },
                // Its least value is 0 by underflow.
                Unary::Exp | Unary::Exp2 | Unary::Abs | Unary::Sigmoid | Unary::Softplus | Unary::Acos => not_negative,
                Unary::Not | Unary::Finite | Unary::Acosh => not_negative,
                Unary::Cosh => positive,
                Unary::Floor | Unary::Round => only_if(at(a).not_negative, not_negative),
                Unary::Detach | Unary::Ceil => at(a),
                _ => Sign::default(),
            },
            Node::Binary(operation, a, b) => match operation {
                Binary::Add => Sign {
                    not_negative: at(a).not_negative && at(b).not_negative,
                    positive: at(a).not_negative && at(b).not_negative && (at(a).positive || at(b).positive),
                },
                Binary::Mul => only_if(a == b || at(a).not_negative && at(b).not_negative, not_negative),
                Binary::Div => only_if(at(a).not_negative && at(b).not_negative, not_negative),
                Binary::Pow => only_if(at(a).not_negative, not_negative),
                Binary::Lt | Binary::Le | Binary::And | Binary::Or => not_negative,
                Binary::Sub | Binary::Atan2 => Sign::default(),
            },
            Node::Select { then, otherwise, .. } => Sign {
                not_negative: at(then).not_negative && at(otherwise).not_negative,
                positive: at(then).positive && at(otherwise).positive,
            },
        }
    }
}
