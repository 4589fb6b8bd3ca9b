//! Rectifiers.

use crate::operation::*;

/// max(x, 0).
pub struct Relu;

impl Instruction for Relu {
    const CODE: u32 = 67;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → a where a > 0, else 0";
    const RULE: Option<Rule> = Some(Rule {
        row: 500,
        usage: "relu(a)",
        widths: &[1],
        value: "a where a > 0, else 0",
        derivative: "1 where a > 0, else 0",
        remark: "slope 0 at 0",
        edges: &[at(&[0.0], 0.0, &[0.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "relu", parameters: "a: Num", description: "a where a > 0, else 0; its derivative at 0 is 0." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a] = scalars(operands);
        let zero = graph.constant(0.0);
        vec![graph.if_less(zero, a, a, zero)]
    }
}

/// x above 0, a part of x below.
pub struct LeakyRelu;

impl Instruction for LeakyRelu {
    const CODE: u32 = 68;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, slope → a where a > 0, else slope · a";
    const RULE: Option<Rule> = Some(Rule {
        row: 510,
        usage: "leakyRelu(a, slope)",
        widths: &[1, 1],
        value: "a where a > 0, else slope · a",
        derivative: "1 or slope, 0 or a",
        remark: "at 0 as below it",
        edges: &[at(&[0.0, 0.1], 0.0, &[0.1, 0.0]), at(&[-2.0, 0.1], -0.2, &[0.1, -2.0])],
    });
    const FUNCTION: Option<Function> = Some(Function {
        name: "leakyRelu",
        parameters: "a: Num, slope: Num = 0.01",
        description: "a where a > 0, else slope · a; its derivative at 0 is the slope.",
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, slope] = scalars(operands);
        let zero = graph.constant(0.0);
        let below = graph.mul(slope, a);
        vec![graph.if_less(zero, a, a, below)]
    }
}
