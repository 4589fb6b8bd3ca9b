//! Exponentials.

use crate::operation::*;

/// eˣ.
pub struct Exp;

impl Instruction for Exp {
    const CODE: u32 = 46;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → eᵃ";
    const RULE: Option<Rule> = Some(Rule {
        row: 140,
        usage: "exp(a)",
        widths: &[1],
        value: "eᵃ",
        derivative: "eᵃ",
        remark: "not finite where it overflows",
        edges: &[at(&[0.0], 1.0, &[1.0]), at(&[-200.0], 0.0, &[0.0])],
    });
    const FUNCTION: Option<Function> = Some(Function {
        name: "exp",
        parameters: "a: Num",
        description: "eᵃ. Not finite where it overflows: above 709 in f64, 88 in f32.",
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Exp, operands)
    }
}

impl UnaryOperation for Exp {
    const NUMBER: u32 = 7;
    const NUMERICS: Numerics = Numerics::Function("exponential");

    fn apply(a: f64) -> f64 {
        libm::exp(a)
    }

    fn slope(_: &mut Graph, _: Expr, y: Expr) -> Option<Expr> {
        Some(y)
    }

    fn sign(_: KnownSign) -> KnownSign {
        // Its least value is 0 by underflow.
        KnownSign::NOT_NEGATIVE
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(exponential_rise(a))
    }
}

/// 2ˣ.
pub struct Exp2;

impl Instruction for Exp2 {
    const CODE: u32 = 47;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → 2ᵃ";
    const RULE: Option<Rule> = Some(Rule {
        row: 150,
        usage: "exp2(a)",
        widths: &[1],
        value: "2ᵃ",
        derivative: "2ᵃ ln 2",
        remark: "not finite where it overflows",
        edges: &[at(&[10.0], 1024.0, &[1024.0 * consts::LN_2])],
    });
    const FUNCTION: Option<Function> = Some(Function {
        name: "exp2",
        parameters: "a: Num",
        description: "2ᵃ. Not finite where it overflows: from 1024 on in f64, 128 in f32.",
    });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Exp2, operands)
    }
}

impl UnaryOperation for Exp2 {
    const NUMBER: u32 = 8;
    const NUMERICS: Numerics = Numerics::Function("exponential2");

    fn apply(a: f64) -> f64 {
        libm::exp2(a)
    }

    fn slope(graph: &mut Graph, _: Expr, y: Expr) -> Option<Expr> {
        let ln2 = graph.constant(consts::LN_2);
        Some(graph.mul(ln2, y))
    }

    fn sign(_: KnownSign) -> KnownSign {
        KnownSign::NOT_NEGATIVE
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(a.rising(|_, high, by| -((high * consts::LN_2).exp() * (by * -consts::LN_2).expm1())))
    }
}

/// eˣ − 1.
pub struct Expm1;

impl Instruction for Expm1 {
    const CODE: u32 = 48;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → eᵃ − 1";
    const RULE: Option<Rule> = Some(Rule {
        row: 160,
        usage: "expm1(a)",
        widths: &[1],
        value: "eᵃ − 1",
        derivative: "eᵃ",
        remark: "exact to rounding near 0",
        edges: &[at(&[0.0], 0.0, &[1.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "expm1", parameters: "a: Num", description: "eᵃ − 1, exact for small a." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Expm1, operands)
    }
}

impl UnaryOperation for Expm1 {
    const NUMBER: u32 = 9;
    const NUMERICS: Numerics = Numerics::Function("expm1");

    fn apply(a: f64) -> f64 {
        libm::expm1(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        Some(graph.unary(Unary::Exp, a))
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(exponential_rise(a))
    }
}

/// eᵇ − eᵃ = −eᵇ expm1(a − b)
fn exponential_rise(a: Pair<'_>) -> Symbol<'_> {
    a.rising(|_, high, by| -(high.exp() * (-by).expm1()))
}
