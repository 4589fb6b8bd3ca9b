//! Hyperbolic functions.

use super::logistic::sigmoid_rise;
use crate::operation::*;

/// Hyperbolic sine.
pub struct Sinh;

impl Instruction for Sinh {
    const CODE: u32 = 58;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → sinh a";
    const RULE: Option<Rule> = Some(Rule {
        row: 280,
        usage: "sinh(a)",
        widths: &[1],
        value: "sinh a",
        derivative: "cosh a",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[1.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "sinh", parameters: "a: Num", description: "(eᵃ − e⁻ᵃ)/2. Not finite where it overflows." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Sinh, operands)
    }
}

impl UnaryOperation for Sinh {
    const NUMBER: u32 = 18;
    const NUMERICS: Numerics = Numerics::Function("hyperbolic_sine");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::sinh(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        Some(graph.unary(Unary::Cosh, a))
    }

    /// By sinh b − sinh a = 2 cosh((a + b)/2) sinh((b − a)/2).
    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(2.0 * a.middle().cosh() * (0.5 * a.by).sinh())
    }
}

/// Hyperbolic cosine.
pub struct Cosh;

impl Instruction for Cosh {
    const CODE: u32 = 59;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → cosh a";
    const RULE: Option<Rule> = Some(Rule {
        row: 290,
        usage: "cosh(a)",
        widths: &[1],
        value: "cosh a",
        derivative: "sinh a",
        remark: "",
        edges: &[at(&[0.0], 1.0, &[0.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "cosh", parameters: "a: Num", description: "(eᵃ + e⁻ᵃ)/2. Not finite where it overflows." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Cosh, operands)
    }
}

impl UnaryOperation for Cosh {
    const NUMBER: u32 = 19;
    const NUMERICS: Numerics = Numerics::Function("hyperbolic_cosine");
    const SYMMETRY: Symmetry = Symmetry::Even;

    fn apply(a: f64) -> f64 {
        libm::cosh(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        Some(graph.unary(Unary::Sinh, a))
    }

    fn sign(_: KnownSign) -> KnownSign {
        KnownSign::POSITIVE
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(2.0 * a.middle().sinh() * (0.5 * a.by).sinh())
    }
}

/// Hyperbolic tangent.
pub struct Tanh;

impl Instruction for Tanh {
    const CODE: u32 = 60;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → tanh a";
    const RULE: Option<Rule> = Some(Rule {
        row: 300,
        usage: "tanh(a)",
        widths: &[1],
        value: "tanh a",
        derivative: "1 − tanh² a",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[1.0]), at(&[100.0], 1.0, &[0.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "tanh", parameters: "a: Num", description: "sinh a / cosh a" });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Tanh, operands)
    }
}

impl UnaryOperation for Tanh {
    const NUMBER: u32 = 20;
    const NUMERICS: Numerics = Numerics::Function("hyperbolic_tangent");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::tanh(a)
    }

    fn slope(graph: &mut Graph, _: Expr, y: Expr) -> Option<Expr> {
        let one = graph.constant(1.0);
        let squared = graph.square(y);
        Some(graph.sub(one, squared))
    }

    /// By tanh x = 2/(1 + e⁻²ˣ) − 1.
    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(2.0 * a.rising(|low, high, by| sigmoid_rise(2.0 * low, 2.0 * high, 2.0 * by)))
    }
}
