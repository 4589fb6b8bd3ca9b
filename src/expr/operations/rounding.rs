//! Whole numbers and what is left of them.

use crate::operation::*;

/// Largest integer that is not above x.
pub struct Floor;

impl Instruction for Floor {
    const CODE: u32 = 29;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → ⌊a⌋";
    const RULE: Option<Rule> = Some(Rule {
        row: 380,
        usage: "floor(a)",
        widths: &[1],
        value: "⌊a⌋",
        derivative: "0",
        remark: "slope 0 at the jumps too",
        edges: &[at(&[2.0], 2.0, &[0.0]), at(&[-0.5], -1.0, &[0.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "floor", parameters: "a: Num", description: "⌊a⌋; its derivative is 0." });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Floor, operands)
    }
}

impl UnaryOperation for Floor {
    const NUMBER: u32 = 2;
    const NUMERICS: Numerics = Numerics::BuiltIn("floor");
    const IS_FLAT: bool = true;

    fn apply(a: f64) -> f64 {
        libm::floor(a)
    }

    fn slope(_: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        None
    }

    fn sign(a: KnownSign) -> KnownSign {
        KnownSign { positive: false, ..a }
    }
}

/// Smallest integer that is not below x.
pub struct Ceil;

impl Instruction for Ceil {
    const CODE: u32 = 30;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → ⌈a⌉";
    const RULE: Option<Rule> = Some(Rule {
        row: 390,
        usage: "ceil(a)",
        widths: &[1],
        value: "⌈a⌉",
        derivative: "0",
        remark: "slope 0 at the jumps too",
        edges: &[at(&[2.0], 2.0, &[0.0]), at(&[0.5], 1.0, &[0.0])],
    });
    const FUNCTION: Option<Function> = Some(Function { name: "ceil", parameters: "a: Num", description: "⌈a⌉; its derivative is 0." });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Ceil, operands)
    }
}

impl UnaryOperation for Ceil {
    const NUMBER: u32 = 3;
    const NUMERICS: Numerics = Numerics::BuiltIn("ceil");
    const IS_FLAT: bool = true;

    fn apply(a: f64) -> f64 {
        libm::ceil(a)
    }

    fn slope(_: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        None
    }

    fn sign(a: KnownSign) -> KnownSign {
        a
    }
}

/// Nearest integer.
pub struct Round;

impl Instruction for Round {
    const CODE: u32 = 31;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → the nearest integer, the even one of two";
    const RULE: Option<Rule> = Some(Rule {
        row: 400,
        usage: "round(a)",
        widths: &[1],
        value: "the nearest whole number",
        derivative: "0",
        remark: "of two as near the even one",
        edges: &[at(&[0.5], 0.0, &[0.0]), at(&[1.5], 2.0, &[0.0]), at(&[-2.5], -2.0, &[0.0])],
    });
    const FUNCTION: Option<Function> = Some(Function {
        name: "round",
        parameters: "a: Num",
        description: "The nearest whole number, of two the even one (Math.round takes the greater); its derivative is 0.",
    });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        each(graph, Unary::Round, operands)
    }
}

impl UnaryOperation for Round {
    const NUMBER: u32 = 4;
    const NUMERICS: Numerics = Numerics::BuiltIn("round");
    const SYMMETRY: Symmetry = Symmetry::Odd;
    const IS_FLAT: bool = true;

    fn apply(a: f64) -> f64 {
        libm::rint(a)
    }

    fn slope(_: &mut Graph, _: Expr, _: Expr) -> Option<Expr> {
        None
    }

    fn sign(a: KnownSign) -> KnownSign {
        KnownSign { positive: false, ..a }
    }
}

/// x − floor x.
pub struct Fract;

impl Instruction for Fract {
    const CODE: u32 = 32;
    const ARITY: Arity = Arity::Values(1);
    const MEANING: &'static str = "a → a − ⌊a⌋";
    const RULE: Option<Rule> = Some(Rule {
        row: 410,
        usage: "fract(a)",
        widths: &[1],
        value: "a − ⌊a⌋",
        derivative: "1",
        remark: "0 at whole numbers",
        edges: &[at(&[3.0], 0.0, &[1.0]), at(&[-0.25], 0.75, &[1.0])],
    });
    const FUNCTION: Option<Function> =
        Some(Function { name: "fract", parameters: "a: Num", description: "a − ⌊a⌋, in [0, 1); its derivative is 1." });

    fn fits(_: &[usize]) -> bool {
        true
    }

    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let fract = |&a: &Expr| {
            let floor = graph.unary(Unary::Floor, a);
            graph.sub(a, floor)
        };
        operands[0].iter().map(fract).collect()
    }
}

/// Remainder of a division, with the divisor's sign.
pub struct Mod;

impl Instruction for Mod {
    const CODE: u32 = 33;
    const ARITY: Arity = Arity::Values(2);
    const MEANING: &'static str = "a, b → a − b⌊a/b⌋";
    const RULE: Option<Rule> = Some(Rule {
        row: 420,
        usage: "mod(a, b)",
        widths: &[1, 1],
        value: "a − b⌊a/b⌋, of the sign of b",
        derivative: "1, −⌊a/b⌋",
        remark: "0 at multiples of b; undefined at b = 0",
        edges: &[
            at(&[6.0, 3.0], 0.0, &[1.0, -2.0]),
            at(&[-1.0, 3.0], 2.0, &[1.0, 1.0]),
            at(&[1.0, -3.0], -2.0, &[1.0, 1.0]),
            undefined(&[1.0, 0.0]),
        ],
    });
    const FUNCTION: Option<Function> = Some(Function {
        name: "mod",
        parameters: "a: Num, b: Num",
        description: "a − b⌊a/b⌋, b ≠ 0: of b's sign (JavaScript's a % b is of a's). Its derivative is 1 in a and −⌊a/b⌋ in b.",
    });

    /// a − b⌊a/b⌋, brought back into [0, b) (or (b, 0]) where the quotient was rounded across a whole number.
    fn build(graph: &mut Graph, operands: &[Vec<Expr>]) -> Vec<Expr> {
        let [a, b] = scalars(operands);
        let zero = graph.constant(0.0);
        let quotient = graph.div(a, b);
        if b == zero {
            return vec![quotient];
        }
        let floor = graph.unary(Unary::Floor, quotient);
        let whole = graph.mul(b, floor);
        let rest = graph.sub(a, whole);
        // In units of b: below 0, or not below 1.
        let positive = graph.less(zero, b);
        let under = {
            let (below, above) = (graph.less(rest, zero), graph.less(zero, rest));
            graph.select(positive, below, above)
        };
        let over = {
            let (above, below) = (graph.less_equal(b, rest), graph.less_equal(rest, b));
            graph.select(positive, above, below)
        };
        let (raised, lowered) = (graph.add(rest, b), graph.sub(rest, b));
        let rest = graph.select(over, lowered, rest);
        vec![graph.select(under, raised, rest)]
    }
}
