//! Logarithms.

use crate::operation::*;

/// Natural logarithm.
pub struct Log;

impl Instruction for Log {
    const CODE: u32 = 49;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → ln a";
    const RULE: Option<Rule> = Some(Rule {
        row: 170,
        usage: "log(a)",
        widths: &[1],
        value: "ln a",
        derivative: "1/a",
        remark: "undefined at 0 and below",
        edges: &[undefined(&[0.0]), undefined(&[-1.0]), at(&[1.0], 0.0, &[1.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "log", parameters: "a: Num", description: "ln a, a > 0." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Log, operands)
    }
}

impl UnaryOperation for Log {
    const NUMBER: u32 = 10;
    const NUMERICS: Numerics = Numerics::Function("logarithm");

    fn apply(a: f64) -> f64 {
        libm::log(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let one = graph.constant(1.0);
        Some(graph.div_safe(one, a))
    }

    fn domain(graph: &mut Graph, a: Expr, sign: KnownSign) -> Expr {
        if sign.positive {
            return graph.constant(1.0);
        }
        let zero = graph.constant(0.0);
        graph.less(zero, a)
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(a.rising(|low, _, by| (by / low).log1p()))
    }
}

/// Logarithm to base 2.
pub struct Log2;

impl Instruction for Log2 {
    const CODE: u32 = 50;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → log₂ a";
    const RULE: Option<Rule> = Some(Rule {
        row: 180,
        usage: "log2(a)",
        widths: &[1],
        value: "log₂ a",
        derivative: "1/(a ln 2)",
        remark: "undefined at 0 and below",
        edges: &[undefined(&[0.0]), at(&[8.0], 3.0, &[0.125 / consts::LN_2])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "log2", parameters: "a: Num", description: "log₂ a, a > 0." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        of_base(graph, operands, consts::LOG2_E)
    }
}

/// Logarithm to base 10.
pub struct Log10;

impl Instruction for Log10 {
    const CODE: u32 = 51;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → log₁₀ a";
    const RULE: Option<Rule> = Some(Rule {
        row: 190,
        usage: "log10(a)",
        widths: &[1],
        value: "log₁₀ a",
        derivative: "1/(a ln 10)",
        remark: "undefined at 0 and below",
        edges: &[undefined(&[0.0]), at(&[1.0], 0.0, &[consts::LOG10_E])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "log10", parameters: "a: Num", description: "log₁₀ a, a > 0." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        of_base(graph, operands, consts::LOG10_E)
    }
}

fn of_base(graph: &mut Graph, operands: &[Vec<Expr>], factor: f64) -> Vec<Expr> {
    let [a] = scalars(operands);
    let logarithm = graph.unary(Unary::Log, a);
    vec![graph.times(logarithm, factor)]
}

/// log(1 + x).
pub struct Log1p;

impl Instruction for Log1p {
    const CODE: u32 = 52;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → ln(1 + a)";
    const RULE: Option<Rule> = Some(Rule {
        row: 200,
        usage: "log1p(a)",
        widths: &[1],
        value: "ln(1 + a)",
        derivative: "1/(1 + a)",
        remark: "undefined at −1 and below",
        edges: &[undefined(&[-1.0]), undefined(&[-2.0]), at(&[0.0], 0.0, &[1.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "log1p", parameters: "a: Num", description: "ln(1 + a), exact for small a; a > −1." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Log1p, operands)
    }
}

impl UnaryOperation for Log1p {
    const NUMBER: u32 = 11;
    const NUMERICS: Numerics = Numerics::Function("log1p");

    fn apply(a: f64) -> f64 {
        libm::log1p(a)
    }

    fn slope(graph: &mut Graph, a: Expr, _: Expr) -> Option<Expr> {
        let one = graph.constant(1.0);
        let sum = graph.add(one, a);
        Some(graph.div_safe(one, sum))
    }

    fn domain(graph: &mut Graph, a: Expr, sign: KnownSign) -> Expr {
        if sign.not_negative {
            return graph.constant(1.0);
        }
        let minus_one = graph.constant(-1.0);
        graph.less(minus_one, a)
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(a.rising(|low, _, by| (by / (1.0 + low)).log1p()))
    }
}

/// log Σ exp xᵢ.
pub struct LogSumExp;

impl Instruction for LogSumExp {
    const CODE: u32 = 71;
    const ARITY: Arity = Arity::OneOrMore;
    const MEANING: &'static str = "scalars… → ln Σ eᵃ";
    const RULE: Option<Rule> = Some(Rule {
        row: 540,
        usage: "logsumexp([a, b, …])",
        widths: &[1, 1],
        value: "ln(eᵃ + eᵇ + …)",
        derivative: "the softmax",
        remark: "no overflow",
        edges: &[at(&[1000.0, 1000.0], 1000.0 + consts::LN_2, &[0.5, 0.5])],
    });

    /// ln Σ eᵃ, shifted by the largest, which has no say in the derivative.
    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let items = operands.concat();
        let largest = items[1..].iter().fold(items[0], |largest, &item| graph.max(largest, item));
        let shift = graph.unary(Unary::Detach, largest);
        let mut sum = graph.constant(0.0);
        for item in items {
            let below = graph.sub(item, shift);
            let power = graph.unary(Unary::Exp, below);
            sum = graph.add(sum, power);
        }
        let logarithm = graph.unary(Unary::Log, sum);
        vec![graph.add(shift, logarithm)]
    }
}
