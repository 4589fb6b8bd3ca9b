//! Arithmetic. Its simplifications are the graph's own ([`Graph::add`] and its like).

use crate::operation::*;

/// −x.
pub struct Neg;

impl Instruction for Neg {
    const CODE: u32 = 4;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → −a, elementwise";
    const RULE: Option<Rule> =
        Some(Rule { row: 50, usage: "a.neg()", widths: &[1], value: "−a", derivative: "−1", remark: "", edges: &[] });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Neg, operands)
    }
}

impl UnaryOperation for Neg {
    const NUMBER: u32 = 0;
    const NUMERICS: Numerics = Numerics::Instruction;

    fn apply(a: f64) -> f64 {
        -a
    }

    fn slope(graph: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        Some(graph.constant(-1.0))
    }

    fn difference<'g>(a: Pair<'g>, _: Symbol<'g>, _: Symbol<'g>) -> Option<Symbol<'g>> {
        Some(-a.by)
    }
}

/// Sum of two.
pub struct Add;

impl Instruction for Add {
    const CODE: u32 = 5;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → a + b, elementwise; a scalar goes with every element";
    const RULE: Option<Rule> =
        Some(Rule { row: 10, usage: "a.add(b)", widths: &[1, 1], value: "a + b", derivative: "1, 1", remark: "", edges: &[] });

    fn fits(widths: &[usize]) -> bool {
        broadcasts(widths)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        broadcast(graph, Binary::Add, operands)
    }
}

impl BinaryOperation for Add {
    const NUMBER: u32 = 30;
    const NUMERICS: Numerics = Numerics::Instruction;
    const COMMUTES: bool = true;

    fn apply(a: f64, b: f64) -> f64 {
        a + b
    }

    fn slopes(_: &mut Graph, _: [Expr; 2], _: Expr) -> [Option<Slope>; 2] {
        [Some(Slope::One), Some(Slope::One)]
    }

    fn sign([a, b]: [KnownSign; 2], _: bool) -> KnownSign {
        let not_negative = a.not_negative && b.not_negative;
        KnownSign { not_negative, positive: not_negative && (a.positive || b.positive) }
    }

    fn difference<'g>([a, b]: [Pair<'g>; 2], _: Symbol<'g>, _: Symbol<'g>) -> Symbol<'g> {
        a.by + b.by
    }
}

/// Difference of two.
pub struct Sub;

impl Instruction for Sub {
    const CODE: u32 = 6;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → a − b";
    const RULE: Option<Rule> =
        Some(Rule { row: 20, usage: "a.sub(b)", widths: &[1, 1], value: "a − b", derivative: "1, −1", remark: "", edges: &[] });

    fn fits(widths: &[usize]) -> bool {
        broadcasts(widths)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        broadcast(graph, Binary::Sub, operands)
    }
}

impl BinaryOperation for Sub {
    const NUMBER: u32 = 31;
    const NUMERICS: Numerics = Numerics::Instruction;

    fn apply(a: f64, b: f64) -> f64 {
        a - b
    }

    fn slopes(_: &mut Graph, _: [Expr; 2], _: Expr) -> [Option<Slope>; 2] {
        [Some(Slope::One), Some(Slope::MinusOne)]
    }

    fn difference<'g>([a, b]: [Pair<'g>; 2], _: Symbol<'g>, _: Symbol<'g>) -> Symbol<'g> {
        a.by - b.by
    }
}

/// Product of two.
pub struct Mul;

impl Instruction for Mul {
    const CODE: u32 = 7;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → a · b";
    const RULE: Option<Rule> = Some(Rule {
        row: 30,
        usage: "a.mul(b)",
        widths: &[1, 1],
        value: "a · b",
        derivative: "b, a",
        remark: "",
        edges: &[at(&[0.0, 3.0], 0.0, &[3.0, 0.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        broadcasts(widths)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        broadcast(graph, Binary::Mul, operands)
    }
}

impl BinaryOperation for Mul {
    const NUMBER: u32 = 32;
    const NUMERICS: Numerics = Numerics::Instruction;
    const COMMUTES: bool = true;

    fn apply(a: f64, b: f64) -> f64 {
        a * b
    }

    fn slopes(_: &mut Graph, [a, b]: [Expr; 2], _: Expr) -> [Option<Slope>; 2] {
        [Some(Slope::Factor(b)), Some(Slope::Factor(a))]
    }

    fn sign([a, b]: [KnownSign; 2], same: bool) -> KnownSign {
        KnownSign { not_negative: same || a.not_negative && b.not_negative, positive: false }
    }

    fn difference<'g>([a, b]: [Pair<'g>; 2], _: Symbol<'g>, _: Symbol<'g>) -> Symbol<'g> {
        if a.from.expr == b.from.expr && a.to.expr == b.to.expr {
            return a.by * (a.from + a.to);
        }
        a.by * b.to + a.from * b.by
    }
}

/// Quotient of two.
pub struct Div;

impl Instruction for Div {
    const CODE: u32 = 8;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → a / b";
    const RULE: Option<Rule> = Some(Rule {
        row: 40,
        usage: "a.div(b)",
        widths: &[1, 1],
        value: "a / b",
        derivative: "1/b, −a/b²",
        remark: "undefined at b = 0",
        edges: &[undefined(&[1.0, 0.0]), undefined(&[0.0, 0.0]), at(&[0.0, 2.0], 0.0, &[0.5, 0.0])],
    });

    fn fits(widths: &[usize]) -> bool {
        broadcasts(widths)
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        broadcast(graph, Binary::Div, operands)
    }
}

impl BinaryOperation for Div {
    const NUMBER: u32 = 33;
    const NUMERICS: Numerics = Numerics::Instruction;

    fn apply(a: f64, b: f64) -> f64 {
        a / b
    }

    fn slopes(graph: &mut Graph, [_, b]: [Expr; 2], y: Expr) -> [Option<Slope>; 2] {
        let one = graph.constant(1.0);
        let inverse = graph.div(one, b);
        let scaled = graph.mul(inverse, y);
        [Some(Slope::Factor(inverse)), Some(Slope::Factor(graph.neg(scaled)))]
    }

    fn domain(graph: &mut Graph, [_, b]: [Operand; 2]) -> Expr {
        let (zero, one) = (graph.constant(0.0), graph.constant(1.0));
        if graph.value(b.expr).is_some_and(|value| value != 0.0) || b.sign.positive {
            return one;
        }
        let above = graph.less(zero, b.expr);
        if b.sign.not_negative {
            return above;
        }
        let below = graph.less(b.expr, zero);
        graph.or(above, below)
    }

    fn sign([a, b]: [KnownSign; 2], _: bool) -> KnownSign {
        KnownSign { not_negative: a.not_negative && b.not_negative, positive: false }
    }

    fn difference<'g>([a, b]: [Pair<'g>; 2], from: Symbol<'g>, _: Symbol<'g>) -> Symbol<'g> {
        (a.by - from * b.by) / b.to
    }
}

/// x².
pub struct Square;

impl Instruction for Square {
    const CODE: u32 = 9;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → a²";
    const RULE: Option<Rule> = Some(Rule {
        row: 60,
        usage: "a.square()",
        widths: &[1],
        value: "a²",
        derivative: "2a",
        remark: "",
        edges: &[at(&[0.0], 0.0, &[0.0])],
    });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        operands[0].iter().map(|&x| graph.square(x)).collect()
    }
}

/// x³.
pub struct Cube;

impl Instruction for Cube {
    const CODE: u32 = 41;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → a³";
    const RULE: Option<Rule> = Some(Rule {
        row: 70,
        usage: "cube(a)",
        widths: &[1],
        value: "a³",
        derivative: "3a²",
        remark: "",
        edges: &[at(&[-2.0], -8.0, &[12.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "cube", parameters: "a: Num", description: "a³" });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        operands[0].iter().map(|&x| graph.power(x, 3)).collect()
    }
}

/// 1/x.
pub struct Reciprocal;

impl Instruction for Reciprocal {
    const CODE: u32 = 40;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → 1/a";
    const RULE: Option<Rule> = Some(Rule {
        row: 80,
        usage: "reciprocal(a)",
        widths: &[1],
        value: "1/a",
        derivative: "−1/a²",
        remark: "undefined at 0",
        edges: &[undefined(&[0.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "reciprocal", parameters: "a: Num", description: "1/a, a ≠ 0." });

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a] = scalars(operands);
        vec![graph.reciprocal(a)]
    }
}
