//! Absolute value and sign.

use crate::operation::*;

/// Absolute value.
pub struct Abs;

impl Instruction for Abs {
    const CODE: u32 = 27;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → |a|";
    const RULE: Option<Rule> = Some(Rule {
        row: 360,
        usage: "abs(a)",
        widths: &[1],
        value: "|a|",
        derivative: "sign a",
        remark: "slope 0 at 0",
        edges: &[at(&[0.0], 0.0, &[0.0]), at(&[-2.0], 2.0, &[-1.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "abs", parameters: "a: Num", description: "|a|; its derivative at 0 is 0." });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Abs, operands)
    }
}

impl UnaryOperation for Abs {
    const NUMBER: u32 = 1;
    const NUMERICS: Numerics = Numerics::BuiltIn("abs");
    const SYMMETRY: Symmetry = Symmetry::Even;

    fn apply(a: f64) -> f64 {
        a.abs()
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        if !graph.has_limits {
            return Some(graph.sign(a));
        }
        let (zero, one, minus_one) = (graph.constant(0.0), graph.constant(1.0), graph.constant(-1.0));
        let is_right = graph.less_equal(zero, a);
        Some(graph.select(is_right, one, minus_one))
    }

    fn sign(_: KnownSign) -> KnownSign {
        KnownSign::NOT_NEGATIVE
    }

    fn difference<'g>(a: Pair<'g>, from: Symbol<'g>, to: Symbol<'g>) -> Option<Symbol<'g>> {
        let scope = from.scope();
        let differs = (a.from * a.to).less(scope.constant(0.0));
        Some(differs.select(to - from, a.from.less(scope.constant(0.0)).select(-a.by, a.by)))
    }
}

/// Sign: −1, 0 or 1.
pub struct Sign;

impl Instruction for Sign {
    const CODE: u32 = 28;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → −1, 0 or 1";
    const RULE: Option<Rule> = Some(Rule {
        row: 370,
        usage: "sign(a)",
        widths: &[1],
        value: "−1, 0 or 1",
        derivative: "0",
        remark: "0 at 0",
        edges: &[at(&[0.0], 0.0, &[0.0]), at(&[-3.0], -1.0, &[0.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "sign", parameters: "a: Num", description: "−1, 0 or 1; its derivative is 0." });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        operands[0].iter().map(|&x| graph.sign(x)).collect()
    }
}
