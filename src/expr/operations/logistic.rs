//! The logistic function and its integral.

use crate::operation::*;

/// 1/(1 + e⁻ˣ).
pub struct Sigmoid;

impl Instruction for Sigmoid {
    const CODE: u32 = 66;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → 1/(1 + e⁻ᵃ)";
    const RULE: Option<Rule> = Some(Rule {
        row: 490,
        usage: "sigmoid(a)",
        widths: &[1],
        value: "1/(1 + e⁻ᵃ)",
        derivative: "σ(a)σ(−a)",
        remark: "no overflow",
        edges: &[at(&[0.0], 0.5, &[0.25]), at(&[-1000.0], 0.0, &[0.0]), at(&[1000.0], 1.0, &[0.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "sigmoid", parameters: "a: Num", description: "1/(1 + e⁻ᵃ), without overflow." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Sigmoid, operands)
    }
}

impl UnaryOperation for Sigmoid {
    const NUMBER: u32 = 25;
    const NUMERICS: Numerics = Numerics::Function("sigmoid");

    fn apply(a: f64) -> f64 {
        let e = libm::exp(-a.abs());
        if a < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
    }

    fn slope(graph: &mut Graph, a: Expr, y: Expr) -> Option<Expr> {
        // 1 − y would lose its digits where y is near 1.
        let minus = graph.neg(a);
        let complement = graph.unary(Unary::Sigmoid, minus);
        Some(graph.mul(y, complement))
    }

    fn sign(_: KnownSign) -> KnownSign {
        KnownSign::NOT_NEGATIVE
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(a.rising(sigmoid_rise))
    }
}

/// log(1 + eˣ).
pub struct Softplus;

impl Instruction for Softplus {
    const CODE: u32 = 69;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → ln(1 + eᵃ)";
    const RULE: Option<Rule> = Some(Rule {
        row: 520,
        usage: "softplus(a)",
        widths: &[1],
        value: "ln(1 + eᵃ)",
        derivative: "σ(a)",
        remark: "no overflow",
        edges: &[at(&[0.0], consts::LN_2, &[0.5]), at(&[1000.0], 1000.0, &[1.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "softplus", parameters: "a: Num", description: "ln(1 + eᵃ), without overflow." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Softplus, operands)
    }
}

impl UnaryOperation for Softplus {
    const NUMBER: u32 = 26;
    const NUMERICS: Numerics = Numerics::Function("softplus");

    fn apply(a: f64) -> f64 {
        a.max(0.0) + libm::log1p(libm::exp(-a.abs()))
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        Some(graph.unary(Unary::Sigmoid, a))
    }

    fn sign(_: KnownSign) -> KnownSign {
        KnownSign::NOT_NEGATIVE
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(a.rising(softplus_rise))
    }
}

/// 1/(1 + e⁻ᵇ) − 1/(1 + e⁻ᵃ) for a ≤ b.
pub(super) fn sigmoid_rise<'g>(a: Symbol<'g>, b: Symbol<'g>, by: Symbol<'g>) -> Symbol<'g> {
    -(b.sigmoid() * (-a).sigmoid() * (-by).expm1())
}

/// ln(1 + eᵇ) − ln(1 + eᵃ) for a ≤ b: by the form that neither overflows nor cancels.
pub fn softplus_rise<'g>(a: Symbol<'g>, b: Symbol<'g>, by: Symbol<'g>) -> Symbol<'g> {
    let scope = a.scope();
    let far_below = (a.sigmoid() * by.min(scope.constant(1.0)).expm1()).log1p();
    let below = by.less(scope.constant(1.0)).select(far_below, b.softplus() - a.softplus());
    let above = by + ((-a).sigmoid() * (-by).expm1()).log1p();
    scope.constant(0.0).less(a).select(above, below)
}
