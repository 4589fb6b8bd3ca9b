//! Inverses of the hyperbolic functions.

use crate::operation::*;

/// Inverse hyperbolic sine.
pub struct Asinh;

impl Instruction for Asinh {
    const CODE: u32 = 61;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → arsinh a";
    const RULE: Option<Rule> = Some(Rule {
        row: 310,
        usage: "asinh(a)",
        widths: &[1],
        value: "arsinh a",
        derivative: "1/√(1 + a²)",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[1.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "asinh", parameters: "a: Num", description: "ln(a + √(a² + 1))" });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Asinh, operands)
    }
}

impl UnaryOperation for Asinh {
    const NUMBER: u32 = 21;
    const NUMERICS: Numerics = Numerics::Function("inverse_hyperbolic_sine");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::asinh(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let one = graph.constant(1.0);
        let squared = graph.square(a);
        let sum = graph.add(squared, one);
        let root = graph.unary(Unary::Sqrt, sum);
        Some(graph.div(one, root))
    }
}

/// Inverse hyperbolic cosine.
pub struct Acosh;

impl Instruction for Acosh {
    const CODE: u32 = 62;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → arcosh a";
    const RULE: Option<Rule> = Some(Rule {
        row: 320,
        usage: "acosh(a)",
        widths: &[1],
        value: "arcosh a",
        derivative: "1/√(a² − 1)",
        remark: "slope 0 at 1; undefined below",
        edges: &[at(&[1.0], 0.0, &[0.0]), undefined(&[0.5])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "acosh", parameters: "a: Num", description: "ln(a + √(a² − 1)), a ≥ 1; its derivative at 1 is 0." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Acosh, operands)
    }
}

impl UnaryOperation for Acosh {
    const NUMBER: u32 = 22;
    const NUMERICS: Numerics = Numerics::Function("inverse_hyperbolic_cosine");

    fn apply(a: f64) -> f64 {
        libm::acosh(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let one = graph.constant(1.0);
        let (below, above) = (graph.sub(a, one), graph.add(a, one));
        let mut product = graph.mul(below, above);
        if graph.has_limits {
            // Of −1 that product is −0, whose limit would be −∞.
            let squared = graph.square(a);
            product = graph.sub(squared, one);
        }
        let root = graph.unary(Unary::Sqrt, product);
        Some(graph.div_safe(one, root))
    }

    fn domain(graph: &mut Graph, a: Expr, _: KnownSign) -> Expr {
        let one = graph.constant(1.0);
        graph.less_equal(one, a)
    }

    fn sign(_: KnownSign) -> KnownSign {
        KnownSign::NOT_NEGATIVE
    }
}

/// Inverse hyperbolic tangent.
pub struct Atanh;

impl Instruction for Atanh {
    const CODE: u32 = 63;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → artanh a";
    const RULE: Option<Rule> = Some(Rule {
        row: 330,
        usage: "atanh(a)",
        widths: &[1],
        value: "artanh a",
        derivative: "1/(1 − a²)",
        remark: "undefined at ±1 and beyond",
        edges: &[at(&[0.0], 0.0, &[1.0]), undefined(&[1.0]), undefined(&[-1.0]), undefined(&[2.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "atanh", parameters: "a: Num", description: "ln((1 + a)/(1 − a))/2, |a| < 1." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Atanh, operands)
    }
}

impl UnaryOperation for Atanh {
    const NUMBER: u32 = 23;
    const NUMERICS: Numerics = Numerics::Function("inverse_hyperbolic_tangent");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::atanh(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let one = graph.constant(1.0);
        let (below, above) = (graph.sub(one, a), graph.add(one, a));
        let product = graph.mul(below, above);
        Some(graph.div_safe(one, product))
    }

    fn domain(graph: &mut Graph, a: Expr, _: KnownSign) -> Expr {
        let (one, minus_one) = (graph.constant(1.0), graph.constant(-1.0));
        let (low, high) = (graph.less(minus_one, a), graph.less(a, one));
        graph.and(low, high)
    }
}
