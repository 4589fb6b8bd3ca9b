//! Roots.

use crate::operation::*;

/// Square root.
pub struct Sqrt;

impl Instruction for Sqrt {
    const CODE: u32 = 10;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → √a";
    const RULE: Option<Rule> = Some(Rule {
        row: 90,
        usage: "sqrt(a)",
        widths: &[1],
        value: "√a",
        derivative: "1/(2√a)",
        remark: "slope 0 at 0; undefined below",
        edges: &[at(&[0.0], 0.0, &[0.0]), undefined(&[-1.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "sqrt", parameters: "a: Num", description: "√a, a ≥ 0; its derivative at 0 is 0." });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Sqrt, operands)
    }
}

impl UnaryOperation for Sqrt {
    const NUMBER: u32 = 5;
    const NUMERICS: Numerics = Numerics::BuiltIn("sqrt");

    fn apply(a: f64) -> f64 {
        libm::sqrt(a)
    }

    fn slope(graph: &mut Graph, _: Expr, y: Expr) -> Option<Expr> {
        let half = graph.constant(0.5);
        Some(graph.div_safe(half, y))
    }

    fn domain(graph: &mut Graph, a: Expr, sign: KnownSign) -> Expr {
        if sign.not_negative {
            return graph.constant(1.0);
        }
        let zero = graph.constant(0.0);
        graph.less_equal(zero, a)
    }

    fn sign(a: KnownSign) -> KnownSign {
        KnownSign { not_negative: true, ..a }
    }

    fn difference<'g>(a: Pair<'g>, from: Symbol<'g>, to: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(a.by.over_positive(from + to))
    }
}

/// 1/√x.
pub struct Rsqrt;

impl Instruction for Rsqrt {
    const CODE: u32 = 42;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → 1/√a";
    const RULE: Option<Rule> = Some(Rule {
        row: 100,
        usage: "rsqrt(a)",
        widths: &[1],
        value: "1/√a",
        derivative: "−1/(2a√a)",
        remark: "undefined at 0 and below",
        edges: &[undefined(&[0.0]), undefined(&[-1.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "rsqrt", parameters: "a: Num", description: "1/√a, a > 0." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a] = scalars(operands);
        let root = graph.unary(Unary::Sqrt, a);
        vec![graph.reciprocal(root)]
    }
}

/// Cube root.
pub struct Cbrt;

impl Instruction for Cbrt {
    const CODE: u32 = 43;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → ∛a";
    const RULE: Option<Rule> = Some(Rule {
        row: 110,
        usage: "cbrt(a)",
        widths: &[1],
        value: "∛a",
        derivative: "1/(3∛a²)",
        remark: "slope 0 at 0",
        edges: &[at(&[0.0], 0.0, &[0.0]), at(&[-8.0], -2.0, &[1.0 / 12.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "cbrt", parameters: "a: Num", description: "∛a, negative for negative a; its derivative at 0 is 0." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Cbrt, operands)
    }
}

impl UnaryOperation for Cbrt {
    const NUMBER: u32 = 6;
    const NUMERICS: Numerics = Numerics::Function("cube_root");
    const SYMMETRY: Symmetry = Symmetry::Odd;

    fn apply(a: f64) -> f64 {
        libm::cbrt(a)
    }

    fn slope(graph: &mut Graph, _: Expr, y: Expr) -> Option<Expr> {
        let third = graph.constant(1.0 / 3.0);
        let squared = graph.square(y);
        Some(graph.div_safe(third, squared))
    }
}

/// √(a² + b²).
pub struct Hypot;

impl Instruction for Hypot {
    const CODE: u32 = 65;
    const ARITY: Arity = Arity::OneOrMore;
    const MEANING: &'static str = "scalars… → √Σaᵢ², without overflow";
    const RULE: Option<Rule> = Some(Rule {
        row: 350,
        usage: "hypot(a, b, …)",
        widths: &[1, 1],
        value: "√(a² + b² + …), without overflow",
        derivative: "a/hypot, b/hypot, …",
        remark: "slopes 0 at 0",
        edges: &[at(&[0.0, 0.0], 0.0, &[0.0, 0.0]), at(&[3e20, 4e20], 5e20, &[0.6, 0.8])],
    });

    /// √Σaᵢ², scaled by the largest, so that no square overflows or vanishes.
    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let items = operands.concat();
        let zero = graph.constant(0.0);
        let largest = items.iter().fold(zero, |largest, &item| {
            let size = graph.unary(Unary::Abs, item);
            graph.max(largest, size)
        });
        let scale = graph.unary(Unary::Detach, largest);
        let scaled: Vec<Expr> = items.iter().map(|&item| graph.div_safe(item, scale)).collect();
        let squared = graph.dot(&scaled, &scaled);
        let root = graph.unary(Unary::Sqrt, squared);
        vec![graph.mul(scale, root)]
    }
}
