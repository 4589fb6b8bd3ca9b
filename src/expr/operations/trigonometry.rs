//! Sine, cosine and tangent.

use crate::operation::*;

/// Sine.
pub struct Sin;

impl Instruction for Sin {
    const CODE: u32 = 11;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → sin a";
    const RULE: Option<Rule> = Some(Rule {
        row: 210,
        usage: "sin(a)",
        widths: &[1],
        value: "sin a",
        derivative: "cos a",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[1.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "sin", parameters: "a: Num", description: "sin a (radians)." });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Sin, operands)
    }
}

impl UnaryOperation for Sin {
    const NUMBER: u32 = 12;
    const NUMERICS: Numerics = Numerics::SinCos("sine");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::sin(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        Some(graph.unary(Unary::Cos, a))
    }

    /// By sin b − sin a = 2 cos((a + b)/2) sin((b − a)/2).
    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(2.0 * a.middle().cos() * (0.5 * a.by).sin())
    }
}

/// Cosine.
pub struct Cos;

impl Instruction for Cos {
    const CODE: u32 = 12;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → cos a";
    const RULE: Option<Rule> = Some(Rule {
        row: 220,
        usage: "cos(a)",
        widths: &[1],
        value: "cos a",
        derivative: "−sin a",
        remark: "",
        edges: &[at(&[0.0], 1.0, &[0.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "cos", parameters: "a: Num", description: "cos a (radians)." });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Cos, operands)
    }
}

impl UnaryOperation for Cos {
    const NUMBER: u32 = 13;
    const NUMERICS: Numerics = Numerics::SinCos("cosine");
    const SYMMETRY: Symmetry = Symmetry::Even;

    fn apply(a: f64) -> f64 {
        libm::cos(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let sine = graph.unary(Unary::Sin, a);
        Some(graph.neg(sine))
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(-2.0 * a.middle().sin() * (0.5 * a.by).sin())
    }
}

/// Tangent.
pub struct Tan;

impl Instruction for Tan {
    const CODE: u32 = 53;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → tan a";
    const RULE: Option<Rule> = Some(Rule {
        row: 230,
        usage: "tan(a)",
        widths: &[1],
        value: "tan a",
        derivative: "1 + tan² a",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[1.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "tan", parameters: "a: Num", description: "tan a (radians)." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Tan, operands)
    }
}

impl UnaryOperation for Tan {
    const NUMBER: u32 = 14;
    const NUMERICS: Numerics = Numerics::OfTurn("tangent");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::tan(a)
    }

    fn slope(graph: &mut Graph, _: Expr, y: Expr) -> Option<Expr> {
        let one = graph.constant(1.0);
        let squared = graph.square(y);
        Some(graph.add(one, squared))
    }
}
