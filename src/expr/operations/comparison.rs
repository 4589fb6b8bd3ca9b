//! Comparisons, which are 1 or 0.

use crate::operation::*;

/// a < b.
pub struct Lt;

impl Instruction for Lt {
    const CODE: u32 = 20;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → whether a < b";
    const RULE: Option<Rule> = Some(Rule {
        row: 580,
        usage: "a.lt(b), a.gt(b)",
        widths: &[1, 1],
        value: "whether a < b, a > b",
        derivative: "0",
        remark: "",
        edges: &[at(&[2.0, 2.0], 0.0, &[0.0, 0.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = scalars(operands);
        vec![graph.less(a, b)]
    }
}

impl BinaryOperation for Lt {
    const NUMBER: u32 = 36;
    const NUMERICS: Numerics = Numerics::Instruction;
    const IS_TRUTH: bool = true;

    fn apply(a: f64, b: f64) -> f64 {
        f64::from(a < b)
    }

    fn slopes(_: &mut Graph, _: [Expr; 2], _: Expr) -> [Option<Slope>; 2] {
        [None, None]
    }
}

/// a ≤ b.
pub struct Le;

impl Instruction for Le {
    const CODE: u32 = 21;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → whether a ≤ b";
    const RULE: Option<Rule> = Some(Rule {
        row: 590,
        usage: "a.le(b), a.ge(b)",
        widths: &[1, 1],
        value: "whether a ≤ b, a ≥ b",
        derivative: "0",
        remark: "",
        edges: &[at(&[2.0, 2.0], 1.0, &[0.0, 0.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = scalars(operands);
        vec![graph.less_equal(a, b)]
    }
}

impl BinaryOperation for Le {
    const NUMBER: u32 = 37;
    const NUMERICS: Numerics = Numerics::Instruction;
    const IS_TRUTH: bool = true;

    fn apply(a: f64, b: f64) -> f64 {
        f64::from(a <= b)
    }

    fn slopes(_: &mut Graph, _: [Expr; 2], _: Expr) -> [Option<Slope>; 2] {
        [None, None]
    }
}

/// a = b.
pub struct Eq;

impl Instruction for Eq {
    const CODE: u32 = 73;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → whether a = b";
    const RULE: Option<Rule> = Some(Rule {
        row: 600,
        usage: "a.eq(b)",
        widths: &[1, 1],
        value: "whether a = b",
        derivative: "0",
        remark: "",
        edges: &[at(&[2.0, 2.0], 1.0, &[0.0, 0.0]), at(&[2.0, 3.0], 0.0, &[0.0, 0.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = scalars(operands);
        vec![graph.equal(a, b)]
    }
}

/// a ≠ b.
pub struct Ne;

impl Instruction for Ne {
    const CODE: u32 = 74;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → whether a ≠ b";
    const RULE: Option<Rule> = Some(Rule {
        row: 610,
        usage: "a.ne(b)",
        widths: &[1, 1],
        value: "whether a ≠ b",
        derivative: "0",
        remark: "",
        edges: &[at(&[2.0, 2.0], 0.0, &[0.0, 0.0])],
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = scalars(operands);
        let equal = graph.equal(a, b);
        vec![graph.not(equal)]
    }
}
