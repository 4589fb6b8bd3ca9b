//! The error function, and the gate that is made of it.

use crate::operation::*;

/// Error function.
pub struct Erf;

impl Instruction for Erf {
    const CODE: u32 = 64;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → the error function";
    const RULE: Option<Rule> = Some(Rule {
        row: 340,
        usage: "erf(a)",
        widths: &[1],
        value: "2/√π ∫₀ᵃ e^(−t²) dt",
        derivative: "2/√π e^(−a²)",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[consts::FRAC_2_SQRT_PI]), at(&[10.0], 1.0, &[0.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "erf", parameters: "a: Num", description: "The error function 2/√π ∫₀ᵃ exp(−t²) dt." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Erf, operands)
    }
}

impl UnaryOperation for Erf {
    const NUMBER: u32 = 24;
    const NUMERICS: Numerics = Numerics::Function("error_function");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::erf(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let squared = graph.square(a);
        let exponent = graph.neg(squared);
        let bell = graph.unary(Unary::Exp, exponent);
        let scale = graph.constant(consts::FRAC_2_SQRT_PI);
        Some(graph.mul(scale, bell))
    }
}

/// Gaussian error linear unit: x·Φ(x).
pub struct Gelu;

impl Instruction for Gelu {
    const CODE: u32 = 70;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → a(1 + erf(a/√2))/2";
    const RULE: Option<Rule> = Some(Rule {
        row: 530,
        usage: "gelu(a)",
        widths: &[1],
        value: "a(1 + erf(a/√2))/2",
        derivative: "by the chain rule",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[0.5])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "gelu", parameters: "a: Num", description: "a(1 + erf(a/√2))/2, the exact form." });

    /// a(1 + erf(a/√2))/2
    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a] = scalars(operands);
        let (half, scale, one) = (graph.constant(0.5), graph.constant(consts::FRAC_1_SQRT_2), graph.constant(1.0));
        let scaled = graph.mul(a, scale);
        let error = graph.unary(Unary::Erf, scaled);
        let sum = graph.add(one, error);
        let halved = graph.mul(half, a);
        vec![graph.mul(halved, sum)]
    }
}
