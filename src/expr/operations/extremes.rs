//! The least and the greatest of values, and bounds.

use crate::operation::*;

/// The smaller of two.
pub struct Min;

impl Instruction for Min {
    const CODE: u32 = 34;
    const ARITY: Arity = Arity::OneOrMore;
    const MEANING: &'static str = "values… → the least, the first of equal ones";
    const RULE: Option<Rule> = Some(Rule {
        row: 430,
        usage: "min(a, b, …)",
        widths: &[1, 1],
        value: "the least",
        derivative: "1 for it, 0 for the others",
        remark: "of equal ones the first",
        edges: &[at(&[2.0, 2.0], 2.0, &[1.0, 0.0]), at(&[3.0, 2.0], 2.0, &[0.0, 1.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let items = operands.concat();
        vec![items[1..].iter().fold(items[0], |least, &x| graph.min(least, x))]
    }
}

/// The larger of two.
pub struct Max;

impl Instruction for Max {
    const CODE: u32 = 35;
    const ARITY: Arity = Arity::OneOrMore;
    const MEANING: &'static str = "values… → the greatest, the first of equal ones";
    const RULE: Option<Rule> = Some(Rule {
        row: 440,
        usage: "max(a, b, …)",
        widths: &[1, 1],
        value: "the greatest",
        derivative: "1 for it, 0 for the others",
        remark: "of equal ones the first",
        edges: &[at(&[2.0, 2.0], 2.0, &[1.0, 0.0]), at(&[3.0, 4.0], 4.0, &[0.0, 1.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let items = operands.concat();
        vec![items[1..].iter().fold(items[0], |greatest, &x| graph.max(greatest, x))]
    }
}

/// x, held between two bounds.
pub struct Clamp;

impl Instruction for Clamp {
    const CODE: u32 = 36;
    const ARITY: Arity = Arity::Values(3);
    const MEANING: &'static str = "x, low, high → min(max(x, low), high)";
    const RULE: Option<Rule> = Some(Rule {
        row: 450,
        usage: "clamp(x, low, high)",
        widths: &[1, 1, 1],
        value: "min(max(x, low), high)",
        derivative: "1 for the one taken",
        remark: "x itself at both bounds",
        edges: &[
            at(&[1.0, 1.0, 2.0], 1.0, &[1.0, 0.0, 0.0]),
            at(&[2.0, 1.0, 2.0], 2.0, &[1.0, 0.0, 0.0]),
            at(&[0.0, 1.0, 2.0], 1.0, &[0.0, 1.0, 0.0]),
            at(&[9.0, 1.0, 2.0], 2.0, &[0.0, 0.0, 1.0]),
        ],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [x, low, high] = scalars(operands);
        vec![graph.clamp(x, low, high)]
    }
}
